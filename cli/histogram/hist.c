/* hist: how many elements each bin holds, of all files together. */
#include "columns/condition.h"
#include "command.h"
#include "expression/inputs.h"
#include "histogram/bins.h"
#include "histogram/by.h"
#include "histogram/output.h"
#include "input/share.h"
#include "options/context.h"
#include "options/operand.h"
#include "runtime/info.h"
#include "runtime/ranks.h"
#include "work/statefile.h"
#include "work/units.h"
#include "work/work.h"

#include <float.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const option_spec specs[] = {
    {"bins", 0, IN_VALUES, "auto|N",
     "the number of bins (auto: as many as NumPy makes; not given: so many, but at most 64)", 0,
     .read = read_text, .at = OPTION_AT(bins)},
    {"range", 0, IN_VALUES, "LO:HI",
     "the ends of the bins, numbers or times (the least and the greatest finite element)", 0,
     .read = read_text, .at = OPTION_AT(range)},
    {"edges", 0, IN_VALUES, "LIST/FILE",
     "the edges of the bins, ascending: numbers or times with commas between, or a file", 0,
     .read = read_text, .at = OPTION_AT(edges), .file = FILE_READ},
    {"weights", 0, IN_VALUES, "FILE",
     "sum weights, one for each element, instead of counting; with --by a column or an expression",
     0, .read = read_text, .at = OPTION_AT(weights), .file = FILE_READ},
    {"strict", 0, IN_VALUES, NULL, "refuse NaNs and elements below or above the bins", 0,
     .read = read_flag, .at = OPTION_AT(strict)},
};
const option_table hist_options = OPTION_TABLE(specs);

static const usage hist_usage = {
    "[OPTIONS] [FILE...]",
    "Counts the elements of all files together in each bin, with NumPy's edges, to the bit. At a "
    "terminal it draws a plot; otherwise each line is a lower edge, an upper edge and a count, "
    "with "
    "tabs between. '-' or no FILE is standard input.\n\n"
    "With -o, the ending of the name chooses the output: .png .svg .pdf .npy .tsv .csv .md .json. "
    "NaNs and elements below or above the bins are counted apart. States that --save wrote can be "
    "merged if --range and --bins, or --edges, were the same. With -e, all FILEs together give the "
    "elements.",
    TAKES_STDIN | TAKES_INPUT | TAKES_PLOT | TAKES_RUNNING | TAKES_MEMORY | TAKES_SAVE |
        TAKES_WORK | TAKES_OUTPUT | TAKES_SHEET | TAKES_EXPRESSION | TAKES_WHERE | TAKES_KEYS,
    "bins range edges by weights column expression density log output json csv save threads memory "
    "help",
    "bitfold hist --bins 4 x.npy\n"
    "bitfold hist --edges 0,2,4 --column height --csv table.csv\n"
    "bitfold hist --by name --bins 3 --column height table.csv",
    &hist_options};

#define BLOCK_BYTES ((int64_t)64 * 1024 * 1024)

enum {
    FEW = 1 << 17,           /* elements that are taken at once if their weights are copied */
    RESULTS = 1 << 19,       /* elements that are taken at once if an expression computes them */
    AUTOMATIC_MOST = 1 << 24 /* bins that a rule may ask for */
};

typedef struct hist {
    const options *options;
    enum hist_form form;
    bf_context *context;
    output output;
    outfile save;
    work work;
    hist_bins bins;
    spool_limit limit;
    rows *inputs;        /* each file's; open after the first walk if it is a stream */
    expressed expressed; /* in their place, if there is an expression */
    int subjects;        /* files that are counted in turn; one of an expression */
    bf_dtype dtype;
    units_form times; /* how times are held; time BF_TIME_NONE: they are numbers */
    bf_histogram *histogram;
    char *column;  /* the first file's */
    int64_t bytes; /* counted */
    int64_t seen;  /* rows, with those that are NULL; in the end of all ranks */
    rows weights;  /* if --weights is given */
    extremes extremes;
    automatic automatic;
    selection selection; /* the elements that the number of bins depends on */
    int64_t *whole; /* room for decimals that became integers, or integers doubles: of so many */
    int64_t room;
} hist;

/* ---- files ----------------------------------------------------------------------------------- */

static int note_column(hist *h, const rows *r) {
    const text_input *t = r->source.text;
    if (h->column || !t || !t->layout.names || !*t->layout.names[0]) return EXIT_DONE;
    h->column = rows_column_name(r, 0);
    return h->column ? EXIT_DONE : fail_memory(r->source.name);
}

static int check_times(hist *h, const rows *r) {
    const units_form form = units_of_rows(r, 0);
    if (h->dtype == BF_NONE && form.time) h->times = form;
    const bool given = h->options->edges || h->options->range;
    if (form.time == h->times.time && (!form.time || form.scale == h->times.scale))
        return given ? hist_bins_take_form(&h->bins, form, r->source.name) : EXIT_DONE;
    fail(EXIT_DATA, r->source.name, "cannot count different times, or times and numbers, together");
    hint("files with one unit and one kind of times are counted together");
    return EXIT_DATA;
}

/* Numbers of text are counted as doubles, but for those that edges may tell apart, and times. */
static bf_dtype counted_dtype(const hist *h, const rows *r) {
    const bool doubles = r->source.text && r->source.text->layout.dtype == BF_NONE &&
                         !hist_bins_are_wide(&h->bins) && !rows_time(r, 0);
    return doubles ? BF_F64 : rows_dtype(r, 0);
}

static int check_dtype(hist *h, const rows *r) {
    const bf_dtype dtype = counted_dtype(h, r);
    const int code = check_times(h, r);
    if (code != EXIT_DONE) return code;
    if (dtype == BF_I128) {
        fail(EXIT_DATA, r->source.name, "edges beyond 2^53 are not compared with i128");
        hint("%s", rows_as_doubles);
        return EXIT_DATA;
    }
    if (h->dtype == BF_NONE) h->dtype = dtype;
    if (dtype == h->dtype) return EXIT_DONE;
    fail(EXIT_DATA, r->source.name, "cannot count different dtypes together: this is %s, %s is %s",
         bf_dtype_name(dtype), h->options->files[0], bf_dtype_name(h->dtype));
    hint("text is read as f64 unless --dtype names another dtype");
    return EXIT_DATA;
}

/* Whether text is read as the numbers that it is, as a condition takes it. */
static bool is_exact(const hist *h, const rows *r) {
    const bool needed =
        hist_bins_are_wide(&h->bins) || rows_time(r, 0) || h->options->where != NULL;
    return r->source.text && r != &h->weights && needed;
}

static void take_doubles(rows *r) {
    if (r->source.text && r->source.text->layout.dtype == BF_NONE) rows_take_doubles(r, 0);
}

/* Bins count any number of text: as f64, but for numbers that they may tell apart. again: the file
 * will be walked once more. */
static int open_rows(hist *h, rows *r, const char *name, bool again) {
    const bool values = r != &h->weights, wide = values && hist_bins_are_wide(&h->bins),
               exact = (wide && h->options->edges) || h->options->where;
    rows_options how = context_reading(h->options, &h->limit, 2);
    if (!exact) how.digits = 0;
    how.ordered = h->options->weights != NULL;
    how.nulls = true;
    how.times = values;
    const int code = rows_open_column(r, name, &h->options->input, &how);
    if (code == EXIT_DONE && values && r->source.text && rows_time(r, 0))
        rows_raise_scale(r, 0, hist_bins_scale(&h->bins));
    if (code == EXIT_DONE && !is_exact(h, r)) take_doubles(r);
    if (code == EXIT_DONE && !again && !rows_may_resettle(r)) rows_forget(r);
    return code;
}

static int open_file(hist *h, rows *r, const char *name, bool again) {
    int code = open_rows(h, r, name, again);
    if (code != EXIT_DONE) return code;
    if (again || !hist_bins_need_data(&h->bins))
        note(name, "%s, %s; instruction set %s, up to %d threads", bf_dtype_name(rows_dtype(r, 0)),
             r->source.text     ? "text"
             : r->source.stream ? "a stream"
                                : "mapped",
             bf_context_isa(h->context), bf_context_threads(h->context));
    code = note_column(h, r);
    if (code != EXIT_DONE) rows_close(r);
    if (code == EXIT_DONE) progress_start(name, rows_bytes(r));
    return code;
}

/* Opens an input of which this rank has its part. Numbers that are not doubles have one dtype from
 * the first to the last. */
static int open_share(hist *h, rows *r, const char *name, bool again) {
    rows *const inputs[] = {r};
    int code = ranks_agree(open_file(h, r, name, again));
    if (code == EXIT_DONE) code = share_rows(inputs, 1, NULL);
    if (code == EXIT_DONE) code = work_settle_inputs(inputs, 1);
    if (code == EXIT_DONE) code = ranks_agree(check_dtype(h, r));
    if (code != EXIT_DONE) progress_stop();
    return code;
}

/* Results of text are counted as f64, as files without an expression are. */
static bf_dtype dtype_of(const hist *h) {
    const expressed *x = &h->expressed;
    bool text = false;
    for (int i = 0; i < x->file_count; i++) text = text || x->inputs[i].source.text;
    if (x->form.time) return BF_I64;
    if (!text || !units_are_integers(x->form.dtype)) return x->form.dtype;
    return !hist_bins_are_wide(&h->bins) ? BF_F64
           : x->form.dtype == BF_I128    ? BF_I64
                                         : x->form.dtype;
}

static int take_form(hist *h) {
    const expressed *x = &h->expressed;
    const options *o = h->options;
    const int scale = hist_bins_scale(&h->bins);
    h->dtype = dtype_of(h);
    if (x->form.time)
        h->times =
            (units_form){BF_I64, x->form.scale > scale ? x->form.scale : scale, x->form.time};
    return o->edges || o->range ? hist_bins_take_form(&h->bins, h->times, o->files[0]) : EXIT_DONE;
}

static int start_expression(hist *h) {
    expressed *x = &h->expressed;
    int code = share_rows(x->input, x->file_count, NULL);
    if (code == EXIT_DONE) code = ranks_agree(expressed_prepare(x));
    if (code == EXIT_DONE) code = expressed_settle(x);
    if (code == EXIT_DONE) code = expressed_parse(x);
    code = ranks_agree(code == EXIT_DONE ? take_form(h) : code);
    if (code != EXIT_DONE) return code;
    h->column = strdup(h->options->expression);
    return h->column ? EXIT_DONE : fail_memory(NULL);
}

/* Opens the inputs of an expression, unless they are open. */
static int open_expression(hist *h) {
    const options *o = h->options;
    const rows_options how = {.threads = o->threads,
                              .digits = BF_SCALE_MOST_I128,
                              .memory = o->memory.input / 2,
                              .times = true};
    expressed *x = &h->expressed;
    int code = EXIT_DONE;
    if (!x->formula.parsed) {
        code = expressed_open(x, o, o->files, o->file_count, h->context, &how);
        if (code == EXIT_DONE) code = start_expression(h);
    }
    if (code == EXIT_DONE) progress_start(o->files[0], expressed_bytes(x));
    return code;
}

/* The elements to take at once, of which copies may be made; 0: as many as are at hand. */
static int64_t block_of(const hist *h, const rows *r) {
    const int64_t block = BLOCK_BYTES / (int64_t)bf_dtype_size(rows_dtype(r, 0));
    int64_t n = rows_in_step(r, 0);
    if (n > block) n = block;
    if (!h->options->weights) return n;
    const int64_t weights = rows_in_step(&h->weights, FEW);
    return weights < n ? weights : n;
}

/* The inputs that are read for an element. */
static int inputs_of(hist *h, rows *r, rows *list[EXPRESSED_INPUTS]) {
    expressed *x = &h->expressed;
    list[0] = r;
    for (int i = 0; i < x->file_count; i++) list[i] = x->input[i];
    return x->file_count > 0 ? x->file_count : 1;
}

/* Rows that were taken at once: a chunk, or the results of an expression that are not NULL. */
typedef struct taken {
    int64_t n; /* 0: the end */
    rows_chunk chunk;
    bf_array results;
} taken;

static bool make_room(hist *h, int64_t n) {
    if (n <= h->room) return true;
    free(h->whole);
    h->whole = malloc((size_t)n * sizeof *h->whole);
    h->room = h->whole ? n : 0;
    return h->whole != NULL;
}

/* A number as the integer that is counted: times have one scale, and others lie in the same bins,
 * whose edges are integers. */
static text_i128 whole_of(const hist *h, int scale, text_i128 x) {
    text_i128 units;
    if (!h->times.time) return hist_bins_whole(&h->bins, x, scale);
    const text_i128 power = text_power_of_ten(h->times.scale - scale);
    return __builtin_mul_overflow(x, power, &units) ? (text_i128)INT64_MAX + 1 : units;
}

/* Numbers of text become the doubles nearest to them, or integers where these are counted. */
static int convert(hist *h, int scale, bf_array *elements) {
    const int64_t n = elements->shape[0];
    if (!make_room(h, n)) return fail_memory(h->options->files[0]);
    for (int64_t i = 0; i < n; i++) {
        if (h->dtype == BF_F64) {
            const double real = units_double(elements->dtype, scale, elements->data, i);
            memcpy(&h->whole[i], &real, sizeof real);
            continue;
        }
        const text_i128 x = units_at(elements->dtype, elements->data, i),
                        whole = whole_of(h, scale, x);
        if (whole < INT64_MIN || whole > INT64_MAX)
            return fail(EXIT_DATA, h->options->files[0], "64 bits do not hold %s",
                        h->times.time ? "a time with the digits of a second that others have"
                                      : "a number beside edges that are integers");
        h->whole[i] = (int64_t)whole;
    }
    *elements = bf_array_of(h->dtype, h->whole, n);
    return EXIT_DONE;
}

static int next_results(hist *h, taken *t) {
    expressed *x = &h->expressed;
    formula_results results;
    int code = expressed_next(x, expressed_step(x, RESULTS));
    t->n = code == EXIT_DONE ? x->n : 0;
    if (t->n > 0) code = expressed_compute(x, &results);
    if (code != EXIT_DONE || t->n == 0) return code;
    t->results = expressed_present(results);
    const bool same = results.numbers.dtype == h->dtype && x->form.scale == h->times.scale;
    return same ? EXIT_DONE : convert(h, x->form.scale, &t->results);
}

static int next_rows(hist *h, rows *r, taken *t) {
    if (h->options->expression) return next_results(h, t);
    int code = rows_prepare(r);
    if (code == EXIT_DONE && h->options->weights) code = rows_prepare(&h->weights);
    if (code == EXIT_DONE) code = rows_next(r, block_of(h, r), &t->chunk);
    t->n = code == EXIT_DONE ? t->chunk.n : 0;
    return code;
}

/* The numbers of a chunk that are not NULL, here and beside them. */
static int take_present(hist *h, rows *r, const rows_chunk *chunk, const rows_column *beside,
                        bf_array *elements) {
    rows_numbers present;
    const int scale = rows_scale(r, 0);
    if (!rows_present(r, chunk, 0, __builtin_ctz(rows_can(r, 0)), beside, &present))
        return fail_memory(r->source.name);
    *elements = present.numbers;
    const bool same = elements->dtype == h->dtype && (scale == 0 || rows_time(r, 0));
    return same || r == &h->weights ? EXIT_DONE : convert(h, scale, elements);
}

static int take_elements(hist *h, rows *r, const taken *t, bf_array *elements) {
    if (!h->options->expression) return take_present(h, r, &t->chunk, NULL, elements);
    *elements = t->results;
    return EXIT_DONE;
}

/* ---- walks ----------------------------------------------------------------------------------- */

/* What a walk absorbs rows into. */
typedef struct absorber {
    int (*take)(hist *h, rows *r, const taken *t);
    int (*open)(hist *h); /* before the first rows */
    const work_thing *things;
    int count;
    bool last; /* it is the last walk, which has the weights */
} absorber;

static int absorb_file(hist *h, rows *r, const absorber *a) {
    taken t = {.n = 1};
    rows *inputs[EXPRESSED_INPUTS];
    int count = inputs_of(h, r, inputs);
    if (a->last && h->options->weights) inputs[count++] = &h->weights;
    int code = work_begin(&h->work, inputs, count);
    if (code == EXIT_DONE) code = a->open(h);
    if (code == EXIT_DONE) code = work_hold(&h->work, a->things, a->count);
    while (code == EXIT_DONE && (code = next_rows(h, r, &t)) == EXIT_DONE && t.n > 0) {
        code = a->take(h, r, &t);
        if (code == EXIT_DONE) work_tick(&h->work);
        if (a->last) h->bytes += t.n * (int64_t)bf_dtype_size(h->dtype);
    }
    return code;
}

/* Opens what is not open yet. */
static int open_subject(hist *h, int i, bool again) {
    rows *r = &h->inputs[i];
    if (h->options->expression) return open_expression(h);
    if (r->columns == 0) return open_share(h, r, h->options->files[i], again);
    progress_start(h->options->files[i], rows_bytes(r));
    return EXIT_DONE;
}

/* Files that can be opened again are closed meanwhile. */
static int absorb_files(hist *h, const absorber *a) {
    const bool expression = h->options->expression != NULL;
    int code = EXIT_DONE;
    for (int i = 0; code == EXIT_DONE && i < h->subjects; i++) {
        rows *r = &h->inputs[i];
        code = open_subject(h, i, !a->last);
        if (code != EXIT_DONE) break;
        code = work_end(&h->work, absorb_file(h, r, a), !a->last);
        progress_stop();
        if (a->last) h->seen += expression ? h->expressed.at : rows_seen(r);
        if (code == EXIT_DONE && expression)
            expressed_again(&h->expressed);
        else if (code == EXIT_DONE && r->source.stream && !a->last)
            rows_again(r);
        else
            rows_close(r);
    }
    return code;
}

/* ---- the first walk: the range --------------------------------------------------------------- */

/* The file is open, so that a range of times has its form. */
static int open_extremes(hist *h) {
    h->selection.lo = h->bins.wanted.range ? h->bins.wanted.lo : -DBL_MAX;
    h->selection.hi = h->bins.wanted.range ? h->bins.wanted.hi : DBL_MAX;
    if (h->extremes.least || extremes_open(&h->extremes, h->context, h->dtype) == BF_OK)
        return EXIT_DONE;
    return fail_memory(h->options->files[0]);
}

/* The number of bins depends on what is in the range, if one is given. */
static int take_extremes(hist *h, rows *r, const taken *t) {
    bf_array elements;
    const int code = take_elements(h, r, t, &elements);
    bf_status st = BF_OK;
    if (code != EXIT_DONE) return code;
    if (h->bins.wanted.range) st = selection_take(&h->selection, h->context, &elements);
    if (st == BF_OK && elements.shape[0] > 0)
        st = extremes_absorb(&h->extremes, h->context, elements.data, elements.shape[0]);
    return st == BF_OK ? EXIT_DONE : fail_status(st, h->context, r->source.name);
}

static int find_extremes(hist *h) {
    extremes *x = &h->extremes;
    const work_thing things[] = {{.state = &x->least}, {.state = &x->most}, {.state = &x->all}};
    const absorber a = {take_extremes, open_extremes, things, 3, false};
    const int code = absorb_files(h, &a);
    bf_state *const states[] = {x->least, x->most, x->all};
    return code == EXIT_DONE ? ranks_merge_states(h->context, states, 3, h->options->files[0])
                             : code;
}

/* ---- walks that follow: quartiles ------------------------------------------------------------ */

static int open_quartiles(hist *h) {
    if (h->automatic.below || automatic_open(&h->automatic, h->context, h->dtype) == BF_OK)
        return EXIT_DONE;
    return fail_memory(h->options->files[0]);
}

static int take_quartiles(hist *h, rows *r, const taken *t) {
    bf_array elements;
    const int code = take_elements(h, r, t, &elements);
    bf_status st = BF_OK;
    if (code != EXIT_DONE) return code;
    if (h->bins.wanted.range || bf_dtype_kind(h->dtype) == 'f')
        st = selection_take(&h->selection, h->context, &elements);
    if (st == BF_OK) st = automatic_absorb(&h->automatic, &elements);
    return st == BF_OK ? EXIT_DONE : fail_status(st, h->context, r->source.name);
}

static int merge_pass(const hist *h, bf_quantiles *side) {
    return quantiles_info(side).done
               ? EXIT_DONE
               : ranks_merge_quantiles(h->context, side, h->options->files[0]);
}

/* Ends a pass over the elements of all ranks. */
static int end_pass(hist *h, int *done) {
    const char *name = h->options->files[0];
    int code = merge_pass(h, h->automatic.below);
    if (code == EXIT_DONE) code = merge_pass(h, h->automatic.above);
    if (code != EXIT_DONE) return code;
    const bf_status st = automatic_next(&h->automatic, done);
    return ranks_agree(st == BF_OK ? EXIT_DONE : fail_status(st, h->context, name));
}

static int find_automatic(hist *h, int64_t *bins) {
    automatic *const m = &h->automatic;
    const work_thing things[] = {{.quantiles = &m->below}, {.quantiles = &m->above}};
    const absorber a = {take_quartiles, open_quartiles, things, 2, false};
    const automatic_range range = hist_bins_range(&h->bins, &h->extremes);
    int code = EXIT_DONE, done = 0;
    while (code == EXIT_DONE && !done) {
        code = absorb_files(h, &a);
        if (code == EXIT_DONE) code = end_pass(h, &done);
    }
    if (code != EXIT_DONE) return code;
    const bf_status st = automatic_bins(m, &range, bins);
    if (st != BF_OK) return fail_status(st, h->context, h->options->files[0]);
    if (*bins <= AUTOMATIC_MOST || h->bins.most <= AUTOMATIC_MOST) return EXIT_DONE;
    fail(EXIT_DATA, h->options->files[0], "the rule asks for more than %d bins", AUTOMATIC_MOST);
    hint("--bins N says how many there are");
    return EXIT_DATA;
}

static units_form form_of(const hist *h) {
    return (units_form){h->dtype, h->times.scale, h->times.time};
}

static bf_dtype weights_dtype(const hist *h) {
    return h->options->weights ? rows_dtype(&h->weights, 0) : BF_NONE;
}

static int make_bins(hist *h) {
    int64_t asked = 1;
    int code = find_extremes(h);
    if (code == EXIT_DONE && h->bins.wanted.bins == BF_BINS_AUTO) code = find_automatic(h, &asked);
    if (code == EXIT_DONE) {
        const bf_status st = hist_bins_make(&h->bins, h->context, &h->extremes, asked, form_of(h),
                                            weights_dtype(h), &h->histogram);
        if (st != BF_OK) code = hist_bins_fail(h->options, h->context, st, h->options->files[0]);
    }
    return ranks_agree(code);
}

/* ---- the last: counting ---------------------------------------------------------------------- */

static int lengths_differ(const hist *h, const char *how) {
    return fail(EXIT_DATA, h->options->weights, "%s: it holds %s weights than there are elements",
                bf_status_string(BF_E_SHAPE), how);
}

/* Takes the weights of the elements in a chunk, and leaves out what has no value. */
static int take_weights(hist *h, rows *r, const rows_chunk *chunk, bf_array *elements,
                        bf_array *weights) {
    rows_chunk beside;
    int code = rows_next(&h->weights, chunk->n, &beside);
    if (code != EXIT_DONE) return code;
    if (beside.n < chunk->n) return lengths_differ(h, "fewer");
    code = take_present(h, r, chunk, &beside.columns[0], elements);
    return code == EXIT_DONE ? take_present(h, &h->weights, &beside, &chunk->columns[0], weights)
                             : code;
}

static int take_counted(hist *h, rows *r, const taken *t) {
    const bool weighted = h->options->weights != NULL;
    bf_array elements, weights;
    const int code = weighted ? take_weights(h, r, &t->chunk, &elements, &weights)
                              : take_elements(h, r, t, &elements);
    if (code != EXIT_DONE) return code;
    const bf_status st = bf_histogram_absorb(h->histogram, &elements, weighted ? &weights : NULL);
    return st == BF_OK ? EXIT_DONE : fail_status(st, h->context, r->source.name);
}

/* Bins that need no look at the data are made when the dtype of the first file is known. */
static int open_counted(hist *h) {
    if (h->histogram) return EXIT_DONE;
    const bf_status st =
        hist_bins_make(&h->bins, h->context, NULL, 0, form_of(h), weights_dtype(h), &h->histogram);
    return st == BF_OK ? EXIT_DONE
                       : hist_bins_fail(h->options, h->context, st, h->options->files[0]);
}

/* Nothing may be left of the weights. */
static int check_weights(hist *h) {
    rows_chunk chunk;
    const int code = rows_next(&h->weights, 1, &chunk);
    return code == EXIT_DONE && chunk.n > 0 ? lengths_differ(h, "more") : code;
}

static int count_files(hist *h) {
    const options *o = h->options;
    const work_thing thing = {.histogram = &h->histogram};
    const absorber a = {take_counted, open_counted, &thing, 1, true};
    int code = EXIT_DONE;
    if (o->weights) code = ranks_agree(open_rows(h, &h->weights, o->weights, false));
    if (code == EXIT_DONE && hist_bins_need_data(&h->bins)) code = make_bins(h);
    if (code == EXIT_DONE) code = absorb_files(h, &a);
    if (code == EXIT_DONE && o->weights) code = ranks_agree(check_weights(h));
    if (code == EXIT_DONE) h->seen = ranks_sum(h->seen);
    return code == EXIT_DONE ? ranks_merge_histogram(h->context, h->histogram, o->files[0]) : code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int check_strict(const hist *h, const char *file) {
    char others[HIST_OTHERS];
    const bf_histogram_info info = histogram_info(h->histogram);
    hist_others(&info, others);
    return *others && h->options->strict ? fail(EXIT_DATA, file, "in no bin: %s", others)
                                         : EXIT_DONE;
}

static int check_line(const options *o) {
    if (o->expression && o->weights) return fail(EXIT_USAGE, NULL, "-e does not go with --weights");
    if (o->where && o->weights) return fail(EXIT_USAGE, NULL, "--where does not go with --weights");
    return o->expression ? expressed_check(o->file_count) : EXIT_DONE;
}

static int open_hist(hist *h) {
    const options *o = h->options;
    int code = check_line(o);
    if (code == EXIT_DONE) code = hist_form_of(o, &h->form);
    if (code == EXIT_DONE) code = context_open(&h->context, o);
    if (code != EXIT_DONE) return code;
    h->subjects = o->expression ? 1 : o->file_count;
    h->inputs = calloc((size_t)o->file_count, sizeof *h->inputs);
    if (!h->inputs) return fail_memory(NULL);
    code = hist_bins_read(&h->bins, h->context, o);
    if (code == EXIT_DONE) code = output_open(&h->output, o, false);
    if (code == EXIT_DONE && o->save) code = outfile_open(&h->save, o->save);
    spool_limit_set(&h->limit, o->memory.pipes);
    return code;
}

static int run_hist(hist *h) {
    const options *o = h->options;
    const double began = progress_clock();
    const bool alone = o->file_count == 1 || o->expression;
    hist_subject subject = {.file = alone ? o->files[0] : "total"};
    int code = ranks_agree(open_hist(h));
    if (code == EXIT_DONE) code = work_open(&h->work, o, h->context);
    if (code == EXIT_DONE) code = count_files(h);
    if (code == EXIT_DONE) code = ranks_agree(check_strict(h, subject.file));
    if (code != EXIT_DONE) return code;
    subject.column = h->column;
    subject.time = h->times.time;
    subject.scale = h->times.scale;
    subject.nulls = h->seen - histogram_info(h->histogram).count;
    subject.seconds = progress_clock() - began;
    subject.context = h->context;
    note_device(h->context, subject.file);
    if (o->stats)
        inform(subject.file, "%" PRId64 " bytes in %.6f s: %.2f GB/s", h->bytes, subject.seconds,
               subject.seconds > 0 ? 1e-9 * (double)h->bytes / subject.seconds : 0);
    code = hist_put(&h->output, o, h->form, h->histogram, &subject);
    statefile saved = {.histogram = h->histogram, .trailer = trailer_of(o)};
    saved.trailer.times[0] = (unsigned char)h->times.time;
    saved.trailer.scales[0] = (unsigned char)h->times.scale;
    if (code == EXIT_DONE && o->save) code = statefile_save(&h->save, &saved, h->context);
    return code == EXIT_DONE ? output_close(&h->output) : code;
}

static void close_hist(hist *h) {
    for (int i = 0; h->inputs && i < h->options->file_count; i++) rows_close(&h->inputs[i]);
    free(h->inputs);
    rows_close(&h->weights);
    expressed_close(&h->expressed);
    hist_bins_free(&h->bins);
    extremes_close(&h->extremes);
    automatic_close(&h->automatic);
    selection_close(&h->selection);
    free(h->whole);
    bf_histogram_destroy(h->histogram);
    bf_context_destroy(h->context);
    free(h->column);
}

static int hist_of(const options *o) {
    hist *h = calloc(1, sizeof *h); /* too large for a small stack */
    if (!h) return fail_memory(NULL);
    h->options = o;
    const int code = run_hist(h);
    if (code != EXIT_DONE) {
        outfile_abandon(&h->save);
        output_abandon(&h->output);
    }
    work_close(&h->work, code);
    close_hist(h);
    free(h);
    return code;
}

int cmd_hist(int argc, char **argv) {
    options o;
    condition *c;
    int code;
    if (!options_parse(&o, argc, argv, &hist_usage, &code)) return code;
    code = condition_open(&c, &o);
    if (code == EXIT_DONE) code = o.by ? hist_by_run(&o) : hist_of(&o);
    condition_close(c);
    return code;
}
