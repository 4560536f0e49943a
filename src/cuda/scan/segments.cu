/* Where the segments of lines begin: a bit for each row, of the offsets. */
#include "cuda/runtime/mailbox.cuh"
#include "cuda/runtime/pipeline.cuh"
#include "cuda/runtime/warp.cuh"
#include "cuda/scan/scan.cuh"

extern "C" {
#include "rules/number/dtype.h"
#include "seam/axis.h"
}

namespace {

enum { HEAD_BITS = 32, HEADS_BEYOND = 1 << 13 /* tiles read so many bits beyond the rows */ };

/* Sets the bits of the lanes: neighbours set those of one word together. The word -1 is none. */
__device__ __forceinline__ void set_bits(uint32_t *heads, int64_t word, uint32_t bit) {
    const int lane = threadIdx.x % BF_CUDA_WARP;
#pragma unroll
    for (int d = 1; d < BF_CUDA_WARP; d *= 2) {
        const int64_t other = __shfl_down_sync(~0u, word, d);
        const uint32_t bits = __shfl_down_sync(~0u, bit, d);
        if (lane + d < BF_CUDA_WARP && other == word) bit |= bits;
    }
    const int64_t before = __shfl_up_sync(~0u, word, 1);
    if (word >= 0 && (lane == 0 || before != word)) atomicOr(&heads[word], bit);
}

/* Segments begin at the offsets, or, scanned in reverse, end there. Those that are empty set a bit
 * twice. */
__global__ void __launch_bounds__(BF_CUDA_SCAN_THREADS)
    find_heads(const __grid_constant__ bf_cuda_scan_params p) {
    const int64_t step = (int64_t)gridDim.x * BF_CUDA_SCAN_THREADS;
    for (int64_t first = blockIdx.x * (int64_t)BF_CUDA_SCAN_THREADS; first <= p.segments;
         first += step) {
        const int64_t s = first + threadIdx.x;
        int64_t word = -1;
        uint32_t bit = 0;
        if (s <= p.segments) {
            const int64_t at = bf_cuda_scan_offset(p, s);
            const int64_t before = s > 0 ? bf_cuda_scan_offset(p, s - 1) : 0;
            const int64_t row = p.reverse ? p.length - at : at;
            if (at < before || at < 0 || at > p.length)
                atomicMax(&p.board->wrong, (unsigned long long)(INT64_MAX - s));
            if (s == 0) p.board->ends[0] = at;
            if (s == p.segments) p.board->ends[1] = at;
            if (row >= 0 && row < p.length) {
                word = row / HEAD_BITS;
                bit = 1u << row % HEAD_BITS;
            }
        }
        set_bits(p.heads, word, bit);
    }
}

bf_status fetch_offset(bf_context *context, const bf_cuda_scan_params &p, int64_t s, int64_t *at) {
    const size_t bytes = (size_t)p.offset_bytes;
    int32_t narrow = 0;
    void *to = bytes == sizeof *at ? (void *)at : &narrow;
    bf_status status =
        bf_cuda_copy(context, to, (const char *)p.offsets + (size_t)s * bytes, bytes);
    if (bytes != sizeof *at) *at = narrow;
    return status;
}

/* Each row belongs to a segment. */
bf_status check_offsets(bf_context *context, const bf_cuda_scan_params &p) {
    const bf_rows rows = {.count = p.length, .by = BF_ROWS_BY_OFFSETS};
    int64_t told[3], at = 0; /* what is wrong, and the ends */
    bf_status status =
        bf_cuda_fetch_words(context, cudaSuccess, &p.board->wrong, 3, told, "offsets");
    if (status != BF_OK) return status;
    if (told[0] == 0) return bf_scan_check_ends(context, told[1], told[2], p.length);
    const int64_t wrong = INT64_MAX - told[0];
    status = fetch_offset(context, p, wrong, &at);
    return status == BF_OK ? bf_axis_wrong_place(context, &rows, wrong, at) : status;
}

} // namespace

bf_status bf_cuda_scan_cut(bf_cuda_call *call, const bf_scan_job *job, bf_cuda_scan_params *p) {
    const bf_cuda *cuda = call->context->cuda;
    const size_t bytes = (size_t)(p->length + HEADS_BEYOND) / HEAD_BITS * sizeof *p->heads;
    p->offset_bytes = bf_dtype_bytes(job->offsets_dtype);
    bf_status status =
        bf_cuda_call_read(call, job->offsets, (size_t)(p->segments + 1) * (size_t)p->offset_bytes,
                          p->offset_bytes, &p->offsets);
    if (status != BF_OK) return status;
    p->heads = (uint32_t *)bf_cuda_call_alloc(call, bytes);
    if (p->heads == NULL) return BF_E_MEMORY;
    cudaError_t error = cudaMemsetAsync(p->heads, 0, bytes, cuda->stream);
    const bf_cuda_shape shape = {bf_cuda_blocks(cuda, p->segments + 1, BF_CUDA_SCAN_THREADS),
                                 BF_CUDA_SCAN_THREADS};
    if (error == cudaSuccess) error = bf_cuda_launch(cuda, find_heads, shape, *p);
    status = bf_cuda_check(call->context, error, "the offsets of a scan");
    return status == BF_OK ? check_offsets(call->context, *p) : status;
}
