// Many bodies: their speeds, whether they stay near a place, which are near planes, how far they reach.
// Each block of threads writes its own sums, which are added up in their order: the same in every run.

// The larger of two speeds of each body; sums (blocks of threads, 3): how many are not zero, their sum, that of their
// squares.
extern "C" __global__ void fill_speeds(i64 n, const double *u, const double *v, double *larger, double *sums) {
    __shared__ double shared[2 * MOST_WARPS];
    double moving = 0.0, total = 0.0, squares = 0.0, nothing = 0.0;
    EACH(a, n) {
        double one = 0.0, two = 0.0;
        for (int k = 0; k < D; k++) {
            one += u[a * D + k] * u[a * D + k];
            two += v[a * D + k] * v[a * D + k];
        }
        double speed = sqrt(two > one || two != two ? two : one);  // NaN if one of them is
        larger[a] = speed;
        if (speed != 0.0) moving += 1.0;
        total += speed;
        squares += speed * speed;
    }
    block_sums(&moving, &total, shared);
    block_sums(&squares, &nothing, shared);
    if (threadIdx.x == 0) {
        sums[3 * blockIdx.x] = moving;
        sums[3 * blockIdx.x + 1] = total;
        sums[3 * blockIdx.x + 2] = squares;
    }
}

// found becomes 1 if a body goes further than its cutoff in a time h, or its way is NaN.
extern "C" __global__ void look_for_fast(i64 n, const double *u, double h, const double *cutoff, int *found) {
    EACH(a, n) {
        double square = 0.0;
        for (int k = 0; k < D; k++) square += u[a * D + k] * u[a * D + k];
        if (!(h * sqrt(square) <= cutoff[a])) *found = 1;
    }
}

// The sums of q - before, (D,) for each block of threads.
extern "C" __global__ void sum_ways(i64 n, const double *q, const double *before, double *sums) {
    __shared__ double shared[2 * MOST_WARPS];
    double total[D];
    for (int k = 0; k < D; k++) total[k] = 0.0;
    EACH(a, n) {
        for (int k = 0; k < D; k++) total[k] += q[a * D + k] - before[a * D + k];
    }
    for (int k = 0; k < D; k++) {
        double nothing = 0.0;
        block_sums(&total[k], &nothing, shared);
        if (threadIdx.x == 0) sums[blockIdx.x * D + k] = total[k];
    }
}

// found becomes 1 if radius + cutoff + |q - before - mean| of a body exceeds its room, or is NaN. The mean is that of
// the sums (parts, D).
extern "C" __global__ void look_for_strays(
    i64 n, const double *q, const double *before, i64 parts, const double *sums, const double *radii,
    const double *cutoff, const double *room, int *found) {
    __shared__ double shared[2 * MOST_WARPS], mean[D];
    for (int k = 0; k < D; k++) {
        double total = 0.0, nothing = 0.0;
        for (i64 part = threadIdx.x; part < parts; part += blockDim.x) total += sums[part * D + k];
        block_sums(&total, &nothing, shared);
        if (threadIdx.x == 0) mean[k] = total / n;
    }
    __syncthreads();
    EACH(a, n) {
        double square = 0.0;
        for (int k = 0; k < D; k++) {
            double way = q[a * D + k] - before[a * D + k] - mean[k];
            square += way * way;
        }
        if (!(radii[a] + cutoff[a] + sqrt(square) <= room[a])) *found = 1;
    }
}

struct Planes {
    i64 k;
    const double *unit, *offset;
};

__device__ double above(const Planes &planes, const double *x, i64 a, i64 plane) {
    double height = 0.0;
    for (int c = 0; c < D; c++) {
        double unit = planes.unit[plane * D + c];
        if (unit != 0.0) height += unit * x[a * D + c];
    }
    return height - planes.offset[plane];
}

// start[a + 1] becomes how many planes are near ball a; radii and cutoffs are those of each ball, or one for all (then
// `radius_of` or `cutoff_of` is 0, else 1).
extern "C" __global__ void count_planes(
    i64 n, const double *x, const double *radii, i64 radius_of, const double *cutoff, i64 cutoff_of, i64 k,
    const double *unit, const double *offset, i64 *start) {
    Planes planes = {k, unit, offset};
    EACH(a, n) {
        double limit = cutoff[a * cutoff_of] + radii[a * radius_of];
        i64 number = 0;
        for (i64 plane = 0; plane < k; plane++) number += !(above(planes, x, a, plane) > limit);
        start[a + 1] = number;
    }
}

// The pairs (a, -1 - plane) of the near planes, their normals and gaps, from start[a] on.
extern "C" __global__ void write_planes(
    i64 n, const double *x, const double *radii, i64 radius_of, const double *cutoff, i64 cutoff_of, i64 k,
    const double *unit, const double *offset, const i64 *start, i64 *first, i64 *second, double *normal, double *gap) {
    Planes planes = {k, unit, offset};
    EACH(a, n) {
        i64 at = start[a];
        if (at == start[a + 1]) continue;
        double radius = radii[a * radius_of], limit = cutoff[a * cutoff_of] + radius;
        for (i64 plane = 0; plane < k; plane++) {
            double distance = above(planes, x, a, plane);
            if (distance > limit) continue;
            first[at] = a;
            second[at] = -1 - plane;
            for (int c = 0; c < D; c++) normal[at * D + c] = -unit[plane * D + c];
            gap[at++] = distance - radius;
        }
    }
}

// extents (blocks of threads, 2 D + 1): the least and largest coordinates of some bodies, and the largest radius.
extern "C" __global__ void fill_extents(i64 n, const double *q, const double *radii, double *extents) {
    __shared__ double shared[2 * MOST_WARPS];
    double *own = extents + blockIdx.x * (2 * D + 1);
    double low[D], high[D], radius = 0.0, nothing = 0.0;
    for (int k = 0; k < D; k++) {
        low[k] = INFINITY;
        high[k] = -INFINITY;
    }
    EACH(a, n) {
        for (int k = 0; k < D; k++) {
            double at = q[a * D + k];
            if (at < low[k]) low[k] = at;
            if (at > high[k]) high[k] = at;
        }
        if (radii[a] > radius) radius = radii[a];
    }
    for (int k = 0; k < D; k++) {
        double turned = -low[k];
        block_largest(&turned, &high[k], shared);
        if (threadIdx.x == 0) {
            own[k] = -turned;
            own[D + k] = high[k];
        }
    }
    block_largest(&radius, &nothing, shared);
    if (threadIdx.x == 0) own[2 * D] = radius;
}
