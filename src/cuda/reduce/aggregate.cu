/* Aggregates of groups on a GPU. Values are absorbed by the numbers of their groups, as in
 * src/cpu/reduce/accumulate.c, by atomic additions of integers, which commute. */
#include "cuda/reduce/aggregate_value.cuh"

#include "rules/reduce/state.h"

namespace {

/* --- values --- */

__device__ __forceinline__ void absorb_value(const bf_cuda_aggregate_params &p, uint64_t bits,
                                             int64_t number) {
    bool is_float = bf_dtype_is_float(p.dtype);
    bf_format f = bf_format_of(p.dtype);
    if (is_float && bf_cuda_is_special(f, bits)) {
        bf_cuda_count_special(p, f, bits, number);
        return;
    }
    bf_finite d = is_float ? bf_decode(f, bits) : bf_decode_integer(p.dtype, bits);
    if (p.sum.limbs > 0) {
        int at = is_float ? bf_sum_position(f, p.sum, d.position, 1) : 0;
        bf_cuda_add_term(p.sums + number * p.sum_limbs, at - 32 * p.sum_first, d.magnitude,
                         d.negative);
    }
    if (p.products.limbs > 0) {
        int at = is_float ? bf_sum_position(f, p.products, 2 * d.position, 2) : 0;
        int64_t *limbs = p.squares + number * p.products_limbs;
        at -= 32 * p.products_first;
        bf_cuda_add_term(limbs, at, d.magnitude * d.magnitude, false);
        uint64_t high = __umul64hi(d.magnitude, d.magnitude);
        if (high != 0) bf_cuda_add_term(limbs, at + 64, high, false);
    }
}

__device__ __forceinline__ void absorb_key(const bf_cuda_aggregate_params &p, uint64_t bits,
                                           int64_t number) {
    if (bf_dtype_is_float(p.dtype) && bf_is_nan(bf_format_of(p.dtype), bits)) {
        bf_cuda_add_word(p.specials + number * BF_CUDA_SPECIALS + BF_CUDA_SPECIAL_NAN, 1);
        return;
    }
    int64_t key = bf_order_rank(p.dtype, bits) ^ (p.greatest ? -1 : 0);
    if (key < p.keys[number]) atomicMin((long long *)p.keys + number, (long long)key);
}

__global__ void __launch_bounds__(BF_CUDA_AGGREGATE_THREADS)
    absorb_values(const __grid_constant__ bf_cuda_aggregate_params p) {
    for (const int64_t i : bf_cuda_indices<BF_CUDA_AGGREGATE_THREADS>(p.n)) {
        uint64_t bits = bf_cuda_element::load_bits(p.values, p.bytes, i);
        if (p.kind == BF_KIND_EXTREME)
            absorb_key(p, bits, p.numbers[i]);
        else
            absorb_value(p, bits, p.numbers[i]);
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
__device__ void write_limbs(bf_layout layout, int first, int limbs, const int64_t *band,
                            int64_t *words) {
    int64_t carried = 0;
    for (int k = 0; k < layout.limbs; k++) {
        bool held = k >= first && k < first + limbs;
        int64_t sum = carried + (held ? band[k - first] : 0);
        words[k] = k < layout.limbs - 1 ? sum & 0xffffffff : sum;
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
    bf_sum_shape shape = bf_sum_shape_of(p.kind, p.dtype);
    int each = p.kind == BF_KIND_EXTREME ? (int)BF_EXTREME_WORDS : shape.words;
    for (const int64_t i : bf_cuda_indices<BF_CUDA_AGGREGATE_THREADS>(p.n)) {
        int64_t number = groups[i], *to = words + i * each;
        if (p.kind == BF_KIND_EXTREME) {
            const int64_t *specials = p.specials + number * BF_CUDA_SPECIALS;
            write_extreme(counts[number], p.specials != nullptr ? specials[BF_CUDA_SPECIAL_NAN] : 0,
                          p.keys[number], to);
            continue;
        }
        bf_cuda_group_counts(p, number, counts[number], to);
        if (p.sum.limbs > 0)
            write_limbs(p.sum, p.sum_first, p.sum_limbs, p.sums + number * p.sum_limbs,
                        to + shape.sum_at);
        if (p.products.limbs > 0)
            write_limbs(p.products, p.products_first, p.products_limbs,
                        p.squares + number * p.products_limbs, to + shape.products_at);
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
    p.sum = a->sum.layout;
    p.products = a->products.layout;
    p.sum_first = a->sum.first;
    p.sum_limbs = a->sum.limbs;
    p.products_first = a->products.first;
    p.products_limbs = a->products.limbs;
    p.sums = (int64_t *)a->sum.words.memory;
    p.squares = (int64_t *)a->products.words.memory;
    p.keys = (int64_t *)a->keys.memory;
    p.specials = a->has_specials ? (int64_t *)a->specials.memory : NULL;
    p.n = n;
    return p;
}

/* --- memory --- */

static void band_init(bf_cuda_band *band, bf_layout layout, bool has) {
    band->layout = layout;
    if (!has) band->layout.limbs = 0;
    band->first = band->limbs = 0;
    band->deposits = 0;
}

void bf_cuda_aggregate_init(bf_cuda_aggregate *a, bf_aggregate kind) {
    *a = bf_cuda_aggregate{};
    a->kind = bf_kind_of(kind.op, kind.dtype);
    a->dtype = kind.dtype;
    a->greatest = bf_is_greatest(kind.op);
    bool sum = a->kind == BF_KIND_SUM || a->kind == BF_KIND_MOMENTS;
    bool products = a->kind == BF_KIND_SQUARES || a->kind == BF_KIND_MOMENTS;
    band_init(&a->sum, bf_layout_sum(kind.dtype), sum);
    band_init(&a->products, bf_layout_products(kind.dtype), products);
}

void bf_cuda_aggregate_empty(bf_cuda_aggregate *a) {
    a->sum.first = a->sum.limbs = a->products.first = a->products.limbs = 0;
    a->sum.deposits = a->products.deposits = 0;
    a->has_specials = false;
}

void bf_cuda_aggregate_destroy(bf_context *context, bf_cuda_aggregate *a) {
    bf_cuda_buffer_free(context, &a->sum.words);
    bf_cuda_buffer_free(context, &a->products.words);
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
    if (status == BF_OK) status = grow_words(context, &a->sum.words, size, room, a->sum.limbs);
    if (status == BF_OK)
        status = grow_words(context, &a->products.words, size, room, a->products.limbs);
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
    if (error == cudaSuccess)
        error = clear_words(context, &a->sum.words, size, fresh, a->sum.limbs);
    if (error == cudaSuccess)
        error = clear_words(context, &a->products.words, size, fresh, a->products.limbs);
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
    cudaError_t error = make_headroom(context, &a->sum, size, deposits);
    if (error == cudaSuccess) error = make_headroom(context, &a->products, size, deposits);
    a->sum.deposits += deposits;
    a->products.deposits += deposits;
    return error;
}

cudaError_t bf_cuda_aggregate_absorb(bf_context *context, bf_cuda_aggregate *a, const void *values,
                                     const unsigned *numbers, int64_t n, int64_t size) {
    enum { DEPOSITS = 2 }; /* additions of a term to one limb, at most */
    cudaError_t error = bf_cuda_aggregate_deposit(context, a, size, DEPOSITS * n);
    if (error != cudaSuccess) return error;
    bf_cuda_aggregate_params p = bf_cuda_aggregate_params_of(a, n);
    p.values = (const char *)values;
    p.numbers = numbers;
    absorb_values<<<bf_cuda_blocks(context->cuda, n, BF_CUDA_AGGREGATE_THREADS),
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
    if (status == BF_OK) status = widen_band(context, &into->sum, &from->sum, size, room);
    if (status == BF_OK) status = widen_band(context, &into->products, &from->products, size, room);
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
    cudaError_t error = merge_band(context, &into->sum, &from->sum, groups, n, size);
    if (error == cudaSuccess)
        error = merge_band(context, &into->products, &from->products, groups, n, size);
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
