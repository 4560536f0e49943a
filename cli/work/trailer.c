#include "work/trailer.h"

#include <string.h>

/* Bytes: the version, the NaN policy, the output dtype, ddof, the overflow policy, how many columns
 * there are, the columns (255: the number of rows), the text of --empty. Of decimals, in version 2,
 * there are scales behind the columns: of the keys, and of each aggregate. Version 3 says that the
 * state is `whole`. */
enum { VERSION = 1, SCALED = 2, WHOLE = 3, COLUMNS_AT = 5, HEAD = 6, ROWS = 255 };
enum { SCALES = 1 + OPTIONS_AGGREGATES };

trailer trailer_of(const options *o) {
    trailer t = {.rules = o->rules};
    if (o->empty && strlen(o->empty) < sizeof t.empty) strcpy(t.empty, o->empty);
    return t;
}

static bool has_scales(const trailer *t) {
    bool has = t->key_scale > 0;
    for (int i = 0; i < OPTIONS_AGGREGATES; i++) has = has || t->scales[i] > 0;
    return has;
}

static bool is_default(const trailer *t) {
    const bf_reduce_options *r = &t->rules;
    return r->nan == BF_NAN_PROPAGATE && r->out_dtype == BF_NONE && r->ddof == 0 &&
           r->overflow == BF_OVERFLOW_ERROR && t->columns == 0 && t->empty[0] == '\0' &&
           !has_scales(t) && !t->whole;
}

size_t trailer_put(const trailer *t, unsigned char bytes[TRAILER_MOST]) {
    const bf_reduce_options *r = &t->rules;
    const size_t text = strlen(t->empty);
    if (is_default(t)) return 0;
    const size_t scales = has_scales(t) ? SCALES : 0;
    const int version = scales > 0 ? SCALED : t->whole ? WHOLE : VERSION;
    const unsigned char head[HEAD] = {(unsigned char)version,      (unsigned char)r->nan,
                                      (unsigned char)r->out_dtype, (unsigned char)r->ddof,
                                      (unsigned char)r->overflow,  (unsigned char)t->columns};
    memcpy(bytes, head, HEAD);
    for (int i = 0; i < t->columns; i++)
        bytes[HEAD + i] = t->which[i] < 0 ? ROWS : (unsigned char)t->which[i];
    unsigned char *const behind = bytes + HEAD + t->columns;
    if (scales > 0) behind[0] = t->key_scale;
    if (scales > 0) memcpy(behind + 1, t->scales, sizeof t->scales);
    memcpy(behind + scales, t->empty, text);
    return HEAD + (size_t)t->columns + scales + text;
}

static bool get_rules(bf_reduce_options *r, const unsigned char *bytes) {
    r->nan = (bf_nan_policy)bytes[1];
    r->out_dtype = (bf_dtype)bytes[2];
    r->ddof = bytes[3];
    r->overflow = (bf_overflow_policy)bytes[4];
    return bytes[1] <= BF_NAN_ERROR && bytes[3] <= 1 && bytes[4] <= BF_OVERFLOW_SATURATE &&
           (r->out_dtype == BF_NONE || r->out_dtype == BF_F32 || r->out_dtype == BF_F64);
}

static bool get_scales(trailer *t, const unsigned char *bytes) {
    bool good = bytes[0] <= BF_SCALE_MOST_I128;
    t->key_scale = bytes[0];
    memcpy(t->scales, bytes + 1, sizeof t->scales);
    for (int i = 0; i < OPTIONS_AGGREGATES; i++) good = good && t->scales[i] <= BF_SCALE_MOST_I128;
    return good;
}

bool trailer_get(trailer *t, const unsigned char *bytes, size_t n) {
    *t = (trailer){.rules.size = sizeof t->rules};
    if (n == 0) return true;
    if (n < HEAD || bytes[0] < VERSION || bytes[0] > WHOLE || !get_rules(&t->rules, bytes))
        return false;
    t->whole = bytes[0] == WHOLE;
    const size_t scales = bytes[0] == SCALED ? SCALES : 0, columns = bytes[COLUMNS_AT];
    const size_t text = n - HEAD - columns - scales;
    if (columns > OPTIONS_AGGREGATES || columns + scales > n - HEAD || text >= TRAILER_EMPTY)
        return false;
    if (scales > 0 && !get_scales(t, bytes + HEAD + columns)) return false;
    for (size_t i = 0; i < columns; i++) {
        const int which = bytes[HEAD + i];
        if (which >= OPTIONS_AGGREGATES && which != ROWS) return false;
        t->which[i] = which == ROWS ? -1 : (signed char)which;
    }
    t->columns = (int)columns;
    memcpy(t->empty, bytes + HEAD + columns + scales, text);
    return memchr(t->empty, '\0', sizeof t->empty) == t->empty + text;
}
