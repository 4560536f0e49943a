/* Aggregates of groups on a GPU: values enter by the numbers of their groups, as in
 * src/cpu/group/aggregate.c, by atomic additions of integers, which commute. */
#include "cuda/group/value.cuh"

#include "rules/reduce/state.h"

namespace {

enum { THREADS = BF_CUDA_GROUP_THREADS };

/* --- values --- */

__device__ __forceinline__ void take_value(const bf_cuda_column_params &p, uint64_t bits,
                                           int64_t number) {
    bool is_float = bf_dtype_is_float(p.dtype);
    bf_format f = bf_format_of(p.dtype);
    if (is_float && bf_cuda_is_apart(f, bits)) {
        bf_cuda_count_apart(p, f, bits, number);
        return;
    }
    bf_finite d = is_float ? bf_decode(f, bits) : bf_decode_integer(p.dtype, bits);
    if (p.sum.limbs > 0) {
        int at = is_float ? bf_exact_position(f, p.sum, d.position, 1) : 0;
        bf_cuda_add_term(p.sums + number * p.sum_limbs, at - 32 * p.sum_first, d.magnitude,
                         d.negative);
    }
    if (p.products.limbs > 0) {
        int at = is_float ? bf_exact_position(f, p.products, 2 * d.position, 2) : 0;
        int64_t *limbs = p.squares + number * p.products_limbs;
        at -= 32 * p.products_first;
        bf_cuda_add_term(limbs, at, d.magnitude * d.magnitude, false);
        uint64_t high = __umul64hi(d.magnitude, d.magnitude);
        if (high != 0) bf_cuda_add_term(limbs, at + 64, high, false);
    }
}

__device__ __forceinline__ void take_key(const bf_cuda_column_params &p, uint64_t bits,
                                         int64_t number) {
    if (bf_dtype_is_float(p.dtype) && bf_is_nan(bf_format_of(p.dtype), bits)) {
        bf_cuda_add(p.others + number * BF_CUDA_OTHERS + BF_CUDA_OTHER_NAN, 1);
        return;
    }
    int64_t key = bf_order_key(p.dtype, bits) ^ (p.greatest ? -1 : 0);
    if (key < p.keys[number]) atomicMin((long long *)p.keys + number, (long long)key);
}

__global__ void __launch_bounds__(THREADS)
    take_values(const __grid_constant__ bf_cuda_column_params p) {
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < p.n;
         i += (int64_t)gridDim.x * THREADS) {
        uint64_t bits = bf_cuda_load(p.values + i * p.bytes, p.bytes);
        if (p.kind == BF_KIND_EXTREME)
            take_key(p, bits, p.numbers[i]);
        else
            take_value(p, bits, p.numbers[i]);
    }
}

/* --- bands --- */

__global__ void __launch_bounds__(THREADS)
    move_limbs(const int64_t *from, int limbs, int64_t *to, int wide, int at, int64_t n) {
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n * wide;
         i += (int64_t)gridDim.x * THREADS) {
        int k = (int)(i % wide) - at;
        to[i] = k >= 0 && k < limbs ? from[i / wide * limbs + k] : 0;
    }
}

__global__ void __launch_bounds__(THREADS) carry(int64_t *words, int limbs, int64_t n) {
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * THREADS)
        bf_limbs_carry(words + i * limbs, limbs);
}

__global__ void __launch_bounds__(THREADS)
    merge_words(int64_t *into, int wide, int at, const int64_t *from, int each,
                const unsigned *numbers, int64_t n) {
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n * each;
         i += (int64_t)gridDim.x * THREADS)
        into[(int64_t)numbers[i / each] * wide + at + i % each] += from[i];
}

__global__ void __launch_bounds__(THREADS)
    merge_keys(int64_t *into, const int64_t *from, const unsigned *numbers, int64_t n) {
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * THREADS)
        if (from[i] < into[numbers[i]]) into[numbers[i]] = from[i];
}

__global__ void __launch_bounds__(THREADS) fill(int64_t *words, int64_t value, int64_t n) {
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * THREADS)
        words[i] = value;
}

/* --- words --- */

/* The limbs of a group, all that the layout has, carried. */
__device__ void put_limbs(bf_layout layout, int first, int limbs, const int64_t *band,
                          int64_t *words) {
    int64_t carried = 0;
    for (int k = 0; k < layout.limbs; k++) {
        bool held = k >= first && k < first + limbs;
        int64_t sum = carried + (held ? band[k - first] : 0);
        words[k] = k < layout.limbs - 1 ? sum & 0xffffffff : sum;
        carried = sum >> 32;
    }
}

__device__ void put_extreme(int64_t count, int64_t nan, int64_t key, int64_t *words) {
    bf_extreme_init(words);
    if (nan > 0) bf_extreme_take_nan(words, nan, 0);
    if (count > nan) bf_extreme_take(words, key, 0);
    words[BF_EXTREME_COUNT] = count;
}

/* As bf_column_words of src/cpu/group/aggregate.c. */
__global__ void __launch_bounds__(THREADS)
    put_words(const __grid_constant__ bf_cuda_column_params p, const unsigned *order,
              const int64_t *counts, int64_t *words) {
    bf_exact_shape shape = bf_exact_shape_of(p.kind, p.dtype);
    int each = p.kind == BF_KIND_EXTREME ? (int)BF_EXTREME_WORDS : shape.words;
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < p.n;
         i += (int64_t)gridDim.x * THREADS) {
        int64_t number = order[i], *to = words + i * each;
        if (p.kind == BF_KIND_EXTREME) {
            const int64_t *others = p.others + number * BF_CUDA_OTHERS;
            put_extreme(counts[number], p.others != nullptr ? others[BF_CUDA_OTHER_NAN] : 0,
                        p.keys[number], to);
            continue;
        }
        bf_cuda_group_counts(p, number, counts[number], to);
        if (p.sum.limbs > 0)
            put_limbs(p.sum, p.sum_first, p.sum_limbs, p.sums + number * p.sum_limbs,
                      to + shape.sum_at);
        if (p.products.limbs > 0)
            put_limbs(p.products, p.products_first, p.products_limbs,
                      p.squares + number * p.products_limbs, to + shape.products_at);
    }
}

} // namespace

bf_cuda_column_params bf_cuda_column_params_of(const bf_cuda_column *c, int64_t n) {
    bf_cuda_column_params p = {};
    p.dtype = c->dtype;
    p.kind = c->kind;
    p.bytes = bf_dtype_bytes(c->dtype);
    p.greatest = c->greatest;
    p.sum = c->sum.layout;
    p.products = c->products.layout;
    p.sum_first = c->sum.first;
    p.sum_limbs = c->sum.limbs;
    p.products_first = c->products.first;
    p.products_limbs = c->products.limbs;
    p.sums = (int64_t *)c->sum.words.memory;
    p.squares = (int64_t *)c->products.words.memory;
    p.keys = (int64_t *)c->keys.memory;
    p.others = c->has_others ? (int64_t *)c->others.memory : NULL;
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

void bf_cuda_column_init(bf_cuda_column *c, bf_aggregate a) {
    *c = bf_cuda_column{};
    c->kind = bf_kind_of(a.op, a.dtype);
    c->dtype = a.dtype;
    c->greatest = bf_is_greatest(a.op);
    bool sum = c->kind == BF_KIND_SUM || c->kind == BF_KIND_MOMENTS;
    bool products = c->kind == BF_KIND_SQUARES || c->kind == BF_KIND_MOMENTS;
    band_init(&c->sum, bf_layout_sum(a.dtype), sum);
    band_init(&c->products, bf_layout_products(a.dtype), products);
}

void bf_cuda_column_empty(bf_cuda_column *c) {
    c->sum.first = c->sum.limbs = c->products.first = c->products.limbs = 0;
    c->sum.deposits = c->products.deposits = 0;
    c->has_others = false;
}

void bf_cuda_column_destroy(bf_context *context, bf_cuda_column *c) {
    bf_cuda_buffer_free(context, &c->sum.words);
    bf_cuda_buffer_free(context, &c->products.words);
    bf_cuda_buffer_free(context, &c->keys);
    bf_cuda_buffer_free(context, &c->others);
}

static bf_status grow_words(bf_context *context, bf_cuda_buffer *buffer, int64_t size, int64_t room,
                            int each) {
    size_t group = (size_t)each * sizeof(int64_t);
    return bf_cuda_buffer_grow(context, buffer, (size_t)room * group, (size_t)size * group);
}

bf_status bf_cuda_column_reserve(bf_context *context, bf_cuda_column *c, int64_t size,
                                 int64_t room) {
    bf_status status = BF_OK;
    if (c->kind == BF_KIND_EXTREME) status = grow_words(context, &c->keys, size, room, 1);
    if (status == BF_OK && c->has_others)
        status = grow_words(context, &c->others, size, room, BF_CUDA_OTHERS);
    if (status == BF_OK) status = grow_words(context, &c->sum.words, size, room, c->sum.limbs);
    if (status == BF_OK)
        status = grow_words(context, &c->products.words, size, room, c->products.limbs);
    return status;
}

static cudaError_t clear_words(bf_context *context, bf_cuda_buffer *buffer, int64_t size,
                               int64_t fresh, int each) {
    if (each == 0) return cudaSuccess;
    return cudaMemsetAsync((int64_t *)buffer->memory + size * each, 0,
                           (size_t)(fresh * each) * sizeof(int64_t), context->cuda->stream);
}

cudaError_t bf_cuda_column_extend(bf_context *context, bf_cuda_column *c, int64_t size,
                                  int64_t fresh) {
    cudaStream_t stream = context->cuda->stream;
    if (c->kind == BF_KIND_EXTREME)
        fill<<<bf_cuda_group_blocks(context, fresh, THREADS), THREADS, 0, stream>>>(
            (int64_t *)c->keys.memory + size, INT64_MAX, fresh);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess && c->has_others)
        error = clear_words(context, &c->others, size, fresh, BF_CUDA_OTHERS);
    if (error == cudaSuccess)
        error = clear_words(context, &c->sum.words, size, fresh, c->sum.limbs);
    if (error == cudaSuccess)
        error = clear_words(context, &c->products.words, size, fresh, c->products.limbs);
    return error;
}

bf_status bf_cuda_column_count_apart(bf_context *context, bf_cuda_column *c, int64_t size,
                                     int64_t room) {
    if (c->has_others) return BF_OK;
    bf_status status = grow_words(context, &c->others, 0, room, BF_CUDA_OTHERS);
    if (status != BF_OK) return status;
    cudaError_t error = clear_words(context, &c->others, 0, size, BF_CUDA_OTHERS);
    c->has_others = error == cudaSuccess;
    return bf_cuda_group_check(context, error);
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
        move_limbs<<<bf_cuda_group_blocks(context, size * limbs, THREADS), THREADS, 0,
                     context->cuda->stream>>>((const int64_t *)band->words.memory, band->limbs,
                                              (int64_t *)wider.memory, limbs, band->first - first,
                                              size);
        bf_cuda_buffer_free(context, &band->words);
        band->words = wider;
    }
    band->first = first;
    band->limbs = limbs;
    return bf_cuda_group_check(context, cudaGetLastError());
}

/* Makes sure that so many more deposits fit. */
static cudaError_t make_headroom(bf_context *context, bf_cuda_band *band, int64_t size,
                                 int64_t deposits) {
    if (band->limbs == 0 || band->deposits + deposits <= BF_CUDA_BAND_DEPOSITS) return cudaSuccess;
    if (size > 0)
        carry<<<bf_cuda_group_blocks(context, size, THREADS), THREADS, 0, context->cuda->stream>>>(
            (int64_t *)band->words.memory, band->limbs, size);
    band->deposits = 1;
    return cudaGetLastError();
}

/* --- values --- */

cudaError_t bf_cuda_column_deposit(bf_context *context, bf_cuda_column *c, int64_t size,
                                   int64_t deposits) {
    cudaError_t error = make_headroom(context, &c->sum, size, deposits);
    if (error == cudaSuccess) error = make_headroom(context, &c->products, size, deposits);
    c->sum.deposits += deposits;
    c->products.deposits += deposits;
    return error;
}

cudaError_t bf_cuda_column_take(bf_context *context, bf_cuda_column *c, const void *values,
                                const unsigned *numbers, int64_t n, int64_t size) {
    enum { DEPOSITS = 2 }; /* of a term, to one limb, at most */
    cudaError_t error = bf_cuda_column_deposit(context, c, size, DEPOSITS * n);
    if (error != cudaSuccess) return error;
    bf_cuda_column_params p = bf_cuda_column_params_of(c, n);
    p.values = (const char *)values;
    p.numbers = numbers;
    take_values<<<bf_cuda_group_blocks(context, n, THREADS), THREADS, 0, context->cuda->stream>>>(
        p);
    return cudaGetLastError();
}

/* --- merging --- */

static bf_status widen_band(bf_context *context, bf_cuda_band *into, const bf_cuda_band *from,
                            int64_t size, int64_t room) {
    if (from->limbs == 0) return BF_OK;
    return bf_cuda_band_widen(context, into, size, room, from->first, from->first + from->limbs);
}

bf_status bf_cuda_column_widen(bf_context *context, bf_cuda_column *into,
                               const bf_cuda_column *from, int64_t size, int64_t room) {
    bf_status status = BF_OK;
    if (from->has_others) status = bf_cuda_column_count_apart(context, into, size, room);
    if (status == BF_OK) status = widen_band(context, &into->sum, &from->sum, size, room);
    if (status == BF_OK) status = widen_band(context, &into->products, &from->products, size, room);
    return status;
}

static cudaError_t merge_band(bf_context *context, bf_cuda_band *into, const bf_cuda_band *from,
                              const unsigned *numbers, int64_t n, int64_t size) {
    if (from->limbs == 0) return cudaSuccess;
    cudaError_t error = make_headroom(context, into, size, from->deposits);
    if (error != cudaSuccess) return error;
    merge_words<<<bf_cuda_group_blocks(context, n * from->limbs, THREADS), THREADS, 0,
                  context->cuda->stream>>>(
        (int64_t *)into->words.memory, into->limbs, from->first - into->first,
        (const int64_t *)from->words.memory, from->limbs, numbers, n);
    into->deposits += from->deposits;
    return cudaGetLastError();
}

cudaError_t bf_cuda_column_merge(bf_context *context, bf_cuda_column *into,
                                 const bf_cuda_column *from, const unsigned *numbers, int64_t n,
                                 int64_t size) {
    cudaStream_t stream = context->cuda->stream;
    if (into->kind == BF_KIND_EXTREME)
        merge_keys<<<bf_cuda_group_blocks(context, n, THREADS), THREADS, 0, stream>>>(
            (int64_t *)into->keys.memory, (const int64_t *)from->keys.memory, numbers, n);
    if (from->has_others)
        merge_words<<<bf_cuda_group_blocks(context, n * BF_CUDA_OTHERS, THREADS), THREADS, 0,
                      stream>>>((int64_t *)into->others.memory, BF_CUDA_OTHERS, 0,
                                (const int64_t *)from->others.memory, BF_CUDA_OTHERS, numbers, n);
    cudaError_t error = merge_band(context, &into->sum, &from->sum, numbers, n, size);
    if (error == cudaSuccess)
        error = merge_band(context, &into->products, &from->products, numbers, n, size);
    return error;
}

cudaError_t bf_cuda_column_words(bf_context *context, const bf_cuda_column *c,
                                 const unsigned *order, const int64_t *counts, int64_t n,
                                 int64_t *words) {
    bf_cuda_column_params p = bf_cuda_column_params_of(c, n);
    put_words<<<bf_cuda_group_blocks(context, n, THREADS), THREADS, 0, context->cuda->stream>>>(
        p, order, counts, words);
    return cudaGetLastError();
}
