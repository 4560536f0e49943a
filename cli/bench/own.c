/* bitfold's own side: makes the vectors of a point and what its work needs, and times passes. */
#include "bench/bench.h"
#include "runtime/progress.h"
#include "runtime/report.h"
#include "works/keys.h"
#include "works/measured.h"

#include <math.h>
#include <string.h>

enum { ALIGNMENT = 256 };

size_t bench_vector_bytes(const bench_point *p) {
    const size_t alignment = p->gpu ? ALIGNMENT : 64;
    return p->bytes / (size_t)p->vectors & ~(alignment - 1);
}

/* ---- fillers --------------------------------------------------------------------------------- */

void point_elements(const bench_point *p, size_t first, size_t n, void *to) {
    const char *dtype = strcmp(p->dtype, "u32") == 0 ? "i32" : p->dtype;
    if (first == 0) bench_fill(dtype, *dtype == 'f' ? "normal" : "uniform", to, n);
}

void point_keys(const bench_point *p, size_t first, size_t n, void *to) {
    bench_keys(p->work, p->data, p->count, first, n, to);
}

/* ---- vectors --------------------------------------------------------------------------------- */

static bf_status allocate(bench_own *o) {
    void *found = NULL;
    bf_status st = BF_OK;
    if (o->point.gpu)
        st = bf_memory_allocate(o->point.context, o->bytes, &found);
    else
        found = bench_alloc(o->bytes);
    o->memory = found;
    return st == BF_OK && !found ? BF_E_MEMORY : st;
}

/* On a GPU block by block. */
static bf_status fill(const bench_point *p, const point_vector *v, char *to) {
    if (!v->fill) return BF_OK;
    const size_t element = bf_dtype_size(v->dtype), most = p->gpu ? POINT_BLOCK / element : v->n;
    bf_status st = BF_OK;
    for (size_t first = 0; first < v->n && st == BF_OK; first += most) {
        const size_t now = v->n - first < most ? v->n - first : most;
        v->fill(p, first, now, p->gpu ? p->gpu->block : to);
        if (p->gpu)
            st = bf_memory_copy(p->context, to + first * element, p->gpu->block, now * element);
    }
    return st;
}

static size_t aligned_bytes(const point_vector *v) {
    return v->dtype == BF_NONE ? 0 : bench_gpu_aligned(v->n * bf_dtype_size(v->dtype));
}

/* Makes the vectors of work that is counted in items. */
static bf_status make_vectors(bench_own *o) {
    point_vector v[POINT_VECTORS] = {{0}};
    o->point.by->measure->vectors(&o->point, v);
    for (int i = 0; i < POINT_VECTORS; i++) o->bytes += aligned_bytes(&v[i]);
    bf_status st = allocate(o);
    char *at = o->memory;
    for (int i = 0; i < POINT_VECTORS && st == BF_OK; at += aligned_bytes(&v[i++])) {
        o->vectors[i] = bf_array_of(v[i].dtype, at, (int64_t)v[i].n);
        st = fill(&o->point, &v[i], at);
    }
    return st;
}

/* Takes the vectors from the memory of the point. */
static void take_vectors(bench_own *o) {
    const bench_point *p = &o->point;
    for (int i = 0; i < p->vectors; i++)
        o->vectors[i] =
            bf_array_of(bf_dtype_from_name(p->dtype), p->memory + (size_t)i * bench_vector_bytes(p),
                        (int64_t)p->count);
}

bf_status bench_own_open(const bench_point *point, bench_own *o) {
    const measure *m = point->by->measure;
    bf_status st = BF_OK;
    *o = (bench_own){.point = *point};
    if (m->item)
        st = make_vectors(o);
    else
        take_vectors(o);
    return st == BF_OK && m->open ? m->open(&o->point, o->vectors, &o->object) : st;
}

void bench_own_close(bench_own *o) {
    work_free(&o->object);
    if (o->bytes > 0 && o->point.gpu)
        bf_memory_free(o->point.context, o->memory);
    else if (o->bytes > 0)
        bench_free(o->memory, o->bytes);
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Returns the number of untimed passes before `passes` timed ones: on the CPU 1, or 0 before a
 * single pass; on a GPU an eighth of the passes and one more. */
static int warm_up(const bench_point *p, int passes) {
    return p->gpu ? passes / 8 + 1 : passes > 1;
}

static bf_status pass_once(const measure *m, bench_own *o) {
    const bench_point *p = &o->point;
    const size_t offset = (size_t)o->buffer * p->stride;
    bf_array v[3];
    if (p->buffers < 2) return m->pass(p, &o->object, o->vectors);
    for (int i = 0; i < 3; i++) {
        v[i] = o->vectors[i];
        v[i].data = (char *)v[i].data + offset;
    }
    o->buffer = (o->buffer + 1) % p->buffers;
    return m->pass(p, &o->object, v);
}

static bf_status begin_afresh(bench_own *o) {
    work_free(&o->object);
    o->object = (work_object){.first = 0};
    return o->point.by->measure->open(&o->point, o->vectors, &o->object);
}

/* Sets *seconds to the time of the passes, without what is not timed. */
static bf_status run_passes(bench_own *o, int passes, double *seconds) {
    const measure *m = o->point.by->measure;
    const double start = progress_clock();
    double untimed = 0;
    bf_status st = BF_OK;
    for (int i = 0; i < passes && st == BF_OK; i++) {
        const double began = m->afresh ? progress_clock() : 0;
        if (m->afresh && m->afresh(&o->point)) st = begin_afresh(o);
        if (m->afresh) untimed += progress_clock() - began;
        if (st == BF_OK) st = pass_once(m, o);
    }
    if (st == BF_OK && o->point.gpu) st = bf_context_synchronize(o->point.context);
    *seconds = progress_clock() - start - untimed;
    return st;
}

/* If a GPU cannot do the work, it is left out and the rest is measured. */
double bench_own_time(const bench_side *side, const bench_point *point, int passes) {
    bench_own *o = side->own;
    double seconds;
    o->buffer = 0;
    bf_status st = run_passes(o, warm_up(point, passes), &seconds);
    if (st == BF_OK) st = run_passes(o, passes, &seconds);
    if (st == BF_OK) return seconds / passes;
    fail_status(st, o->point.context, o->point.work);
    return point->gpu ? -1 : NAN;
}
