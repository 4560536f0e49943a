#include "histogram/by.h"

#include "columns/table.h"
#include "histogram/bins.h"
#include "histogram/output.h"
#include "memory/large.h"
#include "options/context.h"
#include "plot/plot.h"
#include "runtime/ranks.h"
#include "runtime/utf8.h"
#include "sheet/output.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Rows of a sheet that are made together, about. */
enum { ROWS = 1 << 14, TITLE = 256 };

typedef struct by_hist {
    options options; /* for the table: they ask for the value as group's do for theirs */
    enum hist_form form;
    bf_context *context;
    output output;
    asked asked;
    table table;
    hist_bins bins;
    extremes extremes;
    automatic automatic;
    selection selection;
    bf_histogram *empty; /* has the edges */
    const double *edges;
    int64_t n;    /* bins */
    double scale; /* bins a unit, where they are even; else 0 */
    bf_dictionary *keys;
    int64_t *counts; /* key 0 has the first n of them, key 1 the next, and so on */
    int64_t room;    /* keys */
    bf_histogram_info others;
    buffer numbers, doubles;
} by_hist;

static int failed(const by_hist *x, bf_status st) {
    return fail_status(st, x->context, x->asked.file);
}

/* ---- the rows at hand ------------------------------------------------------------------------ */

static double double_of(const table_value *v, int64_t row) {
    const bf_value value = output_element(v->array.dtype, v->scale, v->array.data, row);
    return bf_value_f64(&value);
}

/* Leaves the numbers of rows that have one, as the doubles nearest to them, and which rows have.
 * NULL: there is no memory. */
static double *take_doubles(by_hist *x, int64_t *n) {
    static const int64_t most = (int64_t)1 << 53;
    const table_value *v = &x->table.values[0];
    const double unit = v->scale <= 22 ? (double)text_power_of_ten(v->scale) : 0;
    const int64_t *integers = v->array.dtype == BF_I64 && unit > 0 ? v->array.data : NULL;
    double *to = buffer_take(&x->doubles, (size_t)x->table.n * sizeof *to);
    *n = 0;
    for (int64_t i = 0; to && i < x->table.n; i++) {
        if (v->valid && !v->valid[i]) continue;
        const bool exact = integers && integers[i] <= most && integers[i] >= -most;
        to[(*n)++] = exact ? (double)integers[i] / unit : double_of(v, i);
    }
    return to;
}

static int refuse_times(const by_hist *x) {
    return fail(EXIT_DATA, x->asked.file, "--by does not go with times: %s has some",
                x->asked.value[0].text);
}

/* ---- walks ----------------------------------------------------------------------------------- */

typedef int by_taker(by_hist *x, double *values, int64_t n);

typedef bf_status by_beginner(by_hist *x);

/* Takes all rows, from the first on. begin drops what an earlier walk took of columns that turned
 * out to be others. */
static int walk_once(by_hist *x, by_taker *take, by_beginner *begin) {
    bool end = false;
    int code = table_begin(&x->table);
    if (code == EXIT_DONE && x->table.values[0].time) code = refuse_times(x);
    const bf_status st = code == EXIT_DONE ? begin(x) : BF_OK;
    if (st != BF_OK) code = failed(x, st);
    while (code == EXIT_DONE) {
        int64_t n;
        code = table_next(&x->table, &end);
        if (code != EXIT_DONE || end) break;
        double *const values = take_doubles(x, &n);
        code = values ? take(x, values, n) : failed(x, BF_E_MEMORY);
    }
    return code;
}

static int walk(by_hist *x, by_taker *take, by_beginner *begin) {
    int code;
    do {
        progress_start(x->asked.file, table_bytes(&x->table));
        code = walk_once(x, take, begin);
        progress_stop();
        if (code != EXIT_DONE && code != ROWS_RESETTLED) return code;
        const int again = table_again(&x->table);
        if (again != EXIT_DONE) code = again;
    } while (code == ROWS_RESETTLED);
    return code;
}

/* ---- bins ------------------------------------------------------------------------------------ */

static bf_status begin_extremes(by_hist *x) {
    extremes_close(&x->extremes);
    return extremes_open(&x->extremes, x->context, BF_F64);
}

static int take_extremes(by_hist *x, double *values, int64_t n) {
    bf_array elements = bf_array_of(BF_F64, values, n);
    bf_status st = BF_OK;
    if (x->bins.wanted.range) st = selection_take(&x->selection, x->context, &elements);
    if (st == BF_OK && elements.shape[0] > 0)
        st = extremes_absorb(&x->extremes, x->context, elements.data, elements.shape[0]);
    return st == BF_OK ? EXIT_DONE : failed(x, st);
}

static bf_status begin_pass(by_hist *x) {
    return x->automatic.below ? BF_OK : automatic_open(&x->automatic, x->context, BF_F64);
}

static int take_pass(by_hist *x, double *values, int64_t n) {
    bf_array elements = bf_array_of(BF_F64, values, n);
    bf_status st = selection_take(&x->selection, x->context, &elements);
    if (st == BF_OK) st = automatic_absorb(&x->automatic, &elements);
    return st == BF_OK ? EXIT_DONE : failed(x, st);
}

static int find_automatic(by_hist *x, int64_t *bins) {
    const automatic_range range = hist_bins_range(&x->bins, &x->extremes);
    int done = 0, code = EXIT_DONE;
    bf_status st = BF_OK;
    while (code == EXIT_DONE && st == BF_OK && !done) {
        code = walk(x, take_pass, begin_pass);
        if (code == EXIT_DONE) st = automatic_next(&x->automatic, &done);
    }
    if (code == EXIT_DONE && st == BF_OK) st = automatic_bins(&x->automatic, &range, bins);
    return code == EXIT_DONE && st != BF_OK ? failed(x, st) : code;
}

/* Where bins are even, an element's is guessed first. */
static void note_edges(by_hist *x) {
    x->others.size = sizeof x->others;
    bf_histogram_describe(x->empty, &x->others);
    x->edges = bf_histogram_edges(x->empty);
    x->n = x->others.bins;
    x->scale = x->options.edges ? 0 : (double)x->n / (x->edges[x->n] - x->edges[0]);
}

static int make_bins(by_hist *x) {
    const bool wanted = hist_bins_need_data(&x->bins);
    int64_t bins = 1;
    x->selection.lo = x->bins.wanted.range ? x->bins.wanted.lo : -DBL_MAX;
    x->selection.hi = x->bins.wanted.range ? x->bins.wanted.hi : DBL_MAX;
    int code = wanted ? walk(x, take_extremes, begin_extremes) : EXIT_DONE;
    if (code == EXIT_DONE && x->bins.wanted.bins == BF_BINS_AUTO) code = find_automatic(x, &bins);
    if (code != EXIT_DONE) return code;
    const bf_status st =
        hist_bins_make(&x->bins, x->context, &x->extremes, bins, BF_F64, BF_NONE, &x->empty);
    if (st != BF_OK) return failed(x, st);
    note_edges(x);
    return EXIT_DONE;
}

/* ---- counting -------------------------------------------------------------------------------- */

static bf_status begin_counts(by_hist *x) {
    const table *t = &x->table;
    bf_dtype dtypes[BF_KEY_COLUMNS_MAX];
    bf_dictionary_destroy(x->keys);
    x->keys = NULL;
    x->others.nan = x->others.below = x->others.above = x->others.count = 0;
    if (x->room > 0) memset(x->counts, 0, (size_t)(x->room * x->n) * sizeof *x->counts);
    for (int i = 0; i < t->asked->keys; i++) dtypes[i] = t->columns[t->key_columns[i]].dtype;
    return bf_dictionary_create(x->context, t->asked->keys, dtypes, &x->keys);
}

/* Makes room for the bins of so many keys, within the share of results. */
static bf_status reserve(by_hist *x, int64_t keys) {
    const int64_t limit = x->options.memory.limit > 0 ? x->options.memory.results : INT64_MAX;
    if (keys <= x->room) return BF_OK;
    const int64_t room = keys > 2 * x->room ? keys : 2 * x->room;
    if (room > limit / (int64_t)sizeof(int64_t) / x->n) return BF_E_MEMORY;
    const size_t before = (size_t)(x->room * x->n), all = (size_t)(room * x->n);
    int64_t *counts = realloc(x->counts, all * sizeof *counts);
    if (!counts) return BF_E_MEMORY;
    memset(counts + before, 0, (all - before) * sizeof *counts);
    x->counts = counts;
    x->room = room;
    return BF_OK;
}

/* The bin of a value between the first edge and the last. */
static int64_t bin_of(const by_hist *x, double value) {
    int64_t i = 0, last = x->n;
    if (x->scale > 0 && isfinite(x->scale)) {
        i = (int64_t)fmin((value - x->edges[0]) * x->scale, (double)(x->n - 1));
        while (i > 0 && value < x->edges[i]) i--;
        while (i + 1 < x->n && value >= x->edges[i + 1]) i++;
        return i;
    }
    while (last - i > 1) {
        const int64_t middle = i + (last - i) / 2;
        *(value >= x->edges[middle] ? &i : &last) = middle;
    }
    return i;
}

static void count_value(by_hist *x, int64_t key, double value) {
    x->others.count++;
    if (value >= x->edges[0] && value <= x->edges[x->n])
        x->counts[key * x->n + bin_of(x, value)]++;
    else
        ++*(value < x->edges[0] ? &x->others.below
            : value == value    ? &x->others.above
                                : &x->others.nan);
}

static bf_status number_keys(by_hist *x, int64_t **numbers) {
    const table *t = &x->table;
    const bf_column *columns[BF_KEY_COLUMNS_MAX];
    for (int i = 0; i < t->asked->keys; i++)
        columns[i] = &t->columns[t->key_columns[i]].view.column;
    *numbers = buffer_take(&x->numbers, (size_t)t->n * sizeof **numbers);
    if (!*numbers) return BF_E_MEMORY;
    const bf_array to = bf_array_of(BF_I64, *numbers, t->n);
    const bf_status st = bf_dictionary_encode(x->keys, columns, &to);
    return st == BF_OK ? reserve(x, bf_dictionary_size(x->keys)) : st;
}

static int take_counts(by_hist *x, double *values, int64_t n) {
    const uint8_t *valid = x->table.values[0].valid;
    int64_t *numbers, at = 0;
    if (x->table.n == 0) return EXIT_DONE;
    const bf_status st = number_keys(x, &numbers);
    if (st != BF_OK) return failed(x, st);
    for (int64_t i = 0; i < x->table.n && at < n; i++)
        if (!valid || valid[i]) count_value(x, numbers[i], values[at++]);
    return EXIT_DONE;
}

/* ---- the sheet ------------------------------------------------------------------------------- */

/* Columns of some rows, whose keys have these numbers, one for each row. */
typedef struct by_rows {
    int64_t n;
    int64_t *numbers, *counts;
    double *lo, *hi;
    sheet_column columns[BF_KEY_COLUMNS_MAX + 3];
    bf_strings strings[BF_KEY_COLUMNS_MAX];
    void *memory[3 * BF_KEY_COLUMNS_MAX];
    int held;
} by_rows;

static void *hold(by_rows *r, size_t bytes) {
    return r->memory[r->held++] = large_alloc(bytes + 1);
}

static void release(by_rows *r) {
    while (r->held > 0) free(r->memory[--r->held]);
}

static bf_status take_strings(const by_hist *x, int k, by_rows *r, const bf_array *valid) {
    int64_t *offsets = hold(r, (size_t)(r->n + 1) * sizeof *offsets);
    const bf_array numbers = bf_array_of(BF_I64, r->numbers, r->n),
                   places = bf_array_of(BF_I64, offsets, r->n + 1);
    if (!offsets) return BF_E_MEMORY;
    bf_status st = bf_dictionary_strings(x->keys, k, &numbers, &places, NULL, 0, NULL);
    const int64_t room = st == BF_OK ? offsets[r->n] : 0;
    char *bytes = st == BF_OK ? hold(r, (size_t)room) : NULL;
    if (!bytes) return st == BF_OK ? BF_E_MEMORY : st;
    r->strings[k] = (bf_strings){sizeof(bf_strings), r->n, BF_I64, offsets, bytes};
    r->columns[k].strings = &r->strings[k];
    return bf_dictionary_strings(x->keys, k, &numbers, &places, bytes, room, valid);
}

static bf_status take_key(const by_hist *x, int k, by_rows *r) {
    const table *t = &x->table;
    const table_column *c = &t->columns[t->key_columns[k]];
    const bf_array numbers = bf_array_of(BF_I64, r->numbers, r->n);
    uint8_t *known = hold(r, (size_t)r->n);
    const bf_array valid = bf_array_of(BF_BOOL, known, r->n);
    if (!known) return BF_E_MEMORY;
    r->columns[k] = (sheet_column){.name = table_key_name(t, k),
                                   .dtype = c->dtype,
                                   .scale = c->scale,
                                   .time = c->time,
                                   .typed = t->typed,
                                   .valid = known};
    if (c->dtype == BF_NONE) return take_strings(x, k, r, &valid);
    void *array = hold(r, (size_t)r->n * bf_dtype_size(c->dtype));
    const bf_array values = bf_array_of(c->dtype, array, r->n);
    r->columns[k].array = array;
    return array ? bf_dictionary_values(x->keys, k, &numbers, &values, &valid) : BF_E_MEMORY;
}

/* Makes the rows of `groups` keys, of which list[i] has the number of each. */
static bf_status make_rows(const by_hist *x, const int64_t *list, int64_t groups, by_rows *r) {
    const int keys = x->asked.keys;
    r->n = 0;
    for (int64_t g = 0; g < groups; g++)
        for (int64_t i = 0; i < x->n; i++, r->n++) {
            r->numbers[r->n] = list[g];
            r->lo[r->n] = x->edges[i];
            r->hi[r->n] = x->edges[i + 1];
            r->counts[r->n] = x->counts[list[g] * x->n + i];
        }
    r->columns[keys] = (sheet_column){.name = "lo", .dtype = BF_F64, .array = r->lo};
    r->columns[keys + 1] = (sheet_column){.name = "hi", .dtype = BF_F64, .array = r->hi};
    r->columns[keys + 2] = (sheet_column){.name = "count", .dtype = BF_I64, .array = r->counts};
    bf_status st = BF_OK;
    for (int k = 0; k < keys && st == BF_OK; k++) st = take_key(x, k, r);
    return st;
}

static int put_rows(by_hist *x, const by_rows *r) {
    const sheet_subject subject = {report_command_name(), x->asked.file, "", 0};
    const sheet s = {.columns = r->columns, .count = x->asked.keys + 3, .rows = r->n};
    return output_sheet(&x->output, sheet_form_of(&x->options), &s, &subject);
}

/* ---- plots ----------------------------------------------------------------------------------- */

static void title_of(const by_hist *x, const by_rows *r, char title[TITLE]) {
    size_t used = 0;
    for (int k = 0; k < x->asked.keys; k++) {
        const sheet_column *c = &r->columns[k];
        char text[TITLE] = "";
        if (c->valid[0] && c->strings) {
            const int64_t *const at = c->strings->offsets;
            snprintf(text, sizeof text, "%.*s", (int)(at[1] < TITLE ? at[1] : TITLE - 1),
                     c->strings->bytes);
        } else if (c->valid[0]) {
            const bf_value v = output_element(c->dtype, c->scale, c->array, 0);
            const bf_value timed = value_of_time(v, c->time);
            output_format(&timed, false, text);
        }
        char shown[TITLE];
        utf8_copy(shown, sizeof shown, text);
        const int n = snprintf(title + used, TITLE - used, "%s%s", k ? ", " : "", shown);
        used += (size_t)n < TITLE - used ? (size_t)n : TITLE - used - 1;
    }
}

static int put_plot(by_hist *x, const by_rows *r, bool first) {
    char title[TITLE] = "";
    title_of(x, r, title);
    const plot p = {.n = x->n,
                    .edges = x->edges,
                    .counts = r->counts,
                    .log = x->options.log,
                    .title = title,
                    .x_label = x->asked.value[0].text,
                    .y_label = "count",
                    .note = ""};
    const terminal t = terminal_find(STDOUT_FILENO);
    if (!first) putc('\n', x->output.stream);
    plot_terminal(x->output.stream, &p, &t);
    return EXIT_DONE;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Lists the keys in their order. NULL: *st says why not. */
static int64_t *order_keys(const by_hist *x, bf_status *st) {
    const int64_t n = bf_dictionary_size(x->keys);
    int64_t *ranks = malloc((size_t)(n + 1) * sizeof *ranks);
    int64_t *list = malloc((size_t)(n + 1) * sizeof *list);
    const bf_array all = bf_array_of(BF_I64, ranks, n);
    *st = ranks && list ? bf_dictionary_ranks(x->keys, &all) : BF_E_MEMORY;
    for (int64_t i = 0; i < n && *st == BF_OK; i++) list[ranks[i]] = i;
    free(ranks);
    if (*st == BF_OK) return list;
    free(list);
    return NULL;
}

static bool open_rows(by_rows *r, int64_t most) {
    r->numbers = malloc((size_t)most * sizeof *r->numbers);
    r->counts = malloc((size_t)most * sizeof *r->counts);
    r->lo = malloc((size_t)most * sizeof *r->lo);
    r->hi = malloc((size_t)most * sizeof *r->hi);
    return r->numbers && r->counts && r->lo && r->hi;
}

static void close_rows(by_rows *r) {
    free(r->numbers);
    free(r->counts);
    free(r->lo);
    free(r->hi);
}

/* Shows keys, as many together as make a part of a sheet; a plot shows one. */
static int show_keys(by_hist *x, const int64_t *list, by_rows *r, int64_t each) {
    const int64_t n = bf_dictionary_size(x->keys);
    int code = EXIT_DONE;
    for (int64_t at = 0; (at < n || at == 0) && code == EXIT_DONE; at += each) {
        const bf_status st = make_rows(x, list + at, n - at < each ? n - at : each, r);
        if (st != BF_OK)
            code = failed(x, st);
        else if (x->form == HIST_PLOT)
            code = n > 0 ? put_plot(x, r, at == 0) : EXIT_DONE;
        else
            code = put_rows(x, r);
        release(r);
    }
    return code;
}

static int show(by_hist *x) {
    by_rows r = {.n = 0};
    const int64_t each = x->form == HIST_PLOT || x->n > ROWS ? 1 : ROWS / x->n;
    bf_status st;
    int64_t *list = order_keys(x, &st);
    if (list && !open_rows(&r, each * x->n)) st = BF_E_MEMORY;
    const int code = st == BF_OK ? show_keys(x, list, &r, each) : failed(x, st);
    close_rows(&r);
    free(list);
    return code;
}

static int tell_others(const by_hist *x) {
    char others[HIST_OTHERS];
    hist_others(&x->others, others);
    if (!*others) return EXIT_DONE;
    if (x->options.strict) return fail(EXIT_DATA, x->asked.file, "in no bin: %s", others);
    inform(x->asked.file, "in no bin: %s", others);
    return EXIT_DONE;
}

static int check_line(const options *o) {
    const char *option = o->weights            ? "--weights"
                         : o->density          ? "--density"
                         : o->save             ? "--save"
                         : o->checkpoint       ? "--checkpoint"
                         : ranks_count() > 1   ? "a run over ranks"
                         : o->form >= FORM_NPY ? "-o of a figure or an array"
                         : o->input.format == FORMAT_NPY || o->input.format == FORMAT_RAW
                             ? "--format of an array"
                             : NULL;
    if (option) return fail(EXIT_USAGE, NULL, "%s does not go with --by", option);
    if (o->expression || o->input.text.columns) return EXIT_DONE;
    fail(EXIT_USAGE, NULL, "--by needs the values: --column V, or -e");
    return EXIT_USAGE;
}

/* The table has the value as that of an aggregate. */
static void ask_for_value(by_hist *x, const options *o) {
    x->options = *o;
    x->options.aggregates[0] =
        (struct wanted_aggregate){.option = o->expression ? "e" : "column",
                                  .op = BF_MIN,
                                  .values = o->expression ? o->expression : o->input.text.columns};
    x->options.aggregate_count = 1;
    x->options.expression = x->options.input.text.columns = NULL;
}

static int open_all(by_hist *x, const options *o) {
    int code = check_line(o);
    ask_for_value(x, o);
    if (code == EXIT_DONE) code = hist_form_of(o, &x->form);
    if (code == EXIT_DONE) code = context_open(&x->context, o);
    if (code == EXIT_DONE) code = hist_bins_read(&x->bins, x->context, o);
    if (code == EXIT_DONE && hist_bins_are_wide(&x->bins))
        code = fail(EXIT_USAGE, NULL, "--by compares edges below 2^53");
    if (code == EXIT_DONE) code = table_make(&x->table, &x->options);
    if (code == EXIT_DONE) code = output_open(&x->output, &x->options, false);
    if (code != EXIT_DONE) return code;
    asked_open(&x->asked, &x->options, x->context);
    return table_open(&x->table, &x->asked, x->context);
}

static int run(by_hist *x, const options *o) {
    int code = open_all(x, o);
    if (code == EXIT_DONE) code = make_bins(x);
    if (code == EXIT_DONE) code = walk(x, take_counts, begin_counts);
    if (code == EXIT_DONE) code = tell_others(x);
    if (code == EXIT_DONE) code = show(x);
    return code == EXIT_DONE ? output_close(&x->output) : code;
}

static void close_all(by_hist *x) {
    extremes_close(&x->extremes);
    automatic_close(&x->automatic);
    selection_close(&x->selection);
    bf_histogram_destroy(x->empty);
    bf_dictionary_destroy(x->keys);
    table_close(&x->table);
    asked_close(&x->asked);
    hist_bins_free(&x->bins);
    buffer_free(&x->numbers);
    buffer_free(&x->doubles);
    free(x->counts);
    bf_context_destroy(x->context);
    free(x);
}

int hist_by_run(const options *o) {
    by_hist *x = calloc(1, sizeof *x); /* too large for a small stack */
    if (!x) return fail_status(BF_E_MEMORY, NULL, NULL);
    const int code = run(x, o);
    if (code != EXIT_DONE) output_abandon(&x->output);
    close_all(x);
    return code;
}
