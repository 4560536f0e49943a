#include "view/schedule.h"

#include <string.h>

enum { COARSEST = 16, FINER = 4 };

/* The time that a part should take, and the time that it may take where pixels inside the set
 * follow pixels outside. */
#define PART_SECONDS 0.03
#define WORST_SECONDS 0.5

#define SPEED_AT_FIRST 1e9 /* a slow machine's */

/* --- the grid --- */

/* The pixels at half + step * i of a side: how many come before i = 0, and how many there are. */
static int64_t before(int64_t side, int step) { return (side / 2 + step - 1) / step; }

static int64_t grid_side(int64_t side, int step) {
    return before(side, step) + (side - 1 - side / 2) / step + 1;
}

static double unit(int64_t width) { return width / 2 > 0 ? (double)(width / 2) : 1; }

static bf_julia_params grid_of(const bf_julia_params *picture, int step) {
    bf_julia_params grid = *picture;
    if (step == 1) return grid;
    grid.width = grid_side(picture->width, step);
    grid.height = grid_side(picture->height, step);
    grid.scale = picture->scale / unit(picture->width) * (step * unit(grid.width));
    return grid;
}

/* --- what comes next --- */

static double iterations(const bf_julia_params *p, int64_t rows) {
    return (double)rows * (double)p->width * (double)p->iterations;
}

/* The iterations that a part may have. */
static double limit(const schedule *s) {
    const double likely = s->rate * PART_SECONDS, worst = s->speed * WORST_SECONDS;
    return likely < worst ? likely : worst;
}

void schedule_start(schedule *s, const bf_julia_params *picture) {
    s->picture = *picture;
    s->row = 0;
    if (!(s->speed > 0)) s->speed = s->rate = SPEED_AT_FIRST;
    for (s->step = 1; s->step < COARSEST; s->step *= FINER) {
        const bf_julia_params grid = grid_of(picture, s->step);
        if (iterations(&grid, grid.height) <= limit(s)) break;
    }
}

static int64_t quick_rows(const schedule *s, const bf_julia_params *grid) {
    const double rows = limit(s) / iterations(grid, 1);
    const int64_t left = grid->height - s->row;
    return rows < 1 ? 1 : rows < (double)left ? (int64_t)rows : left;
}

bool schedule_next(schedule *s, part *p) {
    if (s->step == 0) return false;
    *p = (part){.grid = grid_of(&s->picture, s->step), .step = s->step, .row = s->row};
    p->rows = quick_rows(s, &p->grid);
    s->row += p->rows;
    if (s->row < p->grid.height) return true;
    s->row = 0;
    s->step /= FINER; /* 0 after 1 */
    return true;
}

void schedule_took(schedule *s, const part *p, double steps, double seconds) {
    if (!(seconds > 1e-6)) seconds = 1e-6;
    s->rate = iterations(&p->grid, p->rows) / seconds;
    s->speed = steps / seconds;
}

/* --- where it goes --- */

/* The first pixel that the i-th pixel of a grid stands for; that of the next one is the end. */
static int64_t place(int64_t side, int step, int64_t i) {
    const int64_t at = side / 2 + (i - before(side, step)) * step;
    return at < 0 ? 0 : at > side ? side : at;
}

void part_spread(const part *p, const uint16_t *counts, const bf_julia_params *picture,
                 uint16_t *whole, int64_t *first, int64_t *end) {
    const int64_t width = picture->width, height = picture->height;
    *first = place(height, p->step, p->row);
    *end = place(height, p->step, p->row + p->rows);
    if (p->step == 1) {
        memcpy(whole + *first * width, counts, (size_t)(p->rows * width) * sizeof *whole);
        return;
    }
    for (int64_t i = 0; i < p->rows; i++, counts += p->grid.width) {
        const int64_t top = place(height, p->step, p->row + i);
        const int64_t below = place(height, p->step, p->row + i + 1);
        uint16_t *row = whole + top * width;
        for (int64_t j = 0; j < p->grid.width; j++)
            for (int64_t x = place(width, p->step, j); x < place(width, p->step, j + 1); x++)
                row[x] = counts[j];
        for (int64_t y = top + 1; y < below; y++)
            memcpy(whole + y * width, row, (size_t)width * sizeof *row);
    }
}
