// Contacts of balls with spin as a kind of rows for sweeps.cu: three multipliers a contact in space, two in the plane, in
// a friction cone. See jostle.kernels.cpu.grips.

#define SPINS (D == 2 ? 1 : 3)
#define WIDTH (D + SPINS)         // coordinates of a body: its velocity, its spin
#define MASSES 2                  // and its inverse mass and inertia, which follow
#define STRIDE (D == 2 ? 6 : 8)   // numbers a body
#define NUMBERS (2 * D + 5)       // of a contact, see below
#define PARTS D                   // numbers of a multiplier
#define LIMITS 2                  // of a contact: the allowed violation, and the slack that counts as zero

enum { NORMAL, ARMS = D, MU = D + 2, BY_N, BY_T, SLACK };  // BY_N = 1 / W_n, BY_T = 1 / W_t; SLACK: at rest

__device__ double dot(const double *a, const double *b) {
    double total = 0.0;
    for (int k = 0; k < D; k++) total += a[k] * b[k];
    return total;
}

__device__ void slip(const double *row, const double *first, const double *second, double *s) {
    const double *n = row + NORMAL, *one = first + D, *two = second + D;
    double arm = row[ARMS], other = row[ARMS + 1];
    for (int k = 0; k < D; k++) s[k] = row[SLACK + k] + second[k] - first[k];
#if D == 2
    double w = arm * one[0] + other * two[0];
    s[0] += w * n[1];
    s[1] -= w * n[0];
#else
    double x = arm * one[0] + other * two[0], y = arm * one[1] + other * two[1], z = arm * one[2] + other * two[2];
    s[0] -= y * n[2] - z * n[1];
    s[1] -= z * n[0] - x * n[2];
    s[2] -= x * n[1] - y * n[0];
#endif
}

// The velocities of both bodies after a push; `masses` and `others` are their inverse masses.
__device__ void push(
    const double *row, const double *p, const double *masses, const double *others, double *first, double *second) {
    const double *n = row + NORMAL;
#if D == 2
    double torque[SPINS] = {n[0] * p[1] - n[1] * p[0]};
#else
    double torque[SPINS] = {n[1] * p[2] - n[2] * p[1], n[2] * p[0] - n[0] * p[2], n[0] * p[1] - n[1] * p[0]};
#endif
    double turn = row[ARMS] * masses[1], other = row[ARMS + 1] * others[1];
    for (int k = 0; k < D; k++) {
        first[k] -= masses[0] * p[k];
        second[k] += others[0] * p[k];
    }
    for (int k = 0; k < SPINS; k++) {
        first[D + k] -= turn * torque[k];
        second[D + k] -= other * torque[k];
    }
}

// The new multiplier q of a contact, by the velocities of those that it starts from; and the sums of a sweep.
__device__ void relax(const double *row, const double *from, const double *p, double *first, double *second,
                      bool coulomb, double *q, Sums &sums) {
    const double *n = row + NORMAL;
    double s[D], t[D], step[D], size = 0.0, mu = row[MU], by_n = row[BY_N], by_t = row[BY_T];
    slip(row, first, second, s);
    double s_n = dot(s, n), from_n = dot(from, n), wanted = from_n - by_n * s_n;
    for (int k = 0; k < D; k++) {
        t[k] = from[k] - by_t * s[k] - (from_n - by_t * s_n) * n[k];
        size += t[k] * t[k];
    }
    size = sqrt(size);
    if (!coulomb && size > mu * wanted) {
        double ratio = by_n / by_t;
        wanted = (wanted + ratio * mu * size) / (1.0 + ratio * mu * mu);
    }
    wanted = wanted > 0.0 ? wanted : 0.0;
    double factor = size > mu * wanted ? mu * wanted / size : 1.0, against = 0.0, other = 0.0;
    for (int k = 0; k < D; k++) {
        q[k] = wanted * n[k] + factor * t[k];
        step[k] = q[k] - from[k];
        against += step[k] * (q[k] - p[k]);
        other += coulomb ? step[k] * step[k] / by_n : row[SLACK + k] * q[k];
    }
    sums.one -= against / by_n;
    sums.two += other;
    push(row, step, first + WIDTH, second + WIDTH, first, second);
}

// How far a contact is from being violated; and the sums of a test.
__device__ double margin(const double *row, const double *limits, const double *p, const double *first,
                         const double *second, bool coulomb, Sums &sums) {
    const double *n = row + NORMAL;
    double s[D], size = 0.0, along = 0.0, noise = limits[1];
    slip(row, first, second, s);
    double s_n = dot(s, n), p_n = dot(p, n);
    for (int k = 0; k < D; k++) {
        double t = s[k] - s_n * n[k];
        size += t * t;
        along += p[k] * t;
    }
    size = sqrt(size);
    double found = coulomb ? s_n : s_n - row[MU] * size;
    if (fabs(found) <= noise) found = 0.0;
    sums.one += fabs(p_n * found);
    if (size > noise) sums.one += fabs(p_n * row[MU] * size + along);
    return found;
}

// |v|^2_M of a body.
__device__ double square(const double *v, const double *masses) {
    double moving = 0.0, turning = 0.0;
    for (int k = 0; k < D; k++) moving += v[k] * v[k];
    for (int k = D; k < WIDTH; k++) turning += v[k] * v[k];
    return moving / masses[0] + turning / masses[1];
}

// The contacts in the order of a sweep.
extern "C" __global__ void write_rows(
    i64 m, const u32 *source, const double *violation, const double *normal, const double *arms, const double *mu,
    const double *scale, const double *noise, const double *s0, const double *start, double *limits, double *numbers,
    double *p) {
    EACH(to, m) {
        u64 c = source[to];
        limits[to] = violation[c];
        limits[m + to] = noise[c];
        for (int k = 0; k < D; k++) {
            numbers[(NORMAL + k) * m + to] = normal[c * D + k];
            numbers[(SLACK + k) * m + to] = s0[c * D + k];
            p[k * m + to] = start[c * D + k];
        }
        for (int k = 0; k < 2; k++) {
            numbers[(ARMS + k) * m + to] = arms[2 * c + k];
            numbers[(BY_N + k) * m + to] = 1.0 / scale[2 * c + k];
        }
        numbers[MU * m + to] = mu[c];
    }
}

// The slips of contacts at rest, of velocities and spins v; and the relative spins where a block has more than D rows.
extern "C" __global__ void rates_grips(
    i64 m, const i64 *i, const i64 *j, const double *normal, const double *arms, const double *v, i64 height,
    double *out) {
    EACH(c, m) {
        double row[NUMBERS], nothing[WIDTH];
        for (int k = 0; k < NUMBERS; k++) row[k] = 0.0;
        for (int k = 0; k < D; k++) row[NORMAL + k] = normal[c * D + k];
        row[ARMS] = arms[2 * c];
        row[ARMS + 1] = arms[2 * c + 1];
        for (int k = 0; k < WIDTH; k++) nothing[k] = 0.0;
        const double *first = v + i[c] * WIDTH, *second = j[c] >= 0 ? v + j[c] * WIDTH : nothing;
        slip(row, first, second, out + c * height);
        for (int k = D; k < height; k++) out[c * height + k] = second[k] - first[k];
    }
}

// (G^T p)_a, the contacts of each body in their order; lists as in `incident`.
extern "C" __global__ void adjoint_grips(
    i64 n, const i64 *start, const int *lists, const double *normal, const double *arms, const double *p, i64 height,
    double *out) {
    EACH(a, n) {
        double total[WIDTH];
        for (int k = 0; k < WIDTH; k++) total[k] = 0.0;
        for (i64 at = start[a]; at < start[a + 1]; at++) {
            i64 c = lists[at] / 2, second = lists[at] % 2;
            const double *q = p + c * height, *n = normal + c * D;
            double sign = second ? 1.0 : -1.0, arm = arms[2 * c + second];
            for (int k = 0; k < D; k++) total[k] += sign * q[k];
#if D == 2
            total[D] += arm * (q[0] * n[1] - q[1] * n[0]);
#else
            total[D] += arm * (q[1] * n[2] - q[2] * n[1]);
            total[D + 1] += arm * (q[2] * n[0] - q[0] * n[2]);
            total[D + 2] += arm * (q[0] * n[1] - q[1] * n[0]);
#endif
            for (int k = D; k < height; k++) total[k] += sign * q[k];
        }
        for (int k = 0; k < WIDTH; k++) out[a * WIDTH + k] = total[k];
    }
}
