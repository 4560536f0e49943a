#include "text/style.h"

#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Bytes of a currency sign at p; 0: there is none. They are $, those of Latin-1 but for the cent,
 * and the block of Unicode from U+20A0 to U+20CF. */
static size_t currency_sign(const char *p, const char *end) {
    const unsigned char *u = (const unsigned char *)p;
    if (end - p >= 1 && *p == '$') return 1;
    if (end - p >= 2 && u[0] == 0xc2 && u[1] >= 0xa3 && u[1] <= 0xa5) return 2;
    if (end - p >= 3 && u[0] == 0xe2 &&
        ((u[1] == 0x82 && u[2] >= 0xa0) || (u[1] == 0x83 && u[2] <= 0x8f)))
        return 3;
    return 0;
}

/* A token that is being taken off its ends, and its plain form. */
typedef struct token {
    const char *at, *end;
    char *out, *room;
} token;

static void skip_blanks(token *t) {
    while (t->at < t->end && *t->at == ' ') t->at++;
    while (t->end > t->at && t->end[-1] == ' ') t->end--;
}

/* Takes off the currency sign before the number, if there is one. */
static bool take_sign_before(token *t) {
    const size_t n = currency_sign(t->at, t->end);
    t->at += n;
    skip_blanks(t);
    return n > 0;
}

/* The same behind the number. */
static bool take_sign_behind(token *t) {
    for (size_t n = 1; n <= 3; n++) {
        if ((size_t)(t->end - t->at) < n || currency_sign(t->end - n, t->end) != n) continue;
        t->end -= n;
        skip_blanks(t);
        return true;
    }
    return false;
}

/* Takes off currency signs and parentheses. False: there is more than one of them. */
static bool take_currency(token *t, bool *negative) {
    skip_blanks(t);
    *negative = t->end - t->at >= 2 && *t->at == '(' && t->end[-1] == ')';
    t->at += *negative;
    t->end -= *negative;
    const bool before = take_sign_before(t);
    const bool signs = t->at < t->end && (*t->at == '-' || *t->at == '+');
    if (signs && *negative) return false;
    if (signs) {
        *negative = *t->at == '-';
        t->at++;
    }
    return !((before + (signs && take_sign_before(t)) + take_sign_behind(t)) > 1);
}

static bool put(token *t, char c) {
    if (t->out == t->room) return false;
    *t->out++ = c;
    return true;
}

/* The digits before the point, in groups or not. False: the groups are wrong. The first has one to
 * three digits, and no zero before the others: 0,123 is more likely a decimal. */
static bool take_whole(token *t, char thousands) {
    const bool zero = t->at < t->end && *t->at == '0';
    int digits = 0; /* since the last separator */
    bool grouped = false;
    for (; t->at < t->end; t->at++) {
        if (is_digit(*t->at)) {
            digits++;
            if (!put(t, *t->at)) return false;
        } else if (thousands && *t->at == thousands) {
            if (zero || digits == 0 || digits > 3 || (grouped && digits != 3)) return false;
            grouped = true;
            digits = 0;
        } else {
            break;
        }
    }
    return !grouped || digits == 3;
}

bool text_parse_styled(const text_style *s, const char *at, const char *end, text_styled plain,
                       text_number *n) {
    token t = {at, end, plain, plain + TEXT_STYLED};
    const char point = s->decimal ? s->decimal : '.';
    bool negative = at < end && *at == '-';
    if (s->currency) {
        if (!take_currency(&t, &negative)) return false;
    } else if (at < end && (*at == '-' || *at == '+')) {
        t.at++;
    }
    if (t.at < t.end && (*t.at == '-' || *t.at == '+')) return false;
    if (negative) put(&t, '-');
    if (!take_whole(&t, s->thousands)) return false;
    if (t.at < t.end && (*t.at == point || *t.at == '.')) {
        if (*t.at++ != point || !put(&t, '.')) return false;
    }
    for (; t.at < t.end; t.at++)
        if (*t.at == point || !put(&t, *t.at)) return false;
    memset(t.out, '\n', TEXT_SLACK);
    return text_parse_token(plain, (size_t)(t.out - plain), n);
}
