/* Ticks of an axis: at multiples of 1, 2 or 5 times a power of ten, with labels that tell them
 * apart.
 *
 * A tick is digits * 10^exponent, with digits an integer: labels are written from that, and so are
 * exact. Where numbers are long, labels leave out what they have in common: a power of ten
 * (scale), an offset, which the axis tells once. */
#ifndef BITFOLD_CLI_PLOT_TICKS_H
#define BITFOLD_CLI_PLOT_TICKS_H

#include <stdbool.h>
#include <stdint.h>

enum { TICK_TEXT = 64 };

typedef struct ticks {
    int64_t first, step; /* digits of the first, and between two */
    int exponent;
    int n;
    int scale;      /* labels are in units of 10^scale */
    int64_t offset; /* digits: labels count from here */
} ticks;

/* At most `most` (2 or more) ticks within [lo, hi]; lo < hi. Of a range so narrow that doubles have
 * no ticks in it, none. */
ticks ticks_of(double lo, double hi, int most);

double ticks_at(const ticks *t, int i);

/* The label of tick i; and what goes for all labels, as in "×10⁶ + 2000", "" if nothing does. */
void ticks_label(const ticks *t, int i, char text[TICK_TEXT]);
void ticks_common(const ticks *t, char text[TICK_TEXT]);

#endif
