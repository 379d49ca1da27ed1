// The order of a sweep: blocks of space, and in a block rows by colour, so that rows of a colour share no body.
// Blocks form groups, of which no two blocks share a body (see jostle.kernels.cpu.arrangement).

#define MOST_ROUNDS 96  // rows without a colour after this many rounds get the last colour

// The cell of each body along two axes; a scale is the number of cells per unit of length. For a body without a place
// any cell is safe. The key by which bodies are sorted: the block of the last of the four groups that owns its cell, and
// the body itself. Such a block has odd cells, and owns these and the next ones; the first one also those before.
extern "C" __global__ void fill_blocks(
    i64 n, const double *places, i64 first, i64 second, double first_low, double second_low, double first_scale,
    double second_scale, i64 rows, i64 columns, int *cell, u64 *key) {
    EACH(a, n) {
        double one = (places[a * D + first] - first_low) * first_scale;
        double two = (places[a * D + second] - second_low) * second_scale;
        i64 row = one > 0.0 ? (one < rows - 1 ? (i64)one : rows - 1) : 0;
        i64 column = two > 0.0 ? (two < columns - 1 ? (i64)two : columns - 1) : 0;
        cell[2 * a] = (int)row;
        cell[2 * a + 1] = (int)column;
        i64 owner = (row > 1 ? (row - 1) / 2 : 0) * (columns / 2) + (column > 1 ? (column - 1) / 2 : 0);
        key[a] = (u64)owner << 32 | (u64)a;
    }
}

// Where the two bodies of each `every`-th row are, (2, count, D); NaN for a wall.
extern "C" __global__ void sample_rows(
    i64 count, i64 every, const i64 *i, const i64 *j, const double *places, double *out) {
    EACH(c, count) {
        i64 a = i[c * every], b = j[c * every];
        for (int k = 0; k < D; k++) {
            out[c * D + k] = places[a * D + k];
            out[(count + c) * D + k] = b >= 0 ? places[b * D + k] : NAN;
        }
    }
}

// Bodies get new numbers, in the order of their owners.
extern "C" __global__ void number_bodies(i64 n, const u64 *key, u32 *number) {
    EACH(to, n) { number[key[to] & 0xFFFFFFFFull] = (u32)to; }
}

// The block of each row, in the key by which rows are sorted: block, and the row itself. `columns` is the number of
// cells along the second axis; groups (6,) says where the blocks of each group begin. The last group is for rows between
// cells that are not neighbours.
extern "C" __global__ void assign_blocks(
    i64 m, const i64 *i, const i64 *j, const int *cell, const i64 *groups, i64 columns, u64 *key) {
    EACH(c, m) {
        i64 a = i[c], b = j[c], block = groups[4];
        i64 one = cell[2 * a], two = cell[2 * a + 1];
        i64 other = b >= 0 ? cell[2 * b] : one, another = b >= 0 ? cell[2 * b + 1] : two;
        i64 apart = one - other, aside = two - another;
        if (apart <= 1 && apart >= -1 && aside <= 1 && aside >= -1) {
            one = one < other ? one : other;
            two = two < another ? two : another;
            i64 odd = two % 2;
            block = groups[2 * (one % 2) + odd] + (one / 2) * ((columns + 1 - odd) / 2) + two / 2;
        }
        key[c] = (u64)block << 32 | (u64)c;
    }
}

// A number of its own for each row, in no order: who comes first where two rows share a body.
__device__ u32 turn(u32 c) {
    c ^= c >> 16;
    c *= 0x7FEB352Du;
    c ^= c >> 15;
    c *= 0x846CA68Bu;
    return c ^ (c >> 16);
}

// Who comes first in a round: a later round overrules those before it.
__device__ u64 claim(u32 c, u32 round) { return (u64)(0xFFFFFFFFu - round) << 32 | turn(c); }

// Colour the rows of each block, and say where each row of a sweep comes from, `source`. In a round, rows without a colour ask for
// their two bodies; those that come first at both take the first colour that is free there. key: sorted; first: where
// the rows of each block begin; owner: all bits set, used: zero, each a number for each body of each group.
extern "C" __global__ void arrange(
    i64 blocks, i64 groups, i64 n, const i64 *group, const u64 *key, const i64 *first, const i64 *i, const i64 *j,
    u64 *owner, u64 *used, int *colour, i64 *begin, u32 *source) {
    __shared__ int left;
    __shared__ int count[COLOURS];
    u32 width = blockDim.x < 32 ? blockDim.x : 32, lane = threadIdx.x % width, warp = threadIdx.x / width;
    for (i64 block = blockIdx.x; block < blocks; block += gridDim.x) {
        i64 from = first[block], to = first[block + 1], mine = 0;
        while (mine + 1 < groups && block >= group[mine + 1]) mine++;
        u64 *own = owner + mine * n, *taken = used + mine * n;
        for (i64 at = from + threadIdx.x; at < to; at += blockDim.x) colour[at] = -1;
        for (int k = threadIdx.x; k < COLOURS; k += blockDim.x) count[k] = 0;
        for (u32 round = 0; round < MOST_ROUNDS; round++) {
            __syncthreads();
            if (threadIdx.x == 0) left = 0;
            for (i64 at = from + threadIdx.x; at < to; at += blockDim.x) {
                if (colour[at] >= 0) continue;
                i64 c = (i64)(key[at] & 0xFFFFFFFFull);
                u64 claimed = claim((u32)c, round);
                atomicMin(&own[i[c]], claimed);
                if (j[c] >= 0) atomicMin(&own[j[c]], claimed);
            }
            __syncthreads();
            for (i64 at = from + threadIdx.x; at < to; at += blockDim.x) {
                if (colour[at] >= 0) continue;
                i64 c = (i64)(key[at] & 0xFFFFFFFFull), a = i[c], b = j[c] >= 0 ? j[c] : a;
                u64 claimed = claim((u32)c, round);
                if (atomicMin(&own[a], ~0ull) != claimed || atomicMin(&own[b], ~0ull) != claimed) {
                    left = 1;
                    continue;
                }
                u64 both = taken[a] | taken[b];
                int found = 0;
                while (found < COLOURS - 1 && (both >> found) & 1) found++;
                colour[at] = found;
                atomicAdd(&count[found], 1);
                taken[a] |= 1ull << found;
                if (b != a) taken[b] |= 1ull << found;
            }
            __syncthreads();
            if (!left) break;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            i64 total = from;
            for (int k = 0; k < COLOURS; k++) {
                begin[block * COLOURS + k] = total;
                total += count[k];
            }
            if (block == blocks - 1) begin[blocks * COLOURS] = to;
        }
        __syncthreads();
        for (int k = warp; k < COLOURS; k += blockDim.x / width) {
            if (count[k] == 0 && k < COLOURS - 1) continue;
            i64 place = begin[block * COLOURS + k];
            for (i64 base = from; base < to; base += width) {
                i64 at = base + lane;
                bool here = at < to && (colour[at] == k || (colour[at] < 0 && k == COLOURS - 1));
                u32 those = __ballot_sync(0xFFFFFFFFu, here);
                if (here) source[place + __popc(those & ((1u << lane) - 1u))] = (u32)(key[at] & 0xFFFFFFFFull);
                place += __popc(those);
            }
        }
        __syncthreads();
    }
}
