#define _GNU_SOURCE /* strdup, qsort_r */
#include "table/choice.h"

#include "runtime/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The names of one text, and its fields in the order of their names. */
typedef struct heading {
    const char *file;
    char *const *names; /* NULL: none */
    int columns;
    int *sorted;
} heading;

typedef struct chooser {
    join_choice *choice;
    const options *options;
    heading headings[SIDES];
    char *text; /* a copy of an option's operand, in pieces */
} chooser;

/* ---- items of the options -------------------------------------------------------------------- */

/* Cuts the next item off a list; NULL behind the last. */
static char *next_item(char **list, char separator) {
    char *const item = *list, *const end = item ? strchr(item, separator) : NULL;
    if (end) *end = '\0';
    *list = end ? end + 1 : NULL;
    return item;
}

static bool is_number(const char *item) {
    return *item && item[strspn(item, "0123456789")] == '\0';
}

/* The side that the item names, a.NAME or b.NAME; -1: none. */
static int named_side(const char *item) {
    const bool side = (item[0] == 'a' || item[0] == 'b') && item[1] == '.';
    return side ? item[0] - 'a' : -1;
}

static bool list_has_names(const char *list, const char *separators) {
    for (const char *at = list; at && *at; at += *at != '\0') {
        const size_t n = strcspn(at, separators);
        const bool number = n > 0 && strspn(at, "0123456789") >= n;
        const bool prefixed = n > 2 && named_side(at) >= 0 && strspn(at + 2, "0123456789") + 2 >= n;
        if (!number && !prefixed) return true;
        at += n;
    }
    return false;
}

bool join_choice_has_names(const options *o) {
    return list_has_names(o->on, ",=") || list_has_names(o->take, ",");
}

/* ---- names ----------------------------------------------------------------------------------- */

static int compare_names(const void *x, const void *y, void *arg) {
    const heading *h = arg;
    const int a = *(const int *)x, b = *(const int *)y;
    const int order = strcmp(h->names[a], h->names[b]);
    return order != 0 ? order : (a > b) - (a < b);
}

static bool open_heading(heading *h, const rows *r) {
    const text_layout *l = &r->source.text->layout;
    *h = (heading){.file = r->source.name, .names = l->names, .columns = l->columns};
    h->sorted = calloc((size_t)l->columns + 1, sizeof *h->sorted);
    if (!h->sorted) return false;
    for (int k = 0; k < l->columns; k++) h->sorted[k] = k;
    if (l->names) qsort_r(h->sorted, (size_t)l->columns, sizeof *h->sorted, compare_names, h);
    return true;
}

/* How many columns an item means, a number or a name; *field is the first of them. */
static int find_fields(const heading *h, const char *item, int *field) {
    const long number = is_number(item) ? strtol(item, NULL, 10) : 0;
    *field = (int)number - 1;
    if (is_number(item)) return number >= 1 && number <= h->columns;
    int first = 0, last = h->names ? h->columns : 0, n = 0;
    const int end = last;
    while (first < last) {
        const int middle = first + (last - first) / 2;
        if (strcmp(h->names[h->sorted[middle]], item) < 0)
            first = middle + 1;
        else
            last = middle;
    }
    while (first + n < end && strcmp(h->names[h->sorted[first + n]], item) == 0) n++;
    *field = n > 0 ? h->sorted[first] : -1;
    return n;
}

/* The name that a column is shown by; its number if it has none. */
static char *name_of(const heading *h, int field, const char *prefix) {
    char *name = NULL;
    const bool named = h->names && *h->names[field];
    const int n = named ? asprintf(&name, "%s%s", prefix, h->names[field])
                        : asprintf(&name, "%s%d", prefix, field + 1);
    return n < 0 ? NULL : name;
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

static int refuse_column(const heading *h, const char *item, int found) {
    char told[TOLD_ALL + TOLD + 8], shown[TOLD + 1], *end;
    snprintf(shown, sizeof shown, "%s", item);
    *output_copy_name(told, shown) = '\0';
    if (is_number(item))
        fail(EXIT_DATA, h->file, "no column %s: it has %d", told, h->columns);
    else
        fail(EXIT_DATA, h->file, "%s column is named '%s'%s", found == 0 ? "no" : "more than one",
             told, is_empty(h) ? ": it has no rows" : "");
    if (is_empty(h)) return EXIT_DATA;
    end = tell_names(told, told, h);
    *end = '\0';
    hint("the columns are %s", told);
    return EXIT_DATA;
}

static int refuse_item(const chooser *c, const char *item) {
    char told[SIDES][TOLD_ALL + TOLD + 8], shown[4 * TOLD];
    snprintf(shown, sizeof shown, "%.*s", TOLD, item);
    for (int s = 0; s < SIDES; s++) *tell_names(told[s], told[s], &c->headings[s]) = '\0';
    fail(EXIT_DATA, NULL, "--take: no column is named '%s', in A or B", shown);
    hint("the columns are, of A: %s; of B: %s", told[SIDE_A], told[SIDE_B]);
    return EXIT_DATA;
}

static int refuse_both(const char *item) {
    fail(EXIT_DATA, NULL, "--take: A and B have a column '%s'", item);
    hint("a.%s is that of A, b.%s that of B", item, item);
    return EXIT_DATA;
}

static int refuse_side(const char *item, const options *o) {
    static const char *const hows[] = {"inner", "left", "outer", "semi", "anti"};
    fail(EXIT_USAGE, NULL, "--how %s shows columns of A alone, not '%s'", hows[o->how], item);
    return EXIT_USAGE;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static int find_key(chooser *c, int side, const char *item) {
    join_choice *choice = c->choice;
    const heading *h = &c->headings[side];
    const int found = find_fields(h, item, &choice->key_fields[side][choice->keys]);
    return found == 1 ? EXIT_DONE : refuse_column(h, item, found);
}

static int take_keys(chooser *c) {
    char *list = c->text, *item;
    int code = EXIT_DONE;
    while (code == EXIT_DONE && (item = next_item(&list, ',')) != NULL) {
        char *other = item;
        next_item(&other, '=');
        if (!other) other = item;
        if (*item == '\0' || *other == '\0' || strchr(other, '='))
            return fail(EXIT_USAGE, NULL, "bad operand of --on: '%s' is not COL or COL=COL",
                        c->options->on);
        if (c->choice->keys == BF_KEY_COLUMNS_MAX)
            return fail(EXIT_USAGE, NULL, "more than %d columns are compared", BF_KEY_COLUMNS_MAX);
        code = find_key(c, SIDE_A, item);
        if (code == EXIT_DONE) code = find_key(c, SIDE_B, other);
        c->choice->keys++;
    }
    return code;
}

/* The field that a key is compared with; -1: it is no key. */
static int partner_of(const join_choice *choice, int side, int field) {
    for (int k = 0; k < choice->keys; k++)
        if (choice->key_fields[side][k] == field) return choice->key_fields[!side][k];
    return -1;
}

/* ---- columns to show ------------------------------------------------------------------------- */

static bool shows_b(const options *o) { return o->how <= HOW_OUTER; }

static int add_shown(chooser *c, char *name, int side, int field, bool key) {
    join_choice *choice = c->choice;
    const int n = choice->count;
    if ((n & (n - 1)) == 0) { /* room for twice as many */
        shown_column *more = realloc(choice->shown, (size_t)(n + (n == 0) + n) * sizeof *more);
        if (more) choice->shown = more;
        if (!more) free(name);
        if (!more) return fail_status(BF_E_MEMORY, NULL, NULL);
    }
    if (!name) return fail_status(BF_E_MEMORY, NULL, NULL);
    shown_column *s = &choice->shown[choice->count++];
    *s = (shown_column){.name = name, .first = side};
    s->fields[side] = field;
    s->fields[!side] = key && shows_b(c->options) ? partner_of(choice, side, field) : -1;
    return EXIT_DONE;
}

/* An item a.NAME or b.NAME, which shows that side alone. */
static int take_side(chooser *c, const char *item) {
    const int side = named_side(item);
    const heading *h = &c->headings[side];
    int field;
    if (side == SIDE_B && !shows_b(c->options)) return refuse_side(item, c->options);
    const int found = find_fields(h, item + 2, &field);
    if (found != 1) return refuse_column(h, item + 2, found);
    const char prefix[] = {item[0], '.', '\0'};
    return add_shown(c, name_of(h, field, prefix), side, field, false);
}

/* An item without a side: that which has it. A key that both have is shown from either. */
static int take_either(chooser *c, const char *item) {
    int fields[SIDES], found[SIDES];
    for (int s = 0; s < SIDES; s++) found[s] = find_fields(&c->headings[s], item, &fields[s]);
    if (found[SIDE_A] == 0 && found[SIDE_B] == 0)
        return named_side(item) >= 0 ? take_side(c, item) : refuse_item(c, item);
    if (!shows_b(c->options)) found[SIDE_B] = 0;
    if (found[SIDE_A] + found[SIDE_B] == 0) return refuse_side(item, c->options);
    const int side = found[SIDE_A] > 0 ? SIDE_A : SIDE_B;
    const heading *h = &c->headings[side];
    if (found[side] > 1) return refuse_column(h, item, found[side]);
    const bool one_key = partner_of(c->choice, SIDE_A, fields[SIDE_A]) == fields[SIDE_B];
    if (found[SIDE_A] > 0 && found[SIDE_B] > 0 && !one_key) return refuse_both(item);
    return add_shown(c, name_of(h, fields[side], ""), side, fields[side], true);
}

static int take_items(chooser *c) {
    char *list = c->text, *item;
    int code = EXIT_DONE;
    while (code == EXIT_DONE && (item = next_item(&list, ',')) != NULL) code = take_either(c, item);
    return code;
}

/* All columns of A, then those of B but its keys. */
static int take_all(chooser *c) {
    const heading *a = &c->headings[SIDE_A], *b = &c->headings[SIDE_B];
    int code = EXIT_DONE;
    for (int k = 0; k < a->columns && code == EXIT_DONE; k++)
        code = add_shown(c, name_of(a, k, ""), SIDE_A, k, true);
    for (int k = 0; k < b->columns && shows_b(c->options) && code == EXIT_DONE; k++) {
        if (partner_of(c->choice, SIDE_B, k) >= 0) continue;
        char *name = name_of(b, k, "");
        int same;
        if (name && find_fields(a, name, &same) > 0) {
            free(name);
            name = name_of(b, k, "b.");
        }
        code = add_shown(c, name, SIDE_B, k, false);
    }
    return code;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int copy_text(chooser *c, const char *text) {
    free(c->text);
    c->text = strdup(text);
    return c->text ? EXIT_DONE : fail_status(BF_E_MEMORY, NULL, NULL);
}

int join_choice_make(join_choice *choice, const rows sides[SIDES], const options *o) {
    chooser c = {.choice = choice, .options = o};
    bool good = true;
    *choice = (join_choice){.keys = 0};
    for (int s = 0; s < SIDES; s++) good = open_heading(&c.headings[s], &sides[s]) && good;
    int code = good ? copy_text(&c, o->on) : fail_status(BF_E_MEMORY, NULL, NULL);
    if (code == EXIT_DONE) code = take_keys(&c);
    if (code == EXIT_DONE && o->take) code = copy_text(&c, o->take);
    if (code == EXIT_DONE) code = o->take ? take_items(&c) : take_all(&c);
    for (int s = 0; s < SIDES; s++) free(c.headings[s].sorted);
    free(c.text);
    return code;
}

void join_choice_close(join_choice *choice) {
    for (int i = 0; i < choice->count; i++) free(choice->shown[i].name);
    free(choice->shown);
}
