/* Preparation of an aggregate for values: limbs for their exponents, and memory for specials. A
 * pass over the values finds these, or a sample of them gives a guess. */
#include "cuda/reduce/aggregate_value.cuh"
#include "cuda/runtime/warp.cuh"

namespace {

enum {
    RANGE_NOTES = 3,        /* an array has so many notes */
    MOST = 1 << 12,         /* above all positions of elements */
    SAMPLE = 1 << 17,       /* values */
    SAMPLED_LEAST = 1 << 22 /* rows of which a sample is worth it */
};

/* The specials among values. */
enum { HAS_NAN = 1, HAS_INF = 2, HAS_NEG_ZERO = 4 };

/* The positions of the bits of finite values other than 0: the least, and the end; and the
 * specials. */
struct bit_range {
    int least, end;
    unsigned specials;
};

__device__ __forceinline__ void widen_range(bf_dtype dtype, uint64_t bits, bit_range *s) {
    if (!bf_dtype_is_float(dtype)) {
        s->least = 0;
        s->end = max(s->end, bf_bit_length(bf_decode_integer(dtype, bits).magnitude));
        return;
    }
    bf_format f = bf_format_of(dtype);
    uint64_t magnitude = bits & ~bf_format_sign(f);
    if (magnitude >= bf_format_inf(f)) {
        s->specials |= magnitude == bf_format_inf(f) ? HAS_INF : HAS_NAN;
    } else if (magnitude == 0) {
        s->specials |= bits != 0 ? HAS_NEG_ZERO : 0;
    } else {
        int position = bf_decode(f, bits).position;
        s->least = min(s->least, position);
        s->end = max(s->end, position + f.fraction + 1);
    }
}

/* Merges a range into found: least, end, specials. The least is stored as most - least, so that all
 * begin as 0 and grow. */
__device__ __forceinline__ void merge_range(bit_range s, int most, unsigned long long *found) {
    s.least = bf_cuda_warp_least(s.least);
    s.end = bf_cuda_warp_most(s.end);
    s.specials = bf_cuda_warp_or(s.specials);
    if (threadIdx.x % BF_CUDA_WARP != 0) return;
    if (s.end > 0) atomicMax(found, (unsigned long long)(most - s.least));
    if (s.end > 0) atomicMax(found + 1, (unsigned long long)s.end);
    if (s.specials != 0) atomicOr(found + 2, (unsigned long long)s.specials);
}

__global__ void __launch_bounds__(BF_CUDA_AGGREGATE_THREADS)
    find_range(bf_dtype dtype, int bytes, const char *values, int64_t n, int most,
               unsigned long long *found) {
    bit_range s = {most, 0, 0};
    for (const int64_t i : bf_cuda_indices<BF_CUDA_AGGREGATE_THREADS>(n))
        widen_range(dtype, bf_cuda_element::load_bits(values, bytes, i), &s);
    merge_range(s, most, found);
}

/* Widens the range by all values of f32 (E: uint32_t) or f64, if some are specials. */
template <class E>
__device__ __forceinline__ void rescan_floats(const E *values, int64_t n, bit_range *s) {
    const bf_dtype dtype = sizeof(E) == 4 ? BF_F32 : BF_F64;
    for (const int64_t i : bf_cuda_indices<BF_CUDA_AGGREGATE_THREADS>(n))
        widen_range(dtype, values[i], s);
}

template <class E>
__global__ void __launch_bounds__(BF_CUDA_AGGREGATE_THREADS)
    find_float_range(const E *values, int64_t n, int most, unsigned long long *found) {
    enum { AHEAD = 32 / sizeof(E) };
    const bf_dtype dtype = sizeof(E) == 4 ? BF_F32 : BF_F64;
    const E sign = (E)1 << (8 * sizeof(E) - 1), inf = (E)bf_format_inf(bf_format_of(dtype));
    /* The first is of magnitudes - 1, so that zeros are the greatest; the second of magnitudes. */
    E least = ~(E)0, most_bits = 0;
    bool odd = false;
    bit_range s = {most, 0, 0};
    const int64_t stride = (int64_t)gridDim.x * BF_CUDA_AGGREGATE_THREADS;
    int64_t i = blockIdx.x * (int64_t)BF_CUDA_AGGREGATE_THREADS + threadIdx.x;
    for (; i + (AHEAD - 1) * stride < n; i += AHEAD * stride) {
        E x[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) x[k] = __ldcs(values + i + k * stride);
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            E magnitude = x[k] & ~sign;
            odd = odd || x[k] == sign;
            least = min(least, (E)(magnitude - 1));
            most_bits = max(most_bits, magnitude);
        }
    }
    for (; i < n; i += stride) widen_range(dtype, values[i], &s);
    if (odd || most_bits >= inf) {
        rescan_floats(values, n, &s);
    } else if (most_bits > 0) {
        widen_range(dtype, least + 1, &s);
        widen_range(dtype, most_bits, &s);
    }
    merge_range(s, most, found);
}

/* Finds the range of a sample of floats. */
__global__ void __launch_bounds__(BF_CUDA_AGGREGATE_THREADS)
    sample_range(bf_dtype dtype, int bytes, const char *values, int64_t n, int most,
                 unsigned long long *found) {
    bit_range s = {most, 0, 0};
    for (const int64_t i : bf_cuda_indices<BF_CUDA_AGGREGATE_THREADS>(SAMPLE))
        widen_range(dtype, bf_cuda_element::load_bits(values, bytes, n * i / SAMPLE), &s);
    merge_range(s, most, found);
}

bf_status check_band(bf_context *context, cudaError_t error) {
    return bf_cuda_check(context, error, "values on a GPU");
}

} // namespace

/* Positions [least, end) of the magnitudes of an array; end 0: it has none. */
struct positions {
    int least, end;
};

/* Widens a band for terms of such elements, or pairs. */
static bf_status widen_band_for(bf_context *context, bf_cuda_band *band, bf_dtype dtype,
                                const positions &a, const positions &b, int64_t size,
                                int64_t room) {
    const bf_part *part = &band->part;
    const int least = part->a * a.least + part->b * b.least;
    const int end = part->a * a.end + part->b * b.end;
    int offset = 0;
    band->from = band->to = band->first;
    if ((part->a > 0 && a.end == 0) || (part->b > 0 && b.end == 0)) return BF_OK;
    if (bf_dtype_is_float(dtype))
        offset = bf_sum_position(bf_format_of(dtype), part->layout, 0, part->a + part->b);
    int last = (end + offset - 1) / 32 + 2; /* the last is for carries */
    if (last > part->layout.limbs) last = part->layout.limbs;
    band->from = (least + offset) / 32;
    band->to = last;
    return bf_cuda_band_widen(context, band, size, room, band->from, band->to);
}

static void launch_find_range(bf_context *context, bf_dtype dtype, const void *values, int64_t n,
                              int most, unsigned long long *found) {
    unsigned blocks = bf_cuda_blocks(context->cuda, n, BF_CUDA_AGGREGATE_THREADS);
    cudaStream_t stream = context->cuda->stream;
    if (dtype == BF_F32)
        find_float_range<<<blocks, BF_CUDA_AGGREGATE_THREADS, 0, stream>>>((const uint32_t *)values,
                                                                           n, most, found);
    else if (dtype == BF_F64)
        find_float_range<<<blocks, BF_CUDA_AGGREGATE_THREADS, 0, stream>>>((const uint64_t *)values,
                                                                           n, most, found);
    else
        find_range<<<blocks, BF_CUDA_AGGREGATE_THREADS, 0, stream>>>(
            dtype, bf_dtype_bytes(dtype), (const char *)values, n, most, found);
}

/* The positions that notes tell, extended by so many bits below and above. */
static positions positions_in(const uint64_t *noted, int below, int above) {
    positions p = {max(MOST - (int)noted[0] - below, 0), (int)noted[1]};
    if (p.end > 0) p.end += above;
    return p;
}

/* Widens the aggregate for the ranges in the notes: of an array, or of two. */
static bf_status widen_aggregate(bf_context *context, bf_cuda_aggregate *c, int below, int above,
                                 int64_t size, int64_t room) {
    uint64_t noted[BF_CUDA_NOTES];
    bf_status status = bf_cuda_fetch_notes(context, cudaSuccess, noted, "values on a GPU");
    if (status != BF_OK) return status;
    const positions a = positions_in(noted, below, above);
    const positions b = positions_in(noted + RANGE_NOTES, below, above);
    int specials = (int)(noted[2] | noted[RANGE_NOTES + 2]);
    if (c->kind == BF_KIND_EXTREME) specials &= HAS_NAN;
    if (!bf_sum_counts_zeros(c->kind, c->dtype)) specials &= ~HAS_NEG_ZERO;
    if (specials != 0) status = bf_cuda_aggregate_hold_specials(context, c, size, room);
    for (int i = 0; i < c->bands && status == BF_OK; i++)
        status = widen_band_for(context, &c->band[i], c->dtype, a, b, size, room);
    return status;
}

/* Enqueues find(values, notes) for each array. */
template <class Find>
static bf_status find_ranges(bf_context *context, const bf_cuda_aggregate *c,
                             const void *const values[], const Find &find) {
    const cudaError_t error = bf_cuda_clear_notes(context);
    if (error != cudaSuccess) return check_band(context, error);
    for (int i = 0; i < (bf_kind_takes_pairs(c->kind) ? 2 : 1); i++)
        find(values[i], bf_cuda_notes(context) + i * RANGE_NOTES);
    return check_band(context, cudaGetLastError());
}

bf_status bf_cuda_aggregate_prepare(bf_context *context, bf_cuda_aggregate *c,
                                    const void *const values[], int64_t n, int64_t size,
                                    int64_t room) {
    const bf_status status =
        find_ranges(context, c, values, [&](const void *x, unsigned long long *found) {
            launch_find_range(context, c->dtype, x, n, MOST, found);
        });
    return status == BF_OK ? widen_aggregate(context, c, 0, 0, size, room) : status;
}

/* The least of many values is smaller than the least of a sample, by about log2 of their ratio in
 * bits; by ten bits more once in a thousand times. */
bf_status bf_cuda_aggregate_guess(bf_context *context, bf_cuda_aggregate *c,
                                  const void *const values[], int64_t n, int64_t size,
                                  int64_t room) {
    enum { ABOVE = 4, BELOW = 10 };
    if (n < SAMPLED_LEAST || !bf_dtype_is_float(c->dtype) || c->kind == BF_KIND_EXTREME)
        return bf_cuda_aggregate_prepare(context, c, values, n, size, room);
    const bf_status status =
        find_ranges(context, c, values, [&](const void *x, unsigned long long *found) {
            sample_range<<<SAMPLE / BF_CUDA_AGGREGATE_THREADS, BF_CUDA_AGGREGATE_THREADS, 0,
                           context->cuda->stream>>>(c->dtype, bf_dtype_bytes(c->dtype),
                                                    (const char *)x, n, MOST, found);
        });
    int below = BELOW + bf_bit_length((uint64_t)n / SAMPLE);
    return status == BF_OK ? widen_aggregate(context, c, below, ABOVE, size, room) : status;
}
