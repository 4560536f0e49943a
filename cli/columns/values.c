#include "columns/values.h"

#include "container/member.h"
#include "expression/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- files and columns, without --by --------------------------------------------------------- */

static bool is_file(const char *name) {
    struct stat st;
    return member_stat(name, &st) && !S_ISDIR(st.st_mode);
}

static bool is_regular(const char *name) {
    struct stat st;
    return strcmp(name, "-") != 0 && member_stat(name, &st) && S_ISREG(st.st_mode);
}

/* Whether KEYS, a file that can be read twice, has a column of this name or number. */
static int find_column(const options *o, const char *name, bool *found) {
    source s;
    const char *keys = o->files[0];
    input in = {.format = o->input.format, .count = -1, .text = o->input.text};
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
int values_is_file(const options *o, const char *name, bool *file) {
    const bool path = strcmp(name, "-") == 0 || strchr(name, '/');
    bool both = false;
    *file = path || (*name != ':' && is_file(name));
    const int code = *file && !path ? find_column(o, name, &both) : EXIT_DONE;
    if (code != EXIT_DONE || !both) return code;
    fail(EXIT_USAGE, name, "it is both a file and a column of %s", o->files[0]);
    hint("'./%s' means the file, ':%s' the column", name, name);
    return EXIT_USAGE;
}

const char *values_column(const char *name) { return *name == ':' ? name + 1 : name; }

static int add_column(table *t, const char *name) {
    const size_t before = t->also ? strlen(t->also) : 0, more = strlen(name);
    char *list = realloc(t->also, before + more + 2);
    if (!list) return fail_memory(name);
    if (before > 0) list[before] = ',';
    memcpy(list + before + (before > 0), name, more + 1);
    t->also = list;
    return EXIT_DONE;
}

int values_find(table *t) {
    int code = EXIT_DONE;
    for (int i = 0; i < t->asked->values && code == EXIT_DONE; i++) {
        const char *const name = t->asked->value[i].text;
        bool file;
        code = values_is_file(t->asked->options, name, &file);
        if (code == EXIT_DONE && file && t->asked->options->where)
            code =
                fail(EXIT_USAGE, name, "--where is for columns of a table, not for files beside");
        if (code == EXIT_DONE && !file) code = add_column(t, values_column(name));
        t->values[i].column = file ? t->step_count++ : -1;
    }
    t->steps = calloc((size_t)t->step_count + 1, sizeof *t->steps);
    if (!t->steps) return fail_memory(NULL);
    for (int i = 0; i < t->step_count; i++) t->steps[i].source.fd = -1;
    return code;
}

static int refuse_column(const table *t, const char *name) {
    if (t->input->source.text)
        return fail(EXIT_USAGE, t->input->source.name, "not one column: '%s'", values_column(name));
    return fail(EXIT_IO, name, "%s, and the keys are no text",
                *name == ':' ? "it is a column" : "there is no such file");
}

int values_open(table *t) {
    const options *o = t->asked->options;
    const rows_options how = table_reading(t);
    int code = EXIT_DONE;
    for (int i = 0; i < t->asked->values && code == EXIT_DONE; i++) {
        table_value *v = &t->values[i];
        const char *const name = t->asked->value[i].text;
        if (v->column >= 0) {
            code = rows_open_column(&t->steps[v->column], name, &o->input, &how);
            v->column += t->input->columns;
        } else {
            v->column = rows_column_of(t->input, values_column(name));
            if (v->column < 0) code = refuse_column(t, name);
        }
    }
    return code;
}

static int no_memory(const table *t) { return fail_memory(t->input->source.name); }

/* ---- parsing --------------------------------------------------------------------------------- */

/* Hides the name of one of two columns of a field: the one that the text does not mean. That is the
 * column of strings, unless it is compared with some. A text that is wrong is left to its parser.
 */
static int hide_names(const table *t, formula *x) {
    expression_names n;
    const bf_status st = names_find(&n, t->context, x->text, NULL);
    for (int k = 1; k < t->count; k++) {
        if (!t->columns[k].repeats) continue;
        const char *name = n.text;
        int i = 0;
        for (; i < n.count && strcmp(name, t->columns[k].name) != 0; i++) name += strlen(name) + 1;
        x->names[i < n.count && n.kinds[i] == BF_NAME_STRING ? k : k - 1] = "";
    }
    names_close(&n);
    return st == BF_E_MEMORY ? no_memory(t) : EXIT_DONE;
}

static int parse(table *t, formula *x, const char *option, const char *text) {
    int code = EXIT_DONE;
    x->context = t->context;
    x->options = t->asked->options;
    x->file = t->input->source.name;
    x->option = option;
    x->text = text;
    if (!x->names) code = formula_open(x, t->count);
    for (int k = 0; k < t->count && code == EXIT_DONE; k++) {
        x->names[k] = t->columns[k].hidden ? "" : t->columns[k].name;
        x->dtypes[k] = t->columns[k].form.dtype;
        x->scales[k] = t->columns[k].form.scale;
        x->times[k] = (unsigned char)t->columns[k].meets;
    }
    if (code == EXIT_DONE) code = hide_names(t, x);
    x->patient = table_may_resettle(t);
    if (code == EXIT_DONE) code = formula_parse(x);
    return code == ROWS_RESETTLED ? table_settle_first(t) : code;
}

/* Keeps the option that asks for value i. */
static const char *option_of(table *t, int i) {
    const asked *a = t->asked;
    char *const option = t->values[i].option;
    int r = 0;
    while (a->result[r].value != i - a->value[i].second) r++;
    snprintf(option, sizeof t->values[i].option, "--%s", a->result[r].aggregate->option);
    return option;
}

static int parse_value(table *t, int i) {
    table_value *v = &t->values[i];
    const int code = parse(t, &v->formula, option_of(t, i), t->asked->value[i].text);
    if (code != EXIT_DONE) return code;
    v->own = v->form = formula_form(v->formula.parsed);
    return EXIT_DONE;
}

/* A key that is a condition is the number 0 or 1. */
static int parse_key(table *t, int i) {
    table_column *c = &t->columns[t->key_columns[i]];
    c->formula.strings = true;
    const int code = parse(t, &c->formula, "--by", t->asked->key[i].text);
    if (code != EXIT_DONE) return code;
    c->form = formula_form(c->formula.parsed);
    if (c->form.dtype == BF_BOOL) c->form.dtype = BF_U8;
    return EXIT_DONE;
}

int values_begin(table *t) {
    const asked *a = t->asked;
    int code = EXIT_DONE;
    for (int i = 0; i < a->keys && code == EXIT_DONE; i++)
        if (t->key_columns[i] >= t->count) code = parse_key(t, i);
    for (int i = 0; i < a->values && code == EXIT_DONE; i++)
        if (t->values[i].column < 0) code = parse_value(t, i);
    return code;
}

/* ---- computing ------------------------------------------------------------------------------- */

/* Computes an expression of the rows. Its text may have moved, for each file is asked for it. */
static int evaluate(table *t, formula *x, const char *text, formula_results *out) {
    const bf_column **list = malloc((size_t)t->count * sizeof *list);
    bf_status st = BF_OK;
    if (!list) return no_memory(t);
    x->text = text;
    for (int k = 0; k < t->count; k++)
        list[k] = formula_uses(x, k) ? &t->columns[k].view.column : NULL;
    const int code = formula_compute(x, list, t->n, out, &st);
    free(list);
    if (code == ROWS_RESETTLED || (st == BF_E_OVERFLOW && table_may_resettle(t)))
        return table_settle_first(t);
    if (code != EXIT_DONE || st == BF_OK) return code;
    return rows_refuse_result(t->input, x->text, st, t->context);
}

int values_compute_key(table *t, int i) {
    table_column *c = &t->columns[t->key_columns[i]];
    formula_results found;
    const int code = evaluate(t, &c->formula, t->asked->key[i].text, &found);
    if (code != EXIT_DONE) return code;
    if (found.numbers.dtype == BF_BOOL) found.numbers.dtype = BF_U8;
    if (!formula_show(&found, t->n, &c->memory.valid, &c->view)) return no_memory(t);
    return found.numbers.dtype == c->form.dtype ? EXIT_DONE : ROWS_RESETTLED;
}

/* Where 64 bits hold the results no longer, the groups begin anew, with those of 128. */
int values_compute(table *t, int i) {
    table_value *v = &t->values[i];
    formula_results found;
    const int code = evaluate(t, &v->formula, t->asked->value[i].text, &found);
    if (code != EXIT_DONE) return code;
    v->array = found.numbers;
    v->valid = found.valid;
    return v->array.dtype != v->own.dtype ? ROWS_RESETTLED : EXIT_DONE;
}
