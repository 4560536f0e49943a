/* Scans: a call. */
#include "cuda/scan/scan.cuh"

#include "cuda/runtime/mailbox.cuh"
#include "cuda/runtime/memory.cuh"
#include "cuda/scan/rolling.cuh"

extern "C" {
#include "rules/number/dtype.h"
}

namespace {

enum {
    SHORT = 512,       /* lines no longer are a warp's, or a thread's */
    COLUMNS = 1 << 14, /* so many keep all threads busy, a thread a line */
    /* Tiles that a GPU's blocks hold at a time have come and gone when one is scanned, and the
     * cache still has its elements: an H200 took 1.1 to 1.3 times as long at 192, and with i64
     * 1.1 times at 768. */
    LAG = 576
};

bf_cuda_scan_params params_of(const bf_scan_job *job) {
    bf_cuda_scan_params p = {};
    const bf_value *empty = job->prefix.options.empty;
    p.prefix = job->prefix;
    p.exclusive = job->exclusive;
    p.reverse = job->reverse;
    p.outer = job->outer;
    p.length = job->length;
    p.inner = job->inner;
    p.bytes = bf_dtype_bytes(job->prefix.dtype);
    p.to_bytes = bf_dtype_bytes(job->prefix.to);
    p.has_empty = empty != NULL;
    if (empty != NULL) p.empty = bf_load_bits(&empty->as, p.to_bytes);
    p.prefix.options.empty = NULL; /* kernels cannot reach it */
    return p;
}

bf_cuda_scan_kernels find_kernels(const bf_cuda_scan_params &p) {
    if (p.prefix.kind == BF_KIND_EXTREME) return bf_cuda_scan_extremes(p);
    return bf_prefix_sums_floats(&p.prefix) ? bf_cuda_scan_floats(p) : bf_cuda_scan_integers(p);
}

/* --- memory --- */

/* Elements that a sum of floats is written over are copied: some lines may be scanned twice. */
bf_status reach_arrays(bf_cuda_call *call, const bf_scan_job *job, bf_cuda_scan_params *p) {
    const int64_t n = p->outer * p->length * p->inner;
    const size_t bytes = (size_t)(n * p->bytes), to_bytes = (size_t)(n * p->to_bytes);
    bf_status status = bf_cuda_call_read(call, job->elements, bytes, p->bytes, &p->elements);
    if (status == BF_OK)
        status = bf_cuda_call_write(call, job->values, to_bytes, p->to_bytes, &p->values);
    if (status != BF_OK || p->elements != p->values || !bf_prefix_sums_floats(&p->prefix))
        return status;
    void *copy = bf_cuda_call_alloc(call, bytes);
    if (copy == NULL) return BF_E_MEMORY;
    p->elements = copy;
    return bf_cuda_check(call->context,
                         cudaMemcpyAsync(copy, p->values, bytes, cudaMemcpyDeviceToDevice,
                                         call->context->cuda->stream),
                         "copying what is scanned");
}

/* The board, and the list of marked lines. */
bf_status make_board(bf_cuda_call *call, bf_cuda_scan_params *p) {
    const int64_t lines = p->outer * p->inner;
    const int64_t listed = lines < BF_CUDA_SCAN_MARKS ? lines : BF_CUDA_SCAN_MARKS;
    p->board = (bf_cuda_scan_board *)bf_cuda_call_alloc(call, sizeof *p->board);
    p->marked = (int64_t *)bf_cuda_call_alloc(call, (size_t)listed * sizeof *p->marked);
    if (p->board == NULL || p->marked == NULL) return BF_E_MEMORY;
    return bf_cuda_check(
        call->context, cudaMemsetAsync(p->board, 0, sizeof *p->board, call->context->cuda->stream),
        "a scan");
}

bf_status make_tiles(bf_cuda_call *call, const bf_cuda_scan_kernels &k, bf_cuda_scan_params *p) {
    p->line_tiles = (p->length + k.tile - 1) / k.tile;
    p->tiles = p->line_tiles * p->outer * p->inner;
    p->lag = p->tiles < LAG ? p->tiles : LAG;
    const int64_t packets = p->tiles * k.packets, lines = p->outer * p->inner;
    const size_t bytes =
        2 * (size_t)packets * sizeof *p->totals + (size_t)lines * sizeof *p->unsure;
    p->totals = (bf_cuda_packet *)bf_cuda_call_alloc(call, bytes);
    if (p->totals == NULL) return BF_E_MEMORY;
    p->befores = p->totals + packets;
    p->unsure = (unsigned *)(p->befores + packets);
    return bf_cuda_check(
        call->context, cudaMemsetAsync(p->totals, 0, bytes, call->context->cuda->stream), "a scan");
}

/* --- kernels --- */

bf_status launch(bf_cuda_call *call, bf_cuda_scan_params *p) {
    const bf_cuda *cuda = call->context->cuda;
    const bf_cuda_scan_kernels k = find_kernels(*p);
    const int64_t lines = p->outer * p->inner;
    const void *kernel = p->inner > 1 ? k.columns : k.warps;
    bf_cuda_shape shape = {0, BF_CUDA_SCAN_THREADS};
    void *arguments[] = {p};
    if (p->length > SHORT && (p->inner == 1 || lines < COLUMNS)) {
        bf_status status = make_tiles(call, k, p);
        if (status != BF_OK) return status;
        kernel = k.tiles;
        shape.blocks = p->line_tiles > 1 ? 1 + 2 * (p->tiles + p->lag) : p->tiles;
    } else {
        const int64_t threads = p->inner > 1 ? lines : lines * 32;
        shape.blocks = bf_cuda_blocks(cuda, threads, BF_CUDA_SCAN_THREADS, 64);
    }
    return bf_cuda_check(call->context, bf_cuda_launch(cuda, kernel, shape, arguments), "a scan");
}

/* Waits, scans what is marked, and returns the failure of the results. */
bf_status settle(bf_cuda_call *call, const bf_cuda_scan_params &p) {
    bf_cuda_scan_board board;
    bf_status status = bf_cuda_fetch_words(call->context, cudaSuccess, p.board,
                                           sizeof board / sizeof(int64_t), &board, "a scan");
    if (status != BF_OK) return status;
    if (board.failed)
        return bf_scan_refuse(call->context,
                              p.prefix.kind == BF_KIND_EXTREME ? BF_E_EMPTY : BF_E_OVERFLOW,
                              &p.prefix);
    if (board.marked == 0) return BF_OK;
    const bool all = board.marked > BF_CUDA_SCAN_MARKS;
    return bf_cuda_scan_exactly(call, p, all ? NULL : p.marked,
                                all ? p.outer * p.inner : (int64_t)board.marked);
}

bf_status run(bf_context *context, const bf_scan_job *job) {
    bf_cuda_call call;
    bf_cuda_scan_params p = params_of(job);
    bf_status status = bf_cuda_call_begin(&call, context);
    if (status == BF_OK) status = reach_arrays(&call, job, &p);
    if (status == BF_OK) status = make_board(&call, &p);
    if (status == BF_OK) status = launch(&call, &p);
    if (status == BF_OK) status = settle(&call, p);
    return bf_cuda_call_end(&call, status);
}

} // namespace

extern const bf_scan_backend bf_cuda_scan_backend = {.run = run, .roll = bf_cuda_roll};
