/* Reductions of rows by index: a call. */
#include "cuda/axis/index/index.cuh"

#include "cuda/runtime/mailbox.cuh"
#include "cuda/runtime/pipeline.cuh"
#include "cuda/runtime/workspace.cuh"

extern "C" {
#include "base/where.h"
}

namespace {

enum { ROWS_MOST = 1u << 31 };

/* A call and its memory. */
struct index_call {
    bf_context *context;
    const bf_operands *operands;
    bf_rows rows; /* places where kernels reach them */
    const bf_results *results;
    bf_cuda_index_params params;
    bf_cuda_index_sorted sorted;
    void *copies[3], *gathered[2], *board;
};

bf_status check(const index_call *c, cudaError_t error) {
    return bf_cuda_check(c->context, error, "reducing by index on a GPU");
}

void free_call(index_call *c) {
    bf_cuda_index_sorted_free(c->context, &c->sorted);
    for (void *copy : c->copies) bf_cuda_free(c->context, copy);
    bf_cuda_free(c->context, c->board);
    for (void *rows : c->gathered) bf_cuda_free(c->context, rows);
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

/* --- kernels --- */

bool alloc_scratch(bf_context *context, bf_cuda_index_params *p, bf_cuda_index_sorted *s,
                   bool proves) {
    int64_t giants = p->states.counts == NULL ? bf_cuda_index_giants(&p->order) : 0;
    size_t bits = (size_t)(p->order.slots + bf_cuda_index_pieces(&p->order)) * (size_t)p->lanes;
    size_t marks = proves ? (bits + 31) / 32 * 4 : 0;
    size_t pool = (size_t)(giants * p->width) * (size_t)p->words * sizeof(int64_t);
    size_t words = p->kind != BF_KIND_EXTREME ? bf_cuda_index_words_bytes(context->cuda, *p) : 0;
    p->room = giants;
    p->pool = (int64_t *)(s->pool = bf_cuda_alloc(context, pool));
    p->thread_words = (int64_t *)(s->words = bf_cuda_alloc(context, words));
    s->marks = bf_cuda_alloc(context, marks);
    p->marks = proves ? (unsigned *)s->marks : NULL;
    if (s->pool == NULL || s->words == NULL || s->marks == NULL) return false;
    return cudaMemsetAsync(s->marks, 0, marks, context->cuda->stream) == cudaSuccess;
}

cudaError_t launch_first(const bf_cuda *cuda, const bf_cuda_index_params &p,
                         bf_cuda_index_kernel kernel) {
    const int64_t threads = bf_cuda_index_in_order(&p) ? BF_CUDA_INDEX_PARTS : p.lanes;
    int64_t tasks = (p.order.slots + bf_cuda_index_pieces(&p.order)) * threads;
    bf_cuda_shape shape = {.blocks = bf_cuda_blocks(cuda, tasks, BF_CUDA_INDEX_THREADS, 32),
                           .threads = BF_CUDA_INDEX_THREADS,
                           .overlaps = true};
    return bf_cuda_launch(cuda, kernel, shape, p);
}

/* --- after --- */

bf_status refuse_place(bf_context *context, const bf_rows *rows, int64_t at) {
    int64_t value = 0;
    int bytes = bf_dtype_bytes(rows->places_dtype);
    bf_status status =
        bf_cuda_copy(context, &value, (const char *)rows->places + at * bytes, (size_t)bytes);
    if (status == BF_OK) status = bf_cuda_wait(context, cudaSuccess, "an index");
    if (status != BF_OK) return status;
    if (rows->places_dtype == BF_I32) value = (int32_t)value;
    return bf_axis_wrong_place(context, rows, at, value);
}

/* Enqueues the report of what the board says. */
bf_status report(const index_call *c) {
    const bf_cuda_index_board *board = c->params.board;
    return bf_cuda_axis_report(c->context, c->operands, &c->rows, c->results, &board->wrong,
                               &board->failure);
}

bf_status tell_wrong(const index_call *c) {
    if (c->results->later) return report(c);
    if (c->results->wrong == NULL) return BF_OK;
    return check(c, cudaMemcpyAsync(c->results->wrong, &c->params.board->wrong, sizeof(int64_t),
                                    cudaMemcpyDefault, c->context->cuda->stream));
}

bf_status settle(const index_call *c) {
    return bf_cuda_index_settle(c->context, &c->params, &c->rows, 0, c->results);
}

bf_status sort_and_reduce(index_call *c) {
    bf_cuda_index_params *p = &c->params;
    const bool values =
        bf_cuda_index_sorts_values(c->context->cuda, &c->rows, p->bytes) && p->kind != BF_KIND_DOT;
    bf_status status =
        values ? bf_cuda_index_sort_values(c->context, &c->rows, p->a, p->bytes, p->board,
                                           &c->sorted, &p->order, &p->a)
               : bf_cuda_index_sort(c->context, &c->rows, false, p->board, &c->sorted, &p->order);
    return status == BF_OK ? bf_cuda_index_enqueue(c->context, &c->params, &c->sorted) : status;
}

/* Brings the rows of an operand, if there is one, into the order of slots. */
bf_status gather(index_call *c, int operand, const void *from, const void **gathered) {
    const size_t bytes = (size_t)(c->rows.count * c->rows.width * c->params.bytes);
    if (from == NULL) return BF_OK;
    *gathered = c->gathered[operand] = bf_cuda_alloc(c->context, bytes);
    if (*gathered == NULL) return BF_E_MEMORY;
    return check(c, bf_cuda_index_gather(c->context->cuda, c->params, from, c->gathered[operand]));
}

/* Reduces rows that have been gathered, as segments. */
bf_status reduce_gathered(index_call *c) {
    bf_cuda_index_params *p = &c->params;
    bf_status status =
        bf_cuda_index_sort(c->context, &c->rows, true, p->board, &c->sorted, &p->order);
    if (status == BF_OK && !bf_results_go_on(c->results))
        status = c->results->later ? report(c) : settle(c);
    bf_operands operands = *c->operands;
    bf_rows rows = c->rows;
    rows.by = BF_ROWS_BY_OFFSETS;
    rows.places = p->order.offsets;
    rows.places_dtype = BF_I32;
    if (status == BF_OK) status = gather(c, 0, p->a, &operands.a);
    if (status == BF_OK) status = gather(c, 1, p->b, &operands.b);
    return status == BF_OK ? bf_cuda_reduce_segments(c->context, &operands, &rows, c->results)
                           : status;
}

/* Products of floats depend on their places in the slot, joint kinds have no accumulators here. */
bool is_gathered(bf_kind kind) {
    return kind == BF_KIND_PRODUCT || kind == BF_KIND_PRODUCT_TREE || bf_kind_is_joint(kind);
}

bf_status run_call(index_call *c) {
    bf_status status = reach_inputs(c);
    bf_cuda_index_set_operands(&c->params, c->operands->op, c->operands->dtype);
    bf_cuda_index_set_results(&c->params, c->results);
    c->params.width = c->rows.width;
    if (status != BF_OK) return status;
    c->board = c->params.board = bf_cuda_index_board_make(c->context);
    if (c->board == NULL) return BF_E_MEMORY;
    if (is_gathered(c->operands->kind)) {
        status = reduce_gathered(c); /* reports a wrong index, if the call fails later */
        return status == BF_OK && bf_results_go_on(c->results) ? tell_wrong(c) : status;
    }
    if (bf_cuda_index_scatters(c->context->cuda, c->operands, &c->rows))
        status = bf_cuda_index_scatter(c->context, &c->params, &c->rows);
    else if (bf_cuda_index_finds_extremes(c->context->cuda, c->operands, &c->rows))
        status = bf_cuda_index_find_extremes(c->context, &c->params, &c->rows);
    else
        status = sort_and_reduce(c);
    if (status != BF_OK) return status;
    return c->results->queued ? tell_wrong(c) : settle(c);
}

/* More rows than their numbers have bits for: states take them in chunks. */
bf_status run_in_chunks(index_call *c) {
    const bf_operands *o = c->operands;
    if (bf_states_on_host(o->op) || c->results->queued)
        return bf_fail(c->context, BF_E_MEMORY, "%lld rows: at most 2^31 for this on a GPU",
                       (long long)c->rows.count);
    void *made = NULL;
    bf_status status =
        bf_cuda_states_create(c->context, o->op, o->dtype, c->rows.slots * c->rows.width, &made);
    if (status != BF_OK) return status;
    status = bf_cuda_states_absorb(c->context, made, 0, o->a, o->b, &c->rows);
    if (status == BF_OK) status = bf_cuda_states_result(c->context, made, o->op, c->results);
    bf_cuda_states_destroy(c->context, made);
    return status;
}

} // namespace

void bf_cuda_index_set_operands(bf_cuda_index_params *p, bf_reduction op, bf_dtype dtype) {
    p->op = op;
    p->kind = bf_kind_of(op, dtype);
    p->dtype = dtype;
    p->bytes = bf_dtype_bytes(dtype);
    if (p->kind == BF_KIND_EXTREME)
        p->words = (int)(sizeof(bf_cuda_index_extreme) / sizeof(int64_t));
    else if (bf_kind_is_sum(p->kind))
        p->words = bf_sum_shape_of(p->kind, dtype).words;
}

void bf_cuda_index_set_results(bf_cuda_index_params *p, const bf_results *results) {
    p->options = *results->options;
    if (bf_results_go_on(results)) p->options.overflow = BF_OVERFLOW_WRAP;
    p->to = results->to;
    p->to_bytes = bf_dtype_bytes(p->to);
    p->aligned = (uintptr_t)results->values % (unsigned)p->to_bytes == 0;
    p->values = results->values;
    p->fits = results->fits;
    p->has_empty = results->options->empty != NULL;
    if (p->has_empty) memcpy(&p->empty, &results->options->empty->as, (size_t)p->to_bytes);
}

bf_status bf_cuda_index_settle(bf_context *context, const bf_cuda_index_params *p,
                               const bf_rows *rows, int64_t first, const bf_results *results) {
    int64_t words[2];
    bf_status status =
        bf_cuda_fetch_words(context, cudaSuccess, p->board, 2, words, "reducing by index on a GPU");
    if (status == BF_OK) status = bf_cuda_wait(context, cudaSuccess, "reducing by index");
    if (status != BF_OK) return status;
    if (rows != NULL && words[0] != -1) return refuse_place(context, rows, first + words[0]);
    if (results == NULL || words[1] == -1) return BF_OK;
    uint64_t failure = (uint64_t)words[1];
    return bf_axis_refuse(context, bf_cuda_axis_why(failure), p->op, results->to,
                          results->first + (int64_t)(failure / 4));
}

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
    bool giants = bf_cuda_index_giants(&p->order) > 0 && !adds;
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
    if (error == cudaSuccess && giants && sums) error = bf_cuda_index_merge_copies(cuda, *p);
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
    if (status == BF_OK) status = rows->count > ROWS_MOST ? run_in_chunks(&c) : run_call(&c);
    free_call(&c);
    bf_cuda_restore(mode);
    bf_cuda_leave(previous);
    return status;
}
