#include "text/field.h"

#include <ctype.h>
#include <string.h>

bool text_may_part_fields(char c) {
    return c != '\0' && !isalnum((unsigned char)c) && !strchr("\n\r\".+-", c);
}

/* The end of the quoted text that begins at p; two quotes stand for one. NULL: there is none, or,
 * where blanks part fields, not on this line. */
static const char *closing_quote(const char *p, char delimiter) {
    const char newline = text_spans_lines(delimiter) ? '\0' : '\n';
    for (; *p != '\0' && *p != newline; p++) {
        if (*p != '"') continue;
        if (p[1] != '"') return p;
        p++;
    }
    return NULL;
}

static text_field take_quoted(const char *p, char delimiter) {
    const char *const quote = closing_quote(p + 1, delimiter);
    if (!quote) return (text_field){p, p, p, true};
    const bool ends = text_ends_field(quote + 1, delimiter);
    const char *const next = delimiter == ' ' ? quote + 1 : text_skip_blanks(quote + 1, delimiter);
    return (text_field){p + 1, quote, next, !ends && !text_ends_field(next, delimiter)};
}

static text_field take_plain(const char *p, char delimiter) {
    const char *next = p;
    if (delimiter == ' ')
        while (!text_is_blank(*next, ' ') && *next != '\n') next++;
    else
        while (*next != delimiter && *next != '\n') next++;
    const char *end = next;
    while (end > p && text_is_blank(end[-1], delimiter)) end--;
    return (text_field){p, end, next, false};
}

text_field text_take_field(const char *p, char delimiter) {
    return *p == '"' ? take_quoted(p, delimiter) : take_plain(p, delimiter);
}

const char *text_next_field(const char *p, char delimiter) {
    if (delimiter != ' ' && *p == delimiter) return text_skip_blanks(p + 1, delimiter);
    p = text_skip_blanks(p, delimiter);
    return *p == '\n' ? NULL : p;
}

int text_count_fields(const char *p, char delimiter) {
    int n = 0;
    for (; p; n++) {
        text_field field = text_take_field(p, delimiter);
        if (field.broken && field.next == p) return n + 1;
        if (field.broken) field = take_plain(field.next, delimiter);
        p = text_next_field(field.next, delimiter);
    }
    return n;
}
