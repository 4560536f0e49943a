#define _GNU_SOURCE /* strndup */
#include "text/text.h"

#include "text/field.h"
#include "text/item.h"
#include "text/json.h"
#include "text/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the first row --------------------------------------------------------------------------- */

char text_find_delimiter(const char *at, const char *end, const text_style *style, bool table) {
    static const char marks[] = "\t;,|";
    bool found[sizeof marks] = {false}, inside = false, opens = true; /* a quote here does */
    bool blank = false, several = false;                              /* fields by blanks */
    while (at < end && (*at == ' ' || *at == '\r' || *at == '\n')) at++;
    const char *const begin = at, *last;
    for (; at < end && *at && (inside || *at != '\n'); at++) {
        const bool before = inside;
        if (*at == '"' && (inside || opens)) inside = !inside;
        const char *const m = inside ? NULL : strchr(marks, *at);
        if (m) found[m - marks] = true;
        opens = before || m || *at == ' ';
        several = several || (blank && *at != ' ' && *at != '\r');
        blank = !inside && *at == ' ';
    }
    for (last = at; last > begin && text_is_blank(last[-1], ',');) last--;
    for (int i = 0; marks[i]; i++)
        if (found[i] && marks[i] != style->decimal) return marks[i];
    if (text_time_kind(begin, last) != BF_TIME_NONE) return ','; /* it may have a blank */
    if (!table || several) return ' ';
    return style->decimal == ',' || text_style_parts(style, ',') ? ';' : ',';
}

typedef struct first_row {
    text_field *fields;
    int n;
    bool names;   /* there are fields that are not empty, and they look like names */
    char *copies; /* copies of fields that have quotes inside */
    text_names index;
} first_row;

bool text_looks_like_name(const char *at, const char *end) {
    text_number n;
    return end > at && !strchr("0123456789+-.", *at) &&
           !text_parse_token(at, (size_t)(end - at), &n);
}

/* Tells whether a field names a column, for numbers in any style. */
static bool names_a_column(const text_layout *l, text_field f) {
    text_number n;
    text_styled plain;
    return text_looks_like_name(f.at, f.end) && !text_read_number(l, f.at, f.end, &n, plain);
}

/* Copies a field that was in quotes, two quotes in it as one. Returns where the copy ends. */
static char *copy_field(text_field *f, char *to) {
    const char *p = f->at;
    f->at = to;
    for (; p < f->end; p++) {
        *to++ = *p;
        if (*p == '"') p++;
    }
    f->end = to;
    return to;
}

/* p is at the first field, or at the end of a text without rows. False: refused. */
static bool take_first_row(first_row *row, const text_layout *l, const char *p, const char *end,
                           text_error *e) {
    const char delimiter = l->delimiter;
    const int n = p < end ? text_count_fields(p, delimiter) : 0;
    bool others = false; /* no names */
    *row = (first_row){.n = n};
    if (n > TEXT_FIELDS_MOST) {
        e->at = p;
        snprintf(e->what, sizeof e->what, "a row of %d fields: more than %d", n, TEXT_FIELDS_MOST);
        return false;
    }
    row->fields = calloc((size_t)n + 1, sizeof *row->fields);
    char *to = row->copies = malloc((size_t)(end - p) + 1);
    for (int i = 0; row->fields && to && i < n; i++) {
        text_field f = text_take_field(p, delimiter);
        const bool quoted = *p == '"' && !f.broken;
        const bool name = !f.broken && names_a_column(l, f);
        row->names = row->names || name;
        others = others || f.broken || (!name && f.at < f.end);
        p = f.broken ? p : text_next_field(f.next, delimiter);
        if (quoted && memchr(f.at, '"', (size_t)(f.end - f.at))) to = copy_field(&f, to);
        row->fields[i] = f;
    }
    row->names = row->names && !others;
    return row->fields && to;
}

/* A key as the name of a column, in which \u0000 stands for a NUL, which no name holds. A name that
 * has some is written at *to, which then is behind it. */
static text_field name_of_key(const json_key *key, char **to) {
    const char *const end = key->name + key->length, *from = *to;
    if (!memchr(key->name, '\0', key->length)) return (text_field){key->name, end, end, false};
    for (const char *c = key->name; c < end; c++) {
        if (*c) *(*to)++ = *c;
        if (!*c) *to = (char *)memcpy(*to, "\\u0000", 6) + 6;
    }
    return (text_field){from, *to, *to, false};
}

/* The bytes that names take which are written anew. */
static size_t room_of_names(const json_keys *keys) {
    size_t room = 1;
    for (int i = 0; i < keys->n; i++)
        if (memchr(keys->all[i].name, '\0', keys->all[i].length)) room += 6 * keys->all[i].length;
    return room;
}

/* Takes the keys of the first object of JSON lines. */
static bool take_first_object(first_row *row, text_layout *l, const char *p, const char *end,
                              text_error *e) {
    l->keys = calloc(1, sizeof *l->keys);
    *row = (first_row){.names = true};
    if (!l->keys || (p < end && !json_take_keys(l->keys, p, end, e))) return false;
    row->n = l->keys->n;
    if (p < end && row->n == 0) {
        e->at = p;
        snprintf(e->what, sizeof e->what, "the first object has no keys, which name the columns");
        return false;
    }
    row->fields = calloc((size_t)row->n + 1, sizeof *row->fields);
    char *to = row->copies = malloc(room_of_names(l->keys));
    for (int i = 0; row->fields && to && i < row->n; i++)
        row->fields[i] = name_of_key(&l->keys->all[i], &to);
    return row->fields && row->copies;
}

/* ---- the columns asked for ------------------------------------------------------------------- */

static bool index_names(first_row *row) {
    const bool room = text_names_open(&row->index, row->n);
    for (int i = 0; room && i < row->n; i++) {
        const text_field *f = &row->fields[i];
        text_names_set(&row->index, i, f->at, (size_t)(f->end - f->at));
    }
    return room;
}

/* Ranges are numbers here. */
static bool has_names(const char *list) {
    while (*list)
        if (!text_item_is_number(text_take_item(&list, ","))) return true;
    return false;
}

/* The names there are, as a hint. */
static void tell_names(const text_layout *l, const first_row *row, text_error *e) {
    text_names_tell(&row->index, l->keys, e->hint, sizeof e->hint);
}

static int find_name(const text_layout *l, const first_row *row, text_item x, text_error *e) {
    const char *const option = l->option;
    const char *const before = option ? option : "", *const colon = option ? ": " : "";
    int found = -1;
    const int n = text_names_find(&row->index, x, &found),
              shown = x.length < 80 ? (int)x.length : 80;
    if (n == 1) return found;
    if (row->n == 0) {
        snprintf(e->what, sizeof e->what, "%s%sno column is named '%.*s': it has no rows", before,
                 colon, shown, x.at);
        return -1;
    }
    snprintf(e->what, sizeof e->what, "%s%s%s column is named '%.*s'", before, colon,
             n == 0 ? "no" : "more than one", shown, x.at);
    tell_names(l, row, e);
    return -1;
}

/* The field that an item means. A number that no field has is a name, where there are names and it
 * is one of them. */
static int find_item(const text_layout *l, const first_row *row, bool header, text_item x,
                     text_error *e) {
    const int field = text_item_field(x);
    int named;
    const bool is_name =
        field < 0 || (header && field >= row->n && text_names_find(&row->index, x, &named) > 0);
    return is_name ? find_name(l, row, x, e) : field;
}

static bool add_columns(text_layout *l, const char *list, const first_row *row, bool header,
                        text_error *e) {
    while (*list) {
        const int field = find_item(l, row, header, text_take_item(&list, ","), e);
        if (field < 0) return false;
        l->fields[l->columns++] = field;
    }
    return true;
}

/* ---- ranges and patterns --------------------------------------------------------------------- */

enum { SEVERAL = 6 };

/* The options' lists, with ranges and patterns as the numbers of the columns that they mean. */
typedef struct numbered_lists {
    char *lists[SEVERAL];
    bool by_name; /* some column is meant by its name */
} numbered_lists;

static bool refuse_nothing(const text_layout *l, const first_row *row, text_item x, text_error *e) {
    const int shown = x.length < 80 ? (int)x.length : 80;
    const bool range = strchr("0123456789", *x.at) != NULL;
    e->at = NULL;
    if (range)
        snprintf(e->what, sizeof e->what, "no columns %.*s: there are %d", shown, x.at, row->n);
    else
        snprintf(e->what, sizeof e->what, "no column has a name like '%.*s'", shown, x.at);
    tell_names(l, row, e);
    return false;
}

static bool number_list(const text_layout *l, const first_row *row, const char **list,
                        numbered_lists *to, int i, text_error *e) {
    if (!*list || !strpbrk(*list, "-*?[")) return true;
    const text_numbered x = text_names_number(&row->index, *list);
    *list = to->lists[i] = x.list;
    to->by_name = to->by_name || x.by_name;
    return x.list && (!x.nothing.at || refuse_nothing(l, row, x.nothing, e));
}

/* Writes the lists out, in the copy of the options. */
static bool number_lists(const text_layout *l, const first_row *row, text_options *o,
                         numbered_lists *to, text_error *e) {
    const char **const lists[SEVERAL] = {&o->columns, &o->also, &o->strings,
                                         &o->keys,    &o->text, &o->number};
    bool good = true;
    for (int i = 0; i < SEVERAL && good; i++) good = number_list(l, row, lists[i], to, i, e);
    return good;
}

static void drop_lists(numbered_lists *x) {
    for (int i = 0; i < SEVERAL; i++) free(x->lists[i]);
}

/* What a column is for: a key, a value, or the condition alone. */
enum role { KEY, VALUE, CONDITION };

/* A list of columns, and what they hold. */
typedef struct wanted_list {
    const char *columns;
    unsigned char kind;
    bool condition; /* the condition names them */
} wanted_list;

enum { LISTS = 8 };

/* What numbers of `columns` are. */
static unsigned char kind_of_columns(const text_options *o) {
    if (o->any && o->dtype == BF_NONE) return TEXT_KEYS | TEXT_VALUES;
    return o->json && o->mixed ? TEXT_KEYS : TEXT_NUMBERS;
}

/* The lists of the options; those not given are empty. */
static void find_lists(const text_options *o, wanted_list lists[LISTS]) {
    enum { KEYS = 4 };
    const text_condition *const c = &o->condition;
    const char *const given[LISTS] = {o->columns, o->also,    o->either,  o->strings,
                                      o->keys,    c->numbers, c->strings, c->either};
    const unsigned char kinds[LISTS] = {
        kind_of_columns(o), TEXT_NUMBERS, TEXT_KEYS | TEXT_VALUES, TEXT_STRINGS_TOO,
        TEXT_KEYS,          TEXT_NUMBERS, TEXT_STRINGS_TOO,        TEXT_KEYS | TEXT_VALUES};
    for (int i = 0; i < LISTS; i++)
        lists[i] = (wanted_list){given[i] ? given[i] : "", kinds[i], i > KEYS};
    if (!o->columns && !o->strings && !o->keys && !o->either)
        lists[o->keyed ? KEYS : 0].columns = "1";
}

static bool is_conditional(const text_options *o) {
    return o->condition.numbers || o->condition.strings || o->condition.either;
}

static bool is_listed(const text_options *o) {
    return o->columns || o->also || o->strings || o->keys || o->either || o->keyed;
}

static bool lists_have_names(const text_options *o) {
    wanted_list lists[LISTS];
    find_lists(o, lists);
    bool have = false;
    for (int i = 0; i < LISTS; i++) have = have || has_names(lists[i].columns);
    return have ||
           (!o->all && ((o->text && has_names(o->text)) || (o->number && has_names(o->number))));
}

bool text_asks_for_table(const text_options *o) {
    return !o->json && (o->header || o->table || o->all || o->chooser || lists_have_names(o));
}

/* A field, and what is wanted of it. */
typedef struct wanted_field {
    int field;
    enum role role; /* a column of its own, behind that of the role before */
    unsigned char kind;
} wanted_field;

static int by_role(const void *a, const void *b) {
    const wanted_field *x = a, *y = b;
    return x->field != y->field ? (x->field > y->field) - (x->field < y->field)
                                : (x->role > y->role) - (x->role < y->role);
}

/* A column that the condition may share holds the same. A key that it compares with strings is one
 * of strings, whatever its fields are. */
static bool is_shared(text_layout *l, int k, unsigned char kind) {
    if (kind == TEXT_STRINGS_TOO && (l->kinds[k] & ~kind) == TEXT_KEYS) l->kinds[k] = kind;
    return l->kinds[k] == kind;
}

/* The column of a field that the condition may share; -1: there is none. */
static int find_shared(text_layout *l, const wanted_field *wanted) {
    int k = l->columns - 1;
    while (k >= 0 && l->fields[k] == wanted->field && !is_shared(l, k, wanted->kind)) k--;
    return k >= 0 && l->fields[k] == wanted->field ? k : -1;
}

/* The columns of the fields that are wanted, and what they hold. */
static void take_wanted(text_layout *l, wanted_field *wanted, int n) {
    qsort(wanted, (size_t)n, sizeof *wanted, by_role);
    l->columns = 0;
    for (int i = 0; i < n; i++) {
        const bool condition = wanted[i].role == CONDITION;
        const int shared = condition ? find_shared(l, &wanted[i]) : -1;
        if (shared < 0 && (condition || i == 0 || by_role(&wanted[i], &wanted[i - 1]) != 0))
            l->fields[l->columns++] = wanted[i].field;
        const int k = shared < 0 ? l->columns - 1 : shared;
        l->kinds[k] |= wanted[i].kind;
        l->uses[k] |= condition ? TEXT_CONDITION : TEXT_WANTED;
    }
}

/* Adds fields to those that are wanted, the last of which have this kind. */
static void want_fields(const text_layout *l, wanted_field *wanted, int from, enum role role,
                        unsigned char kind) {
    for (int n = from; n < l->columns; n++) wanted[n] = (wanted_field){l->fields[n], role, kind};
}

/* What the columns of a list are for. Keys and values may be one. */
static enum role role_of(const text_options *o, const wanted_list *list) {
    if (list->condition) return CONDITION;
    return o->apart && (list->kind & (TEXT_NUMBERS | TEXT_VALUES)) ? VALUE : KEY;
}

/* Keeps the fields from `from` on: they are still as a list has them. */
static bool keep_list(text_layout *l, int from) {
    const size_t n = (size_t)(l->columns - from);
    l->listed = calloc(n + 1, sizeof *l->listed);
    l->listed_count = (int)n;
    if (l->listed) memcpy(l->listed, l->fields + from, n * sizeof *l->listed);
    return l->listed != NULL;
}

/* The fields of all lists, or the first `all`, if there are no lists but the condition's:
 * ascending, each once; but apart, once for each role. */
static bool find_columns(text_layout *l, const text_options *o, const first_row *row, bool header,
                         int all, text_error *e) {
    wanted_list lists[LISTS];
    size_t most = (size_t)all;
    find_lists(o, lists);
    if (all > 0) lists[0].columns = "";
    for (int i = 0; i < LISTS; i++) most += strlen(lists[i].columns) + 1;
    wanted_field *const wanted = calloc(most, sizeof *wanted);
    l->fields = calloc(most, sizeof *l->fields);
    l->kinds = calloc(most, 1);
    l->uses = calloc(most, 1);
    bool good = wanted && l->fields && l->kinds && l->uses;
    for (; good && l->columns < all; l->columns++) l->fields[l->columns] = l->columns;
    if (good) want_fields(l, wanted, 0, KEY, kind_of_columns(o));
    for (int i = 0; i < LISTS && good; i++) {
        const int n = l->columns;
        l->option = lists[i].condition ? "--where" : o->option;
        good = add_columns(l, lists[i].columns, row, header, e);
        if (good) want_fields(l, wanted, n, role_of(o, &lists[i]), lists[i].kind);
        if (good && i == 0) good = keep_list(l, n);
    }
    if (good) l->option = o->option;
    if (good) take_wanted(l, wanted, l->columns);
    free(wanted);
    return good;
}

/* ---- the layout ------------------------------------------------------------------------------ */

/* The names of the wanted columns; a column that the header has not is unnamed. */
static bool take_names(text_layout *l, const first_row *row) {
    l->names = calloc((size_t)l->columns, sizeof *l->names);
    bool there = l->names != NULL;
    for (int k = 0; there && k < l->columns; k++) {
        const text_field none = {"", "", "", false};
        const text_field *f = l->fields[k] < row->n ? &row->fields[l->fields[k]] : &none;
        l->names[k] = strndup(f->at, (size_t)(f->end - f->at));
        there = l->names[k] != NULL;
    }
    return there;
}

bool text_layout_is(const text_layout *l, int column, text_item item) {
    return text_item_field(item) == l->fields[column] ||
           (l->names && text_item_is(item, l->names[column], strlen(l->names[column])));
}

/* Whether a list names a column. */
static bool lists_column(const text_layout *l, const char *list, int column) {
    while (list && *list)
        if (text_layout_is(l, column, text_take_item(&list, ","))) return true;
    return false;
}

unsigned char text_layout_kind(const text_layout *l, int column, const text_options *o,
                               unsigned char kind) {
    const bool key = (kind & TEXT_KEYS) || column + 1 == l->counted;
    if (key && lists_column(l, o->text, column))
        return (unsigned char)((kind & ~TEXT_KEYS) | TEXT_STRINGS_TOO);
    return key && lists_column(l, o->number, column) ? kind | TEXT_ASKED : kind;
}

static bool find_items(const text_layout *l, const char *list, const first_row *row, bool header,
                       text_error *e) {
    while (list && *list)
        if (find_item(l, row, header, text_take_item(&list, ","), e) < 0) return false;
    return true;
}

/* Applies what is said of keys; where all columns are wanted, the caller does, as it chooses them.
 */
static bool settle_keys(text_layout *l, const text_options *o, const first_row *row, bool header,
                        text_error *e) {
    if (o->all) return true;
    if (!find_items(l, o->text, row, header, e) || !find_items(l, o->number, row, header, e))
        return false;
    l->counted =
        o->counted && !o->keys ? 1 + (o->columns ? text_layout_column(l, o->columns) : 0) : 0;
    for (int k = 0; k < l->columns; k++) {
        l->kinds[k] = text_layout_kind(l, k, o, l->kinds[k]);
        const bool key = !(l->kinds[k] & TEXT_NUMBERS) || text_layout_repeats(l, k);
        if (key || !lists_column(l, o->text, k)) continue;
        e->at = NULL;
        snprintf(e->what, sizeof e->what, "--text: the numbers of column %d are wanted",
                 l->fields[k] + 1);
        snprintf(e->hint, sizeof e->hint, "--text says of a key of --by or --on that it is text");
        return false;
    }
    return true;
}

static bool find_layout(text_layout *l, const text_options *o, const first_row *row, bool header,
                        text_error *e) {
    const int all = (o->table || o->all) && row->n > 1 ? row->n : 1;
    if (!find_columns(l, o, row, header, is_listed(o) ? 0 : all, e)) return false;
    l->lone = !o->columns && !o->strings && !o->keys && !o->either && l->columns == 1;
    if (l->keys && row->n > 0 && l->fields[l->columns - 1] >= row->n) {
        snprintf(e->what, sizeof e->what, "no column %d: the first lines have %d %s",
                 l->fields[l->columns - 1] + 1, row->n, row->n == 1 ? "key" : "keys");
        return false;
    }
    if (l->keys && !json_want_keys(l->keys, l->fields, l->columns)) return false;
    return (!header || take_names(l, row)) && settle_keys(l, o, row, header, e);
}

/* Lets the chooser have the fields of the first row. */
static bool choose_columns(const first_row *row, text_options *o, text_error *e) {
    char **fields = calloc((size_t)row->n + 1, sizeof *fields);
    bool good = fields != NULL;
    for (int i = 0; good && i < row->n; i++) {
        const text_field *f = &row->fields[i];
        fields[i] = strndup(f->at, (size_t)(f->end - f->at));
        good = fields[i] != NULL;
    }
    if (good) good = o->chooser->choose(o->chooser->arg, fields, row->n, o, e);
    for (int i = 0; fields && i < row->n; i++) free(fields[i]);
    free(fields);
    return good;
}

/* Refuses a first row that may be one number, whose thousands are parted by what may part fields.
 */
static bool check_guess(const text_options *o, const char *row, const char *end, text_error *e) {
    char shown[64];
    text_number n;
    text_styled plain;
    const char mark = o->delimiter,
               *last = row < end ? memchr(row, '\n', (size_t)(end - row)) : row;
    while (last > row && text_is_blank(last[-1], mark)) last--;
    const bool both =
        o->guessed && text_style_parts(&o->style, mark) && memchr(row, mark, (size_t)(last - row));
    if (!both || !text_parse_styled(&o->style, row, last, plain, &n)) return true;
    text_quote(shown, row, last);
    e->at = row;
    snprintf(e->what, sizeof e->what, "'%s' may be one number, or fields that '%c' parts", shown,
             mark);
    snprintf(e->hint, sizeof e->hint,
             "--delimiter says what parts fields; if it is '%c', numbers with it stand in quotes",
             mark);
    return false;
}

/* The first line that is not blank. */
static const char *first_line(const char *p, const char *end, char delimiter) {
    while (p < end && *text_skip_blanks(p, delimiter) == '\n')
        p = text_skip_blanks(p, delimiter) + 1;
    return p;
}

/* Rows have n fields, as the first has. They may have any number where blanks part them, since
 * text may follow there, and in a lax text. But where what parts fields may also stand in a number,
 * a lax row has no more than n. */
static void limit_fields(text_layout *l, int n) {
    const bool any = l->keys || l->delimiter == ' ';
    l->fewest = any || l->lax ? 0 : n;
    l->most = any || (l->lax && !text_style_parts(&l->style, l->delimiter)) ? TEXT_ANY_FIELDS : n;
}

static bool refuse_names(text_error *e) {
    e->at = NULL;
    snprintf(e->what, sizeof e->what, "--no-header: no row holds names, and a column is named");
    snprintf(e->hint, sizeof e->hint, "columns have numbers, from 1");
    return false;
}

bool text_layout_find(text_layout *layout, const text_options *given, const char **at,
                      const char *end, text_error *error) {
    const char *p = *at;
    text_options own = *given;
    const text_options *options = &own;
    *layout = (text_layout){.delimiter = options->delimiter, .dtype = options->dtype};
    layout->nulls = text_nulls_of(options->nulls);
    layout->lax = options->lax;
    layout->gaps = options->gaps;
    layout->style = options->style;
    *error = (text_error){.what = "out of memory"};
    const char *row = first_line(p, end, layout->delimiter);
    if (row < end) row = text_skip_blanks(row, layout->delimiter);
    first_row first;
    bool done = options->json ? take_first_object(&first, layout, row, end, error)
                              : take_first_row(&first, layout, row, end, error);
    done = done && index_names(&first);
    if (done && !options->json) done = check_guess(options, row, end, error);
    if (done && own.chooser) done = choose_columns(&first, &own, error);
    layout->option = own.option;
    numbered_lists lists = {.by_name = false};
    if (done) done = number_lists(layout, &first, &own, &lists, error);
    layout->mixed = own.json && own.mixed;
    layout->typed = layout->mixed || (own.json && own.typed) ? TEXT_TYPED : TEXT_UNTYPED;
    layout->whole = own.whole;
    layout->words = own.words;
    const bool named_some = own.columns || own.strings || own.keys || own.either;
    layout->closed = own.closed || !(named_some || own.all);
    layout->skip_nulls = own.skip_nulls || own.judge_nulls || is_conditional(&own);
    layout->judged = own.skip_nulls || own.judge_nulls;
    layout->inferred = own.inferred;
    const bool named =
        options->json || options->header || lists.by_name || lists_have_names(options);
    const bool header = named || (options->table && first.names && !options->no_header);
    if (done && named && options->no_header) done = refuse_names(error);
    if (done) done = find_layout(layout, options, &first, header, error);
    limit_fields(layout, first.n);
    layout->single =
        layout->delimiter != ' ' && first.n == 1 && (header || given->all || given->chooser);
    const bool lone = !options->columns && !options->strings && !options->keys && !options->table &&
                      !options->all;
    if (done && lone && first.n > 1 && (header || options->also)) {
        done = false;
        error->at = row;
        snprintf(error->what, sizeof error->what, "%d fields in the %s, and no --column says which",
                 first.n,
                 options->json ? "first lines"
                 : header      ? "header"
                               : "first row");
        tell_names(layout, &first, error);
    }
    if (done && header && !options->json && row < end)
        *at = text_row_end(row, end, layout->delimiter);
    drop_lists(&lists);
    text_names_close(&first.index);
    free(first.fields);
    free(first.copies);
    return done;
}

static void free_names(char **names, int n) {
    for (int k = 0; names && k < n; k++) free(names[k]);
    free(names);
}

void text_layout_free(text_layout *layout) {
    free_names(layout->names, layout->columns);
    json_free_keys(layout->keys);
    free(layout->fields);
    free(layout->listed);
    free(layout->kinds);
    free(layout->uses);
    *layout = (text_layout){.columns = 0};
}

bool text_layout_keep(text_layout *l, const int fields[], const unsigned char kinds[], int n) {
    const size_t room = (size_t)n + 1;
    int *const kept = malloc(room * sizeof *kept);
    unsigned char *const kept_kinds = malloc(room);
    char **const names = l->names ? calloc(room, sizeof *names) : NULL;
    unsigned char *const uses = malloc(room);
    bool good = kept && kept_kinds && uses && (names || !l->names);
    for (int i = 0, k = 0; i < n && good; i++) {
        while (l->fields[k] != fields[i]) k++;
        kept[i] = fields[i];
        kept_kinds[i] = kinds[i];
        uses[i] = TEXT_WANTED;
        if (names) names[i] = strdup(l->names[k]);
        good = !names || names[i];
    }
    if (!good) {
        free(kept);
        free(kept_kinds);
        free(uses);
        free_names(names, n);
        return false;
    }
    free(l->fields);
    free(l->kinds);
    free(l->uses);
    free_names(l->names, l->columns);
    l->fields = kept;
    l->kinds = kept_kinds;
    l->uses = uses;
    l->names = names;
    l->columns = n;
    l->lone = false;
    return !l->keys || json_want_keys(l->keys, l->fields, n);
}

int text_layout_column(const text_layout *layout, const char *name) {
    const char *list = name;
    const text_item x = text_take_item(&list, ",");
    const int field = text_item_field(x);
    for (int k = 0; k < layout->columns && *list == '\0'; k++)
        if (layout->fields[k] == field) return k;
    for (int k = 0; k < layout->columns && *list == '\0' && layout->names; k++)
        if (text_item_is(x, layout->names[k], strlen(layout->names[k]))) return k;
    return -1;
}
