/* Windows: lines are cut into tiles, which threads share out. */
#include "cpu/scan/rolling.h"

#include "base/memory.h"

enum {
    TILE = 1 << 11,
    LEAST = 1 << 16 /* bytes that are worth a thread */
};

typedef struct rolling {
    bf_context *context;
    const bf_rolling_job *job;
    int64_t tile, tiles; /* results of a tile; tiles of a line */
} rolling;

static bf_rolling_tile tile_at(const rolling *o, int64_t number) {
    const bf_rolling_job *job = o->job;
    const int64_t line = number / o->tiles, from = number % o->tiles * o->tile;
    const int64_t outer = line / job->inner, inner = line % job->inner;
    const int64_t element = outer * job->length * job->inner + inner;
    const int64_t value = outer * job->results * job->inner + inner;
    const int from_bytes = bf_number_bytes(job->window.dtype);
    const int to_bytes = bf_dtype_bytes(job->window.to);
    return (bf_rolling_tile){
        .job = job,
        .line = (const char *)job->elements + element * from_bytes,
        .other = job->others != NULL ? (const char *)job->others + element * from_bytes : NULL,
        .stride = job->inner * from_bytes,
        .values = (char *)job->values + value * to_bytes,
        .pitch = job->inner * to_bytes,
        .from = from,
        .to = from + o->tile < job->results ? from + o->tile : job->results,
    };
}

static bf_status roll_tile(bf_context *context, const bf_rolling_tile *t, void *room) {
    const bf_window *w = &t->job->window;
    if (t->job->quantiles != NULL) return bf_roll_quantiles(context, t, room);
    if (w->counts) return bf_roll_counts(t, room);
    if (bf_kind_is_joint(w->kind)) return bf_roll_joint(t, room);
    if (w->kind == BF_KIND_EXTREME) return bf_roll_extremes(t, room);
    bf_roll_limbs_open(room);
    if (w->options.scale > 0) return bf_roll_limbs(t, room); /* rounded once, when divided */
    bf_rolling_tile rest = *t;
    rest.from = bf_roll_doubles(context->cpu->isa, t, room);
    return rest.from == t->to ? BF_OK : bf_roll_limbs(&rest, room);
}

static bf_status roll_some(void *arg, int worker, int64_t first, int64_t n) {
    const rolling *o = arg;
    bf_status status = BF_OK;
    for (int64_t i = first; i < first + n && status == BF_OK; i++) {
        const bf_rolling_tile t = tile_at(o, i);
        status = roll_tile(o->context, &t, bf_room(o->context, worker));
    }
    return status;
}

/* A tile begins with the elements of a window, which the one before has read, too: so it has
 * several times as many. */
static void cut(rolling *o) {
    const bf_rolling_job *job = o->job;
    int64_t tile = TILE + 8 * (bf_rolling_largest(job) / job->step);
    if (job->quantiles != NULL) tile = bf_roll_quantiles_tile(job);
    o->tile = tile < job->results ? tile : job->results;
    o->tiles = (job->results + o->tile - 1) / o->tile;
}

static size_t room_of(const bf_rolling_job *job) {
    if (job->quantiles != NULL) return bf_roll_quantiles_room(job);
    if (job->window.counts) return sizeof(uint64_t);
    if (bf_kind_is_joint(job->window.kind)) return bf_roll_joint_room();
    return job->window.kind == BF_KIND_EXTREME ? bf_roll_extremes_room(job) : bf_roll_limbs_room();
}

static bf_status roll_lines(bf_context *context, const bf_rolling_job *job) {
    rolling o = {.context = context, .job = job};
    const int64_t lines = job->outer * job->inner;
    const int64_t bytes = lines * job->length * bf_number_bytes(job->window.dtype);
    const size_t room = room_of(job);
    const int workers = bf_workers_within(bf_workers(context, bytes, LEAST), room);
    cut(&o);
    if (!bf_rooms_open(context, workers, room)) return BF_E_MEMORY;
    const int64_t units = lines * o.tiles, piece = 1 + units / (16 * workers);
    return bf_parallel_watched(context, workers, units, piece, bytes, roll_some, &o);
}

/* ---- short lines ----------------------------------------------------------------------------- */

enum { SHORT = 128, TOGETHER = 4096 }; /* results of a line, and of lines that are taken as one */

/* Takes lines [from, from + lines), so many together as one, whose windows are given. */
static bf_status roll_together(bf_context *context, const bf_rolling_job *job, int64_t from,
                               int64_t lines, int64_t together) {
    bf_rolling_job one = *job;
    if (lines == 0) return BF_OK;
    const int64_t skipped = from * job->length * bf_number_bytes(job->window.dtype);
    one.elements = (const char *)job->elements + skipped;
    if (job->others != NULL) one.others = (const char *)job->others + skipped;
    one.values = (char *)job->values + from * job->results * bf_dtype_bytes(job->window.to);
    one.outer = lines / together;
    one.length = together * job->length;
    one.results = together * job->results;
    return roll_lines(context, &one);
}

/* Sets the windows of so many lines, one behind the other. */
static void place_windows(const bf_rolling_job *job, int64_t lines, int64_t *first, int64_t *end) {
    for (int64_t line = 0; line < lines; line++)
        for (int64_t k = 0; k < job->results; k++) {
            *first++ = line * job->length + bf_rolling_first(job, k);
            *end++ = line * job->length + bf_rolling_end(job, k);
        }
}

static bf_status roll_short_lines(bf_context *context, const bf_rolling_job *job) {
    const int64_t most = TOGETHER / job->results, together = job->outer < most ? job->outer : most;
    const int64_t n = together * job->results, rest = job->outer % together;
    int64_t *first = bf_alloc(2 * (size_t)n * sizeof *first);
    bf_rolling_job placed = *job;
    if (first == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for windows");
    place_windows(job, together, first, first + n);
    placed.first = first;
    placed.end = first + n;
    placed.size = bf_rolling_largest(job);
    placed.after = 0;
    bf_status status = roll_together(context, &placed, 0, job->outer - rest, together);
    if (status == BF_OK) status = roll_together(context, &placed, job->outer - rest, rest, rest);
    bf_free(first);
    return status;
}

bf_status bf_cpu_roll(bf_context *context, const bf_rolling_job *job) {
    const bool is_short = job->inner == 1 && job->results < SHORT && job->outer > 1;
    const bf_environment environment = bf_environment_enter();
    bf_status status = is_short ? roll_short_lines(context, job) : roll_lines(context, job);
    bf_environment_leave(environment);
    if (status == BF_E_NAN) return bf_fail(context, status, "NaN in the values");
    return status;
}
