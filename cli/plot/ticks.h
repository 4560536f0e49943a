/* Ticks of an axis, at multiples of 1, 2 or 5 times a power of ten, each with a label of its own.
 *
 * A tick is digits * 10^exponent with an integer `digits`, so its label is exact. Long labels leave
 * out a common power of ten (scale) and a common offset, which the axis shows once. */
#ifndef BITFOLD_CLI_PLOT_TICKS_H
#define BITFOLD_CLI_PLOT_TICKS_H

#include <stdbool.h>
#include <stdint.h>

enum { TICK_TEXT = 64 };

typedef struct ticks {
    int64_t first, step; /* digits of the first tick, and of the distance of two */
    int exponent;
    int n;
    int scale;      /* labels are in units of 10^scale */
    int64_t offset; /* digits that labels subtract */
} ticks;

/* Returns at most `most` (2 or more) ticks within [lo, hi], where lo < hi; none if no double in so
 * narrow a range is a tick. */
ticks ticks_of(double lo, double hi, int most);

double ticks_at(const ticks *t, int i);

/* ticks_label writes the label of tick i. ticks_common writes the scale and offset of all labels,
 * as in "×10⁶ + 2000", or "". */
void ticks_label(const ticks *t, int i, char text[TICK_TEXT]);
void ticks_common(const ticks *t, char text[TICK_TEXT]);

#endif
