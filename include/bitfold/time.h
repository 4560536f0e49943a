/* Times in text: ISO 8601 and RFC 3339.
 *
 * A time is an exact decimal: seconds since 1970-01-01T00:00:00 as an integer in units of
 * 10^-scale, on the proleptic Gregorian calendar, without leap seconds. So times are compared,
 * sorted, grouped and subtracted as decimals are. */
#ifndef BITFOLD_TIME_H
#define BITFOLD_TIME_H

#include "types.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a time is written: 2026-11-28, 2026-11-28T09:30:00.5, 2026-11-28T09:30:00.5Z. A local time
 * has no zone; it is counted as if it were UTC. */
typedef enum bf_time_kind {
    BF_TIME_NONE,
    BF_TIME_DATE,
    BF_TIME_LOCAL,
    BF_TIME_UTC,
    BF_TIME_ANY /* a column without a value is a time or a number, in expressions */
} bf_time_kind;

#define BF_TIME_SCALE_MOST 9

typedef struct bf_time {
    int64_t units; /* each is 10^-scale seconds */
    int scale;     /* 0 to BF_TIME_SCALE_MOST */
    bf_time_kind kind;
} bf_time;

/* Reads the time that n bytes of text are: YYYY-MM-DD, then, if more than a date, T or a blank,
 * hh:mm[:ss[.f]] with 1 to 9 digits of fraction, and, if in a zone, Z, +hh, +hhmm or +hh:mm. Years
 * are 0001 to 9999. The scale is the least that holds it. Returns 1; 0: it is no time, or 64 bits
 * do not hold it. */
BF_API int bf_time_parse(const char *text, size_t n, bf_time *time);

#define BF_TIME_TEXT 48

/* Writes a time as text, with a zero byte behind it; a fraction has no zeros at its end. A date has
 * no time of day: it shows the day that the time is in. One that is NULL, or has an impossible
 * scale, is "?". Returns the length. */
BF_API int bf_time_format(const bf_time *time, char text[BF_TIME_TEXT]);

#ifdef __cplusplus
}
#endif
#endif
