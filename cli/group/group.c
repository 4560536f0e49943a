/* group: the number of rows of each key, and aggregates of their values. */
#include "command.h"
#include "group/by/by.h"
#include "group/ordered.h"
#include "group/output.h"
#include "group/rows.h"
#include "runtime/context.h"
#include "runtime/operand.h"
#include "runtime/progress.h"
#include "work/ranks.h"
#include "work/share.h"
#include "work/statefile.h"
#include "work/work.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define AGGREGATE(op) .read = read_aggregate, .value = op, .repeats = true

static const option_spec specs[] = {
    {"sum", 0, IN_VALUES, "V", "the exact sum of each key's values", 0, AGGREGATE(BF_SUM)},
    {"mean", 0, IN_VALUES, "V", "the mean of each key's values", 0, AGGREGATE(BF_MEAN)},
    {"var", 0, IN_VALUES, "V", "the variance of each key's values", 0, AGGREGATE(BF_VAR)},
    {"std", 0, IN_VALUES, "V", "the standard deviation of each key's values", 0, AGGREGATE(BF_STD)},
    {"min", 0, IN_VALUES, "V", "the minimum of each key's values", 0, AGGREGATE(BF_MIN)},
    {"max", 0, IN_VALUES, "V", "the maximum of each key's values", 0, AGGREGATE(BF_MAX)},
    {"median", 0, IN_VALUES, "V", "the median of each key's values", 0, .read = read_median,
     .repeats = true},
    {"quantile", 0, IN_VALUES, "P:V",
     "the quantile of each key's values, P in percent, as in 95:x.npy; of several 5,95:x.npy", 0,
     .read = read_quantile, .repeats = true},
    {"count", 0, IN_VALUES, NULL, "the number of each key's rows", 0, .read = read_aggregate,
     .repeats = true},
};
const option_table group_options = OPTION_TABLE(specs);

static const usage group_usage = {
    "[OPTIONS] [KEYS]",
    "Aggregates the rows of each key: a line is a key and its aggregates, in the order in which "
    "they are asked for. With --by COLUMN, the KEYS are one table of text; its rows are grouped "
    "by columns of words or numbers, and V is a column or an expression, as in 'price*count'. '-' or no KEYS "
    "is standard input.\n\n"
    "The lines are in the order of the keys. Without --by, V is a file, or a column of KEYS if "
    "that "
    "is text; its first value belongs to the first key, and so on. If a file and a column have the "
    "same name, './price' means the file and ':price' the column. Several V have commas between; "
    "=NAME behind a V of --by names the result.\n\n"
    "Sums are exact in any order of rows. Medians and quantiles (by NumPy's methods) need all rows "
    "in memory.",
    TAKES_STDIN | TAKES_INPUT | TAKES_NAN | TAKES_ROUNDING | TAKES_DDOF | TAKES_RUNNING |
        TAKES_MEMORY | TAKES_OUTPUT | TAKES_SHEET | TAKES_SEED | TAKES_METHOD | TAKES_BY |
        TAKES_INFER | TAKES_SAVE | TAKES_WORK,
    "by where sum mean min max median count total sort top json csv output memory help",
    "bitfold group x.npy --sum x.npy --count\n"
    "bitfold group --by name --mean height,weight --csv table.csv\n"
    "bitfold group --by name --sum 'weight/height**2=bmi' --sort -bmi table.csv",
    &group_options};

enum { VALUES_MOST = OPTIONS_AGGREGATES };

/* The values that a V names: a column of KEYS, or a file of their own. */
typedef struct values {
    const char *name;
    bool file;
    int input;  /* which of the inputs has them, */
    int column; /* and which of its columns */
    int scale;  /* of those that are absorbed */
} values;

typedef struct group {
    const options *options;
    bf_context *context;
    output output;
    outfile save;
    work work;
    spool_limit limit;
    by *by;                        /* has the rows of KEYS */
    rows files[VALUES_MOST];       /* those of values */
    rows *inputs[VALUES_MOST + 1]; /* all of these, read in step */
    rows_chunk chunks[VALUES_MOST + 1];
    int count_inputs;
    char *columns;              /* of KEYS beside the key: a list */
    values values[VALUES_MOST]; /* each named once */
    int count_values;
    int of[VALUES_MOST];     /* each aggregate's values; -1: rows are counted */
    int result[VALUES_MOST]; /* and its number among the library's aggregates */
    int count;               /* of the library's */
    int scale;               /* of the keys */
    bf_groups *groups;
    ordered ordered;
    int kept[VALUES_MOST]; /* the values of each column of its rows but the first, the keys */
    spill spill;
} group;

/* ---- inputs ---------------------------------------------------------------------------------- */

static bool is_file(const char *name) {
    struct stat st;
    return member_stat(name, &st) && !S_ISDIR(st.st_mode);
}

static bool is_regular(const char *name) {
    struct stat st;
    return strcmp(name, "-") != 0 && member_stat(name, &st) && S_ISREG(st.st_mode);
}

/* Whether KEYS, a file that can be read twice, has a column of this name or number. */
static int find_column(const group *g, const char *name, bool *found) {
    source s;
    const char *keys = g->options->files[0];
    input in = {.format = g->options->input.format, .count = -1, .text = g->options->input.text};
    in.text.columns = NULL;
    in.text.table = true;
    *found = false;
    if (in.format == FORMAT_NPY || in.format == FORMAT_RAW || !is_regular(keys)) return EXIT_DONE;
    int code = source_open(&s, keys, &in, NULL);
    if (code != EXIT_DONE) return code;
    const bool text = s.text;
    source_close(&s);
    if (!text) return EXIT_DONE;
    in.text.header = true;
    code = source_open(&s, keys, &in, NULL);
    *found = code == EXIT_DONE && text_layout_column(&s.text->layout, name) >= 0;
    source_close(&s);
    return code;
}

/* V: standard input, a path with a slash, a column behind a colon; or a name of either. */
static int is_values_file(const group *g, const char *name, bool *file) {
    const bool path = strcmp(name, "-") == 0 || strchr(name, '/');
    bool both = false;
    *file = path || (*name != ':' && is_file(name));
    const int code = *file && !path ? find_column(g, name, &both) : EXIT_DONE;
    if (code != EXIT_DONE || !both) return code;
    fail(EXIT_USAGE, name, "it is both a file and a column of %s", g->options->files[0]);
    hint("'./%s' means the file, ':%s' the column", name, name);
    return EXIT_USAGE;
}

static const char *column_of(const char *name) { return *name == ':' ? name + 1 : name; }

static int add_column(group *g, const char *name) {
    const size_t before = g->columns ? strlen(g->columns) : 0, more = strlen(name);
    char *list = realloc(g->columns, before + more + 2);
    if (!list) return fail_status(BF_E_MEMORY, NULL, name);
    if (before > 0) list[before] = ',';
    memcpy(list + before + (before > 0), name, more + 1);
    g->columns = list;
    return EXIT_DONE;
}

/* Notes the values of this name, if they are new. */
static int find_values(group *g, const char *name, int *at) {
    for (*at = 0; *at < g->count_values; ++*at)
        if (strcmp(g->values[*at].name, name) == 0) return EXIT_DONE;
    values *v = &g->values[g->count_values++];
    *v = (values){.name = name};
    const int code = is_values_file(g, name, &v->file);
    return code == EXIT_DONE && !v->file ? add_column(g, column_of(name)) : code;
}

static int refuse_column(const group *g, const char *name) {
    const rows *keys = g->inputs[0];
    if (keys->source.text)
        return fail(EXIT_USAGE, keys->source.name, "not one column: '%s'", column_of(name));
    return fail(EXIT_IO, name, "%s, and the keys are no text",
                *name == ':' ? "it is a column" : "there is no such file");
}

/* Notes that these values are kept, as those of aggregate number i. */
static void keep_values(group *g, int of, int i) {
    ordered *x = &g->ordered;
    int c = 1;
    while (c < x->columns && g->kept[c - 1] != of) c++;
    g->kept[c - 1] = of;
    x->column[i] = c;
    if (c >= x->columns) x->columns = c + 1;
}

static int open_keys(group *g) {
    const options *o = g->options;
    input in = group_input(o);
    in.text.also = g->columns;
    const rows_options how = group_rows(o, 1 + g->count_values, &g->limit);
    const int code =
        (g->columns ? rows_open : rows_open_column)(g->inputs[0], o->files[0], &in, &how);
    g->count_inputs = 1;
    return code;
}

/* Opens values in a file of their own, or finds them among the columns of KEYS. */
static int open_values(group *g, values *v) {
    const rows_options how = group_rows(g->options, 1 + g->count_values, &g->limit);
    const text_input *t = g->inputs[0]->source.text;
    v->input = v->file ? g->count_inputs++ : 0;
    if (v->file) return rows_open_column(g->inputs[v->input], v->name, &g->options->input, &how);
    v->column = t ? text_layout_column(&t->layout, column_of(v->name)) : -1;
    return v->column < 0 ? refuse_column(g, v->name) : EXIT_DONE;
}

/* The column of the keys: the one that --column names, or the only one. */
static int key_column(const group *g) {
    const char *wanted = g->options->input.text.columns;
    const text_input *t = g->inputs[0]->source.text;
    return t && wanted ? text_layout_column(&t->layout, wanted) : 0;
}

static int open_inputs(group *g) {
    const options *o = g->options;
    int code = EXIT_DONE;
    for (int i = 0; i < o->aggregate_count && code == EXIT_DONE; i++) {
        g->of[i] = -1;
        if (!o->aggregates[i].values) continue;
        code = find_values(g, o->aggregates[i].values, &g->of[i]);
        if (o->aggregates[i].order != ORDER_NONE)
            keep_values(g, g->of[i], i);
        else
            g->result[i] = g->count++;
    }
    if (code == EXIT_DONE) code = open_keys(g);
    if (code == EXIT_DONE && key_column(g) < 0)
        code = fail(EXIT_USAGE, o->files[0], "one column at a time: '%s'", o->input.text.columns);
    for (int i = 0; i < g->count_values && code == EXIT_DONE; i++)
        code = open_values(g, &g->values[i]);
    return code;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int refuse_lengths(const group *g, int i, bool fewer) {
    const char *name = g->inputs[i]->source.name;
    for (int k = 0; k < g->count_inputs; k++) {
        const int code = source_check(&g->inputs[k]->source);
        if (code != EXIT_DONE) return code;
    }
    return fail(EXIT_DATA, name, "%s: it holds %s values than there are keys",
                bf_status_string(BF_E_SHAPE), fewer ? "fewer" : "more");
}

/* Takes the next rows of every input. */
static int take_rows(group *g) {
    const int64_t most = spill_batch(&g->spill, g->groups, g->count_inputs);
    int code = EXIT_DONE;
    for (int i = 0; i < g->count_inputs && code == EXIT_DONE; i++) {
        code = rows_next(g->inputs[i], most, &g->chunks[i]);
        if (code == EXIT_DONE && g->chunks[i].n != g->chunks[0].n)
            code = refuse_lengths(g, i, g->chunks[i].n < g->chunks[0].n);
    }
    return code;
}

/* Whether the library has an aggregate: it is no count of rows, and depends on no order. */
static bool is_reduction(const group *g, int i) {
    return g->of[i] >= 0 && g->ordered.column[i] == 0;
}

/* Keeps rows of these keys and values. */
static int keep_rows(group *g, const bf_array *keys, const bf_array arrays[]) {
    bf_array kept[VALUES_MOST + 1] = {*keys};
    for (int c = 1; c < g->ordered.columns; c++) {
        kept[c] = arrays[g->kept[c - 1]];
        g->ordered.of[c].scale = g->values[g->kept[c - 1]].scale;
    }
    return ordered_add(&g->ordered, kept, g->options->files[0]);
}

static int absorb_rows(group *g) {
    bf_array arrays[VALUES_MOST];
    const bf_array *of_aggregates[VALUES_MOST];
    const bf_array keys = group_array(g->inputs[0], &g->chunks[0], key_column(g));
    for (int i = 0; i < g->count_values; i++) {
        const values *v = &g->values[i];
        arrays[i] = group_array(g->inputs[v->input], &g->chunks[v->input], v->column);
    }
    for (int i = 0; i < g->options->aggregate_count; i++)
        if (is_reduction(g, i)) of_aggregates[g->result[i]] = &arrays[g->of[i]];
    const int code = keep_rows(g, &keys, arrays);
    return code == EXIT_DONE
               ? spill_absorb(&g->spill, g->groups, &keys, of_aggregates, g->options->files[0])
               : code;
}

/* Whether the columns have the dtypes that the groups were made for. */
static bool has_dtypes(const group *g) {
    bf_groups_options kind = {.size = sizeof kind};
    bf_groups_describe(g->groups, &kind);
    bool same = kind.key == rows_dtype(g->inputs[0], key_column(g)) &&
                g->scale == rows_scale(g->inputs[0], key_column(g));
    for (int i = 0; i < g->options->aggregate_count && same; i++) {
        if (!is_reduction(g, i)) continue;
        const values *v = &g->values[g->of[i]];
        const rows *r = g->inputs[v->input];
        same = kind.aggregates[g->result[i]].dtype == rows_dtype(r, v->column) &&
               v->scale == rows_scale(r, v->column);
    }
    return same;
}

static bf_status create_groups(group *g) {
    const options *o = g->options;
    bf_aggregate aggregates[VALUES_MOST];
    g->scale = rows_scale(g->inputs[0], key_column(g));
    for (int i = 0; i < g->count_values; i++)
        g->values[i].scale = rows_scale(g->inputs[g->values[i].input], g->values[i].column);
    for (int i = 0; i < o->aggregate_count; i++) {
        if (!is_reduction(g, i)) continue;
        const values *v = &g->values[g->of[i]];
        aggregates[g->result[i]] =
            (bf_aggregate){o->aggregates[i].op, rows_dtype(g->inputs[v->input], v->column)};
    }
    const bf_groups_options wanted =
        BF_GROUPS_OPTIONS(.key = rows_dtype(g->inputs[0], key_column(g)), .count = g->count,
                          .aggregates = aggregates, .seed = (uint64_t)o->seed);
    return bf_groups_create(g->context, &wanted, &g->groups);
}

/* ROWS_RESETTLED: a column turned out to have another dtype. */
static int absorb_all(group *g) {
    const work_thing thing = {.groups = &g->groups};
    int code = work_begin(&g->work, g->inputs, g->count_inputs);
    if (code != EXIT_DONE) return code;
    if (rows_dtype(g->inputs[0], key_column(g)) == BF_NONE) return ROWS_STRINGS;
    const bf_status st = create_groups(g);
    code = st == BF_OK ? work_hold(&g->work, &thing, 1)
                       : fail_status(st, g->context, g->options->files[0]);
    while (code == EXIT_DONE) {
        code = take_rows(g);
        if (code != EXIT_DONE || g->chunks[0].n == 0) break;
        code = absorb_rows(g);
        if (code == EXIT_DONE && !spill_used(&g->spill)) work_tick(&g->work);
    }
    return code;
}

/* Streams are kept only while a dtype may change, with which all begins anew. */
static void forget_streams(group *g) {
    bool may = false;
    for (int i = 0; i < g->count_inputs; i++) may = may || rows_may_resettle(g->inputs[i]);
    for (int i = 0; i < g->count_inputs && !may; i++) rows_forget(g->inputs[i]);
}

/* Begins anew with all inputs. */
static void begin_again(group *g) {
    bf_groups_destroy(g->groups);
    g->groups = NULL;
    ordered_drop(&g->ordered);
    spill_forget(&g->spill, 0);
    for (int i = 0; i < g->count_inputs; i++) rows_again(g->inputs[i]);
    forget_streams(g);
}

static int absorb_settled(group *g) {
    int code;
    while ((code = absorb_all(g)) == ROWS_RESETTLED) begin_again(g);
    return code;
}

static int make_groups(group *g) {
    int64_t bytes = 0;
    for (int i = 0; i < g->count_inputs; i++) {
        const int64_t more = rows_bytes(g->inputs[i]);
        bytes = bytes < 0 || more < 0 ? -1 : bytes + more;
    }
    progress_start(g->options->files[0], bytes);
    forget_streams(g);
    int code = work_end(&g->work, absorb_settled(g), false);
    while (code == ROWS_RESETTLED) { /* another rank's rows have shown it */
        const bool same = has_dtypes(g);
        if (!same) begin_again(g);
        code = work_end(&g->work, same ? EXIT_DONE : absorb_settled(g), false);
    }
    progress_stop();
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int refuse_order(const char *option) {
    fail(EXIT_USAGE, NULL, "%s does not go with --median and --quantile", option);
    hint(strcmp(option, "--memory") == 0
             ? "of a table of text, --by COLUMN takes them within --memory"
             : "they keep the keys and values of all rows in memory until the end");
    return EXIT_USAGE;
}

static int check_asked(const options *o) {
    if (o->aggregate_count > 0) return EXIT_DONE;
    fail(EXIT_USAGE, NULL, "nothing is asked for");
    hint("ask for --sum V, --mean V, --min V, --max V, --median V, --quantile P:V or --count");
    return EXIT_USAGE;
}

static int check_line(const options *o) {
    if (o->file_count != 1)
        return fail(EXIT_USAGE, NULL, "one file of keys is needed, not %d", o->file_count);
    int code = check_asked(o);
    if (code == EXIT_DONE) code = by_check_absent(o, false);
    if (code != EXIT_DONE) return code;
    for (int i = 0; i < o->aggregate_count; i++) {
        if (o->aggregates[i].order == ORDER_NONE) continue;
        const char *with = o->memory.limit ? "--memory"
                           : o->save       ? "--save"
                           : o->checkpoint ? "--checkpoint"
                                           : NULL;
        if (with) return refuse_order(with);
    }
    return EXIT_DONE;
}

static const char *name_of(const struct wanted_aggregate *w) {
    switch (w->order) {
    case ORDER_MEDIAN_OF: return "median";
    case ORDER_QUANTILE_OF: return "quantile";
    default: return w->values ? bf_reduction_name(w->op) : "count";
    }
}

/* The columns as they are shown: reductions, and the number of rows. */
static int save_groups(group *g, const group_column *columns, int n) {
    statefile saved = {.groups = g->groups, .trailer = trailer_of(g->options)};
    saved.trailer.columns = n;
    for (int i = 0; i < n; i++) saved.trailer.which[i] = (signed char)columns[i].which;
    saved.trailer.key_scale = (unsigned char)g->scale;
    for (int i = 0; i < n; i++)
        if (columns[i].which >= 0)
            saved.trailer.scales[columns[i].which] = (unsigned char)columns[i].scale;
    return statefile_save(&g->save, &saved, g->context);
}

static int put_groups(group *g, double began) {
    const options *o = g->options;
    char *key = group_key_name(g->inputs[0], key_column(g));
    group_subject subject = {.context = g->context,
                             .groups = g->groups,
                             .file = o->files[0],
                             .key = key,
                             .scale = g->scale,
                             .began = began};
    group_column columns[VALUES_MOST];
    for (int i = 0; i < o->aggregate_count; i++) {
        const struct wanted_aggregate *w = &o->aggregates[i];
        const bool quantile = w->order == ORDER_QUANTILE_OF, reduced = is_reduction(g, i);
        const char *of = w->values && *w->values == ':' ? w->values + 1 : w->values;
        columns[i] =
            (group_column){.op = name_of(w),
                           .of = of,
                           .which = reduced ? g->result[i] : -1,
                           .scale = g->of[i] >= 0 ? g->values[g->of[i]].scale : 0,
                           .results = g->ordered.column[i] > 0 ? &g->ordered.results[i] : NULL,
                           .percent = quantile ? &w->percent : NULL};
    }
    const int n = o->aggregate_count;
    const int code = spill_end(&g->spill)
                         ? group_put_spilled_columns(&g->output, o, &subject, &g->spill, columns, n)
                         : group_put_columns(&g->output, o, &subject, columns, n);
    free(key);
    return code == EXIT_DONE && o->save ? save_groups(g, columns, n) : code;
}

/* The groups of keys that are not all numbers. */
static int group_others(group *g, double began) {
    int fields[VALUES_MOST];
    for (int i = 0; i < g->options->aggregate_count; i++) {
        const values *v = g->of[i] >= 0 ? &g->values[g->of[i]] : NULL;
        const bool column = v && !v->file;
        fields[i] = column ? g->inputs[0]->source.text->layout.fields[v->column] : -1;
    }
    ordered_drop(&g->ordered);
    spill_close(&g->spill);
    return by_take(g->by, g->context, &g->output, key_column(g), fields, began);
}

/* The groups of keys that are numbers. */
static int group_numbers(group *g, double began) {
    const options *o = g->options;
    int code = ranks_merge_groups(g->context, g->groups, o->files[0]);
    if (code == EXIT_DONE)
        code = ordered_find(&g->ordered, o, g->context, bf_groups_size(g->groups));
    if (code == EXIT_DONE) note_device(g->context, o->files[0]);
    return code == EXIT_DONE ? put_groups(g, began) : code;
}

static int run_group(group *g) {
    const options *o = g->options;
    const double began = progress_clock();
    int code = check_line(o);
    if (code == EXIT_DONE) code = context_open(&g->context, o);
    if (code == EXIT_DONE) code = spill_open(&g->spill, o, g->context, o->aggregate_count);
    if (code == EXIT_DONE) code = output_open(&g->output, o, false);
    if (code == EXIT_DONE && o->save) code = outfile_open(&g->save, o->save);
    if (code == EXIT_DONE) code = open_inputs(g);
    code = ranks_agree(code);
    if (code == EXIT_DONE) code = work_open(&g->work, o, g->context);
    if (code == EXIT_DONE) code = share_rows(g->inputs, g->count_inputs, NULL);
    if (code == EXIT_DONE) code = make_groups(g);
    if (code == ROWS_STRINGS)
        code = group_others(g, began);
    else if (code == EXIT_DONE)
        code = group_numbers(g, began);
    return code == EXIT_DONE ? output_close(&g->output) : code;
}

int cmd_group(int argc, char **argv) {
    options o;
    int code;
    if (!options_parse(&o, argc, argv, &group_usage, &code)) return code;
    if (o.by) return ranks_agree(check_asked(&o) == EXIT_DONE ? by_run(&o) : EXIT_USAGE);
    group *g = calloc(1, sizeof *g); /* too large for a small stack */
    if (!g) return fail(EXIT_IO, NULL, "no memory for the columns");
    g->options = &o;
    g->by = by_open(&o);
    if (g->by) g->inputs[0] = by_rows(g->by);
    for (int i = 0; i < VALUES_MOST; i++) {
        g->files[i].source.fd = -1;
        g->inputs[i + 1] = &g->files[i];
    }
    spool_limit_set(&g->limit, o.memory.pipes);
    code = g->by ? run_group(g) : EXIT_IO;
    if (code != EXIT_DONE) {
        outfile_abandon(&g->save);
        output_abandon(&g->output);
    }
    work_close(&g->work, code);
    for (int i = 0; i < VALUES_MOST; i++) rows_close(&g->files[i]);
    by_close(g->by);
    free(g->columns);
    ordered_close(&g->ordered);
    bf_groups_destroy(g->groups);
    spill_close(&g->spill);
    bf_context_destroy(g->context);
    free(g);
    return code;
}
