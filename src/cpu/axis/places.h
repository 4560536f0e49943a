/* Offsets and indices of any dtype that they may have. */
#ifndef BF_CPU_AXIS_PLACES_H
#define BF_CPU_AXIS_PLACES_H

#include "cpu/axis/axis.h"

/* Place i, of any alignment. One above INT64_MAX is INT64_MAX, which no array reaches. */
static inline int64_t bf_place_at(const bf_rows *rows, int64_t i) {
    const char *places = rows->places;
    if (rows->places_dtype == BF_I32) return (int32_t)bf_load_bits(places + 4 * i, 4);
    if (rows->places_dtype == BF_U32) return (int64_t)bf_load_bits(places + 4 * i, 4);
    uint64_t place = bf_load_bits(places + 8 * i, 8);
    bool beyond = rows->places_dtype == BF_U64 && place > INT64_MAX;
    return beyond ? INT64_MAX : (int64_t)place;
}

/* Checks all places. A wrong one is an error with a message or, if results are queued, sets
 * *results->wrong and *skip: there is nothing to do. */
bf_status bf_check_places(bf_context *context, const bf_rows *rows, const bf_results *results,
                          bool *skip);

#endif
