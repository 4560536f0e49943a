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

constexpr unsigned long long WRONG_ENDS = 1; /* the board's, if the ends alone are wrong */

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

/* The first offset, or the last one. */
__device__ __forceinline__ void tell_end(const bf_cuda_scan_params &p, int end, int64_t at,
                                         int64_t expected) {
    p.board->ends[end] = at;
    if (at != expected) atomicMax(&p.board->wrong, WRONG_ENDS);
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
            if (s == 0) tell_end(p, 0, at, 0);
            if (s == p.segments) tell_end(p, 1, at, p.length);
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

/* What is wrong with offsets, if anything is. */
struct told_offsets {
    int64_t wrong, ends[2]; /* as the board has them */
    int64_t at, rows;       /* what the wrong one is */
};

bf_status refuse_offsets(bf_context *context, const told_offsets &told) {
    const bf_rows rows = {.count = told.rows, .by = BF_ROWS_BY_OFFSETS};
    if (told.wrong <= (int64_t)WRONG_ENDS)
        return bf_scan_check_ends(context, told.ends[0], told.ends[1], told.rows);
    return bf_axis_wrong_place(context, &rows, INT64_MAX - told.wrong, told.at);
}

bf_status check_offsets(bf_context *context, const bf_cuda_scan_params &p) {
    told_offsets told = {.rows = p.length};
    bf_status status =
        bf_cuda_fetch_words(context, cudaSuccess, &p.board->wrong, 3, &told, "offsets");
    if (status == BF_OK && told.wrong > (int64_t)WRONG_ENDS)
        status = fetch_offset(context, p, INT64_MAX - told.wrong, &told.at);
    return status == BF_OK ? refuse_offsets(context, told) : status;
}

/* --- offsets of a queued call --- */

/* Tells the place of the first offset that is wrong, or -1; or, without a place for that, leaves a
 * failure. */
__global__ void report_offsets(const __grid_constant__ bf_cuda_scan_params p, bf_cuda_late late,
                               int64_t *wrong, bf_cuda_late *to) {
    const bf_cuda_scan_board &board = *p.board;
    told_offsets told = {(int64_t)board.wrong, {board.ends[0], board.ends[1]}, 0, p.length};
    const bool is_one = told.wrong > (int64_t)WRONG_ENDS;
    const int64_t end = told.ends[0] != 0 ? 0 : p.segments;
    const int64_t place = told.wrong == 0 ? -1 : is_one ? INT64_MAX - told.wrong : end;
    if (wrong != NULL) *wrong = place;
    if (wrong != NULL || place < 0) return;
    told.at = bf_cuda_scan_offset(p, place);
    late.status = BF_E_ARGUMENT;
    memcpy(late.what, &told, sizeof told);
    bf_cuda_leave_late(late, to);
}

bf_status tell_offsets(bf_context *context, const bf_cuda_late *late) {
    told_offsets told;
    memcpy(&told, late->what, sizeof told);
    return refuse_offsets(context, told);
}

bf_status enqueue_report(bf_context *context, const bf_cuda_scan_params &p, int64_t *wrong) {
    bf_cuda_late late = {};
    late.tell = tell_offsets;
    return bf_cuda_check(context,
                         bf_cuda_launch(context->cuda, report_offsets, {1, 1}, p, late, wrong,
                                        &context->cuda->mailbox->memory->late),
                         "a report of wrong offsets");
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
    if (status != BF_OK) return status;
    return job->queued ? enqueue_report(call->context, *p, job->wrong)
                       : check_offsets(call->context, *p);
}
