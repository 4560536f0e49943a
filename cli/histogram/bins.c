#include "histogram/bins.h"

#include "input/rows.h"
#include "runtime/json.h"
#include "text/number.h"
#include "work/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* So many bins fit on a screen: there are no more, unless the options ask for them. */
enum { LINES = 64 };

/* ---- the options ----------------------------------------------------------------------------- */

static int refuse_operand(const char *option, const char *text, const char *expected) {
    return fail(EXIT_USAGE, NULL, "bad operand of --%s: '%s' is not %s", option, text, expected);
}

static int read_count(hist_bins *b, const char *text) {
    char *end;
    errno = 0;
    b->wanted.bins = BF_BINS_AUTO;
    b->most = text ? BF_BINS_MAX : LINES;
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

/* ---- integers -------------------------------------------------------------------------------- */

/* Reads the numbers of a list, or the two of a range, as integers of dtype; false if one is none.
 */
static bool take_integers(const char *text, bf_dtype dtype, uint64_t *out) {
    for (size_t length;; text += length + 1) {
        text_number n;
        length = strcspn(text, ",:");
        if (!text_parse_token(text, length, &n) || !text_integer(&n, dtype, out++)) return false;
        if (text[length] == '\0') return true;
    }
}

/* Sets the integers of the options, if all `n` numbers of a text are integers. */
static int read_integers(hist_bins *b, const char *text, size_t n) {
    static const bf_dtype dtypes[] = {BF_I64, BF_U64};
    b->integers = calloc(n, sizeof *b->integers);
    if (!b->integers) return fail_memory(NULL);
    for (int i = 0; i < 2; i++) {
        if (!take_integers(text, dtypes[i], b->integers)) continue;
        b->wanted.integers = b->integers;
        b->wanted.integers_dtype = dtypes[i];
        b->wanted.edges = NULL;
        break;
    }
    return EXIT_DONE;
}

/* Whether integer i is not above the one before. */
static bool integer_falls(const hist_bins *b, int64_t i) {
    const uint64_t x = b->integers[i], before = b->integers[i - 1];
    return b->wanted.integers_dtype == BF_U64 ? x <= before : (int64_t)x <= (int64_t)before;
}

bool hist_bins_are_wide(const hist_bins *b) {
    const int64_t n = b->wanted.range ? 2 : b->wanted.bins + 1;
    bool wide = false;
    for (int64_t i = 0; b->wanted.integers && i < n; i++) {
        const int64_t x = (int64_t)b->integers[i];
        wide = wide || x >= (int64_t)1 << 53 || x <= -((int64_t)1 << 53) ||
               (x < 0 && b->wanted.integers_dtype == BF_U64);
    }
    return wide;
}

/* What is above the last edge, which the last bin holds, remains so. */
text_i128 hist_bins_whole(const hist_bins *b, text_i128 units, int scale) {
    const uint64_t last = b->integers[b->wanted.bins];
    const bool huge = b->wanted.integers_dtype == BF_U64 && last > INT64_MAX;
    const text_i128 power = text_power_of_ten(scale);
    const text_i128 below = units / power - (units % power < 0);
    return units % power == 0 || huge || below < (int64_t)last ? below : below + 1;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* The bytes of the time that a text begins with, up to its end or a mark; a clock has colons, too.
 * 0: it is none. */
static size_t length_of_time(const char *text, char mark) {
    const size_t all = strlen(text);
    bf_time time;
    size_t found = 0;
    for (size_t n = 1; n <= all; n++)
        if ((text[n] == mark || n == all) && bf_time_parse(text, n, &time)) found = n;
    return found;
}

/* Times with a mark between them; false if some is none. */
static bool read_times(hist_bins *b, const char *text, char mark) {
    b->times = calloc(strlen(text) / 10 + 1, sizeof *b->times);
    for (const char *at = text; b->times; at++) {
        const size_t length = length_of_time(at, mark);
        if (length == 0) break;
        bf_time_parse(at, length, &b->times[b->time_count++]);
        at += length;
        if (*at == '\0') return true;
    }
    free(b->times);
    b->times = NULL;
    b->time_count = 0;
    return false;
}

int hist_bins_scale(const hist_bins *b) {
    int scale = 0;
    for (int i = 0; i < b->time_count; i++)
        if (b->times[i].scale > scale) scale = b->times[i].scale;
    return scale;
}

/* Sets integer i to a time in units of a form. False: it has none. */
static bool take_time(hist_bins *b, int i, units_form form) {
    const bf_time *t = &b->times[i];
    bf_time_kind both = form.time;
    int64_t units;
    if (t->scale > form.scale || !units_join_times(&both, t->kind)) return false;
    const int64_t power = (int64_t)text_power_of_ten(form.scale - t->scale);
    const bool fits = !__builtin_mul_overflow(t->units, power, &units);
    b->integers[i] = (uint64_t)units;
    return fits;
}

int hist_bins_take_form(hist_bins *b, units_form form, const char *file) {
    if (!form.time != !b->times)
        return fail(EXIT_USAGE, file, "--edges and --range are %s, and this has %s",
                    b->times ? "times" : "numbers", form.time ? "times" : "numbers");
    if (!b->times || b->integers) return EXIT_DONE;
    b->integers = calloc((size_t)b->time_count, sizeof *b->integers);
    if (!b->integers) return fail_memory(file);
    for (int i = 0; i < b->time_count; i++) {
        if (!take_time(b, i, form))
            return fail(EXIT_USAGE, file,
                        "--edges and --range have a time that is not like those of this file: "
                        "in a zone or in none, or with more digits of a second");
        if (i > 0 && (int64_t)b->integers[i] - !b->wanted.range < (int64_t)b->integers[i - 1])
            return fail(EXIT_USAGE, file, "the times of --edges and --range must ascend");
    }
    b->wanted.integers = b->integers;
    b->wanted.integers_dtype = BF_I64;
    b->wanted.lo = (double)(int64_t)b->integers[0];
    b->wanted.hi = (double)(int64_t)b->integers[b->time_count - 1];
    return EXIT_DONE;
}

/* ---- range and edges ------------------------------------------------------------------------- */

static int read_range(hist_bins *b, const char *text) {
    const char *at = text;
    if (!text) return EXIT_DONE;
    b->wanted.range = 1;
    if (read_times(b, text, ':') && b->time_count == 2) return EXIT_DONE;
    const bool lo = read_number(&at, &b->wanted.lo) && *at++ == ':';
    if (!lo || !read_number(&at, &b->wanted.hi) || *at || !isfinite(b->wanted.lo) ||
        !isfinite(b->wanted.hi) || b->wanted.lo > b->wanted.hi)
        return refuse_operand("range", text, "LO:HI, two numbers or times, the lesser first");
    return read_integers(b, text, 2);
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

static bf_status cast(bf_context *context, const bf_array *from, bf_dtype dtype, void *to) {
    const bf_array made = bf_array_of(dtype, to, from->shape[0]);
    return bf_map(context, BF_MAP_CAST, &from, 1, NULL, &made);
}

/* A file's numbers become doubles; integers remain what they are, too. */
static int take_edges(hist_bins *b, bf_context *context, rows *r) {
    const char *name = r->source.name;
    bf_array found;
    const int code = rows_load(r, &found);
    if (code != EXIT_DONE) return code;
    const int64_t n = found.shape[0];
    b->list = malloc((size_t)n * sizeof *b->list + 1);
    b->integers = malloc((size_t)n * sizeof *b->integers + 1);
    if (!b->list || !b->integers) return fail_memory(name);
    bf_status st = cast(context, &found, BF_F64, b->list);
    b->wanted.edges = b->list;
    b->wanted.bins = n - 1;
    if (st == BF_OK && bf_dtype_kind(found.dtype) != 'f') {
        b->wanted.integers_dtype = found.dtype == BF_U64 ? BF_U64 : BF_I64;
        st = cast(context, &found, b->wanted.integers_dtype, b->integers);
        b->wanted.integers = b->integers;
        b->wanted.edges = NULL;
    }
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

/* Whether edge i is not above the one before, or not finite. */
static bool edge_falls(const hist_bins *b, int64_t i) {
    if (b->wanted.integers) return i > 0 && integer_falls(b, i);
    return !isfinite(b->list[i]) || (i > 0 && b->list[i] <= b->list[i - 1]);
}

static int check_edges(const hist_bins *b, const char *text) {
    for (int64_t i = 0; i <= b->wanted.bins; i++)
        if (edge_falls(b, i))
            return fail(EXIT_USAGE, NULL, "bad operand of --edges: %s: edges must ascend", text);
    return b->wanted.bins > 0 ? EXIT_DONE : refuse_operand("edges", text, "two numbers or more");
}

static int read_edges(hist_bins *b, bf_context *context, const options *o) {
    if (!o->edges) return EXIT_DONE;
    if (o->bins || o->range)
        return fail(EXIT_USAGE, NULL, "--edges says it all: no --bins or --range with it");
    int code;
    if (read_times(b, o->edges, ',')) {
        b->wanted.bins = b->time_count - 1;
        return b->time_count > 1 ? EXIT_DONE
                                 : refuse_operand("edges", o->edges, "two times or more");
    }
    if (read_list(b, o->edges)) {
        code = read_integers(b, o->edges, (size_t)b->wanted.bins + 1);
    } else {
        hist_bins_free(b);
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
    free(b->integers);
    free(b->times);
    b->times = NULL;
    b->list = NULL;
    b->integers = NULL;
}

bool hist_bins_need_data(const hist_bins *b) {
    return b->wanted.bins == BF_BINS_AUTO ||
           (!b->wanted.range && !b->wanted.edges && !b->wanted.integers && !b->times);
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

automatic_range hist_bins_range(const hist_bins *b, const extremes *x) {
    bf_value least = {.dtype = BF_F64}, most = {.dtype = BF_F64};
    (void)bf_state_result(x->least, &skip_nan, &least); /* 0 if there is none */
    (void)bf_state_result(x->most, &skip_nan, &most);
    automatic_range r = {.least = bf_value_f64(&least),
                         .most = bf_value_f64(&most),
                         .integers = bf_dtype_kind(x->dtype) != 'f'};
    r.lo = b->wanted.range ? b->wanted.lo : r.least;
    r.hi = b->wanted.range ? b->wanted.hi : r.most;
    if (r.lo == r.hi) {
        r.lo -= 0.5;
        r.hi += 0.5;
    }
    return r;
}

/* The ends of even bins of times, where doubles do not hold them. False: doubles do, or the edges
 * are given. */
static bool find_wide_ends(const hist_bins *b, const extremes *x, units_form form,
                           int64_t ends[2]) {
    const int64_t most = (int64_t)1 << 53;
    if (!form.time || (!b->wanted.range && !hist_bins_need_data(b))) return false;
    if (b->wanted.range)
        memcpy(ends, b->integers, 2 * sizeof *ends);
    else if (take_extremes(x, (uint64_t *)ends) == 0)
        return false;
    if (ends[0] == ends[1]) ends[ends[1] == INT64_MAX ? 0 : 1] += ends[1] == INT64_MAX ? -1 : 1;
    return ends[0] <= -most || ends[1] >= most;
}

/* Makes bins whose edges are the first times that are not before the even ones. */
static bf_status make_of_times(const bf_histogram_options *how, bf_context *context,
                               const int64_t ends[2], bf_histogram **histogram) {
    const text_i128 width = (text_i128)ends[1] - ends[0], bins = how->bins;
    bf_histogram_options exact = *how;
    int64_t *edges = malloc(((size_t)bins + 1) * sizeof *edges);
    if (!edges) return BF_E_MEMORY;
    for (int64_t i = 0; i <= bins; i++)
        edges[i] = (int64_t)(ends[0] + (i * width + bins - 1) / bins);
    exact.range = 0;
    exact.integers = edges;
    exact.integers_dtype = BF_I64;
    const bf_status st = bf_histogram_create(context, BF_I64, &exact, histogram);
    free(edges);
    return st;
}

static bf_status make_bins(const hist_bins *b, const bf_histogram_options *how, bf_context *context,
                           const extremes *x, units_form form, bf_histogram **histogram) {
    int64_t ends[2];
    if (find_wide_ends(b, x, form, ends) && (text_i128)ends[1] - ends[0] >= how->bins)
        return make_of_times(how, context, ends, histogram);
    return hist_bins_need_data(b) ? make_of_extremes(how, context, x, histogram)
                                  : bf_histogram_create(context, form.dtype, how, histogram);
}

bf_status hist_bins_make(const hist_bins *b, bf_context *context, const extremes *x, int64_t asked,
                         units_form form, bf_dtype weights, bf_histogram **histogram) {
    const bool chosen = b->wanted.bins == BF_BINS_AUTO;
    bf_histogram_options how = b->wanted;
    how.weights = weights;
    if (chosen) how.bins = asked < b->most ? asked : b->most;
    bf_status st = make_bins(b, &how, context, x, form, histogram);
    for (; st == BF_E_ARGUMENT && chosen && how.bins > 1;
         st = make_bins(b, &how, context, x, form, histogram))
        how.bins = (how.bins + 1) / 2;
    return st;
}

int hist_bins_fail(const options *o, const bf_context *context, bf_status st, const char *file) {
    if (st == BF_E_ARGUMENT && !o->range && !o->edges)
        return fail(EXIT_DATA, file, "%s", bf_context_message(context));
    return fail_status(st, context, file);
}
