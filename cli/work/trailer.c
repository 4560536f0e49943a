#include "work/trailer.h"

#include <string.h>

/* Bytes: the NaN policy, the output dtype, ddof and what weights say, the overflow policy, whether
 * the state is `whole`, how many columns there are, the scale of the keys, those of each aggregate,
 * the columns (255: the number of rows), the text of --empty. */
enum { SCALES_AT = 6, HEAD = SCALES_AT + 1 + OPTIONS_AGGREGATES, ROWS = 255 };

trailer trailer_of(const options *o) {
    trailer t = {.rules = o->rules};
    if (o->empty && strlen(o->empty) < sizeof t.empty) strcpy(t.empty, o->empty);
    return t;
}

static bool has_scales(const trailer *t) {
    bool has = t->key_scale > 0 || t->key_time > 0;
    for (int i = 0; i < OPTIONS_AGGREGATES; i++) has = has || t->scales[i] > 0 || t->times[i] > 0;
    return has;
}

static bool is_default(const trailer *t) {
    const bf_reduce_options *r = &t->rules;
    return r->nan == BF_NAN_PROPAGATE && r->out_dtype == BF_NONE && r->ddof == 0 &&
           r->overflow == BF_OVERFLOW_ERROR && r->weights == BF_WEIGHTS_FREQUENCY &&
           t->columns == 0 && t->empty[0] == '\0' && !has_scales(t) && !t->whole;
}

/* A byte has a scale and, above it, what times there are. */
enum { SCALE_BITS = 6 };

static unsigned char pack(unsigned char scale, unsigned char time) {
    return (unsigned char)(scale | time << SCALE_BITS);
}

static bool unpack(unsigned char byte, unsigned char *scale, unsigned char *time) {
    *scale = byte & ((1 << SCALE_BITS) - 1);
    *time = byte >> SCALE_BITS;
    return *scale <= BF_SCALE_MOST_I128;
}

size_t trailer_put(const trailer *t, unsigned char bytes[TRAILER_MOST]) {
    const bf_reduce_options *r = &t->rules;
    const size_t text = strlen(t->empty);
    if (is_default(t)) return 0;
    const unsigned char head[] = {(unsigned char)r->nan,
                                  (unsigned char)r->out_dtype,
                                  (unsigned char)(r->ddof | (int)r->weights << 1),
                                  (unsigned char)r->overflow,
                                  (unsigned char)t->whole,
                                  (unsigned char)t->columns,
                                  pack(t->key_scale, t->key_time)};
    memcpy(bytes, head, sizeof head);
    for (int i = 0; i < OPTIONS_AGGREGATES; i++)
        bytes[sizeof head + (size_t)i] = pack(t->scales[i], t->times[i]);
    for (int i = 0; i < t->columns; i++)
        bytes[HEAD + i] = t->which[i] < 0 ? ROWS : (unsigned char)t->which[i];
    memcpy(bytes + HEAD + t->columns, t->empty, text);
    return HEAD + (size_t)t->columns + text;
}

static bool get_rules(bf_reduce_options *r, const unsigned char *bytes) {
    r->nan = (bf_nan_policy)bytes[0];
    r->out_dtype = (bf_dtype)bytes[1];
    r->ddof = bytes[2] & 1;
    r->weights = (bf_weights)(bytes[2] >> 1);
    r->overflow = (bf_overflow_policy)bytes[3];
    return bytes[0] <= BF_NAN_ERROR && bytes[2] <= 3 && bytes[3] <= BF_OVERFLOW_SATURATE &&
           (r->out_dtype == BF_NONE || r->out_dtype == BF_F32 || r->out_dtype == BF_F64);
}

static bool get_scales(trailer *t, const unsigned char *bytes) {
    bool good = unpack(bytes[0], &t->key_scale, &t->key_time);
    for (int i = 0; i < OPTIONS_AGGREGATES; i++)
        good = unpack(bytes[1 + i], &t->scales[i], &t->times[i]) && good;
    return good;
}

static bool get_columns(trailer *t, const unsigned char *bytes) {
    bool good = true;
    for (int i = 0; i < t->columns; i++) {
        good = good && (bytes[i] < OPTIONS_AGGREGATES || bytes[i] == ROWS);
        t->which[i] = bytes[i] == ROWS ? -1 : (signed char)bytes[i];
    }
    return good;
}

bool trailer_get(trailer *t, const unsigned char *bytes, size_t n) {
    *t = (trailer){.rules.size = sizeof t->rules};
    if (n == 0) return true;
    if (n < HEAD || !get_rules(&t->rules, bytes) || bytes[4] > 1) return false;
    t->whole = bytes[4] == 1;
    const size_t columns = bytes[5], text = n - HEAD - columns;
    if (columns > OPTIONS_AGGREGATES || columns > n - HEAD || text >= TRAILER_EMPTY) return false;
    t->columns = (int)columns;
    memcpy(t->empty, bytes + HEAD + columns, text);
    return get_scales(t, bytes + SCALES_AT) && get_columns(t, bytes + HEAD) &&
           memchr(t->empty, '\0', sizeof t->empty) == t->empty + text;
}
