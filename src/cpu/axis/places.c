/* Checks offsets and indices, before anything is written. */
#include "cpu/axis/places.h"

enum {
    PLACES_LEAST = 1 << 17, /* so many are worth a thread */
    PIECE = 1 << 16         /* a worker takes so many at a time */
};

typedef struct check {
    const bf_rows *rows;
    _Atomic int64_t wrong; /* the first that is; INT64_MAX: none */
} check;

static bool is_wrong(const bf_rows *rows, int64_t i) {
    int64_t place = bf_place_at(rows, i);
    if (rows->by == BF_ROWS_BY_INDEX) return place < 0 || place >= rows->slots;
    return place < 0 || place > rows->count || (i > 0 && place < bf_place_at(rows, i - 1));
}

/* May is_wrong have a case in [first, last)? Negative numbers tell, in a loop without branches. A
 * u64 above INT64_MAX is negative, too. What follows a wrong offset may seem wrong. dtype: a
 * constant. */
static inline __attribute__((always_inline)) bool
may_have_wrong(const bf_rows *rows, bf_dtype dtype, bool ordered, int64_t first, int64_t last) {
    const bf_rows r = {.places = rows->places, .places_dtype = dtype};
    const uint64_t most = (uint64_t)(ordered ? rows->count : rows->slots - 1);
    uint64_t signs = 0;
    for (int64_t i = first; i < last; i++) {
        uint64_t place = (uint64_t)bf_place_at(&r, i);
        signs |= place | (most - place);
        if (ordered) signs |= place - (uint64_t)bf_place_at(&r, i - 1);
    }
    return (int64_t)signs < 0;
}

static bool may_be_wrong(const bf_rows *rows, int64_t first, int64_t last) {
    bool ordered = rows->by == BF_ROWS_BY_OFFSETS;
    if (ordered && first == 0 && is_wrong(rows, first++)) return true;
    switch (rows->places_dtype) {
    case BF_I32:
        return ordered ? may_have_wrong(rows, BF_I32, true, first, last)
                       : may_have_wrong(rows, BF_I32, false, first, last);
    case BF_U32:
        return ordered ? may_have_wrong(rows, BF_U32, true, first, last)
                       : may_have_wrong(rows, BF_U32, false, first, last);
    default:
        return ordered ? may_have_wrong(rows, BF_I64, true, first, last)
                       : may_have_wrong(rows, BF_I64, false, first, last);
    }
}

static void note_wrong(check *c, int64_t i) {
    int64_t seen = c->wrong;
    while (i < seen)
        if (atomic_compare_exchange_weak(&c->wrong, &seen, i)) return;
}

static bf_status check_piece(void *arg, int worker, int64_t first, int64_t n) {
    check *c = arg;
    (void)worker;
    int64_t i = first;
    if (!may_be_wrong(c->rows, first, first + n)) return BF_OK;
    while (i < first + n && !is_wrong(c->rows, i)) i++;
    if (i < first + n) note_wrong(c, i);
    return BF_OK;
}

bf_status bf_check_places(bf_context *context, const bf_rows *rows, const bf_results *results,
                          bool *skip) {
    check c = {rows, INT64_MAX};
    int64_t n = rows->by == BF_ROWS_BY_INDEX ? rows->count : rows->slots + 1;
    int workers = bf_workers(context, n, PLACES_LEAST);
    bf_status status = bf_parallel(context, workers, n, PIECE, check_piece, &c);
    *skip = c.wrong != INT64_MAX;
    if (status != BF_OK) return status;
    if (results->wrong != NULL) *results->wrong = *skip ? c.wrong : -1;
    if (!*skip || results->queued) return BF_OK;
    return bf_axis_wrong_place(context, rows, c.wrong, bf_place_at(rows, c.wrong));
}
