/* Ranks in a long line (after Floyd and Rivest, SELECT, 1975).
 *
 * 1. A sample tells for each wanted rank two places between which it almost surely lies.
 * 2. One read of the line counts the elements below each such bracket, and keeps those inside any.
 *    Each block counts what it keeps in equal parts of the brackets.
 * 3. The elements of the parts of the wanted ranks are taken, and one block finds a rank among
 *    these.
 *
 * The counts prove the result. The ends of a bracket are not kept, so that equal elements cost no
 * memory: a rank that is not inside is looked for at the ends, by a second read that counts the
 * elements equal to them. If it is not there, another sample is taken, and in the end the line is
 * sorted. Neither the sample nor the order in which elements are kept shows in the result. */
#include "cuda/order/bracket_steps.cuh"
#include "cuda/runtime/elements.cuh"
#include "cuda/runtime/mailbox.cuh"
#include "cuda/runtime/memory.cuh"

#include "rules/key/hash.h"

using namespace bf_cuda_bracket;

namespace {

enum {
    SAMPLE_BITS = 19, /* the most bits of the number of elements of a sample */
    FIRST_BITS = 17,  /* the most for a sample for the first k */
    TRIES = 2
};

/* --- the ends --- */

enum {
    ENDS = RANKS,
    ENDERS = 256,   /* threads of a block that counts ends */
    END_VECTORS = 4 /* vectors that each of them has under way */
};

struct end_counts {
    unsigned long long before[ENDS], equal[ENDS];
};

struct end_params {
    const void *a, *b; /* b is not used */
    int64_t count;
    bf_cuda_coding coding;
    int ends;
    uint64_t place[ENDS];
    end_counts *counts;
};

/* A thread's counts of elements before two ends and equal to them. */
template <bf_dtype D> struct EndCounter {
    typedef bf_cuda_bits_type<D> E;
    typedef bf_cuda_place_type<D> K;
    typedef bf_cuda_operands<E, false> Operands;
    typedef bf_cuda_tile<Operands, END_VECTORS> Tile;
    K end[2];
    unsigned before[2], equal[2]; /* a tile's */

    template <bool Whole, int Ends>
    __device__ __forceinline__ void count(const bf_cuda_coding &coding, const Operands &e,
                                          const Tile &tile, int64_t number) {
#pragma unroll
        for (int v = 0; v < END_VECTORS; v++) {
            const bf_cuda_elements<E> some(tile.a[v]);
#pragma unroll
            for (int k = 0; k < Operands::N; k++) {
                const K x = bf_cuda_place_of<D>(coding, some.e[k]);
                if (!Whole && !e.holds(Tile::vector(number, v) * Operands::N + k)) continue;
#pragma unroll
                for (int i = 0; i < Ends; i++) {
                    before[i] += x < end[i];
                    equal[i] += x == end[i];
                }
            }
        }
    }
    __device__ __forceinline__ void count_tile(const bf_cuda_coding &coding, const Operands &e,
                                               int64_t number, bool both) {
        Tile tile;
        tile.load(e, number);
        for (int i = 0; i < 2; i++) before[i] = equal[i] = 0;
        if (!Tile::whole(e, number))
            count<false, 2>(coding, e, tile, number);
        else if (both)
            count<true, 2>(coding, e, tile, number);
        else
            count<true, 1>(coding, e, tile, number);
    }
};

/* Counts the elements before each end, and those equal to it: two ends a read. */
template <bf_dtype D> __global__ void __launch_bounds__(ENDERS) count_ends(const end_params p) {
    typedef EndCounter<D> Counter;
    const typename Counter::Operands e(p);
    const int64_t tiles = Counter::Tile::number_of(e);
    for (int i = 0; i < p.ends; i += 2) {
        unsigned long long before[2] = {}, equal[2] = {};
        Counter counter;
        for (int k = 0; k < 2; k++) counter.end[k] = (typename Counter::K)p.place[i + k];
        for (int64_t number = blockIdx.x; number < tiles; number += gridDim.x) {
            counter.count_tile(p.coding, e, number, i + 1 < p.ends);
            for (int k = 0; k < 2; k++) {
                before[k] += counter.before[k];
                equal[k] += counter.equal[k];
            }
        }
        for (int k = 0; k < 2 && i + k < p.ends; k++) {
            bf_cuda_warp_add(before[k], &p.counts->before[i + k]);
            bf_cuda_warp_add(equal[k], &p.counts->equal[i + k]);
        }
    }
}

/* --- the host's part --- */

bf_status check(const bf_cuda_call *call, cudaError_t error) {
    return bf_cuda_order_check(call->context, error);
}

/* Enqueues the kernels of a try. */
cudaError_t enqueue_try(const bf_cuda *cuda, bf_dtype dtype, const bracket_params &p) {
    cudaError_t error = bf_cuda_bracket::sample(cuda, dtype, p);
    if (error == cudaSuccess) error = bf_cuda_bracket::keep(cuda, dtype, p);
    return error == cudaSuccess ? bf_cuda_bracket::finish(cuda, dtype, p) : error;
}

bf_status run_try(bf_cuda_call *call, bf_dtype dtype, const bracket_params &p, board *found) {
    const cudaError_t error = enqueue_try(call->context->cuda, dtype, p);
    return bf_cuda_fetch_words(call->context, error, p.at, BOARD_WORDS, found, "order on a GPU");
}

/* Counts, of n elements, those before each end of e, and those equal to it. Waits. */
template <bf_dtype D>
bf_status count_all_ends(bf_cuda_call *call, end_params e, end_counts *counts) {
    bf_context *context = call->context;
    const unsigned blocks = bf_cuda_blocks(context->cuda, e.count / (16 * END_VECTORS) + 1, ENDERS);
    e.counts = (end_counts *)bf_cuda_alloc(context, sizeof *counts);
    if (e.counts == NULL) return BF_E_MEMORY;
    cudaError_t error = cudaMemsetAsync(e.counts, 0, sizeof *counts, context->cuda->stream);
    if (error == cudaSuccess) {
        count_ends<D><<<blocks, ENDERS, 0, context->cuda->stream>>>(e);
        error = cudaGetLastError();
    }
    bf_status status = bf_cuda_fetch_words(context, error, e.counts, (int)(sizeof *counts / 8),
                                           counts, "order on a GPU");
    bf_cuda_free(context, e.counts);
    return status;
}

/* Sets *before to the elements that were kept before a bracket. Waits. */
bf_status count_before(bf_cuda_call *call, int bytes, const bracket_params &p, const board *found,
                       int bracket, int64_t *before) {
    end_params e = {p.kept, NULL, (int64_t)found->pooled, {}, 1, {found->low[bracket]}, NULL};
    end_counts counts = {};
    bf_status status = bytes == 4 ? count_all_ends<BF_U32>(call, e, &counts)
                                  : count_all_ends<BF_U64>(call, e, &counts);
    *before = (int64_t)counts.before[0];
    return status;
}

/* Finds ranks in a bracket whose part has too many elements, by sorting what was kept. */
bf_status sort_crowded(bf_cuda_call *call, int bytes, const bracket_params &p, int bracket,
                       const int64_t rank[2], board *found) {
    char *kept = (char *)p.kept;
    int64_t before = 0;
    bf_cuda_radix r = {};
    r.n = (int64_t)found->pooled;
    r.bits = 8 * bytes;
    r.key_bytes = bytes;
    r.keys = r.sorted = kept;
    bf_status status = count_before(call, bytes, p, found, bracket, &before);
    if (status == BF_OK) status = bf_cuda_radix_sort(call->context, &r, NULL);
    for (int side = 0; side < 2 && status == BF_OK; side++) {
        const int i = 2 * bracket + side;
        const int64_t at = before + rank[side] - (int64_t)found->below[bracket];
        if (found->where[i] != CROWDED) continue;
        found->place[i] = 0;
        found->where[i] = FOUND;
        status = check(call, cudaMemcpyAsync(&found->place[i], kept + at * bytes, (size_t)bytes,
                                             cudaMemcpyDeviceToHost, call->context->cuda->stream));
        if (status == BF_OK) status = bf_cuda_wait(call->context, cudaSuccess, "order on a GPU");
    }
    return status;
}

/* Adds an end, unless it is there, and returns its number. */
int add_end(end_params *e, uint64_t place) {
    int k = 0;
    while (k < e->ends && e->place[k] != place) k++;
    e->place[k] = place;
    if (k == e->ends) e->ends++;
    return k;
}

/* Looks for ranks that are outside their brackets at these brackets' ends. */
bf_status look_at_ends(bf_cuda_call *call, bf_dtype dtype, const bracket_params &p,
                       const int64_t rank[RANKS], board *found) {
    end_counts counts;
    end_params e = {p.a, NULL, p.count, p.coding, 0, {}, NULL};
    int end_of[ENDS];
    for (int i = 0; i < 2 * p.brackets; i++) {
        end_of[i] = ENDS;
        if (found->where[i] == BEFORE || found->where[i] == BEHIND)
            end_of[i] =
                add_end(&e, found->where[i] == BEFORE ? found->low[i / 2] - 1 : found->high[i / 2]);
    }
    if (e.ends == 0) return BF_OK;
    bf_status status = bf_cuda_by_dtype(
        dtype, [&](auto d) { return count_all_ends<decltype(d)::value>(call, e, &counts); });
    for (int i = 0; i < 2 * p.brackets && status == BF_OK; i++) {
        const int k = end_of[i];
        const uint64_t r = (uint64_t)rank[i];
        if (k == ENDS || r < counts.before[k] || r - counts.before[k] >= counts.equal[k]) continue;
        found->place[i] = e.place[k];
        found->where[i] = FOUND;
    }
    return status;
}

bf_status set_memory(bf_cuda_call *call, bf_dtype dtype, bracket_params *p) {
    const size_t bytes = (size_t)bf_cuda_place_bytes(dtype), brackets = (size_t)p->brackets;
    p->coding = bf_cuda_coding_of(dtype, p->order);
    p->one = 1;
    const int most = p->first > 0 ? FIRST_BITS : SAMPLE_BITS;
    p->sampled_bits = bf_bit_length((uint64_t)p->count / 16) - 1;
    if (p->sampled_bits > most) p->sampled_bits = most;
    p->sampled = 1u << p->sampled_bits;
    p->room = (int64_t)brackets * (p->count / 16 + (1 << 17));
    const size_t kept = (size_t)p->room * bytes, small = brackets * SMALL * bytes;
    const size_t numbers = p->first > 0 ? (size_t)p->room * sizeof *p->numbers : 0;
    char *memory = (char *)bf_cuda_call_alloc(call, sizeof *p->at + SPLITTERS * bytes + kept +
                                                        small + numbers + 5 * 256);
    if (memory == NULL) return BF_E_MEMORY;
    p->at = (board *)bf_cuda_next_part(&memory, sizeof *p->at);
    p->splitters = bf_cuda_next_part(&memory, SPLITTERS * bytes);
    p->kept = bf_cuda_next_part(&memory, kept);
    p->small = bf_cuda_next_part(&memory, small);
    p->numbers = (uint32_t *)bf_cuda_next_part(&memory, numbers);
    return BF_OK;
}

uint64_t next_seed(const bf_cuda_call *call, int attempt) {
    return bf_hash_mix((uint64_t)(uintptr_t)call->context->cuda + call->context->cuda->calls) +
           (uint64_t)attempt;
}

/* Makes the places of all ranks known, or sets *found to false. */
bf_status settle_ranks(bf_cuda_call *call, bf_dtype dtype, const bracket_params &p, board *at,
                       bool *found) {
    const int64_t numbers = p.count - (p.skips ? (int64_t)at->nans : 0);
    int64_t rank[RANKS];
    bf_status status = BF_OK;
    for (int b = 0; b < p.brackets; b++) {
        const bf_between between =
            bf_cuda_between(p.statistic, p.method, p.q[b], p.position[b], numbers);
        rank[2 * b] = between.below;
        rank[2 * b + 1] = between.above;
        if (status == BF_OK && (at->where[2 * b] == CROWDED || at->where[2 * b + 1] == CROWDED))
            status = sort_crowded(call, bf_cuda_place_bytes(dtype), p, b, &rank[2 * b], at);
    }
    if (status == BF_OK) status = look_at_ends(call, dtype, p, rank, at);
    *found = status == BF_OK;
    for (int i = 0; i < 2 * p.brackets; i++) *found &= at->where[i] == FOUND;
    return status;
}

} // namespace

bf_status bf_cuda_order_brackets(bf_cuda_call *call, bf_dtype dtype, bf_order order,
                                 const void *values, int64_t n, const bf_selection *selection,
                                 int first, int results, uint64_t places[][2], int64_t *nans,
                                 bool *found) {
    const bool nth = selection->statistic == BF_STATISTIC_NTH;
    bracket_params p = {};
    board at;
    p.a = values;
    p.count = n;
    p.order = order;
    p.brackets = results;
    p.statistic = selection->statistic;
    p.method = selection->method;
    p.skips = selection->nan == BF_NAN_SKIP && !nth;
    for (int i = 0; i < results; i++) {
        if (nth) p.position[i] = selection->positions[first + i];
        if (selection->statistic == BF_STATISTIC_QUANTILE) p.q[i] = selection->q[first + i];
    }
    const int memories = call->memories;
    bf_status status = set_memory(call, dtype, &p);
    *found = false;
    for (int attempt = 0; attempt < TRIES && status == BF_OK && !*found; attempt++) {
        p.seed = next_seed(call, attempt);
        status = run_try(call, dtype, p, &at);
        if (status != BF_OK) break;
        *nans = (int64_t)at.nans;
        if (!nth && (at.nans == (uint64_t)n || (at.nans > 0 && !p.skips))) { /* no ranks */
            *found = true;
            break;
        }
        status = settle_ranks(call, dtype, p, &at, found);
    }
    bf_cuda_call_free(call, memories);
    for (int i = 0; i < results; i++) {
        places[i][0] = at.place[2 * i];
        places[i][1] = at.place[2 * i + 1];
    }
    return status;
}

/* --- the first k --- */

namespace {

template <bf_dtype D>
__global__ void __launch_bounds__(256)
    write_first(const void *values, const uint32_t *order, int64_t k, void *first, int64_t *index) {
    typedef bf_cuda_bits_type<D> E;
    for (const int64_t i : bf_cuda_indices<256>(k)) {
        const E element = ((const E *)values)[order[i]];
        if (first != NULL) ((E *)first)[i] = D == BF_BOOL ? (E)(element != 0) : element;
        if (index != NULL) index[i] = order[i];
    }
}

/* Sorts n kept elements by place and then by index. */
bf_status sort_kept(bf_cuda_call *call, bf_dtype dtype, const bracket_params &p, int64_t n) {
    const int bytes = bf_cuda_place_bytes(dtype);
    bf_cuda_radix r = {};
    r.n = n;
    r.bits = bf_bit_length((uint64_t)p.count - 1);
    r.key_bytes = 4;
    r.keys = r.sorted = p.numbers;
    r.value_bytes = bytes;
    r.values = r.moved = p.kept;
    bf_status status = bf_cuda_radix_sort(call->context, &r, NULL);
    r.bits = 8 * bytes;
    r.key_bytes = bytes;
    r.keys = r.sorted = p.kept;
    r.value_bytes = 4;
    r.values = r.moved = p.numbers;
    return status == BF_OK ? bf_cuda_radix_sort(call->context, &r, NULL) : status;
}

} // namespace

bf_status bf_cuda_order_first(bf_cuda_call *call, bf_dtype dtype, bf_order order,
                              const void *values, int64_t n, int64_t k, void *first, int64_t *index,
                              bool *found) {
    bf_context *context = call->context;
    const int memories = call->memories;
    bracket_params p = {};
    board at;
    p.a = values;
    p.count = n;
    p.order = order;
    p.brackets = 1;
    p.first = k;
    p.values = first;
    p.index = index;
    p.seed = next_seed(call, 0);
    bf_status status = set_memory(call, dtype, &p);
    if (status == BF_OK) status = run_try(call, dtype, p, &at);
    *found = status == BF_OK && (int64_t)at.pooled >= k && (int64_t)at.pooled <= p.room;
    const bool sorts = *found && (k > FIRST_MOST || at.where[0] == CROWDED);
    if (sorts) status = sort_kept(call, dtype, p, (int64_t)at.pooled);
    if (sorts && status == BF_OK) {
        bf_cuda_by_dtype(dtype, [&](auto d) {
            write_first<decltype(d)::value>
                <<<bf_cuda_blocks(context->cuda, k, 256), 256, 0, context->cuda->stream>>>(
                    values, p.numbers, k, first, index);
        });
        status = check(call, cudaGetLastError());
    }
    bf_cuda_call_free(call, memories);
    return status;
}
