/* An estimate of the number of groups, from a few thousand rows in one block. */
#include "cuda/group/batch.cuh"
#include "cuda/runtime/warp.cuh"

#include <math.h>

namespace {

enum { SAMPLE_THREADS = 1024, TAKERS = 128, ROWS = 1 << 13, SAMPLE_SLOTS = 2 * ROWS };

enum { NOTE_DIFFERENT, NOTE_ONCE, NOTE_TWICE, NOTE_MOST };

__device__ __forceinline__ unsigned fingerprint_of(uint32_t rank) {
    return (unsigned)(bf_hash_4(bf_hash_seed_of(1), rank) >> 32);
}
__device__ __forceinline__ unsigned fingerprint_of(uint64_t rank) {
    return (unsigned)(bf_hash_8(bf_hash_seed_of(1), rank) >> 32);
}

extern __shared__ unsigned sample_memory[]; /* fingerprints (0 stands for 1), then counts */

/* Takes a random row of each stretch: many blocks reach memory sooner than one. */
template <class R>
__global__ void __launch_bounds__(TAKERS) take_rows(const R *ranks, int64_t n, R *taken) {
    const int i = (int)(blockIdx.x * TAKERS + threadIdx.x);
    const int64_t begin = n * i / ROWS, end = n * (i + 1) / ROWS;
    const unsigned any = (unsigned)bf_hash_mix((uint64_t)i);
    taken[i] = ranks[begin + __umulhi(any, (unsigned)(end - begin))];
}

template <class R>
__global__ void __launch_bounds__(SAMPLE_THREADS)
    count_taken(const R *taken, unsigned long long *notes) {
    unsigned *fingerprints = sample_memory, *counts = sample_memory + SAMPLE_SLOTS;
    for (int i = (int)threadIdx.x; i < 2 * SAMPLE_SLOTS; i += SAMPLE_THREADS) sample_memory[i] = 0;
    __syncthreads();
    R rank[ROWS / SAMPLE_THREADS];
#pragma unroll
    for (int k = 0; k < ROWS / SAMPLE_THREADS; k++)
        rank[k] = taken[k * SAMPLE_THREADS + (int)threadIdx.x];
#pragma unroll
    for (int k = 0; k < ROWS / SAMPLE_THREADS; k++) {
        unsigned fingerprint = fingerprint_of(rank[k]);
        if (fingerprint == 0) fingerprint = 1;
        for (unsigned slot = fingerprint % SAMPLE_SLOTS;; slot = (slot + 1) % SAMPLE_SLOTS) {
            unsigned found = atomicCAS(fingerprints + slot, 0u, fingerprint);
            if (found != 0 && found != fingerprint) continue;
            atomicAdd(counts + slot, 1u);
            break;
        }
    }
    __syncthreads();
    unsigned found[4] = {0, 0, 0, 0};
    for (int i = (int)threadIdx.x; i < SAMPLE_SLOTS; i += SAMPLE_THREADS) {
        found[NOTE_DIFFERENT] += counts[i] > 0;
        found[NOTE_ONCE] += counts[i] == 1;
        found[NOTE_TWICE] += counts[i] == 2;
        found[NOTE_MOST] = max(found[NOTE_MOST], counts[i]);
    }
    for (int k = 0; k < 4; k++) {
        found[k] = k == NOTE_MOST ? bf_cuda_warp_most(found[k]) : bf_cuda_warp_total(found[k]);
        if (threadIdx.x % 32 != 0) continue;
        if (k == NOTE_MOST)
            atomicMax(notes + k, (unsigned long long)found[k]);
        else
            atomicAdd(notes + k, (unsigned long long)found[k]);
    }
}

template <class R>
cudaError_t sample(bf_context *context, const void *ranks, int64_t n, void *taken) {
    const bf_cuda_shape shape = {1, SAMPLE_THREADS, 2 * SAMPLE_SLOTS * sizeof(unsigned)};
    cudaError_t error = bf_cuda_clear_notes(context);
    if (error != cudaSuccess) return error;
    take_rows<<<ROWS / TAKERS, TAKERS, 0, context->cuda->stream>>>((const R *)ranks, n, (R *)taken);
    return bf_cuda_launch(context->cuda, count_taken<R>, shape, (const R *)taken,
                          bf_cuda_notes(context));
}

/* Returns how many equally frequent groups show so many different ones in so many rows. */
double even_groups(double different, double rows) {
    double low = different, high = 1e12;
    for (int i = 0; i < 60; i++) {
        double middle = sqrt(low * high);
        if (middle * -expm1(-rows / middle) < different)
            low = middle;
        else
            high = middle;
    }
    return low;
}

} // namespace

bf_status bf_cuda_groups_sample(bf_context *context, bf_cuda_groups *g, const void *ranks,
                                int64_t n) {
    void *taken =
        bf_cuda_group_scratch_of(context, g, BF_CUDA_SCRATCH_NUMBERS, ROWS * (size_t)g->rank_bytes);
    if (taken == NULL) return BF_E_MEMORY;
    bf_status status = bf_cuda_group_check(
        context, g->rank_bytes == 4 ? sample<uint32_t>(context, ranks, n, taken)
                                    : sample<uint64_t>(context, ranks, n, taken));
    if (status == BF_OK) status = bf_cuda_group_fetch_notes(context, g);
    if (status != BF_OK) return status;
    double different = (double)g->noted[NOTE_DIFFERENT], once = (double)g->noted[NOTE_ONCE],
           twice = (double)g->noted[NOTE_TWICE], most = (double)g->noted[NOTE_MOST];
    g->guess = even_groups(different, ROWS);
    double each = ROWS / g->guess;
    g->uneven = most > each + 6 * sqrt(each) + 6;
    if (g->uneven) { /* at least so many (Chao, 1984), or far more */
        double least = different + once * once / (2 * twice + 1);
        g->guess = 8 * (least > g->guess ? least : g->guess);
    }
    return BF_OK;
}
