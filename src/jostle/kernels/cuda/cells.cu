// Which balls are near each other. Grids of cells as in jostle.kernels.cpu.cells: balls of like size share one; each
// ball looks into its own grid and into the coarser ones. A cell is found in a table by its number modulo `size`.

#define LEVELS 16
#define REACH 3  // the entry of `widths` that is the largest radius of a level
#define FIRST 3  // the entry of `counts` that is the number of the first cell of a level

__device__ double image(double apart, double period) {
    return period < INFINITY ? apart - period * rint(apart / period) : apart;
}

// The level of each ball, and the largest radius of each level, as bits.
extern "C" __global__ void fill_levels(i64 n, const double *radii, double largest, int *level, i64 *widest) {
    __shared__ i64 here[LEVELS];
    for (int v = threadIdx.x; v < LEVELS; v += blockDim.x) here[v] = 0;
    __syncthreads();
    EACH(a, n) {
        int v = 0;
        for (double bound = largest / 2.0; v + 1 < LEVELS && radii[a] <= bound; bound /= 2.0) v++;
        level[a] = v;
        union { double number; i64 bits; } radius;
        radius.number = radii[a];
        if (radius.bits > here[v]) atomicMax(&here[v], radius.bits);  // bits of positive numbers are ordered as these
    }
    __syncthreads();
    for (int v = threadIdx.x; v < LEVELS; v += blockDim.x)
        if (here[v]) atomicMax(&widest[v], here[v]);
}

__device__ i64 clamped(i64 k, i64 count, bool periodic) {
    if (periodic) return ((k % count) + count) % count;
    return k < 0 ? 0 : k >= count ? count - 1 : k;
}

// The cell of each ball, and how many there are in each bucket; start is zero.
extern "C" __global__ void fill_cells(
    i64 n, const double *q, const int *level, const double *widths, const i64 *counts, const double *low,
    const double *period, i64 size, i64 *cell, u64 *start) {
    EACH(a, n) {
        int v = level[a];
        i64 number = 0;
        for (int k = D - 1; k >= 0; k--) {
            i64 count = counts[4 * v + k];
            i64 at = widths[4 * v + REACH] > 0.0 ? (i64)floor((q[a * D + k] - low[k]) / widths[4 * v + k]) : 0;
            number = number * count + clamped(at, count, period[k] < INFINITY);
        }
        cell[a] = counts[4 * v + FIRST] + number;
        atomicAdd(&start[(cell[a] & (size - 1)) + 1], 1ull);
    }
}

// The balls of each bucket, in any order; filled is zero.
extern "C" __global__ void fill_buckets(i64 n, const i64 *cell, i64 size, const i64 *start, u32 *filled, int *order) {
    EACH(a, n) {
        i64 bucket = cell[a] & (size - 1);
        order[start[bucket] + atomicAdd(&filled[bucket], 1u)] = (int)a;
    }
}

// Pairs that meet, found by each ball of the table. First how many are of each first ball (lists is null), then the
// second balls of each, in any order.
extern "C" __global__ void search(
    i64 n, const int *order, const i64 *start, i64 size, const i64 *cell, const double *q, const double *radii,
    const int *level, const double *widths, const i64 *counts, const double *low, const double *period, u64 *number,
    const i64 *list_start, u32 *filled, int *lists) {
    EACH(place, n) {
        i64 a = order[place];
        for (int v = 0; v <= level[a]; v++) {
            double most = widths[4 * v + REACH];
            if (most == 0.0) continue;
            bool same = v == level[a];
            double cut = radii[a] + most;
            i64 begin[3] = {0, 0, 0}, span[3] = {1, 1, 1}, count[3] = {1, 1, 1};
            for (int k = 0; k < D; k++) {
                count[k] = counts[4 * v + k];
                i64 lowest = (i64)floor((q[a * D + k] - cut - low[k]) / widths[4 * v + k]);
                i64 highest = (i64)floor((q[a * D + k] + cut - low[k]) / widths[4 * v + k]);
                if (period[k] < INFINITY) {
                    begin[k] = clamped(lowest, count[k], true);
                    span[k] = highest - lowest + 1 < count[k] ? highest - lowest + 1 : count[k];
                } else {
                    begin[k] = clamped(lowest, count[k], false);
                    span[k] = clamped(highest, count[k], false) - begin[k] + 1;
                }
            }
            for (i64 kz = begin[2]; kz < begin[2] + span[2]; kz++)
                for (i64 ky = begin[1]; ky < begin[1] + span[1]; ky++) {
                    i64 z = kz < count[2] ? kz : kz - count[2], y = ky < count[1] ? ky : ky - count[1];
                    i64 row = counts[4 * v + FIRST] + (z * count[1] + y) * count[0];
                    for (i64 kx = begin[0], left = span[0]; left > 0;) {
                        // a run of cells along x, cut where the period or the table begins anew
                        i64 bucket = (row + kx) & (size - 1), run = left, first = row + kx;
                        if (count[0] - kx < run) run = count[0] - kx;
                        if (size - bucket < run) run = size - bucket;
                        left -= run;
                        kx = kx + run < count[0] ? kx + run : 0;
                        i64 one = start[bucket];
                        if (same && place + 1 > one) one = place + 1;
                        for (i64 at = one; at < start[bucket + run]; at++) {
                            i64 b = order[at];
                            if (cell[b] < first || cell[b] >= first + run) continue;
                            double square = 0.0, near = radii[a] + radii[b];
                            for (int k = 0; k < D; k++) {
                                double way = image(q[b * D + k] - q[a * D + k], period[k]);
                                square += way * way;
                            }
                            if (!(square <= near * near)) continue;
                            i64 low_one = a < b ? a : b, high = a < b ? b : a;
                            if (lists == 0)
                                atomicAdd(&number[low_one + 1], 1ull);
                            else
                                lists[list_start[low_one] + atomicAdd(&filled[low_one], 1u)] = (int)high;
                        }
                    }
                }
        }
    }
}

// first[k] = a for the list start[a] <= k < start[a + 1].
extern "C" __global__ void spread(i64 n, const i64 *start, int *first) {
    EACH(a, n) {
        for (i64 k = start[a]; k < start[a + 1]; k++) first[k] = (int)a;
    }
}

// The pair number c of n balls, a < b, in order; or of a list.
__device__ void pair_of(i64 c, i64 n, const int *i, const int *j, i64 *a, i64 *b) {
    if (i != 0) {
        *a = i[c];
        *b = j[c];
        return;
    }
    double estimate = n - 0.5 - sqrt((n - 0.5) * (n - 0.5) - 2.0 * c);
    i64 first = (i64)floor(estimate);
    while (first > 0 && first * (2 * n - first - 1) / 2 > c) first--;
    while ((first + 1) * (2 * n - first - 2) / 2 <= c) first++;
    *a = first;
    *b = c - first * (2 * n - first - 1) / 2 + first + 1;
}

// place[c] = 1 where the pair c is within the cutoff.
extern "C" __global__ void mark_near(
    i64 m, i64 n, const int *i, const int *j, const double *q, const double *radii, const double *cutoff,
    const double *period, i64 *place) {
    EACH(c, m) {
        i64 a, b;
        pair_of(c, n, i, j, &a, &b);
        double square = 0.0;
        for (int k = 0; k < D; k++) {
            double way = image(q[b * D + k] - q[a * D + k], period[k]);
            square += way * way;
        }
        place[c] = !(sqrt(square) - radii[a] - radii[b] > cutoff[a] + cutoff[b]);
    }
}

// place (m,) has been summed up: the pair c is near if place[c] > place[c - 1].
extern "C" __global__ void write_near(
    i64 m, i64 n, const int *i, const int *j, const double *q, const double *radii, const double *period,
    const i64 *place, i64 *first, i64 *second, double *normal, double *gap) {
    EACH(c, m) {
        i64 to = c > 0 ? place[c - 1] : 0;
        if (place[c] == to) continue;
        i64 a, b;
        pair_of(c, n, i, j, &a, &b);
        double way[D], square = 0.0;
        for (int k = 0; k < D; k++) {
            way[k] = image(q[b * D + k] - q[a * D + k], period[k]);
            square += way[k] * way[k];
        }
        double distance = sqrt(square);
        first[to] = a;
        second[to] = b;
        gap[to] = distance - radii[a] - radii[b];
        for (int k = 0; k < D; k++) normal[to * D + k] = distance > 0.0 ? way[k] / distance : NAN;
    }
}

__device__ double to_segment(
    i64 c, i64 k, const double *x, const double *start, const double *along, const double *dual) {
    i64 a = c / k, w = c % k;
    double one = x[2 * a] - start[2 * w], two = x[2 * a + 1] - start[2 * w + 1];
    double s = one * dual[2 * w] + two * dual[2 * w + 1];
    s = s < 0.0 ? 0.0 : s > 1.0 ? 1.0 : s;
    one -= s * along[2 * w];
    two -= s * along[2 * w + 1];
    return sqrt(one * one + two * two);
}

extern "C" __global__ void mark_segments(
    i64 rows, i64 k, const double *x, const double *limit, const double *start, const double *along, const double *dual,
    i64 *place) {
    EACH(c, rows) { place[c] = !(to_segment(c, k, x, start, along, dual) > limit[c / k]); }
}

extern "C" __global__ void write_segments(
    i64 rows, i64 k, const double *x, const double *start, const double *along, const double *dual, const i64 *place,
    i64 *row, double *distance) {
    EACH(c, rows) {
        i64 to = c > 0 ? place[c - 1] : 0;
        if (place[c] == to) continue;
        row[to] = c;
        distance[to] = to_segment(c, k, x, start, along, dual);
    }
}
