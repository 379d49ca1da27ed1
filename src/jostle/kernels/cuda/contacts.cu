// Rows normal . (u_j - u_i): products with G and its transpose, residuals, warm starts.

extern "C" __global__ void rates(i64 m, const i64 *i, const i64 *j, const double *normal, const double *v, double *out) {
    EACH(c, m) {
        i64 a = i[c], b = j[c];
        double rate = 0.0;
        for (int k = 0; k < D; k++) rate -= normal[c * D + k] * v[a * D + k];
        if (b >= 0)
            for (int k = 0; k < D; k++) rate += normal[c * D + k] * v[b * D + k];
        out[c] = rate;
    }
}

extern "C" __global__ void magnitude(
    i64 m, const i64 *i, const i64 *j, const double *normal, const double *v, double *out) {
    EACH(c, m) {
        i64 a = i[c], b = j[c];
        double size = 0.0;
        for (int k = 0; k < D; k++) size += fabs(normal[c * D + k] * v[a * D + k]);
        if (b >= 0)
            for (int k = 0; k < D; k++) size += fabs(normal[c * D + k] * v[b * D + k]);
        out[c] = size;
    }
}

extern "C" __global__ void norms(
    i64 m, const i64 *i, const i64 *j, const double *normal, const double *inverse, double *out) {
    EACH(c, m) {
        i64 a = i[c], b = j[c];
        double square = 0.0;
        for (int k = 0; k < D; k++) {
            double e = normal[c * D + k];
            square += e * e * (inverse[a * D + k] + (b >= 0 ? inverse[b * D + k] : 0.0));
        }
        out[c] = sqrt(square);
    }
}

extern "C" __global__ void whitened(
    i64 m, const i64 *i, const i64 *j, const double *normal, const double *inverse, const double *w, const double *c_,
    const double *c_noise, const double *slack, double noise_level, double *unit, double *s0, double *noise) {
    EACH(c, m) {
        i64 a = i[c], b = j[c];
        double square = 0.0, size = fabs(c_[c]);
        for (int k = 0; k < D; k++) {
            double e = normal[c * D + k];
            square += e * e * (inverse[a * D + k] + (b >= 0 ? inverse[b * D + k] : 0.0));
            size += fabs(e * w[a * D + k]) + (b >= 0 ? fabs(e * w[b * D + k]) : 0.0);
        }
        double length = sqrt(square), by = length > 0.0 ? length : 1.0;
        unit[c] = length;
        s0[c] = slack[c] / by;
        noise[c] = (c_noise[c] + noise_level * size) / by;
    }
}

// (G^T p)_a, the rows of each body in their order.
extern "C" __global__ void adjoint(
    i64 n, const i64 *start, const int *lists, const double *normal, const double *p, double *out) {
    EACH(a, n) {
        double total[D];
        for (int k = 0; k < D; k++) total[k] = 0.0;
        for (i64 at = start[a]; at < start[a + 1]; at++) {
            i64 c = lists[at] / 2;
            double push = lists[at] % 2 ? p[c] : -p[c];
            for (int k = 0; k < D; k++) total[k] += push * normal[c * D + k];
        }
        for (int k = 0; k < D; k++) out[a * D + k] = total[k];
    }
}

#define RESIDUALS 8  // numbers a block of threads, in `found`: five of the rows, three of the bodies

// Of some rows: the largest violation over the length, and that over the norm where there is no length; the sum of
// |p s|; the largest -p |G_c|; the sum of |p| |G_c|.
extern "C" __global__ void row_residuals(
    i64 m, const i64 *i, const i64 *j, const double *normal, const double *offset, const double *w, const double *mass,
    const double *u, const double *p, const double *length, double noise_level, const double *noise, double *found) {
    __shared__ double shared[2 * MOST_WARPS];
    double relative = 0.0, violation = 0.0, product = 0.0, negative = 0.0, pushes = 0.0, nothing = 0.0;
    EACH(c, m) {
        i64 ends[2] = {i[c], j[c]};
        double s = offset[c], scale = fabs(s), square = 0.0;
        for (int end = 0; end < 2; end++) {
            i64 a = ends[end];
            if (a < 0) continue;
            for (int k = 0; k < D; k++) {
                double e = normal[c * D + k];
                s += end ? e * u[a * D + k] : -e * u[a * D + k];
                scale += fabs(e) * (fabs(u[a * D + k]) + fabs(w[a * D + k]));
                square += e * e / mass[a * D + k];
            }
        }
        double unit = sqrt(square);
        if (fabs(s) <= noise[c] + noise_level * scale) s = 0.0;
        double lack = s < 0.0 ? -s : 0.0;
        if (s != s) lack = s;
        if (length[c] > 0.0)
            keep_largest(&relative, lack / length[c]);
        else
            keep_largest(&violation, lack / (unit > 1e-300 ? unit : 1e-300));
        product += fabs(p[c] * s);
        keep_largest(&negative, -p[c] * unit);
        pushes += fabs(p[c]) * unit;
    }
    block_largest(&relative, &violation, shared);
    block_largest(&negative, &nothing, shared);
    block_sums(&product, &pushes, shared);
    if (threadIdx.x == 0) {
        double *own = found + RESIDUALS * blockIdx.x;
        own[0] = relative;
        own[1] = violation;
        own[2] = negative;
        own[3] = product;
        own[4] = pushes;
    }
}

// Of some bodies: the sums of m (u - w)^2, of m (|u| + |w|)^2, and of (m (u - w) - force)^2 / m.
extern "C" __global__ void body_residuals(
    i64 n, const double *w, const double *mass, const double *u, const double *force, double *found) {
    __shared__ double shared[2 * MOST_WARPS];
    double squares = 0.0, sizes = 0.0, lack = 0.0, nothing = 0.0;
    EACH(a, n) {
        for (int k = 0; k < D; k++) {
            i64 at = a * D + k;
            double way = u[at] - w[at], size = fabs(u[at]) + fabs(w[at]), push = mass[at] * way, off = push - force[at];
            squares += push * way;
            sizes += mass[at] * size * size;
            lack += off * off / mass[at];
        }
    }
    block_sums(&squares, &sizes, shared);
    block_sums(&lack, &nothing, shared);
    if (threadIdx.x == 0) {
        double *own = found + RESIDUALS * blockIdx.x;
        own[5] = squares;
        own[6] = sizes;
        own[7] = lack;
    }
}

// A table of pairs, found by open addressing: slot[k] is 0, or c + 1 for the pair c. `slots` is a power of two.
__device__ u64 slot_of(i64 a, i64 b, u64 slots) {
    u64 key = (u64)a * 0x9E3779B97F4A7C15ull ^ (u64)b * 0xC2B2AE3D27D4EB4Full;
    key ^= key >> 29;
    return (key * 0xBF58476D1CE4E5B9ull >> 17) & (slots - 1);
}

extern "C" __global__ void store_pairs(i64 m, const i64 *first, const i64 *second, i64 stride, u64 slots, int *slot) {
    EACH(c, m) {
        u64 k = slot_of(first[c * stride], second[c * stride], slots);
        while (atomicCAS(&slot[k], 0, (int)(c + 1)) != 0) k = (k + 1) & (slots - 1);
    }
}

extern "C" __global__ void look_up(
    i64 wanted, const i64 *listed, const i64 *listed_second, i64 listed_stride, const i64 *first, const i64 *second,
    i64 stride, const double *values, u64 slots, const int *slot, double otherwise, double *out) {
    EACH(c, wanted) {
        i64 a = listed[c * listed_stride], b = listed_second[c * listed_stride];
        out[c] = otherwise;
        for (u64 k = slot_of(a, b, slots); slot[k] != 0; k = (k + 1) & (slots - 1)) {
            i64 found = slot[k] - 1;
            if (first[found * stride] == a && second[found * stride] == b) {
                out[c] = values[found];
                break;
            }
        }
    }
}
