// Accelerated Gauss-Seidel sweeps, as in jostle.kernels.cpu.fused: one launch does many iterations.
//
// Teams of threads take blocks of rows; rows of a colour share no body and are done at the same time. Between the groups
// of blocks, all wait for each other; each block of threads then adds up the sums of all, in a fixed order, and decides
// what comes next. So the bits are the same in every run.

// What is done to each body of a piece. x: the velocities of p; fresh: the same, computed anew.
__device__ void bodies(
    const Sweeps &all, i64 piece, const Standing &now, const Team &team, double *x, double *fresh, Sums &sums) {
    i64 begin = piece * PIECE, end = begin + PIECE < all.n ? begin + PIECE : all.n, phase = now.phase;
    if (phase == MOVE_ON) return move_on(all, begin, end, team, (u32)now.tests, now.beta, x, sums);
    for (i64 a = begin + team.rank; a < end; a += team.size) {
        double v[STRIDE], at[STRIDE], anew[STRIDE];
        if (phase == CLEAR) {
            for (int k = 0; k < STRIDE; k++) anew[k] = 0.0;
            write_body(fresh, (u32)a, anew);
            continue;
        }
        read_body(all.v, (u32)a, v);
        read_body(x, (u32)a, at);
        if (phase == CORRECT) read_body(fresh, (u32)a, anew);
        for (int k = 0; k < WIDTH; k++) v[k] = phase == CORRECT ? v[k] + (anew[k] - at[k]) : at[k];
        if (phase == CORRECT) sums.size += square(anew, v + WIDTH);
        write_body(all.v, (u32)a, v);
    }
}

// See `next_test` in jostle.kernels.reference.sweeps.
__device__ i64 next_test(i64 iteration, i64 every) {
    i64 quarter = every < 8 ? 1 : every / 4, soon = iteration > quarter ? iteration : quarter, late = iteration / 10;
    soon = soon < every ? soon : every;
    return iteration + (soon > late ? soon : late);
}

// What comes next, from the sums of the phase that has ended; see `_iterate` in jostle.kernels.cpu.fused.
__device__ void decide(const Sweeps &all, Standing &now, double one, double two, double size, bool moved) {
    if (now.phase == SWEEP) {
        now.against = one;
        now.linear = two;
        now.phase = MOVE_ON;
        if (!moved) return;
    }
    if (now.phase == CLEAR || now.phase == POINT || now.phase == RESTART) {
        now.phase = now.phase == CLEAR ? POINT : now.phase == POINT ? CORRECT : SWEEP;
        return;
    }
    if (now.phase == CORRECT) {
        now.size = size;
        now.swapped = 1 - now.swapped;
        now.exact = 1;
        now.phase = TEST;
        return;
    }
    if (now.phase == MOVE_ON) {
        now.size = size;
        now.exact = 0;
        now.restarted = now.against > 0.0;
        now.iteration++;
        now.steps++;
        if (!all.coulomb) {
            double objective = now.linear + 0.5 * size;
            now.restarted = now.restarted || objective > now.lowest + RISE * fabs(now.lowest);
            now.lowest = objective;
        } else if (now.changes += now.linear, now.iteration % WINDOW == 0) {
            bool grow = now.changes > now.changes_before;
            now.restarted = now.restarted || grow;
            double least = all.tol < TIGHT ? TIGHT_DAMPING : DAMPING;
            now.damping = grow ? fmin(1.0, 2.0 * now.damping) : fmax(least, 0.8 * now.damping);
            now.changes_before = now.changes;
            now.changes = 0.0;
        }
        if (now.iteration == (now.tested < all.max_iterations ? now.tested : all.max_iterations)) {
            now.phase = TEST;
            return;
        }
    } else {
        now.tests++;
        bool passed = two == 0.0 && (all.tol == INFINITY || one <= all.tol * now.size);
        if (passed || now.iteration >= all.max_iterations) {
            bool coarse = all.tol > DRIFT && all.tol < INFINITY;
            now.phase = now.exact || coarse || now.iteration >= all.max_iterations ? DONE : CLEAR;
            return;
        }
        now.tested = now.exact ? now.iteration + next_test(0, all.every) : next_test(now.iteration, all.every);
    }
    if (now.restarted) now.theta = 1.0;
    double theta = now.theta, after = theta * (sqrt(theta * theta + 4.0) - theta) / 2.0;
    now.beta = now.restarted ? 0.0 : theta * (1.0 - theta) / (theta * theta + after);
    if (all.coulomb) now.beta = fmin(now.beta, 1.0 - now.damping);
    now.theta = after;
    now.phase = now.restarted ? RESTART : SWEEP;
}

// Count one more arrival, and return how many there are. What this thread wrote before can then be seen by all that see
// the new count.
__device__ u64 arrive(u64 *counter) {
#ifdef __CUDA_ARCH__
    u64 before;
    asm volatile("atom.add.acq_rel.gpu.global.u64 %0, [%1], 1;" : "=l"(before) : "l"(counter) : "memory");
    return before + 1;
#else
    return ++*counter;
#endif
}

// Wait until the counter has come to a number, and see all that was written before.
__device__ void wait_for(u64 *counter, u64 number) {
#ifdef __CUDA_ARCH__
    u64 now;  // looks that are not acquired do not empty the caches of those who still work
    while (true) {
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(now) : "l"(counter) : "memory");
        if (now >= number) break;
        __nanosleep(20);
    }
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
#endif
}

// All blocks of threads wait for each other; with sums there is something to decide: each of them adds up those of all,
// in the same order. moved: the sweep has moved on by the momentum too.
__device__ void meet(const Sweeps &all, Shared &shared, u64 *round, Sums *sums, bool moved = false) {
    double *those = all.sums + 3 * gridDim.x * (*round % 2), nothing = 0.0;
    *round += 1;
    if (sums) {
        block_sums(&sums->one, &sums->two, shared.sum);
        block_sums(&sums->size, &nothing, shared.sum);
        if (threadIdx.x == 0) {
            those[3 * blockIdx.x] = sums->one;
            those[3 * blockIdx.x + 1] = sums->two;
            those[3 * blockIdx.x + 2] = sums->size;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        arrive(all.come);
        wait_for(all.come, *round * gridDim.x);
    }
    __syncthreads();
    if (sums && threadIdx.x < WARP) {
        Sums of_all = {0.0, 0.0, 0.0};
        u32 width = blockDim.x < WARP ? blockDim.x : WARP;
        for (u32 block = threadIdx.x; block < gridDim.x; block += width) {
            of_all.one += those[3 * block];
            of_all.two += those[3 * block + 1];
            of_all.size += those[3 * block + 2];
        }
        warp_sums(width, &of_all.one, &of_all.two);
        warp_sums(width, &of_all.size, &nothing);
        if (threadIdx.x == 0) decide(all, shared.standing, of_all.one, of_all.two, of_all.size, moved);
    }
    if (sums) __syncthreads();
}

// Iterations until it has stopped, or until there were `steps` of them. All blocks of threads must run at the same time.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) gauss_seidel(
    i64 n, i64 m, i64 groups, i64 blocks, const i64 *group, const i64 *start, int *kept, u32 *ends, double *numbers,
    double *p, double *y, u32 *near_ends, double *near_numbers, double *near_p, double *near_y, u32 *source,
    const double *limits, double *before, double *v, double *x, double *other, u32 *touched, const i64 *owned,
    double *sums, Standing *standing, u64 *come, i64 coulomb, double tol, i64 max_iterations, i64 every, i64 steps) {
    __shared__ Shared shared;
    STAGING;
    Sweeps all = {n, m, blocks, group, start, kept, {ends, numbers, p, y}, {near_ends, near_numbers, near_p, near_y},
                  source, limits, before, v, x, other, touched, owned, sums, come, coulomb != 0, tol, max_iterations,
                  every};
    Team team = team_of_thread();
    Colours &known = shared.colours[team.number];
    double *own_staging = staging + team.number * STAGED_NUMBERS * STAGED;
    i64 mine = (i64)team.number * gridDim.x + blockIdx.x, teams = (i64)team.teams * gridDim.x;
    i64 pieces = (n + PIECE - 1) / PIECE, most = groups - 1;
    u64 round = 0;
    if (start[group[most] * COLOURS] == start[group[most + 1] * COLOURS]) most--;
    bool moved = most == FOURTH;  // blocks of the fourth group are the last to touch the bodies that they own
    if (threadIdx.x == 0) shared.standing = *standing;
    __syncthreads();
    while (true) {
        Standing now = shared.standing;
        if (now.phase == DONE || (now.phase == SWEEP && now.steps >= steps)) break;
        double *at = now.swapped ? other : x, *fresh = now.swapped ? x : other;
        Sums sum = {0.0, 0.0, 0.0};
        if (now.phase == TEST) {
            for (i64 block = mine; block < blocks; block += teams)
                test(all, block, team, known, (u32)now.tests + 1, at, sum);
            meet(all, shared, &round, &sum);
        } else if (now.phase == SWEEP || now.phase == POINT) {
            for (i64 one = 0; one <= most; one++) {
                for (i64 block = group[one] + mine; block < group[one + 1]; block += teams) {
                    if (now.phase == POINT) {
                        point(all, block, team, known, fresh);
                        continue;
                    }
                    sweep(all, block, team, known, own_staging, now.beta, now.restarted, sum);
                    i64 owner = block - group[FOURTH];
                    if (moved && one == FOURTH)
                        move_on(all, owned[owner], owned[owner + 1], team, (u32)now.tests, now.beta, at, sum);
                }
                meet(all, shared, &round, one == most ? &sum : 0, moved && now.phase == SWEEP);
            }
        } else {
            for (i64 piece = mine; piece < pieces; piece += teams) bodies(all, piece, now, team, at, fresh, sum);
            meet(all, shared, &round, &sum);
        }
    }
    // nobody is still reading where others stand: each has its own copy since the start
    if (blockIdx.x == 0 && threadIdx.x == 0 && round > 0) *standing = shared.standing;
}

// The two bodies of each row, by their new numbers.
extern "C" __global__ void write_ends(
    i64 m, const u32 *source, const u32 *number, const i64 *i, const i64 *j, u32 *ends) {
    EACH(to, m) {
        u32 c = source[to];
        ends[2 * to] = number[i[c]];
        ends[2 * to + 1] = j[c] >= 0 ? number[j[c]] : WALL;
    }
}

// p in the order of the rows that were given.
extern "C" __global__ void read_rows(i64 m, const u32 *source, const double *p, double *out) {
    EACH(to, m)
        for (int k = 0; k < PARTS; k++) out[(u64)source[to] * PARTS + k] = p[k * m + to];
}
