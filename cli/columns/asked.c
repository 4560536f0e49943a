#define _GNU_SOURCE /* strdup, strndup, asprintf */
#include "columns/asked.h"

#include "expression/names.h"
#include "sheet/output.h"
#include "text/item.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first row, and which of its fields are wanted. */
typedef struct first_fields {
    char *const *fields;
    int n;
    text_names names;
    unsigned char *wanted; /* what each is wanted for: bits of WANTS_NUMBERS and so on */
    bool named;            /* some field was meant by its name */
    bool json;             /* they are the keys of JSON lines */
    char option[16];       /* the option that is read now */
    text_error *error;
} first_fields;

enum { WANTS_NUMBERS = 1, WANTS_KEYS = 2, WANTS_STRINGS = 4, WANTS_EITHER = 8 };
enum { NOT_THERE = -1, REFUSED = -2 };

static bool PRINTF_LIKE(2, 3) refuse(const first_fields *f, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    text_error *e = f->error;
    e->at = NULL;
    e->hint[0] = '\0';
    const int used = snprintf(e->what, sizeof e->what, "%s: ", f->option);
    vsnprintf(e->what + used, sizeof e->what - (size_t)used, format, arguments);
    va_end(arguments);
    return false;
}

static bool no_memory(const first_fields *f) { return refuse(f, "out of memory"); }

static void read_option(first_fields *f, const char *name) {
    snprintf(f->option, sizeof f->option, "--%s", name);
}

/* The names there are, as a hint. */
static void tell_names(const first_fields *f) {
    text_names_tell(&f->names, f->json, f->error->hint, sizeof f->error->hint);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* The bytes of a name that an error shows. */
static int shown_of(text_item item) { return item.length < 80 ? (int)item.length : 80; }

/* The field of this name: NOT_THERE, or REFUSED if there are two. */
static int find_name(const first_fields *f, text_item name) {
    int found = NOT_THERE;
    if (text_names_find(&f->names, name, &found) < 2) return found;
    refuse(f, "more than one column is named '%.*s'", shown_of(name), name.at);
    tell_names(f);
    return REFUSED;
}

static text_item behind_colon(text_item item) {
    const bool colon = !item.quoted && item.length > 0 && *item.at == ':';
    item.at += colon;
    item.length -= colon;
    return item;
}

/* The field that an item means: a number, a name, or behind a colon a name. */
static int find_field(first_fields *f, text_item item) {
    const int number = text_item_field(item);
    if (number >= 0 && number < f->n) return number;
    const int found = find_name(f, behind_colon(item));
    f->named = f->named || found >= 0;
    return found;
}

static bool refuse_item(const first_fields *f, text_item item) {
    item = behind_colon(item);
    const int shown = shown_of(item);
    if (f->n == 0) return refuse(f, "no column is named '%.*s': it has no rows", shown, item.at);
    if (!item.quoted && item.length > 0 && strspn(item.at, "0123456789") >= item.length)
        refuse(f, "no column %.*s: the first row has %d", shown, item.at, f->n);
    else
        refuse(f, "no column is named '%.*s'", shown, item.at);
    tell_names(f);
    return false;
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* Wants the columns that an expression names, as what they are there, and drops the names. */
static bool want_found(first_fields *f, bf_status found, expression_names *n) {
    static const unsigned char wants[] = {[BF_NAME_EITHER] = WANTS_EITHER,
                                          [BF_NAME_NUMBER] = WANTS_NUMBERS,
                                          [BF_NAME_STRING] = WANTS_STRINGS};
    bool good = found != BF_E_MEMORY || no_memory(f);
    const char *name = n->text;
    for (int i = 0; i < n->count && good; i++, name += strlen(name) + 1) {
        const text_item item = {.at = name, .length = strlen(name), .quoted = true};
        const int field = find_name(f, item);
        good = field >= 0 || (field == NOT_THERE && refuse_item(f, item));
        if (field >= 0) f->wanted[field] |= wants[n->kinds[i]];
    }
    f->named = f->named || n->count > 0;
    names_close(n);
    return good;
}

static bool want_names(const asked *a, first_fields *f, const char *text) {
    expression_names n;
    const bf_status found = names_find(&n, a->context, text, NULL);
    return want_found(f, found, &n);
}

static bool want_key(const asked *a, first_fields *f, const char *text) {
    expression_names n;
    const bf_status found = names_find_key(&n, a->context, text);
    return want_found(f, found, &n);
}

/* The last '=' of a V that is in no brackets and not in quotes; NULL: there is none. */
static const char *find_equals(const char *text) {
    const char *found = NULL;
    for (const char *p = names_end(text, "="); *p; p = names_end(p + 1, "=")) found = p;
    return found;
}

/* ---- what is asked --------------------------------------------------------------------------- */

/* Whether an item of an order begins with '-', which is passed over. */
static bool take_direction(const char **at) {
    const bool descending = **at == '-';
    *at += descending;
    return descending;
}

/* A key that is no column: an expression, or a column, and a name behind an '='. */
static bool choose_expression(asked *a, first_fields *f, asked_key *key) {
    const char *const equals = find_equals(key->text), *list = key->text;
    if (equals && equals[1] == '\0') return refuse(f, "'%.80s' has no name behind '='", key->text);
    if (equals && !(key->name = strdup(equals + 1))) return no_memory(f);
    if (equals) key->text[equals - key->text] = '\0';
    const text_item item = text_take_item(&list, "");
    key->field = item.length > 0 ? find_field(f, item) : NOT_THERE;
    if (key->field != NOT_THERE) return key->field >= 0;
    const bool number = key->text[strspn(key->text, "0123456789")] == '\0';
    if (number || *key->text == ':') return refuse_item(f, item);
    if (!key->name && !(key->name = strdup(key->text))) return no_memory(f);
    a->nulls = true; /* it may have a value where a column has none */
    return want_key(a, f, key->text);
}

/* Takes the next item of --by, which may be a column whose name looks like an expression. */
static bool choose_key(asked *a, first_fields *f, const char **at) {
    asked_key *key = &a->key[a->keys];
    *key = (asked_key){.field = NOT_THERE};
    if (a->whole) key->descending = take_direction(at) != a->turned;
    const char *behind = *at;
    const text_item item = text_take_item(&behind, ",");
    a->keys++;
    key->field = find_field(f, item);
    if (key->field == REFUSED) return false;
    if (key->field == NOT_THERE) {
        const char *const comma = names_end(*at, ",");
        key->text = strndup(*at, (size_t)(comma - *at));
        behind = comma + (*comma == ',');
        if (!key->text) return no_memory(f);
        if (!choose_expression(a, f, key)) return false;
    }
    if (key->field >= 0) f->wanted[key->field] |= a->whole ? WANTS_EITHER : WANTS_KEYS;
    *at = behind;
    return true;
}

static bool choose_keys(asked *a, first_fields *f) {
    const char *at = a->options->by;
    if ((a->whole || a->stands) && f->n == 0) return true;
    do {
        if (a->keys == BF_KEY_COLUMNS_MAX)
            return refuse(f, "more than %d columns", BF_KEY_COLUMNS_MAX);
        if (!choose_key(a, f, &at)) return false;
    } while (*at || at[-1] == ',');
    return true;
}

static void take_field(asked *a, first_fields *f, int field) {
    if (f->wanted[field] & WANTS_KEYS) return;
    f->wanted[field] |= WANTS_KEYS;
    a->take_fields[a->takes++] = field;
}

/* Takes the columns of a list. must: each is there. */
static bool take_list(asked *a, first_fields *f, const char *at, bool must) {
    while (at) {
        const text_item item = text_take_item(&at, ",");
        const int field = find_field(f, item);
        if (field == REFUSED) return false;
        if (field == NOT_THERE && must) return refuse_item(f, item);
        if (field != NOT_THERE) take_field(a, f, field);
        if (item.behind == '\0') break;
    }
    return true;
}

/* Takes the columns of --column, or all, as they are. */
static bool choose_taken(asked *a, first_fields *f) {
    const char *const list = a->options->input.text.columns;
    read_option(f, "column");
    a->take_fields = malloc(((size_t)f->n + 1) * sizeof *a->take_fields);
    if (!a->take_fields) return no_memory(f);
    for (int i = 0; i < f->n && !list; i++) take_field(a, f, i);
    return take_list(a, f, list, true) && take_list(a, f, a->also, false);
}

/* Finds what a V means. */
static bool find_meaning(asked *a, first_fields *f, asked_value *v) {
    const char *const text = v->text, *list = text;
    const text_item item = text_take_item(&list, "");
    v->field = find_field(f, item);
    if (v->field == REFUSED) return false;
    if (v->field >= 0) {
        f->wanted[v->field] |= v->any ? WANTS_KEYS : WANTS_NUMBERS;
        return true;
    }
    const bool number = *text != '\0' && text[strspn(text, "0123456789")] == '\0';
    if (*text == ':' || number) return refuse_item(f, item);
    if (*text == '/' || strncmp(text, "./", 2) == 0)
        return refuse(f, "%.80s: with --by, values are columns and expressions, not files", text);
    a->nulls = true; /* an expression may have a value where a column has none */
    return want_names(a, f, text);
}

static bool is_value(const asked_value *v, const char *text, bool any, bool first) {
    return strcmp(v->text, text) == 0 && v->any == any && v->first == first && !v->second;
}

/* The V of these texts (second: NULL but of a pair) that is there already; -1: there is none. */
static int find_value(const asked *a, const char *text, const char *second, bool any) {
    for (int i = 0; i < a->values; i++)
        if (is_value(&a->value[i], text, any, second != NULL) &&
            (!second || strcmp(a->value[i + 1].text, second) == 0))
            return i;
    return -1;
}

/* Notes a V. Takes the text over. */
static bool add_new_value(asked *a, first_fields *f, asked_value v) {
    if (!v.text) return no_memory(f);
    a->value[a->values] = v;
    return find_meaning(a, f, &a->value[a->values++]);
}

/* Notes a V, or a pair of them, unless it is there already. Takes the texts over. */
static bool add_value(asked *a, first_fields *f, char *text, char *second, bool any, int *at) {
    const int there = text ? find_value(a, text, second, any) : -1;
    *at = there >= 0 ? there : a->values;
    if (there >= 0) {
        free(text);
        free(second);
        return true;
    }
    const bool good = add_new_value(a, f, (asked_value){text, -1, any, second != NULL, false});
    if (good && second) return add_new_value(a, f, (asked_value){second, -1, any, false, true});
    free(second);
    return good;
}

/* sum(price), quantile(90:price), corr(x:y) */
static char *default_name(const struct wanted_aggregate *w, const char *text, const char *second) {
    char *name = NULL, percent[BF_VALUE_TEXT + 1] = "";
    if (w->order == ORDER_QUANTILE_OF) {
        const bf_value p = {.dtype = BF_F64, .as.f64 = w->percent};
        output_format(&p, false, percent);
        strcat(percent, ":");
    }
    text += *text == ':';
    if (second) second += *second == ':';
    const int n = asprintf(&name, "%s(%s%s%s%s)", w->option, percent, text, second ? ":" : "",
                           second ? second : "");
    return n < 0 ? NULL : name;
}

/* The value, or pair, of these texts, which becomes one unless it is there; -1: there is no memory.
 */
static int value_of_text(asked *a, const char *text, const char *second) {
    const int there = find_value(a, text, second, false);
    if (there >= 0) return there;
    a->value[a->values] = (asked_value){strdup(text), -1, false, second != NULL, false};
    if (!a->value[a->values++].text) return -1;
    if (!second) return a->values - 1;
    a->value[a->values] = (asked_value){strdup(second), -1, false, false, true};
    return a->value[a->values++].text ? a->values - 2 : -1;
}

/* Without aggregates, rows are counted, unless keys alone are asked for. */
static bool counts_rows(const options *o) {
    return o->distinct ? o->times : o->aggregate_count == 0;
}

/* Adds a result of the value, or pair, whose last text stands in `size` bytes; equals: its name
 * stands behind it. */
static bool add_result_of(asked *a, first_fields *f, const struct wanted_aggregate *w,
                          const char *text, size_t size, const char *equals) {
    char *const last = strndup(text, size), *const first = w->pairs ? strdup(w->values) : last;
    if (a->results == OPTIONS_AGGREGATES || !first || !last) {
        free(first);
        if (w->pairs) free(last);
        return a->results < OPTIONS_AGGREGATES ? no_memory(f)
                                               : refuse(f, "more than %d results", a->results);
    }
    asked_result *r = &a->result[a->results++];
    *r = (asked_result){.aggregate = w, .value = -1};
    const bool any = w->order >= ORDER_FIRST_OF;
    if (!add_value(a, f, first, w->pairs ? last : NULL, any, &r->value)) return false;
    r->name = equals ? strdup(equals + 1)
                     : default_name(w, a->value[r->value].text,
                                    w->pairs ? a->value[r->value + 1].text : NULL);
    return r->name || no_memory(f);
}

/* Adds a result of each column that a pattern means. */
static bool add_results(asked *a, first_fields *f, const struct wanted_aggregate *w,
                        text_item pattern) {
    int *columns = malloc(((size_t)f->n + 1) * sizeof *columns);
    const int n = columns ? text_names_select(&f->names, pattern, columns) : 0;
    bool good = columns != NULL || no_memory(f);
    if (good && n <= 0) good = refuse_item(f, pattern);
    for (int i = 0; i < n && good; i++) {
        char *name = NULL; /* a name behind a colon is no number */
        const int size = asprintf(&name, ":%s", f->fields[columns[i]]);
        good = size < 0 ? no_memory(f) : add_result_of(a, f, w, name, (size_t)size, NULL);
        if (size >= 0) free(name);
    }
    f->named = true;
    free(columns);
    return good;
}

/* Whether a value is a pattern of names: no expression ends with '*'. */
static bool is_pattern(const first_fields *f, text_item item, const char *equals) {
    int column;
    return !equals && !item.quoted && item.length > 0 && item.at[item.length - 1] == '*' &&
           text_names_find(&f->names, item, &column) == 0;
}

static bool add_result(asked *a, first_fields *f, const struct wanted_aggregate *w) {
    if (w && w->values) {
        const char *const last = w->pairs ? w->second : w->values;
        const char *const equals = find_equals(last), *list = last;
        const size_t size = equals ? (size_t)(equals - last) : strlen(last);
        const text_item item = text_take_item(&list, "");
        read_option(f, w->option);
        return !w->pairs && is_pattern(f, item, equals)
                   ? add_results(a, f, w, item)
                   : add_result_of(a, f, w, last, size, equals);
    }
    if (a->results == OPTIONS_AGGREGATES) return refuse(f, "more than %d results", a->results);
    asked_result *r = &a->result[a->results++];
    *r = (asked_result){.aggregate = w, .value = -1};
    r->name = strdup("count");
    return r->name || no_memory(f);
}

/* Lists the numbers of the fields that are wanted so. */
static bool list_fields(asked *a, const first_fields *f, int which, const char **list) {
    size_t used = 0, room = 1;
    for (int i = 0; i < f->n; i++) room += f->wanted[i] & 1 << which ? 9 : 0;
    char *at = a->lists[which] = malloc(room);
    if (!at) return no_memory(f);
    *at = '\0';
    for (int i = 0; i < f->n; i++)
        if (f->wanted[i] & 1 << which)
            used += (size_t)snprintf(at + used, room - used, "%s%d", used ? "," : "", i + 1);
    *list = used ? at : NULL;
    return true;
}

static void forget(asked *a) {
    for (int i = 0; i < a->keys; i++) {
        free(a->key[i].text);
        free(a->key[i].name);
        a->key[i] = (asked_key){.field = NOT_THERE};
    }
    for (int i = 0; i < a->values; i++) free(a->value[i].text);
    for (int i = 0; i < a->results; i++) free(a->result[i].name);
    for (int i = 0; i < ASKED_LISTS; i++) free(a->lists[i]);
    free(a->take_fields);
    a->take_fields = NULL;
    a->keys = a->values = a->results = a->takes = 0;
    memset(a->lists, 0, sizeof a->lists);
}

/* A key is shown as one, whatever its numbers are. */
static void infer_keys(first_fields *f) {
    for (int i = 0; i < f->n; i++)
        if (f->wanted[i] & (WANTS_KEYS | WANTS_STRINGS)) f->wanted[i] &= WANTS_KEYS | WANTS_STRINGS;
}

/* A key that a condition compares with strings is one of strings, whatever its fields are. */
static void settle_strings(first_fields *f) {
    for (int i = 0; i < f->n; i++)
        if (f->wanted[i] & WANTS_STRINGS) f->wanted[i] &= (unsigned char)~WANTS_KEYS;
}

/* Rows are read by some column, which here may hold anything: keys that are constants name none. */
static void want_any(first_fields *f) {
    unsigned wanted = 0;
    for (int i = 0; i < f->n; i++) wanted |= f->wanted[i];
    if (!wanted && f->n > 0) f->wanted[0] = WANTS_STRINGS;
}

static bool choose(asked *a, first_fields *f, text_options *o) {
    const options *asks = a->options;
    forget(a);
    a->nulls = asks->where || a->taken; /* rows without a value may be left out */
    read_option(f, "by");
    if (!(a->taken ? choose_taken : choose_keys)(a, f)) return false;
    read_option(f, "where");
    if (asks->infer && asks->where && !want_names(a, f, asks->where)) return false;
    bool good = true;
    for (int i = 0; i < asks->aggregate_count && good; i++)
        good = add_result(a, f, &asks->aggregates[i]);
    if (good && !a->whole && !a->taken && counts_rows(asks)) good = add_result(a, f, NULL);
    settle_strings(f);
    if (asks->infer || a->taken) infer_keys(f);
    want_any(f);
    const char **const lists[ASKED_LISTS] = {&o->columns, &o->keys, &o->strings, &o->either};
    for (int i = 0; i < ASKED_LISTS && good; i++) good = list_fields(a, f, i, lists[i]);
    if (!good) return false;
    o->skip_nulls = o->skip_nulls || a->nulls;
    o->whole = a->whole || a->stands;
    if (o->whole && f->n == 0) o->text = o->number = NULL; /* no row has a place */
    o->table = o->apart = true;
    o->typed = !a->taken;
    o->inferred = a->taken;
    o->closed = a->closed || (a->taken && !asks->input.text.columns);
    o->option = "--by";
    o->header = o->header || f->named;
    return true;
}

static bool choose_columns(void *arg, char *const fields[], int n, text_options *o, text_error *e) {
    first_fields f = {.fields = fields, .n = n, .json = o->json, .option = "--by", .error = e};
    f.wanted = calloc((size_t)n + 1, 1);
    const bool room = text_names_open(&f.names, n) && f.wanted;
    for (int i = 0; room && i < n; i++) text_names_set(&f.names, i, fields[i], strlen(fields[i]));
    const bool good = room ? choose(arg, &f, o) : no_memory(&f);
    text_names_close(&f.names);
    free(f.wanted);
    return good;
}

int asked_check(const options *o) {
    for (int i = 0; i < o->aggregate_count; i++) {
        const struct wanted_aggregate *w = &o->aggregates[i];
        const char *const last = w->pairs ? w->second : w->values;
        const char *equals = last ? find_equals(last) : NULL;
        if (!equals || (equals > last && equals[1] != '\0')) continue;
        return fail(EXIT_USAGE, NULL, "--%s: '%s' has no %s '='", w->option, last,
                    equals > last ? "name behind" : "values before");
    }
    return EXIT_DONE;
}

void asked_open(asked *a, const options *o, bf_context *context) {
    *a = (asked){.options = o,
                 .context = context,
                 .file = o->file_count == 1 ? o->files[0] : "total",
                 .total = o->total,
                 .method = o->method,
                 .skip_nulls = o->input.text.skip_nulls,
                 .keyed = o->distinct || o->aggregate_count > 0,
                 .chooser = {"--by", choose_columns, a}};
}

int asked_list(asked *a) {
    const options *o = a->options;
    bool good = true;
    a->keys = 1;
    a->listed = !o->distinct;
    for (int i = 0; i < o->aggregate_count + counts_rows(o) && good; i++) {
        asked_result *r = &a->result[a->results++];
        const struct wanted_aggregate *w = i < o->aggregate_count ? &o->aggregates[i] : NULL;
        const bool values = w && w->values;
        *r = (asked_result){.aggregate = w, .value = -1};
        if (values) r->value = value_of_text(a, w->values, w->second);
        r->name = values ? default_name(w, w->values, w->second) : strdup("count");
        good = r->name && (!values || r->value >= 0);
    }
    return good ? EXIT_DONE : fail_memory(NULL);
}

void asked_close(asked *a) { forget(a); }
