/* Strings of a column, and the tokens that stand for no value. */
#ifndef BITFOLD_CLI_TEXT_STRINGS_H
#define BITFOLD_CLI_TEXT_STRINGS_H

#include <bitfold.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TEXT_STRINGS_SLACK = 16 };

/* String i has the bytes from offsets[i] to offsets[i + 1]: as bf_strings. */
typedef struct text_strings {
    int64_t *offsets; /* one more than strings; NULL: the column holds none */
    char *bytes;
    int64_t room; /* bytes; TEXT_STRINGS_SLACK more may be read */
} text_strings;

/* Makes a field string number i, once those before it are there. quoted: it is the text between the
 * quotes, where two stand for one. False: there is no memory. */
bool text_strings_put(text_strings *s, int64_t i, const char *at, const char *end, bool quoted);

/* Puts n bytes that are as they should be, if they are few and there is room for them: 16 bytes at
 * `at` may be read. */
static inline bool text_strings_put_short(text_strings *s, int64_t i, const char *at, size_t n) {
    const int64_t begin = s->offsets[i];
    if (n > 16 || begin + 16 > s->room) return false;
    memcpy(s->bytes + begin, at, 16);
    s->offsets[i + 1] = begin + (int64_t)n;
    return true;
}

/* Appends n strings of `from`, from number `first` on, to those that s has. s->offsets has room for
 * them. False: there is no memory. */
bool text_strings_append(text_strings *s, int64_t have, const text_strings *from, int64_t first,
                         int64_t n);

/* What stands for no value: the empty field, and the items of a list. */
typedef struct text_nulls {
    const char *list; /* with commas between; NULL: none */
    bool numbers;     /* some of them look like numbers */
    bool begins[256]; /* by the first byte of some item */
} text_nulls;

text_nulls text_nulls_of(const char *list);
bool text_is_null(const text_nulls *nulls, const char *at, const char *end);

/* Bits, of which the first is the lowest of the first byte. */
static inline void text_clear_bit(uint8_t *bits, int64_t i) {
    bits[i / 8] = (uint8_t)(bits[i / 8] & ~(1u << i % 8));
}

static inline bool text_has_bit(const uint8_t *bits, int64_t i) { return bits[i / 8] >> i % 8 & 1; }

/* Whether some of n bits from `first` on is 0. */
bool text_has_null(const uint8_t *bits, int64_t first, int64_t n);

#endif
