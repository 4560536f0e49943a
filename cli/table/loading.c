#include "table/loading.h"

#include "runtime/progress.h"
#include "work/units.h"

#include <stdlib.h>

/* ---- columns --------------------------------------------------------------------------------- */

/* Opens a text with all its columns, so that their names are known. */
static int open_side(join_tables *t, int s) {
    const options *o = t->options;
    const rows_options how = {.threads = o->threads,
                              .settled = true,
                              .digits = BF_SCALE_MOST_I128,
                              .keep = &t->limit,
                              .memory = o->memory.input / SIDES,
                              .nulls = o->where != NULL,
                              .times = true};
    input in = o->input;
    in.text.all = in.text.table = true;
    in.text.header = in.text.header || join_choice_has_names(o, &t->names);
    in.text.judge_nulls = o->where != NULL;
    return rows_open(&t->sides[s], o->files[s], &in, &how);
}

/* What the condition needs of a column. A key is there as it is compared, or as a string. */
static unsigned char find_condition_kind(const join_tables *t, int k, bool key) {
    switch (t->choice.condition_kinds[k]) {
    case BF_NAME_STRING: return TEXT_STRINGS_TOO;
    case BF_NAME_NUMBER: return TEXT_NUMBERS;
    default: return key ? 0 : TEXT_KEYS | TEXT_VALUES;
    }
}

enum { ROLES = 2 };

/* What the fields of a side hold, each in two columns; 0: nothing, for they are not wanted. The
 * second is that of a key whose numbers are wanted. */
static void find_kinds(const join_tables *t, int s, unsigned char *kinds) {
    const join_choice *c = &t->choice;
    for (int k = 0; k < c->keys; k++) {
        const int field = c->key_fields[s][k];
        kinds[ROLES * field] |= text_layout_kind(&t->sides[s].source.text->layout, field,
                                                 &t->options->input.text, TEXT_KEYS);
    }
    for (int k = 0; k < c->count; k++)
        if (c->shown[k].fields[s] >= 0) kinds[ROLES * c->shown[k].fields[s]] |= TEXT_STRINGS_TOO;
    for (int k = 0; k < c->condition_count; k++) {
        const int field = c->conditions[k].fields[s];
        bool key = false;
        for (int i = 0; i < c->keys; i++) key = key || c->key_fields[s][i] == field;
        const bool apart = key && c->condition_kinds[k] == BF_NAME_NUMBER;
        if (field >= 0) kinds[ROLES * field + apart] |= find_condition_kind(t, k, key);
    }
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
        fail_status(BF_E_MEMORY, NULL, r->source.name);
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

/* ---- keys of one kind ------------------------------------------------------------------------ */

static int column_of(const join_tables *t, int s, int key) {
    return join_tables_column(t, s, t->choice.key_fields[s][key], false);
}

static bool is_strings(const join_tables *t, int s, int key) {
    return rows_dtype(&t->sides[s], column_of(t, s, key)) == BF_NONE;
}

/* Whether a key has times on one side that those of the other are not. */
static bool differ_as_times(const join_tables *t, int key) {
    bf_time_kind time = rows_time(&t->sides[SIDE_A], column_of(t, SIDE_A, key));
    return !units_join_times(&time, rows_time(&t->sides[SIDE_B], column_of(t, SIDE_B, key)));
}

/* What is compared with strings must be there as strings. Marks the sides that must be read for it,
 * and returns whether there are any. */
static bool match_kinds(join_tables *t, bool stale[SIDES]) {
    bool any = false;
    for (int k = 0; k < t->choice.keys; k++) {
        const bool alike = is_strings(t, SIDE_A, k) == is_strings(t, SIDE_B, k);
        if (alike && !differ_as_times(t, k)) continue;
        for (int s = 0; s < SIDES; s++) {
            if (is_strings(t, s, k)) continue;
            rows_again(&t->sides[s]);
            rows_take_strings(&t->sides[s], column_of(t, s, k));
            any = stale[s] = true;
        }
    }
    return any;
}

/* A stream need not be kept if no column of it may have to be read in another form. */
static void forget_stream(rows *r) {
    bool may = false;
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
    int code = EXIT_DONE;
    match_kinds(t, stale);
    for (int s = 0; s < SIDES; s++) forget_stream(&t->sides[s]);
    do {
        for (int s = 0; s < SIDES && code == EXIT_DONE; s++) {
            if (stale[s]) code = read_side(t, s, read, arg);
            stale[s] = false;
        }
    } while (code == EXIT_DONE && match_kinds(t, stale));
    return code;
}

/* ---- both ------------------------------------------------------------------------------------ */

static int load_side(void *arg, int s) {
    join_tables *t = arg;
    return rows_next(&t->sides[s], INT64_MAX, &t->all[s]);
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
                        text_layout_is(&t->sides[s].source.text->layout, c->key_fields[s][k], x);
        if (!found)
            return fail(EXIT_DATA, NULL, "%s: no key of --on is named '%.*s'", option, length,
                        x.at);
    }
    return EXIT_DONE;
}

int join_tables_open(join_tables *t, const options *o, bf_context *context) {
    *t = (join_tables){.options = o};
    for (int s = 0; s < SIDES; s++) t->sides[s].source.fd = -1;
    spool_limit_set(&t->limit, o->memory.pipes);
    int code = join_names_find(&t->names, o, context);
    for (int s = 0; s < SIDES && code == EXIT_DONE; s++) code = open_side(t, s);
    if (code == EXIT_DONE) keep_types(t);
    if (code == EXIT_DONE) code = join_choice_make(&t->choice, t->sides, o, &t->names);
    if (code == EXIT_DONE) code = check_keys(t, "--text", o->input.text.text);
    if (code == EXIT_DONE) code = check_keys(t, "--number", o->input.text.number);
    for (int s = 0; s < SIDES && code == EXIT_DONE; s++) code = keep_side(t, s);
    return code;
}

void join_tables_close(join_tables *t) {
    for (int s = 0; s < SIDES; s++) rows_close(&t->sides[s]);
    join_choice_close(&t->choice);
    free(t->names.text);
}

void join_tables_key(const join_tables *t, int side, int key, rows_view *view) {
    const int column = join_tables_column(t, side, t->choice.key_fields[side][key], false);
    rows_look(&t->sides[side], &t->all[side], column, view);
}

int join_tables_scale(const join_tables *t, int side, int key) {
    return rows_scale(&t->sides[side], column_of(t, side, key));
}

const rows_column *join_tables_shown(const join_tables *t, int side, const shown_column *shown) {
    return &t->all[side].columns[join_tables_column(t, side, shown->fields[side], false)];
}
