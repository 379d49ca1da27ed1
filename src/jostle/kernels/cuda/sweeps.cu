// What the phases of the accelerated Gauss-Seidel sweeps in fused.cu do to a block of rows, and to a body.

#define STRIDE (D == 1 ? 2 : 4)  // numbers a body: its velocity, and from D on its inverse mass
#define FOURTH 3

enum { SWEEP, POINT, TEST, MOVE_ON, CLEAR, CORRECT, RESTART, DONE };

// Where the iteration stands. Every block of threads keeps its own copy; all decide the same from the same sums.
struct Standing {
    double theta, beta, lowest, size, against, linear;
    i64 phase, iteration, tested, restarted, swapped, exact, tests, steps;
};

struct Rows {
    u32 *ends;
    double *e, *s0, *p, *y;
};

struct Sweeps {
    i64 n, m, blocks;
    const i64 *group;   // where the blocks of each group begin
    const i64 *start;   // where the rows of each colour of each block begin
    int *kept;          // how many of them are selected
    Rows all, near;     // all rows, and those that are selected
    u32 *source;        // where selected rows come from
    const double *allowed;
    double *before;     // slacks at the test before
    double *v, *x, *other;  // velocities of y, of p, and room for the latter
    u32 *touched;       // the last test that selected a row of each body; one of which none is selected rests
    const i64 *owned;   // where the bodies of each block of the fourth group begin
    double *sums;       // (blocks + pieces, 3), and then the sums of all
    u64 *waiting;       // how many blocks of threads have come, and how often all were let go
    double tol;
    i64 max_iterations, every;
};

struct Shared {
    double sum[2 * MOST_WARPS];
    i64 begin[COLOURS + 1];
    int length[COLOURS];
    int last;
    Standing standing;
};

__device__ double *velocity(const double *v, u32 body) { return (double *)v + (u64)body * STRIDE; }

// The velocity of a body, and at D its inverse mass.
__device__ void read_body(const double *v, u32 body, double *numbers) {
    const Two *from = (const Two *)velocity(v, body);
    for (int k = 0; k < STRIDE / 2; k++) {
        Two both = from[k];
        numbers[2 * k] = both.one;
        numbers[2 * k + 1] = both.two;
    }
}

__device__ void write_body(double *v, u32 body, const double *numbers) {
    Two *to = (Two *)velocity(v, body);
    for (int k = 0; k < (D + 1) / 2; k++) to[k] = {numbers[2 * k], numbers[2 * k + 1]};
}

struct Row {
    u32 a, b;
    double e[D], slack, before, p;
};

__device__ Row load(const Rows &rows, i64 m, i64 c, const double *from) {
    Row row;
    u64 ends = ((const u64 *)rows.ends)[c];
    row.a = (u32)ends;
    row.b = (u32)(ends >> 32);
    for (int k = 0; k < D; k++) row.e[k] = rows.e[k * m + c];
    row.slack = rows.s0[c];
    row.before = from[c];
    row.p = rows.p[c];
    return row;
}

__device__ void relax(const Sweeps &all, const Row &row, i64 c, double beta, double *against, double *linear) {
    bool wall = row.b == WALL;
    double first[STRIDE], second[STRIDE], gradient = row.slack;
    read_body(all.v, row.a, first);
    if (wall)
        for (int k = 0; k < STRIDE; k++) second[k] = 0.0;
    else
        read_body(all.v, row.b, second);
    for (int k = 0; k < D; k++) gradient += row.e[k] * (second[k] - first[k]);
    double q = row.before - gradient;
    q = q > 0.0 ? q : 0.0;
    double step = q - row.before, way = q - row.p, one = step * first[D], two = step * second[D];
    *against -= step * way;
    *linear += row.slack * q;
    all.near.p[c] = q;
    all.near.y[c] = q + beta * way;
    for (int k = 0; k < D; k++) {
        first[k] -= one * row.e[k];
        second[k] += two * row.e[k];
    }
    write_body(all.v, row.a, first);
    if (!wall) write_body(all.v, row.b, second);
}

// The colours of a block, known to all its threads: returns how many there are.
__device__ int learn(const Sweeps &all, i64 block, Shared &shared) {
    int colours = 0;
    __syncthreads();
    for (int k = threadIdx.x; k <= COLOURS; k += blockDim.x) {
        shared.begin[k] = all.start[block * COLOURS + k];
        if (k < COLOURS) shared.length[k] = all.kept[block * COLOURS + k];
    }
    __syncthreads();
    if (shared.begin[COLOURS] > shared.begin[COLOURS - 1]) return COLOURS;
    while (shared.begin[colours] < shared.begin[COLOURS]) colours++;
    return colours;
}

__device__ void sweep(const Sweeps &all, i64 block, Shared &shared, double beta, bool restarted) {
    const double *from = restarted ? all.near.p : all.near.y;
    double against = 0.0, linear = 0.0;
    int colours = learn(all, block, shared);
    Row next;
    int t = threadIdx.x;
    if (colours > 0 && t < shared.length[0]) next = load(all.near, all.m, shared.begin[0] + t, from);
    for (int k = 0; k < colours; k++) {
        i64 begin = shared.begin[k];
        int length = shared.length[k];
        Row row = next;
        if (k + 1 < colours && t < shared.length[k + 1]) next = load(all.near, all.m, shared.begin[k + 1] + t, from);
        if (k == COLOURS - 1) {  // these may share bodies: one after the other
            if (t == 0)
                for (int c = 0; c < length; c++)
                    relax(all, load(all.near, all.m, begin + c, from), begin + c, beta, &against, &linear);
        } else {
            if (t < length) relax(all, row, begin + t, beta, &against, &linear);
            for (int c = t + blockDim.x; c < length; c += blockDim.x)
                relax(all, load(all.near, all.m, begin + c, from), begin + c, beta, &against, &linear);
        }
        __syncthreads();
    }
    block_sums(&against, &linear, shared.sum);
    if (t == 0) {
        all.sums[3 * block] = against;
        all.sums[3 * block + 1] = linear;
    }
}

// x = v, the velocities of p; v those of y; returns the part of |x|^2_M that is of this body.
__device__ double move_body(const Sweeps &all, u32 a, double beta, double *x) {
    double v[STRIDE], at[STRIDE], square = 0.0;
    read_body(all.v, a, v);
    read_body(x, a, at);
    bool still = true;
    for (int k = 0; k < D; k++) {
        double now = v[k];
        still = still && now == 0.0 && at[k] == 0.0;
        square += now * now;
        v[k] = now + beta * (now - at[k]);
        at[k] = now;
    }
    if (still) return 0.0;
    write_body(all.v, a, v);
    write_body(x, a, at);
    return square / v[D];
}

// The momentum of the bodies first <= a < last.
__device__ void move_on(const Sweeps &all, i64 unit, i64 first, i64 last, Shared &shared, double beta, double *x) {
    double size = 0.0, nothing = 0.0;
    u32 tests = (u32)shared.standing.tests;
    for (i64 a = first + threadIdx.x; a < last; a += blockDim.x)
        if (all.touched[a] == tests) size += move_body(all, (u32)a, beta, x);
    block_sums(&size, &nothing, shared.sum);
    if (threadIdx.x == 0) all.sums[3 * unit + 2] = size;
}

// x += M^-1 G^T p.
__device__ void point(const Sweeps &all, i64 block, Shared &shared, double *x) {
    int colours = learn(all, block, shared);
    for (int k = 0; k < colours; k++) {
        i64 begin = shared.begin[k], end = shared.begin[k + 1];
        bool alone = k == COLOURS - 1;  // these may share bodies
        if (!alone || threadIdx.x == 0)
            for (i64 c = begin + (alone ? 0 : threadIdx.x); c < end; c += alone ? 1 : blockDim.x) {
                double push = all.all.p[c];
                if (push == 0.0) continue;
                u32 a = all.all.ends[2 * c], b = all.all.ends[2 * c + 1];
                double *one = velocity(x, a), mass = push * velocity(all.v, a)[D];
                for (int d = 0; d < D; d++) one[d] -= mass * all.all.e[d * all.m + c];
                if (b == WALL) continue;
                double *two = velocity(x, b);
                mass = push * velocity(all.v, b)[D];
                for (int d = 0; d < D; d++) two[d] += mass * all.all.e[d * all.m + c];
            }
        __syncthreads();
    }
}

// Put the selected rows of the block back to where they belong. Then at x: sum p |s|, how many rows are violated by too
// much; and the rows of the next iterations are selected. A warp takes a colour, so that they keep their order.
__device__ void test(const Sweeps &all, i64 block, Shared &shared, const double *x) {
    double product = 0.0, violated = 0.0;
    u32 tests = (u32)shared.standing.tests + 1;
    int colours = learn(all, block, shared);
    for (int k = 0; k < colours; k++)
        for (int c = threadIdx.x; c < shared.length[k]; c += blockDim.x) {
            i64 at = shared.begin[k] + c;
            all.all.p[all.source[at]] = all.near.p[at];
            all.all.y[all.source[at]] = all.near.y[at];
        }
    __syncthreads();
    u32 width = blockDim.x < 32 ? blockDim.x : 32, lane = threadIdx.x % width, warp = threadIdx.x / width;
    for (int k = warp; k < colours; k += blockDim.x / width) {
        i64 begin = shared.begin[k], end = shared.begin[k + 1], to = begin;
        for (i64 base = begin; base < end; base += width) {
            i64 c = base + lane;
            bool keep = false;
            u32 a = 0, b = 0;
            double s0 = 0.0, p = 0.0, y = 0.0;
            if (c < end) {
                a = all.all.ends[2 * c];
                b = all.all.ends[2 * c + 1];
                s0 = all.all.s0[c];
                p = all.all.p[c];
                y = all.all.y[c];
                double s = s0;
                for (int d = 0; d < D; d++) {
                    double there = b == WALL ? 0.0 : velocity(x, b)[d];
                    s += all.all.e[d * all.m + c] * (there - velocity(x, a)[d]);
                }
                product += p * fabs(s);
                if (!(s >= -all.allowed[c])) violated += 1.0;
                keep = p != 0.0 || y != 0.0 || s <= FAR * fabs(s - all.before[c]);
                all.before[c] = s;
            }
            u32 kept = __ballot_sync(0xFFFFFFFFu, keep);
            if (keep) {
                i64 at = to + __popc(kept & ((1u << lane) - 1u));
                all.near.ends[2 * at] = a;
                all.near.ends[2 * at + 1] = b;
                for (int d = 0; d < D; d++) all.near.e[d * all.m + at] = all.all.e[d * all.m + c];
                all.near.s0[at] = s0;
                all.near.p[at] = p;
                all.near.y[at] = y;
                all.source[at] = (u32)c;
                all.touched[a] = tests;
                if (b != WALL) all.touched[b] = tests;
            }
            to += __popc(kept);
        }
        if (lane == 0) all.kept[block * COLOURS + k] = (int)(to - begin);
    }
    block_sums(&product, &violated, shared.sum);
    if (threadIdx.x == 0) {
        all.sums[3 * block] = product;
        all.sums[3 * block + 1] = violated;
    }
}
