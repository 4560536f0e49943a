/* Reductions of rows by index: a call. */
#include "cuda/axis/index.cuh"

#include "cuda/runtime/mailbox.cuh"
#include "cuda/runtime/pipeline.cuh"
#include "cuda/runtime/workspace.cuh"

extern "C" {
#include "seam/where.h"
}

namespace {

enum { THREADS = BF_CUDA_INDEX_THREADS };

/* A call and its memory. */
struct index_call {
    bf_context *context;
    const bf_operands *operands;
    bf_rows rows; /* places where kernels reach them */
    const bf_results *results;
    bf_cuda_index_params params;
    bf_cuda_index_sorted sorted;
    void *copies[3], *board;
};

bf_status check(const index_call *c, cudaError_t error) {
    return bf_cuda_check(c->context, error, "reducing by index on a GPU");
}

void free_call(index_call *c) {
    bf_cuda_index_sorted_free(c->context, &c->sorted);
    for (void *copy : c->copies) bf_cuda_free(c->context, copy);
    bf_cuda_free(c->context, c->board);
}

/* --- before --- */

bf_status reach_inputs(index_call *c) {
    int64_t n = c->rows.count * c->rows.width;
    int bytes = bf_dtype_bytes(c->operands->dtype);
    bf_status status =
        bf_cuda_axis_reach(c->context, c->operands->a, n, bytes, &c->copies[0], &c->params.a);
    if (status == BF_OK)
        status =
            bf_cuda_axis_reach(c->context, c->operands->b, n, bytes, &c->copies[1], &c->params.b);
    if (status == BF_OK)
        status = bf_cuda_axis_reach(c->context, c->rows.places, c->rows.count,
                                    bf_dtype_bytes(c->rows.places_dtype), &c->copies[2],
                                    &c->rows.places);
    return status;
}

void set_params(index_call *c) {
    const bf_results *results = c->results;
    bf_cuda_index_params *p = &c->params;
    p->op = c->operands->op;
    p->kind = c->operands->kind;
    p->dtype = c->operands->dtype;
    p->bytes = bf_dtype_bytes(p->dtype);
    p->width = c->rows.width;
    p->options = *results->options;
    if (results->queued) p->options.overflow = BF_OVERFLOW_WRAP;
    p->to = results->to;
    p->to_bytes = bf_dtype_bytes(p->to);
    p->aligned = (uintptr_t)results->values % (unsigned)p->to_bytes == 0;
    p->values = results->values;
    p->fits = results->fits;
    p->has_empty = results->options->empty != NULL;
    if (p->has_empty) memcpy(&p->empty, &results->options->empty->as, (size_t)p->to_bytes);
    p->words = p->kind == BF_KIND_EXTREME ? (int)(sizeof(bf_cuda_index_extreme) / sizeof(int64_t))
                                          : bf_sum_shape_of(p->kind, p->dtype).words;
}

/* --- kernels --- */

bool alloc_scratch(bf_context *context, bf_cuda_index_params *p, bf_cuda_index_sorted *s,
                   bool proves) {
    int64_t n = p->order.n, giants = p->states.counts == NULL ? bf_cuda_index_giants(n) : 0;
    size_t bits = (size_t)(p->order.slots + bf_cuda_index_pieces(n)) * (size_t)p->lanes;
    size_t marks = proves ? (bits + 31) / 32 * 4 : 0;
    size_t pool = (size_t)(giants * p->width) * (size_t)p->words * sizeof(int64_t);
    size_t words =
        p->kind != BF_KIND_EXTREME ? bf_cuda_index_words_bytes(context->cuda, p->words) : 0;
    p->pool = (int64_t *)(s->pool = bf_cuda_alloc(context, pool));
    p->thread_words = (int64_t *)(s->words = bf_cuda_alloc(context, words));
    s->marks = bf_cuda_alloc(context, marks);
    p->marks = proves ? (unsigned *)s->marks : NULL;
    if (s->pool == NULL || s->words == NULL || s->marks == NULL) return false;
    return cudaMemsetAsync(s->marks, 0, marks, context->cuda->stream) == cudaSuccess;
}

/* The first kernel: threads that use no words may be many. */
cudaError_t launch_first(const bf_cuda *cuda, const bf_cuda_index_params &p,
                         bf_cuda_index_kernel kernel) {
    int64_t tasks = (p.order.slots + bf_cuda_index_pieces(p.order.n)) * p.lanes;
    int64_t blocks = (tasks + THREADS - 1) / THREADS, most = bf_cuda_index_word_blocks(cuda);
    if (bf_cuda_index_is_direct(p)) most = (int64_t)cuda->multiprocessors * 32;
    kernel<<<(unsigned)(blocks < most ? blocks : most), THREADS, 0, cuda->stream>>>(p);
    return cudaGetLastError();
}

/* --- after --- */

bf_status refuse(const index_call *c, unsigned long long failure) {
    static const bf_status why[] = {BF_E_NAN, BF_E_EMPTY, BF_E_OVERFLOW};
    return bf_axis_refuse(c->context, why[failure % 4], c->operands->op, c->results->to,
                          (int64_t)(failure / 4));
}

bf_status refuse_place(index_call *c, int64_t at) {
    int64_t value = 0;
    int bytes = bf_dtype_bytes(c->rows.places_dtype);
    bf_status status =
        bf_cuda_copy(c->context, &value, (const char *)c->rows.places + at * bytes, (size_t)bytes);
    if (status == BF_OK) status = bf_cuda_wait(c->context, cudaSuccess, "an index");
    if (status != BF_OK) return status;
    if (c->rows.places_dtype == BF_I32) value = (int32_t)value;
    return bf_axis_wrong_place(c->context, &c->rows, at, value);
}

/* Waits, and returns what the data come to. */
bf_status settle(index_call *c) {
    int64_t words[2];
    bf_status status = bf_cuda_fetch_words(c->context, cudaSuccess, c->board, 2, words,
                                           "reducing by index on a GPU");
    if (status == BF_OK) status = bf_cuda_wait(c->context, cudaSuccess, "reducing by index");
    if (status != BF_OK) return status;
    if (words[0] != -1) return refuse_place(c, words[0]);
    return words[1] == -1 ? BF_OK : refuse(c, (unsigned long long)words[1]);
}

bf_status tell_wrong(const index_call *c) {
    return check(c, cudaMemcpyAsync(c->results->wrong, &c->params.board->wrong, sizeof(int64_t),
                                    cudaMemcpyDefault, c->context->cuda->stream));
}

bf_status sort_and_reduce(index_call *c) {
    bf_status status =
        bf_cuda_index_sort(c->context, &c->rows, c->params.board, &c->sorted, &c->params.order);
    return status == BF_OK ? bf_cuda_index_enqueue(c->context, &c->params, &c->sorted) : status;
}

bf_status run_call(index_call *c) {
    if (c->rows.count > UINT32_MAX - BF_CUDA_INDEX_GIANT)
        return bf_fail(c->context, BF_E_MEMORY, "more than 2^32 rows by index on a GPU");
    bf_status status = reach_inputs(c);
    set_params(c);
    if (status != BF_OK) return status;
    c->board = c->params.board = bf_cuda_index_board_make(c->context);
    if (c->board == NULL) return BF_E_MEMORY;
    status = bf_cuda_index_scatters(c->operands, &c->rows)
                 ? bf_cuda_index_scatter(c->context, &c->params, &c->rows)
                 : sort_and_reduce(c);
    if (status != BF_OK) return status;
    return c->results->queued ? tell_wrong(c) : settle(c);
}

} // namespace

bf_cuda_index_board *bf_cuda_index_board_make(bf_context *context) {
    cudaStream_t stream = context->cuda->stream;
    bf_cuda_index_board *board = (bf_cuda_index_board *)bf_cuda_alloc(context, sizeof *board);
    if (board == NULL) return NULL;
    cudaError_t error = cudaMemsetAsync(board, 0, sizeof *board, stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(board, 0xff, offsetof(bf_cuda_index_board, giants), stream);
    if (error == cudaSuccess) return board;
    bf_cuda_fail(context, error, "reducing by index on a GPU");
    bf_cuda_free(context, board);
    return NULL;
}

bf_status bf_cuda_index_enqueue(bf_context *context, bf_cuda_index_params *p,
                                bf_cuda_index_sorted *sorted) {
    int columns = 1;
    const bf_cuda *cuda = context->cuda;
    bool adds = p->states.counts != NULL, sums = p->kind != BF_KIND_EXTREME;
    bool giants = bf_cuda_index_giants(p->order.n) > 0 && !adds;
    bf_cuda_index_kernel first = bf_dtype_is_float(p->dtype) && sums
                                     ? bf_cuda_index_floats(*p, &columns)
                                     : bf_cuda_index_others(*p, &columns);
    p->lanes = p->width / columns;
    if (!alloc_scratch(context, p, sorted, first != NULL)) return BF_E_MEMORY;
    cudaError_t error = cudaSuccess;
    if (giants) error = bf_cuda_index_clear_giants(cuda, *p);
    if (error == cudaSuccess && first != NULL) error = launch_first(cuda, *p, first);
    if (error == cudaSuccess && sums) error = bf_cuda_index_reduce_marked(cuda, *p);
    if (error == cudaSuccess && giants && bf_is_indexed(p->op)) {
        p->phase = 1;
        error = launch_first(cuda, *p, first);
    }
    if (error == cudaSuccess && giants) error = bf_cuda_index_finish_giants(cuda, *p);
    return bf_cuda_check(context, error, "reducing rows on a GPU");
}

bf_status bf_cuda_axis_reach(bf_context *context, const void *from, int64_t n, int bytes,
                             void **copy, const void **at) {
    *at = from;
    if (from == NULL || n == 0 || bf_cuda_in_place(context, from, bytes)) return BF_OK;
    size_t all = (size_t)n * (size_t)bytes;
    *copy = bf_cuda_alloc(context, all);
    if (*copy == NULL) return BF_E_MEMORY;
    *at = *copy;
    if (bf_where_is(from, NULL) == BF_WHERE_HOST) return bf_cuda_copy(context, *copy, from, all);
    return bf_cuda_check(
        context, cudaMemcpyAsync(*copy, from, all, cudaMemcpyDefault, context->cuda->stream),
        "copying rows");
}

bf_status bf_cuda_reduce_index(bf_context *context, const bf_operands *operands,
                               const bf_rows *rows, const bf_results *results) {
    index_call c = {};
    c.context = context;
    c.operands = operands;
    c.rows = *rows;
    c.results = results;
    int previous = bf_cuda_enter(context);
    cudaStreamCaptureMode mode = bf_cuda_relax();
    bf_status status = results->queued ? BF_OK : bf_cuda_refuse_captured(context);
    if (status == BF_OK) status = run_call(&c);
    free_call(&c);
    bf_cuda_restore(mode);
    bf_cuda_leave(previous);
    return status;
}
