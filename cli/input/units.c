#include "text/text.h"

enum { INTEGERS = CAN_I64 | CAN_U64 | CAN_I128 };

/* *x *= 10^tens, but at most 10^38 in magnitude. */
static void scale_up(text_i128 *x, int tens) {
    const text_i128 most = text_power_of_ten(TEXT_TENS_WIDE);
    if (!text_scale_up(x, tens)) *x = *x < 0 ? -most : most;
}

/* The candidates that can hold the rows before, if the scale becomes this. */
static unsigned left_at(const text_unit *u, int scale) {
    const text_i128 most = text_power_of_ten(TEXT_TENS_WIDE);
    text_i128 least = u->least, greatest = u->greatest;
    unsigned left = CAN_ALL | TEXT_CAN_STRINGS;
    if (scale > BF_SCALE_MOST) left &= ~(unsigned)CAN_I64; /* no order has such units in 64 bits */
    if (scale == u->scale) return left;
    scale_up(&least, scale - u->scale);
    scale_up(&greatest, scale - u->scale);
    if (least < INT64_MIN || greatest > INT64_MAX) left &= ~(unsigned)CAN_I64;
    if (least <= -most || greatest >= most) left &= ~(unsigned)CAN_I128;
    return left;
}

/* The unit that the column needs, as far as the rows tell: if they need a greater scale, they have
 * not been judged by it. Returns the candidates that are left. */
static unsigned find_unit(const text_unit *u, unsigned can, const text_column *c, int *scale,
                          bool *wide) {
    can &= c->can;
    *scale = u->scale;
    if (can & INTEGERS && c->deepest > *scale) *scale = c->deepest;
    can &= left_at(u, *scale);
    *wide = u->wide || text_unit_is_wide(can);
    return can;
}

bool text_unit_changes(const text_unit *u, unsigned can, const text_column *c) {
    int scale;
    bool wide;
    find_unit(u, can, c, &scale, &wide);
    return scale > u->scale || wide != u->wide || c->seen > text_unit_time(u);
}

bool text_unit_take(text_unit *u, unsigned *can, const text_column *c) {
    int scale;
    bool wide;
    *can = find_unit(u, *can, c, &scale, &wide);
    scale_up(&u->least, scale - u->scale);
    scale_up(&u->greatest, scale - u->scale);
    u->scale = (unsigned char)scale;
    u->wide = wide;
    if (c->seen > text_unit_time(u)) u->time = (unsigned char)c->seen;
    return *can & INTEGERS && (c->scale < scale || c->is_wide != wide);
}

/* ---- the rows so far ------------------------------------------------------------------------- */

static void note(text_unit *u, text_i128 least, text_i128 greatest) {
    u->least = least < u->least ? least : u->least;
    u->greatest = greatest > u->greatest ? greatest : u->greatest;
}

static void note_signed(text_unit *u, const int64_t *x, int64_t n) {
    int64_t least = 0, greatest = 0;
    for (int64_t i = 0; i < n; i++) {
        least = x[i] < least ? x[i] : least;
        greatest = x[i] > greatest ? x[i] : greatest;
    }
    note(u, least, greatest);
}

static void note_unsigned(text_unit *u, const uint64_t *x, int64_t n) {
    uint64_t greatest = 0;
    for (int64_t i = 0; i < n; i++) greatest = x[i] > greatest ? x[i] : greatest;
    note(u, 0, greatest);
}

void text_unit_note(text_unit *u, unsigned can, const text_column *c, int64_t n) {
    const text_i128 *const wide = c->wide;
    if (!(can & CAN_I128)) return;
    if (c->integers && can & CAN_I64) note_signed(u, c->integers, n);
    if (c->integers && !(can & CAN_I64)) note_unsigned(u, c->integers, n);
    for (int64_t i = 0; c->is_wide && i < n; i++) note(u, wide[i], wide[i]);
}
