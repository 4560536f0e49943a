/* merge: saved states become one, and others are taken out of it. */
#include "command.h"
#include "group/by.h"
#include "options/form.h"
#include "options/operand.h"
#include "reduce/many.h"
#include "reduce/reduce.h"
#include "reduce/task.h"
#include "reduce/texts.h"
#include "runtime/info.h"
#include "runtime/progress.h"
#include "work/statefile.h"
#include "work/units.h"
#include "work/wide.h"

#include <stdlib.h>
#include <string.h>

static bool read_minus(const option_spec *spec, const char *text, void *to) {
    options *o = to;
    if (*text == '\0') return operand_bad(spec->name, text, "a file");
    if (o->minus_count == OPTIONS_MINUS) {
        fail(EXIT_USAGE, NULL, "more than %d states to take out", OPTIONS_MINUS);
        hint("merge them first, then take out the merged state");
        return false;
    }
    o->minus[o->minus_count++] = text;
    return true;
}

static const option_spec specs[] = {{"minus", 0, IN_INPUT, "FILE",
                                     "take this saved state out again; repeatable", 0,
                                     .read = read_minus, .file = FILE_READ, .repeats = true}};
const option_table merge_options = OPTION_TABLE(specs);

static const usage merge_usage = {
    "[OPTIONS] STATE...",
    "Combines states that --save wrote, in any order, and shows the value of all their data, with "
    "the bits of one pass over them. --minus takes out a state that is part of the others, "
    "exactly; --save saves the state of the result.\n\n"
    "Histograms are shown as by hist, counts as by count, and groups as by group, with the columns "
    "that the first STATE was saved with; many values of --axis, --offsets or --index are shown "
    "one a line. The value is by the options that the states were saved with, as --ddof 1, unless "
    "merge has its own.\n\n"
    "Sums, means, variances, norms, what is told of pairs, histograms, counts, and groups of "
    "these, of "
    "medians, quantiles, modes and different values can be taken out; minima, maxima, products, "
    "first and last values cannot.\n\n"
    "argmin, argmax, describe, prod of floats, first and last values depend on the order of the "
    "data. Parts that were saved with --offset take their places. Groups and whole files follow "
    "each other in the order of the STATEs: an index counts from the start of the first, and a "
    "message names the STATE that holds it. For prod of floats only parts can be merged.",
    TAKES_STDIN | TAKES_NAN | TAKES_OVERFLOW | TAKES_ROUNDING | TAKES_DDOF | TAKES_PLOT |
        TAKES_TOP | TAKES_SAVE | TAKES_OUTPUT | TAKES_SHEET | TAKES_DEVICE | TAKES_EMPTY,
    "minus save nan ddof json csv output help",
    "bitfold sum --save x.bfs x.npy\n"
    "bitfold sum --save y.bfs y.npy\n"
    "bitfold merge --save xy.bfs x.bfs y.bfs\n"
    "bitfold merge xy.bfs --minus y.bfs",
    &merge_options};

typedef struct part {
    const char *file;
    statefile saved;
    by *table;           /* the groups of a table */
    texts *texts;        /* strings that describe saved */
    bf_state_info info;  /* a state's */
    bf_states_info many; /* what many states are */
} part;

/* By the index that each part ends at: ordered states merge in this order, others in any. */
static int by_place(const void *a, const void *b) {
    const int64_t x = ((const part *)a)->info.next, y = ((const part *)b)->info.next;
    return (x > y) - (x < y);
}

static const char *kind_of(const part *p) {
    return p->saved.histogram ? "a histogram"
           : p->saved.groups  ? "groups"
           : p->table         ? "groups of a table"
           : p->texts         ? "strings"
           : p->saved.states  ? "many values"
                              : "a value";
}

static int check_many(const part *first, const part *p) {
    const bf_states_info *a = &first->many, *b = &p->many;
    if (a->op == b->op && a->dtype == b->dtype && a->count == b->count) return EXIT_DONE;
    return fail(EXIT_DATA, p->file, "states do not match: this is of %lld %s %s, %s of %lld %s %s",
                (long long)b->count, bf_reduction_name(b->op), bf_dtype_name(b->dtype), first->file,
                (long long)a->count, bf_reduction_name(a->op), bf_dtype_name(a->dtype));
}

static int check_part(const part *first, const part *p) {
    if (strcmp(kind_of(first), kind_of(p)) != 0)
        return fail(EXIT_DATA, p->file, "states do not match: this is of %s, %s of %s", kind_of(p),
                    first->file, kind_of(first));
    if (p->saved.states) return check_many(first, p);
    if (!p->saved.state ||
        (p->info.op == first->info.op && task_joins(first->saved.state, p->saved.state)))
        return EXIT_DONE;
    fail(EXIT_DATA, p->file, "states do not match: this is of %s %s, %s of %s %s",
         bf_reduction_name(p->info.op), output_dtype(p->info.dtype, p->info.scale), first->file,
         bf_reduction_name(first->info.op), output_dtype(first->info.dtype, first->info.scale));
    if (p->info.op == first->info.op && (p->info.dtype == BF_F64) != (first->info.dtype == BF_F64))
        hint("--dtype f64 saves states of text as those of doubles");
    return EXIT_DATA;
}

static void tell_groups(const part *p) {
    const bf_groups_options kind = groups_kind(p->saved.groups);
    note(p->file, "%lld groups of %s: %lld rows, %d aggregates",
         (long long)bf_groups_size(p->saved.groups), bf_dtype_name(kind.key),
         (long long)bf_groups_rows(p->saved.groups), kind.count);
}

static void tell_part(const part *p) {
    const bf_histogram_info info = histogram_info(p->saved.histogram);
    if (p->texts) {
        note(p->file, "strings: %lld, %lld of them different", (long long)p->texts->n,
             (long long)p->texts->different);
    } else if (p->table) {
        note(p->file, "groups of a table: %lld bytes", (long long)p->saved.table_size);
    } else if (p->saved.groups) {
        tell_groups(p);
    } else if (p->saved.states) {
        note(p->file, "%lld states of %s %s", (long long)p->many.count,
             bf_reduction_name(p->many.op), bf_dtype_name(p->many.dtype));
    } else if (p->saved.histogram) {
        note(p->file, "a histogram of %s: %lld elements in %lld bins", bf_dtype_name(info.dtype),
             (long long)info.count, (long long)info.bins);
    } else {
        note(p->file, "a state of %s %s: %lld elements", bf_reduction_name(p->info.op),
             bf_dtype_name(p->info.dtype), (long long)p->info.count);
    }
}

static int count_parts(const options *o) { return o->file_count + o->minus_count; }

/* Loads the parts to merge, then those to take out. */
static int load_parts(task *t, part *parts) {
    const options *o = t->options;
    for (int i = 0; i < count_parts(o); i++) {
        part *p = &parts[i];
        p->file = i < o->file_count ? o->files[i] : o->minus[i - o->file_count];
        int code = statefile_load(t->context, p->file, &p->saved);
        if (code != EXIT_DONE) return code;
        if (p->saved.table) p->texts = texts_load(t->context, &p->saved);
        if (p->saved.table && !p->texts)
            p->table = by_load(o, t->context, p->file, &p->saved, &code);
        if (code != EXIT_DONE) return code;
        p->info = state_info(p->saved.state);
        p->many = states_info(p->saved.states);
        tell_part(p);
        code = check_part(&parts[0], p);
        if (code != EXIT_DONE) return code;
    }
    return EXIT_DONE;
}

/* Whether ordered states are of several wholes: all that have places begin at 0. */
static bool are_wholes(const part *parts, int n) {
    int some = 0;
    for (int i = 0; i < n; i++) {
        const bf_state_info *info = &parts[i].info;
        const bool whole = info->next == info->count || parts[i].saved.trailer.whole;
        if (!parts[i].saved.state || !reduce_is_ordered(info->op)) return false;
        if (info->count > 0 && !whole) return false;
        some += whole && info->next > 0;
    }
    return some > 1;
}

/* They are of one kind. */
static bf_status merge_part(const part *a, const part *b, bool wholes) {
    const statefile *into = &a->saved, *from = &b->saved;
    if (a->table) return by_merge(a->table, b->table);
    if (a->texts) return texts_merge(a->texts, b->texts);
    return wholes ? bf_state_append(into->state, from->state) : statefile_merge(into, from);
}

static int finer(unsigned char *into, unsigned char *from, int *digits_into, int *digits_from) {
    const unsigned char most = *into > *from ? *into : *from;
    *digits_into = most - *into;
    *digits_from = most - *from;
    *into = *from = most;
    return *digits_into + *digits_from;
}

/* Whether keys and values of both may have one dtype: others have no scale in common. */
static bool may_join(const bf_groups_options *a, const bf_groups_options *b) {
    bool may = wide_joins(a->key, b->key) && a->count == b->count;
    for (int i = 0; may && i < a->count; i++)
        may = wide_joins(a->aggregates[i].dtype, b->aggregates[i].dtype);
    return may;
}

/* Whether keys or values of both have two dtypes. */
static bool differ(const bf_groups_options *a, const bf_groups_options *b) {
    bool some = a->key != b->key;
    for (int i = 0; i < a->count; i++)
        some = some || a->aggregates[i].dtype != b->aggregates[i].dtype;
    return some;
}

static bf_status widen_both(bf_context *context, statefile *into, statefile *from) {
    const bf_status st = wide_groups(context, &into->groups);
    return st == BF_OK ? wide_groups(context, &from->groups) : st;
}

/* Brings groups of decimals to one scale, and to dtypes that hold both. */
static bf_status match_groups(bf_context *context, statefile *into, statefile *from) {
    int key[2], digits[2][OPTIONS_AGGREGATES];
    trailer *a = &into->trailer, *b = &from->trailer;
    bf_groups_options kinds[] = {groups_kind(into->groups), groups_kind(from->groups)};
    if (!may_join(&kinds[0], &kinds[1])) return BF_OK; /* they will be refused */
    bf_status st = differ(&kinds[0], &kinds[1]) ? widen_both(context, into, from) : BF_OK;
    int all = finer(&a->key_scale, &b->key_scale, &key[0], &key[1]);
    for (int i = 0; i < kinds[0].count; i++)
        all += finer(&a->scales[i], &b->scales[i], &digits[0][i], &digits[1][i]);
    if (all == 0 || st != BF_OK) return st;
    st = wide_rescale(context, &into->groups, key[0], digits[0]);
    if (st == BF_OK) st = wide_rescale(context, &from->groups, key[1], digits[1]);
    kinds[0] = groups_kind(into->groups);
    kinds[1] = groups_kind(from->groups);
    return st == BF_OK && differ(&kinds[0], &kinds[1]) ? widen_both(context, into, from) : st;
}

/* Why they do not go together: groups of tables may be told apart before the library sees them. */
static const char *why(const bf_context *context, const char *otherwise) {
    const char *message = bf_context_message(context);
    return *message ? message : otherwise;
}

/* A state that was loaded is not damaged: it is not of the same whole as the others. */
static int refuse_part(const task *t, bf_status st, const part *p, bool wholes) {
    const bf_context *context = t->context;
    if (st != BF_E_STATE) return fail_status(st, context, p->file);
    if (wholes) {
        fail(EXIT_DATA, p->file, "it begins at element 0, as those before it: %s",
             bf_context_message(context));
        hint("'bitfold prod --total --save FILE' takes files in turn; --offset saves a part");
        return EXIT_DATA;
    }
    fail(EXIT_DATA, p->file, "it does not go with the others: %s",
         why(context, "other keys, or other aggregates"));
    if (p->saved.histogram)
        hint("parts have the same bins by --bins and --range, or --edges");
    else if (p->saved.groups || p->table)
        hint("--dtype f64 saves groups of decimals as those of doubles");
    else if (p->saved.state)
        hint("--offset and --count save parts of one array, with each element in one of them");
    return EXIT_DATA;
}

/* Makes the first state one that takes all others, also those that will be taken out. */
static int widen_first(const task *t, part *parts) {
    bf_status st = BF_OK;
    for (int i = 1; i < count_parts(t->options) && parts[0].saved.state && st == BF_OK; i++)
        st = task_widen(t->context, &parts[0].saved.state, parts[i].saved.state);
    return st == BF_OK ? EXIT_DONE : fail_status(st, t->context, parts[0].file);
}

/* Groups without a row: what their keys and values are is not told. */
static bool is_empty(const part *p) {
    return p->table ? by_is_empty(p->table)
                    : p->saved.groups && bf_groups_size(p->saved.groups) == 0;
}

/* The first part is one that tells, if there is any. */
static void lead_with(part *first, part *other) {
    const part empty = *first;
    if (!is_empty(first)) return;
    *first = *other;
    *other = empty;
}

/* Whether keys and values of both are times, or none are; sets those of the first to what times
 * both are. */
static bool match_times(trailer *into, const trailer *from) {
    bool good = true;
    for (int i = -1; i < OPTIONS_AGGREGATES && good; i++) {
        unsigned char *const to = i < 0 ? &into->key_time : &into->times[i];
        bf_time_kind both = (bf_time_kind)*to;
        good = units_join_times(&both, (bf_time_kind)(i < 0 ? from->key_time : from->times[i]));
        *to = (unsigned char)both;
    }
    return good;
}

/* Merges all parts into the first. */
static int merge_parts(task *t, part *parts, int n, bool wholes) {
    if (parts[0].saved.state && !wholes) qsort(parts, (size_t)n, sizeof *parts, by_place);
    const int code = widen_first(t, parts);
    if (code != EXIT_DONE) return code;
    for (int i = 1; i < n; i++) {
        statefile *const into = &parts[0].saved, *const from = &parts[i].saved;
        lead_with(&parts[0], &parts[i]);
        const bool fits = is_empty(&parts[i]) || match_times(&into->trailer, &from->trailer);
        bf_status st = fits ? BF_OK : BF_E_STATE;
        if (st == BF_OK && into->groups) st = match_groups(t->context, into, from);
        if (st == BF_OK) st = merge_part(&parts[0], &parts[i], wholes);
        if (st != BF_OK) return refuse_part(t, st, &parts[i], wholes);
        into->trailer.whole = wholes && (into->trailer.whole || from->trailer.whole);
    }
    return EXIT_DONE;
}

/* ---- taking out ------------------------------------------------------------------------------ */

static bf_status retract_part(const part *a, const part *b) {
    const statefile *into = &a->saved, *from = &b->saved;
    if (a->table) return by_retract(a->table, b->table);
    if (a->texts) return BF_E_ARGUMENT;
    if (into->groups) return bf_groups_retract(into->groups, from->groups);
    if (into->histogram) return bf_histogram_retract(into->histogram, from->histogram);
    return bf_state_retract(into->state, from->state);
}

static int refuse_minus(const task *t, bf_status st, const part *p) {
    if (st != BF_E_STATE && st != BF_E_ARGUMENT) return fail_status(st, t->context, p->file);
    fail(EXIT_DATA, p->file, "it cannot be taken out: %s",
         st == BF_E_ARGUMENT
             ? why(t->context, p->texts ? "the least and the greatest string do not go back"
                                        : "first and last values do not go back")
             : why(t->context, "other keys, other aggregates, or values that are not there"));
    if (st == BF_E_ARGUMENT)
        hint("merge the states of the other parts: minima, maxima, products, first and last "
             "values do not go back");
    else
        hint("--minus takes a state that is part of the others: it was merged, or saved from some "
             "of their data");
    return EXIT_DATA;
}

/* Takes n parts out of the merged one. */
static int retract_parts(task *t, part *merged, part *parts, int n) {
    if (n > 0 && merged->saved.states)
        return fail(EXIT_DATA, parts->file, "cannot take out a state of many values");
    for (int i = 0; i < n; i++) {
        statefile *const into = &merged->saved, *const from = &parts[i].saved;
        bf_status st = into->groups ? match_groups(t->context, into, from) : BF_OK;
        if (st == BF_OK) st = retract_part(merged, &parts[i]);
        if (st != BF_OK) return refuse_minus(t, st, &parts[i]);
    }
    return EXIT_DONE;
}

/* ---- what was asked for ---------------------------------------------------------------------- */

static bool is_given(const char *name) {
    int n;
    const given_option *given = options_given(&n);
    for (int i = 0; i < n; i++)
        if (strcmp(given[i].spec->name, name) == 0) return true;
    return false;
}

/* The options of a result. */
typedef struct wanted {
    bf_reduce_options rules;
    const char *empty; /* NULL: none */
} wanted;

/* Takes what a part was saved with, where the command has no option of its own. */
static wanted take_trailer(const options *o, const trailer *from) {
    wanted w = {o->rules, o->empty};
    if (!is_given("nan")) w.rules.nan = from->rules.nan;
    if (!is_given("out-dtype")) w.rules.out_dtype = from->rules.out_dtype;
    if (!is_given("ddof")) w.rules.ddof = from->rules.ddof;
    if (!is_given("overflow")) w.rules.overflow = from->rules.overflow;
    w.rules.weights = from->rules.weights;
    if (!is_given("empty") && from->empty[0]) w.empty = from->empty;
    return w;
}

/* The option of the result that two parts were saved with differently; NULL: none. */
static const char *differing(const wanted *a, const wanted *b) {
    const char *x = a->empty ? a->empty : "", *y = b->empty ? b->empty : "";
    return a->rules.nan != b->rules.nan               ? "nan"
           : a->rules.out_dtype != b->rules.out_dtype ? "out-dtype"
           : a->rules.ddof != b->rules.ddof           ? "ddof"
           : a->rules.overflow != b->rules.overflow   ? "overflow"
           : a->rules.weights != b->rules.weights     ? "aweights"
           : strcmp(x, y) != 0                        ? "empty"
                                                      : NULL;
}

/* The n parts are of one result: its options are theirs. */
static int take_trailers(options *o, part *parts, int n) {
    const wanted first = take_trailer(o, &parts[0].saved.trailer);
    for (int i = 1; i < n; i++) {
        const wanted other = take_trailer(o, &parts[i].saved.trailer);
        const char *name = differing(&first, &other);
        if (!name) continue;
        fail(EXIT_DATA, parts[i].file, "it was saved with another --%s than %s", name,
             parts[0].file);
        if (strcmp(name, "aweights") != 0) hint("merge --%s says which one holds", name);
        return EXIT_DATA;
    }
    o->rules = first.rules;
    o->empty = first.empty;
    return EXIT_DONE;
}

/* ---- where an index is ----------------------------------------------------------------------- */

/* Tells which of several wholes the index is in. */
static void tell_index(const part *parts, int64_t index, const char *what) {
    int64_t at = index;
    if (index < 0) return;
    for (; at >= parts->info.next; parts++) at -= parts->info.next;
    inform(parts->file, "its element %lld is the %s: element %lld of all", (long long)at, what,
           (long long)index);
}

/* A result that there is not has been reported. */
static void tell_indices(const task *t, const part *parts) {
    const bf_reduce_options *rules = &t->options->rules;
    const bf_state *state = parts[0].saved.state;
    const bf_reduction op = parts[0].info.op;
    bf_description d = {.size = sizeof d};
    bf_value value;
    if (op == BF_DESCRIBE && bf_state_description(state, rules, &d) == BF_OK) {
        tell_index(parts, d.argmin, "minimum");
        tell_index(parts, d.argmax, "maximum");
    } else if (bf_reduction_result(op) == BF_RESULT_INDEX &&
               bf_state_result(state, rules, &value) == BF_OK) {
        tell_index(parts, value.as.i64, op == BF_ARGMIN ? "minimum" : "maximum");
    }
}

/* ---- output ---------------------------------------------------------------------------------- */

/* Options that the state has no use for. */
static int check_options(const options *o, const part *p) {
    const statefile *saved = &p->saved;
    if ((o->top > 0 || o->by_key) && !statefile_is_counts(saved) && !p->table)
        return fail(EXIT_USAGE, NULL, "--sort and -n belong to counts");
    if ((o->density || o->log || o->title) && !saved->histogram)
        return fail(EXIT_USAGE, NULL, "--density, --log and --title belong to histograms");
    if (o->empty && !saved->states) return fail(EXIT_USAGE, NULL, "--empty belongs to many values");
    if (saved->histogram) return EXIT_DONE;
    return form_check(o, saved->states ? FORMS_OF_TEXT | 1 << FORM_NPY : FORMS_OF_TEXT);
}

/* The state of a value is saved by task_close. */
static int save_others(task *t, const part *p) {
    const statefile *saved = &p->saved;
    if (!t->options->save || saved->state) return EXIT_DONE;
    statefile whole = *saved;
    whole.trailer = trailer_of(t->options);
    if (p->table) return by_save(p->table, &t->save, &whole.trailer);
    if (p->texts) return task_save_texts(t, p->texts);
    whole.trailer.columns = saved->trailer.columns;
    whole.trailer.key_scale = saved->trailer.key_scale;
    whole.trailer.key_time = saved->trailer.key_time;
    memcpy(whole.trailer.times, saved->trailer.times, sizeof whole.trailer.times);
    memcpy(whole.trailer.scales, saved->trailer.scales, sizeof whole.trailer.scales);
    memcpy(whole.trailer.which, saved->trailer.which, sizeof whole.trailer.which);
    return statefile_save(&t->save, &whole, t->context);
}

static int emit_merged(task *t, const part *p, const char *file, double began) {
    const statefile *saved = &p->saved;
    const saved_showing x = {&t->output, t->options, t->context, saved, file, began};
    const result r = {.file = file, .time = t->time, .seconds = progress_clock() - began};
    int code = check_options(t->options, p);
    if (code != EXIT_DONE) return code;
    code = saved->histogram ? hist_show_saved(&x)
           : saved->groups  ? group_show_saved(&x)
           : saved->states  ? many_show(t, saved->states, file, began)
           : p->table       ? by_show(p->table, &t->output, file, began)
           : p->texts       ? task_emit_texts(t, p->texts, &r)
                            : task_emit(t, saved->state, r, 0);
    return code == EXIT_DONE ? save_others(t, p) : code;
}

static int run_merge(task *t, options *o, part *parts) {
    const double began = progress_clock();
    int code = load_parts(t, parts);
    if (code == EXIT_DONE) code = take_trailers(o, parts, o->file_count);
    const bool wholes = code == EXIT_DONE && are_wholes(parts, o->file_count);
    if (code == EXIT_DONE) code = merge_parts(t, parts, o->file_count, wholes);
    t->whole = parts[0].saved.trailer.whole;
    t->time = (bf_time_kind)parts[0].saved.trailer.times[0];
    if (code == EXIT_DONE)
        code = retract_parts(t, &parts[0], parts + o->file_count, o->minus_count);
    const char *file = count_parts(o) == 1 ? o->files[0] : "total";
    if (code == EXIT_DONE) code = emit_merged(t, &parts[0], file, began);
    if (code == EXIT_DONE && wholes) tell_indices(t, parts);
    return code;
}

int cmd_merge(int argc, char **argv) {
    options o;
    int code;
    if (!options_parse(&o, argc, argv, &merge_usage, &code)) return code;
    task t;
    code = task_open(&t, &o, false);
    part *parts = calloc((size_t)count_parts(&o), sizeof *parts);
    if (code == EXIT_DONE && !parts) code = task_close(&t, fail_memory(NULL), NULL);
    if (code == EXIT_DONE) {
        code = run_merge(&t, &o, parts);
        code = task_close(&t, code, parts[0].saved.state);
    }
    for (int i = 0; parts && i < count_parts(&o); i++) {
        by_close(parts[i].table);
        texts_close(parts[i].texts);
        statefile_free(&parts[i].saved);
    }
    free(parts);
    task_free(&t);
    return code;
}
