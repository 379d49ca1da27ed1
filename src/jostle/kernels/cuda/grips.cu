// Contacts of balls with spin as a kind of rows for sweeps.cu: three multipliers a contact in space, two in the plane, in
// a friction cone. See jostle.kernels.cpu.grips.

#define SPINS (D == 2 ? 1 : 3)  // a body has its velocity, its spin, and then
#define MASSES 2                // its inverse mass and inertia

// The limits of a contact are the allowed violation and the slack that counts as zero; these are its numbers. `Kind` in
// launch.py counts them.
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

// A contact as it is given to other kernels than the sweeps: a row without slack, its two bodies, W_n and W_t.
struct Contact {
    double row[NUMBERS];
    i64 ends[2];
    double W_n, W_t;
};

// inverse: `stride` numbers a body, its inverse mass first, and its inverse inertia at `turning`.
__device__ Contact contact_of(i64 c, const i64 *i, const i64 *j, const double *normal, const double *arms,
                              const double *inverse, int stride, int turning) {
    Contact found;
    for (int k = 0; k < NUMBERS; k++) found.row[k] = 0.0;
    for (int k = 0; k < D; k++) found.row[NORMAL + k] = normal[c * D + k];
    found.ends[0] = i[c];
    found.ends[1] = j[c];
    found.W_n = found.W_t = 0.0;
    for (int end = 0; end < 2; end++) {
        double arm = found.row[ARMS + end] = arms[2 * c + end];
        if (found.ends[end] < 0) continue;
        const double *masses = inverse + found.ends[end] * stride;
        found.W_n += masses[0];
        found.W_t += masses[turning] * arm * arm;
    }
    found.W_t += found.W_n;
    return found;
}

// |G| x, or G^2 x, entry by entry, for the coordinates x of both bodies: how large each row of a contact is.
__device__ void sizes(const double *row, const double *first, const double *second, bool squared, double *out) {
    double n[D], spin[SPINS], one = row[ARMS], two = row[ARMS + 1];
    if (squared) {
        one *= one;
        two *= two;
    }
    for (int k = 0; k < D; k++) {
        n[k] = squared ? row[NORMAL + k] * row[NORMAL + k] : fabs(row[NORMAL + k]);
        out[k] = first[k] + second[k];
    }
    for (int k = 0; k < SPINS; k++) spin[k] = fabs(one) * first[D + k] + fabs(two) * second[D + k];
#if D == 2
    out[0] += n[1] * spin[0];
    out[1] += n[0] * spin[0];
#else
    for (int k = 0; k < D; k++) out[k] += n[(k + 1) % 3] * spin[(k + 2) % 3] + n[(k + 2) % 3] * spin[(k + 1) % 3];
#endif
}

// The normal part of a vector, its tangential part t, and the length of that.
__device__ double divided(const double *n, const double *vector, double *t, double *length) {
    double normal = dot(vector, n);
    for (int k = 0; k < D; k++) t[k] = vector[k] - normal * n[k];
    *length = sqrt(dot(t, t));
    return normal;
}

// The nearest impulse in the friction cone, in the metric of W_n and W_t.
__device__ void nearest(const Contact &contact, const double *p, double mu, double *out) {
    const double *n = contact.row + NORMAL;
    double t[D], size, p_n = divided(n, p, t, &size), found = p_n;
    for (int round = 0; round < 3; round++) {
        double slips = size > mu * found ? contact.W_t * mu : 0.0;
        found = (contact.W_n * p_n + slips * size) / (contact.W_n + slips * mu);
    }
    found = found > 0.0 ? found : 0.0;
    double factor = mu * found / (size > 1e-300 ? size : 1e-300);
    factor = factor < 1.0 ? factor : 1.0;
    for (int k = 0; k < D; k++) out[k] = found * n[k] + factor * t[k];
}

// The square of the distance from p to q, in the same metric.
__device__ double square_between(const Contact &contact, const double *p, const double *q) {
    double way[D], t[D], size;
    for (int k = 0; k < D; k++) way[k] = p[k] - q[k];
    double normal = divided(contact.row + NORMAL, way, t, &size);
    return contact.W_n * normal * normal + contact.W_t * size * size;
}

// Velocities of the two bodies of a contact; those of a wall are zero.
__device__ void velocities(const Contact &contact, const double *v, double *first, double *second) {
    for (int k = 0; k < WIDTH; k++) {
        first[k] = v[contact.ends[0] * WIDTH + k];
        second[k] = contact.ends[1] >= 0 ? v[contact.ends[1] * WIDTH + k] : 0.0;
    }
}

extern "C" __global__ void whitened_grips(
    i64 m, const i64 *i, const i64 *j, const double *normal, const double *arms, const double *mu, const double *inverse,
    const double *w, const double *c_, const double *c_noise, const double *guess, double noise_level, double *scale,
    double *noise, double *start) {
    EACH(c, m) {
        Contact contact = contact_of(c, i, j, normal, arms, inverse, 2, 1);
        double first[WIDTH], second[WIDTH], size[D], total = 0.0;
        velocities(contact, w, first, second);
        for (int k = 0; k < WIDTH; k++) {
            first[k] = fabs(first[k]);
            second[k] = fabs(second[k]);
        }
        sizes(contact.row, first, second, false, size);
        for (int k = 0; k < D; k++) {
            double one = c_noise[c * D + k] + noise_level * (fabs(c_[c * D + k]) + size[k]);
            total += one * one;
        }
        scale[2 * c] = contact.W_n;
        scale[2 * c + 1] = contact.W_t;
        noise[c] = sqrt(total);
        nearest(contact, guess + c * D, mu[c], start + c * D);
    }
}

#define RESIDUALS 6  // numbers a block of threads, in `found`

// Of some contacts: the largest violation over the length, and that over the norm where there is no length; the largest
// distance of an impulse from its cone; the sums of what complementarity lacks, of |p| |G|, and of the squares of the
// natural map.
extern "C" __global__ void residuals_grips(
    i64 m, const i64 *i, const i64 *j, const double *normal, const double *arms, const double *mu, i64 coulomb,
    const double *inverse, const double *c_, const double *c_noise, const double *length, const double *w,
    const double *u, const double *p, double noise_level, double *found) {
    __shared__ double shared[2 * MOST_WARPS];
    double relative = 0.0, violation = 0.0, outside = 0.0, pushes = 0.0, natural = 0.0, nothing = 0.0;
    Sums sums = {0.0, 0.0, 0.0};
    EACH(c, m) {
        Contact contact = contact_of(c, i, j, normal, arms, inverse, WIDTH, D);
        const double *n = contact.row + NORMAL, *own = p + c * D, nowhere[D] = {0.0};
        double first[WIDTH], second[WIDTH], other[WIDTH], another[WIDTH], size[D], near[D], limits[2] = {0.0, 0.0};
        for (int k = 0; k < D; k++) contact.row[SLACK + k] = c_[c * D + k];
        contact.row[MU] = mu[c];
        velocities(contact, u, first, second);
        velocities(contact, w, other, another);
        for (int k = 0; k < WIDTH; k++) {
            other[k] = fabs(other[k]) + fabs(first[k]);
            another[k] = fabs(another[k]) + fabs(second[k]);
        }
        sizes(contact.row, other, another, false, size);
        for (int k = 0; k < D; k++) {
            double one = c_noise[c * D + k] + noise_level * (fabs(c_[c * D + k]) + size[k]);
            limits[1] += one * one;
        }
        limits[1] = sqrt(limits[1]);
        double s_n = margin(contact.row, limits, own, first, second, coulomb != 0, sums);
        double lack = s_n < 0.0 ? -s_n : 0.0, unit = sqrt(contact.W_n);
        if (s_n != s_n) lack = s_n;
        if (length[c * D] > 0.0)
            keep_largest(&relative, lack / length[c * D]);
        else
            keep_largest(&violation, lack / (unit > 1e-300 ? unit : 1e-300));
        nearest(contact, own, mu[c], near);
        double away = sqrt(square_between(contact, own, near)), whole = sqrt(square_between(contact, own, nowhere));
        keep_largest(&outside, away <= noise_level * whole ? 0.0 : away);
        velocities(contact, inverse, other, another);
        sizes(contact.row, other, another, true, size);
        for (int k = 0; k < D; k++) pushes += fabs(own[k]) * sqrt(size[k]);
        double s[D], t[D], slips, moved[D];
        slip(contact.row, first, second, s);
        double opened = divided(n, s, t, &slips);
        if (coulomb) opened += mu[c] * slips;
        for (int k = 0; k < D; k++) moved[k] = own[k] - opened / contact.W_n * n[k] - t[k] / contact.W_t;
        nearest(contact, moved, mu[c], near);
        natural += square_between(contact, own, near);
    }
    block_largest(&relative, &violation, shared);
    block_largest(&outside, &nothing, shared);
    block_sums(&sums.one, &pushes, shared);
    nothing = 0.0;
    block_sums(&natural, &nothing, shared);
    if (threadIdx.x == 0) {
        double *own = found + RESIDUALS * blockIdx.x;
        own[0] = relative;
        own[1] = violation;
        own[2] = outside;
        own[3] = sums.one;
        own[4] = pushes;
        own[5] = natural;
    }
}
