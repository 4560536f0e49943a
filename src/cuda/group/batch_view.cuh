/* What a block of threads knows as values of a unit enter accumulators in shared memory. */
#ifndef BF_CUDA_GROUP_BATCH_VIEW_CUH
#define BF_CUDA_GROUP_BATCH_VIEW_CUH

#include "cuda/group/batch.cuh"
#include "cuda/group/value.cuh"

namespace {

enum { THREADS = BF_CUDA_UNIT_THREADS, WARP = 32 };

enum { NOTE_NEXT, NOTE_OUTSIDE };

struct unit_values_params {
    bf_cuda_column_params column;
    bool counts_apart; /* this pass does */
    int first, limbs;  /* of the band */
    int from, to;      /* limbs that the values need */
    int64_t *words;
    bf_cuda_unit *units;
    const unsigned *unit_count;
    unsigned slots, room; /* room: 32-bit words for accumulators */
    const uint16_t *row_slots, *slot_entry;
    unsigned base, back;
    const unsigned *numbers;
    unsigned long long *notes;
    int end;         /* positions from here on have no limbs in the band */
    int taken, past; /* what did have limbs before: those from `taken` on, below position `past` */
    bool had_others;
};

extern __shared__ uint64_t unit_memory[];

/* Shared memory by its own addresses, which cost less to compute than pointers. */
__device__ __forceinline__ unsigned shared_address(const void *p) {
    return (unsigned)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ unsigned shared_entry(unsigned at) {
    unsigned short x;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(x) : "r"(at));
    return x;
}
__device__ __forceinline__ unsigned shared_add(unsigned at, unsigned x) {
    unsigned before;
    asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(before) : "r"(at), "r"(x) : "memory");
    return before;
}

/* What all threads of a block know of the unit at hand. */
struct unit_view {
    bf_cuda_unit unit;
    unsigned *words;               /* accumulators */
    unsigned copies;               /* of each; a power of two */
    unsigned copy;                 /* this lane's */
    unsigned stride;               /* from limb to limb */
    int limbs, low;                /* held, and the first of them */
    unsigned entries_at, words_at; /* shared addresses; of this lane's copy of group 0 */
    unsigned none_at;              /* what is 0, and what this lane may add 0 to */
    unsigned least, range;         /* positions of values that enter accumulators: from, how many */

    __device__ unit_view(const unit_values_params &p, unsigned index, int wanted, int words_each) {
        unit = p.units[index];
        words = (unsigned *)unit_memory;
        unsigned fit = p.room / (unit.groups * (unsigned)words_each);
        limbs = (unsigned)wanted < fit ? wanted : (int)fit;
        low = p.to - limbs;
        copies = 1;
        while (copies < WARP && 2 * copies * unit.groups * limbs * words_each <= p.room)
            copies *= 2;
        copy = threadIdx.x & (copies - 1);
        stride = unit.groups * copies;
        uint16_t *entries = (uint16_t *)(words + p.room);
        entries_at = shared_address(entries);
        __shared__ unsigned none[WARP];
        none_at = shared_address(none + threadIdx.x % WARP);
        if (threadIdx.x < WARP) none[threadIdx.x] = 0;
        words_at = shared_address(words) + copy * 4 * (unsigned)words_each;
        const uint16_t *from = p.slot_entry + (size_t)index * p.slots;
        for (unsigned i = threadIdx.x; i < p.slots; i += THREADS) entries[i] = from[i];
    }
    __device__ __forceinline__ int64_t number(const unit_values_params &p, unsigned entry) const {
        return unit.alone ? p.base + unit.entry + entry : p.numbers[unit.entry + entry - p.back];
    }
};

} // namespace

#endif
