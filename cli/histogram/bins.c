#include "histogram/bins.h"

#include "input/rows.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the options ----------------------------------------------------------------------------- */

static int refuse_operand(const char *option, const char *text, const char *expected) {
    return fail(EXIT_USAGE, NULL, "bad operand of --%s: '%s' is not %s", option, text, expected);
}

static int read_count(hist_bins *b, const char *text) {
    char *end;
    errno = 0;
    b->wanted.bins = BF_BINS_AUTO;
    if (!text || strcmp(text, "auto") == 0) return EXIT_DONE;
    const long long n = strtoll(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || n < 1 || n > BF_BINS_MAX)
        return refuse_operand("bins", text, "auto or a whole number from 1 to 2147483648");
    b->wanted.bins = n;
    return EXIT_DONE;
}

/* A number, with nothing before it; false if there is none. */
static bool read_number(const char **at, double *x) {
    char *end;
    if (isspace((unsigned char)**at)) return false;
    *x = strtod(*at, &end);
    const bool some = end != *at;
    *at = end;
    return some;
}

static int read_range(hist_bins *b, const char *text) {
    const char *at = text;
    if (!text) return EXIT_DONE;
    b->wanted.range = 1;
    const bool lo = read_number(&at, &b->wanted.lo) && *at++ == ':';
    if (!lo || !read_number(&at, &b->wanted.hi) || *at || !isfinite(b->wanted.lo) ||
        !isfinite(b->wanted.hi) || b->wanted.lo > b->wanted.hi)
        return refuse_operand("range", text, "LO:HI, two numbers, the lesser first");
    return EXIT_DONE;
}

/* Numbers with commas between them; false if it is something else: a file's name. */
static bool read_list(hist_bins *b, const char *text) {
    size_t n = 0, room = strlen(text) / 2 + 1;
    b->list = calloc(room, sizeof(double));
    for (const char *at = text; b->list; at++) {
        if (!read_number(&at, &b->list[n++])) return false;
        if (*at != ',' && *at != '\0') return false;
        if (*at == '\0') break;
    }
    b->wanted.edges = b->list;
    b->wanted.bins = (int64_t)n - 1;
    return b->list != NULL && n > 1;
}

/* A file's numbers become doubles, as all edges are. */
static int take_edges(hist_bins *b, bf_context *context, rows *r) {
    const char *name = r->source.name;
    bf_array found;
    rows_demand(r, BF_F64);
    const int code = rows_load(r, &found);
    if (code != EXIT_DONE) return code;
    const int64_t n = found.shape[0];
    b->list = malloc((size_t)n * sizeof(double) + 1);
    if (!b->list) return fail_status(BF_E_MEMORY, NULL, name);
    const bf_array edges = bf_array_of(BF_F64, b->list, n), *const inputs[] = {&found};
    const bf_status st = bf_map(context, BF_MAP_CAST, inputs, 1, NULL, &edges);
    b->wanted.edges = b->list;
    b->wanted.bins = n - 1;
    return st == BF_OK ? EXIT_DONE : fail_status(st, context, name);
}

static int read_edges_file(hist_bins *b, bf_context *context, const char *name) {
    const input in = {.count = -1, .dtype = BF_NONE};
    const rows_options how = {.threads = 1, .settled = true, .ordered = true, .unchanging = true};
    rows r;
    int code = rows_open_column(&r, name, &in, &how);
    if (code != EXIT_DONE) return code;
    code = take_edges(b, context, &r);
    rows_close(&r);
    return code;
}

static int check_edges(const hist_bins *b, const char *text) {
    for (int64_t i = 0; i <= b->wanted.bins; i++)
        if (!isfinite(b->list[i]) || (i > 0 && b->list[i] <= b->list[i - 1]))
            return fail(EXIT_USAGE, NULL, "bad operand of --edges: %s: edges must ascend", text);
    return b->wanted.bins > 0 ? EXIT_DONE : refuse_operand("edges", text, "two numbers or more");
}

static int read_edges(hist_bins *b, bf_context *context, const options *o) {
    if (!o->edges) return EXIT_DONE;
    if (o->bins || o->range)
        return fail(EXIT_USAGE, NULL, "--edges says it all: no --bins or --range with it");
    int code = EXIT_DONE;
    if (!read_list(b, o->edges)) {
        free(b->list);
        b->list = NULL;
        code = read_edges_file(b, context, o->edges);
    }
    return code == EXIT_DONE ? check_edges(b, o->edges) : code;
}

int hist_bins_read(hist_bins *b, bf_context *context, const options *o) {
    *b = (hist_bins){.wanted.size = sizeof b->wanted};
    int code = read_count(b, o->bins);
    if (code == EXIT_DONE) code = read_range(b, o->range);
    return code == EXIT_DONE ? read_edges(b, context, o) : code;
}

void hist_bins_free(hist_bins *b) {
    free(b->list);
    b->list = NULL;
}

bool hist_bins_need_data(const hist_bins *b) {
    return b->wanted.bins == BF_BINS_AUTO || (!b->wanted.range && !b->wanted.edges);
}

/* ---- the data -------------------------------------------------------------------------------- */

static const bf_reduce_options skip_nan = {.size = sizeof skip_nan, .nan = BF_NAN_SKIP};

bf_status extremes_open(extremes *x, bf_context *context, bf_dtype dtype) {
    *x = (extremes){.dtype = dtype};
    bf_state **const states[] = {&x->least, &x->most, &x->block_least, &x->block_most, &x->all};
    bf_status st = BF_OK;
    for (int i = 0; i < 5 && st == BF_OK; i++)
        st = bf_state_create(context, i % 2 == 0 ? BF_MIN : BF_MAX, dtype, states[i]);
    return st;
}

void extremes_close(extremes *x) {
    bf_state *const states[] = {x->least, x->most, x->block_least, x->block_most, x->all};
    for (int i = 0; i < 5; i++) bf_state_destroy(states[i]);
    free(x->finite);
    free(x->zeros);
    *x = (extremes){.room = 0};
}

static bool is_infinite(const bf_state *state) {
    bf_value value;
    return bf_state_result(state, &skip_nan, &value) == BF_OK && isinf(bf_value_f64(&value));
}

static bf_status absorb_into(bf_state *block, const bf_array *elements) {
    bf_state_clear(block);
    return bf_state_absorb(block, elements);
}

/* Copies elements with NaN in the place of infinities: x + (x - x). */
static bf_status drop_infinities(extremes *x, bf_context *context, bf_array *elements) {
    const int64_t n = elements->shape[0];
    const size_t bytes = (size_t)n * bf_dtype_size(x->dtype);
    if (n > x->room) {
        free(x->finite);
        free(x->zeros);
        x->finite = malloc(bytes);
        x->zeros = malloc(bytes);
        x->room = x->finite && x->zeros ? n : 0;
    }
    if (n > x->room) return BF_E_MEMORY;
    const bf_array finite = bf_array_of(x->dtype, x->finite, n),
                   zeros = bf_array_of(x->dtype, x->zeros, n);
    const bf_array *twice[] = {elements, elements}, *sum[] = {elements, &zeros};
    bf_status st = bf_map(context, BF_MAP_SUB, twice, 2, NULL, &zeros);
    if (st == BF_OK) st = bf_map(context, BF_MAP_ADD, sum, 2, NULL, &finite);
    *elements = finite;
    return st;
}

bf_status extremes_absorb(extremes *x, bf_context *context, const void *elements, int64_t n) {
    bf_array block = bf_array_of(x->dtype, elements, n);
    bf_status st = absorb_into(x->block_least, &block);
    if (st == BF_OK) st = absorb_into(x->block_most, &block);
    if (st == BF_OK) st = bf_state_merge(x->all, x->block_least);
    if (st != BF_OK) return st;
    if (is_infinite(x->block_least) || is_infinite(x->block_most)) {
        st = drop_infinities(x, context, &block);
        if (st == BF_OK) st = absorb_into(x->block_least, &block);
        if (st == BF_OK) st = absorb_into(x->block_most, &block);
    }
    if (st == BF_OK) st = bf_state_merge(x->least, x->block_least);
    return st == BF_OK ? bf_state_merge(x->most, x->block_most) : st;
}

/* ---- both ------------------------------------------------------------------------------------ */

static int64_t numbers_of(const extremes *x) {
    bf_state_info info = {.size = sizeof info};
    bf_state_describe(x->all, &info);
    return info.count - info.nan;
}

/* The least and the greatest element, in their own dtype; 0 or 2 of them. */
static int64_t take_extremes(const extremes *x, uint64_t out[2]) {
    const size_t element = bf_dtype_size(x->dtype);
    bf_value values[2];
    if (bf_state_result(x->least, &skip_nan, &values[0]) != BF_OK ||
        bf_state_result(x->most, &skip_nan, &values[1]) != BF_OK)
        return 0;
    for (int i = 0; i < 2; i++) /* little-endian: the low bytes of a value are the element */
        memcpy((char *)out + (size_t)i * element, &values[i].as, element);
    return 2;
}

/* The bins depend on the data by two elements only, the least and the greatest. */
static bf_status make_of_extremes(const bf_histogram_options *how, bf_context *context,
                                  const extremes *x, bf_histogram **histogram) {
    uint64_t elements[2];
    static const uint64_t none[2];
    const int64_t n = take_extremes(x, elements);
    const bf_array array = bf_array_of(x->dtype, elements, n),
                   weights = bf_array_of(how->weights, none, n);
    const bf_status st =
        bf_histogram_of(context, &array, how->weights == BF_NONE ? NULL : &weights, how, histogram);
    if (st == BF_OK) bf_histogram_clear(*histogram);
    return st;
}

bf_status hist_bins_make(const hist_bins *b, bf_context *context, const extremes *x, bf_dtype dtype,
                         bf_dtype weights, bf_histogram **histogram) {
    bf_histogram_options how = b->wanted;
    how.weights = weights;
    if (!hist_bins_need_data(b)) return bf_histogram_create(context, dtype, &how, histogram);
    how.numbers = numbers_of(x);
    return make_of_extremes(&how, context, x, histogram);
}
