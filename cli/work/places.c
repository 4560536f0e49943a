#include "work/places.h"

#include "runtime/report.h"
#include "sheet/output.h"
#include "text/number.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The longest --empty. */
enum { EMPTY_TEXT = 400 };

/* ---- the command line ------------------------------------------------------------------------ */

/* An option that single values have. */
static const char *find_single(const options *o) {
    return o->total              ? "--total"
           : o->input.first > 0  ? "--offset"
           : o->input.count >= 0 ? "--count"
                                 : NULL;
}

int places_check_line(const options *o) {
    const char *single = find_single(o);
    if ((o->index != NULL) != (o->slots >= 0))
        return fail(EXIT_USAGE, NULL, "%s",
                    o->index ? "--index needs --slots" : "--slots needs --index");
    if ((o->axes.n > 0) + (o->offsets != NULL) + (o->index != NULL) > 1)
        return fail(EXIT_USAGE, NULL, "--axis, --offsets and --index exclude each other");
    if (single && (o->axes.n > 0 || o->offsets || o->index))
        return fail(EXIT_USAGE, NULL, "%s does not go with %s", single,
                    o->axes.n > 0 ? "--axis"
                    : o->offsets  ? "--offsets"
                                  : "--index");
    return EXIT_DONE;
}

int places_read_empty(const options *o, bf_dtype dtype, int scale, bf_value *empty) {
    char text[EMPTY_TEXT + TEXT_SLACK] = "";
    const size_t n = o->empty ? strlen(o->empty) : 0;
    text_number number;
    uint64_t bits = 0;
    text_i128 wide = 0;
    if (!o->empty) return EXIT_DONE;
    if (n < EMPTY_TEXT) memcpy(text, o->empty, n);
    bool good = n < EMPTY_TEXT && text_parse_token(text, n, &number);
    if (good && dtype == BF_I128)
        good = text_wide(&number, scale, &wide);
    else if (good && dtype >= BF_F16)
        bits = text_round(&number, dtype);
    else if (good)
        good = scale > 0 ? text_units(&number, scale, &bits) : text_integer(&number, dtype, &bits);
    if (!good)
        return fail(EXIT_USAGE, NULL, "bad operand of --empty: '%s' is no %s", o->empty,
                    output_dtype(dtype, scale));
    empty->dtype = dtype;
    memcpy(&empty->as, &bits, sizeof bits);
    if (dtype == BF_I128) *empty = output_element(BF_I128, scale, &wide, 0);
    return EXIT_DONE;
}

/* ---- offsets and indices --------------------------------------------------------------------- */

static bool is_taken(const places *p, bf_dtype dtype) {
    const bool is_signed = dtype == BF_I32 || dtype == BF_I64;
    return is_signed || (p->kind == BY_INDEX && (dtype == BF_U32 || dtype == BF_U64));
}

/* Makes i64 of other integers. */
static int widen(places *p, bf_context *context) {
    const char *name = p->rows.source.name;
    const int64_t n = p->elements.shape[0];
    p->widened = malloc((size_t)n * 8 + 1);
    if (!p->widened) return fail_memory(name);
    const bf_array wide = bf_array_of(BF_I64, p->widened, n), *const from = &p->elements;
    const bf_status st = bf_map(context, BF_MAP_CAST, &from, 1, NULL, &wide);
    p->elements = wide;
    return st == BF_OK ? EXIT_DONE : fail_status(st, context, name);
}

static int take_elements(places *p, bf_context *context) {
    const source *s = &p->rows.source;
    if (s->layout.ndim != 1)
        return fail(EXIT_DATA, s->name, "it needs one dimension, and has %d", s->layout.ndim);
    const int code = rows_load(&p->rows, &p->elements);
    const bf_dtype dtype = p->elements.dtype;
    if (code != EXIT_DONE || is_taken(p, dtype)) return code;
    if (dtype == BF_BOOL || dtype >= BF_F16)
        return fail(EXIT_DATA, s->name, "it needs integers, and has %s", bf_dtype_name(dtype));
    return widen(p, context);
}

static int load_elements(places *p, const options *o, bf_context *context, const char *name) {
    const input in = {.count = -1,
                      .text.longest = o->input.text.longest,
                      .text.share = o->input.text.share,
                      .unpack = o->input.unpack};
    const rows_options how = {.threads = o->threads,
                              .settled = true,
                              .unchanging = true,
                              .keep = &p->limit,
                              .memory = o->memory.input / 2};
    spool_limit_set(&p->limit, o->memory.pipes / 2);
    const int code = rows_open_column(&p->rows, name, &in, &how);
    return code == EXIT_DONE ? take_elements(p, context) : code;
}

int places_open(places *p, const options *o, bf_context *context) {
    *p = (places){.wanted = &o->axes, .rows.source.fd = -1};
    if (o->axes.n > 0) return EXIT_DONE;
    p->kind = o->offsets ? BY_SEGMENTS : BY_INDEX;
    const int code = load_elements(p, o, context, o->offsets ? o->offsets : o->index);
    if (code != EXIT_DONE) return code;
    p->slots = o->offsets ? p->elements.shape[0] - 1 : o->slots;
    return p->slots >= 0 ? EXIT_DONE
                         : fail(EXIT_DATA, o->offsets, "no offsets: of m segments there are m + 1");
}

void places_close(places *p) {
    rows_close(&p->rows);
    free(p->widened);
    free(p->clipped);
    p->widened = p->clipped = NULL;
}

/* ---- axes ------------------------------------------------------------------------------------ */

static int refuse_axis(const matrix *m, int axis) {
    const source *s = &m->rows.source;
    fail(EXIT_USAGE, s->name, "there is no axis %d: it has %d dimension%s", axis, m->ndim,
         m->ndim == 1 ? "" : "s");
    if (s->text) hint("axis 0 goes along the rows of a text, and axis 1 along its columns");
    return EXIT_USAGE;
}

int places_fit(places *p, const matrix *m) {
    p->reduced = 0;
    p->axis_count = p->wanted->n;
    for (int i = 0; i < p->wanted->n; i++) {
        const int given = p->wanted->at[i], axis = given < 0 ? given + m->ndim : given;
        if (axis < 0 || axis >= m->ndim) return refuse_axis(m, given);
        if (p->reduced & 1u << axis)
            return fail(EXIT_USAGE, m->rows.source.name, "axis %d is given twice: it is also %d",
                        axis, axis - m->ndim);
        p->reduced |= 1u << axis;
        p->axes[i] = axis;
    }
    return EXIT_DONE;
}

bool places_keep_first(const places *p) { return p->kind == BY_AXES && !(p->reduced & 1); }

int places_shape(const places *p, const matrix *m, int64_t n, int64_t shape[BF_MAX_DIMS]) {
    int ndim = 0;
    for (int d = 0; d < m->ndim; d++) {
        const int64_t all = d > 0 ? m->shape[d] : p->kind == BY_AXES ? n : p->slots;
        if (!(p->reduced & 1u << d)) shape[ndim++] = all;
    }
    return ndim;
}

/* The kept axes of runs come first. */
bool places_are_runs(const places *p, const matrix *m) {
    const unsigned kept = ~p->reduced & ((1u << m->ndim) - 1);
    return p->kind == BY_AXES && m->shape[0] >= 0 && kept && !(kept & (kept + 1));
}

int places_flatten(places *flat, matrix *m, const places *p) {
    int64_t shape[BF_MAX_DIMS], count = 1, length = 1;
    const int ndim = places_shape(p, m, m->shape[0], shape);
    for (int d = 0; d < ndim; d++) count *= shape[d];
    for (int d = ndim; d < m->ndim; d++) length *= m->shape[d];
    int64_t *offsets = malloc(((size_t)count + 1) * sizeof *offsets);
    *flat = (places){.kind = BY_SEGMENTS, .slots = count, .widened = offsets};
    flat->rows.source = (source){.name = m->rows.source.name, .fd = -1};
    if (!offsets) return fail_memory(m->rows.source.name);
    for (int64_t i = 0; i <= count; i++) offsets[i] = i * length;
    flat->elements = bf_array_of(BF_I64, offsets, count + 1);
    matrix_flatten(m);
    return EXIT_DONE;
}

/* ---- work ------------------------------------------------------------------------------------ */

bf_status places_reduce(const places *p, bf_context *context, bf_reduction op, const bf_array *a,
                        const bf_array *b, const bf_reduce_options *rules, const bf_array *values) {
    const bf_array *x = &p->elements;
    switch (p->kind) {
    case BY_AXES:
        return b ? bf_reduce_pair_axes(context, op, a, b, p->axes, p->axis_count, rules, values,
                                       NULL)
                 : bf_reduce_axes(context, op, a, p->axes, p->axis_count, rules, values, NULL);
    case BY_SEGMENTS:
        return b ? bf_reduce_pair_segments(context, op, a, b, x, rules, values, NULL)
                 : bf_reduce_segments(context, op, a, x, rules, values, NULL);
    default:
        return b ? bf_reduce_pair_index(context, op, a, b, x, rules, values, NULL)
                 : bf_reduce_index(context, op, a, x, rules, values, NULL);
    }
}

/* ---- slabs ----------------------------------------------------------------------------------- */

/* Offset or index i; one beyond 63 bits is negative. */
static int64_t place_at(const places *p, int64_t i) {
    const void *at = p->elements.data;
    switch (p->elements.dtype) {
    case BF_I32: return ((const int32_t *)at)[i];
    case BF_U32: return ((const uint32_t *)at)[i];
    default: return ((const int64_t *)at)[i];
    }
}

static int check_offsets(places *p, int64_t n) {
    const char *name = p->rows.source.name;
    const int64_t most = n < 0 ? INT64_MAX : n;
    int64_t before = 0;
    for (int64_t i = 0; i <= p->slots; i++) {
        const int64_t offset = place_at(p, i);
        if (offset < before || offset > most)
            return fail(EXIT_DATA, name,
                        "offset %" PRId64 " is %" PRId64
                        ": it decreases, or is outside 0 to %" PRId64,
                        i, offset, most);
        before = offset;
    }
    if (!p->clipped) p->clipped = malloc((size_t)(p->slots + 1) * sizeof *p->clipped);
    return p->clipped ? EXIT_DONE : fail_memory(name);
}

static int check_index(const places *p, int64_t n) {
    const char *name = p->rows.source.name;
    const int64_t count = p->elements.shape[0];
    if (n >= 0 && n != count)
        return fail(EXIT_DATA, name, "%s: there are %" PRId64 " indices, not %" PRId64,
                    bf_status_string(BF_E_SHAPE), count, n);
    if (p->slots == 0 && count > 0) return fail(EXIT_DATA, name, "there are indices, but no slots");
    for (int64_t i = 0; i < count; i++)
        if (place_at(p, i) < 0 || place_at(p, i) >= p->slots)
            return fail(EXIT_DATA, name, "index %" PRId64 " is %" PRId64 ", outside 0 to %" PRId64,
                        i, place_at(p, i), p->slots - 1);
    return EXIT_DONE;
}

int places_check(places *p, int64_t n) {
    return p->kind == BY_AXES       ? EXIT_DONE
           : p->kind == BY_SEGMENTS ? check_offsets(p, n)
                                    : check_index(p, n);
}

bool places_reach(const places *p, int64_t n) {
    return p->kind != BY_INDEX || n <= p->elements.shape[0];
}

/* The segment of a row begins with the last offset that is not behind it. */
static int64_t run_of_segment(const places *p, int64_t row, int64_t end, int64_t *slot) {
    int64_t at = 0, behind = p->slots + 1; /* offsets from `behind` on are behind the row */
    while (at < behind) {
        const int64_t middle = at + (behind - at) / 2;
        if (place_at(p, middle) <= row)
            at = middle + 1;
        else
            behind = middle;
    }
    const bool last = at > p->slots;
    *slot = last ? -1 : at - 1;
    return last || place_at(p, at) > end ? end : place_at(p, at);
}

int64_t places_run(const places *p, int64_t row, int64_t end, int64_t *slot) {
    *slot = 0;
    if (p->kind == BY_AXES) return places_keep_first(p) ? row + 1 : end;
    if (p->kind == BY_SEGMENTS) return run_of_segment(p, row, end, slot);
    *slot = place_at(p, row);
    while (++row < end && place_at(p, row) == *slot) continue;
    return row;
}

/* The offsets that segments have in the slab; of those outside they are equal. */
static bf_array clip_offsets(const places *p, int64_t first, int64_t n) {
    for (int64_t i = 0; i <= p->slots; i++) {
        const int64_t at = place_at(p, i) - first;
        p->clipped[i] = at < 0 ? 0 : at > n ? n : at;
    }
    return bf_array_of(BF_I64, p->clipped, p->slots + 1);
}

static bf_array part_of_index(const places *p, int64_t first, int64_t n) {
    const char *at = p->elements.data;
    return bf_array_of(p->elements.dtype, at + (size_t)first * bf_dtype_size(p->elements.dtype), n);
}

static bf_status absorb_axes(const places *p, bf_states *states, const bf_array *a,
                             const bf_array *b) {
    return b ? bf_states_absorb_pair_axes(states, a, b, p->axes, p->axis_count)
             : bf_states_absorb_axes(states, a, p->axes, p->axis_count);
}

bf_status places_absorb(const places *p, bf_states *states, const bf_array *slab, const bf_array *b,
                        int64_t first) {
    const int64_t n = slab->shape[0];
    if (p->kind == BY_AXES) return absorb_axes(p, states, slab, b);
    if (p->kind == BY_SEGMENTS) {
        const bf_array offsets = clip_offsets(p, first, n);
        return b ? bf_states_absorb_pair_segments(states, slab, b, &offsets)
                 : bf_states_absorb_segments(states, slab, &offsets);
    }
    const bf_array index = part_of_index(p, first, n);
    return b ? bf_states_absorb_pair_index(states, slab, b, &index)
             : bf_states_absorb_index(states, slab, &index);
}

/* The place of an index of the first axis in segment s: 0 before it, and its length behind it. */
static int64_t place_in_segment(const places *p, int64_t s, int64_t first) {
    const int64_t begin = place_at(p, s), end = place_at(p, s + 1);
    return first < begin ? 0 : first > end ? end - begin : first - begin;
}

bf_status places_seek(const places *p, bf_states *states, const matrix *m, int64_t first) {
    int64_t n = bf_states_count(states), next = first;
    for (int d = 1; d < m->ndim; d++)
        if (p->reduced & 1u << d) next *= m->shape[d];
    bf_array all = {&next, BF_I64, 1, {n}, {0}};
    if (first == 0) return BF_OK;
    if (p->kind != BY_SEGMENTS) return bf_states_seek(states, &all);
    int64_t *places_of = malloc((size_t)n * sizeof *places_of + 1);
    if (!places_of) return BF_E_MEMORY;
    for (int64_t i = 0; i < n; i++) places_of[i] = place_in_segment(p, i / (n / p->slots), first);
    all = bf_array_of(BF_I64, places_of, n);
    const bf_status st = bf_states_seek(states, &all);
    free(places_of);
    return st;
}
