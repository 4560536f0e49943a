/* How numbers are written beyond the plain form: separators of thousands, another decimal point,
 * currency signs. */
#ifndef BITFOLD_CLI_TEXT_STYLE_H
#define BITFOLD_CLI_TEXT_STYLE_H

#include "text/number.h"

typedef struct text_style {
    char thousands; /* between groups of three digits; '\0': nothing is */
    char decimal;   /* in place of the point; '\0': it is a point */
    bool currency;  /* a sign of a currency may stand beside the number; (5) is -5 */
} text_style;

/* Whether plain numbers have this style, too; and whether they mean the same in it. */
static inline bool text_style_is_plain(const text_style *s) {
    return !s->thousands && !s->decimal && !s->currency;
}
static inline bool text_style_keeps_plain(const text_style *s) {
    return !s->decimal || s->decimal == '.';
}

/* Room for a number in its plain form; a longer one is none. */
enum { TEXT_STYLED = 256 };
typedef char text_styled[TEXT_STYLED + TEXT_SLACK];

/* text_parse_token of a token in this style. The number refers to `plain`, where its plain form is
 * written. */
bool text_parse_styled(const text_style *s, const char *at, const char *end, text_styled plain,
                       text_number *n);

#endif
