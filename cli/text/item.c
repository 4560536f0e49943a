#include "text/item.h"

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
