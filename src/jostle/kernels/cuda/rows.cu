// Contacts without friction as a kind of rows for sweeps.cu: one multiplier a contact, and rows of length one.

#define MASSES 1  // inverse masses of a body, which follow its coordinates

// The numbers of a row are e and the slack at rest; its limit is the allowed violation. `Kind` in launch.py counts them.

__device__ double slack(const double *row, const double *first, const double *second) {
    double s = row[D];
    for (int k = 0; k < D; k++) s += row[k] * (second[k] - first[k]);
    return s;
}

// The velocities of both bodies after a push; `masses` and `others` are their inverse masses.
__device__ void push(
    const double *row, const double *p, const double *masses, const double *others, double *first, double *second) {
    double one = p[0] * masses[0], two = p[0] * others[0];
    for (int k = 0; k < D; k++) {
        first[k] -= one * row[k];
        second[k] += two * row[k];
    }
}

// The new multiplier q of a row, by the velocities of those that it starts from; and the sums of a sweep.
__device__ void relax(
    const double *row, const double *from, const double *p, double *first, double *second, bool, double *q, Sums &sums) {
    q[0] = from[0] - slack(row, first, second);
    q[0] = q[0] > 0.0 ? q[0] : 0.0;
    double step = q[0] - from[0], way = q[0] - p[0];
    sums.one -= step * way;  // against the way of p
    sums.two += row[D] * q[0];
    push(row, &step, first + WIDTH, second + WIDTH, first, second);
}

// How far a row is from being violated; and the sums of a test.
__device__ double margin(
    const double *row, const double *, const double *p, const double *first, const double *second, bool, Sums &sums) {
    double s = slack(row, first, second);
    sums.one += p[0] * fabs(s);
    return s;
}

// |v|^2_M of a body.
__device__ double square(const double *v, const double *masses) {
    double total = 0.0;
    for (int k = 0; k < D; k++) total += v[k] * v[k];
    return total / masses[0];
}

// The rows in the order of a sweep.
extern "C" __global__ void write_rows(
    i64 m, const u32 *source, const double *violation, const double *normal, const double *unit, const double *s0,
    const double *start, double *limits, double *numbers, double *p) {
    EACH(to, m) {
        u32 c = source[to];
        limits[to] = violation[c];
        for (int k = 0; k < D; k++) numbers[k * m + to] = normal[(u64)c * D + k] / unit[c];
        numbers[D * m + to] = s0[c];
        p[to] = start[c];
    }
}
