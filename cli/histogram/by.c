#include "histogram/by.h"

#include "histogram/bins.h"
#include "histogram/by_sheet.h"
#include "options/context.h"
#include "runtime/info.h"
#include "sheet/output.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct by_hist {
    options options; /* for the table: they ask for the value as group's do for theirs */
    enum hist_form shape;
    bf_context *context;
    output output;
    asked asked;
    table table;
    hist_bins bins;
    extremes extremes;
    automatic automatic;
    selection selection;
    bf_histogram *empty; /* has the edges */
    units_form form;     /* the values are times, as i64, or doubles */
    const double *edges;
    const int64_t *integers; /* the edges, where they are times; NULL: they are doubles */
    int64_t n;               /* bins */
    bf_dictionary *keys;
    int64_t *counts;          /* key 0 has the first n of them, key 1 the next, and so on */
    int64_t room;             /* keys */
    bf_groups *sums, *totals; /* by places of counts, and by keys; NULL: no weights */
    double *shown;            /* what is shown in the place of counts; NULL: they are */
    bf_histogram_info others;
    buffer numbers, values, places, weights;
} by_hist;

static int failed(const by_hist *x, bf_status st) {
    return fail_status(st, x->context, x->asked.file);
}

/* ---- the rows at hand ------------------------------------------------------------------------ */

/* The weights of values; NULL: there are none. */
static const table_value *weights_of(const by_hist *x) {
    return x->options.weights ? &x->table.values[x->asked.result[1].value] : NULL;
}

static bool has_value(const by_hist *x, int64_t row) {
    const table_value *const v = &x->table.values[0], *const w = weights_of(x);
    return (!v->valid || v->valid[row]) && (!w || !w->valid || w->valid[row]);
}

/* Leaves numbers of the rows that have a value, as the doubles nearest to them; -0 as 0, for edges
 * are compared so. Returns how many they are. */
static int64_t take_doubles(const by_hist *x, const table_value *v, double *to) {
    int64_t n = 0;
    for (int64_t i = 0; i < x->table.n; i++) {
        if (!has_value(x, i)) continue;
        to[n++] = units_double(v->array.dtype, v->form.scale, v->array.data, i) + 0.0;
    }
    return n;
}

/* Leaves times likewise, in units of the form; -1: 64 bits do not hold one of them. */
static int64_t take_times(const by_hist *x, int64_t *to) {
    const table_value *v = &x->table.values[0];
    const int64_t power = (int64_t)text_power_of_ten(x->form.scale - v->form.scale);
    int64_t n = 0;
    for (int64_t i = 0; i < x->table.n; i++) {
        if (!has_value(x, i)) continue;
        const text_i128 units = units_at(v->array.dtype, v->array.data, i);
        const bool fits = units >= INT64_MIN && units <= INT64_MAX;
        if (!fits || __builtin_mul_overflow((int64_t)units, power, &to[n++])) return -1;
    }
    return n;
}

static int take_values(by_hist *x, bf_array *values) {
    void *const to = buffer_take(&x->values, (size_t)x->table.n * sizeof(int64_t));
    const int64_t n = !to            ? 0
                      : x->form.time ? take_times(x, to)
                                     : take_doubles(x, &x->table.values[0], to);
    *values = bf_array_of(x->form.dtype, to, n);
    if (!to) return failed(x, BF_E_MEMORY);
    if (n >= 0) return EXIT_DONE;
    return fail(EXIT_DATA, x->asked.file,
                "64 bits do not hold a time with the digits of a second that others have");
}

/* What the values are, by what is known of their column. */
static int find_form(by_hist *x) {
    const table_value *v = &x->table.values[0];
    const int scale = hist_bins_scale(&x->bins);
    const bool given = x->options.edges || x->options.range;
    if (given && !v->form.time != !x->bins.times)
        return fail(EXIT_USAGE, x->asked.file, "--edges and --range are %s, and %s has %s",
                    x->bins.times ? "times" : "numbers", x->asked.value[0].text,
                    v->form.time ? "times" : "numbers");
    x->form = (units_form){BF_F64, 0, BF_TIME_NONE};
    if (v->form.time)
        x->form = (units_form){BF_I64, v->form.scale > scale ? v->form.scale : scale, v->form.time};
    return EXIT_DONE;
}

/* ---- walks ----------------------------------------------------------------------------------- */

typedef int by_taker(by_hist *x, bf_array *values);

typedef bf_status by_beginner(by_hist *x);

/* Takes all rows, from the first on. begin drops what an earlier walk took of columns that turned
 * out to be others. */
static int walk_once(by_hist *x, by_taker *take, by_beginner *begin) {
    bool end = false;
    int code = table_begin(&x->table);
    if (code == EXIT_DONE) code = find_form(x);
    const bf_status st = code == EXIT_DONE ? begin(x) : BF_OK;
    if (st != BF_OK) code = failed(x, st);
    while (code == EXIT_DONE) {
        bf_array values;
        code = table_next(&x->table, &end);
        if (code != EXIT_DONE || end) break;
        code = take_values(x, &values);
        if (code == EXIT_DONE) code = take(x, &values);
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
    return extremes_open(&x->extremes, x->context, x->form.dtype);
}

static int take_extremes(by_hist *x, bf_array *values) {
    bf_status st = BF_OK;
    if (x->bins.wanted.range) st = selection_take(&x->selection, x->context, values);
    if (st == BF_OK && values->shape[0] > 0)
        st = extremes_absorb(&x->extremes, x->context, values->data, values->shape[0]);
    return st == BF_OK ? EXIT_DONE : failed(x, st);
}

static bf_status begin_pass(by_hist *x) {
    return x->automatic.below ? BF_OK : automatic_open(&x->automatic, x->context, x->form.dtype);
}

static int take_pass(by_hist *x, bf_array *values) {
    bf_status st = selection_take(&x->selection, x->context, values);
    if (st == BF_OK) st = automatic_absorb(&x->automatic, values);
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

static void note_edges(by_hist *x) {
    x->others = histogram_info(x->empty);
    x->edges = bf_histogram_edges(x->empty);
    x->integers = x->form.time ? bf_histogram_integers(x->empty) : NULL;
    x->n = x->others.bins;
}

static bf_status begin_nothing(by_hist *x) {
    (void)x;
    return BF_OK;
}

static int take_nothing(by_hist *x, bf_array *values) {
    (void)x;
    (void)values;
    return EXIT_DONE;
}

/* Edges that are times have the form of the values, which all rows tell. */
static int settle_edges(by_hist *x) {
    const int code = x->bins.times ? walk(x, take_nothing, begin_nothing) : EXIT_DONE;
    if (code != EXIT_DONE || !x->bins.times) return code;
    return hist_bins_take_form(&x->bins, x->form, x->asked.file);
}

static int make_bins(by_hist *x) {
    int64_t bins = 1;
    int code = settle_edges(x);
    x->selection.lo = x->bins.wanted.range ? x->bins.wanted.lo : -DBL_MAX;
    x->selection.hi = x->bins.wanted.range ? x->bins.wanted.hi : DBL_MAX;
    if (code == EXIT_DONE && hist_bins_need_data(&x->bins))
        code = walk(x, take_extremes, begin_extremes);
    if (code == EXIT_DONE && x->bins.wanted.bins == BF_BINS_AUTO) code = find_automatic(x, &bins);
    if (code != EXIT_DONE) return code;
    const bf_status st =
        hist_bins_make(&x->bins, x->context, &x->extremes, bins, x->form, BF_NONE, &x->empty);
    if (st != BF_OK) return hist_bins_fail(&x->options, x->context, st, x->asked.file);
    note_edges(x);
    return EXIT_DONE;
}

/* ---- counting -------------------------------------------------------------------------------- */

static bf_status begin_sums(by_hist *x) {
    const bf_aggregate sum = {BF_SUM, BF_F64};
    const bf_groups_options how = BF_GROUPS_OPTIONS(.key = BF_I64, .count = 1, .aggregates = &sum);
    bf_groups_destroy(x->sums);
    bf_groups_destroy(x->totals);
    x->sums = x->totals = NULL;
    if (!x->options.weights) return BF_OK;
    const bf_status st = bf_groups_create(x->context, &how, &x->sums);
    return st == BF_OK ? bf_groups_create(x->context, &how, &x->totals) : st;
}

static bf_status begin_counts(by_hist *x) {
    const table *t = &x->table;
    bf_dtype dtypes[BF_KEY_COLUMNS_MAX];
    const bf_status st = begin_sums(x);
    if (st != BF_OK) return st;
    bf_dictionary_destroy(x->keys);
    x->keys = NULL;
    x->others.nan = x->others.below = x->others.above = x->others.count = 0;
    if (x->room > 0) memset(x->counts, 0, (size_t)(x->room * x->n) * sizeof *x->counts);
    for (int i = 0; i < t->asked->keys; i++) dtypes[i] = t->columns[t->key_columns[i]].form.dtype;
    return bf_dictionary_create(x->context, t->asked->keys, dtypes, &x->keys);
}

/* Makes room for the bins of so many keys, within the share of results. */
static bf_status reserve(by_hist *x, int64_t keys) {
    const int64_t all_results = x->options.memory.limit > 0 ? x->options.memory.results : INT64_MAX,
                  limit = all_results / (x->sums              ? 4
                                         : x->options.density ? 2
                                                              : 1);
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

/* Whether a value is above the last edge, or NaN. */
static bool is_above(const by_hist *x, const bf_array *values, int64_t i) {
    const int64_t *const times = values->data;
    const double *const doubles = values->data;
    return x->integers ? times[i] > x->integers[x->n] : !(doubles[i] <= x->edges[x->n]);
}

static bool is_nan(const by_hist *x, const bf_array *values, int64_t i) {
    return !x->integers && isnan(((const double *)values->data)[i]);
}

/* The bin of value i, of which so many edges are not above it; -1: none has it. The last bin has
 * the last edge, too. */
static int64_t find_bin(by_hist *x, const bf_array *values, int64_t i, int64_t edges) {
    const bool above = edges > x->n && is_above(x, values, i);
    x->others.count++;
    if (edges > 0 && !above) return (edges <= x->n ? edges : x->n) - 1;
    ++*(edges == 0 ? &x->others.below : is_nan(x, values, i) ? &x->others.nan : &x->others.above);
    return -1;
}

/* Finds how many edges are not above each value; NULL: *st says why not. */
static const int64_t *find_edges(by_hist *x, const bf_array *values, bf_status *st) {
    const int64_t n = values->shape[0];
    int64_t *const found = buffer_take(&x->places, (size_t)n * sizeof *found);
    const bf_array edges = x->integers ? bf_array_of(BF_I64, x->integers, x->n + 1)
                                       : bf_array_of(BF_F64, x->edges, x->n + 1),
                   to = bf_array_of(BF_I64, found, n);
    *st = found ? bf_searchsorted(x->context, &edges, values, 1, NULL, &to) : BF_E_MEMORY;
    return *st == BF_OK ? found : NULL;
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

/* Times become the doubles nearest to them, as edges between them are. */
static void round_times(bf_array *values) {
    int64_t *const at = values->data;
    for (int64_t i = 0; i < values->shape[0]; i++) {
        const double rounded = (double)at[i];
        memcpy(&at[i], &rounded, sizeof rounded);
    }
    values->dtype = BF_F64;
}

/* Adds n weights at places of counts, which become the keys'. */
static bf_status add_weights(by_hist *x, int64_t *places, const double *weights, int64_t n) {
    const bf_array at = bf_array_of(BF_I64, places, n), values = bf_array_of(BF_F64, weights, n);
    const bf_array *const list[] = {&values};
    const bf_status st = bf_groups_absorb(x->sums, &at, list);
    for (int64_t i = 0; i < n; i++) places[i] /= x->n;
    return st == BF_OK ? bf_groups_absorb(x->totals, &at, list) : st;
}

static int take_counts(by_hist *x, bf_array *values) {
    const table_value *const w = weights_of(x);
    double *const weights =
        w ? buffer_take(&x->weights, (size_t)x->table.n * sizeof *weights) : NULL;
    int64_t *numbers, at = 0, counted = 0;
    if (x->table.n == 0) return EXIT_DONE;
    if (w && !weights) return failed(x, BF_E_MEMORY);
    if (w) take_doubles(x, w, weights);
    if (x->form.time && !x->integers) round_times(values);
    bf_status st = number_keys(x, &numbers);
    const int64_t *const edges = st == BF_OK ? find_edges(x, values, &st) : NULL;
    if (!edges) return failed(x, st);
    for (int64_t i = 0; i < x->table.n; i++) {
        if (!has_value(x, i)) continue;
        const int64_t bin = find_bin(x, values, at, edges[at]);
        if (weights) weights[counted] = weights[at];
        at++;
        if (bin < 0) continue;
        numbers[counted] = numbers[i] * x->n + bin;
        x->counts[numbers[counted++]]++;
    }
    if (weights && counted > 0) st = add_weights(x, numbers, weights, counted);
    return st == BF_OK ? EXIT_DONE : failed(x, st);
}

/* ---- sums and densities ---------------------------------------------------------------------- */

/* Sets to[key] to the sum of each key of groups. */
static bf_status list_sums(bf_groups *groups, double *to) {
    const int64_t n = bf_groups_size(groups);
    int64_t *const keys = malloc((size_t)n * sizeof *keys + 1);
    double *const sums = malloc((size_t)n * sizeof *sums + 1);
    const bf_array all = bf_array_of(BF_I64, keys, n), values = bf_array_of(BF_F64, sums, n);
    bf_status st = keys && sums ? bf_groups_list(groups, &all, NULL) : BF_E_MEMORY;
    if (st == BF_OK) st = bf_groups_aggregate(groups, 0, NULL, &values, NULL);
    for (int64_t i = 0; st == BF_OK && i < n; i++) to[keys[i]] = sums[i];
    free(keys);
    free(sums);
    return st;
}

static double width_of(const by_hist *x, int64_t bin) {
    return x->integers ? (double)((uint64_t)x->integers[bin + 1] - (uint64_t)x->integers[bin])
                       : x->edges[bin + 1] - x->edges[bin];
}

/* Divides as a histogram of one key does. */
static bf_status divide(by_hist *x, int64_t keys) {
    double *const totals = calloc((size_t)keys + 1, sizeof *totals);
    bf_status st = totals ? BF_OK : BF_E_MEMORY;
    if (st == BF_OK && x->totals) st = list_sums(x->totals, totals);
    for (int64_t i = 0; st == BF_OK && i < keys * x->n && !x->totals; i++)
        totals[i / x->n] += (double)x->counts[i];
    for (int64_t i = 0; st == BF_OK && i < keys * x->n; i++)
        x->shown[i] = x->shown[i] / width_of(x, i % x->n) / totals[i / x->n];
    free(totals);
    return st;
}

static int find_shown(by_hist *x) {
    const int64_t keys = bf_dictionary_size(x->keys), n = keys * x->n;
    if (!x->sums && !x->options.density) return EXIT_DONE;
    x->shown = calloc((size_t)n + 1, sizeof *x->shown);
    bf_status st = x->shown ? BF_OK : BF_E_MEMORY;
    if (st == BF_OK && x->sums) st = list_sums(x->sums, x->shown);
    for (int64_t i = 0; st == BF_OK && !x->sums && i < n; i++) x->shown[i] = (double)x->counts[i];
    if (st == BF_OK && x->options.density) st = divide(x, keys);
    return st == BF_OK ? EXIT_DONE : failed(x, st);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int tell_others(const by_hist *x) {
    char others[HIST_OTHERS];
    hist_others(&x->others, others);
    if (!*others) return EXIT_DONE;
    if (x->options.strict) return fail(EXIT_DATA, x->asked.file, "in no bin: %s", others);
    inform(x->asked.file, "in no bin: %s", others);
    return EXIT_DONE;
}

static int show(by_hist *x) {
    const by_counts counts = {.options = &x->options,
                              .shape = x->shape,
                              .output = &x->output,
                              .table = &x->table,
                              .keys = x->keys,
                              .n = x->n,
                              .form = x->form,
                              .edges = x->edges,
                              .integers = x->integers,
                              .counts = x->counts,
                              .values = x->shown};
    return by_sheet_put(&counts);
}

static int check_line(const options *o) {
    const char *option = o->save         ? "--save"
                         : o->checkpoint ? "--checkpoint"
                         : o->input.format == FORMAT_NPY || o->input.format == FORMAT_RAW
                             ? "--format of an array"
                             : NULL;
    if (option) return fail(EXIT_USAGE, NULL, "%s does not go with --by", option);
    if (o->expression || o->input.text.columns) return EXIT_DONE;
    fail(EXIT_USAGE, NULL, "--by needs the values: --column V, or -e");
    return EXIT_USAGE;
}

/* The table has the value as that of an aggregate, and the weights as those of another. */
static void ask_for_value(by_hist *x, const options *o) {
    x->options = *o;
    x->options.aggregates[0] =
        (struct wanted_aggregate){.option = o->expression ? "e" : "column",
                                  .op = BF_MIN,
                                  .values = o->expression ? o->expression : o->input.text.columns};
    x->options.aggregates[1] =
        (struct wanted_aggregate){.option = "weights", .op = BF_SUM, .values = o->weights};
    x->options.aggregate_count = o->weights ? 2 : 1;
    x->options.expression = x->options.input.text.columns = NULL;
}

static int open_all(by_hist *x, const options *o) {
    int code = check_line(o);
    ask_for_value(x, o);
    if (code == EXIT_DONE) code = hist_form_of(o, &x->shape);
    if (code == EXIT_DONE) code = context_open(&x->context, o);
    if (code == EXIT_DONE) code = hist_bins_read(&x->bins, x->context, o);
    if (code == EXIT_DONE && hist_bins_are_wide(&x->bins))
        code = fail(EXIT_USAGE, NULL, "--by compares edges below 2^53");
    if (code == EXIT_DONE) code = table_make(&x->table, &x->options);
    if (code == EXIT_DONE) code = output_open(&x->output, &x->options, false);
    if (code != EXIT_DONE) return code;
    x->form.dtype = BF_F64; /* unless the values turn out to be times */
    asked_open(&x->asked, &x->options, x->context);
    return table_open(&x->table, &x->asked, x->context);
}

static int run(by_hist *x, const options *o) {
    int code = open_all(x, o);
    if (code == EXIT_DONE) code = make_bins(x);
    if (code == EXIT_DONE) code = walk(x, take_counts, begin_counts);
    if (code == EXIT_DONE) code = tell_others(x);
    if (code == EXIT_DONE) code = find_shown(x);
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
    buffer_free(&x->values);
    buffer_free(&x->places);
    buffer_free(&x->weights);
    bf_groups_destroy(x->sums);
    bf_groups_destroy(x->totals);
    free(x->counts);
    free(x->shown);
    bf_context_destroy(x->context);
    free(x);
}

int hist_by_run(const options *o) {
    by_hist *x = calloc(1, sizeof *x); /* too large for a small stack */
    if (!x) return fail_memory(NULL);
    const int code = run(x, o);
    if (code != EXIT_DONE) output_abandon(&x->output);
    close_all(x);
    return code;
}
