/* Julia and Mandelbrot sets: workers take tiles of whole rows, or of parts of a row. */
#include "cpu/julia/julia.h"

enum { LEAST_TILE = 256 }; /* pixels */

typedef struct plan {
    const bf_context *context;
    const bf_julia_job *job;
    bf_mirror mirror;
    bf_julia_loop loop; /* NULL: the rule, pixel by pixel */
    bool sticky;
    int64_t tile_columns, tile_rows, across, tiles;
} plan;

/* Coordinates of a tile's columns or rows: at most as many as it has pixels. */
typedef union coordinates {
    float f32[BF_JULIA_TILE + BF_JULIA_SPARE];
    double f64[BF_JULIA_TILE + BF_JULIA_SPARE];
} coordinates;

/* A worker's room. */
typedef struct tile_room {
    bf_julia_work work;
    coordinates re, im;
    uint16_t counts[BF_JULIA_TILE];
} tile_room;

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

/* Where a tile begins, and its size. */
typedef struct place {
    int64_t x;   /* counted in the picture */
    int64_t row; /* counted in the rows that are computed */
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

/* Puts the row's pixels from the last to the first. */
static void put_row_turned(const plan *p, const place *at, int64_t y, const uint16_t *counts) {
    const bf_julia_job *job = p->job;
    int64_t first = bf_mirrored_column(&p->mirror, at->x + at->columns - 1);
    int64_t low = most(first, job->at.x),
            high = least(first + at->columns, job->at.x + job->at.columns);
    uint16_t *to = job->counts + (y - job->at.y) * job->stride - job->at.x;
    const uint16_t *from = counts + (at->columns - 1 + first);
    for (int64_t x = low; x < high; x++) to[x] = from[-x];
}

static void put_counts(const plan *p, const place *at, int64_t y, const uint16_t *counts) {
    int64_t other = bf_mirrored_row(&p->mirror, y);
    put_row(p, at, y, counts);
    if (other < 0) return;
    if (p->mirror.symmetry == BF_JULIA_POINT)
        put_row_turned(p, at, other, counts);
    else
        put_row(p, at, other, counts);
}

static void fill_coordinate(const bf_julia_view *v, int64_t offset, double center, coordinates *c,
                            int i) {
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

static void count_tile(const plan *p, const place *at, tile_room *room) {
    coordinates *re = &room->re, *im = &room->im;
    uint16_t *counts = room->counts;
    const bf_julia_view *v = &p->job->view;
    for (int x = 0; x < at->columns; x++)
        fill_coordinate(v, at->x + x - v->half_width, v->center_re, re, x);
    for (int y = 0; y < at->rows; y++)
        fill_coordinate(v, bf_mirror_row(&p->mirror, at->row + y) - v->half_height, v->center_im,
                        im, y);
    bf_julia_tile tile = {
        re,      im,      at->columns, at->rows, v->mandelbrot, p->sticky, v->iterations,
        v->c_re, v->c_im, v->escape,   counts};
    if (p->loop != NULL)
        p->loop(&tile, &room->work);
    else
        count_by_rule(v, at, re, im, counts);
    for (int y = 0; y < at->rows; y++)
        put_counts(p, at, bf_mirror_row(&p->mirror, at->row + y), counts + y * at->columns);
}

/* --- all --- */

static bf_status count_tiles(void *arg, int worker, int64_t first, int64_t n) {
    const plan *p = arg;
    for (int64_t tile = first; tile < first + n; tile++) {
        place at = place_of(p, tile);
        count_tile(p, &at, bf_room(p->context, worker));
    }
    return BF_OK;
}

static bf_julia_loop choose_loop(const bf_context *context, const bf_julia_view *view) {
    const bf_julia_loops *loops = context->cpu->isa->julia;
    if (!bf_julia_is_tame(view)) return NULL;
    return view->dtype == BF_F32 ? loops->f32 : loops->f64;
}

bf_status bf_cpu_julia(bf_context *context, const bf_julia_job *job) {
    plan p = {.context = context, .job = job, .mirror = bf_mirror_of(&job->view, job->at)};
    int workers = bf_host_threads(context);
    plan_tiles(&p, workers);
    if (!bf_rooms_open(context, workers, sizeof(tile_room))) return BF_E_MEMORY;
    bf_environment environment = bf_environment_enter();
    p.sticky = bf_julia_is_sticky(&job->view);
    p.loop = choose_loop(context, &job->view);
    bf_status status = bf_parallel_watched(context, workers, p.tiles, 1, 0, count_tiles, &p);
    bf_environment_leave(environment);
    return status;
}
