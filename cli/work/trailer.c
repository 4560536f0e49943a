#include "work/trailer.h"

#include <string.h>

/* Bytes: the version, the NaN policy, the output dtype, ddof, the overflow policy, how many columns
 * there are, the columns (255: the number of rows), the text of --empty. */
enum { VERSION = 1, COLUMNS_AT = 5, HEAD = 6, ROWS = 255 };

trailer trailer_of(const options *o) {
    trailer t = {.rules = o->rules};
    if (o->empty && strlen(o->empty) < sizeof t.empty) strcpy(t.empty, o->empty);
    return t;
}

static bool is_default(const trailer *t) {
    const bf_reduce_options *r = &t->rules;
    return r->nan == BF_NAN_PROPAGATE && r->out_dtype == BF_NONE && r->ddof == 0 &&
           r->overflow == BF_OVERFLOW_ERROR && t->columns == 0 && t->empty[0] == '\0';
}

size_t trailer_put(const trailer *t, unsigned char bytes[TRAILER_MOST]) {
    const bf_reduce_options *r = &t->rules;
    const size_t text = strlen(t->empty);
    if (is_default(t)) return 0;
    const unsigned char head[HEAD] = {VERSION,
                                      (unsigned char)r->nan,
                                      (unsigned char)r->out_dtype,
                                      (unsigned char)r->ddof,
                                      (unsigned char)r->overflow,
                                      (unsigned char)t->columns};
    memcpy(bytes, head, HEAD);
    for (int i = 0; i < t->columns; i++)
        bytes[HEAD + i] = t->which[i] < 0 ? ROWS : (unsigned char)t->which[i];
    memcpy(bytes + HEAD + t->columns, t->empty, text);
    return HEAD + (size_t)t->columns + text;
}

static bool get_rules(bf_reduce_options *r, const unsigned char *bytes) {
    r->nan = (bf_nan_policy)bytes[1];
    r->out_dtype = (bf_dtype)bytes[2];
    r->ddof = bytes[3];
    r->overflow = (bf_overflow_policy)bytes[4];
    return bytes[1] <= BF_NAN_ERROR && bytes[3] <= 1 && bytes[4] <= BF_OVERFLOW_SATURATE &&
           (r->out_dtype == BF_NONE || r->out_dtype == BF_F32 || r->out_dtype == BF_F64);
}

bool trailer_get(trailer *t, const unsigned char *bytes, size_t n) {
    *t = (trailer){.rules.size = sizeof t->rules};
    if (n == 0) return true;
    if (n < HEAD || bytes[0] != VERSION || !get_rules(&t->rules, bytes)) return false;
    const size_t columns = bytes[COLUMNS_AT], text = n - HEAD - columns;
    if (columns > OPTIONS_AGGREGATES || columns > n - HEAD || text >= TRAILER_EMPTY) return false;
    for (size_t i = 0; i < columns; i++) {
        const int which = bytes[HEAD + i];
        if (which >= OPTIONS_AGGREGATES && which != ROWS) return false;
        t->which[i] = which == ROWS ? -1 : (signed char)which;
    }
    t->columns = (int)columns;
    memcpy(t->empty, bytes + HEAD + columns, text);
    return memchr(t->empty, '\0', sizeof t->empty) == t->empty + text;
}
