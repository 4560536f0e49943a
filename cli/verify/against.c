/* verify --against: computes a saved state again from its data, and compares the two. */
#include "columns/asked.h"
#include "reduce/reduce.h"
#include "runtime/info.h"
#include "runtime/json.h"
#include "sheet/output.h"
#include "verify/verify.h"
#include "work/statefile.h"
#include "work/units.h"

#include <stdlib.h>
#include <string.h>

/* A FILE and all of its elements. */
typedef struct loaded {
    rows rows;
    bf_array elements;
} loaded;

typedef struct check {
    const machine *machine;
    const options *options;
    statefile saved; /* a value, a histogram or groups; op to kind describe it */
    const char *op;
    bf_state_info info;     /* dtype: of the elements, or the keys */
    bool weights;           /* the histogram has some: they are the last file */
    bf_groups_options kind; /* the groups'; each aggregate's values are in a file of their own, or
                               pairs in two */
    spool_limit limit;
    loaded *files;
    int opened; /* number of open files */
    verdict *verdict;
} check;

/* ---- the data -------------------------------------------------------------------------------- */

/* The aggregate that has file number `file` of values, from 0; NULL: none has. */
static const bf_aggregate *aggregate_of(const check *c, int file) {
    for (int i = 0; i < c->kind.count; i++) {
        const int files = bf_reduction_arrays(c->kind.aggregates[i].op);
        if (file < files) return &c->kind.aggregates[i];
        file -= files;
    }
    return NULL;
}

static int count_values(const check *c) {
    int n = 0;
    while (aggregate_of(c, n)) n++;
    return n;
}

/* Returns the dtype that the file must have; BF_NONE: any. */
static bf_dtype dtype_of(const check *c, int file) {
    if (c->weights && file == c->options->file_count - 1) return BF_NONE;
    if (c->kind.count > 0 && file > 0) return aggregate_of(c, file - 1)->dtype;
    return c->info.dtype;
}

/* Reads decimals, and integers of 128 bits, in the units of the saved state. */
static void take_units(const check *c, rows *r) {
    rows_raise_scale(r, 0, c->info.scale);
    if (c->info.dtype == BF_I128 && rows_can_be(r, BF_I128)) rows_take_as(r, BF_I128);
}

static int load_one(check *c, const char *name) {
    loaded *f = &c->files[c->opened];
    const bool value = c->saved.state && c->info.op != BF_PROD;
    int code = verify_open(&f->rows, name, &c->options->input, value, &c->limit);
    if (code != EXIT_DONE) return code;
    const bf_dtype wanted = dtype_of(c, c->opened++);
    if (value) take_units(c, &f->rows);
    if (c->saved.histogram) rows_demand(&f->rows, wanted == BF_NONE ? BF_F64 : wanted);
    code = rows_load(&f->rows, &f->elements);
    if (code != EXIT_DONE) return code;
    if (wanted != BF_NONE && f->elements.dtype != wanted)
        return fail(EXIT_DATA, name, "this is %s, %s is a state of %s",
                    bf_dtype_name(f->elements.dtype), c->options->against, bf_dtype_name(wanted));
    if (value && rows_scale(&f->rows, 0) != c->info.scale)
        return fail(EXIT_DATA, name, "%d digits behind the point, and %s is a state of %d",
                    rows_scale(&f->rows, 0), c->options->against, c->info.scale);
    bf_time_kind time = (bf_time_kind)c->saved.trailer.times[0];
    if (value && !units_join_times(&time, rows_time(&f->rows, 0)))
        return fail(EXIT_DATA, name, "times and %s do not go together", c->options->against);
    const int64_t n = f->elements.shape[0], keys = c->files[0].elements.shape[0];
    if (c->kind.count > 0 && n != keys)
        return fail(EXIT_DATA, name, "it holds %lld values, and there are %lld keys", (long long)n,
                    (long long)keys);
    return EXIT_DONE;
}

static int load_all(check *c) {
    const options *o = c->options;
    c->files = calloc((size_t)o->file_count, sizeof *c->files);
    if (!c->files) return fail_memory(NULL);
    for (int i = 0; i < o->file_count; i++) {
        const int code = load_one(c, o->files[i]);
        if (code != EXIT_DONE) return code;
    }
    return EXIT_DONE;
}

static void drop_all(check *c) {
    for (int i = 0; i < c->opened; i++) rows_close(&c->files[i].rows);
    free(c->files);
}

/* ---- one way of computing -------------------------------------------------------------------- */

/* Absorbs the files in turn, as --save does: an index counts from the start of the first. */
static bf_status absorb_files(bf_state *state, const check *c) {
    int64_t next = 0;
    bf_status st = BF_OK;
    if (bf_reduction_arrays(c->info.op) == 2)
        return bf_state_absorb_pair(state, &c->files[0].elements, &c->files[1].elements);
    for (int i = 0; i < c->options->file_count && st == BF_OK; i++) {
        next += c->files[i].rows.source.first;
        if (reduce_is_ordered(c->info.op)) st = bf_state_seek(state, next);
        if (st == BF_OK) st = bf_state_absorb(state, &c->files[i].elements);
        next += c->files[i].elements.shape[0];
    }
    return st;
}

/* Counts the elements of all files in turn, each with its weight. */
static bf_status absorb_counted(bf_histogram *h, const check *c) {
    const int n = c->options->file_count;
    const bf_array *weights = c->weights ? &c->files[n - 1].elements : NULL;
    bf_status st = BF_OK;
    int64_t next = 0;
    for (int i = 0; i < n - c->weights && st == BF_OK; i++) {
        const bf_array *a = &c->files[i].elements;
        const int64_t end = next + a->shape[0];
        if (weights && end > weights->shape[0]) return BF_E_SHAPE;
        const bf_array some = weights ? work_slice(weights, next, end) : *a;
        st = bf_histogram_absorb(h, a, weights ? &some : NULL);
        next = end;
    }
    return st;
}

/* Absorbs a file of keys and those of values of each aggregate; without values, files of keys. */
static bf_status absorb_rows(bf_groups *groups, const check *c) {
    const bf_array *values[2 * BF_AGGREGATES_MAX];
    const int keys = c->kind.count > 0 ? 1 : c->options->file_count;
    for (int i = 0; i < count_values(c); i++) values[i] = &c->files[1 + i].elements;
    bf_status st = BF_OK;
    for (int i = 0; i < keys && st == BF_OK; i++)
        st = bf_groups_absorb(groups, &c->files[i].elements, c->kind.count > 0 ? values : NULL);
    return st;
}

static bf_status compare_forms(const statefile *a, const statefile *b, bool *same) {
    unsigned char *x = NULL, *y = NULL;
    size_t n = 0, m = 0;
    bf_status st = statefile_copy(a, &x, &n);
    if (st == BF_OK) st = statefile_copy(b, &y, &m);
    *same = st == BF_OK && n == m && memcmp(x, y, n) == 0;
    free(x);
    free(y);
    return st;
}

static bf_status absorb_again(const check *c, const statefile *s) {
    if (s->groups) return absorb_rows(s->groups, c);
    return s->histogram ? absorb_counted(s->histogram, c) : absorb_files(s->state, c);
}

/* Histograms and groups are compared by a checksum of their saved form. */
static int compute_again(const check *c, bf_context *context, outcome *r, bool *same) {
    statefile again;
    *same = true;
    bf_status st = statefile_empty(context, &c->saved, &again);
    if (st == BF_OK) st = absorb_again(c, &again);
    if (st == BF_OK && again.state) st = compare_forms(&again, &c->saved, same);
    if (st == BF_OK) *r = work_result(&again, NULL);
    statefile_free(&again);
    return st == BF_OK ? EXIT_DONE : fail_status(st, context, c->options->files[0]);
}

/* ---- one row --------------------------------------------------------------------------------- */

static void show_row(const check *c, const way *w, const outcome *r, const char *word,
                     double seconds) {
    char text[BF_VALUE_TEXT];
    verify_text(r, text);
    if (c->options->layout != LAYOUT_JSON) {
        if (!c->options->quiet) printf("%-8s %7d  %-26s %s\n", w->name, w->threads, text, word);
        return;
    }
    json_begin(stdout, "verify", NULL);
    json_text(stdout, "against", c->options->against);
    json_text(stdout, "op", c->op);
    json_text(stdout, "dtype", bf_dtype_name(c->info.dtype));
    json_integer(stdout, "n", c->info.count);
    json_text(stdout, "isa", w->name);
    json_integer(stdout, "threads", w->threads);
    json_text(stdout, "hex", text);
    json_truth(stdout, "ok", strcmp(word, "ok") == 0);
    json_end(stdout, bf_context_device(w->context), seconds);
}

static int do_row(check *c, const outcome *wanted, const way *w) {
    outcome r = {.status = BF_OK};
    bool same = false;
    const double began = progress_clock();
    const int code = compute_again(c, w->context, &r, &same);
    if (code != EXIT_DONE) return code;
    const bool agree = same && verify_same(&r, wanted);
    c->verdict->rows++;
    c->verdict->failures += !agree;
    c->verdict->gpu_failures += w->gpu && !agree;
    const char *word = agree ? "ok" : same ? "differs" : "the state differs";
    show_row(c, w, &r, word, progress_clock() - began);
    return output_flush(stdout, "standard output");
}

static void show_head(const check *c, const outcome *wanted) {
    char text[BF_VALUE_TEXT];
    verify_text(wanted, text);
    if (c->options->layout == LAYOUT_JSON || c->options->quiet) return;
    printf("%s: %s of %lld elements of %s\n", c->options->against, c->op, (long long)c->info.count,
           bf_dtype_name(c->info.dtype));
    printf("%-8s %7s  %s\n", "isa", "threads", text);
}

static int do_rows(check *c) {
    const outcome wanted = work_result(&c->saved, NULL);
    const machine *m = c->machine;
    show_head(c, &wanted);
    int code = EXIT_DONE;
    for (int i = 0; i < m->count && code == EXIT_DONE; i++)
        if (!m->ways[i].parts) code = do_row(c, &wanted, &m->ways[i]);
    for (int i = 0; i < c->opened && code == EXIT_DONE; i++)
        code = source_check(&c->files[i].rows.source);
    return code;
}

static int check_files(const check *c) {
    const int n = c->options->file_count, wanted = bf_reduction_arrays(c->info.op);
    if (c->kind.count > 0 && n != 1 + count_values(c))
        return fail(EXIT_USAGE, NULL,
                    "--against needs the keys that the groups are of, and behind them the values "
                    "of each aggregate: %d files, not %d",
                    1 + count_values(c), n);
    if (n == 0 || (wanted == 2 && n != 2))
        return fail(EXIT_USAGE, NULL, "--against needs the data that the state is of: %s",
                    wanted == 2 ? "two files" : "a file");
    if (c->weights && n < 2)
        return fail(EXIT_USAGE, NULL,
                    "--against needs the data that the state is of, and behind "
                    "them the weights");
    return EXIT_DONE;
}

static void describe_saved(check *c) {
    const bf_histogram_info info = histogram_info(c->saved.histogram);
    if (c->saved.state) {
        c->info = state_info(c->saved.state);
        c->op = bf_reduction_name(c->info.op);
    } else if (c->saved.histogram) {
        c->op = "hist";
        c->info = (bf_state_info){.dtype = info.dtype, .count = info.count};
        c->weights = info.weights != BF_NONE;
    } else {
        c->kind = groups_kind(c->saved.groups);
        c->op = c->kind.count > 0 ? "group" : "count";
        c->info = (bf_state_info){.dtype = c->kind.key, .count = bf_groups_rows(c->saved.groups)};
    }
}

int verify_against(const machine *m, const options *o, verdict *v) {
    check c = {.machine = m, .options = o, .verdict = v};
    spool_limit_set(&c.limit, 0);
    int code = statefile_load(m->ways[0].context, o->against, &c.saved);
    if (code != EXIT_DONE) return code;
    if (c.saved.states)
        code = fail(EXIT_DATA, o->against,
                    "cannot compare many values: --against takes a state of a single one");
    if (code == EXIT_DONE) describe_saved(&c);
    if (code == EXIT_DONE) code = check_files(&c);
    if (code == EXIT_DONE) code = load_all(&c);
    if (code == EXIT_DONE) code = do_rows(&c);
    drop_all(&c);
    statefile_free(&c.saved);
    return code;
}
