/* Many states on a GPU: the accumulators of groups, by number. Rows are brought into the order of
 * their states, and added as in reductions by index (index.cuh). States of joint kinds are groups
 * (joint/states.cuh). Every call waits, so that contexts of one GPU can merge each other's states.
 */
#include "cuda/axis/index/slots.cuh"
#include "cuda/axis/joint/states.cuh"
#include "cuda/runtime/pipeline.cuh"

#include "rules/reduce/state.h"

#include <stdlib.h>

namespace {

enum {
    CHUNK = 1 << 28,       /* rows that are absorbed at a time */
    DEPOSITS = 3,          /* additions of a row to one limb, at most */
    WORDS_BYTES = 1 << 26, /* so many bytes of words are in memory at a time */
    ABOVE = 1 << 10        /* above all limbs */
};

struct states {
    bf_reduction op;
    bf_dtype dtype;
    int64_t count;
    bf_cuda_aggregate aggregate;
    bf_cuda_buffer counts; /* how many elements each has, int64_t */
    bool is_joint;
    bf_cuda_joint_states joint; /* instead of these */
};

bf_status check(bf_context *context, cudaError_t error) {
    return bf_cuda_check(context, error, "states on a GPU");
}

bf_status wait(bf_context *context, bf_status status) {
    return status == BF_OK ? bf_cuda_wait(context, cudaSuccess, "states on a GPU") : status;
}

/* --- making --- */

/* Makes all states empty. */
cudaError_t empty_states(bf_context *context, states *s) {
    bf_cuda_aggregate_empty(&s->aggregate);
    cudaError_t error = bf_cuda_aggregate_extend(context, &s->aggregate, 0, s->count);
    if (error != cudaSuccess || s->count == 0) return error;
    return cudaMemsetAsync(s->counts.memory, 0, (size_t)s->count * 8, context->cuda->stream);
}

bf_status open_states(bf_context *context, states *s) {
    s->is_joint = bf_kind_is_joint(bf_kind_of(s->op, s->dtype));
    s->joint = {s->op, s->dtype, s->count, NULL, NULL};
    if (s->is_joint) return bf_cuda_joint_states_open(context, &s->joint);
    bf_cuda_aggregate_init(&s->aggregate, {s->op, s->dtype});
    bf_status status = bf_cuda_aggregate_reserve(context, &s->aggregate, 0, s->count);
    if (status == BF_OK) status = bf_cuda_buffer_grow(context, &s->counts, (size_t)s->count * 8, 0);
    return status == BF_OK ? check(context, empty_states(context, s)) : status;
}

void close_states(bf_context *context, states *s) {
    bf_cuda_joint_states_close(context, &s->joint);
    bf_cuda_aggregate_destroy(context, &s->aggregate);
    bf_cuda_buffer_free(context, &s->counts);
}

/* Opens others of the same kind. On failure they are closed. */
bf_status open_alike(bf_context *context, const states *s, int64_t count, states *other) {
    *other = states{s->op, s->dtype, count, {}, {}, false, {}};
    bf_status status = open_states(context, other);
    if (status != BF_OK) close_states(context, other);
    return status;
}

/* --- merging --- */

__global__ void __launch_bounds__(BF_CUDA_INDEX_THREADS)
    add_counts(int64_t *into, const int64_t *from, int64_t n) {
    for (const int64_t i : bf_cuda_indices<BF_CUDA_INDEX_THREADS>(n)) into[i] += from[i];
}

/* Merges all states of `from` into those from number `first` on. */
bf_status merge_states(bf_context *context, states *into, int64_t first, const states *from) {
    const int64_t n = from->count;
    if (n == 0) return BF_OK;
    bf_status status = bf_cuda_aggregate_widen(context, &into->aggregate, &from->aggregate,
                                               into->count, into->count);
    if (status != BF_OK) return status;
    add_counts<<<bf_cuda_blocks(context->cuda, n, BF_CUDA_INDEX_THREADS), BF_CUDA_INDEX_THREADS, 0,
                 context->cuda->stream>>>((int64_t *)into->counts.memory + first,
                                          (const int64_t *)from->counts.memory, n);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess)
        error = bf_cuda_aggregate_merge(context, &into->aggregate, &from->aggregate, NULL, first, n,
                                        into->count);
    return check(context, error);
}

/* --- absorbing --- */

/* A chunk of rows, where kernels reach them. */
struct chunk {
    const char *values;
    bf_rows rows;
    int64_t begin;
    uint32_t n;
};

bf_status order_chunk(bf_context *context, const chunk *c, bf_cuda_index_params *p,
                      bf_cuda_index_sorted *sorted) {
    if (c->rows.by != BF_ROWS_BY_INDEX)
        return bf_cuda_index_cut(context, &c->rows, c->begin, c->n, p->board, sorted, &p->order);
    bf_rows rows = c->rows;
    rows.places = (const char *)rows.places + c->begin * bf_dtype_bytes(rows.places_dtype);
    rows.count = c->n;
    return bf_cuda_index_sorts_values(context->cuda, &rows, p->bytes)
               ? bf_cuda_index_sort_values(context, &rows, p->a, p->bytes, p->board, sorted,
                                           &p->order, &p->a)
               : bf_cuda_index_sort(context, &rows, false, p->board, sorted, &p->order);
}

/* Absorbs a chunk. A wrong index, or a failure for memory, comes before anything is added. */
bf_status absorb_chunk(bf_context *context, states *s, int64_t first, const chunk *c) {
    bf_cuda_index_sorted sorted = {};
    bf_cuda_index_params p = {};
    bf_cuda_index_set_operands(&p, s->op, s->dtype);
    p.width = c->rows.width;
    p.a = c->values + c->begin * p.width * p.bytes;
    p.board = bf_cuda_index_board_make(context);
    bf_status status = p.board != NULL ? order_chunk(context, c, &p, &sorted) : BF_E_MEMORY;
    if (status == BF_OK && c->rows.by == BF_ROWS_BY_INDEX)
        status = bf_cuda_index_settle(context, &p, &c->rows, c->begin, NULL);
    if (status == BF_OK)
        status = bf_cuda_aggregate_prepare(context, &s->aggregate, &p.a, c->n * p.width, s->count,
                                           s->count);
    if (status == BF_OK)
        status = check(context, bf_cuda_aggregate_deposit(context, &s->aggregate, s->count,
                                                          (int64_t)DEPOSITS * c->n));
    p.states.aggregate = bf_cuda_aggregate_params_of(&s->aggregate, s->count);
    p.states.counts = (int64_t *)s->counts.memory;
    p.states.first = first;
    if (status == BF_OK) status = bf_cuda_index_enqueue(context, &p, &sorted);
    bf_cuda_index_sorted_free(context, &sorted);
    bf_cuda_free(context, p.board);
    return status;
}

bf_status absorb_chunks(bf_context *context, states *s, int64_t first, chunk *c) {
    bf_status status = BF_OK;
    for (; c->begin < c->rows.count && status == BF_OK; c->begin += c->n) {
        int64_t left = c->rows.count - c->begin;
        c->n = (uint32_t)(left < CHUNK ? left : CHUNK);
        status = absorb_chunk(context, s, first, c);
    }
    return status;
}

/* Absorbs many chunks into states that are then merged: a failure leaves all as they were. */
bf_status absorb_apart(bf_context *context, states *s, int64_t first, chunk *c) {
    states apart;
    bf_status status = open_alike(context, s, c->rows.slots * c->rows.width, &apart);
    if (status != BF_OK) return status;
    status = absorb_chunks(context, &apart, 0, c);
    if (status == BF_OK) status = merge_states(context, s, first, &apart);
    close_states(context, &apart);
    return status;
}

/* An index is checked when it is sorted. */
bf_status check_offsets(bf_context *context, const bf_rows *rows) {
    if (rows->by != BF_ROWS_BY_OFFSETS) return BF_OK;
    bf_cuda_index_params p = {};
    p.board = bf_cuda_index_board_make(context);
    bf_status status = p.board != NULL ? bf_cuda_index_check(context, rows, p.board) : BF_E_MEMORY;
    if (status == BF_OK) status = bf_cuda_index_settle(context, &p, rows, 0, NULL);
    bf_cuda_free(context, p.board);
    return status;
}

bf_status absorb_rows(bf_context *context, states *s, int64_t first, const void *values,
                      const bf_rows *rows) {
    void *copies[2] = {NULL, NULL};
    const void *from = NULL;
    const bool index = rows->by == BF_ROWS_BY_INDEX, placed = rows->by != BF_ROWS_BY_LENGTH;
    chunk c = {NULL, *rows, 0, 0};
    bf_status status = bf_cuda_axis_reach(context, values, rows->count * rows->width,
                                          bf_dtype_bytes(s->dtype), &copies[0], &from);
    if (status == BF_OK && placed)
        status = bf_cuda_axis_reach(context, rows->places, index ? rows->count : rows->slots + 1,
                                    bf_dtype_bytes(rows->places_dtype), &copies[1], &c.rows.places);
    c.values = (const char *)from;
    if (status == BF_OK) status = check_offsets(context, &c.rows);
    if (status == BF_OK)
        status = rows->count > CHUNK ? absorb_apart(context, s, first, &c)
                                     : absorb_chunks(context, s, first, &c);
    for (void *copy : copies) bf_cuda_free(context, copy);
    return wait(context, status);
}

/* --- words and results --- */

/* Returns how many states' words are in memory at a time, of n. */
int64_t batch_of(const states *s, int64_t n) {
    int64_t most = WORDS_BYTES / (8 * (int64_t)bf_state_words(s->aggregate.kind, s->dtype, NULL));
    return n < most ? n : most;
}

size_t words_bytes(const states *s, int64_t n) {
    return (size_t)n * (size_t)bf_state_words(s->aggregate.kind, s->dtype, NULL) * 8;
}

cudaError_t write_words(bf_context *context, const states *s, int64_t first, int64_t n,
                        int64_t *words) {
    return bf_cuda_aggregate_words(context, &s->aggregate, NULL, first,
                                   (const int64_t *)s->counts.memory, n, words);
}

/* Writes the results of states first to first + n - 1, which have these words. */
__global__ void __launch_bounds__(BF_CUDA_INDEX_THREADS)
    finish_states(const __grid_constant__ bf_cuda_index_params p, int64_t *words, int64_t first,
                  int64_t n) {
    const int each = bf_state_words(p.kind, p.dtype, nullptr);
    for (const int64_t i : bf_cuda_indices<BF_CUDA_INDEX_THREADS>(n)) {
        int64_t *x = words + i * each;
        if (p.kind == BF_KIND_EXTREME) {
            bf_cuda_index_extreme found = {x[BF_EXTREME_RANK], 0, x[BF_EXTREME_NAN], 0};
            bf_cuda_index_finish_extreme(p, first + i, x[BF_EXTREME_COUNT], found);
            continue;
        }
        bf_work *work;
        (void)bf_cuda_index_thread_words(p, &work);
        bf_cuda_index_finish(p, first + i, x, work);
    }
}

bf_status finish_all(bf_context *context, const states *s, bf_cuda_index_params *p,
                     int64_t *words) {
    const int64_t batch = batch_of(s, s->count);
    cudaError_t error = cudaSuccess;
    for (int64_t at = 0; at < s->count && error == cudaSuccess; at += batch) {
        const int64_t n = s->count - at < batch ? s->count - at : batch;
        error = write_words(context, s, at, n, words);
        if (error != cudaSuccess) break;
        finish_states<<<(unsigned)bf_cuda_index_word_blocks(context->cuda, *p),
                        BF_CUDA_INDEX_THREADS, 0, context->cuda->stream>>>(*p, words, at, n);
        error = cudaGetLastError();
    }
    return check(context, error);
}

bf_status write_results(bf_context *context, const states *s, bf_reduction op,
                        const bf_results *results) {
    bf_cuda_index_params p = {};
    bf_cuda_index_set_operands(&p, op, s->dtype);
    bf_cuda_index_set_results(&p, results);
    p.board = bf_cuda_index_board_make(context);
    void *words = bf_cuda_alloc(context, words_bytes(s, batch_of(s, s->count)));
    void *work = bf_cuda_alloc(context, bf_cuda_index_words_bytes(context->cuda, p));
    p.thread_words = (int64_t *)work;
    bf_status status = p.board != NULL && words != NULL && work != NULL ? BF_OK : BF_E_MEMORY;
    if (status == BF_OK) status = finish_all(context, s, &p, (int64_t *)words);
    if (status == BF_OK) status = bf_cuda_index_settle(context, &p, NULL, 0, results);
    bf_cuda_free(context, work);
    bf_cuda_free(context, words);
    bf_cuda_free(context, p.board);
    return status;
}

bf_status copy_words(bf_context *context, const states *s, int64_t first, int64_t n,
                     int64_t *words) {
    const int64_t batch = batch_of(s, n);
    void *out = bf_cuda_alloc(context, words_bytes(s, batch));
    bf_status status = out != NULL ? BF_OK : BF_E_MEMORY;
    for (int64_t at = 0; at < n && status == BF_OK; at += batch) {
        const int64_t some = n - at < batch ? n - at : batch;
        status = check(context, write_words(context, s, first + at, some, (int64_t *)out));
        if (status == BF_OK)
            status = bf_cuda_copy(context, (char *)words + words_bytes(s, at), out,
                                  words_bytes(s, some));
        status = wait(context, status);
    }
    bf_cuda_free(context, out);
    return status;
}

/* Sets states, which are empty, from words. */
bf_status insert_words(bf_context *context, states *s, const int64_t *words) {
    const int each = bf_state_words(s->aggregate.kind, s->dtype, NULL);
    int64_t *counts = (int64_t *)malloc((size_t)s->count * sizeof *counts);
    if (counts == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for words");
    for (int64_t i = 0; i < s->count; i++) counts[i] = words[i * each];
    bf_status status = bf_cuda_copy(context, s->counts.memory, counts, (size_t)s->count * 8);
    status = wait(context, status);
    free(counts);
    return status == BF_OK
               ? bf_cuda_aggregate_insert(context, &s->aggregate, words, s->count, s->count)
               : status;
}

bf_status add_words(bf_context *context, states *s, int64_t first, int64_t n,
                    const int64_t *words) {
    states others;
    bf_status status = open_alike(context, s, n, &others);
    if (status != BF_OK) return status;
    status = insert_words(context, &others, words);
    if (status == BF_OK) status = merge_states(context, s, first, &others);
    close_states(context, &others);
    return wait(context, status);
}

/* --- arrays --- */

/* Limbs are carried, and count as added to as often as can be: so sums over ranks may be. */
bf_status widen_states(bf_context *context, states *s, const int64_t *reach) {
    bf_cuda_aggregate *a = &s->aggregate;
    bf_status status = BF_OK;
    if (reach[0] != 0) status = bf_cuda_aggregate_hold_specials(context, a, s->count, s->count);
    for (int i = 0; i < a->bands && status == BF_OK; i++)
        if (reach[2 + 2 * i] > 0)
            status = bf_cuda_band_widen(context, &a->band[i], s->count, s->count,
                                        (int)(ABOVE - reach[1 + 2 * i]), (int)reach[2 + 2 * i]);
    if (status != BF_OK) return status;
    return check(context, bf_cuda_aggregate_deposit(context, a, s->count, BF_CUDA_BAND_DEPOSITS));
}

void add_array(bf_states_arrays *arrays, const bf_cuda_buffer *buffer, int64_t count) {
    if (count == 0) return;
    arrays->data[arrays->n] = (int64_t *)buffer->memory;
    arrays->counts[arrays->n++] = count;
}

} // namespace

/* --- the backend's functions --- */

bf_status bf_cuda_states_create(bf_context *context, bf_reduction op, bf_dtype dtype, int64_t count,
                                void **made) {
    states *s = (states *)calloc(1, sizeof *s);
    if (s == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for states");
    *s = states{op, dtype, count, {}, {}, false, {}};
    int previous = bf_cuda_enter(context);
    bf_status status = bf_cuda_refuse_captured(context);
    if (status == BF_OK) status = wait(context, open_states(context, s));
    if (status == BF_OK)
        bf_cuda_hold_pool(context->cuda);
    else
        close_states(context, s);
    bf_cuda_leave(previous);
    if (status != BF_OK) {
        free(s);
        return status;
    }
    *made = s;
    return BF_OK;
}

void bf_cuda_states_destroy(bf_context *context, void *of) {
    states *s = (states *)of;
    int previous = bf_cuda_enter(context);
    close_states(context, s);
    bf_cuda_release_pool(context->cuda);
    bf_cuda_leave(previous);
    free(s);
}

void bf_cuda_states_clear(bf_context *context, void *of) {
    int previous = bf_cuda_enter(context);
    states *s = (states *)of;
    if (s->is_joint)
        bf_cuda_joint_states_clear(context, &s->joint);
    else
        (void)wait(context, check(context, empty_states(context, s)));
    bf_cuda_leave(previous);
}

/* Does it on the context's GPU, if it is not capturing. */
template <class Do> static bf_status call(bf_context *context, const Do &action) {
    int previous = bf_cuda_enter(context);
    bf_status status = bf_cuda_refuse_captured(context);
    if (status == BF_OK) status = action();
    bf_cuda_leave(previous);
    return status;
}

bf_status bf_cuda_states_absorb(bf_context *context, void *of, int64_t first, const void *a,
                                const void *b, const bf_rows *rows) {
    states *s = (states *)of;
    return call(context, [&] {
        return s->is_joint ? bf_cuda_joint_states_absorb(context, &s->joint, first, a, b, rows)
                           : absorb_rows(context, s, first, a, rows);
    });
}

bf_status bf_cuda_states_merge(bf_context *context, void *into, const void *from) {
    states *s = (states *)into;
    const states *other = (const states *)from;
    return call(context, [&] {
        return s->is_joint ? bf_cuda_joint_states_merge(context, &s->joint, &other->joint)
                           : wait(context, merge_states(context, s, 0, other));
    });
}

bf_status bf_cuda_states_result(bf_context *context, void *of, bf_reduction op,
                                const bf_results *results) {
    const states *s = (const states *)of;
    return call(context, [&] {
        return s->is_joint ? bf_cuda_joint_states_result(context, &s->joint, op, results)
                           : write_results(context, s, op, results);
    });
}

bf_status bf_cuda_states_counts(bf_context *context, void *of, void *counts) {
    const states *s = (const states *)of;
    return call(context, [&] {
        if (s->is_joint) return bf_cuda_joint_states_counts(context, &s->joint, counts);
        return wait(context, bf_cuda_copy(context, counts, s->counts.memory, (size_t)s->count * 8));
    });
}

bf_status bf_cuda_states_words(bf_context *context, void *of, int64_t first, int64_t n,
                               int64_t *words) {
    states *s = (states *)of;
    return call(context, [&] {
        return s->is_joint ? bf_cuda_joint_states_words(context, &s->joint, first, n, words)
                           : copy_words(context, s, first, n, words);
    });
}

bf_status bf_cuda_states_add_words(bf_context *context, void *of, int64_t first, int64_t n,
                                   const int64_t *words) {
    states *s = (states *)of;
    return call(context, [&] {
        return s->is_joint ? bf_cuda_joint_states_add_words(context, &s->joint, first, n, words)
                           : add_words(context, s, first, n, words);
    });
}

/* Limbs are of 32 bits in int64, so they add; the least keys of extremes do not. */
bool bf_cuda_states_reach(const void *of, int64_t reach[BF_STATES_REACH]) {
    const states *s = (const states *)of;
    const bf_cuda_aggregate *a = &s->aggregate;
    if (s->is_joint || a->kind == BF_KIND_EXTREME) return false;
    memset(reach, 0, BF_STATES_REACH * sizeof *reach);
    reach[0] = a->has_specials;
    for (int i = 0; i < a->bands; i++) {
        if (a->band[i].limbs == 0) continue;
        reach[1 + 2 * i] = ABOVE - a->band[i].first;
        reach[2 + 2 * i] = a->band[i].first + a->band[i].limbs;
    }
    return true;
}

bf_status bf_cuda_states_widen(bf_context *context, void *of,
                               const int64_t reach[BF_STATES_REACH]) {
    states *s = (states *)of;
    return call(context, [&] { return wait(context, widen_states(context, s, reach)); });
}

void bf_cuda_states_arrays(const void *of, bf_states_arrays *arrays) {
    const states *s = (const states *)of;
    const bf_cuda_aggregate *a = &s->aggregate;
    arrays->n = 0;
    add_array(arrays, &s->counts, s->count);
    add_array(arrays, &a->specials, a->has_specials ? s->count * BF_CUDA_SPECIALS : 0);
    for (int i = 0; i < a->bands; i++)
        add_array(arrays, &a->band[i].words, s->count * a->band[i].limbs);
}
