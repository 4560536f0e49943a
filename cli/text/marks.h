/* Marks: the places in a text that part its rows and fields. */
#ifndef BITFOLD_CLI_TEXT_MARKS_H
#define BITFOLD_CLI_TEXT_MARKS_H

#include "text/field.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEXT_MARKS_SLACK = 64 };

/* The marks of a text. Both arrays have room for its bytes and TEXT_MARKS_SLACK more. */
typedef struct text_marks {
    uint32_t *at;   /* the offsets of newlines and delimiters, ascending */
    uint32_t *ends; /* the marks of newlines alone: where rows end */
    size_t n, rows;
} text_marks;

/* Finds the marks of a text without quotes. TEXT_MARKS_SLACK bytes behind it may be read. The idea
 * of finding them by vectors before any field is looked at is that of simdjson (Langdale and
 * Lemire, 2019). */
void text_marks_find(const char *text, uint32_t n, char delimiter, text_marks *marks);

/* Finds the marks outside of quoted fields, in a text that begins with a row. A field is quoted if
 * its first byte behind blanks is a quote; two quotes in it stand for one. */
void text_marks_outside(const char *text, uint32_t n, char delimiter, text_marks *marks);

/* Returns the number of newlines in [at, end). */
int64_t text_count_lines(const char *at, const char *end);

/* What there is in a text, found in one pass. */
typedef struct text_survey {
    int64_t lines; /* newlines */
    bool nul, quotes;
} text_survey;
text_survey text_survey_of(const char *at, const char *end);

/* What stands before a text: text_rows_find goes on from there. */
typedef enum text_state {
    TEXT_ROW,    /* the start of a field, or blanks behind that */
    TEXT_FIELD,  /* something else in a field */
    TEXT_QUOTED, /* something in quotes */
    TEXT_CLOSED  /* a quote that ends a quoted field unless another follows */
} text_state;

/* What stands before the byte behind c. */
static inline int text_step(int state, char c, char delimiter) {
    if (state == TEXT_QUOTED) return c == '"' ? TEXT_CLOSED : TEXT_QUOTED;
    if (c == '"' && state != TEXT_FIELD) return TEXT_QUOTED;
    if (c == '\n' || c == delimiter) return TEXT_ROW;
    return state == TEXT_ROW && text_is_blank(c, delimiter) ? TEXT_ROW : TEXT_FIELD;
}

/* Where rows of a text begin. */
typedef struct text_bounds {
    const char *first; /* the first row that begins at `from` or behind it; NULL: none */
    const char *last;  /* the row before that; without one, the last */
    bool inside;       /* a quoted field does not end in the text */
} text_bounds;

/* Finds rows that begin behind `at`: a row begins behind a newline that is in no quoted field,
 * maybe at `end`. TEXT_MARKS_SLACK bytes behind the text may be read. */
text_bounds text_rows_find(const char *at, const char *end, char delimiter, text_state before,
                           const char *from);

/* The quote that opens the field that a text from a row on ends in. */
const char *text_open_quote(const char *at, const char *end, char delimiter);

/* ---- fields between marks -------------------------------------------------------------------- */

/* Fields of rows that have equally many. */
typedef struct text_fields {
    const char *text;
    uint32_t first;       /* where field 0 begins in it */
    const uint32_t *mark; /* the mark that ends field 0 */
    size_t step;          /* from there to the mark that ends the next: so many marks */
} text_fields;

/* Where field i begins, and where it ends. */
static inline const char *text_field_begin(const text_fields *f, int64_t i) {
    return f->text + (i > 0 ? f->mark[(size_t)i * f->step - 1] + 1 : f->first);
}
static inline const char *text_field_end(const text_fields *f, int64_t i) {
    return f->text + f->mark[(size_t)i * f->step];
}

/* Numbers of up to 16 bytes each: digits, and maybe a point among them, behind a sign or none. */
enum { TEXT_PLAIN = 32, TEXT_POINT = 16 };
typedef struct text_plain {
    uint64_t digits[TEXT_PLAIN];
    uint8_t point[TEXT_PLAIN]; /* TEXT_POINT and how many digits are behind it; 0: there is none */
    bool negative[TEXT_PLAIN];
    bool code[TEXT_PLAIN]; /* a zero is before another digit */
} text_plain;

/* Reads fields [from, from + n), of which there are TEXT_PLAIN at most. Returns how many are such
 * numbers, up to the first that is none. TEXT_MARKS_SLACK bytes behind the text may be read. */
int64_t text_digits_read(const text_fields *fields, int64_t from, int64_t n, text_plain *out);

#endif
