/* The view that a block has of a batch while it adds values to accumulators in shared memory. */
#ifndef BF_CUDA_GROUP_BATCH_VIEW_CUH
#define BF_CUDA_GROUP_BATCH_VIEW_CUH

#include "cuda/group/batch.cuh"
#include "cuda/reduce/aggregate_value.cuh"
#include "cuda/runtime/warp.cuh"

namespace {

enum { NOTE_NEXT, NOTE_OUTSIDE };

struct batch_values_params {
    bf_cuda_aggregate_params aggregate;
    bool counts_specials; /* this pass counts specials */
    bool swapped;         /* the second array of the aggregate comes first */
    int first, limbs;     /* the band's */
    int from, to;         /* limbs that the values need */
    int64_t *words;
    bf_cuda_batch *batches;
    const unsigned *batch_count;
    unsigned slots, room; /* room: 32-bit words for accumulators */
    const uint16_t *row_slots, *slot_entry;
    unsigned base, back;
    const unsigned *numbers;
    unsigned long long *notes;
    int end; /* positions from here on have no limbs in the band */
    /* Limbs from here on, of positions below, were absorbed by the pass before. */
    int done_first, done_end;
    bool had_specials;
};

extern __shared__ uint64_t batch_memory[];

/* The batch at hand, for all threads of a block. */
struct batch_view {
    bf_cuda_batch batch;
    unsigned *words;               /* accumulators */
    unsigned copies;               /* how many each accumulator has; a power of two */
    unsigned copy;                 /* this lane's copy */
    unsigned stride;               /* from limb to limb */
    int limbs, low;                /* limbs in shared memory, and the first of them */
    unsigned entries_at, words_at; /* shared addresses; words_at: of this lane's copy of group 0 */
    unsigned none_at;      /* shared address of a word of this lane for additions of nothing */
    unsigned least, range; /* positions of values for accumulators: the first, and how many */

    __device__ batch_view(const batch_values_params &p, unsigned index, int wanted,
                          int words_each) {
        batch = p.batches[index];
        words = (unsigned *)batch_memory;
        unsigned fit = p.room / (batch.groups * (unsigned)words_each);
        limbs = (unsigned)wanted < fit ? wanted : (int)fit;
        low = p.to - limbs;
        copies = 1;
        while (copies < BF_CUDA_WARP && 2 * copies * batch.groups * limbs * words_each <= p.room)
            copies *= 2;
        copy = threadIdx.x & (copies - 1);
        stride = batch.groups * copies;
        uint16_t *entries = (uint16_t *)(words + p.room);
        entries_at = bf_cuda_shared_address(entries);
        __shared__ unsigned none[BF_CUDA_WARP];
        none_at = bf_cuda_shared_address(none + threadIdx.x % BF_CUDA_WARP);
        if (threadIdx.x < BF_CUDA_WARP) none[threadIdx.x] = 0;
        words_at = bf_cuda_shared_address(words) + copy * 4 * (unsigned)words_each;
        const uint16_t *from = p.slot_entry + (size_t)index * p.slots;
        for (unsigned i = threadIdx.x; i < p.slots; i += BF_CUDA_BATCH_THREADS)
            entries[i] = from[i];
    }
    __device__ __forceinline__ int64_t number(const batch_values_params &p, unsigned entry) const {
        return batch.alone ? p.base + batch.entry + entry : p.numbers[batch.entry + entry - p.back];
    }
};

} // namespace

#endif
