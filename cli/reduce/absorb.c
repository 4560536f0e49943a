#include "reduce/absorb.h"

#include "reduce/reduce.h"
#include "reduce/texts.h"
#include "reduce/together.h"
#include "runtime/info.h"
#include "runtime/ranks.h"
#include "runtime/report.h"

#include <stdlib.h>
#include <string.h>

/* The library gives a thread at least so many bytes. */
#define THREAD_BYTES ((int64_t)1024 * 1024)

/* If there are so many columns, a chunk has but few rows, and to reach a state takes longer than to
 * absorb a number: some rows are gathered, in so many bytes for each number, if there is memory. */
enum { WIDE_COLUMNS = 1000, WIDE_BYTES = 2 * 2 * 8 };
enum { WIDE_NUMBERS = 1 << 19, WIDE_ROWS_LEAST = 32, WIDE_ROWS_MOST = 128 };

/* ---- one input ------------------------------------------------------------------------------- */

/* The dtype of a column of text is known only at its end. So there is a state for every candidate
 * that its numbers have left; the most exact one is the answer. A column that is absorbed by two
 * reductions is two subjects. */
typedef struct absorbing {
    task *task;
    rows *rows;
    int candidates, subjects;
    bf_state **states; /* [subject][candidate]; NULL: the candidate is ruled out */
    bf_reduction op;
    int64_t most; /* rows that are taken at a time; 0: those at hand */
} absorbing;

/* What a column or a state costs beside its words: its names, values and places in lists. */
enum { COLUMN_BYTES = 768, STATE_BYTES = 128 };

static int column_of(const absorbing *x, int subject) { return subject % x->rows->columns; }

static bf_reduction op_of(const absorbing *x, int subject) {
    return subject < x->rows->columns ? x->op : BF_KURTOSIS;
}

static int refuse_memory(const absorbing *x) {
    fail(EXIT_USAGE, x->rows->source.name,
         "--memory is too small: there is no room for the states of %d columns", x->rows->columns);
    hint("states and values take at most three quarters of --memory; --column takes some columns");
    return EXIT_USAGE;
}

/* The candidates of a column that have states: of a settled one, its dtype. */
static unsigned candidates_of(const absorbing *x, int k) {
    const unsigned can = rows_can(x->rows, k);
    return x->rows->options.settled ? can & -can : can;
}

/* Rows to gather in so many bytes; 0: none. */
static int64_t rows_to_gather(int64_t columns, int64_t room) {
    const int64_t fit = room / (WIDE_BYTES * columns);
    int64_t n = WIDE_NUMBERS / columns;
    n = n < WIDE_ROWS_LEAST ? WIDE_ROWS_LEAST : n > WIDE_ROWS_MOST ? WIDE_ROWS_MOST : n;
    n = fit < n ? fit : n;
    return columns >= WIDE_COLUMNS && n >= WIDE_ROWS_LEAST ? n : 0;
}

/* A column that is one of strings has texts in place of states. */
static bf_status open_strings(const absorbing *x, int k) {
    if (!x->task->texts || rows_dtype(x->rows, k) != BF_NONE) return BF_OK;
    x->task->texts[k] = texts_open(x->task->context);
    return x->task->texts[k] ? BF_OK : BF_E_MEMORY;
}

static int open_states(absorbing *x, int64_t start) {
    const memory_plan *plan = &x->task->options->memory;
    const int64_t columns = x->rows->columns, room = plan->library + plan->results;
    int64_t bytes = COLUMN_BYTES * columns;
    bf_status st = BF_OK;
    for (int k = 0; k < x->subjects * x->candidates && st == BF_OK; k++) {
        const int i = k % x->candidates, s = k / x->candidates;
        const bf_reduction op = op_of(x, s);
        if (!(candidates_of(x, column_of(x, s)) & 1u << i)) continue;
        st = bf_state_create(x->task->context, op, rows_candidate(x->rows, i), &x->states[k]);
        if (st == BF_OK && reduce_is_ordered(op)) st = bf_state_seek(x->states[k], start);
        if (st == BF_OK) bytes += STATE_BYTES + (int64_t)bf_state_save_size(x->states[k]);
        if (plan->limit > 0 && bytes > room) return refuse_memory(x);
    }
    for (int k = 0; k < x->rows->columns && st == BF_OK; k++) st = open_strings(x, k);
    x->most = rows_to_gather(columns, plan->limit > 0 ? room - bytes : INT64_MAX);
    return st == BF_OK ? EXIT_DONE : fail_status(st, x->task->context, x->rows->source.name);
}

/* The numbers from number i on that stand in rows one behind another. */
static int64_t run_of(const rows_numbers *x, int64_t i) {
    const int64_t n = x->numbers.shape[0], begin = i;
    do i++;
    while (i < n && x->at[i] == x->at[i - 1] + 1);
    return i - begin;
}

/* Absorbs the numbers of n rows at their own indices; the rows between have none. */
static bf_status absorb_runs(bf_state *state, const rows_numbers *x, int64_t n) {
    const size_t size = bf_dtype_size(x->numbers.dtype);
    const int64_t next = state_info(state).next;
    bf_status st = BF_OK;
    for (int64_t i = 0, run; i < x->numbers.shape[0] && st == BF_OK; i += run) {
        run = run_of(x, i);
        const bf_array numbers =
            bf_array_of(x->numbers.dtype, (const char *)x->numbers.data + (size_t)i * size, run);
        st = bf_state_seek(state, next + x->at[i]);
        if (st == BF_OK) st = bf_state_absorb(state, &numbers);
    }
    return st == BF_OK ? bf_state_seek(state, next + n) : st;
}

/* Gives states of a column of integers the scale that the column has by now. What cannot hold the
 * elements then, the column is not. */
static bf_status rescale(const absorbing *x, int s) {
    const int k = column_of(x, s), scale = rows_scale(x->rows, k);
    bf_status st = BF_OK;
    for (int i = 0; i < x->candidates && scale > 0 && st == BF_OK; i++) {
        const bf_dtype dtype = rows_candidate(x->rows, i);
        if (!(candidates_of(x, k) & 1u << i) || (dtype != BF_I64 && dtype != BF_I128)) continue;
        st = bf_state_rescale(x->states[s * x->candidates + i], scale);
        if (st != BF_E_OVERFLOW) continue;
        rows_rule_out(x->rows, k, 1u << i);
        st = BF_OK;
    }
    return st;
}

/* Returns the fuller of two states, one of which may be NULL, or have missed some element. */
static bf_state *fuller(bf_state *a, bf_state *b) {
    if (!a || !b) return a ? a : b;
    return state_info(a).count >= state_info(b).count ? a : b;
}

/* The integers of a column do not fit 64 bits any longer: the state of i128 goes on from that of
 * i64 or u64. */
static bf_status widen(const absorbing *x, int s) {
    enum { I64, U64, I128 }; /* as candidates */
    bf_state **of = &x->states[s * x->candidates];
    const bf_state *const all = fuller(of[I64], of[U64]);
    if (!all) return BF_OK;
    bf_status st = bf_state_merge(of[I128], all);
    if (st == BF_OK && reduce_is_ordered(op_of(x, s)))
        st = bf_state_seek(of[I128], state_info(all).next);
    for (int i = I64; i <= U64 && st == BF_OK; i++) {
        bf_state_destroy(of[i]);
        of[i] = NULL;
    }
    return st;
}

static bool has_strings(const absorbing *x) {
    bool has = false;
    for (int k = 0; k < x->rows->columns && x->task->texts; k++) has = has || x->task->texts[k];
    return has;
}

static bf_status absorb_strings(const absorbing *x, const rows_chunk *chunk, int k) {
    rows_view view;
    rows_look(x->rows, chunk, k, &view);
    return texts_absorb(x->task->texts[k], &view, chunk->n);
}

static bf_status absorb_subject(const absorbing *x, const rows_chunk *chunk, int s) {
    const int k = column_of(x, s);
    if (rows_dtype(x->rows, k) == BF_NONE) return s == k ? absorb_strings(x, chunk, k) : BF_OK;
    const rows_column *c = &chunk->columns[k];
    const bool indexed = bf_reduction_result(op_of(x, s)) >= BF_RESULT_INDEX;
    const bool wide = x->candidates > 1 && rows_is_wide(x->rows, k);
    bf_status st = wide && !x->rows->options.settled ? widen(x, s) : BF_OK;
    if (st == BF_OK) st = rescale(x, s);
    const unsigned can = candidates_of(x, k);
    for (int i = 0; i < x->candidates && st == BF_OK; i++) {
        if (!(can & 1u << i) || !c->as[i]) continue;
        bf_state *const state = x->states[s * x->candidates + i];
        rows_numbers present;
        if (!rows_present(x->rows, chunk, k, i, NULL, &present))
            st = BF_E_MEMORY;
        else if (present.at && indexed)
            st = absorb_runs(state, &present, chunk->n);
        else
            st = bf_state_absorb(state, &present.numbers);
    }
    return st;
}

static int refuse_strings(const absorbing *x, bf_status st) {
    const bool limited = st == BF_E_MEMORY && x->task->options->memory.limit > 0;
    if (!limited) return fail_status(st, x->task->context, x->rows->source.name);
    fail(EXIT_USAGE, x->rows->source.name, "--memory is too small for so many different strings");
    hint("'bitfold count --by' takes any number of them; --column takes some columns");
    return EXIT_USAGE;
}

/* Data that changed meanwhile may be refused for that. */
static int absorb_failed(const absorbing *x, bf_status st) {
    const source *s = &x->rows->source;
    const int code = source_check(s);
    return code == EXIT_DONE ? fail_status(st, x->task->context, s->name) : code;
}

static int absorb_chunks(absorbing *x) {
    rows_chunk chunk = {.n = 1};
    int code = EXIT_DONE;
    while (code == EXIT_DONE && chunk.n > 0) {
        code = rows_next(x->rows, x->most, &chunk);
        bf_status st = BF_OK;
        for (int s = 0; code == EXIT_DONE && chunk.n > 0 && s < x->subjects && st == BF_OK; s++)
            st = absorb_subject(x, &chunk, s);
        if (st == BF_E_MEMORY && has_strings(x))
            code = refuse_strings(x, st);
        else if (st != BF_OK)
            code = absorb_failed(x, st);
        if (code == EXIT_DONE && chunk.n > 0) work_tick(&x->task->work);
    }
    return code;
}

/* Brings states of all ranks to the scales of the columns. */
static int settle_scales(const absorbing *x) {
    bf_status st = BF_OK;
    for (int s = 0; s < x->subjects && st == BF_OK; s++) st = rescale(x, s);
    ranks_and(x->rows->can, x->rows->held);
    return st == BF_OK ? EXIT_DONE : fail_status(st, x->task->context, x->rows->source.name);
}

/* Hands out the most exact state of each subject. */
static void choose_states(const absorbing *x, bf_state **states) {
    for (int s = 0; s < x->subjects; s++) {
        bf_state **of = &x->states[s * x->candidates];
        if (rows_dtype(x->rows, column_of(x, s)) == BF_NONE) continue;
        const int chosen = __builtin_ctz(rows_can(x->rows, column_of(x, s)));
        states[s] = of[chosen];
        of[chosen] = NULL;
    }
}

/* The states come first, then the texts, if there may be any. */
static int list_things(const absorbing *x, work_thing *things) {
    const int n = x->subjects * x->candidates, columns = x->rows->columns;
    texts **const of = x->task->texts;
    for (int k = 0; k < n; k++) things[k] = (work_thing){.state = &x->states[k]};
    for (int k = 0; of && k < columns; k++)
        things[n + k] = (work_thing){.form = &texts_form, .of = &of[k]};
    return of ? n + columns : n;
}

/* Walks over the rows, or over those that an earlier run has left. */
static int walk_rows(absorbing *x, int64_t start, work_thing *things) {
    work *w = &x->task->work;
    rows *const inputs[] = {x->rows};
    const char *name = x->rows->source.name;
    int code = work_begin(w, inputs, 1);
    if (code != EXIT_DONE) return code;
    if (!things || !x->states) return fail_memory(name);
    code = open_states(x, start);
    if (code != EXIT_DONE) return code;
    code = work_hold(w, things, list_things(x, things));
    return code == EXIT_DONE ? absorb_chunks(x) : code;
}

static void drop_texts(const absorbing *x) {
    for (int k = 0; x->task->texts && k < x->rows->columns; k++) {
        texts_close(x->task->texts[k]);
        x->task->texts[k] = NULL;
    }
}

/* Begins anew with what is known of the columns by now. */
static int restart(absorbing *x, int64_t start, work_thing *things) {
    int code;
    do {
        for (int k = 0; k < x->subjects * x->candidates; k++) {
            bf_state_destroy(x->states[k]);
            x->states[k] = NULL;
        }
        drop_texts(x);
        rows_again(x->rows);
        code = walk_rows(x, start, things);
    } while (code == ROWS_RESETTLED);
    return code;
}

static int walk_all(absorbing *x, int64_t start, work_thing *things) {
    const int code = walk_rows(x, start, things);
    return code == ROWS_RESETTLED ? restart(x, start, things) : code;
}

/* Rank 0 gets the strings of all. */
static int merge_strings(const absorbing *x) {
    bf_status st = BF_OK;
    for (int k = 0; x->task->texts && k < x->rows->columns; k++) {
        const bf_status merged = x->task->texts[k] ? texts_merge_ranks(x->task->texts[k]) : BF_OK;
        if (st == BF_OK) st = merged;
    }
    return ranks_agree(st == BF_OK ? EXIT_DONE : refuse_strings(x, st));
}

static int absorb_one(task *t, bf_reduction op, rows *r, int64_t start, bf_state **states) {
    absorbing x = {.task = t, .rows = r, .candidates = rows_candidates(r), .op = op};
    x.subjects = t->powers ? 2 * r->columns : r->columns;
    const int n = x.subjects * x.candidates;
    work_thing *things = calloc((size_t)(n + r->columns), sizeof *things);
    x.states = calloc((size_t)n, sizeof(bf_state *));
    /* A file is read anew if a column is not what it seemed, and so is all for a condition. */
    r->options.settled = !r->source.stream || r->condition || t->texts;
    int code = work_end(&t->work, walk_all(&x, start, things), true);
    while (code == ROWS_RESETTLED) code = work_end(&t->work, restart(&x, start, things), true);
    if (code == EXIT_DONE) code = settle_scales(&x);
    free(things);
    if (code == EXIT_DONE) choose_states(&x, states);
    for (int k = 0; x.states && k < n; k++) bf_state_destroy(x.states[k]);
    free(x.states);
    if (code == EXIT_DONE) code = task_merge_ranks(t, op, states, r->columns, r->source.name);
    if (code == EXIT_DONE && t->powers)
        code = task_merge_ranks(t, BF_KURTOSIS, states + r->columns, r->columns, r->source.name);
    return code == EXIT_DONE ? merge_strings(&x) : code;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int64_t bytes_of(const rows *r, const bf_state *state) {
    const source *s = &r->source;
    if (s->text) return s->text->file ? s->text->size - s->text->begin : s->text->offset;
    return state_info(state).count * (int64_t)source_element(s);
}

static int threads_of(const task *t, const rows *r, int64_t bytes) {
    const int most = options_gpu(t->options->device) ? 1 : t->options->threads;
    const int64_t useful = bytes / THREAD_BYTES;
    if (!rows_in_place(r)) return rows_threads(r);
    return useful >= most ? most : useful > 1 ? (int)useful : 1;
}

int absorb_rows(task *t, bf_reduction op, rows *const inputs[], int n, int64_t start,
                bf_state **states) {
    const int code = bf_reduction_arrays(op) == 2
                         ? together_absorb(t, op, inputs, n, states)
                         : absorb_one(t, op, inputs[0], task_start(t, start), states);
    if (code != EXIT_DONE) return code;
    t->bytes = 0;
    for (int i = 0; i < n; i++) t->bytes += bytes_of(inputs[i], states[0]);
    t->threads = threads_of(t, inputs[0], t->bytes);
    return EXIT_DONE;
}
