#include "decode/escape.h"

#include "text/field.h"

#include <string.h>

static const char nothing[] = "nothing stands behind the last escape";

bool escape_takes(const escape_rules *rules, const char *at, const char *p) {
    if (*p == '\n' && p > at && p[-1] == '\r') p--;
    const char *first = p;
    while (first > at && first[-1] == rules->escape) first--;
    return (p - first) % 2 != 0;
}

/* Copies [*p, end). */
static char *copy_bytes(const char **p, const char *end, char *out) {
    const size_t n = (size_t)(end - *p);
    memcpy(out, *p, n);
    *p = end;
    return out + n;
}

/* What an escape makes of the byte behind it. A backslash makes control characters of some letters,
 * as MySQL and PostgreSQL write them. */
static char meaning_of(const escape_rules *rules, char c) {
    static const char letters[] = "bnrt0Z", controls[] = "\b\n\r\t\0\x1a";
    const char *found = rules->escape == '\\' && c ? strchr(letters, c) : NULL;
    return found ? controls[found - letters] : c;
}

/* Writes the byte that an escape at p means, within quotes. */
static char *put_escaped(const escape_rules *rules, const char *p, char *out) {
    const char c = meaning_of(rules, p[1]);
    if (c == rules->newline && p[1] != c) rules->made(rules->arg, out);
    *out++ = c;
    if (c == '"') *out++ = '"';
    return out;
}

/* The quoted field, from behind the quote that opens it, or from a newline in it. *p is where it
 * ends. */
static char *take_quoted(const escape_rules *rules, const char **p, const char *end, char *out,
                         bool *inside) {
    const char *at = *p;
    for (*inside = true; at < end && *inside; at++) {
        if (*at == rules->escape && at + 1 < end) {
            out = put_escaped(rules, at++, out);
            continue;
        }
        *out++ = *at;
        if (*at != '"') continue;
        *inside = at + 1 < end && at[1] == '"';
        if (*inside) *out++ = *++at;
    }
    *p = at;
    return out;
}

static bool ends_field(const escape_rules *rules, char c) {
    return c == rules->delimiter || (rules->delimiter == ' ' && text_is_blank(c, ' '));
}

/* Whether a field is the escape and an N, which stand for no value. */
static bool is_null(const escape_rules *rules, const char *p, const char *end) {
    p = p < end ? text_skip_blanks(p, rules->delimiter) : p;
    while (end > p && text_is_blank(end[-1], rules->delimiter)) end--;
    return end - p == 2 && p[0] == rules->escape && p[1] == 'N';
}

/* Copies bytes up to the end of a field. */
static char *copy_field(const escape_rules *rules, const char **p, const char *end, char *out) {
    while (*p < end && !ends_field(rules, **p)) *out++ = *(*p)++;
    return out;
}

/* Writes [at, end) in quotes, without its escapes. */
static char *put_quoted(const escape_rules *rules, const char *at, const char *end, char *out) {
    *out++ = '"';
    for (const char *p = at; p < end; p++) {
        if (*p == rules->escape) {
            out = put_escaped(rules, p++, out);
            continue;
        }
        *out++ = *p;
        if (*p == '"') *out++ = '"';
    }
    *out++ = '"';
    return out;
}

/* A field without quotes: as it is, or in quotes if there are escapes in it. */
static char *take_plain(const escape_rules *rules, const char **p, const char *end, char *out,
                        const char **fault) {
    const char *const at = *p, *to = at;
    bool escapes = false;
    for (; to < end && !ends_field(rules, *to); to++) {
        if (*to != rules->escape) continue;
        if (to + 1 == end) *fault = nothing;
        escapes = true;
        to += to + 1 < end;
    }
    if (!escapes || *fault || is_null(rules, at, to)) return copy_bytes(p, to, out);
    *p = to;
    return put_quoted(rules, at, to, out);
}

/* The field at *p. */
static char *take_field(const escape_rules *rules, const char **p, const char *last,
                        const char *end, char *out, bool *inside, const char **fault) {
    const char *first = *p;
    while (first < last && text_is_blank(*first, rules->delimiter)) first++;
    if (first == last || *first != '"') return take_plain(rules, p, last, out, fault);
    out = copy_bytes(p, first + 1, out);
    out = take_quoted(rules, p, rules->spans ? end : last, out, inside);
    return copy_field(rules, p, last, out);
}

/* Where the fields of a line end: before its newline, which may have a CR before it. */
static const char *fields_end(const escape_rules *rules, const char *at, const char *end) {
    if (end == at || end[-1] != rules->newline || escape_takes(rules, at, end - 1)) return end;
    end--;
    return rules->newline == '\n' && end > at && end[-1] == '\r' ? end - 1 : end;
}

char *escape_rewrite(const escape_rules *rules, const char *at, const char *end, char *out,
                     bool *inside, const char **fault) {
    const char *const last = fields_end(rules, at, end);
    const char *p = at;
    if (*inside) {
        out = take_quoted(rules, &p, end, out, inside);
        out = copy_field(rules, &p, last, out);
    }
    while (p < last && !*fault) {
        while (p < last && ends_field(rules, *p)) *out++ = *p++;
        if (p < last) out = take_field(rules, &p, last, end, out, inside, fault);
    }
    return *fault ? NULL : copy_bytes(&p, end, out);
}
