/* The order in which a picture is computed. If all pixels would take long, a coarse grid of them
 * comes first, then finer ones. Each grid is computed in parts of rows that take little time. */
#ifndef BITFOLD_VIEW_SCHEDULE_H
#define BITFOLD_VIEW_SCHEDULE_H

#include <bitfold.h>
#include <stdbool.h>

typedef struct schedule {
    bf_julia_params picture;
    double rate;  /* the last part's, in iterations a second, as if all pixels were inside */
    double speed; /* the last part's, in steps a second, as counted */
    int step;     /* the grid has every step-th pixel, across and down */
    int64_t row;  /* the first row of the grid that is not computed yet */
} schedule;

/* Rows of a grid: a smaller picture, whose pixels are some of the larger one's. */
typedef struct part {
    bf_julia_params grid;
    int step;
    int64_t row, rows;
} part;

/* A zeroed schedule may start. It learns speeds from one picture for the next. */
void schedule_start(schedule *s, const bf_julia_params *picture);

/* Sets the next part; false if the picture is complete. */
bool schedule_next(schedule *s, part *p);

/* Tells how many steps the part had, and how long it took. */
void schedule_took(schedule *s, const part *p, double steps, double seconds);

/* Copies a part's counts to the whole picture, each to all pixels that it stands for. Sets [*first,
 * *end) to the rows that have changed. */
void part_spread(const part *p, const uint16_t *counts, const bf_julia_params *picture,
                 uint16_t *whole, int64_t *first, int64_t *end);

#endif
