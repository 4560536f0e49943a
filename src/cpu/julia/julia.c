/* Julia and Mandelbrot sets: threads take tiles of whole rows, or parts of a row, as they come. */
#include "cpu/runtime/context.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { LEAST_TILE = 256 }; /* pixels */

typedef struct plan {
    const bf_julia_job *job;
    bf_mirror mirror;
    bf_julia_loop loop; /* NULL: the rule, pixel by pixel */
    bool sticky;
    int64_t tile_columns, tile_rows, across, tiles;
} plan;

/* The coordinates of a tile, as many as it has pixels at most. */
typedef union coordinates {
    float f32[BF_JULIA_TILE + BF_JULIA_SPARE];
    double f64[BF_JULIA_TILE + BF_JULIA_SPARE];
} coordinates;

/* A thread's memory for a tile. */
typedef struct bf_julia_room {
    bf_julia_work work;
    coordinates re, im;
    uint16_t counts[BF_JULIA_TILE];
} bf_julia_room;

typedef struct shared {
    const plan *plan;
    bf_julia_room *rooms; /* one for each thread */
    _Atomic int64_t next; /* first tile that no thread has taken */
} shared;

/* --- the plan --- */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static void plan_tiles(plan *p, int threads) {
    int64_t columns = p->mirror.columns, rows = p->mirror.rows;
    int64_t pieces = most(columns * rows / BF_JULIA_TILE, 4 * threads);
    int64_t pixels = least(most(columns * rows / pieces, LEAST_TILE), BF_JULIA_TILE);
    p->tile_columns = least(columns, BF_JULIA_TILE);
    p->tile_rows = most(pixels / p->tile_columns, 1);
    p->across = (columns + p->tile_columns - 1) / p->tile_columns;
    p->tiles = p->across * ((rows + p->tile_rows - 1) / p->tile_rows);
}

/* --- one tile --- */

/* Where the tile begins, and how large it is. */
typedef struct place {
    int64_t x;   /* of the picture */
    int64_t row; /* of those that are computed */
    int columns, rows;
} place;

static place place_of(const plan *p, int64_t tile) {
    int64_t across = tile % p->across * p->tile_columns, down = tile / p->across * p->tile_rows;
    return (place){p->mirror.x + across, down,
                   (int)least(p->tile_columns, p->mirror.columns - across),
                   (int)least(p->tile_rows, p->mirror.rows - down)};
}

static void put_row(const plan *p, const place *at, int64_t y, const uint16_t *counts) {
    const bf_julia_job *job = p->job;
    int64_t low = most(at->x, job->at.x),
            high = least(at->x + at->columns, job->at.x + job->at.columns);
    uint16_t *to = job->counts + (y - job->at.y) * job->stride;
    if (low < high)
        memcpy(to + (low - job->at.x), counts + (low - at->x),
               (size_t)(high - low) * sizeof *counts);
}

/* The same, from the last pixel to the first. */
static void put_row_turned(const plan *p, const place *at, int64_t y, const uint16_t *counts) {
    const bf_julia_job *job = p->job;
    int64_t first = bf_mirrored_column(&p->mirror, at->x + at->columns - 1);
    int64_t low = most(first, job->at.x),
            high = least(first + at->columns, job->at.x + job->at.columns);
    uint16_t *to = job->counts + (y - job->at.y) * job->stride - job->at.x;
    const uint16_t *from = counts + (at->columns - 1 + first);
    for (int64_t x = low; x < high; x++) to[x] = from[-x];
}

static void put(const plan *p, const place *at, int64_t y, const uint16_t *counts) {
    int64_t other = bf_mirrored_row(&p->mirror, y);
    put_row(p, at, y, counts);
    if (other < 0) return;
    if (p->mirror.symmetry == BF_JULIA_POINT)
        put_row_turned(p, at, other, counts);
    else
        put_row(p, at, other, counts);
}

static void fill(const bf_julia_view *v, int64_t offset, double center, coordinates *c, int i) {
    if (v->dtype == BF_F32)
        c->f32[i] = bf_escape_coordinate_f32(v, offset, center);
    else
        c->f64[i] = bf_escape_coordinate_f64(v, offset, center);
}

static void count_by_rule(const bf_julia_view *v, const place *at, const coordinates *re,
                          const coordinates *im, uint16_t *counts) {
    for (int y = 0; y < at->rows; y++)
        for (int x = 0; x < at->columns; x++)
            *counts++ =
                (uint16_t)(v->dtype == BF_F32
                               ? bf_escape_point_f32(v, (bf_point_f32){re->f32[x], im->f32[y]})
                               : bf_escape_point_f64(v, (bf_point_f64){re->f64[x], im->f64[y]}));
}

static void take_tile(const plan *p, const place *at, bf_julia_room *room) {
    coordinates *re = &room->re, *im = &room->im;
    uint16_t *counts = room->counts;
    const bf_julia_view *v = &p->job->view;
    for (int x = 0; x < at->columns; x++) fill(v, at->x + x - v->half_width, v->center_re, re, x);
    for (int y = 0; y < at->rows; y++)
        fill(v, bf_mirror_row(&p->mirror, at->row + y) - v->half_height, v->center_im, im, y);
    bf_julia_tile tile = {
        re,      im,      at->columns, at->rows, v->mandelbrot, p->sticky, v->iterations,
        v->c_re, v->c_im, v->escape,   counts};
    if (p->loop != NULL)
        p->loop(&tile, &room->work);
    else
        count_by_rule(v, at, re, im, counts);
    for (int y = 0; y < at->rows; y++)
        put(p, at, bf_mirror_row(&p->mirror, at->row + y), counts + y * at->columns);
}

/* --- all --- */

static void take_tiles(void *arg, int worker) {
    shared *s = arg;
    const plan *p = s->plan;
    bf_environment environment = bf_environment_enter();
    bf_julia_room *room = &s->rooms[worker];
    for (;;) {
        int64_t tile = atomic_fetch_add(&s->next, 1);
        if (tile >= p->tiles) break;
        place at = place_of(p, tile);
        take_tile(p, &at, room);
    }
    bf_environment_leave(environment);
}

static bf_julia_room *rooms_of(bf_cpu *cpu) {
    size_t threads = (size_t)bf_pool_threads(cpu->pool);
    if (cpu->julia == NULL)
        cpu->julia = aligned_alloc(BF_JULIA_WORK_ALIGN, threads * sizeof *cpu->julia);
    return cpu->julia;
}

bf_status bf_cpu_julia(bf_context *context, const bf_julia_job *job) {
    bf_cpu *cpu = context->cpu;
    plan p = {.job = job, .mirror = bf_mirror_of(&job->view, job->at)};
    bf_environment environment = bf_environment_enter();
    p.sticky = bf_julia_is_sticky(&job->view);
    if (bf_julia_is_tame(&job->view))
        p.loop = job->view.dtype == BF_F32 ? cpu->isa->julia_f32 : cpu->isa->julia_f64;
    bf_environment_leave(environment);
    int threads = bf_pool_threads(cpu->pool);
    plan_tiles(&p, threads);
    if (p.tiles < threads) threads = (int)p.tiles;
    shared s = {.plan = &p, .rooms = rooms_of(cpu)};
    if (s.rooms == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for the orbits");
    bf_pool_run(cpu->pool, threads, take_tiles, &s);
    return BF_OK;
}
