// What all kernels share: loops over everything, sorted lists of rows a body, sums of a block.
// D is the dimension of space. A wall at rest is a body with a negative number.
// Every loop works with any number of threads, also with one: the sources are tested on a host that way.

typedef long long i64;
typedef unsigned int u32;
typedef unsigned long long u64;

#ifndef INFINITY
#define INFINITY __longlong_as_double(0x7FF0000000000000LL)
#define NAN __longlong_as_double(0x7FF8000000000000LL)
#endif

#define WALL 0xFFFFFFFFu

static_assert(D >= 1 && D <= 3, "bodies live in at most three dimensions here");

struct alignas(16) Two {  // numbers that are read and written together
    double one, two;
};

#define EACH(c, count) \
    for (i64 c = blockIdx.x * (i64)blockDim.x + threadIdx.x; c < (count); c += (i64)gridDim.x * blockDim.x)

#define WARP 32
#define MOST_WARPS 32  // of a block of threads

// The sums, or the largest, of two numbers over the first `width` threads of a warp, known to the first of them.
__device__ void warp_sums(u32 width, double *one, double *two) {
    for (u32 half = width / 2; half > 0; half /= 2) {
        *one += __shfl_down_sync(0xFFFFFFFFu, *one, half);
        *two += __shfl_down_sync(0xFFFFFFFFu, *two, half);
    }
}

__device__ void keep_largest(double *one, double other) {
    if (other > *one || other != other) *one = other;  // NaN if one of them is
}

__device__ void warp_largest(u32 width, double *one, double *two) {
    for (u32 half = width / 2; half > 0; half /= 2) {
        keep_largest(one, __shfl_down_sync(0xFFFFFFFFu, *one, half));
        keep_largest(two, __shfl_down_sync(0xFFFFFFFFu, *two, half));
    }
}

// The sums of two numbers over the threads of a block, or the largest, known to its first thread. Sums have the same bits
// in every run.
template <bool largest>
__device__ void block_reduce(double *one, double *two, double *shared) {
    u32 width = blockDim.x < WARP ? blockDim.x : WARP, warps = blockDim.x / width, warp = threadIdx.x / width;
    if (largest)
        warp_largest(width, one, two);
    else
        warp_sums(width, one, two);
    __syncthreads();
    if (threadIdx.x % width == 0) {
        shared[2 * warp] = *one;
        shared[2 * warp + 1] = *two;
    }
    __syncthreads();
    if (threadIdx.x == 0)
        for (u32 k = 1; k < warps; k++) {
            if (largest) {
                keep_largest(one, shared[2 * k]);
                keep_largest(two, shared[2 * k + 1]);
            } else {
                *one += shared[2 * k];
                *two += shared[2 * k + 1];
            }
        }
}

__device__ void block_sums(double *one, double *two, double *shared) { block_reduce<false>(one, two, shared); }

__device__ void block_largest(double *one, double *two, double *shared) { block_reduce<true>(one, two, shared); }

__device__ void sift(int *list, i64 root, i64 length) {
    int value = list[root];
    while (2 * root + 1 < length) {
        i64 child = 2 * root + 1;
        if (child + 1 < length && list[child + 1] > list[child]) child++;
        if (list[child] <= value) break;
        list[root] = list[child];
        root = child;
    }
    list[root] = value;
}

#define SHORT_LIST 32  // longer ones are sorted as a heap

// Sort the list start[a] <= k < start[a + 1] of each a < n.
extern "C" __global__ void sort_lists(i64 n, const i64 *start, int *lists) {
    EACH(a, n) {
        int *list = lists + start[a];
        i64 length = start[a + 1] - start[a];
        if (length <= SHORT_LIST) {
            for (i64 k = 1; k < length; k++) {
                int value = list[k];
                i64 to = k;
                for (; to > 0 && list[to - 1] > value; to--) list[to] = list[to - 1];
                list[to] = value;
            }
            continue;
        }
        for (i64 k = length / 2 - 1; k >= 0; k--) sift(list, k, length);
        for (i64 k = length - 1; k > 0; k--) {
            int most = list[0];
            list[0] = list[k];
            list[k] = most;
            sift(list, 0, k);
        }
    }
}

// start[a + 1] becomes how many rows body a has; start is zero.
extern "C" __global__ void count_incident(i64 m, const i64 *i, const i64 *j, u64 *start) {
    EACH(c, m) {
        atomicAdd(&start[i[c] + 1], 1ull);
        if (j[c] >= 0) atomicAdd(&start[j[c] + 1], 1ull);
    }
}

// The rows of each body, 2 c where it is the first of row c and 2 c + 1 where it is the second; filled is zero.
extern "C" __global__ void fill_incident(i64 m, const i64 *i, const i64 *j, const i64 *start, u32 *filled, int *lists) {
    EACH(c, m) {
        lists[start[i[c]] + atomicAdd(&filled[i[c]], 1u)] = (int)(2 * c);
        if (j[c] >= 0) lists[start[j[c]] + atomicAdd(&filled[j[c]], 1u)] = (int)(2 * c + 1);
    }
}

struct Sums {  // of a thread, over all that it does in a phase of the sweeps
    double one, two, size;
};
