/* Aggregates of groups on a GPU. Values are absorbed by the numbers of their groups, as in
 * src/cpu/reduce/accumulate.c, by atomic additions of integers, which commute. */
#include "cuda/reduce/aggregate_value.cuh"
#include "cuda/reduce/joint/terms.cuh"

#include "rules/reduce/state.h"

namespace {

/* --- values --- */

template <int n>
__device__ __forceinline__ void add_term(const bf_cuda_band_params &to, int64_t number,
                                         const bf_cuda_joint_term<n> &term) {
    int64_t *limbs = to.words + number * to.limbs;
#pragma unroll
    for (int i = 0; i < n; i++)
        if (term.word[i] != 0)
            bf_cuda_add_term(limbs, term.position - 32 * to.first + 64 * i, term.word[i],
                             term.negative);
}

template <bf_kind Kind>
__device__ __forceinline__ void absorb_value(const bf_cuda_aggregate_params &p, uint64_t a,
                                             uint64_t b, int64_t number) {
    if (bf_dtype_is_float(p.dtype)) {
        const int special = bf_cuda_special_of(Kind, bf_format_of(p.dtype), a, b);
        if (special != 0) {
            bf_cuda_count_special(p, number, special, 1);
            if (!bf_sum_keeps_weight(Kind, special)) return;
            a = 0;
        }
    }
    bf_cuda_joint_terms<Kind>(bf_cuda_joint_term_of(p.dtype, a), bf_cuda_joint_term_of(p.dtype, b),
                              [&](int i, const auto &term) { add_term(p.band[i], number, term); });
}

__device__ __forceinline__ void absorb_key(const bf_cuda_aggregate_params &p, uint64_t bits,
                                           int64_t number) {
    if (bf_dtype_is_float(p.dtype) && bf_is_nan(bf_format_of(p.dtype), bits)) {
        bf_cuda_count_special(p, number, BF_SUM_NAN, 1);
        return;
    }
    int64_t key = bf_order_rank(p.dtype, bits) ^ (p.greatest ? -1 : 0);
    if (key < p.keys[number]) atomicMin((long long *)p.keys + number, (long long)key);
}

template <bf_kind Kind>
__global__ void __launch_bounds__(BF_CUDA_AGGREGATE_THREADS)
    absorb_values(const __grid_constant__ bf_cuda_aggregate_params p) {
    for (const int64_t i : bf_cuda_indices<BF_CUDA_AGGREGATE_THREADS>(p.n)) {
        const uint64_t a = bf_cuda_element::load_bits(p.values, p.bytes, i);
        if constexpr (Kind == BF_KIND_EXTREME)
            absorb_key(p, a, p.numbers[i]);
        else
            absorb_value<Kind>(
                p, a,
                bf_kind_takes_pairs(Kind) ? bf_cuda_element::load_bits(p.second, p.bytes, i) : 0,
                p.numbers[i]);
    }
}

void (*absorber_of(bf_kind kind))(bf_cuda_aggregate_params) {
    switch (kind) {
    case BF_KIND_SUM: return absorb_values<BF_KIND_SUM>;
    case BF_KIND_SQUARES: return absorb_values<BF_KIND_SQUARES>;
    case BF_KIND_MOMENTS: return absorb_values<BF_KIND_MOMENTS>;
    case BF_KIND_POWERS: return absorb_values<BF_KIND_POWERS>;
    case BF_KIND_COMOMENTS: return absorb_values<BF_KIND_COMOMENTS>;
    case BF_KIND_WEIGHTED: return absorb_values<BF_KIND_WEIGHTED>;
    default: return absorb_values<BF_KIND_EXTREME>;
    }
}

/* --- bands --- */

__global__ void __launch_bounds__(BF_CUDA_AGGREGATE_THREADS)
    move_limbs(const int64_t *from, int limbs, int64_t *to, int wide, int at, int64_t n) {
    for (const int64_t i : bf_cuda_indices<BF_CUDA_AGGREGATE_THREADS>(n * wide)) {
        int k = (int)(i % wide) - at;
        to[i] = k >= 0 && k < limbs ? from[i / wide * limbs + k] : 0;
    }
}

__global__ void __launch_bounds__(BF_CUDA_AGGREGATE_THREADS)
    carry_limbs(int64_t *words, int limbs, int64_t n) {
    for (const int64_t i : bf_cuda_indices<BF_CUDA_AGGREGATE_THREADS>(n))
        bf_limbs_carry(words + i * limbs, limbs);
}

/* Groups by their numbers, or one after another. */
struct group_list {
    const unsigned *numbers;
    int64_t first;
    __device__ __forceinline__ int64_t operator[](int64_t i) const {
        return numbers != nullptr ? numbers[i] : first + i;
    }
};

__global__ void __launch_bounds__(BF_CUDA_AGGREGATE_THREADS)
    merge_words(int64_t *into, int wide, int at, const int64_t *from, int each, group_list groups,
                int64_t n) {
    for (const int64_t i : bf_cuda_indices<BF_CUDA_AGGREGATE_THREADS>(n * each))
        into[groups[i / each] * wide + at + i % each] += from[i];
}

__global__ void __launch_bounds__(BF_CUDA_AGGREGATE_THREADS)
    merge_keys(int64_t *into, const int64_t *from, group_list groups, int64_t n) {
    for (const int64_t i : bf_cuda_indices<BF_CUDA_AGGREGATE_THREADS>(n))
        if (from[i] < into[groups[i]]) into[groups[i]] = from[i];
}

__global__ void __launch_bounds__(BF_CUDA_AGGREGATE_THREADS)
    fill_words(int64_t *words, int64_t value, int64_t n) {
    for (const int64_t i : bf_cuda_indices<BF_CUDA_AGGREGATE_THREADS>(n)) words[i] = value;
}

/* --- words --- */

/* Writes the limbs of a group: all of the layout, carried. */
__device__ void write_limbs(const bf_cuda_band_params &band, int64_t number, int64_t *words) {
    const int64_t *limbs = band.words + number * band.limbs;
    const int count = band.part.layout.limbs;
    int64_t carried = 0;
    for (int k = 0; k < count; k++) {
        bool held = k >= band.first && k < band.first + band.limbs;
        int64_t sum = carried + (held ? limbs[k - band.first] : 0);
        words[k] = k < count - 1 ? sum & 0xffffffff : sum;
        carried = sum >> 32;
    }
}

__device__ void write_extreme(int64_t count, int64_t nan, int64_t key, int64_t *words) {
    bf_extreme_init(words);
    if (nan > 0) bf_extreme_take_nan(words, nan, 0);
    if (count > nan) bf_extreme_take(words, key, 0);
    words[BF_EXTREME_COUNT] = count;
}

/* Writes words as bf_accumulators_words of src/cpu/reduce/accumulators.c does. */
__global__ void __launch_bounds__(BF_CUDA_AGGREGATE_THREADS)
    write_words(const __grid_constant__ bf_cuda_aggregate_params p, group_list groups,
                const int64_t *counts, int64_t *words) {
    const int each = bf_state_words(p.kind, p.dtype, nullptr);
    for (const int64_t i : bf_cuda_indices<BF_CUDA_AGGREGATE_THREADS>(p.n)) {
        int64_t number = groups[i], *to = words + i * each;
        if (p.kind == BF_KIND_EXTREME) {
            const int64_t *specials = p.specials + number * BF_CUDA_SPECIALS;
            write_extreme(counts[number], p.specials != nullptr ? specials[0] : 0, p.keys[number],
                          to);
            continue;
        }
        bf_cuda_group_counts(p, number, counts[number], to);
        for (int k = 0; k < p.bands; k++) write_limbs(p.band[k], number, to + p.band[k].part.at);
    }
}

bf_status check_aggregate(bf_context *context, cudaError_t error) {
    return bf_cuda_check(context, error, "values on a GPU");
}

} // namespace

bf_cuda_aggregate_params bf_cuda_aggregate_params_of(const bf_cuda_aggregate *a, int64_t n) {
    bf_cuda_aggregate_params p = {};
    p.dtype = a->dtype;
    p.kind = a->kind;
    p.bytes = bf_dtype_bytes(a->dtype);
    p.greatest = a->greatest;
    p.bands = a->bands;
    for (int i = 0; i < a->bands; i++) {
        const bf_cuda_band *band = &a->band[i];
        p.band[i] = {band->part, band->first, band->limbs, (int64_t *)band->words.memory};
    }
    p.keys = (int64_t *)a->keys.memory;
    p.specials = a->has_specials ? (int64_t *)a->specials.memory : NULL;
    p.n = n;
    return p;
}

/* --- memory --- */

void bf_cuda_aggregate_init(bf_cuda_aggregate *a, bf_aggregate kind) {
    *a = bf_cuda_aggregate{};
    a->kind = bf_kind_of(kind.op, kind.dtype);
    a->dtype = kind.dtype;
    a->greatest = bf_is_greatest(kind.op);
    const bf_parts parts = bf_parts_of(a->kind, a->dtype);
    a->bands = parts.count;
    for (int i = 0; i < a->bands; i++) a->band[i].part = parts.part[i];
}

void bf_cuda_aggregate_empty(bf_cuda_aggregate *a) {
    for (int i = 0; i < a->bands; i++) {
        a->band[i].first = a->band[i].limbs = 0;
        a->band[i].deposits = 0;
    }
    a->has_specials = false;
}

void bf_cuda_aggregate_destroy(bf_context *context, bf_cuda_aggregate *a) {
    for (int i = 0; i < a->bands; i++) bf_cuda_buffer_free(context, &a->band[i].words);
    bf_cuda_buffer_free(context, &a->keys);
    bf_cuda_buffer_free(context, &a->specials);
}

static bf_status grow_words(bf_context *context, bf_cuda_buffer *buffer, int64_t size, int64_t room,
                            int each) {
    size_t group = (size_t)each * sizeof(int64_t);
    return bf_cuda_buffer_grow(context, buffer, (size_t)room * group, (size_t)size * group);
}

bf_status bf_cuda_aggregate_reserve(bf_context *context, bf_cuda_aggregate *a, int64_t size,
                                    int64_t room) {
    bf_status status = BF_OK;
    if (a->kind == BF_KIND_EXTREME) status = grow_words(context, &a->keys, size, room, 1);
    if (status == BF_OK && a->has_specials)
        status = grow_words(context, &a->specials, size, room, BF_CUDA_SPECIALS);
    for (int i = 0; i < a->bands && status == BF_OK; i++)
        status = grow_words(context, &a->band[i].words, size, room, a->band[i].limbs);
    return status;
}

static cudaError_t clear_words(bf_context *context, bf_cuda_buffer *buffer, int64_t size,
                               int64_t fresh, int each) {
    if (each == 0) return cudaSuccess;
    return cudaMemsetAsync((int64_t *)buffer->memory + size * each, 0,
                           (size_t)(fresh * each) * sizeof(int64_t), context->cuda->stream);
}

cudaError_t bf_cuda_aggregate_extend(bf_context *context, bf_cuda_aggregate *a, int64_t size,
                                     int64_t fresh) {
    cudaStream_t stream = context->cuda->stream;
    if (a->kind == BF_KIND_EXTREME)
        fill_words<<<bf_cuda_blocks(context->cuda, fresh, BF_CUDA_AGGREGATE_THREADS),
                     BF_CUDA_AGGREGATE_THREADS, 0, stream>>>((int64_t *)a->keys.memory + size,
                                                             INT64_MAX, fresh);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess && a->has_specials)
        error = clear_words(context, &a->specials, size, fresh, BF_CUDA_SPECIALS);
    for (int i = 0; i < a->bands && error == cudaSuccess; i++)
        error = clear_words(context, &a->band[i].words, size, fresh, a->band[i].limbs);
    return error;
}

bf_status bf_cuda_aggregate_hold_specials(bf_context *context, bf_cuda_aggregate *a, int64_t size,
                                          int64_t room) {
    if (a->has_specials) return BF_OK;
    bf_status status = grow_words(context, &a->specials, 0, room, BF_CUDA_SPECIALS);
    if (status != BF_OK) return status;
    cudaError_t error = clear_words(context, &a->specials, 0, size, BF_CUDA_SPECIALS);
    a->has_specials = error == cudaSuccess;
    return check_aggregate(context, error);
}

bf_status bf_cuda_band_widen(bf_context *context, bf_cuda_band *band, int64_t size, int64_t room,
                             int first, int end) {
    if (band->limbs > 0) {
        if (band->first < first) first = band->first;
        if (band->first + band->limbs > end) end = band->first + band->limbs;
    }
    int limbs = end - first;
    if (limbs <= band->limbs) return BF_OK;
    bf_cuda_buffer wider = size == 0 ? band->words : bf_cuda_buffer{};
    bf_status status = grow_words(context, &wider, 0, room, limbs);
    if (size == 0) band->words = wider;
    if (status != BF_OK) return status;
    if (size > 0) {
        move_limbs<<<bf_cuda_blocks(context->cuda, size * limbs, BF_CUDA_AGGREGATE_THREADS),
                     BF_CUDA_AGGREGATE_THREADS, 0, context->cuda->stream>>>(
            (const int64_t *)band->words.memory, band->limbs, (int64_t *)wider.memory, limbs,
            band->first - first, size);
        bf_cuda_buffer_free(context, &band->words);
        band->words = wider;
    }
    band->first = first;
    band->limbs = limbs;
    return check_aggregate(context, cudaGetLastError());
}

/* Carries if so many more deposits might overflow a limb. */
static cudaError_t make_headroom(bf_context *context, bf_cuda_band *band, int64_t size,
                                 int64_t deposits) {
    if (band->limbs == 0 || band->deposits + deposits <= BF_CUDA_BAND_DEPOSITS) return cudaSuccess;
    if (size > 0)
        carry_limbs<<<bf_cuda_blocks(context->cuda, size, BF_CUDA_AGGREGATE_THREADS),
                      BF_CUDA_AGGREGATE_THREADS, 0, context->cuda->stream>>>(
            (int64_t *)band->words.memory, band->limbs, size);
    band->deposits = 1;
    return cudaGetLastError();
}

/* --- values --- */

cudaError_t bf_cuda_aggregate_deposit(bf_context *context, bf_cuda_aggregate *a, int64_t size,
                                      int64_t deposits) {
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < a->bands && error == cudaSuccess; i++) {
        error = make_headroom(context, &a->band[i], size, deposits);
        a->band[i].deposits += deposits;
    }
    return error;
}

cudaError_t bf_cuda_aggregate_absorb(bf_context *context, bf_cuda_aggregate *a,
                                     const void *const values[], const unsigned *numbers, int64_t n,
                                     int64_t size) {
    enum { DEPOSITS = 2 }; /* additions of a term to one limb, at most */
    cudaError_t error = bf_cuda_aggregate_deposit(context, a, size, DEPOSITS * n);
    if (error != cudaSuccess) return error;
    bf_cuda_aggregate_params p = bf_cuda_aggregate_params_of(a, n);
    p.values = (const char *)values[0];
    p.second = bf_kind_takes_pairs(a->kind) ? (const char *)values[1] : NULL;
    p.numbers = numbers;
    absorber_of(a->kind)<<<bf_cuda_blocks(context->cuda, n, BF_CUDA_AGGREGATE_THREADS),
                           BF_CUDA_AGGREGATE_THREADS, 0, context->cuda->stream>>>(p);
    return cudaGetLastError();
}

/* --- merging --- */

static bf_status widen_band(bf_context *context, bf_cuda_band *into, const bf_cuda_band *from,
                            int64_t size, int64_t room) {
    if (from->limbs == 0) return BF_OK;
    return bf_cuda_band_widen(context, into, size, room, from->first, from->first + from->limbs);
}

bf_status bf_cuda_aggregate_widen(bf_context *context, bf_cuda_aggregate *into,
                                  const bf_cuda_aggregate *from, int64_t size, int64_t room) {
    bf_status status = BF_OK;
    if (from->has_specials) status = bf_cuda_aggregate_hold_specials(context, into, size, room);
    for (int i = 0; i < into->bands && status == BF_OK; i++)
        status = widen_band(context, &into->band[i], &from->band[i], size, room);
    return status;
}

static cudaError_t merge_band(bf_context *context, bf_cuda_band *into, const bf_cuda_band *from,
                              group_list groups, int64_t n, int64_t size) {
    if (from->limbs == 0) return cudaSuccess;
    cudaError_t error = make_headroom(context, into, size, from->deposits);
    if (error != cudaSuccess) return error;
    merge_words<<<bf_cuda_blocks(context->cuda, n * from->limbs, BF_CUDA_AGGREGATE_THREADS),
                  BF_CUDA_AGGREGATE_THREADS, 0, context->cuda->stream>>>(
        (int64_t *)into->words.memory, into->limbs, from->first - into->first,
        (const int64_t *)from->words.memory, from->limbs, groups, n);
    into->deposits += from->deposits;
    return cudaGetLastError();
}

cudaError_t bf_cuda_aggregate_merge(bf_context *context, bf_cuda_aggregate *into,
                                    const bf_cuda_aggregate *from, const unsigned *numbers,
                                    int64_t first, int64_t n, int64_t size) {
    const group_list groups = {numbers, first};
    cudaStream_t stream = context->cuda->stream;
    if (into->kind == BF_KIND_EXTREME)
        merge_keys<<<bf_cuda_blocks(context->cuda, n, BF_CUDA_AGGREGATE_THREADS),
                     BF_CUDA_AGGREGATE_THREADS, 0, stream>>>(
            (int64_t *)into->keys.memory, (const int64_t *)from->keys.memory, groups, n);
    if (from->has_specials)
        merge_words<<<bf_cuda_blocks(context->cuda, n * BF_CUDA_SPECIALS,
                                     BF_CUDA_AGGREGATE_THREADS),
                      BF_CUDA_AGGREGATE_THREADS, 0, stream>>>(
            (int64_t *)into->specials.memory, BF_CUDA_SPECIALS, 0,
            (const int64_t *)from->specials.memory, BF_CUDA_SPECIALS, groups, n);
    cudaError_t error = cudaGetLastError();
    for (int i = 0; i < into->bands && error == cudaSuccess; i++)
        error = merge_band(context, &into->band[i], &from->band[i], groups, n, size);
    return error;
}

cudaError_t bf_cuda_aggregate_words(bf_context *context, const bf_cuda_aggregate *a,
                                    const unsigned *order, int64_t first, const int64_t *counts,
                                    int64_t n, int64_t *words) {
    bf_cuda_aggregate_params p = bf_cuda_aggregate_params_of(a, n);
    write_words<<<bf_cuda_blocks(context->cuda, n, BF_CUDA_AGGREGATE_THREADS),
                  BF_CUDA_AGGREGATE_THREADS, 0, context->cuda->stream>>>(
        p, group_list{order, first}, counts, words);
    return cudaGetLastError();
}
