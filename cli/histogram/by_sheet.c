#include "histogram/by_sheet.h"

#include "container/npy_write.h"
#include "memory/large.h"
#include "plot/plot.h"
#include "runtime/utf8.h"
#include "runtime/value.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Rows of a sheet that are made together, about; bytes of a plot's title; and the most plots of a
 * figure. */
enum { ROWS = 1 << 14, TITLE = 256, PLOTS = 25 };

static int failed(const by_counts *x, bf_status st) {
    return fail_status(st, x->table->context, x->table->asked->file);
}

/* ---- the sheet ------------------------------------------------------------------------------- */

/* Columns of some rows, whose keys have these numbers, one for each row. */
typedef struct by_rows {
    int64_t n;
    int64_t *numbers;
    uint64_t *lo, *hi, *shown; /* edges: times or doubles; counts, or doubles */
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

static bf_status take_strings(const by_counts *x, int k, by_rows *r, const bf_array *valid) {
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

static bf_status take_key(const by_counts *x, int k, by_rows *r) {
    const table *t = x->table;
    const table_column *c = &t->columns[t->key_columns[k]];
    const bf_array numbers = bf_array_of(BF_I64, r->numbers, r->n);
    uint8_t *known = hold(r, (size_t)r->n);
    const bf_array valid = bf_array_of(BF_BOOL, known, r->n);
    if (!known) return BF_E_MEMORY;
    r->columns[k] = (sheet_column){
        .name = table_key_name(t, k), .form = c->form, .typed = t->typed, .valid = known};
    if (c->form.dtype == BF_NONE) return take_strings(x, k, r, &valid);
    void *array = hold(r, (size_t)r->n * bf_dtype_size(c->form.dtype));
    const bf_array values = bf_array_of(c->form.dtype, array, r->n);
    r->columns[k].array = array;
    return array ? bf_dictionary_values(x->keys, k, &numbers, &values, &valid) : BF_E_MEMORY;
}

/* The bits of an edge: of times, those of the first that is not before it. */
static uint64_t edge_at(const by_counts *x, int64_t i) {
    uint64_t bits;
    if (x->form.time) return (uint64_t)(x->integers ? x->integers[i] : (int64_t)ceil(x->edges[i]));
    memcpy(&bits, &x->edges[i], sizeof bits);
    return bits;
}

static sheet_column edge_column(const by_counts *x, const char *name, const void *edges) {
    return (sheet_column){.name = name, .form = x->form, .array = edges};
}

static const char *value_name(const by_counts *x) {
    return x->options->density ? "density" : x->values ? "weight" : "count";
}

static bf_dtype value_dtype(const by_counts *x) { return x->values ? BF_F64 : BF_I64; }

/* What is shown of a key: of each bin a double, or a count. */
static const uint64_t *shown_at(const by_counts *x, int64_t key) {
    return (const uint64_t *)(x->values ? (const void *)x->values : x->counts) + key * x->n;
}

/* Makes the rows of `groups` keys, of which list[i] has the number of each. */
static bf_status make_rows(const by_counts *x, const int64_t *list, int64_t groups, by_rows *r) {
    const int keys = x->table->asked->keys;
    r->n = 0;
    for (int64_t g = 0; g < groups; g++)
        for (int64_t i = 0; i < x->n; i++, r->n++) {
            r->numbers[r->n] = list[g];
            r->lo[r->n] = edge_at(x, i);
            r->hi[r->n] = edge_at(x, i + 1);
            memcpy(&r->shown[r->n], shown_at(x, list[g]) + i, sizeof *r->shown);
        }
    r->columns[keys] = edge_column(x, "lo", r->lo);
    r->columns[keys + 1] = edge_column(x, "hi", r->hi);
    r->columns[keys + 2] =
        (sheet_column){.name = value_name(x), .form.dtype = value_dtype(x), .array = r->shown};
    bf_status st = BF_OK;
    for (int k = 0; k < keys && st == BF_OK; k++) st = take_key(x, k, r);
    return st;
}

static int put_rows(const by_counts *x, const by_rows *r) {
    const sheet s = {.columns = r->columns, .count = x->table->asked->keys + 3, .rows = r->n};
    return output_sheet(x->output, sheet_form_of(x->options), &s, x->table->asked->file);
}

/* ---- plots ----------------------------------------------------------------------------------- */

static void title_of(const by_counts *x, const by_rows *r, char title[TITLE]) {
    if (x->options->title) utf8_copy(title, TITLE / 2, x->options->title);
    size_t used = strlen(title);
    for (int k = 0; k < x->table->asked->keys; k++) {
        const sheet_column *c = &r->columns[k];
        char text[TITLE] = "NULL";
        if (c->valid[0] && c->strings) {
            const int64_t *const at = c->strings->offsets;
            snprintf(text, sizeof text, "%.*s", (int)(at[1] < TITLE ? at[1] : TITLE - 1),
                     c->strings->bytes);
        } else if (c->valid[0]) {
            const bf_value v = sheet_value(c, 0);
            output_format(&v, false, text);
        }
        char shown[TITLE];
        utf8_copy(shown, sizeof shown, text);
        const int n = snprintf(title + used, TITLE - used, "%s%s",
                               k      ? ", "
                               : used ? ": "
                                      : "",
                               shown);
        used += (size_t)n < TITLE - used ? (size_t)n : TITLE - used - 1;
    }
}

static plot plot_of(const by_counts *x, int64_t key, const char *title) {
    return (plot){.n = x->n,
                  .edges = x->edges,
                  .time = x->form.time,
                  .time_scale = x->form.scale,
                  .times = x->integers,
                  .counts = x->counts + key * x->n,
                  .values = x->values ? x->values + key * x->n : NULL,
                  .density = x->options->density,
                  .log = x->options->log,
                  .title = title,
                  .x_label = x->table->asked->value[0].text,
                  .y_label = hist_value_label(x->options),
                  .note = ""};
}

static int put_plot(const by_counts *x, const by_rows *r, bool first) {
    char title[TITLE] = "";
    title_of(x, r, title);
    const plot p = plot_of(x, r->numbers[0], title);
    const terminal t = terminal_find(STDOUT_FILENO);
    if (!first) putc('\n', x->output->stream);
    plot_terminal(x->output->stream, &p, &t);
    return EXIT_DONE;
}

/* Draws a plot for each key, all of them in one figure. */
static int put_figure(const by_counts *x, const int64_t *list, by_rows *r) {
    const int64_t n = bf_dictionary_size(x->keys);
    char titles[PLOTS][TITLE] = {""};
    plot plots[PLOTS];
    if (n < 1 || n > PLOTS) {
        fail(EXIT_DATA, x->table->asked->file, "a figure shows 1 to %d keys: there are %" PRId64,
             PLOTS, n);
        hint("-o FILE.tsv and FILE.npy hold any number; --where chooses some");
        return EXIT_DATA;
    }
    for (int64_t i = 0; i < n; i++) {
        const bf_status st = make_rows(x, list + i, 1, r);
        if (st == BF_OK) title_of(x, r, titles[i]);
        release(r);
        if (st != BF_OK) return failed(x, st);
        plots[i] = plot_of(x, list[i], titles[i]);
    }
    return plot_figure(x->output->stream, x->output->file.name, plots, (int)n,
                       hist_figure_of(x->shape));
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* A row for each key, of its bins. */
static int put_array(const by_counts *x, const int64_t *list) {
    char bytes[NPY_WRITE_MAX];
    const int64_t n = bf_dictionary_size(x->keys);
    const npy_header h = {.dtype = value_dtype(x), .ndim = 2, .shape = {n, x->n}};
    FILE *const f = x->output->stream;
    fwrite(bytes, 1, npy_write_header(&h, bytes), f);
    for (int64_t i = 0; i < n && !ferror(f); i++)
        fwrite(shown_at(x, list[i]), sizeof(uint64_t), (size_t)x->n, f);
    return output_flush(f, x->output->file.name);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Lists the keys in their order. NULL: *st says why not. */
static int64_t *order_keys(const by_counts *x, bf_status *st) {
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
    r->shown = malloc((size_t)most * sizeof *r->shown);
    r->lo = malloc((size_t)most * sizeof *r->lo);
    r->hi = malloc((size_t)most * sizeof *r->hi);
    return r->numbers && r->shown && r->lo && r->hi;
}

static void close_rows(by_rows *r) {
    free(r->numbers);
    free(r->shown);
    free(r->lo);
    free(r->hi);
}

/* Shows keys, as many together as make a part of a sheet; a plot shows one. */
static int show_keys(const by_counts *x, const int64_t *list, by_rows *r, int64_t each) {
    const int64_t n = bf_dictionary_size(x->keys);
    int code = EXIT_DONE;
    for (int64_t at = 0; (at < n || at == 0) && code == EXIT_DONE; at += each) {
        const bf_status st = make_rows(x, list + at, n - at < each ? n - at : each, r);
        if (st != BF_OK)
            code = failed(x, st);
        else if (x->shape == HIST_PLOT)
            code = n > 0 ? put_plot(x, r, at == 0) : EXIT_DONE;
        else
            code = put_rows(x, r);
        release(r);
    }
    return code;
}

static int put(const by_counts *x, const int64_t *list, by_rows *r, int64_t each) {
    if (x->shape == HIST_NPY) return put_array(x, list);
    if (x->shape >= HIST_PNG) return put_figure(x, list, r);
    return show_keys(x, list, r, each);
}

int by_sheet_put(const by_counts *x) {
    by_rows r = {.n = 0};
    const bool alone = x->shape == HIST_PLOT || x->shape >= HIST_PNG || x->n > ROWS;
    const int64_t each = alone ? 1 : ROWS / x->n, all = bf_dictionary_size(x->keys) * x->n;
    int code = hist_check_log(x->options, x->table->asked->file, x->values, all);
    bf_status st;
    if (code != EXIT_DONE) return code;
    int64_t *list = order_keys(x, &st);
    if (list && !open_rows(&r, each * x->n)) st = BF_E_MEMORY;
    code = st == BF_OK ? put(x, list, &r, each) : failed(x, st);
    close_rows(&r);
    free(list);
    return code;
}
