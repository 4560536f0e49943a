#include "input/kinds.h"

/* The dtype of what the reader has at place k. */
static bf_dtype dtype_at(const rows *r, int k) {
    const int i = __builtin_ctz(r->can[k]);
    return i < TEXT_CANDIDATES ? rows_candidate(r, i) : BF_NONE;
}

/* Are strings wanted of it? */
static bool has_strings_at(const rows *r, int k) {
    const text_input *t = r->source.text;
    return t && (t->layout.kinds[k] & TEXT_STRINGS_TOO || dtype_at(r, k) == BF_NONE);
}

int rows_candidates(const rows *r) {
    return r->source.text ? text_candidates(&r->source.text->layout) : 1;
}

bf_dtype rows_candidate(const rows *r, int i) {
    const source *s = &r->source;
    return s->text ? text_candidate(&s->text->layout, i) : s->layout.dtype;
}

unsigned rows_can(const rows *r, int column) { return r->can[rows_at(r, column)]; }

void rows_rule_out(rows *r, int column, unsigned candidates) {
    r->can[rows_at(r, column)] &= ~candidates;
}

bf_dtype rows_dtype(const rows *r, int column) { return dtype_at(r, rows_at(r, column)); }

int rows_scale(const rows *r, int column) {
    const bf_dtype dtype = rows_dtype(r, column);
    const bool scaled = r->source.text && (dtype == BF_I64 || dtype == BF_I128);
    return scaled                  ? r->units[rows_at(r, column)].scale
           : r->source.layout.time ? r->source.layout.scale
                                   : 0;
}

bf_time_kind rows_time(const rows *r, int column) {
    const bf_dtype dtype = rows_dtype(r, column);
    const bool text = dtype == BF_I64 || dtype == BF_I128;
    if (!r->source.text) return r->source.layout.time;
    return text ? text_unit_time(&r->units[rows_at(r, column)]) : BF_TIME_NONE;
}

bf_time_kind rows_meets(const rows *r, int column) {
    const bool open = r->source.text && r->units[rows_at(r, column)].time == BF_TIME_ANY;
    return open && rows_dtype(r, column) == BF_I64 ? BF_TIME_ANY : rows_time(r, column);
}

bool rows_is_wide(const rows *r, int column) { return r->units[rows_at(r, column)].wide; }

void rows_raise_scale(rows *r, int column, int scale) {
    text_unit *const u = &r->units[rows_at(r, column)];
    if (scale > u->scale) u->scale = (unsigned char)scale;
}

void rows_take_doubles(rows *r, int column) {
    rows_rule_out(r, column, CAN_I64 | CAN_U64 | CAN_I128);
}

bool rows_has_strings(const rows *r, int column) { return has_strings_at(r, rows_at(r, column)); }

int rows_column_of(const rows *r, const char *item) {
    const int found = r->source.text ? text_layout_column(&r->source.text->layout, item) : -1;
    for (int k = 0; k < r->columns; k++)
        if (rows_at(r, k) == found) return k;
    return -1;
}

int rows_field(const rows *r, int column) {
    return r->source.text->layout.fields[rows_at(r, column)];
}

bool rows_repeats(const rows *r, int column) {
    return column > 0 && r->source.text && rows_field(r, column) == rows_field(r, column - 1);
}

bool rows_may_resettle(const rows *r) {
    const text_input *t = r->source.text;
    const unsigned scaled =
        t && t->layout.dtype == BF_NONE && r->options.digits > 0 ? CAN_I64 | CAN_I128 : 0;
    bool may = false;
    for (int k = 0; k < r->held; k++)
        may = may || (r->can[k] & (r->can[k] - 1)) || r->can[k] & scaled ||
              (t && r->units[k].time != BF_TIME_NONE);
    return may && r->options.settled;
}

void rows_demand(rows *r, bf_dtype dtype) {
    text_input *t = r->source.text;
    if (!t || t->layout.dtype != BF_NONE) return;
    t->layout.dtype = dtype;
    for (int k = 0; k < r->held; k++) {
        r->can[k] = text_column_can(&t->layout, k);
        r->units[k] = (text_unit){.scale = 0}; /* what a guess found of integers */
    }
}

/* -1: it is none of the candidates. */
static int candidate_of(const rows *r, bf_dtype dtype) {
    for (int i = 0; i < rows_candidates(r); i++)
        if (rows_candidate(r, i) == dtype) return i;
    return -1;
}

bool rows_can_be(const rows *r, bf_dtype dtype) {
    const int i = candidate_of(r, dtype);
    bool can = i >= 0;
    for (int k = 0; can && k < r->columns; k++) can = rows_can(r, k) & 1u << i;
    return can;
}

void rows_take_as(rows *r, bf_dtype dtype) {
    for (int k = 0; k < r->columns; k++) rows_rule_out(r, k, ~(~0u << candidate_of(r, dtype)));
}

void rows_take_strings(rows *r, int column) { r->can[rows_at(r, column)] = TEXT_CAN_STRINGS; }

rows_kind rows_kind_of(const rows *r, int column) {
    const int k = rows_at(r, column);
    return (rows_kind){r->can[k], r->units[k].scale, r->units[k].time};
}

/* Times and numbers have text alone in common; so have times in a zone and others. */
void rows_join_kind(rows_kind *into, rows_kind other) {
    const bool open = into->time == BF_TIME_ANY || other.time == BF_TIME_ANY,
               numbers = into->time == BF_TIME_NONE || other.time == BF_TIME_NONE,
               zones = into->time == BF_TIME_UTC || other.time == BF_TIME_UTC;
    into->can &= other.can;
    if (into->time != other.time && !open && (numbers || zones)) into->can &= TEXT_CAN_STRINGS;
    if (other.scale > into->scale) into->scale = other.scale;
    if (into->time == BF_TIME_ANY || (other.time != BF_TIME_ANY && other.time > into->time))
        into->time = other.time;
}

void rows_set_kind(rows *r, int column, rows_kind kind) {
    const int k = rows_at(r, column);
    r->can[k] = kind.can;
    r->units[k].scale = kind.scale;
    r->units[k].time = kind.time;
}

void rows_set_forms(rows *r) {
    const text_layout *l = &r->source.text->layout;
    for (int k = 0; k < r->held; k++) {
        r->units[k].wide = text_unit_is_wide(r->can[k]);
        const bool strings =
            has_strings_at(r, k) || (!r->options.settled && r->can[k] & TEXT_CAN_STRINGS);
        r->forms[k] = strings ? TEXT_STRINGS : 0;
        if (r->options.settled && dtype_at(r, k) == BF_NONE) continue;
        for (int i = 0; i < text_candidates(l); i++)
            if (r->can[k] & 1u << i && (!r->options.settled || (r->forms[k] & ~TEXT_STRINGS) == 0))
                r->forms[k] |= (unsigned char)text_candidate_form(l, i);
    }
}
