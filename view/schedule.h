/* In what order a picture is computed: a coarse grid of its pixels first, if all of them would take
 * long to come; each grid in parts of rows, which take little enough time to be waited for. */
#ifndef BITFOLD_VIEW_SCHEDULE_H
#define BITFOLD_VIEW_SCHEDULE_H

#include <bitfold.h>
#include <stdbool.h>

typedef struct schedule {
    bf_julia_params picture;
    double rate;  /* of the last part, in iterations a second, as if all pixels were inside */
    double speed; /* of the last part, in steps a second, as they were */
    int step;     /* of the grid: every step-th pixel, across and down */
    int64_t row;  /* of the grid: the first one that is to come */
} schedule;

/* Rows of a grid, which is a smaller picture whose pixels are some of the larger one's. */
typedef struct part {
    bf_julia_params grid;
    int step;
    int64_t row, rows;
} part;

/* A zeroed schedule may start; it learns from one picture for the next. */
void schedule_start(schedule *s, const bf_julia_params *picture);

/* The next part; false: the picture is complete. */
bool schedule_next(schedule *s, part *p);

/* How many steps the part had, and how long it took. */
void schedule_took(schedule *s, const part *p, double steps, double seconds);

/* Lays a part's counts where they belong in the whole picture, each on as many pixels as it stands
 * for. The rows [*first, *end) have changed then. */
void part_spread(const part *p, const uint16_t *counts, const bf_julia_params *picture,
                 uint16_t *whole, int64_t *first, int64_t *end);

#endif
