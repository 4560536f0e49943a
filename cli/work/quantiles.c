#include "work/quantiles.h"

#include "input/share.h"
#include "runtime/info.h"
#include "runtime/ranks.h"
#include "work/places.h"

#include <stdlib.h>
#include <string.h>

/* ---- inputs ---------------------------------------------------------------------------------- */

static int open_rows(quantiles_input *in) {
    rows *const inputs[] = {&in->rows};
    int code = rows_open(&in->rows, in->name, in->format, &in->how);
    code = ranks_agree(code);
    return code == EXIT_DONE ? share_rows(inputs, 1, NULL) : code;
}

int quantiles_open(quantiles_input *in, const char *name, const input *format,
                   const rows_options *how) {
    *in = (quantiles_input){.name = name, .format = format, .how = *how, .rows.source.fd = -1};
    const int code = open_rows(in);
    in->columns = in->rows.columns;
    return code;
}

void quantiles_close(quantiles_input *in) {
    rows_close(&in->rows);
    free(in->kinds);
    free(in->forms);
    in->kinds = NULL;
    in->forms = NULL;
}

void quantiles_keep(quantiles_input *in) {
    rows *r = &in->rows;
    rows_again(r);
    if (r->source.stream) return;
    if (!in->forms) in->forms = malloc((size_t)in->columns * sizeof *in->forms);
    if (!in->kinds && in->forms) in->kinds = malloc((size_t)r->held * sizeof *in->kinds);
    if (!in->kinds) return; /* then it stays open */
    for (int k = 0; k < r->held; k++) in->kinds[k] = rows_kind_of(r, k);
    for (int k = 0; k < in->columns; k++) in->forms[k] = units_of_rows(r, k);
    rows_close(r);
}

units_form quantiles_form(const quantiles_input *in, int k) {
    return in->rows.columns == 0 ? in->forms[k] : units_of_rows(&in->rows, k);
}

/* Its columns are what they were. */
static int open_again(quantiles_input *in) {
    if (in->rows.columns > 0) return EXIT_DONE;
    const int code = open_rows(in);
    if (code != EXIT_DONE) return code;
    const rows_place start = rows_tell(&in->rows);
    const bool same = in->rows.columns == in->columns && rows_seek(&in->rows, &start, in->kinds);
    return ranks_agree(same ? EXIT_DONE
                            : fail(EXIT_DATA, in->name, "it is not the file that it was"));
}

/* ---- objects --------------------------------------------------------------------------------- */

static int count_things(const quantiles *q) {
    return q->columns * (q->parts + q->search->infinities);
}

static int values_of_part(const quantiles *q, int part) {
    const int left = q->search->percents.n - part * BF_QUANTILES_MAX;
    return left < BF_QUANTILES_MAX ? left : BF_QUANTILES_MAX;
}

static bf_dtype dtype_of_values(const quantiles_search *s, bf_dtype dtype) {
    return s->percents.n > 0 ? bf_quantile_dtype(dtype, s->method) : bf_median_dtype(dtype);
}

/* Nothing is looked for in a column of strings. */
static bool is_done(const bf_quantiles *found) { return !found || quantiles_info(found).done; }

static bool open_search(quantiles *q, const quantiles_search *s, int columns) {
    const int n = s->percents.n;
    *q = (quantiles){.search = s, .columns = columns};
    q->parts = n > 0 ? (n + BF_QUANTILES_MAX - 1) / BF_QUANTILES_MAX : 1;
    q->of = malloc((size_t)(n + 1) * sizeof *q->of);
    q->found = calloc((size_t)(columns * q->parts), sizeof(bf_quantiles *));
    q->forms = calloc((size_t)columns, sizeof *q->forms);
    q->sums = calloc((size_t)columns, sizeof(bf_state *));
    q->things = calloc((size_t)count_things(q), sizeof *q->things);
    if (!q->of || !q->found || !q->forms || !q->sums || !q->things) return false;
    for (int i = 0; i < n; i++) q->of[i] = s->percents.at[i] / 100;
    for (int i = 0; i < columns * q->parts; i++) q->things[i].quantiles = &q->found[i];
    for (int k = 0; k < columns && s->infinities; k++)
        q->things[columns * q->parts + k].state = &q->sums[k];
    return true;
}

static void drop_objects(quantiles *q) {
    for (int i = 0; q->found && i < q->columns * q->parts; i++) {
        bf_quantiles_destroy(q->found[i]);
        q->found[i] = NULL;
    }
    for (int k = 0; q->sums && k < q->columns; k++) {
        bf_state_destroy(q->sums[k]);
        q->sums[k] = NULL;
    }
}

void quantiles_free(quantiles *q) {
    drop_objects(q);
    free(q->of);
    free(q->found);
    free(q->forms);
    free(q->sums);
    free(q->things);
}

/* Makes the objects of column k. */
static int make_column(quantiles *q, int k, const char *name) {
    const bf_dtype dtype = q->forms[k].dtype;
    const bf_time_kind time = q->forms[k].time;
    const int scale = q->forms[k].scale;
    const quantiles_search *s = q->search;
    const bool median = s->percents.n == 0;
    bf_value empty;
    bf_order_options rules = BF_ORDER_OPTIONS(.nan = s->options->rules.nan, .method = s->method,
                                              .scale = scale, .whole = time != BF_TIME_NONE);
    if (dtype == BF_NONE) return EXIT_DONE;
    if (s->options->empty) rules.empty = &empty;
    const int code = places_read_empty(s->options, dtype_of_values(s, dtype), scale, &empty);
    bf_status st = BF_OK;
    if (code != EXIT_DONE) return code;
    for (int p = 0; p < q->parts && st == BF_OK; p++) {
        st = bf_quantiles_create(
            s->context, dtype, median ? NULL : q->of + (size_t)p * BF_QUANTILES_MAX,
            median ? 0 : values_of_part(q, p), &rules, &q->found[k * q->parts + p]);
    }
    if (st == BF_OK && s->infinities) st = bf_state_create(s->context, BF_SUM, dtype, &q->sums[k]);
    return st == BF_OK ? EXIT_DONE : fail_status(st, s->context, name);
}

static int make_objects(quantiles *q, const rows *r) {
    int code = EXIT_DONE;
    drop_objects(q);
    for (int k = 0; k < q->columns && code == EXIT_DONE; k++) {
        if (!q->joined) q->forms[k] = units_of_rows(r, k);
        code = make_column(q, k, r->source.name);
    }
    return code;
}

/* ---- a pass ---------------------------------------------------------------------------------- */

static bf_status absorb_column(const quantiles *q, int k, const bf_array *numbers) {
    bf_status st = BF_OK;
    if (q->search->infinities && q->pass == 0) st = bf_state_absorb(q->sums[k], numbers);
    for (int p = 0; p < q->parts && st == BF_OK; p++) {
        bf_quantiles *found = q->found[k * q->parts + p];
        if (!is_done(found)) st = bf_quantiles_absorb(found, numbers);
    }
    return st;
}

/* A file that another process writes to is not the same in two passes. */
static int pass_failed(const quantiles *q, bf_status st, const char *name) {
    if (st != BF_E_STATE) return fail_status(st, q->search->context, name);
    return fail(EXIT_DATA, name, "it changed while it was read %d times", q->pass + 1);
}

/* Absorbs numbers, in the form of those of all inputs. */
static bf_status absorb_numbers(const quantiles *q, const rows *r, int k, const bf_array *numbers) {
    const int64_t n = numbers->shape[0];
    const units_form from = units_of_rows(r, k), to = q->forms[k];
    if (units_are_same(from, to)) return absorb_column(q, k, numbers);
    void *units = malloc((size_t)n * bf_dtype_size(to.dtype) + 1);
    const bf_array brought = bf_array_of(to.dtype, units, n);
    bf_status st = units ? BF_OK : BF_E_MEMORY;
    if (st == BF_OK && !units_bring(from, numbers->data, n, to, units)) st = BF_E_OVERFLOW;
    if (st == BF_OK) st = absorb_column(q, k, &brought);
    free(units);
    return st;
}

static int absorb_chunk(const quantiles *q, rows *r, const rows_chunk *chunk) {
    bf_status st = BF_OK;
    for (int k = 0; k < q->columns && st == BF_OK; k++) {
        rows_numbers present;
        if (q->forms[k].dtype == BF_NONE) continue;
        st = rows_present(r, chunk, k, __builtin_ctz(rows_can(r, k)), NULL, &present)
                 ? absorb_numbers(q, r, k, &present.numbers)
                 : BF_E_MEMORY;
    }
    if (st == BF_OK) return EXIT_DONE;
    if (st == BF_E_OVERFLOW) return rows_refuse_scale(r->source.name);
    const int code = source_check(&r->source);
    return code == EXIT_DONE ? pass_failed(q, st, r->source.name) : code;
}

static int absorb_rows(const quantiles *q, rows *r) {
    rows_chunk chunk = {.n = 1};
    int code = EXIT_DONE;
    while (code == EXIT_DONE && chunk.n > 0) {
        code = rows_next(r, 0, &chunk);
        if (code != EXIT_DONE || chunk.n == 0) break;
        code = absorb_chunk(q, r, &chunk);
        if (code == EXIT_DONE) work_tick(q->search->work);
    }
    return code;
}

/* makes: the objects are made, of the dtypes that the rows have. */
static int walk_rows(quantiles *q, rows *r, bool makes) {
    rows *const inputs[] = {r};
    work *w = q->search->work;
    int code = work_begin(w, inputs, 1);
    if (code == EXIT_DONE && makes) code = make_objects(q, r);
    if (code == EXIT_DONE) code = work_hold(w, q->things, count_things(q));
    return code == EXIT_DONE ? absorb_rows(q, r) : code;
}

/* Ends the pass of an object that is still in it. */
static bf_status end_object(const quantiles *q, bf_quantiles *found) {
    const bf_quantiles_info info = quantiles_info(found);
    int done;
    if (!found) return BF_OK;
    return info.done || info.pass > q->pass + 1 ? BF_OK : bf_quantiles_next(found, &done);
}

static int end_pass(const quantiles *q, const char *name) {
    bf_status st = BF_OK;
    for (int i = 0; i < q->columns * q->parts && st == BF_OK; i++) st = end_object(q, q->found[i]);
    return st == BF_OK ? EXIT_DONE : pass_failed(q, st, name);
}

/* Reads the rows of an input; anew if their dtypes are not what they seemed, here or on another
 * rank. last: of the pass, which ends before a checkpoint keeps it, for then it is small; but over
 * ranks it must first be merged. */
static int read_input(quantiles *q, rows *r, bool makes, bool last) {
    int code;
    progress_start(r->source.name, rows_bytes(r));
    do {
        while ((code = walk_rows(q, r, makes)) == ROWS_RESETTLED && makes) rows_again(r);
        if (code == EXIT_DONE && last && ranks_count() == 1) code = end_pass(q, r->source.name);
        code = work_end(q->search->work, code, last);
        if (code == ROWS_RESETTLED) rows_again(r);
    } while (code == ROWS_RESETTLED && makes);
    progress_stop();
    if (q->pass == 0) q->seen += rows_seen(r);
    return code == ROWS_RESETTLED
               ? fail(EXIT_DATA, r->source.name, "it is not the file that it was")
               : code;
}

static int read_inputs(quantiles *q, quantiles_input *inputs, int n) {
    int code = EXIT_DONE;
    for (int i = 0; i < n && code == EXIT_DONE; i++) {
        quantiles_input *in = &inputs[i];
        code = open_again(in);
        if (code == EXIT_DONE) code = read_input(q, &in->rows, q->pass == 0 && i == 0, i + 1 == n);
        if (n > 1)
            quantiles_keep(in);
        else if (code == EXIT_DONE)
            rows_again(&in->rows);
    }
    return code;
}

/* ---- all passes ------------------------------------------------------------------------------ */

/* Merges what the ranks absorbed in this pass. */
static int merge_pass(quantiles *q, const char *name) {
    bf_context *context = q->search->context;
    int code = EXIT_DONE;
    if (q->search->infinities && q->pass == 0)
        code = ranks_merge_states(context, q->sums, q->columns, name);
    for (int i = 0; i < q->columns * q->parts && code == EXIT_DONE; i++)
        if (!is_done(q->found[i])) code = ranks_merge_quantiles(context, q->found[i], name);
    return code;
}

static bool all_done(const quantiles *q) {
    bool all = true;
    for (int i = 0; i < q->columns * q->parts; i++) all = all && is_done(q->found[i]);
    return all;
}

static int find_all(quantiles *q, quantiles_input *inputs, int n) {
    const char *name = inputs[0].name;
    int code = EXIT_DONE;
    do {
        code = read_inputs(q, inputs, n);
        if (code == EXIT_DONE) code = merge_pass(q, name);
        if (code == EXIT_DONE) code = ranks_agree(end_pass(q, name));
        if (code == EXIT_DONE && q->pass == 0) q->seen = ranks_sum(q->seen);
        q->pass++;
    } while (code == EXIT_DONE && !all_done(q));
    return code;
}

/* Joins the forms of several inputs, whose columns are known and go together. */
static void join_forms(quantiles *q, const quantiles_input *inputs, int n) {
    for (int k = 0; k < q->columns; k++) {
        q->forms[k] = quantiles_form(&inputs[0], k);
        for (int i = 1; i < n; i++) (void)units_join(&q->forms[k], quantiles_form(&inputs[i], k));
    }
    q->joined = true;
}

int quantiles_find(quantiles *q, const quantiles_search *s, quantiles_input *inputs, int n) {
    const bool opened = open_search(q, s, inputs[0].columns);
    if (opened && n > 1) join_forms(q, inputs, n);
    const int code = ranks_agree(opened ? EXIT_DONE : fail_memory(NULL));
    return code == EXIT_DONE ? find_all(q, inputs, n) : code;
}

static bf_status take_part(const bf_quantiles *found, void *to, int64_t first) {
    bf_value values[BF_QUANTILES_MAX];
    const bf_quantiles_info info = quantiles_info(found);
    const bf_status st = bf_quantiles_result(found, values);
    for (int i = 0; i < info.results && st == BF_OK; i++)
        tagged_put(to, first + i, info.dtype, &values[i]);
    return st;
}

bf_status quantiles_take(const quantiles *q, int k, quantiles_column *column) {
    bf_quantiles *const *found = &q->found[k * q->parts];
    const bf_quantiles_info info = quantiles_info(found[0]);
    *column = (quantiles_column){.count = 0};
    if (!found[0]) return BF_E_EMPTY;
    *column = (quantiles_column){
        .info = {.dtype = info.dtype,
                 .scale = info.scale,
                 .count = info.all,
                 .nan = info.nan,
                 .inf = state_info(q->sums[k]).inf},
        .to = info.to,
        .time = q->forms[k].time,
        .nulls = q->seen - info.all,
        .count = q->search->percents.n > 0 ? q->search->percents.n : 1,
        .values = malloc((size_t)(q->parts * BF_QUANTILES_MAX) * tagged_bytes(info.dtype))};
    bf_status st = column->values ? BF_OK : BF_E_MEMORY;
    for (int p = 0; p < q->parts && st == BF_OK; p++)
        st = take_part(found[p], column->values, (int64_t)p * BF_QUANTILES_MAX);
    return st;
}
