#include "text/style.h"

#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

size_t text_currency_sign(const char *at, const char *end) {
    const unsigned char *u = (const unsigned char *)at;
    if (end - at >= 1 && *at == '$') return 1;
    if (end - at >= 2 && u[0] == 0xc2 && u[1] >= 0xa3 && u[1] <= 0xa5) return 2;
    if (end - at >= 3 && u[0] == 0xe2 &&
        ((u[1] == 0x82 && u[2] >= 0xa0) || (u[1] == 0x83 && u[2] <= 0x8f)))
        return 3;
    return 0;
}

size_t text_minus_sign(const char *at, const char *end) {
    if (end - at >= 1 && *at == '-') return 1;
    return end - at >= 3 && memcmp(at, "\xe2\x88\x92", 3) == 0 ? 3 : 0;
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

/* Tells a sign, as the functions above do. */
typedef size_t sign(const char *at, const char *end);

/* Takes off a sign before the number, if there is one. */
static bool take_before(token *t, sign *is) {
    const size_t n = is(t->at, t->end);
    t->at += n;
    skip_blanks(t);
    return n > 0;
}

/* Takes what is behind the number. */
static bool take_behind(token *t, sign *is) {
    for (size_t n = 1; n <= 3; n++) {
        if ((size_t)(t->end - t->at) < n || is(t->end - n, t->end) != n) continue;
        t->end -= n;
        skip_blanks(t);
        return true;
    }
    return false;
}

/* Takes off currency signs, parentheses and the sign, which may stand behind the number if it is a
 * minus. False: there is more than one of them. */
static bool take_currency(token *t, bool *negative) {
    skip_blanks(t);
    const bool brackets = t->end - t->at >= 2 && *t->at == '(' && t->end[-1] == ')';
    t->at += brackets;
    t->end -= brackets;
    int currencies = take_before(t, text_currency_sign);
    const bool plus = t->at < t->end && *t->at == '+';
    t->at += plus;
    const bool minus = !plus && take_before(t, text_minus_sign);
    if (plus || minus) currencies += take_before(t, text_currency_sign);
    currencies += take_behind(t, text_currency_sign);
    const bool behind = take_behind(t, text_minus_sign);
    if (behind) currencies += take_behind(t, text_currency_sign);
    *negative = brackets || minus || behind;
    return currencies <= 1 && brackets + plus + minus + behind <= 1;
}

static bool put(token *t, char c) {
    if (t->out == t->room) return false;
    *t->out++ = c;
    return true;
}

/* The digits before the point, in groups or not. False: the groups are wrong. The first has one to
 * three digits, and no zero before the others: 0,123 is more likely a decimal. */
static bool take_whole(token *t, const char *thousands) {
    const size_t mark = thousands ? strlen(thousands) : 0;
    const bool zero = t->at < t->end && *t->at == '0';
    int digits = 0; /* since the last separator */
    bool grouped = false;
    for (; t->at < t->end; t->at++) {
        if (is_digit(*t->at)) {
            digits++;
            if (!put(t, *t->at)) return false;
        } else if (mark > 0 && (size_t)(t->end - t->at) >= mark &&
                   memcmp(t->at, thousands, mark) == 0) {
            if (zero || digits == 0 || digits > 3 || (grouped && digits != 3)) return false;
            grouped = true;
            digits = 0;
            t->at += mark - 1;
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
    for (; t.at < t.end && is_digit(*t.at); t.at++)
        if (!put(&t, *t.at)) return false;
    if (s->exponent && t.at < t.end && (*t.at | 0x20) == s->exponent) {
        if (!put(&t, 'e')) return false;
        t.at++;
    }
    for (; t.at < t.end; t.at++)
        if (*t.at == point || !put(&t, *t.at)) return false;
    memset(t.out, '\n', TEXT_SLACK);
    return text_parse_token(plain, (size_t)(t.out - plain), n);
}
