/* Sets of groups: memory, and the index that finds the number of a rank.
 *
 * The index is open addressing by linear probing in an array of 4-byte slots, at most half full.
 * New ranks are inserted in two steps, so that no thread waits for another: a row claims a slot for
 * its rank with its own number, above those of the groups; then claimed slots get the numbers of
 * new groups. A slot's number says where its rank is: in the set, or, of a claim, among the rows.
 */
#include "cuda/group/group.cuh"

namespace {

enum {
    RANK_FAR = 1 << 10, /* slots: random ranks are never so far from home */
    SEEDS_MOST = 4,     /* seeds that are tried before distance no longer matters */
    NOTE_FRESH = 0,     /* number of claims */
    NOTE_FAR = 1,       /* a rank was far from home */
    NOTE_CURSOR = 2,    /* number of claims that have got numbers */
};

const unsigned CLAIMED = 1u << 31; /* marks a row's slot that the row claimed */

typedef ulonglong2 pair;

__device__ __forceinline__ uint64_t hash_of(bf_hash_seed s, uint32_t r) { return bf_hash_4(s, r); }
__device__ __forceinline__ uint64_t hash_of(bf_hash_seed s, uint64_t r) { return bf_hash_8(s, r); }
__device__ __forceinline__ uint64_t hash_of(bf_hash_seed s, pair r) {
    return bf_hash_16(s, r.x, r.y);
}
__device__ __forceinline__ bool are_same(uint32_t a, uint32_t b) { return a == b; }
__device__ __forceinline__ bool are_same(uint64_t a, uint64_t b) { return a == b; }
__device__ __forceinline__ bool are_same(pair a, pair b) { return a.x == b.x && a.y == b.y; }

/* The parameters of the index of a set. Ranks are aligned to 8 bytes at most. */
struct index_params {
    const void *ranks; /* the groups' ranks */
    unsigned size;
    unsigned *slots;
    uint64_t slot_count;
    bf_hash_seed seed;
    const void *rows; /* ranks to find or insert */
    unsigned n;
    unsigned *numbers;
    unsigned long long *notes;
    bool patient; /* any distance will do */
};

template <class R> __device__ __forceinline__ R rank_at(const void *ranks, unsigned i) {
    return ((const R *)ranks)[i];
}
template <> __device__ __forceinline__ pair rank_at<pair>(const void *ranks, unsigned i) {
    const uint64_t *at = (const uint64_t *)ranks + 2 * (size_t)i;
    return make_ulonglong2(at[0], at[1]);
}

/* Returns the slot with this rank. If there is none, claims one as `mine`, and returns it with
 * CLAIMED. */
template <class R>
__device__ __forceinline__ unsigned find_slot(const index_params &p, R rank, unsigned mine) {
    uint64_t at = bf_hash_place(hash_of(p.seed, rank), p.slot_count);
    for (unsigned far = 0;; far++) {
        unsigned found = __ldcg(p.slots + at);
        if (found == 0) {
            found = atomicCAS(p.slots + at, 0u, mine);
            if (found == 0) return (unsigned)at | CLAIMED;
        }
        unsigned i = found - 1;
        if (are_same(i < p.size ? rank_at<R>(p.ranks, i) : rank_at<R>(p.rows, i - p.size), rank))
            return (unsigned)at;
        if (far >= RANK_FAR && !p.patient) {
            p.notes[NOTE_FAR] = 1;
            return 0;
        }
        at = at + 1 == p.slot_count ? 0 : at + 1;
    }
}

/* Finds or claims slots for all rows: numbers[i] becomes the slot. */
template <class R>
__global__ void __launch_bounds__(BF_CUDA_GROUP_THREADS) claim_slots(const index_params p) {
    const unsigned stride = gridDim.x * BF_CUDA_GROUP_THREADS;
    unsigned claims = 0;
    for (uint64_t i = blockIdx.x * BF_CUDA_GROUP_THREADS + threadIdx.x; i < p.n; i += stride) {
        unsigned slot = find_slot(p, rank_at<R>(p.rows, (unsigned)i), p.size + (unsigned)i + 1);
        p.numbers[i] = slot;
        claims += slot >> 31;
        if (!p.patient && *(volatile unsigned long long *)(p.notes + NOTE_FAR) != 0) break;
    }
    if (claims > 0) atomicAdd(p.notes + NOTE_FRESH, (unsigned long long)claims);
}

/* Gives claimed slots numbers from `size` on, and adds their ranks to the set. */
template <class R>
__global__ void __launch_bounds__(BF_CUDA_GROUP_THREADS)
    settle_slots(const index_params p, void *ranks) {
    const unsigned stride = gridDim.x * BF_CUDA_GROUP_THREADS;
    if (p.notes[NOTE_FAR] != 0) return;
    for (uint64_t i = blockIdx.x * BF_CUDA_GROUP_THREADS + threadIdx.x; i < p.n; i += stride) {
        unsigned slot = p.numbers[i];
        if (!(slot & CLAIMED)) continue;
        unsigned number = p.size + (unsigned)atomicAdd(p.notes + NOTE_CURSOR, 1ull);
        R rank = rank_at<R>(p.rows, (unsigned)i);
        memcpy((char *)ranks + (size_t)number * sizeof rank, &rank, sizeof rank);
        p.slots[slot & ~CLAIMED] = number + 1;
    }
}

/* Turns numbers[i] from slots into numbers. counts (may be NULL): of rows that stand for several;
 * adds them to the groups' sums. */
__global__ void __launch_bounds__(BF_CUDA_GROUP_THREADS)
    number_rows(const index_params p, const int64_t *counts, int64_t *sums) {
    const unsigned stride = gridDim.x * BF_CUDA_GROUP_THREADS;
    if (p.notes[NOTE_FAR] != 0) return;
    for (uint64_t i = blockIdx.x * BF_CUDA_GROUP_THREADS + threadIdx.x; i < p.n; i += stride) {
        unsigned number = p.slots[p.numbers[i] & ~CLAIMED] - 1;
        p.numbers[i] = number;
        if (counts != NULL)
            atomicAdd((unsigned long long *)sums + number, (unsigned long long)counts[i]);
    }
}

__global__ void __launch_bounds__(BF_CUDA_GROUP_THREADS)
    merge_counts(int64_t *into, const int64_t *from, const unsigned *numbers, unsigned n) {
    const unsigned stride = gridDim.x * BF_CUDA_GROUP_THREADS;
    for (uint64_t i = blockIdx.x * BF_CUDA_GROUP_THREADS + threadIdx.x; i < n; i += stride)
        into[numbers[i]] += from[i];
}

index_params params_of(const bf_cuda_groups *g, const bf_cuda_group_set *set, const void *rows,
                       int64_t n, unsigned *numbers) {
    index_params p = {};
    p.ranks = set->ranks.memory;
    p.size = (unsigned)set->size;
    p.slots = (unsigned *)set->slots.memory;
    p.slot_count = set->slot_count;
    p.seed = set->seed;
    p.rows = rows;
    p.n = (unsigned)n;
    p.numbers = numbers;
    return p;
}

void launch_claim(bf_context *context, int rank_bytes, index_params p) {
    unsigned blocks = bf_cuda_blocks(context->cuda, p.n, BF_CUDA_GROUP_THREADS);
    cudaStream_t stream = context->cuda->stream;
    p.notes = bf_cuda_notes(context);
    switch (rank_bytes) {
    case 4: claim_slots<uint32_t><<<blocks, BF_CUDA_GROUP_THREADS, 0, stream>>>(p); break;
    case 8: claim_slots<uint64_t><<<blocks, BF_CUDA_GROUP_THREADS, 0, stream>>>(p); break;
    default: claim_slots<pair><<<blocks, BF_CUDA_GROUP_THREADS, 0, stream>>>(p); break;
    }
}

void launch_settle(bf_context *context, int rank_bytes, index_params p,
                   const bf_cuda_group_set *set, const int64_t *counts) {
    unsigned blocks = bf_cuda_blocks(context->cuda, p.n, BF_CUDA_GROUP_THREADS);
    cudaStream_t stream = context->cuda->stream;
    p.notes = bf_cuda_notes(context);
    switch (rank_bytes) {
    case 4:
        settle_slots<uint32_t><<<blocks, BF_CUDA_GROUP_THREADS, 0, stream>>>(p, set->ranks.memory);
        break;
    case 8:
        settle_slots<uint64_t><<<blocks, BF_CUDA_GROUP_THREADS, 0, stream>>>(p, set->ranks.memory);
        break;
    default:
        settle_slots<pair><<<blocks, BF_CUDA_GROUP_THREADS, 0, stream>>>(p, set->ranks.memory);
        break;
    }
    number_rows<<<blocks, BF_CUDA_GROUP_THREADS, 0, stream>>>(p, counts,
                                                              (int64_t *)set->counts.memory);
}

/* Claims slots for n ranks by the set's seed. With counts, also settles them, without waiting. */
bf_status try_claim(bf_context *context, bf_cuda_groups *g, const bf_cuda_group_set *set,
                    index_params p, const int64_t *counts) {
    cudaError_t error = bf_cuda_clear_notes(context);
    launch_claim(context, g->rank_bytes, p);
    if (counts != NULL) launch_settle(context, g->rank_bytes, p, set, counts);
    if (error == cudaSuccess) error = cudaGetLastError();
    bf_status status = bf_cuda_group_check(context, error);
    return status == BF_OK ? bf_cuda_group_fetch_notes(context, g) : status;
}

/* Inserts all groups of the set into its empty index. Their claims are their numbers. */
bf_status insert_groups(bf_context *context, bf_cuda_groups *g, bf_cuda_group_set *set,
                        bool patient) {
    cudaStream_t stream = context->cuda->stream;
    cudaError_t error =
        cudaMemsetAsync(set->slots.memory, 0, set->slot_count * sizeof(unsigned), stream);
    bf_status status = bf_cuda_group_check(context, error);
    if (status != BF_OK || set->size == 0) return status;
    unsigned *slots = (unsigned *)bf_cuda_group_scratch_of(context, g, BF_CUDA_SCRATCH_SLOTS,
                                                           (size_t)set->size * sizeof *slots);
    if (slots == NULL) return BF_E_MEMORY;
    index_params p = params_of(g, set, set->ranks.memory, set->size, slots);
    p.size = 0;
    p.patient = patient;
    return try_claim(context, g, set, p, NULL);
}

/* Makes an index with room for so many groups; it is then at most half full. */
bf_status make_index(bf_context *context, bf_cuda_groups *g, bf_cuda_group_set *set, int64_t room,
                     bool patient) {
    uint64_t slot_count = 2 * (uint64_t)room + 64;
    if (set->slot_count >= slot_count) return BF_OK;
    if (set->slot_count > 0) slot_count += slot_count / 2; /* it grows again and again */
    if (slot_count > CLAIMED) slot_count = CLAIMED;
    set->slot_count = 0;
    bf_status status = bf_cuda_buffer_grow(context, &set->slots, slot_count * sizeof(unsigned), 0);
    if (status != BF_OK) return status;
    set->slot_count = slot_count;
    status = insert_groups(context, g, set, patient);
    if (status != BF_OK) set->slot_count = 0;
    return status;
}

/* Claims by one seed after another. */
bf_status claim_by_seeds(bf_context *context, bf_cuda_groups *g, bf_cuda_group_set *set,
                         const void *ranks, int64_t n, unsigned *numbers, const int64_t *counts) {
    bf_status status = BF_OK;
    if (set->size + n > BF_CUDA_GROUPS_MOST)
        return bf_fail(context, BF_E_MEMORY, "more groups than a GPU's index has room for");
    for (int attempt = 1; status == BF_OK; attempt++) {
        bool patient = attempt == SEEDS_MOST;
        g->noted[NOTE_FAR] = 0;
        status = make_index(context, g, set, set->size + n, patient);
        if (status == BF_OK && g->noted[NOTE_FAR] == 0) {
            index_params p = params_of(g, set, ranks, n, numbers);
            p.patient = patient;
            status = try_claim(context, g, set, p, counts);
        }
        if (status == BF_OK && g->noted[NOTE_FAR] == 0) break;
        set->slot_count = 0;
        set->seed = bf_hash_next_seed(set->seed);
    }
    return status;
}

} // namespace

/* --- finding and inserting --- */

bf_status bf_cuda_set_claim(bf_context *context, bf_cuda_groups *g, bf_cuda_group_set *set,
                            const void *ranks, int64_t n, unsigned *numbers, int64_t *fresh) {
    bf_status status = claim_by_seeds(context, g, set, ranks, n, numbers, NULL);
    *fresh = (int64_t)g->noted[NOTE_FRESH];
    return status;
}

bf_status bf_cuda_set_settle(bf_context *context, bf_cuda_groups *g, bf_cuda_group_set *set,
                             const void *ranks, int64_t n, unsigned *numbers, int64_t fresh,
                             const int64_t *counts) {
    index_params p = params_of(g, set, ranks, n, numbers);
    bf_status status = bf_cuda_group_check(context, bf_cuda_clear_notes(context));
    if (status == BF_OK) status = bf_cuda_set_extend(context, g, set, fresh);
    if (status != BF_OK) return status;
    set->rank_bits = ~(uint64_t)0;
    launch_settle(context, g->rank_bytes, p, set, counts);
    return bf_cuda_group_check(context, cudaGetLastError());
}

/* Makes room as if all were new; their number is known last. */
bf_status bf_cuda_set_insert(bf_context *context, bf_cuda_groups *g, bf_cuda_group_set *set,
                             const void *ranks, const int64_t *counts, int64_t n,
                             unsigned *numbers) {
    int64_t size = set->size;
    bf_status status = bf_cuda_set_extend(context, g, set, n);
    set->size = size;
    set->rank_bits = ~(uint64_t)0;
    if (status == BF_OK) status = claim_by_seeds(context, g, set, ranks, n, numbers, counts);
    if (status == BF_OK) set->size += (int64_t)g->noted[NOTE_FRESH];
    return status;
}

/* --- merging --- */

static const bf_cuda_aggregate *column_of(const bf_cuda_group_set *set, const int map[], int c) {
    return &set->aggregates[map != NULL ? map[c] : c];
}

static bf_status prepare_merge(bf_context *context, const bf_cuda_groups *g,
                               bf_cuda_group_set *into, const bf_cuda_group_set *from,
                               const int map[], int64_t fresh) {
    bf_status status = bf_cuda_set_reserve(context, g, into, into->size + fresh);
    for (int c = 0; c < g->count && status == BF_OK; c++)
        status = bf_cuda_aggregate_widen(context, &into->aggregates[c], column_of(from, map, c),
                                         into->size, into->room);
    return status;
}

static bf_status add_groups(bf_context *context, const bf_cuda_groups *g, bf_cuda_group_set *into,
                            const bf_cuda_group_set *from, const int map[],
                            const unsigned *numbers) {
    unsigned blocks = bf_cuda_blocks(context->cuda, from->size, BF_CUDA_GROUP_THREADS);
    merge_counts<<<blocks, BF_CUDA_GROUP_THREADS, 0, context->cuda->stream>>>(
        (int64_t *)into->counts.memory, (const int64_t *)from->counts.memory, numbers,
        (unsigned)from->size);
    cudaError_t error = cudaGetLastError();
    for (int c = 0; c < g->count && error == cudaSuccess; c++)
        error = bf_cuda_aggregate_merge(context, &into->aggregates[c], column_of(from, map, c),
                                        numbers, 0, from->size, into->size);
    return bf_cuda_group_check(context, error);
}

bf_status bf_cuda_set_merge(bf_context *context, bf_cuda_groups *g, bf_cuda_group_set *into,
                            const bf_cuda_group_set *from, const int map[]) {
    int64_t n = from->size, fresh;
    if (n == 0) return BF_OK;
    unsigned *numbers = (unsigned *)bf_cuda_group_scratch_of(context, g, BF_CUDA_SCRATCH_NUMBERS,
                                                             (size_t)n * sizeof *numbers);
    if (numbers == NULL) return BF_E_MEMORY;
    bf_status status = bf_cuda_set_claim(context, g, into, from->ranks.memory, n, numbers, &fresh);
    if (status == BF_OK) status = prepare_merge(context, g, into, from, map, fresh);
    if (status != BF_OK) {
        into->slot_count = 0;
        return status;
    }
    status = bf_cuda_set_settle(context, g, into, from->ranks.memory, n, numbers, fresh, NULL);
    return status == BF_OK ? add_groups(context, g, into, from, map, numbers) : status;
}

/* --- memory --- */

void bf_cuda_set_destroy(bf_context *context, bf_cuda_group_set *set) {
    bf_cuda_buffer_free(context, &set->ranks);
    bf_cuda_buffer_free(context, &set->counts);
    bf_cuda_buffer_free(context, &set->slots);
    for (int c = 0; c < BF_AGGREGATES_MAX; c++)
        bf_cuda_aggregate_destroy(context, &set->aggregates[c]);
}

void bf_cuda_set_empty(const bf_cuda_groups *g, bf_cuda_group_set *set) {
    set->size = 0;
    set->slot_count = 0;
    set->rank_bits = 0;
    set->seed = g->seed;
    for (int c = 0; c < g->count; c++) bf_cuda_aggregate_empty(&set->aggregates[c]);
}

bf_status bf_cuda_set_reserve(bf_context *context, const bf_cuda_groups *g, bf_cuda_group_set *set,
                              int64_t room) {
    size_t size = (size_t)set->size, bytes = (size_t)g->rank_bytes;
    if (room <= set->room && size > 0) return BF_OK;
    if (size == 0) set->room = 0; /* buffers that are not kept may get lost */
    if (set->size > 0 && room < set->room + set->room / 2) room = set->room + set->room / 2;
    bf_status status =
        bf_cuda_buffer_grow(context, &set->ranks, (size_t)room * bytes, size * bytes);
    if (status == BF_OK)
        status = bf_cuda_buffer_grow(context, &set->counts, (size_t)room * sizeof(int64_t),
                                     size * sizeof(int64_t));
    for (int c = 0; c < g->count && status == BF_OK; c++)
        status = bf_cuda_aggregate_reserve(context, &set->aggregates[c], set->size, room);
    if (status == BF_OK) set->room = room;
    return status;
}

bf_status bf_cuda_set_extend(bf_context *context, const bf_cuda_groups *g, bf_cuda_group_set *set,
                             int64_t fresh) {
    if (fresh == 0) return BF_OK;
    int64_t *counts = (int64_t *)set->counts.memory + set->size;
    cudaError_t error =
        cudaMemsetAsync(counts, 0, (size_t)fresh * sizeof *counts, context->cuda->stream);
    for (int c = 0; c < g->count && error == cudaSuccess; c++)
        error = bf_cuda_aggregate_extend(context, &set->aggregates[c], set->size, fresh);
    set->size += fresh;
    return bf_cuda_group_check(context, error);
}
