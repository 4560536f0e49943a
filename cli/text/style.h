/* How numbers are written beyond the plain form: separators of thousands, another decimal point,
 * another letter before an exponent, currency signs. */
#ifndef BITFOLD_CLI_TEXT_STYLE_H
#define BITFOLD_CLI_TEXT_STYLE_H

#include "text/number.h"

typedef struct text_style {
    const char *thousands; /* a character of UTF-8 between groups of three digits; NULL: none is */
    char decimal;          /* in place of the point; '\0': it is a point */
    char exponent;         /* a small letter that may stand in place of the 'e'; '\0': none */
    bool currency;         /* a sign of a currency may stand beside the number; (5) and 5- are -5 */
} text_style;

/* Whether plain numbers have this style, too; and whether they mean the same in it. */
static inline bool text_style_is_plain(const text_style *s) {
    return !s->thousands && !s->decimal && !s->exponent && !s->currency;
}
static inline bool text_style_keeps_plain(const text_style *s) {
    return !s->decimal || s->decimal == '.';
}

/* Whether a byte is what parts thousands. */
static inline bool text_style_parts(const text_style *s, char c) {
    return s->thousands && s->thousands[0] == c && s->thousands[1] == '\0';
}

/* Bytes of the sign of a currency that a text begins with; 0: it begins with none. They are $,
 * those of Latin-1 but for the cent, and the block of Unicode from U+20A0 to U+20CF. */
size_t text_currency_sign(const char *at, const char *end);

/* Returns the length of a minus sign, '-' or U+2212. */
size_t text_minus_sign(const char *at, const char *end);

/* Room for a number in its plain form; a longer one is none. */
enum { TEXT_STYLED = 256 };
typedef char text_styled[TEXT_STYLED + TEXT_SLACK];

/* text_parse_token of a token in this style. The number refers to `plain`, where its plain form is
 * written. */
bool text_parse_styled(const text_style *s, const char *at, const char *end, text_styled plain,
                       text_number *n);

#endif
