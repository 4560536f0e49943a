/* group: the number of rows of each key, and aggregates of their values. */
#include "command.h"
#include "group/output.h"
#include "input/column.h"
#include "runtime/context.h"
#include "runtime/progress.h"
#include "runtime/statefile.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const usage group_usage = {
    "[OPTIONS] [KEYS]",
    "What the rows of each key come to: lines of key and the values asked for, in that order, by\n"
    "key. The values of a V belong to the keys one by one; V is a file or a column of KEYS, which\n"
    "then is a file of text: of a name that both have, './price' is the file and ':price' the "
    "column.\n"
    "Sums are exact, whatever the order.\n"
    "'-' or no KEYS is standard input.",
    TAKES_STDIN | TAKES_INPUT | TAKES_NAN | TAKES_ROUNDING | TAKES_RUNNING | TAKES_OUTPUT |
        TAKES_SEED | TAKES_GROUPS | TAKES_SAVE,
    "bitfold group x.npy --sum x.npy --count"};

enum { VALUES_MOST = OPTIONS_AGGREGATES };

typedef struct group {
    const options *options;
    bf_context *context;
    output output;
    outfile save;
    column keys, values[VALUES_MOST];
    int columns;                    /* of values */
    const char *names[VALUES_MOST]; /* of the columns */
    int of[VALUES_MOST];            /* each aggregate's column; -1: rows are counted */
    int result[VALUES_MOST];        /* and its number among the library's aggregates */
    bf_aggregate aggregates[VALUES_MOST];
    int count; /* of the library's */
    bf_groups *groups;
} group;

/* ---- columns --------------------------------------------------------------------------------- */

static bool is_file(const char *name) {
    struct stat st;
    return stat(name, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* Whether KEYS can have columns of values: it is text, and can be read once more. */
static bool has_columns(const group *g) {
    const options *o = g->options;
    return o->input.format != FORMAT_NPY && o->input.format != FORMAT_RAW &&
           strcmp(o->files[0], "-") != 0 && g->keys.source.loaded.room > 0;
}

static bool is_column_of(const text_layout *l, const char *name) {
    for (int k = 0; k < l->columns; k++)
        if (strcmp(l->names[k], name) == 0) return true;
    const bool digits = *name && name[strspn(name, "0123456789")] == '\0';
    const long number = digits ? strtol(name, NULL, 10) : 0;
    return number >= 1 && number <= l->columns;
}

/* Whether KEYS has a column of this name or number. */
static int find_column(const group *g, const char *name, bool *found) {
    source s;
    input in = g->options->input;
    in.rows = in.text.table = in.text.header = true;
    in.text.columns = NULL;
    *found = false;
    if (!has_columns(g)) return EXIT_DONE;
    const int code = source_open(&s, g->options->files[0], &in);
    if (code != EXIT_DONE) return code;
    *found = s.text && is_column_of(&s.text->layout, name);
    source_close(&s);
    return EXIT_DONE;
}

static int open_column(group *g, column *c, const char *name, const char *why_not) {
    input in = g->options->input;
    if (!has_columns(g)) return fail(EXIT_IO, name, "%s", why_not);
    in.text.columns = name;
    return column_open(c, g->options->files[0], &in);
}

/* V: standard input, a path with a slash, a column behind a colon; or a name of either. */
static int open_values(group *g, column *c, const char *name) {
    const bool path = strcmp(name, "-") == 0 || strchr(name, '/');
    if (*name == ':')
        return open_column(g, c, name + 1, "it is a column, and the keys are no file of text");
    if (!path && !is_file(name))
        return open_column(g, c, name, "there is no such file, and the keys are no file of text");
    bool both = false;
    const int code = path ? EXIT_DONE : find_column(g, name, &both);
    if (code != EXIT_DONE) return code;
    if (!both) return column_open(c, name, &g->options->input);
    fail(EXIT_USAGE, name, "it is both a file and a column of %s", g->options->files[0]);
    hint("'./%s' means the file, ':%s' the column", name, name);
    return EXIT_USAGE;
}

/* The column of this name, opened if it is new. */
static int find_values(group *g, const char *name, int *at) {
    for (*at = 0; *at < g->columns; ++*at)
        if (strcmp(g->names[*at], name) == 0) return EXIT_DONE;
    const int code = open_values(g, &g->values[*at], name);
    if (code == EXIT_DONE) g->names[g->columns++] = name;
    return code;
}

static int open_columns(group *g) {
    const options *o = g->options;
    int code = column_open(&g->keys, o->files[0], &o->input);
    for (int i = 0; i < o->aggregate_count && code == EXIT_DONE; i++) {
        const struct wanted_aggregate *w = &o->aggregates[i];
        g->of[i] = -1;
        if (!w->values) continue;
        code = find_values(g, w->values, &g->of[i]);
        if (code != EXIT_DONE) return code;
        g->result[i] = g->count;
        g->aggregates[g->count++] = (bf_aggregate){w->op, g->values[g->of[i]].dtype};
    }
    return code;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int lengths_differ(const group *g, int c, const char *how) {
    return fail(EXIT_DATA, g->names[c], "%s: it holds %s values than there are keys",
                bf_status_string(BF_E_SHAPE), how);
}

static int absorb_block(group *g, const bf_array *keys) {
    const int64_t n = keys->shape[0];
    bf_array columns[VALUES_MOST];
    const bf_array *values[VALUES_MOST];
    for (int c = 0; c < g->columns; c++) {
        const void *elements = NULL;
        int64_t got;
        const int code = column_next(&g->values[c], n, &elements, &got);
        if (code != EXIT_DONE) return code;
        if (got < n) return lengths_differ(g, c, "fewer");
        columns[c] = bf_array_of(g->values[c].dtype, elements, n);
    }
    for (int i = 0; i < g->options->aggregate_count; i++)
        if (g->of[i] >= 0) values[g->result[i]] = &columns[g->of[i]];
    const bf_status st = bf_groups_absorb(g->groups, keys, values);
    return st == BF_OK ? EXIT_DONE : fail_status(st, g->context, g->options->files[0]);
}

/* Nothing may be left of the values. */
static int check_ends(group *g) {
    for (int c = 0; c < g->columns; c++) {
        const void *elements;
        int64_t got;
        const int code = column_next(&g->values[c], 1, &elements, &got);
        if (code != EXIT_DONE) return code;
        if (got > 0) return lengths_differ(g, c, "more");
    }
    return EXIT_DONE;
}

static int absorb_all(group *g) {
    const void *elements;
    int64_t n = 1, block = g->keys.block;
    int code = EXIT_DONE;
    for (int c = 0; c < g->columns; c++)
        if (g->values[c].block < block) block = g->values[c].block;
    while (code == EXIT_DONE && n > 0) {
        code = column_next(&g->keys, block, &elements, &n);
        if (code != EXIT_DONE || n == 0) break;
        const bf_array keys = bf_array_of(g->keys.dtype, elements, n);
        code = absorb_block(g, &keys);
    }
    return code == EXIT_DONE ? check_ends(g) : code;
}

static int make_groups(group *g) {
    const options *o = g->options;
    const bf_groups_options wanted =
        BF_GROUPS_OPTIONS(.key = g->keys.dtype, .count = g->count, .aggregates = g->aggregates,
                          .seed = (uint64_t)o->seed);
    const bf_status st = bf_groups_create(g->context, &wanted, &g->groups);
    if (st != BF_OK) return fail_status(st, g->context, o->files[0]);
    int64_t bytes = column_bytes(&g->keys);
    for (int c = 0; c < g->columns; c++) {
        const int64_t more = column_bytes(&g->values[c]);
        bytes = bytes < 0 || more < 0 ? -1 : bytes + more;
    }
    progress_start(o->files[0], bytes);
    const int code = absorb_all(g);
    progress_stop();
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int check_line(const options *o) {
    if (o->file_count != 1)
        return fail(EXIT_USAGE, NULL, "one file of keys is needed, not %d", o->file_count);
    if (o->aggregate_count == 0) {
        fail(EXIT_USAGE, NULL, "nothing is asked for");
        hint("--sum V, --mean V, --min V, --max V or --count");
        return EXIT_USAGE;
    }
    for (int i = 0; i < o->aggregate_count && strcmp(o->files[0], "-") == 0; i++)
        if (o->aggregates[i].values && strcmp(o->aggregates[i].values, "-") == 0)
            return fail(EXIT_USAGE, NULL, "standard input is given more than once");
    return EXIT_DONE;
}

static int put_groups(group *g, double began) {
    const options *o = g->options;
    group_subject subject = {g->context, g->groups, o->files[0], began, 0};
    group_column columns[VALUES_MOST];
    for (int i = 0; i < o->aggregate_count; i++) {
        const struct wanted_aggregate *w = &o->aggregates[i];
        const bool counts = g->of[i] < 0;
        const char *of = w->values && *w->values == ':' ? w->values + 1 : w->values;
        columns[i] = (group_column){counts ? "count" : bf_reduction_name(w->op), of,
                                    counts ? -1 : g->result[i]};
    }
    const int code = group_put_columns(&g->output, o, &subject, columns, o->aggregate_count);
    return code == EXIT_DONE && o->save ? statefile_save_groups(&g->save, g->groups, g->context)
                                        : code;
}

static int run_group(group *g) {
    const options *o = g->options;
    const double began = progress_clock();
    int code = check_line(o);
    if (code == EXIT_DONE) code = context_open(&g->context, o);
    if (code == EXIT_DONE) code = output_open(&g->output, o, false);
    if (code == EXIT_DONE && o->save) code = outfile_open(&g->save, o->save);
    if (code == EXIT_DONE) code = open_columns(g);
    if (code == EXIT_DONE) code = make_groups(g);
    if (code == EXIT_DONE) note_device(g->context, o->files[0]);
    if (code == EXIT_DONE) code = put_groups(g, began);
    return code == EXIT_DONE ? output_close(&g->output) : code;
}

int cmd_group(int argc, char **argv) {
    options o;
    int code;
    if (!options_parse(&o, argc, argv, &group_usage, &code)) return code;
    group *g = calloc(1, sizeof *g); /* too large for a small stack */
    if (!g) return fail(EXIT_IO, NULL, "no memory for the columns");
    g->options = &o;
    g->keys.source.fd = -1;
    code = run_group(g);
    if (code != EXIT_DONE) {
        outfile_abandon(&g->save);
        output_abandon(&g->output);
    }
    for (int c = 0; c < g->columns; c++) column_close(&g->values[c]);
    column_close(&g->keys);
    bf_groups_destroy(g->groups);
    bf_context_destroy(g->context);
    free(g);
    return code;
}
