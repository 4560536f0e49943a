#include "order/top.h"

#include "input/share.h"
#include "memory/key.h"
#include "runtime/json.h"
#include "runtime/progress.h"
#include "runtime/ranks.h"
#include "text/item.h"

#include <stdlib.h>
#include <string.h>

/* Numbers that are added before the first of them are found, at least; and bytes that each of K
 * numbers may take, with the library's. */
enum { STEP = 1 << 18, STEP_LEAST = 1 << 12, COST = 128 };

static int64_t count_columns(const options *o) {
    const char *at = o->input.text.columns;
    int64_t n = at ? 0 : 1;
    for (; at && *at; n++) text_take_item(&at, ",");
    return n;
}

/* The bytes of memory for each column of each file; 0: no limit. */
static int64_t share_of(const options *o) {
    return (o->memory.results + o->memory.pipes / 2) / count_columns(o) / (o->total ? 2 : 1);
}

bool top_wanted(const question *q) {
    const options *o = q->options;
    return q->kind == ORDER_TOP && !q->places && !o->expression &&
           (o->memory.limit == 0 || o->first <= share_of(o) / COST);
}

/* ---- one column ------------------------------------------------------------------------------ */

static size_t bytes_of(const top_column *c, int64_t n) {
    return (size_t)n * bf_dtype_size(c->form.dtype);
}

/* The numbers that are held at most. */
static int64_t most_held(const options *o) {
    const int64_t share = share_of(o) / COST;
    int64_t step = o->memory.limit == 0 || share > STEP ? STEP : share;
    if (step < STEP_LEAST) step = STEP_LEAST;
    return o->first > INT64_MAX / 2 ? INT64_MAX : o->first + (o->first > step ? o->first : step);
}

static bool reserve(top_column *c, int64_t n, int64_t most) {
    if (n <= c->room) return true;
    const int64_t twice = 2 * c->room < most ? 2 * c->room : most, room = n > twice ? n : twice;
    char *more = realloc(c->values, bytes_of(c, room));
    if (!more) return false;
    c->values = more;
    int64_t *behind = c->behind ? realloc(c->behind, (size_t)room * sizeof *behind) : NULL;
    if (c->behind && !behind) return false;
    c->behind = behind;
    c->room = room;
    return true;
}

/* From now on rows are left out: so the indices of those behind the first are held, too. */
static bool hold_indices(top_column *c) {
    if (c->behind) return true;
    c->behind = malloc((size_t)c->room * sizeof *c->behind + 1);
    for (int64_t i = 0; c->behind && i < c->held - c->first; i++)
        c->behind[i] = c->added - (c->held - c->first) + i;
    return c->behind != NULL;
}

/* Leaves the first K of the numbers held, in order. index: of those behind the first (NULL: they
 * are the last ones that were added). */
static bf_status find_first(top_column *c, const question *q, const int64_t *index) {
    const int64_t k = q->options->first < c->held ? q->options->first : c->held;
    const int64_t base = c->added - c->held;
    const bf_order_options rules = answer_rules(q);
    char *values = malloc(bytes_of(c, k) + 1);
    int64_t *at = malloc((size_t)k * sizeof *at + 1);
    const bf_array all = bf_array_of(c->form.dtype, c->values, c->held),
                   first = bf_array_of(c->form.dtype, values, k),
                   positions = bf_array_of(BF_I64, at, k);
    bf_status st = values && at ? BF_OK : BF_E_MEMORY;
    if (st == BF_OK && k > 0) st = bf_top(q->context, &all, 0, k, &rules, &first, &positions);
    for (int64_t i = 0; st == BF_OK && i < k; i++)
        at[i] = at[i] < c->first ? c->index[at[i]] : index ? index[at[i] - c->first] : base + at[i];
    if (st == BF_OK && k > 0) memcpy(c->values, values, bytes_of(c, k));
    free(values);
    if (st != BF_OK) {
        free(at);
        return st;
    }
    free(c->index);
    c->index = at;
    c->first = c->held = k;
    return BF_OK;
}

/* Adds the numbers of so many rows. */
static bf_status add_numbers(top_column *c, const question *q, const rows_numbers *from,
                             int64_t n) {
    const int64_t most = most_held(q->options), present = from->numbers.shape[0];
    const char *const numbers = from->numbers.data;
    if (present < n && !hold_indices(c)) return BF_E_MEMORY;
    const int64_t before = c->added;
    bf_status st = BF_OK;
    for (int64_t at = 0; at < present && st == BF_OK;) {
        const int64_t room = most - c->held, some = present - at < room ? present - at : room;
        if (!reserve(c, c->held + some, most)) return BF_E_MEMORY;
        memcpy(c->values + bytes_of(c, c->held), numbers + bytes_of(c, at), bytes_of(c, some));
        for (int64_t i = 0; c->behind && i < some; i++)
            c->behind[c->held - c->first + i] = before + (from->at ? from->at[at + i] : at + i);
        c->held += some;
        c->added += some;
        at += some;
        if (c->held == most) st = find_first(c, q, c->behind);
    }
    c->added = before + n;
    c->nulls += n - present;
    return st;
}

/* Appends the first numbers of a column; both are brought to a form that was joined from theirs. */
static bf_status append_numbers(top_column *c, const top_column *from, units_form to) {
    const units_form before = c->form;
    const int64_t held = c->held + from->first;
    c->form = to;
    char *more = realloc(c->values, bytes_of(c, held) + 1);
    if (!more) return BF_E_MEMORY;
    c->values = more;
    if (!units_bring(before, more, c->held, to, more) ||
        !units_bring(from->form, from->values, from->first, to, more + bytes_of(c, c->held)))
        return BF_E_OVERFLOW;
    c->held = c->room = held;
    return BF_OK;
}

/* Adds the first numbers of a column, whose indices begin behind those of c. */
static bf_status join_columns(top_column *c, const question *q, const top_column *from,
                              units_form to) {
    int64_t *index = malloc((size_t)from->first * sizeof *index + 1);
    bf_status st = index ? append_numbers(c, from, to) : BF_E_MEMORY;
    for (int64_t i = 0; i < from->first && st == BF_OK; i++) index[i] = c->added + from->index[i];
    c->added += from->added;
    c->nulls += from->nulls;
    if (st == BF_OK) st = find_first(c, q, index);
    free(index);
    return st;
}

/* Leaves the NaNs out, which are last, if they are skipped. */
static bf_status leave_nans(top_column *c, const question *q) {
    const bf_order_options rules = answer_rules(q);
    if (rules.nan != BF_NAN_SKIP || bf_dtype_kind(c->form.dtype) != 'f' || c->first == 0)
        return BF_OK;
    uint64_t nan = key_nan(c->form.dtype);
    const bf_array values = bf_array_of(c->form.dtype, c->values, c->first),
                   wanted = bf_array_of(c->form.dtype, &nan, 1),
                   to = bf_array_of(BF_I64, &c->first, 1);
    return bf_searchsorted(q->context, &values, &wanted, false, &rules, &to);
}

static void free_columns(top_column **of, int n) {
    for (int k = 0; *of && k < n; k++) {
        free((*of)[k].values);
        free((*of)[k].index);
        free((*of)[k].behind);
    }
    free(*of);
    *of = NULL;
}

static int make_columns(top_column **of, const columns *c, const char *file) {
    *of = calloc((size_t)c->count, sizeof **of);
    for (int k = 0; *of && k < c->count; k++) (*of)[k].form = c->of[k].form;
    return *of ? EXIT_DONE : fail_memory(file);
}

int top_open(top *x, const question *q, output *out) {
    x->question = q;
    x->output = out;
    return work_open(&x->work, q->options, q->context);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int end_call(const top *x, bf_status st, const char *file) {
    return st == BF_OK ? EXIT_DONE : fail_status(st, x->question->context, file);
}

static int add_chunk(top *x, rows *r, const rows_chunk *chunk) {
    bf_status st = BF_OK;
    for (int k = 0; k < r->columns && st == BF_OK && chunk->n > 0; k++) {
        rows_numbers present;
        st = rows_present(r, chunk, k, __builtin_ctz(rows_can(r, k)), NULL, &present)
                 ? add_numbers(&x->of[k], x->question, &present, chunk->n)
                 : BF_E_MEMORY;
    }
    return end_call(x, st, r->source.name);
}

/* ROWS_RESETTLED: some column has another dtype. */
static int read_rows(top *x, rows *r) {
    rows *const inputs[] = {r};
    rows_chunk chunk = {.n = 1};
    int code = work_begin(&x->work, inputs, 1);
    if (code == EXIT_DONE) code = rows_prepare(r);
    columns_settle(&x->columns, r);
    if (code == EXIT_DONE) code = make_columns(&x->of, &x->columns, r->source.name);
    while (code == EXIT_DONE && chunk.n > 0) {
        code = rows_next(r, 0, &chunk);
        if (code == EXIT_DONE) code = add_chunk(x, r, &chunk);
    }
    return code;
}

/* Finds the first numbers of this rank's rows, anew until the dtypes are right. */
static int find_columns(top *x, rows *r) {
    int code;
    while ((code = read_rows(x, r)) == ROWS_RESETTLED) {
        free_columns(&x->of, r->columns);
        rows_again(r);
    }
    bf_status st = BF_OK;
    for (int k = 0; k < r->columns && code == EXIT_DONE && st == BF_OK; k++)
        st = find_first(&x->of[k], x->question, x->of[k].behind);
    return code == EXIT_DONE ? end_call(x, st, r->source.name) : code;
}

/* Another rank's rows may show that they are not. */
static int find_shared(top *x, rows *r) {
    int code = work_end(&x->work, find_columns(x, r), false);
    while (code == ROWS_RESETTLED) {
        bool same = true;
        for (int k = 0; k < r->columns; k++)
            same = same && units_are_same(x->of[k].form, units_of_rows(r, k));
        if (!same) free_columns(&x->of, r->columns);
        if (!same) rows_again(r);
        code = work_end(&x->work, same ? EXIT_DONE : find_columns(x, r), false);
    }
    return code;
}

/* Brings the first numbers of all ranks to rank 0; the others have none left. first: the index of
 * this rank's first row. */
static bf_status gather_column(top_column *c, const question *q, int64_t first) {
    const int64_t ranks = ranks_count(), n = c->first;
    int64_t *sizes = ranks_allocate((size_t)ranks * sizeof *sizes);
    for (int64_t i = 0; i < n; i++) c->index[i] += first;
    ranks_gather(&c->added, sizes, sizeof c->added);
    for (int64_t i = 0; i < ranks; i++) c->added += i == ranks_rank() ? 0 : sizes[i];
    c->nulls = ranks_sum(c->nulls);
    char *values = ranks_collect(c->values, (int64_t)bytes_of(c, n), sizes);
    char *index = ranks_collect(c->index, 8 * n, sizes);
    free(c->values);
    c->values = values;
    c->first = c->held = c->room = 0;
    for (int64_t i = 0; i < ranks && values; i++) c->held += sizes[i] / 8;
    const bf_status st = values ? find_first(c, q, (int64_t *)(void *)index) : BF_OK;
    free(index);
    free(sizes);
    return st;
}

static void forget_file(top *x) {
    free_columns(&x->of, x->columns.count);
    columns_close(&x->columns);
}

int top_read(top *x, rows *r) {
    rows *const inputs[] = {r};
    const int64_t offset = r->source.first;
    int64_t first = 0;
    forget_file(x);
    int code = ranks_agree(columns_begin(&x->columns, r));
    if (code == EXIT_DONE) code = share_rows(inputs, 1, &first);
    if (code == EXIT_DONE) code = find_shared(x, r);
    if (code != EXIT_DONE) return code;
    bf_status st = BF_OK;
    for (int k = 0; k < r->columns; k++) { /* every rank gathers all of them */
        const bf_status gathered =
            ranks_count() > 1 ? gather_column(&x->of[k], x->question, first - offset) : BF_OK;
        if (st == BF_OK) st = gathered;
        if (st == BF_OK) st = leave_nans(&x->of[k], x->question);
    }
    return ranks_agree(end_call(x, st, r->source.name));
}

/* ---- showing --------------------------------------------------------------------------------- */

static int put_columns(top *x, const columns *c, const top_column *of, const char *file,
                       double began) {
    const options *o = x->question->options;
    int code = EXIT_DONE;
    for (int k = 0; k < c->count && code == EXIT_DONE; k++) {
        const answer a = {.file = file,
                          .column = c->count > 1 ? c->of[k].name : NULL,
                          .info = {.dtype = of[k].form.dtype,
                                   .scale = of[k].form.scale,
                                   .count = of[k].added - of[k].nulls},
                          .scale = of[k].form.scale,
                          .time = of[k].form.time,
                          .nulls = of[k].nulls,
                          .values = bf_array_of(of[k].form.dtype, of[k].values, of[k].first),
                          .beside = of[k].index,
                          .seconds = progress_clock() - began};
        code = answer_put(&a, x->question, x->output, o->file_count > 1 || o->total);
    }
    return code;
}

static int add_to_total(top *x, const char *file) {
    int code = columns_append(&x->total, &x->columns, file, x->question->options->files[0]);
    if (code == EXIT_DONE && !x->totals) code = make_columns(&x->totals, &x->total, file);
    for (int k = 0; k < x->total.count && code == EXIT_DONE; k++) {
        const bf_status st =
            join_columns(&x->totals[k], x->question, &x->of[k], x->total.of[k].form);
        if (st != BF_OK)
            code = st == BF_E_OVERFLOW ? rows_refuse_scale(file)
                                       : fail_status(st, x->question->context, file);
    }
    return code;
}

int top_put(top *x, const char *file, double began) {
    int code = ranks_agree(x->question->options->total ? add_to_total(x, file) : EXIT_DONE);
    note_device(x->question->context, file);
    if (code == EXIT_DONE) code = put_columns(x, &x->columns, x->of, file, began);
    forget_file(x);
    return ranks_agree(code);
}

int top_put_total(top *x, double began) {
    return ranks_agree(put_columns(x, &x->total, x->totals, "total", began));
}

void top_close(top *x, int code) {
    if (x->question) work_close(&x->work, code);
    forget_file(x);
    free_columns(&x->totals, x->total.count);
    columns_close(&x->total);
}
