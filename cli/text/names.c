#include "text/names.h"

#include <stdint.h>
#include <stdlib.h>

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
