#include "columns/table.h"

#include "columns/pairs.h"
#include "columns/values.h"
#include "container/member.h"
#include "input/share.h"
#include "options/context.h"
#include "runtime/ranks.h"
#include "sheet/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Rows that are taken at once of files that are read in step. */
enum { STEP = 1 << 17 };

/* Rows of a sample of keys, of an array of so many at least, of which so few may have been seen. */
enum { SAMPLED = 1 << 12, ROWS_LEAST = 1 << 20, SEEN = 1 << 6 };

static int no_memory(const table *t) { return fail_memory(t->input->source.name); }

/* The rows that a column is of. */
static rows *rows_of(const table *t, const table_column *c) { return c->of ? c->of : t->input; }

/* ---- what columns are ------------------------------------------------------------------------ */

static int refuse_form(const table *t, const table_column *c) {
    const rows *r = rows_of(t, c);
    const units_form here = units_of_rows(r, c->at);
    return fail(EXIT_DATA, r->source.name, "cannot count different dtypes: this is %s, %s is %s",
                output_type(here), t->inputs->source.name, output_type(c->settled));
}

/* Rules out what a column of text cannot be in the texts so far. */
static int settle_text(table *t, table_column *c) {
    rows *r = rows_of(t, c);
    const rows_kind here = rows_kind_of(r, c->at);
    rows_join_kind(&c->kind, here);
    if (c->kind.can == 0)
        return fail(EXIT_DATA, r->source.name,
                    "column %s: no dtype holds what it and files before it have", c->name);
    rows_set_kind(r, c->at, c->kind);
    c->text = units_of_rows(r, c->at);
    return EXIT_DONE;
}

/* What expressions take a column for, of which all files so far may have no value. */
static bf_time_kind meets_of(const table_column *c) {
    const bool open = c->kind.time == BF_TIME_ANY && c->array.dtype == BF_NONE;
    return open && c->settled.dtype == BF_I64 ? BF_TIME_ANY : c->settled.time;
}

/* Finds what holds a column in all files so far. *changed: it was taken for something else. */
static int settle_column(table *t, table_column *c, bool *changed) {
    const units_form here = units_of_rows(rows_of(t, c), c->at);
    const bool text = rows_of(t, c)->source.text;
    const int code = text ? settle_text(t, c) : EXIT_DONE;
    if (code != EXIT_DONE) return code;
    if (!text && c->array.dtype == BF_NONE) c->array = here;
    if (!text && !units_join(&c->array, here)) return refuse_form(t, c);
    const bool texts = c->kind.can != ~0u, arrays = c->array.dtype != BF_NONE;
    units_form both = texts ? c->text : c->array;
    if (texts && arrays && !units_join(&both, c->array)) return refuse_form(t, c);
    c->settled = both;
    *changed |= !units_are_same(c->form, both) || c->meets != meets_of(c);
    return EXIT_DONE;
}

static int settle_columns(table *t, bool *changed) {
    int code = EXIT_DONE;
    for (int k = 0; k < t->count && code == EXIT_DONE; k++)
        code = settle_column(t, &t->columns[k], changed);
    return code;
}

/* ---- opening --------------------------------------------------------------------------------- */

int table_make(table *t, const options *o) {
    *t = (table){.files = o->file_count};
    t->inputs = calloc((size_t)t->files, sizeof *t->inputs);
    for (int i = 0; t->inputs && i < t->files; i++) t->inputs[i].source.fd = -1;
    t->input = t->inputs;
    return t->inputs ? EXIT_DONE : fail_memory(NULL);
}

/* The column of the reader that holds a field, as a key or as a value. */
static int column_of(const table *t, int field, bool value) {
    const rows *r = t->input;
    int k = 0;
    while (rows_field(r, k) != field) k++;
    return value && k + 1 < r->columns && rows_repeats(r, k + 1) ? k + 1 : k;
}

/* The name of a column of the reader, or of a file in step (-1). */
static char *name_of(const table *t, int k) {
    const text_input *text = k < 0 ? NULL : t->input->source.text;
    if (t->asked->options->by) return rows_header_name(t->input, k);
    return text && text->layout.names ? rows_header_name(t->input, k) : strdup("key");
}

/* First come the columns that are wanted, then those of files in step, then those that the
 * condition alone has. */
static int note_column(table *t, int k) {
    table_column *c = &t->columns[k];
    const rows *r = t->input;
    const int step = k - r->columns;
    const bool in_step = step >= 0 && step < t->step_count;
    const int at = in_step ? 0 : step >= 0 ? k - t->step_count : k;
    *c = (table_column){.name = name_of(t, in_step ? -1 : at),
                        .of = in_step ? &t->steps[step] : NULL,
                        .at = at,
                        .hidden = !in_step && at >= r->columns,
                        .repeats = !in_step && at < r->columns && rows_repeats(r, at),
                        .kind = {.can = ~0u, .time = BF_TIME_ANY}};
    return c->name ? EXIT_DONE : no_memory(t);
}

/* A key that is an expression has a column behind all others. */
static int note_key(table *t, int i) {
    const asked_key *key = &t->asked->key[i];
    table_column *const c = &t->columns[t->count + t->derived];
    if (key->field >= 0) {
        t->key_columns[i] = column_of(t, key->field, t->asked->whole);
        return EXIT_DONE;
    }
    t->key_columns[i] = t->count + t->derived++;
    c->name = strdup(key->name);
    return c->name ? EXIT_DONE : no_memory(t);
}

/* The column of the keys: the one that --column names, or the only one. */
static int find_key(table *t) {
    const char *wanted = t->asked->options->input.text.columns;
    const bool named = t->input->source.text && wanted && !t->asked->options->distinct;
    t->key_columns[0] = named ? rows_column_of(t->input, wanted) : 0;
    return t->key_columns[0] >= 0
               ? EXIT_DONE
               : fail(EXIT_USAGE, t->input->source.name, "one column at a time: '%s'", wanted);
}

static int note_columns(table *t) {
    const asked *a = t->asked;
    const bool by = a->options->by;
    int code = EXIT_DONE;
    t->count = t->input->held + t->step_count;
    t->typed = t->input->source.text && t->input->source.text->layout.typed == TEXT_TYPED;
    t->columns = calloc((size_t)(t->count + a->keys), sizeof *t->columns);
    if (!t->columns) return no_memory(t);
    for (int k = 0; k < t->count && code == EXIT_DONE; k++) code = note_column(t, k);
    t->taken = malloc(((size_t)a->takes + 1) * sizeof *t->taken);
    if (!t->taken) return no_memory(t);
    for (int i = 0; i < a->takes; i++) t->taken[i] = column_of(t, a->take_fields[i], false);
    for (int i = 0; i < a->keys && by && code == EXIT_DONE; i++) code = note_key(t, i);
    for (int i = 0; i < a->values && by; i++)
        t->values[i].column =
            a->value[i].field < 0 ? -1 : column_of(t, a->value[i].field, !a->value[i].any);
    if (code == EXIT_DONE && !by) code = find_key(t);
    bool changed = false;
    return code == EXIT_DONE ? settle_columns(t, &changed) : code;
}

/* With a condition, rows whose values are NULL may be left out: so the reader may not refuse them.
 */
rows_options table_reading(const table *t) {
    const options *o = t->asked->options;
    rows_options how = context_reading(o, (spool_limit *)(uintptr_t)&t->limit, 1 + t->step_count);
    how.ordered = t->step_count > 0;
    how.unchanging = !o->by;
    how.nulls = o->by != NULL;
    how.times = true;
    return how;
}

/* Keys of JSON lines may be no numbers, which --by can tell apart, where one process sees them all.
 */
static int open_rows(table *t) {
    const options *o = t->asked->options;
    const rows_options how = table_reading(t);
    input in = o->input;
    in.text.chooser = o->by ? &t->asked->chooser : NULL;
    in.text.counted = in.text.counted || !o->by;
    in.text.mixed = in.text.mixed || (!o->by && ranks_count() == 1);
    in.text.also = o->by ? in.text.also : t->also;
    return (o->by || t->also ? rows_open : rows_open_column)(
        t->input, o->files[t->input - t->inputs], &in, &how);
}

/* Leaves to the rank its share of the present file. */
static int share_file(const table *t) {
    rows *inputs[ASKED_VALUES + 1] = {t->input};
    for (int i = 0; i < t->step_count; i++) inputs[1 + i] = &t->steps[i];
    return share_rows(inputs, 1 + t->step_count, NULL);
}

int table_open(table *t, asked *a, bf_context *context) {
    t->asked = a;
    t->context = context;
    spool_limit_set(&t->limit, a->options->memory.pipes);
    int code = a->options->by ? EXIT_DONE : values_find(t);
    if (code == EXIT_DONE) code = open_rows(t);
    if (code == EXIT_DONE && !a->options->by) code = values_open(t);
    if (code == EXIT_DONE) code = note_columns(t);
    code = ranks_agree(code);
    return code == EXIT_DONE ? share_file(t) : code;
}

int table_take(table *t, asked *a, bf_context *context) {
    t->asked = a;
    t->context = context;
    return note_columns(t);
}

void table_close(table *t) {
    for (int k = 0; t->columns && k < t->count + t->derived; k++) {
        table_column *c = &t->columns[k];
        free(c->name);
        formula_close(&c->formula);
        column_memory_free(&c->memory);
    }
    free(t->columns);
    for (int i = 0; i < ASKED_VALUES; i++) {
        formula_close(&t->values[i].formula);
        free(t->values[i].numbers.at);
        free(t->values[i].bytes.at);
        free(t->values[i].text.at);
    }
    for (int i = 0; t->inputs && i < t->files; i++) rows_close(&t->inputs[i]);
    for (int i = 0; t->steps && i < t->step_count; i++) rows_close(&t->steps[i]);
    free(t->inputs);
    free(t->steps);
    free(t->taken);
    free(t->also);
}

/* ---- several files --------------------------------------------------------------------------- */

/* The column of the present file that column k of the first one is; -1: there is none. */
static int find_column(const table *t, int k) {
    const table_column *c = &t->columns[k];
    const rows *r = t->input;
    for (int i = c->hidden ? r->columns : 0; i < (c->hidden ? r->held : r->columns); i++) {
        char *name = rows_header_name(r, i);
        const bool same =
            name && strcmp(name, c->name) == 0 && (!c->hidden && rows_repeats(r, i)) == c->repeats;
        free(name);
        if (same) return i;
    }
    return -1;
}

static int match_columns(table *t) {
    const text_input *text = t->input->source.text;
    if (!t->asked->options->by) return EXIT_DONE;
    if ((text->layout.typed == TEXT_TYPED) != t->typed)
        return fail(EXIT_DATA, t->input->source.name, "JSON lines and other text are no one table");
    for (int k = 0; k < t->count; k++)
        if ((t->columns[k].at = find_column(t, k)) < 0)
            return fail(EXIT_DATA, t->input->source.name, "it has no column %s as %s has",
                        t->columns[k].name, t->inputs->source.name);
    return EXIT_DONE;
}

/* The first file stays open, for its name and columns, and what cannot be read twice. */
static void leave_file(const table *t) {
    if (t->input > t->inputs && !t->input->source.stream) rows_close(t->input);
}

/* Goes to file number i, and to its first row. */
static int enter_file(table *t, int i, bool *changed) {
    int code = settle_columns(t, changed);
    leave_file(t);
    t->input = &t->inputs[i];
    const bool open = t->input->columns > 0;
    if (open) rows_again(t->input);
    if (!open && code == EXIT_DONE) code = open_rows(t);
    if (!open && code == EXIT_DONE) code = share_file(t);
    for (int k = 0; k < t->step_count; k++) rows_again(&t->steps[k]);
    if (code == EXIT_DONE) code = match_columns(t);
    return code == EXIT_DONE ? settle_columns(t, changed) : code;
}

/* ROWS_RESETTLED: what was taken of files before does not count. */
static int next_file(table *t) {
    bool changed = false;
    const int code = enter_file(t, (int)(t->input - t->inputs) + 1, &changed);
    return code == EXIT_DONE && changed ? ROWS_RESETTLED : code;
}

int64_t table_bytes(const table *t) {
    struct stat st;
    int64_t bytes = 0;
    if (t->files == 1) return rows_bytes(t->inputs);
    for (int i = 0; i < t->files && bytes >= 0; i++) {
        const char *name = t->asked->options->files[i];
        const bool known = member_stat(name, &st) && S_ISREG(st.st_mode);
        bytes = known ? bytes + (int64_t)st.st_size : -1;
    }
    return bytes;
}

int table_again(table *t) {
    bool changed = false;
    t->behind = 0;
    return enter_file(t, 0, &changed);
}

int table_settle_ranks(table *t, bool *changed) {
    *changed = false;
    const int code = settle_columns(t, changed);
    rows_kind *kinds = ranks_allocate((size_t)t->count * sizeof *kinds);
    for (int k = 0; k < t->count; k++) kinds[k] = t->columns[k].kind;
    work_settle_kinds(kinds, t->count);
    for (int k = 0; k < t->count; k++) t->columns[k].kind = kinds[k];
    free(kinds);
    return ranks_agree(code == EXIT_DONE ? settle_columns(t, changed) : code);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

void table_put_place(checkpoint_writer *to, const table *t) {
    checkpoint_put_number(to, t->input - t->inputs);
    checkpoint_put_number(to, t->settled);
    for (int k = 0; k < t->count; k++) {
        const table_column *c = &t->columns[k];
        checkpoint_put_number(to, c->kind.can);
        checkpoint_put_number(to, c->kind.scale);
        checkpoint_put_number(to, c->kind.time);
        units_put(to, c->text);
        units_put(to, c->array);
    }
    work_put_place(to, t->input);
    for (int i = 0; i < t->step_count; i++) work_put_place(to, &t->steps[i]);
}

bool table_take_place(checkpoint_reader *from, table *t) {
    bool changed = false;
    const int file = (int)checkpoint_number(from, 0, t->files - 1);
    t->settled = checkpoint_number(from, 0, 1);
    for (int k = 0; k < t->count; k++) {
        table_column *c = &t->columns[k];
        c->kind.can = (unsigned)checkpoint_number(from, 1, UINT32_MAX);
        c->kind.scale = (unsigned char)checkpoint_number(from, 0, BF_SCALE_MOST_I128);
        c->kind.time = (unsigned char)checkpoint_number(from, 0, BF_TIME_ANY);
        c->text = units_take(from);
        c->array = units_take(from);
    }
    bool good =
        !from->bad && enter_file(t, file, &changed) == EXIT_DONE && work_take_place(from, t->input);
    for (int i = 0; i < t->step_count && good; i++) good = work_take_place(from, &t->steps[i]);
    return good;
}

/* ---- before the first rows ------------------------------------------------------------------- */

bool table_may_resettle(const table *t) { return !t->settled && rows_may_resettle(t->input); }

int table_settle_first(table *t) {
    bool changed = false;
    t->settled = true;
    int code = rows_read_all(t->input);
    while (code == EXIT_DONE && t->input < t->inputs + t->files - 1) {
        code = enter_file(t, (int)(t->input - t->inputs) + 1, &changed);
        if (code == EXIT_DONE) code = rows_read_all(t->input);
    }
    return code == EXIT_DONE ? ROWS_RESETTLED : code;
}

/* ---- keys that are no numbers ---------------------------------------------------------------- */

/* What is for numbers alone. */
static const char *option_of_numbers(const options *o) {
    return o->save                                           ? "--save"
           : o->checkpoint                                   ? "--checkpoint"
           : o->total                                        ? "--total"
           : o->form == FORM_NPY                             ? "-o FILE.npy"
           : o->input.dtype != BF_NONE                       ? "--dtype"
           : o->input.text.skip_nulls                        ? "--null-policy skip"
           : o->distinct && o->rules.nan != BF_NAN_PROPAGATE ? "--nan"
                                                             : NULL;
}

/* Without --by, keys of JSON lines may turn out to be no numbers: then only what --by has goes. */
static int check_strings(const table *t) {
    static const char what[] = "keys that are not all numbers";
    const asked *a = t->asked;
    const options *o = a->options;
    const char *const name = t->input->source.name, *const option = option_of_numbers(o);
    const bool strings = o->distinct || t->columns[t->key_columns[0]].form.dtype == BF_NONE;
    if (o->by || !strings) return EXIT_DONE;
    if (option) return fail(EXIT_DATA, name, "%s: %s is for numbers", what, option);
    if (o->file_count > 1)
        return fail(EXIT_DATA, name, "%s: one file is read then, not %d", what, o->file_count);
    if (o->distinct && t->input->columns > 1)
        return fail(EXIT_DATA, name, "%s: one column is shown then, not %d", what,
                    t->input->columns);
    for (int i = 0; i < a->values; i++)
        if (t->values[i].column >= t->input->columns)
            return fail(EXIT_DATA, name, "%s: their values are columns, not files as '%s'", what,
                        a->value[i].text);
    return EXIT_DONE;
}

/* Times have no sums, nor what is made of them. */
static int check_times(const table *t) {
    for (int i = 0; i < t->asked->results; i++) {
        const asked_result *r = &t->asked->result[i];
        bool refused = false;
        for (int k = 0; asked_reduces(r) && k < asked_arrays(r); k++)
            refused |= !units_have(t->values[r->value + k].form.time, r->aggregate->op);
        if (refused)
            return rows_refuse_times(t->input->source.name, bf_reduction_name(r->aggregate->op));
    }
    return EXIT_DONE;
}

int table_begin(table *t) {
    for (int k = 0; k < t->count; k++) {
        t->columns[k].form = t->columns[k].settled;
        t->columns[k].meets = meets_of(&t->columns[k]);
    }
    for (int i = 0; i < t->asked->values; i++) {
        table_value *v = &t->values[i];
        if (v->column >= 0) v->own = v->form = t->columns[v->column].form;
    }
    int code = check_strings(t);
    if (code == EXIT_DONE) code = check_times(t);
    if (code == EXIT_DONE) code = values_begin(t);
    for (int i = 0; i < t->asked->values && code == EXIT_DONE; i++)
        if (t->asked->value[i].first) code = pairs_settle(t, i);
    return code;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Brings the numbers of a file to the form that holds those of all. */
static int bring_numbers(table *t, table_column *c) {
    const rows *r = rows_of(t, c);
    const units_form here = units_of_rows(r, c->at);
    if (units_are_same(here, c->settled)) return EXIT_DONE;
    void *wide = buffer_take(&c->memory.numbers, (size_t)t->n * bf_dtype_size(c->form.dtype));
    if (!wide) return no_memory(t);
    if (!units_bring(here, c->view.numbers.data, t->n, c->settled, wide))
        return rows_refuse_scale(r->source.name);
    c->view.numbers = bf_array_of(c->form.dtype, wide, t->n);
    return EXIT_DONE;
}

/* chunks: of the present file, and of those in step. */
static int look_at_columns(table *t, const rows_chunk chunks[]) {
    int code = EXIT_DONE;
    t->n = chunks[0].n;
    t->stands = chunks[0].stands;
    for (int k = 0; k < t->count && code == EXIT_DONE; k++) {
        table_column *c = &t->columns[k];
        bf_column *const column = &c->view.column;
        const rows_chunk *chunk = &chunks[c->of ? 1 + (c->of - t->steps) : 0];
        if (c->hidden) continue;
        rows_look(rows_of(t, c), chunk, c->at, &c->view);
        if (column->valid && !text_has_null(column->valid, column->first, t->n))
            column->valid = NULL;
        code = bring_numbers(t, c);
    }
    return code;
}

/* Spreads out which values of a column are NULL, in bytes. */
static int spread_valid(table *t, table_value *v, const bf_column *c) {
    v->valid = NULL;
    if (!c->valid) return EXIT_DONE;
    uint8_t *to = buffer_take(&v->bytes, (size_t)t->n);
    if (!to) return no_memory(t);
    for (int64_t i = 0; i < t->n; i++) to[i] = text_has_bit(c->valid, c->first + i);
    v->valid = to;
    return EXIT_DONE;
}

static int refuse_null(const table *t, int i) {
    char what[200];
    const uint8_t *none = memchr(t->values[i].valid, 0, (size_t)t->n);
    const int64_t row = none - t->values[i].valid;
    snprintf(what, sizeof what, "no value of %.100s: it is NULL", t->asked->value[i].text);
    return rows_refuse(t->input, row, what,
                       "--null-policy skip leaves such rows out of its aggregates");
}

static int find_values(table *t, int i) {
    table_value *v = &t->values[i];
    const asked_value *of = &t->asked->value[i];
    int code;
    if (v->column < 0) {
        code = values_compute(t, i);
    } else {
        const table_column *c = &t->columns[v->column];
        v->array = c->form.dtype == BF_NONE ? bf_array_of(BF_NONE, NULL, t->n) : c->view.numbers;
        v->strings = c->view.strings;
        code = spread_valid(t, v, &c->view.column);
    }
    const bool skip = t->asked->options->input.text.skip_nulls || of->any;
    if (code == EXIT_DONE && v->valid && !skip) code = refuse_null(t, i);
    return code == EXIT_DONE && of->second ? pairs_bring(t, i - 1) : code;
}

/* ---- some rows at once ----------------------------------------------------------------------- */

/* The column of key number i; NULL: an earlier key has the same. */
static table_column *different_key(const table *t, int i) {
    for (int k = 0; k < i; k++)
        if (t->key_columns[k] == t->key_columns[i]) return NULL;
    return &t->columns[t->key_columns[i]];
}

/* Leaves the first rows of keys out, and all behind the n that follow. */
static void show_keys(const table *t, int64_t left_out, int64_t n) {
    for (int i = 0; i < t->asked->keys; i++) {
        table_column *c = different_key(t, i);
        if (!c) continue;
        rows_view *v = &c->view;
        if (c->form.dtype == BF_NONE)
            v->strings.offsets = (const int64_t *)v->strings.offsets + left_out;
        else
            v->numbers.data =
                (char *)v->numbers.data + (size_t)left_out * bf_dtype_size(c->form.dtype);
        v->column.first += left_out;
        v->numbers.shape[0] = v->strings.count = n;
    }
}

static void show_values(table *t, int64_t left_out, int64_t n) {
    for (int i = 0; i < t->asked->values; i++) {
        table_value *v = &t->values[i];
        if (v->form.dtype == BF_NONE)
            v->strings.offsets = (const int64_t *)v->strings.offsets + left_out;
        else
            v->array.data = (char *)v->array.data + (size_t)left_out * bf_dtype_size(v->form.dtype);
        v->array.shape[0] = v->strings.count = n;
        if (v->valid) v->valid += left_out;
    }
}

static void show_rows(table *t, int64_t left_out, int64_t all) {
    t->n = t->most > 0 && all > t->most ? t->most : all;
    t->behind = all - t->n;
    if (t->behind == 0 && left_out == 0) return;
    show_keys(t, left_out, t->n);
    show_values(t, left_out, t->n);
}

void table_hand_out(table *t) { show_rows(t, 0, t->n); }

bool table_more(table *t) {
    if (t->behind == 0) return false;
    show_rows(t, t->n, t->behind);
    return true;
}

bool table_keys_are_new(const table *t) {
    source *s = &t->input->source;
    int64_t different = 0, got;
    char element[16];
    if (s->text || rows_prepare(t->input) != EXIT_DONE || !s->data || s->reorder ||
        s->count < ROWS_LEAST)
        return false;
    const size_t bytes = source_element(s);
    char *sample = malloc(SAMPLED * bytes);
    for (int64_t i = 0; sample && i < SAMPLED; i++)
        memcpy(sample + (size_t)i * bytes, source_view(s, s->count / SAMPLED * i, 1, element, &got),
               bytes);
    const bf_array keys = bf_array_of(rows_dtype(t->input, 0), sample, SAMPLED);
    const bool counted =
        sample && bf_unique(t->context, &keys, NULL, NULL, NULL, &different) == BF_OK;
    free(sample);
    return counted && SAMPLED - different <= SEEN;
}

static int refuse_lengths(const table *t, int step, bool fewer) {
    int code = source_check(&t->input->source);
    for (int i = 0; i < t->step_count && code == EXIT_DONE; i++)
        code = source_check(&t->steps[i].source);
    if (code != EXIT_DONE) return code;
    return fail(EXIT_DATA, t->steps[step].source.name, "%s: it holds %s values than there are keys",
                bf_status_string(BF_E_SHAPE), fewer ? "fewer" : "more");
}

/* Takes the next rows of the present file and of those in step. */
static int take_rows(table *t, rows_chunk chunks[]) {
    const int64_t least = t->step_count > 0 ? STEP : 0,
                  most = t->wanted > least ? t->wanted : least;
    int code = rows_next(t->input, most, &chunks[0]);
    for (int i = 0; i < t->step_count && code == EXIT_DONE; i++) {
        code = rows_next(&t->steps[i], most, &chunks[1 + i]);
        if (code == EXIT_DONE && chunks[1 + i].n != chunks[0].n)
            code = refuse_lengths(t, i, chunks[1 + i].n < chunks[0].n);
    }
    return code;
}

int table_next(table *t, bool *end) {
    rows_chunk chunks[ASKED_VALUES + 1];
    *end = false;
    if (table_more(t)) return EXIT_DONE;
    int code;
    while ((code = take_rows(t, chunks)) == EXIT_DONE && chunks[0].n == 0) {
        *end = t->input == t->inputs + t->files - 1;
        if (!*end) code = next_file(t);
        if (code != EXIT_DONE || *end) break;
    }
    if (code != EXIT_DONE || *end) return code;
    code = look_at_columns(t, chunks);
    for (int i = 0; i < t->asked->keys && code == EXIT_DONE && t->n > 0; i++)
        if (t->key_columns[i] >= t->count) code = values_compute_key(t, i);
    for (int i = 0; i < t->asked->values && code == EXIT_DONE && t->n > 0; i++)
        code = find_values(t, i);
    if (code == EXIT_DONE) table_hand_out(t);
    return code;
}

bool table_unpack(const packed_rows *r, int column, bf_dtype dtype, bool strings,
                  column_memory *memory, rows_view *view) {
    *view = (rows_view){.column.size = sizeof view->column};
    if (!packed_valid(r, column, &memory->valid, &view->column.valid)) return false;
    if (strings && !packed_strings(r, column, &memory->offsets, &memory->bytes, &view->strings))
        return false;
    if (dtype == BF_NONE) {
        view->column.strings = &view->strings;
        return true;
    }
    if (!packed_numbers(r, column, &memory->numbers)) return false;
    view->numbers = bf_array_of(dtype, memory->numbers.at, r->n);
    view->column.numbers = &view->numbers;
    return true;
}
