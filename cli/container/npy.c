/* The header of a .npy file is a Python dict in text:
 *
 *     {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
 *
 * behind "\x93NUMPY", two version bytes and a little-endian length of two (version 1) or four
 * bytes. A recursive-descent parser over a cursor takes it apart; it never looks past the end. */
#include "container/npy.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char magic[] = "\x93NUMPY";
enum { MAGIC_SIZE = 6 };

typedef struct cursor {
    const char *at, *end;
    npy_error *error;
} cursor;

/* ---- errors ---------------------------------------------------------------------------------- */

static bool refuse_header(npy_error *error, const char *what, const char *detail, size_t length) {
    int shown = length > 40 ? 40 : (int)length;
    if (shown > 0)
        snprintf(error->what, sizeof error->what, "%s: %.*s", what, shown, detail);
    else
        snprintf(error->what, sizeof error->what, "%s", what);
    for (char *c = error->what; *c; c++)
        if (!isprint((unsigned char)*c)) *c = '?';
    return false;
}

static bool bad_header(cursor *c, const char *expected) {
    char what[64];
    snprintf(what, sizeof what, "bad header: no %s at", expected);
    if (c->at == c->end) return refuse_header(c->error, what, "its end", 7);
    return refuse_header(c->error, what, c->at, (size_t)(c->end - c->at));
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static void skip_space(cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || (*c->at >= '\t' && *c->at <= '\r'))) c->at++;
}

/* Takes the character if it comes next. */
static bool take_literal(cursor *c, char wanted) {
    skip_space(c);
    if (c->at == c->end || *c->at != wanted) return false;
    c->at++;
    return true;
}

static bool take_word(cursor *c, const char *word) {
    skip_space(c);
    size_t length = strlen(word);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0) return false;
    c->at += length;
    return true;
}

/* A piece of the header's text. */
typedef struct span {
    const char *at;
    size_t length;
} span;

static bool span_is(span s, const char *text) {
    return s.length == strlen(text) && memcmp(s.at, text, s.length) == 0;
}

/* A Python string without escapes, in either quote, with the prefix u or none. */
static bool take_string(cursor *c, span *out) {
    skip_space(c);
    const char *at = c->at;
    if (at < c->end && (*at == 'u' || *at == 'U')) at++;
    if (at == c->end || (*at != '\'' && *at != '"')) return bad_header(c, "string");
    const char quote = *at++;
    out->at = at;
    while (at < c->end && *at != quote && *at != '\\' && *at != '\n') at++;
    if (at == c->end || *at != quote) return bad_header(c, "plain string");
    out->length = (size_t)(at - out->at);
    c->at = at + 1;
    return true;
}

/* A number of elements. The suffix L is Python 2's. */
static bool take_extent(cursor *c, int64_t *out) {
    skip_space(c);
    const char *start = c->at;
    int64_t value = 0;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
        if (__builtin_mul_overflow(value, (int64_t)10, &value) ||
            __builtin_add_overflow(value, (int64_t)(*c->at - '0'), &value))
            return refuse_header(c->error, "the size overflows", start, (size_t)(c->end - start));
        c->at++;
    }
    const bool leading_zero = c->at - start > 1 && *start == '0' && value != 0;
    if (c->at == start || leading_zero) {
        c->at = start;
        return bad_header(c, "extent");
    }
    if (c->at < c->end && (*c->at == 'L' || *c->at == 'l')) c->at++;
    *out = value;
    return true;
}

/* ---- descr ----------------------------------------------------------------------------------- */

typedef struct code {
    const char *code; /* as NumPy writes it, behind the byte order */
    const char *name; /* as np.dtype also takes it */
    bf_dtype dtype;
} code;

static const code codes[] = {
    {"b1", "bool", BF_BOOL},     {"i1", "int8", BF_I8},     {"i2", "int16", BF_I16},
    {"i4", "int32", BF_I32},     {"i8", "int64", BF_I64},   {"u1", "uint8", BF_U8},
    {"u2", "uint16", BF_U16},    {"u4", "uint32", BF_U32},  {"u8", "uint64", BF_U64},
    {"f2", "float16", BF_F16},   {"f4", "float32", BF_F32}, {"f8", "float64", BF_F64},
    {"V2", "bfloat16", BF_BF16},
};

/* Times, whose unit stands behind "M8". */
typedef struct unit {
    const char *name;
    int scale, seconds;
} unit;

static const unit units[] = {{"[D]", 0, 86400}, {"[h]", 0, 3600}, {"[m]", 0, 60}, {"[s]", 0, 1},
                             {"[ms]", 3, 1},    {"[us]", 6, 1},   {"[ns]", 9, 1}};

/* Takes a dtype of times. False: it is none. */
static bool take_time(span type, npy_header *h) {
    if (type.length < 2 || memcmp(type.at, "M8", 2) != 0) return false;
    const span name = {type.at + 2, type.length - 2};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!span_is(name, units[i].name)) continue;
        h->dtype = BF_I64;
        h->time = i == 0 ? BF_TIME_DATE : BF_TIME_LOCAL;
        h->scale = units[i].scale;
        h->seconds = units[i].seconds;
        return true;
    }
    return false;
}

static const char *why_not(span type) {
    switch (type.length ? *type.at : 0) {
    case 'O': return "object arrays are pickles, which are not read";
    case 'S':
    case 'a':
    case 'U': return "string arrays are not numbers";
    case 'M': return "times are read in D, h, m, s, ms, us and ns";
    case 'm': return "differences of times are not supported";
    case 'c': return "complex numbers are not supported";
    case 'V': return "structured and void dtypes are not supported";
    case 'f': return "long double and other float widths are not supported";
    default: return "unknown dtype";
    }
}

static bool parse_descr(cursor *c, npy_header *h) {
    skip_space(c);
    const char *start = c->at;
    if (c->at < c->end && (*c->at == '[' || *c->at == '(' || *c->at == '{'))
        return refuse_header(c->error, "structured dtypes are not supported", start,
                             (size_t)(c->end - start));
    span descr;
    if (!take_string(c, &descr)) return false;
    span type = descr;
    char order = '=';
    if (type.length > 0 && strchr("<>=|", *type.at)) {
        order = *type.at++;
        type.length--;
    }
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        const bool named = type.length == descr.length && span_is(type, codes[i].name);
        if (!named && !span_is(type, codes[i].code)) continue;
        const char other = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '>' : '<';
        h->dtype = codes[i].dtype;
        h->unnamed = h->dtype == BF_BF16 && !named;
        h->swap = order == other && type.at[1] != '1';
        return true;
    }
    if (take_time(type, h)) {
        h->swap = order == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '>' : '<');
        return true;
    }
    return refuse_header(c->error, why_not(type), descr.at, descr.length);
}

/* ---- the other two keys ---------------------------------------------------------------------- */

static bool parse_order(cursor *c, npy_header *h) {
    h->fortran = take_word(c, "True");
    return h->fortran || take_word(c, "False") || bad_header(c, "True or False");
}

/* A tuple: (), (3,), (3, 4) or (3, 4,), but not (3), which Python reads as a number. */
static bool parse_shape(cursor *c, npy_header *h) {
    if (!take_literal(c, '(')) return bad_header(c, "shape");
    h->ndim = 0;
    bool comma = true;
    while (!take_literal(c, ')')) {
        if (!comma) return bad_header(c, "comma");
        if (h->ndim == NPY_MAX_DIMS)
            return refuse_header(c->error, "too many dimensions", "more than 64", 12);
        if (!take_extent(c, &h->shape[h->ndim])) return false;
        h->ndim++;
        comma = take_literal(c, ',');
    }
    return h->ndim != 1 || comma || bad_header(c, "comma in the shape");
}

enum { SEEN_DESCR = 1, SEEN_ORDER = 2, SEEN_SHAPE = 4, SEEN_ALL = 7 };

static bool parse_item(cursor *c, npy_header *h, int *seen) {
    span key;
    if (!take_string(c, &key)) return false;
    if (!take_literal(c, ':')) return bad_header(c, "colon");
    if (span_is(key, "descr")) {
        *seen |= SEEN_DESCR;
        return parse_descr(c, h);
    }
    if (span_is(key, "fortran_order")) {
        *seen |= SEEN_ORDER;
        return parse_order(c, h);
    }
    if (span_is(key, "shape")) {
        *seen |= SEEN_SHAPE;
        return parse_shape(c, h);
    }
    return refuse_header(c->error, "bad header: unknown key", key.at, key.length);
}

static bool parse_dict(cursor *c, npy_header *h) {
    if (!take_literal(c, '{')) return bad_header(c, "{");
    int seen = 0;
    bool comma = true;
    while (!take_literal(c, '}')) {
        if (!comma) return bad_header(c, "comma");
        if (!parse_item(c, h, &seen)) return false;
        comma = take_literal(c, ',');
    }
    skip_space(c);
    if (c->at != c->end) return bad_header(c, "end");
    return seen == SEEN_ALL ||
           refuse_header(c->error, "bad header: descr, fortran_order or shape is missing", NULL, 0);
}

/* ---- the whole ------------------------------------------------------------------------------- */

bool npy_measure(npy_header *h, npy_error *error) {
    int wide = 0;
    bool empty = false;
    for (int d = 0; d < h->ndim; d++) {
        wide += h->shape[d] > 1;
        empty = empty || h->shape[d] == 0;
    }
    h->fortran = h->fortran && wide > 1 && !empty;
    h->count = empty ? 0 : 1;
    for (int d = 0; d < h->ndim && !empty; d++)
        if (__builtin_mul_overflow(h->count, h->shape[d], &h->count))
            return refuse_header(error, "the size overflows: more than 2^63 elements", NULL, 0);
    /* One element is at most 8 bytes; the header's own bytes come on top. */
    if (h->count > (INT64_MAX - 2 * NPY_MAX_HEADER) / 8)
        return refuse_header(error, "the size overflows: more than 2^60 elements", NULL, 0);
    return true;
}

bool npy_has_magic(const void *bytes, size_t length) {
    return length >= MAGIC_SIZE && memcmp(bytes, magic, MAGIC_SIZE) == 0;
}

size_t npy_header_size(const void *bytes, size_t length, npy_error *error) {
    const unsigned char *b = bytes;
    error->hint = NULL;
    if (!npy_has_magic(bytes, length)) {
        refuse_header(error, "not a .npy file: it does not begin with \\x93NUMPY", NULL, 0);
        return 0;
    }
    if (length >= 8 && (b[6] < 1 || b[6] > 3 || b[7] != 0)) {
        snprintf(error->what, sizeof error->what, "unknown version of .npy: %d.%d", b[6], b[7]);
        return 0;
    }
    const size_t fixed = length >= 8 && b[6] == 1 ? 10 : 12;
    if (length < fixed) {
        refuse_header(error, "bad header: the file ends within it", NULL, 0);
        return 0;
    }
    size_t text = (size_t)b[8] | (size_t)b[9] << 8;
    if (fixed == 12) text |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (text > NPY_MAX_HEADER) {
        snprintf(error->what, sizeof error->what, "bad header: its length is absurd: %zu bytes",
                 text);
        return 0;
    }
    return fixed + text;
}

bool npy_parse(const void *bytes, size_t length, npy_header *header, npy_error *error) {
    const size_t size = npy_header_size(bytes, length, error);
    if (size == 0) return false;
    if (length < size) return refuse_header(error, "bad header: the file ends within it", NULL, 0);
    const char *text = bytes;
    const size_t fixed = text[6] == 1 ? 10 : 12;
    cursor c = {text + fixed, text + size, error};
    npy_header h = {.size = size};
    if (!parse_dict(&c, &h) || !npy_measure(&h, error)) return false;
    *header = h;
    return true;
}
