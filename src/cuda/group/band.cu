/* What values need of a column: limbs for their exponents, and memory for what is counted apart. A
 * pass over the values finds out, or a look at some of them guesses it. */
#include "cuda/group/value.cuh"

namespace {

enum {
    THREADS = BF_CUDA_GROUP_THREADS,
    WARP = 32,
    MOST = 1 << 12,         /* beyond all positions of elements */
    SAMPLE = 1 << 17,       /* values */
    SAMPLED_LEAST = 1 << 22 /* rows of which a sample is worth it */
};

/* What values were met. */
enum { MET_NAN = 1, MET_INF = 2, MET_NEG_ZERO = 4 };

/* The positions of the magnitudes of finite values other than 0: the least, and the greatest behind
 * the last bit. */
struct span {
    int least, end;
    unsigned met;
};

__device__ __forceinline__ void look(bf_dtype dtype, uint64_t bits, span *s) {
    if (!bf_dtype_is_float(dtype)) {
        s->least = 0;
        s->end = max(s->end, bf_bit_length(bf_decode_integer(dtype, bits).magnitude));
        return;
    }
    bf_format f = bf_format_of(dtype);
    uint64_t magnitude = bits & ~bf_format_sign(f);
    if (magnitude >= bf_format_inf(f)) {
        s->met |= magnitude == bf_format_inf(f) ? MET_INF : MET_NAN;
    } else if (magnitude == 0) {
        s->met |= bits != 0 ? MET_NEG_ZERO : 0;
    } else {
        int position = bf_decode(f, bits).position;
        s->least = min(s->least, position);
        s->end = max(s->end, position + f.fraction + 1);
    }
}

/* found: least, end, met; the least is negated, so that all begin as 0 and grow. */
__device__ __forceinline__ void put_span(span s, int most, unsigned long long *found) {
    for (int d = WARP / 2; d > 0; d /= 2) {
        s.least = min(s.least, __shfl_xor_sync(0xffffffffu, s.least, d));
        s.end = max(s.end, __shfl_xor_sync(0xffffffffu, s.end, d));
        s.met |= __shfl_xor_sync(0xffffffffu, s.met, d);
    }
    if (threadIdx.x % WARP != 0) return;
    if (s.end > 0) atomicMax(found, (unsigned long long)(most - s.least));
    if (s.end > 0) atomicMax(found + 1, (unsigned long long)s.end);
    if (s.met != 0) atomicOr(found + 2, (unsigned long long)s.met);
}

__global__ void __launch_bounds__(THREADS)
    find_span(bf_dtype dtype, int bytes, const char *values, int64_t n, int most,
              unsigned long long *found) {
    span s = {most, 0, 0};
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * THREADS)
        look(dtype, bf_cuda_load(values + i * bytes, bytes), &s);
    put_span(s, most, found);
}

/* The same of f32 (E: uint32_t) and f64: the least and the greatest magnitudes say it all, unless
 * some are not finite or negative zeros. */
template <class E> __device__ __forceinline__ void look_again(const E *values, int64_t n, span *s) {
    const bf_dtype dtype = sizeof(E) == 4 ? BF_F32 : BF_F64;
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * THREADS)
        look(dtype, values[i], s);
}

template <class E>
__global__ void __launch_bounds__(THREADS)
    find_float_span(const E *values, int64_t n, int most, unsigned long long *found) {
    enum { AHEAD = 32 / sizeof(E) };
    const bf_dtype dtype = sizeof(E) == 4 ? BF_F32 : BF_F64;
    const E sign = (E)1 << (8 * sizeof(E) - 1), inf = (E)bf_format_inf(bf_format_of(dtype));
    E least = ~(E)0, most_bits = 0; /* of magnitudes - 1: zeros are the greatest; of all */
    bool odd = false;
    span s = {most, 0, 0};
    const int64_t stride = (int64_t)gridDim.x * THREADS;
    int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
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
    for (; i < n; i += stride) look(dtype, values[i], &s);
    if (odd || most_bits >= inf) {
        look_again(values, n, &s);
    } else if (most_bits > 0) {
        look(dtype, least + 1, &s);
        look(dtype, most_bits, &s);
    }
    put_span(s, most, found);
}

/* The same of a few floats, far apart. */
__global__ void __launch_bounds__(THREADS)
    sample_span(bf_dtype dtype, int bytes, const char *values, int64_t n, int most,
                unsigned long long *found) {
    span s = {most, 0, 0};
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < SAMPLE;
         i += (int64_t)gridDim.x * THREADS)
        look(dtype, bf_cuda_load(values + n * i / SAMPLE * bytes, bytes), &s);
    put_span(s, most, found);
}

} // namespace

/* Limbs for magnitudes at positions [least, end). factors: 1, or 2 for squares. */
static bf_status widen_for(bf_context *context, bf_cuda_band *band, bf_dtype dtype, int factors,
                           int least, int end, int64_t size, int64_t room) {
    int offset = 0;
    band->from = band->to = band->first;
    if (band->layout.limbs == 0 || end == 0) return BF_OK;
    if (bf_dtype_is_float(dtype))
        offset = bf_exact_position(bf_format_of(dtype), band->layout, 0, factors);
    int last = (factors * end + offset - 1) / 32 + 2; /* carries have the last */
    if (last > band->layout.limbs) last = band->layout.limbs;
    band->from = (factors * least + offset) / 32;
    band->to = last;
    return bf_cuda_band_widen(context, band, size, room, band->from, band->to);
}

static void launch_span(bf_context *context, bf_dtype dtype, const void *values, int64_t n,
                        int most, unsigned long long *found) {
    unsigned blocks = bf_cuda_group_blocks(context, n, THREADS);
    cudaStream_t stream = context->cuda->stream;
    if (dtype == BF_F32)
        find_float_span<<<blocks, THREADS, 0, stream>>>((const uint32_t *)values, n, most, found);
    else if (dtype == BF_F64)
        find_float_span<<<blocks, THREADS, 0, stream>>>((const uint64_t *)values, n, most, found);
    else
        find_span<<<blocks, THREADS, 0, stream>>>(dtype, bf_dtype_bytes(dtype),
                                                  (const char *)values, n, most, found);
}

/* Of what was found, with magnitudes that are so much less and greater. */
static bf_status give_column(bf_context *context, bf_cuda_groups *g, bf_cuda_column *c, int below,
                             int above, int64_t size, int64_t room) {
    bf_status status = bf_cuda_group_fetch_notes(context, g);
    if (status != BF_OK) return status;
    int least = max(MOST - (int)g->noted[0] - below, 0);
    int end = (int)g->noted[1], met = (int)g->noted[2];
    if (end > 0) end += above;
    if (c->kind == BF_KIND_EXTREME) met &= MET_NAN;
    if (met != 0) status = bf_cuda_column_count_apart(context, c, size, room);
    if (status == BF_OK) status = widen_for(context, &c->sum, c->dtype, 1, least, end, size, room);
    if (status == BF_OK)
        status = widen_for(context, &c->products, c->dtype, 2, least, end, size, room);
    return status;
}

bf_status bf_cuda_column_prepare(bf_context *context, bf_cuda_groups *g, bf_cuda_column *c,
                                 const void *values, int64_t n, int64_t size, int64_t room) {
    cudaError_t error = bf_cuda_clear_notes(context);
    if (error == cudaSuccess)
        launch_span(context, c->dtype, values, n, MOST, bf_cuda_notes(context));
    if (error == cudaSuccess) error = cudaGetLastError();
    bf_status status = bf_cuda_group_check(context, error);
    return status == BF_OK ? give_column(context, g, c, 0, 0, size, room) : status;
}

/* The least of many values is less than that of a few, by about as many bits as there are times as
 * many: and by another ten once in a thousand times. */
bf_status bf_cuda_column_guess(bf_context *context, bf_cuda_groups *g, bf_cuda_column *c,
                               const void *values, int64_t n, int64_t size, int64_t room) {
    enum { ABOVE = 4, BELOW = 10 };
    if (n < SAMPLED_LEAST || !bf_dtype_is_float(c->dtype) || c->kind == BF_KIND_EXTREME)
        return bf_cuda_column_prepare(context, g, c, values, n, size, room);
    cudaError_t error = bf_cuda_clear_notes(context);
    if (error != cudaSuccess) return bf_cuda_group_check(context, error);
    sample_span<<<SAMPLE / THREADS, THREADS, 0, context->cuda->stream>>>(
        c->dtype, bf_dtype_bytes(c->dtype), (const char *)values, n, MOST, bf_cuda_notes(context));
    bf_status status = bf_cuda_group_check(context, cudaGetLastError());
    int below = BELOW + bf_bit_length((uint64_t)n / SAMPLE);
    return status == BF_OK ? give_column(context, g, c, below, ABOVE, size, room) : status;
}
