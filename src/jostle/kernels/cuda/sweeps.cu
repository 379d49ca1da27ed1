// What the phases of the accelerated Gauss-Seidel sweeps in fused.cu do to a block of rows, and to a body. The kind of the
// rows, rows.cu or grips.cu, says what a row is, how it is relaxed, and what it does to its bodies.

#define STAGED_NUMBERS (NUMBERS + 2 * PARTS + 1)
#define FOURTH 3
#define MOST_TEAMS (THREADS / TEAM)
#ifdef __CUDA_ARCH__
#define STAGING extern __shared__ double staging[]  // (MOST_TEAMS, STAGED_NUMBERS, STAGED)
#else
#define STAGING static double staging[MOST_TEAMS * STAGED_NUMBERS * STAGED]
#endif

enum { SWEEP, POINT, TEST, MOVE_ON, CLEAR, CORRECT, RESTART, DONE };

// Where the iteration stands. Every block of threads keeps its own copy; all decide the same from the same sums.
struct Standing {
    double theta, beta, lowest, size, against, linear, damping, changes, changes_before;
    i64 phase, iteration, tested, restarted, swapped, exact, tests, steps;
};

struct Rows {  // numbers (NUMBERS, m), p and y (PARTS, m)
    u32 *ends;
    double *numbers, *p, *y;
};

struct Sweeps {
    i64 n, m, blocks;
    const i64 *group;   // where the blocks of each group begin
    const i64 *start;   // where the rows of each colour of each block begin
    int *kept;          // how many rows of a block are selected, up to each colour: these follow each other in `near`
    Rows all, near;     // all rows, and those that are selected
    u32 *source;        // where selected rows come from
    const double *limits;  // (LIMITS, m)
    double *before;     // margins at the test before
    double *v, *x, *other;  // velocities of y, of p, and room for the latter
    u32 *touched;       // the last test that selected a row of each body; one of which none is selected rests
    const i64 *owned;   // where the bodies of each block of the fourth group begin
    double *sums;       // (2, blocks of threads, 3): those of a meeting, and those of the one before
    u64 *come;          // how many blocks of threads have come to all meetings so far
    bool coulomb;
    double tol;
    i64 max_iterations, every;
};

struct Colours {  // of a block of rows
    i64 begin[COLOURS + 1];   // where the rows of each begin
    int kept[COLOURS];        // how many rows are selected, up to each
    int by_warp[MOST_WARPS];  // how many rows the warps of a team select at once
};

struct Shared {
    double sum[2 * MOST_WARPS];
    Colours colours[MOST_TEAMS];
    int last;
    Standing standing;
};

// The threads that treat a block of rows together. A block of threads holds several teams: the fewer blocks of threads
// there are, the sooner all of them have met.
struct Team {
    u32 rank, size;     // number of the thread in its team, and how many threads the team has
    u32 number, teams;  // number of the team in its block of threads, and how many teams there are
};

__device__ Team team_of_thread() {
    u32 size = blockDim.x < TEAM ? blockDim.x : TEAM;
    return {threadIdx.x % size, size, threadIdx.x / size, blockDim.x / size};
}

// The threads of a team wait for each other.
__device__ void gather(const Team &team) {
#ifdef __CUDA_ARCH__
    asm volatile("bar.sync %0, %1;" ::"r"(team.number + 1), "r"(team.size) : "memory");
#endif
}

__device__ double *velocity(const double *v, u32 body) { return (double *)v + (u64)body * STRIDE; }

// The velocity of a body, and from WIDTH on its inverse masses.
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
    for (int k = 0; k < (WIDTH + 1) / 2; k++) to[k] = {numbers[2 * k], numbers[2 * k + 1]};
}

struct Row {
    u32 a, b;
    double numbers[NUMBERS], from[PARTS], p[PARTS];
};

__device__ Row load(const Rows &rows, i64 m, i64 c, const double *from) {
    Row row;
    u64 ends = ((const u64 *)rows.ends)[c];
    row.a = (u32)ends;
    row.b = (u32)(ends >> 32);
    for (int k = 0; k < NUMBERS; k++) row.numbers[k] = rows.numbers[k * m + c];
    for (int k = 0; k < PARTS; k++) {
        row.from[k] = from[k * m + c];
        row.p[k] = rows.p[k * m + c];
    }
    return row;
}

// The bodies of a row, the second one at rest if it is a wall.
__device__ void read_both(const double *v, u32 a, u32 b, double *first, double *second) {
    read_body(v, a, first);
    if (b == WALL)
        for (int k = 0; k < STRIDE; k++) second[k] = 0.0;
    else
        read_body(v, b, second);
}

__device__ void write_both(double *v, u32 a, u32 b, const double *first, const double *second) {
    write_body(v, a, first);
    if (b != WALL) write_body(v, b, second);
}

__device__ void relax_row(const Sweeps &all, const Row &row, i64 c, double beta, Sums &sums) {
    double first[STRIDE], second[STRIDE], q[PARTS];
    read_both(all.v, row.a, row.b, first, second);
    relax(row.numbers, row.from, row.p, first, second, all.coulomb, q, sums);
    for (int k = 0; k < PARTS; k++) {
        all.near.p[k * all.m + c] = q[k];
        all.near.y[k * all.m + c] = q[k] + beta * (q[k] - row.p[k]);
    }
    write_both(all.v, row.a, row.b, first, second);
}

// The threads of a team learn where the rows of a block are, and how many of them are selected.
__device__ void learn(const Sweeps &all, i64 block, const Team &team, Colours &known) {
    gather(team);
    for (int k = team.rank; k <= COLOURS; k += team.size) {
        known.begin[k] = all.start[block * COLOURS + k];
        if (k < COLOURS) known.kept[k] = all.kept[block * COLOURS + k];
    }
    gather(team);
}

// Rows that are selected wait here for their colour: STAGED of them for each team.
__device__ double *staged(double *staging, int field, int c) { return staging + field * STAGED + c; }

__device__ void stage(double *staging, int c, const Row &row) {
    for (int k = 0; k < NUMBERS; k++) *staged(staging, k, c) = row.numbers[k];
    for (int k = 0; k < PARTS; k++) {
        *staged(staging, NUMBERS + k, c) = row.from[k];
        *staged(staging, NUMBERS + PARTS + k, c) = row.p[k];
    }
    *(u64 *)staged(staging, NUMBERS + 2 * PARTS, c) = (u64)row.b << 32 | row.a;
}

__device__ Row from_stage(double *staging, int c) {
    Row row;
    for (int k = 0; k < NUMBERS; k++) row.numbers[k] = *staged(staging, k, c);
    for (int k = 0; k < PARTS; k++) {
        row.from[k] = *staged(staging, NUMBERS + k, c);
        row.p[k] = *staged(staging, NUMBERS + PARTS + k, c);
    }
    u64 ends = *(u64 *)staged(staging, NUMBERS + 2 * PARTS, c);
    row.a = (u32)ends;
    row.b = (u32)(ends >> 32);
    return row;
}

__device__ void sweep(const Sweeps &all, i64 block, const Team &team, Colours &known, double *staging, double beta,
                      bool restarted, Sums &sums) {
    const double *from = restarted ? all.near.p : all.near.y;
    gather(team);
    for (int k = team.rank; k < COLOURS; k += team.size) known.kept[k] = all.kept[block * COLOURS + k];
    i64 first = all.start[block * COLOURS];
    gather(team);
    int rows = known.kept[COLOURS - 1];
    for (int c = team.rank; c < rows && c < STAGED; c += team.size) stage(staging, c, load(all.near, all.m, first + c, from));
    gather(team);
    for (int k = 0, begin = 0; begin < rows; k++) {
        int end = known.kept[k];
        if (begin == end) continue;
        bool alone = k == COLOURS - 1;  // these may share bodies: one after the other
        if (!alone || team.rank == 0)
            for (int c = begin + (alone ? 0 : team.rank); c < end; c += alone ? 1 : team.size)
                relax_row(all, c < STAGED ? from_stage(staging, c) : load(all.near, all.m, first + c, from), first + c, beta, sums);
        gather(team);
        begin = end;
    }
}

// x = v, the velocities of p; v those of y; returns the part of |x|^2_M that is of this body.
__device__ double move_body(const Sweeps &all, u32 a, double beta, double *x) {
    double v[STRIDE], at[STRIDE];
    read_body(all.v, a, v);
    read_body(x, a, at);
    bool at_rest = true;
    for (int k = 0; k < WIDTH; k++) {
        double now = v[k];
        at_rest = at_rest && now == 0.0 && at[k] == 0.0;
        v[k] = now + beta * (now - at[k]);
        at[k] = now;
    }
    if (at_rest) return 0.0;
    write_body(all.v, a, v);
    write_body(x, a, at);
    return square(at, v + WIDTH);
}

// The momentum of the bodies first <= a < last, after so many tests.
__device__ void move_on(
    const Sweeps &all, i64 first, i64 last, const Team &team, u32 tests, double beta, double *x, Sums &sums) {
    i64 a = first + team.rank;
    u32 touched = a < last ? all.touched[a] : 0;
    while (a < last) {
        u32 now = touched;
        i64 after = a + team.size;
        if (after < last) touched = all.touched[after];
        if (now == tests) sums.size += move_body(all, (u32)a, beta, x);
        a = after;
    }
}

// x += M^-1 G^T p.
__device__ void point(const Sweeps &all, i64 block, const Team &team, Colours &known, double *x) {
    learn(all, block, team, known);
    for (int k = 0; known.begin[k] < known.begin[COLOURS]; k++) {
        i64 begin = known.begin[k], end = known.begin[k + 1];
        bool alone = k == COLOURS - 1;  // these may share bodies
        if (!alone || team.rank == 0)
            for (i64 c = begin + (alone ? 0 : team.rank); c < end; c += alone ? 1 : team.size) {
                double p[PARTS], numbers[NUMBERS], first[STRIDE], second[STRIDE], masses[MASSES], others[MASSES];
                bool pushed = false;
                for (int d = 0; d < PARTS; d++) {
                    p[d] = all.all.p[d * all.m + c];
                    pushed = pushed || p[d] != 0.0;
                }
                if (!pushed) continue;
                for (int d = 0; d < NUMBERS; d++) numbers[d] = all.all.numbers[d * all.m + c];
                u32 a = all.all.ends[2 * c], b = all.all.ends[2 * c + 1];
                read_both(x, a, b, first, second);
                for (int d = 0; d < MASSES; d++) {
                    masses[d] = velocity(all.v, a)[WIDTH + d];
                    others[d] = b == WALL ? 0.0 : velocity(all.v, b)[WIDTH + d];
                }
                push(numbers, p, masses, others, first, second);
                write_both(x, a, b, first, second);
            }
        gather(team);
    }
}

// Put the selected rows of the block back to where they belong. Then at x: what complementarity lacks, sum p |s|, and how
// many rows are violated by too much; and the rows of the next iterations are selected, in their order.
__device__ void test(
    const Sweeps &all, i64 block, const Team &team, Colours &known, u32 tests, const double *x, Sums &sums) {
    learn(all, block, team, known);
    i64 first = known.begin[0], last = known.begin[COLOURS], to = first;
    for (i64 at = first + team.rank; at < first + known.kept[COLOURS - 1]; at += team.size)
        for (int k = 0; k < PARTS; k++) {
            all.all.p[k * all.m + all.source[at]] = all.near.p[k * all.m + at];
            all.all.y[k * all.m + all.source[at]] = all.near.y[k * all.m + at];
        }
    gather(team);
    for (int k = team.rank; k < COLOURS; k += team.size) known.kept[k] = 0;
    u32 width = team.size < WARP ? team.size : WARP, lane = team.rank % width, warp = team.rank / width;
    int colour = 0;
    for (i64 base = first; base < last; base += team.size) {
        i64 c = base + team.rank;
        bool keep = false;
        u32 a = 0, b = 0;
        if (c < last) {
            double numbers[NUMBERS], p[PARTS], limits[LIMITS], one[STRIDE], two[STRIDE];
            a = all.all.ends[2 * c];
            b = all.all.ends[2 * c + 1];
            for (int k = 0; k < NUMBERS; k++) numbers[k] = all.all.numbers[k * all.m + c];
            for (int k = 0; k < LIMITS; k++) limits[k] = all.limits[k * all.m + c];
            for (int k = 0; k < PARTS; k++) {
                p[k] = all.all.p[k * all.m + c];
                keep = keep || p[k] != 0.0 || all.all.y[k * all.m + c] != 0.0;
            }
            read_both(x, a, b, one, two);
            double s = margin(numbers, limits, p, one, two, all.coulomb, sums);
            if (!(s >= -limits[0])) sums.two += 1.0;
            keep = keep || s <= FAR * fabs(s - all.before[c]);
            all.before[c] = s;
        }
        u32 kept = __ballot_sync(0xFFFFFFFFu, keep);
        gather(team);
        if (lane == 0) known.by_warp[warp] = __popc(kept);
        gather(team);
        i64 at = to + __popc(kept & ((1u << lane) - 1u));
        for (u32 w = 0; w < team.size / width; w++) {
            if (w < warp) at += known.by_warp[w];
            to += known.by_warp[w];
        }
        if (keep) {
            while (c >= known.begin[colour + 1]) colour++;
            atomicAdd(&known.kept[colour], 1);
            all.near.ends[2 * at] = a;
            all.near.ends[2 * at + 1] = b;
            for (int k = 0; k < NUMBERS; k++) all.near.numbers[k * all.m + at] = all.all.numbers[k * all.m + c];
            for (int k = 0; k < PARTS; k++) {
                all.near.p[k * all.m + at] = all.all.p[k * all.m + c];
                all.near.y[k * all.m + at] = all.all.y[k * all.m + c];
            }
            all.source[at] = (u32)c;
            all.touched[a] = tests;
            if (b != WALL) all.touched[b] = tests;
        }
    }
    gather(team);
    if (team.rank == 0)
        for (int k = 1; k < COLOURS; k++) known.kept[k] += known.kept[k - 1];
    gather(team);
    for (int k = team.rank; k < COLOURS; k += team.size) all.kept[block * COLOURS + k] = known.kept[k];
}
