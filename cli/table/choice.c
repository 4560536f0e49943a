#define _GNU_SOURCE /* strdup, strndup */
#include "table/choice.h"

#include "sheet/output.h"
#include "text/item.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The names of one text. */
typedef struct heading {
    const char *file;
    char *const *names; /* NULL: none */
    int columns;
    text_names index;
} heading;

typedef struct chooser {
    join_choice *choice;
    const options *options;
    bf_context *context;
    heading headings[SIDES];
    char *text;         /* a copy of --take, in pieces */
    const char *option; /* --take or --where, which chooses columns */
    shown_column **shown;
    int *count;
} chooser;

/* ---- items of the options -------------------------------------------------------------------- */

/* An item of --on or --take. */
typedef struct choice_item {
    const char *text; /* without backquotes */
    bool quoted;      /* it had them: it is a name, whatever it looks like */
    int side;         /* the side that stood before them; -1: none */
    char behind;      /* as in text_item */
} choice_item;

/* Cuts the next item off a list. */
static choice_item next_item(char **list, const char *separators) {
    const char *at = *list;
    const text_item item = text_take_item(&at, separators);
    char *const text = *list + (item.at - *list);
    *list += at - *list;
    text_item_copy(item, text);
    return (choice_item){text, item.quoted, -1, item.behind};
}

static bool begins_side(const char *text) {
    return (text[0] == 'a' || text[0] == 'b') && text[1] == '.';
}

/* Reads the next item of --take, where a.`NAME` is one, too. */
static choice_item next_taken(char **list) {
    const char *at = *list + 2, side = **list;
    if (!begins_side(*list) || !text_take_item(&at, ",").quoted) return next_item(list, ",");
    *list += 2;
    choice_item item = next_item(list, ",");
    item.side = side - 'a';
    return item;
}

static bool is_digits(const char *text) {
    return *text && text[strspn(text, "0123456789")] == '\0';
}

static bool is_number(choice_item item) { return !item.quoted && is_digits(item.text); }

/* If the item is a.NAME or b.NAME, takes the side off it. */
static bool take_prefix(choice_item *item) {
    if (item->quoted || !begins_side(item->text)) return false;
    item->side = item->text[0] - 'a';
    item->text += 2;
    return true;
}

/* Whether the list names a column, by what is no number. */
static bool list_has_names(const char *list, const char *separators) {
    while (list && *list) {
        text_item item = text_take_item(&list, separators);
        if (!item.quoted && item.length > 2 && begins_side(item.at)) {
            item.at += 2;
            item.length -= 2;
        }
        if (!text_item_is_number(item)) return true;
    }
    return false;
}

bool join_choice_has_names(const options *o, const expression_names *names) {
    bool some = list_has_names(o->on, ",=") || list_has_names(o->take, ",");
    const char *name = names->text;
    for (int k = 0; k < names->count; k++, name += strlen(name) + 1)
        some = some || !is_digits(begins_side(name) ? name + 2 : name);
    return some;
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool open_heading(heading *h, const rows *r) {
    const text_layout *l = &r->source.text->layout;
    const int n = l->names ? l->columns : 0;
    *h = (heading){.file = r->source.name, .names = l->names, .columns = l->columns};
    const bool room = text_names_open(&h->index, n);
    for (int k = 0; room && k < n; k++)
        text_names_set(&h->index, k, l->names[k], strlen(l->names[k]));
    return room;
}

/* How many columns have a name; *field is the first of them. */
static int find_name(const heading *h, const char *name, int *field) {
    *field = -1;
    return text_names_find(&h->index, (text_item){.at = name, .length = strlen(name)}, field);
}

/* How many columns an item means; *field is the first of them. A number that no column has is a
 * name. */
static int find_fields(const heading *h, choice_item item, int *field) {
    const long number = is_number(item) ? strtol(item.text, NULL, 10) : 0;
    if (number < 1 || number > h->columns) return find_name(h, item.text, field);
    *field = (int)number - 1;
    return 1;
}

static bool is_named(const heading *h, int field) { return h->names && *h->names[field]; }

/* The name that a column is shown by; its number if it has none. */
static char *name_of(const heading *h, int field, const char *prefix) {
    char *name = NULL;
    const int n = is_named(h, field) ? asprintf(&name, "%s%s", prefix, h->names[field])
                                     : asprintf(&name, "%s%d", prefix, field + 1);
    return n < 0 ? NULL : name;
}

/* Whether some column is shown by this name. */
static bool shows_name(const heading *h, const char *name) {
    const choice_item item = {.text = name};
    int field;
    if (find_name(h, name, &field) > 0) return true;
    return is_number(item) && *name != '0' && find_fields(h, item, &field) > 0 &&
           !is_named(h, field);
}

/* ---- errors ---------------------------------------------------------------------------------- */

enum { TOLD = 40, TOLD_ALL = 180 }; /* bytes of a name, and of all, that an error shows */

/* Writes the first names there are; returns where the text goes on. */
static char *tell_names(char *to, const char *begin, const heading *h) {
    for (int k = 0; k < h->columns && to < begin + TOLD_ALL; k++) {
        char name[TOLD + 1];
        if (h->names)
            snprintf(name, sizeof name, "%s", h->names[k]);
        else
            snprintf(name, sizeof name, "%d", k + 1);
        if (k > 0) to += sprintf(to, ", ");
        to = output_copy_name(to, name);
    }
    return to;
}

static bool is_empty(const heading *h) { return h->names && h->columns == 1 && !*h->names[0]; }

static int refuse_column(const heading *h, const char *option, choice_item item, int found) {
    char told[TOLD_ALL + TOLD + 8], shown[TOLD + 1], *end;
    snprintf(shown, sizeof shown, "%s", item.text);
    *output_copy_name(told, shown) = '\0';
    if (is_number(item))
        fail(EXIT_DATA, h->file, "%s: no column %s: it has %d", option, told, h->columns);
    else
        fail(EXIT_DATA, h->file, "%s: %s column is named '%s'%s", option,
             found == 0 ? "no" : "more than one", told, is_empty(h) ? ": it has no rows" : "");
    if (is_empty(h)) return EXIT_DATA;
    end = tell_names(told, told, h);
    *end = '\0';
    hint(is_number(item) ? "the columns are %s; a name that is a number stands in backquotes"
                         : "the columns are %s",
         told);
    return EXIT_DATA;
}

static int refuse_item(const chooser *c, choice_item item) {
    char told[SIDES][TOLD_ALL + TOLD + 8], shown[4 * TOLD];
    snprintf(shown, sizeof shown, "%.*s", TOLD, item.text);
    for (int s = 0; s < SIDES; s++) *tell_names(told[s], told[s], &c->headings[s]) = '\0';
    fail(EXIT_DATA, NULL, "%s: no column is named '%s', in A or B", c->option, shown);
    hint("the columns are, of A: %s; of B: %s", told[SIDE_A], told[SIDE_B]);
    return EXIT_DATA;
}

static int refuse_both(const chooser *c, choice_item item) {
    const char *const mark = item.quoted ? "`" : "";
    fail(EXIT_DATA, NULL, "%s: A and B have a column '%s'", c->option, item.text);
    if (c->shown == &c->choice->condition.columns) {
        hint("`a.%s` is that of A, `b.%s` that of B", item.text, item.text);
        return EXIT_DATA;
    }
    hint("a.%s%s%s is that of A, b.%s%s%s that of B", mark, item.text, mark, mark, item.text, mark);
    return EXIT_DATA;
}

static int refuse_side(choice_item item, const options *o) {
    static const char *const hows[] = {"inner", "left", "outer", "semi", "anti"};
    return fail(EXIT_USAGE, NULL, "--how %s shows columns of A alone, not '%s%s'", hows[o->how],
                item.side == SIDE_B ? "b." : "", item.text);
}

/* ---- a column to show -------------------------------------------------------------------------
 */

/* The field that a key is compared with; -1: it is no key, or compared with expressions. */
static int partner_of(const join_choice *choice, int side, int field) {
    for (int k = 0; k < choice->keys; k++)
        if (choice->key[side][k].field == field && choice->key[!side][k].field >= 0)
            return choice->key[!side][k].field;
    return -1;
}

static bool shows_b(const options *o) { return o->how <= HOW_OUTER; }

static int add_shown(chooser *c, char *name, int side, int field, bool key) {
    const int n = *c->count;
    if ((n & (n - 1)) == 0) { /* room for twice as many */
        shown_column *more = realloc(*c->shown, (size_t)(n + (n == 0) + n) * sizeof *more);
        if (more) *c->shown = more;
        if (!more) free(name);
        if (!more) return fail_memory(NULL);
    }
    if (!name) return fail_memory(NULL);
    shown_column *s = &(*c->shown)[(*c->count)++];
    *s = (shown_column){.name = name, .first = side};
    s->fields[side] = field;
    s->fields[!side] = key && shows_b(c->options) ? partner_of(c->choice, side, field) : -1;
    return EXIT_DONE;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* What an expression's name means: a column of one side. */
static int take_operand(chooser *c, int side, const char *name) {
    const heading *h = &c->headings[side];
    int field;
    const choice_item item = {.text = name, .quoted = find_name(h, name, &field) > 0};
    const int found = find_fields(h, item, &field);
    return found == 1 ? add_shown(c, strdup(name), side, field, false)
                      : refuse_column(h, "--on", item, found);
}

static int take_expression(chooser *c, int side, join_expression *e) {
    expression_names n;
    c->shown = &e->columns;
    c->count = &e->count;
    int code = names_open_key(&n, c->context, "--on", e->text);
    if (code == EXIT_DONE && n.count == 0)
        code = fail(EXIT_USAGE, NULL, "--on: '%s' names no column", e->text);
    const char *name = n.text;
    for (int k = 0; k < n.count && code == EXIT_DONE; k++, name += strlen(name) + 1)
        code = take_operand(c, side, name);
    memcpy(e->kinds, n.kinds, sizeof e->kinds);
    names_close(&n);
    return code;
}

/* Takes a key of one side, a column or an expression. */
static int take_key(chooser *c, int side, const char *text, size_t length) {
    join_key *key = &c->choice->key[side][c->choice->keys];
    const heading *h = &c->headings[side];
    char *list = key->expression.text = strndup(text, length);
    char *const copy = list ? strdup(list) : NULL, *rest = copy;
    if (!copy) return fail_memory(NULL);
    const choice_item item = next_item(&rest, "");
    const int found = find_fields(h, item, &key->field);
    int code = EXIT_DONE;
    if (found != 1) key->field = -1;
    if (found > 1 || (found == 0 && (item.quoted || is_number(item))))
        code = refuse_column(h, "--on", item, found);
    else if (found == 0)
        code = take_expression(c, side, &key->expression);
    free(copy);
    return code;
}

/* The length of a side of an item that is a column, whatever its name looks like; 0: it is none. */
static size_t column_length(const heading *h, const char *text) {
    char *const copy = strdup(text), *rest = copy;
    int field;
    if (!copy) return 0;
    const choice_item item = next_item(&rest, ",=");
    const size_t length = (size_t)(rest - copy) - (item.behind != '\0');
    const char *const behind = text + length;
    const bool ends = *behind == '\0' || names_end(behind, ",=") == behind;
    const bool is = ends && *item.text && find_fields(h, item, &field) == 1;
    free(copy);
    return is ? length : 0;
}

static size_t side_length(const heading *h, const char *text) {
    const size_t length = column_length(h, text);
    return length > 0 ? length : (size_t)(names_end(text, ",=") - text);
}

/* Takes the next item of --on, which is one for both sides or has an '='; moves *at behind it. */
static int take_item(chooser *c, const char **at) {
    const char *text[SIDES] = {*at, *at};
    size_t length[SIDES];
    length[SIDE_A] = side_length(&c->headings[SIDE_A], *at);
    if ((*at)[length[SIDE_A]] == '=') text[SIDE_B] += length[SIDE_A] + 1;
    length[SIDE_B] =
        text[SIDE_B] > *at ? side_length(&c->headings[SIDE_B], text[SIDE_B]) : length[SIDE_A];
    *at = text[SIDE_B] + length[SIDE_B];
    if (length[SIDE_A] == 0 || length[SIDE_B] == 0 || **at == '=')
        return fail(EXIT_USAGE, NULL, "bad operand of --on: '%s' is not KEY or KEY=KEY",
                    c->options->on);
    if (c->choice->keys == BF_KEY_COLUMNS_MAX)
        return fail(EXIT_USAGE, NULL, "--on: more than %d columns are compared",
                    BF_KEY_COLUMNS_MAX);
    const int code = take_key(c, SIDE_A, text[SIDE_A], length[SIDE_A]);
    const int other = code == EXIT_DONE ? take_key(c, SIDE_B, text[SIDE_B], length[SIDE_B]) : code;
    c->choice->keys++;
    return other;
}

static int take_keys(chooser *c) {
    const char *at = c->options->on;
    int code = take_item(c, &at);
    while (code == EXIT_DONE && *at) {
        at++;
        code = take_item(c, &at);
    }
    return code;
}

/* ---- columns to show ------------------------------------------------------------------------- */

/* An item of one side, which shows that alone. */
static int take_side(chooser *c, choice_item item) {
    const int side = item.side;
    const char prefix[] = {(char)('a' + side), '.', '\0'};
    const heading *h = &c->headings[side];
    int field;
    if (side == SIDE_B && !shows_b(c->options)) return refuse_side(item, c->options);
    const int found = find_fields(h, item, &field);
    if (found != 1) return refuse_column(h, c->option, item, found);
    return add_shown(c, name_of(h, field, prefix), side, field, false);
}

/* An item without a side: that which has it. A key that both have is shown from either. */
static int take_either(chooser *c, choice_item item) {
    int fields[SIDES], found[SIDES];
    for (int s = 0; s < SIDES; s++) found[s] = find_fields(&c->headings[s], item, &fields[s]);
    if (found[SIDE_A] == 0 && found[SIDE_B] == 0)
        return take_prefix(&item) ? take_side(c, item) : refuse_item(c, item);
    if (!shows_b(c->options)) found[SIDE_B] = 0;
    if (found[SIDE_A] + found[SIDE_B] == 0) return refuse_side(item, c->options);
    const int side = found[SIDE_A] > 0 ? SIDE_A : SIDE_B;
    const heading *h = &c->headings[side];
    if (found[side] > 1) return refuse_column(h, c->option, item, found[side]);
    const bool one_key = partner_of(c->choice, SIDE_A, fields[SIDE_A]) == fields[SIDE_B];
    if (found[SIDE_A] > 0 && found[SIDE_B] > 0 && !one_key) return refuse_both(c, item);
    return add_shown(c, name_of(h, fields[side], ""), side, fields[side], true);
}

/* A column of a side that a pattern or range means: by its name, unless the side is said. What both
 * have was taken with those of A. */
static int take_match(chooser *c, choice_item item, int side, int field) {
    const heading *h = &c->headings[side];
    char number[16];
    int other;
    snprintf(number, sizeof number, "%d", field + 1);
    if (item.side >= 0) return take_side(c, (choice_item){.text = number, .side = side});
    if (side == SIDE_B && find_name(&c->headings[SIDE_A], h->names[field], &other) > 0)
        return EXIT_DONE;
    return take_either(c, (choice_item){.text = h->names[field], .quoted = true, .side = -1});
}

/* Takes the columns of a side that an item means by a pattern, or by a range if the side is said,
 * and adds how many they are to *n. */
static int take_matches(chooser *c, choice_item item, int side, int *n) {
    const text_names *names = &c->headings[side].index;
    const text_item x = {.at = item.text, .length = strlen(item.text), .quoted = item.quoted};
    if (item.side < 0 && text_item_is_number(x)) return EXIT_DONE;
    int *const columns = malloc(((size_t)names->n + 1) * sizeof *columns), code = EXIT_DONE;
    const int found = columns ? text_names_select(names, x, columns) : TEXT_ITEM_NO_MEMORY;
    if (found == TEXT_ITEM_NO_MEMORY) code = fail_memory(NULL);
    for (int i = 0; i < found && code == EXIT_DONE; i++)
        code = take_match(c, item, side, columns[i]);
    *n += found > 0 ? found : 0;
    free(columns);
    return code;
}

/* Takes those of its own side, or of both that are shown. */
static int take_pattern(chooser *c, choice_item item, int *n) {
    int code = EXIT_DONE;
    for (int s = 0; s < SIDES && code == EXIT_DONE; s++)
        if (item.side == s || (item.side < 0 && (s == SIDE_A || shows_b(c->options))))
            code = take_matches(c, item, s, n);
    return code;
}

static int take_shown(chooser *c, choice_item item) {
    choice_item sided = item;
    int n = 0, code = take_pattern(c, item, &n);
    if (code == EXIT_DONE && n == 0 && take_prefix(&sided)) code = take_pattern(c, sided, &n);
    if (code != EXIT_DONE || n > 0) return code;
    return item.side >= 0 ? take_side(c, item) : take_either(c, item);
}

static int take_items(chooser *c) {
    char *list = c->text;
    choice_item item = {.behind = ','};
    int code = EXIT_DONE;
    while (code == EXIT_DONE && item.behind) {
        item = next_taken(&list);
        code = take_shown(c, item);
    }
    return code;
}

/* Whether a column of B is a key, which A's shows; an outer join's rows of B alone show there the
 * first that A's is compared with. */
static bool is_shown_by_a(const chooser *c, int field) {
    const int partner = partner_of(c->choice, SIDE_B, field);
    const bool first = partner >= 0 && partner_of(c->choice, SIDE_A, partner) == field;
    return partner >= 0 && (first || c->options->how != HOW_OUTER);
}

/* All columns of A, then those of B but its keys. */
static int take_all(chooser *c) {
    const heading *a = &c->headings[SIDE_A], *b = &c->headings[SIDE_B];
    int code = EXIT_DONE;
    for (int k = 0; k < a->columns && code == EXIT_DONE; k++)
        code = add_shown(c, name_of(a, k, ""), SIDE_A, k, true);
    for (int k = 0; k < b->columns && shows_b(c->options) && code == EXIT_DONE; k++) {
        if (is_shown_by_a(c, k)) continue;
        char *name = name_of(b, k, "");
        if (name && shows_name(a, name)) {
            free(name);
            name = name_of(b, k, "b.");
        }
        code = add_shown(c, name, SIDE_B, k, false);
    }
    return code;
}

/* ---- the condition --------------------------------------------------------------------------- */

static bool is_heading(const chooser *c, const char *name) {
    int field;
    return is_digits(name) && (find_name(&c->headings[SIDE_A], name, &field) > 0 ||
                               find_name(&c->headings[SIDE_B], name, &field) > 0);
}

/* Each name is that of a column as in --take, and stands for itself in the condition. */
static int take_names(chooser *c, const expression_names *names) {
    join_expression *e = &c->choice->condition;
    char *name = names->text;
    int code = EXIT_DONE;
    c->option = "--where";
    c->shown = &e->columns;
    c->count = &e->count;
    memcpy(e->kinds, names->kinds, sizeof e->kinds);
    for (int k = 0; k < names->count && code == EXIT_DONE; k++, name += strlen(name) + 1) {
        code =
            take_either(c, (choice_item){.text = name, .quoted = is_heading(c, name), .side = -1});
        if (code != EXIT_DONE) break;
        free(e->columns[k].name);
        e->columns[k].name = strdup(name);
        if (!e->columns[k].name) code = fail_memory(NULL);
    }
    return code;
}

static int take_condition(chooser *c, const expression_names *names) {
    if (!c->options->where) return EXIT_DONE;
    c->choice->condition.text = strdup(c->options->where);
    return c->choice->condition.text ? take_names(c, names) : fail_memory(NULL);
}

/* ---- all ------------------------------------------------------------------------------------- */

static int choose(chooser *c, const expression_names *names) {
    const char *const take = c->options->take;
    int code = take_keys(c);
    c->shown = &c->choice->shown;
    c->count = &c->choice->count;
    if (code == EXIT_DONE && take && !(c->text = strdup(take))) code = fail_memory(NULL);
    if (code == EXIT_DONE) code = take ? take_items(c) : take_all(c);
    return code == EXIT_DONE ? take_condition(c, names) : code;
}

int join_choice_make(join_choice *choice, const rows sides[SIDES], const options *o,
                     bf_context *context, const expression_names *names) {
    chooser c = {.choice = choice, .options = o, .context = context, .option = "--take"};
    bool good = true;
    memset(choice, 0, sizeof *choice); /* too large for a small stack */
    for (int s = 0; s < SIDES; s++) good = open_heading(&c.headings[s], &sides[s]) && good;
    const int code = good ? choose(&c, names) : fail_memory(NULL);
    for (int s = 0; s < SIDES; s++) text_names_close(&c.headings[s].index);
    free(c.text);
    return code;
}

static void close_columns(shown_column *columns, int count) {
    for (int i = 0; i < count; i++) free(columns[i].name);
    free(columns);
}

static void close_expression(join_expression *e) {
    close_columns(e->columns, e->count);
    free(e->text);
}

void join_choice_close(join_choice *choice) {
    close_columns(choice->shown, choice->count);
    close_expression(&choice->condition);
    for (int s = 0; s < SIDES; s++)
        for (int k = 0; k < choice->keys; k++) close_expression(&choice->key[s][k].expression);
}
