/* Fields: how a row is taken apart. */
#ifndef BITFOLD_CLI_TEXT_FIELD_H
#define BITFOLD_CLI_TEXT_FIELD_H

#include <stdbool.h>
#include <stddef.h>

/* A row that has more fields is no row: 32 MiB are needed to take this one apart. */
enum { TEXT_FIELDS_MOST = 1 << 20 };

/* One field, without the blanks and quotes around it. */
typedef struct text_field {
    const char *at, *end;
    const char *next; /* the delimiter or newline behind it; of blanks, the first */
    bool broken;      /* a quote that is not closed, or something behind one that is */
} text_field;

static inline bool text_is_blank(char c, char delimiter) {
    return c == ' ' || c == '\r' || (c == '\t' && delimiter != '\t');
}

static inline const char *text_skip_blanks(const char *p, char delimiter) {
    while (text_is_blank(*p, delimiter)) p++;
    return p;
}

/* Whether fields may be parted by it: it is no part of a number, nor a quote or newline. */
bool text_may_part_fields(char c);

/* Whether a quoted field may hold newlines. */
static inline bool text_spans_lines(char delimiter) { return delimiter != ' '; }

/* Whether a field ends at p, blanks behind it passed. */
static inline bool text_ends_field(const char *p, char delimiter) {
    return *p == '\n' || *p == delimiter || (delimiter == ' ' && text_is_blank(*p, ' '));
}

/* The field that begins at p, which is behind blanks and not at the end of a row of blanks. */
text_field text_take_field(const char *p, char delimiter);

/* From the end of one field to the start of the next: NULL if the row has no more. */
const char *text_next_field(const char *p, char delimiter);

/* The number of fields in the row that p is in the first field of. */
int text_count_fields(const char *p, char delimiter);

#endif
