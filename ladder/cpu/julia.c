/* The Julia set on the CPU: the loop, vectors that wait for their last lane, threads. */
#include "ladder/julia.h"
#include "ladder/cpu/cpu.h"

#include <stdatomic.h>

enum { LANES = LADDER_LANES };

static const ladder_picture known = LADDER_PICTURE;

/* Rows [from, to) of a picture, and the function that draws them. */
typedef struct picture {
    uint16_t *out;
    int side;
    _Atomic int64_t next; /* the first row that nobody has taken */
} picture;

static picture picture_of(const ladder_task *t) {
    return (picture){.out = t->out, .side = ladder_side(t->n)};
}

/* ---- one row --------------------------------------------------------------------------------- */

static void draw_row(const ladder_picture *p, const picture *to, int64_t y) {
    const float im = ladder_coordinate(p, to->side, (int)y);
    for (int x = 0; x < to->side; x++)
        to->out[y * to->side + x] =
            (uint16_t)ladder_escape(p, ladder_coordinate(p, to->side, x), im);
}

static void draw_row_in_lanes(const picture *to, int64_t y) {
    const float im = ladder_coordinate(&known, to->side, (int)y);
    float re[LANES];
    int32_t counts[LANES];
    for (int x = 0; x < to->side; x += LANES) {
        for (int k = 0; k < LANES; k++) re[k] = ladder_coordinate(&known, to->side, x + k);
        ladder_simd_widest()->escape(&known, re, im, counts);
        for (int k = 0; k < LANES && x + k < to->side; k++)
            to->out[y * to->side + x + k] = (uint16_t)counts[k];
    }
}

/* ---- rungs ----------------------------------------------------------------------------------- */

/* The compiler cannot know the parameters. */
static const char *run_loop(const ladder_task *t) {
    const ladder_picture *p = &known;
    LADDER_AS_WRITTEN(p);
    const picture to = picture_of(t);
    for (int64_t y = 0; y < to.side; y++) draw_row(p, &to, y);
    return NULL;
}

static const char *run_known(const ladder_task *t) {
    const picture to = picture_of(t);
    for (int64_t y = 0; y < to.side; y++) draw_row(&known, &to, y);
    return NULL;
}

static void rows_share(void *work, int64_t from, int64_t to, int rank) {
    (void)rank;
    for (int64_t y = from; y < to; y++) draw_row_in_lanes(work, y);
}

static const char *run_lanes(const ladder_task *t) {
    picture to = picture_of(t);
    rows_share(&to, 0, to.side, 0);
    return NULL;
}

static const char *run_threads(const ladder_task *t) {
    picture to = picture_of(t);
    ladder_team(t->processors, to.side, rows_share, &to);
    return NULL;
}

static void rows_taken(void *work, int64_t from, int64_t end, int rank) {
    picture *to = work;
    (void)from, (void)end, (void)rank;
    for (int64_t y; (y = atomic_fetch_add(&to->next, 1)) < to->side;) draw_row_in_lanes(to, y);
}

static const char *run_taken(const ladder_task *t) {
    picture to = picture_of(t);
    ladder_team(t->processors, to.side, rows_taken, &to);
    return NULL;
}

const ladder_rung ladder_cpu_julia[] = {
    {"loop", "pixel after pixel", run_loop, 0},
    {"known", "the same; the compiler knows the parameters", run_known, 0},
    {"lanes", "sixteen pixels at a time, until the last of them is done", run_lanes, 0},
    {"threads", "the same, each thread a share of the rows", run_threads, 0},
    {"rows as taken", "each thread takes the next row when it is done with one", run_taken, 0},
    {"ours", "lanes are filled again as orbits end; z and -z share an orbit", ladder_ours_julia,
     LADDER_OURS},
    {NULL, NULL, NULL, 0},
};
