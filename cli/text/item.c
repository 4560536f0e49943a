#define _GNU_SOURCE /* strndup, open_memstream */
#include "text/item.h"

#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of columns have fewer digits. */
enum { DIGITS = 9 };

/* The backquote that ends the name at `at`; NULL: none does. */
static const char *closing_backquote(const char *at, const char *separators) {
    while (*at && (*at != '`' || at[1] == '`')) at += *at == '`' ? 2 : 1;
    return *at && (at[1] == '\0' || strchr(separators, at[1])) ? at : NULL;
}

text_item text_take_item(const char **list, const char *separators) {
    const char *const begin = *list;
    const char *end = *begin == '`' ? closing_backquote(begin + 1, separators) : NULL;
    text_item item = {begin, strcspn(begin, separators), end != NULL, '\0'};
    if (end) {
        item.at = begin + 1;
        item.length = (size_t)(end++ - item.at);
    } else {
        end = begin + item.length;
    }
    item.behind = *end;
    *list = end + (*end != '\0');
    return item;
}

int text_item_field(text_item item) {
    if (item.quoted || item.length == 0 || item.length > DIGITS) return -1;
    if (strspn(item.at, "0123456789") < item.length) return -1;
    return (int)strtol(item.at, NULL, 10) - 1;
}

bool text_item_is(text_item item, const char *name, size_t length) {
    size_t i = 0;
    for (size_t k = 0; k < length; k++, i++) {
        if (i >= item.length || name[k] != item.at[i]) return false;
        if (item.quoted && name[k] == '`') i++;
    }
    return i == item.length;
}

void text_item_copy(text_item item, char *to) {
    for (size_t i = 0; i < item.length; i++) {
        *to++ = item.at[i];
        if (item.quoted && item.at[i] == '`') i++;
    }
    *to = '\0';
}

/* ---- names of columns ------------------------------------------------------------------------ */

bool text_names_open(text_names *names, int n) {
    size_t places = 1;
    while (places < (size_t)n) places *= 2;
    *names = (text_names){.all = calloc((size_t)n + 1, sizeof *names->all),
                          .first = malloc(places * sizeof *names->first),
                          .places = places,
                          .n = n};
    for (size_t i = 0; names->first && i < places; i++) names->first[i] = -1;
    return names->all && names->first;
}

void text_names_close(text_names *names) {
    free(names->all);
    free(names->first);
    *names = (text_names){.all = NULL};
}

/* FNV-1a, of the name without the doubled backquotes of an item. */
static int *place_of(const text_names *names, text_item item) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < item.length; i++) {
        hash = (hash ^ (unsigned char)item.at[i]) * 0x100000001b3u;
        if (item.quoted && item.at[i] == '`') i++;
    }
    return &names->first[(hash ^ hash >> 32) & (names->places - 1)];
}

void text_names_set(text_names *names, int i, const char *at, size_t length) {
    int *const place = place_of(names, (text_item){.at = at, .length = length});
    names->all[i] = (text_name){at, length, *place};
    *place = i;
}

int text_names_find(const text_names *names, text_item item, int *column) {
    int n = 0;
    for (int i = *place_of(names, item); i >= 0; i = names->all[i].next) {
        const text_name *x = &names->all[i];
        if (!text_item_is(item, x->at, x->length)) continue;
        if (n++ == 0 || i < *column) *column = i;
    }
    return n;
}

void text_names_tell(const text_names *names, bool json, char *to, size_t room) {
    static const size_t longest = 40;
    size_t used =
        (size_t)snprintf(to, room, "%s%s", names->n > 0 ? "the columns are" : "it has no rows",
                         names->n > 0 && json ? " the keys of the first lines:" : "");
    for (int i = 0; i < names->n && used + longest + 2 < room; i++) {
        const text_name *x = &names->all[i];
        used += (size_t)snprintf(to + used, room - used, "%s %.*s", i ? "," : "",
                                 (int)(x->length < longest ? x->length : longest), x->at);
    }
}

/* ---- ranges and patterns --------------------------------------------------------------------- */

/* Takes a range apart: FIRST-LAST, or FIRST- for all from there on. */
static bool take_range(text_item item, int n, int *first, int *last) {
    const char *const dash = memchr(item.at, '-', item.length);
    if (!dash) return false;
    const size_t before = (size_t)(dash - item.at);
    const text_item from = {.at = item.at, .length = before},
                    to = {.at = dash + 1, .length = item.length - before - 1};
    *first = text_item_field(from);
    *last = to.length > 0 ? text_item_field(to) : n - 1;
    return !item.quoted && *first >= 0 && (to.length == 0 || *last >= *first);
}

bool text_item_is_number(text_item item) {
    int first, last;
    return text_item_field(item) >= 0 || take_range(item, 0, &first, &last);
}

static int select_range(int n, int first, int last, int columns[]) {
    if (last >= n) return 0;
    for (int i = first; i <= last; i++) columns[i - first] = i;
    return last < first ? 0 : last - first + 1;
}

static bool is_pattern(text_item item) {
    bool pattern = false;
    for (size_t i = 0; i < item.length; i++) pattern = pattern || strchr("*?[", item.at[i]);
    return pattern && !item.quoted;
}

static int select_matches(const text_names *names, const char *pattern, char *name, int columns[]) {
    int n = 0;
    for (int i = 0; i < names->n; i++) {
        memcpy(name, names->all[i].at, names->all[i].length);
        name[names->all[i].length] = '\0';
        if (fnmatch(pattern, name, 0) == 0) columns[n++] = i;
    }
    return n;
}

static int select_pattern(const text_names *names, text_item item, int columns[]) {
    size_t longest = 0;
    for (int i = 0; i < names->n; i++)
        if (names->all[i].length > longest) longest = names->all[i].length;
    char *const pattern = strndup(item.at, item.length), *const name = malloc(longest + 1);
    const int n =
        pattern && name ? select_matches(names, pattern, name, columns) : TEXT_ITEM_NO_MEMORY;
    free(pattern);
    free(name);
    return n;
}

int text_names_select(const text_names *names, text_item item, int columns[]) {
    int first, last;
    if (item.quoted || text_names_find(names, item, &first) > 0) return TEXT_ITEM_IS_ONE;
    if (take_range(item, names->n, &first, &last))
        return select_range(names->n, first, last, columns);
    return is_pattern(item) ? select_pattern(names, item, columns) : TEXT_ITEM_IS_ONE;
}

/* Writes an item, as it stands from `begin` to `end`, or what it selects. */
static bool put_item(FILE *f, const text_names *names, text_item item, const char *begin,
                     const char *end, int columns[], text_numbered *to) {
    const int n = text_names_select(names, item, columns);
    if (n == TEXT_ITEM_IS_ONE) fwrite(begin, 1, (size_t)(end - begin), f);
    for (int i = 0; i < n; i++) fprintf(f, "%d%s", columns[i] + 1, i + 1 < n ? "," : "");
    if (n > 0 && item.behind) putc(item.behind, f);
    if (n == 0) to->nothing = item;
    to->by_name =
        to->by_name || is_pattern(item) || (n == TEXT_ITEM_IS_ONE && text_item_field(item) < 0);
    return n != TEXT_ITEM_NO_MEMORY;
}

text_numbered text_names_number(const text_names *names, const char *list) {
    text_numbered to = {.list = NULL};
    size_t size;
    int *const columns = malloc(((size_t)names->n + 1) * sizeof *columns);
    FILE *const f = columns ? open_memstream(&to.list, &size) : NULL;
    bool good = f != NULL;
    while (good && *list) {
        const char *const begin = list;
        const text_item item = text_take_item(&list, ",");
        good = put_item(f, names, item, begin, list, columns, &to);
    }
    good = f && fclose(f) == 0 && good;
    free(columns);
    if (!good) free(to.list);
    if (!good) to.list = NULL;
    return to;
}
