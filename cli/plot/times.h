/* Ticks of an axis of times, at whole steps of the calendar: of seconds, hours, days, months or
 * years. A label has no more of a time than its step needs; a day that all labels have, and UTC,
 * the axis shows once. */
#ifndef BITFOLD_CLI_PLOT_TIMES_H
#define BITFOLD_CLI_PLOT_TIMES_H

#include <bitfold.h>

enum { TIMES_MOST = 16 };

/* What an axis shows: times of a kind, from lo to hi, in units of 10^-scale seconds. */
typedef struct time_axis {
    double lo, hi;
    bf_time_kind kind;
    int scale;
} time_axis;

typedef struct time_ticks {
    int64_t at[TIMES_MOST];
    char label[TIMES_MOST][BF_TIME_TEXT];
    char common[BF_TIME_TEXT];
    int n;
} time_ticks;

/* Returns at most `most` ticks (2 to TIMES_MOST). */
time_ticks time_ticks_of(const time_axis *x, int most);

#endif
