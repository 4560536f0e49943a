#include "table/loading.h"

#include "options/context.h"
#include "runtime/progress.h"
#include "sheet/output.h"
#include "table/numbers.h"

#include <stdlib.h>

/* ---- columns --------------------------------------------------------------------------------- */

/* Opens a text with all its columns, so that their names are known. */
static int open_side(join_tables *t, int s) {
    const options *o = t->options;
    rows_options how = context_reading(o, &t->limit, SIDES);
    input in = o->input;
    how.nulls = how.times = true;
    in.text.all = in.text.table = true;
    in.text.header = in.text.header || join_choice_has_names(o, &t->names);
    in.text.judge_nulls = true;
    in.text.closed = !o->take && (s == SIDE_A || o->how <= HOW_OUTER);
    return rows_open(&t->sides[s], o->files[s], &in, &how);
}

/* What an expression needs of a column. A key is there as it is compared, or as a string. */
static unsigned char find_expression_kind(bf_expression_name_kind kind, bool key) {
    switch (kind) {
    case BF_NAME_STRING: return TEXT_STRINGS_TOO;
    case BF_NAME_NUMBER: return TEXT_NUMBERS;
    default: return key ? 0 : TEXT_KEYS | TEXT_VALUES;
    }
}

static bool is_key(const join_choice *c, int s, int field) {
    bool is = false;
    for (int k = 0; k < c->keys; k++) is = is || c->key[s][k].field == field;
    return is;
}

enum { ROLES = 2 };

/* What an expression needs of the columns of a side. */
static void add_kinds(const join_choice *c, int s, const join_expression *e, unsigned char *kinds) {
    for (int k = 0; k < e->count; k++) {
        const int field = e->columns[k].fields[s];
        if (field < 0) continue;
        const bool key = is_key(c, s, field), apart = key && e->kinds[k] == BF_NAME_NUMBER;
        kinds[ROLES * field + apart] |= find_expression_kind(e->kinds[k], key);
    }
}

/* What the fields of a side hold, each in two columns; 0: nothing, for they are not wanted. The
 * second is that of a key whose numbers are wanted. */
static void find_kinds(const join_tables *t, int s, unsigned char *kinds) {
    const join_choice *c = &t->choice;
    for (int k = 0; k < c->keys; k++) {
        const int field = c->key[s][k].field;
        if (field >= 0)
            kinds[ROLES * field] |= text_layout_kind(&t->sides[s].source.text->layout, field,
                                                     &t->options->input.text, TEXT_KEYS);
        add_kinds(c, s, &c->key[s][k].expression, kinds);
    }
    for (int k = 0; k < c->count; k++)
        if (c->shown[k].fields[s] >= 0) kinds[ROLES * c->shown[k].fields[s]] |= TEXT_STRINGS_TOO;
    add_kinds(c, s, &c->condition, kinds);
}

/* Keeps those columns of a side that are compared or shown. */
static int keep_side(join_tables *t, int s) {
    rows *r = &t->sides[s];
    const int all = ROLES * r->columns;
    unsigned char *const kinds = calloc((size_t)all, 1);
    int *const fields = calloc((size_t)all, sizeof *fields), n = 0;
    int code = EXIT_IO;
    if (kinds && fields) {
        find_kinds(t, s, kinds);
        for (int k = 0; k < all; k++) {
            if (kinds[k] == 0) continue;
            kinds[n] = kinds[k];
            fields[n++] = k / ROLES;
        }
        code = rows_keep(r, fields, kinds, n);
    } else {
        fail_memory(r->source.name);
    }
    free(kinds);
    free(fields);
    return code;
}

static int compare_fields(const void *x, const void *y) {
    const int a = *(const int *)x, b = *(const int *)y;
    return (a > b) - (a < b);
}

int join_tables_column(const join_tables *t, int s, int field, bool number) {
    const text_layout *l = &t->sides[s].source.text->layout;
    const int *at = bsearch(&field, l->fields, (size_t)l->columns, sizeof field, compare_fields);
    const int k = (int)(at - l->fields);
    return number ? k + text_layout_repeats(l, k + 1) : k - text_layout_repeats(l, k);
}

/* ---- keys that are expressions --------------------------------------------------------------- */

int join_tables_derived(const join_tables *t, int s) {
    int some = 0;
    for (int k = 0; k < t->choice.keys; k++) some += t->choice.key[s][k].field < 0;
    return some;
}

/* They need columns that do not become others any more. */
int join_tables_parse(join_tables *t, int s) {
    rows *r = &t->sides[s];
    int code = EXIT_DONE;
    if (join_tables_derived(t, s) > 0 && !t->settled[s] && rows_may_resettle(r)) {
        t->settled[s] = true;
        code = rows_read_all(r);
        rows_again(r);
    }
    for (int k = 0; k < t->choice.keys && code == EXIT_DONE; k++)
        code = derived_parse(&t->derived[s][k], t, s, k);
    return code;
}

int join_tables_compute(join_tables *t, int s, const rows_chunk *chunk, const int64_t *numbers) {
    int code = EXIT_DONE;
    for (int k = 0; k < t->choice.keys && code == EXIT_DONE; k++)
        if (t->choice.key[s][k].field < 0)
            code = derived_compute(&t->derived[s][k], s, chunk, numbers);
    return code;
}

/* ---- keys of one kind ------------------------------------------------------------------------ */

static int column_of(const join_tables *t, int s, int key) {
    return join_tables_column(t, s, t->choice.key[s][key].field, false);
}

static bool is_derived(const join_tables *t, int s, int key) {
    return t->choice.key[s][key].field < 0;
}

units_form join_tables_form(const join_tables *t, int s, int key) {
    return is_derived(t, s, key) ? t->derived[s][key].form
                                 : units_of_rows(&t->sides[s], column_of(t, s, key));
}

/* Whether what both sides of a key are is known. */
static bool is_known(const join_tables *t, int key) {
    bool known = true;
    for (int s = 0; s < SIDES; s++)
        known = known && (!is_derived(t, s, key) || derived_is_parsed(&t->derived[s][key]));
    return known;
}

static const char *kind_name(units_form form) {
    return form.dtype == BF_NONE ? "text" : output_type(form);
}

static int refuse_kinds(const join_tables *t, int key, const units_form forms[SIDES]) {
    const join_key *a = &t->choice.key[SIDE_A][key], *b = &t->choice.key[SIDE_B][key];
    return fail(EXIT_DATA, NULL, "--on: cannot compare '%.80s' of A with '%.80s' of B: %s with %s",
                a->expression.text, b->expression.text, kind_name(forms[SIDE_A]),
                kind_name(forms[SIDE_B]));
}

/* A column that is compared with strings, or with times that its own are not, must be there as
 * strings. Marks the sides that must be read for it. */
static int match_key(join_tables *t, int key, bool stale[SIDES]) {
    const units_form forms[SIDES] = {join_tables_form(t, SIDE_A, key),
                                     join_tables_form(t, SIDE_B, key)};
    const bool strings = forms[SIDE_A].dtype == BF_NONE && forms[SIDE_B].dtype == BF_NONE;
    if (strings || join_form_of(forms[SIDE_A], forms[SIDE_B]).dtype != BF_NONE) return EXIT_DONE;
    for (int s = 0; s < SIDES; s++) {
        if (forms[s].dtype == BF_NONE) continue;
        if (is_derived(t, s, key)) return refuse_kinds(t, key, forms);
        rows_again(&t->sides[s]);
        rows_take_strings(&t->sides[s], column_of(t, s, key));
        stale[s] = true;
    }
    return EXIT_DONE;
}

static int match_kinds(join_tables *t, bool stale[SIDES]) {
    int code = EXIT_DONE;
    for (int k = 0; k < t->choice.keys && code == EXIT_DONE; k++)
        if (is_known(t, k)) code = match_key(t, k, stale);
    return code;
}

/* A stream need not be kept if no column of it may have to be read in another form. */
static void forget_stream(join_tables *t, int s) {
    rows *r = &t->sides[s];
    bool may = join_tables_derived(t, s) > 0;
    for (int k = 0; k < r->columns; k++) may = may || rows_can(r, k) != TEXT_CAN_STRINGS;
    if (!may) rows_forget(r);
}

static int read_side(join_tables *t, int s, join_read *read, void *arg) {
    rows *r = &t->sides[s];
    int code;
    progress_start(r->source.name, rows_bytes(r));
    while ((code = read(arg, s)) == ROWS_RESETTLED) rows_again(r);
    progress_stop();
    return code;
}

int join_tables_read(join_tables *t, join_read *read, void *arg) {
    bool stale[SIDES] = {true, true};
    int code = match_kinds(t, stale);
    for (int s = 0; s < SIDES; s++) forget_stream(t, s);
    while (code == EXIT_DONE && (stale[SIDE_A] || stale[SIDE_B])) {
        for (int s = 0; s < SIDES && code == EXIT_DONE; s++) {
            if (stale[s]) code = read_side(t, s, read, arg);
            stale[s] = false;
        }
        if (code == EXIT_DONE) code = match_kinds(t, stale);
    }
    return code;
}

/* ---- both ------------------------------------------------------------------------------------ */

static int load_side(void *arg, int s) {
    join_tables *t = arg;
    int code = rows_next(&t->sides[s], INT64_MAX, &t->all[s]);
    for (int k = 0; k < t->choice.keys && code == EXIT_DONE; k++)
        code = derived_parse(&t->derived[s][k], t, s, k);
    if (code != EXIT_DONE || t->all[s].n == 0) return code;
    return join_tables_compute(t, s, &t->all[s], NULL);
}

int join_tables_load(join_tables *t) { return join_tables_read(t, load_side, t); }

bool join_tables_typed(const join_tables *t) {
    return t->sides[SIDE_A].source.text->layout.keys && t->sides[SIDE_B].source.text->layout.keys;
}

/* Keys of two texts of JSON lines keep their types; in other texts values have none. */
static void keep_types(join_tables *t) {
    for (int s = 0; s < SIDES && join_tables_typed(t); s++)
        t->sides[s].source.text->layout.typed = TEXT_TYPED_KEYS;
}

/* Whether every item of a list is a key of one of the texts. */
static int check_keys(const join_tables *t, const char *option, const char *list) {
    const join_choice *c = &t->choice;
    while (list && *list) {
        const text_item x = text_take_item(&list, ",");
        const int length = (int)(x.length < 80 ? x.length : 80);
        bool found = false;
        for (int s = 0; s < SIDES; s++)
            for (int k = 0; k < c->keys; k++)
                found = found ||
                        (c->key[s][k].field >= 0 &&
                         text_layout_is(&t->sides[s].source.text->layout, c->key[s][k].field, x));
        if (!found)
            return fail(EXIT_DATA, NULL, "%s: no key of --on is named '%.*s'", option, length,
                        x.at);
    }
    return EXIT_DONE;
}

static int open_derived(join_tables *t, int s) {
    t->derived[s] = calloc((size_t)t->choice.keys, sizeof *t->derived[s]);
    return t->derived[s] ? EXIT_DONE : fail_memory(NULL);
}

int join_tables_open(join_tables *t, const options *o, bf_context *context) {
    *t = (join_tables){.options = o, .context = context};
    for (int s = 0; s < SIDES; s++) t->sides[s].source.fd = -1;
    spool_limit_set(&t->limit, o->memory.pipes);
    int code = o->where ? names_open(&t->names, context, "--where", o->where) : EXIT_DONE;
    for (int s = 0; s < SIDES && code == EXIT_DONE; s++) code = open_side(t, s);
    if (code == EXIT_DONE) keep_types(t);
    if (code == EXIT_DONE) code = join_choice_make(&t->choice, t->sides, o, context, &t->names);
    for (int s = 0; s < SIDES && code == EXIT_DONE; s++) code = open_derived(t, s);
    if (code == EXIT_DONE) code = check_keys(t, "--text", o->input.text.text);
    if (code == EXIT_DONE) code = check_keys(t, "--number", o->input.text.number);
    for (int s = 0; s < SIDES && code == EXIT_DONE; s++) code = keep_side(t, s);
    return code;
}

void join_tables_close(join_tables *t) {
    for (int s = 0; s < SIDES; s++) {
        rows_close(&t->sides[s]);
        for (int k = 0; t->derived[s] && k < t->choice.keys; k++) derived_close(&t->derived[s][k]);
        free(t->derived[s]);
    }
    join_choice_close(&t->choice);
    names_close(&t->names);
}

void join_tables_key(const join_tables *t, int side, int key, rows_view *view) {
    if (is_derived(t, side, key))
        *view = t->derived[side][key].view;
    else
        rows_look(&t->sides[side], &t->all[side], column_of(t, side, key), view);
}

const rows_column *join_tables_shown(const join_tables *t, int side, const shown_column *shown) {
    return &t->all[side].columns[join_tables_column(t, side, shown->fields[side], false)];
}
