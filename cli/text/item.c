#include "text/item.h"

#include <stdint.h>
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
                          .places = places};
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
