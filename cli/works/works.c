/* How works are computed: in one pass and in parts. */
#include "works/works.h"
#include "works/data.h"

#include <stdlib.h>
#include <string.h>

enum { PARTS = 3 };

const work *const works_on_data[] = {&work_reduce, &work_axis,       &work_order, &work_histogram,
                                     &work_map,    &work_expression, NULL};
const work *const works_of_own[] = {&work_julia, &work_table, &work_group, &work_dictionary, NULL};

/* ---- arrays ---------------------------------------------------------------------------------- */

bf_array work_slice(const bf_array *a, int64_t first, int64_t last) {
    char *data = a->data;
    return bf_array_of(a->dtype, data ? data + (size_t)first * data_size(a->dtype) : NULL,
                       last - first);
}

size_t work_bytes(const bf_array *a) {
    const int64_t n = a->ndim == 2 ? a->shape[0] * a->shape[1] : a->shape[0];
    return (size_t)n * data_size(a->dtype);
}

/* Sets *to to a copy of the array in the memory of the device; to the array itself if not `move`.
 */
static bf_status move_array(const task *t, bool move, const bf_array *from, bf_array *to) {
    const size_t bytes = work_bytes(from);
    void *memory;
    *to = *from;
    if (!move || !from->data) return BF_OK;
    const bf_status st = bf_memory_allocate(t->context, bytes, &memory);
    if (st != BF_OK) return st;
    to->data = memory;
    return bytes > 0 ? bf_memory_copy(t->context, memory, from->data, bytes) : BF_OK;
}

static void free_moved(const task *t, const bf_array *from, const bf_array *to) {
    if (to->data && to->data != from->data) bf_memory_free(t->context, to->data);
}

bf_status work_room(const task *t, bf_dtype dtype, int64_t n, bool move, result_room *r) {
    void *memory = calloc((size_t)n + 1, data_size(dtype) + 1);
    r->host = r->at = bf_array_of(dtype, memory, n);
    return memory ? move_array(t, move && t->gpu, &r->host, &r->at) : BF_E_MEMORY;
}

bf_status work_tell(task *t, const result_room *r) {
    const size_t bytes = work_bytes(&r->host);
    bf_status st = BF_OK;
    if (r->at.data != r->host.data && bytes > 0)
        st = bf_memory_copy(t->context, r->host.data, r->at.data, bytes);
    work_add(t, r->host.data, bytes);
    return st;
}

void work_room_free(const task *t, result_room *r) {
    free_moved(t, &r->host, &r->at);
    free(r->host.data);
}

bf_status work_tell_out(task *t, void *object) {
    (void)object;
    return work_tell(t, &t->out);
}

void work_close_out(task *t) { work_room_free(t, &t->out); }

/* ---- checksums ------------------------------------------------------------------------------- */

uint64_t work_checksum(uint64_t sum, const void *bytes, size_t n) {
    const char *from = bytes;
    for (size_t at = 0; at < n; at += 8) {
        uint64_t word = 0;
        memcpy(&word, from + at, n - at < 8 ? n - at : 8);
        sum = (sum ^ word) * 0x100000001b3u;
        sum ^= sum >> 32;
    }
    return sum;
}

void work_add(task *t, const void *bytes, size_t n) {
    t->value.as.u64 = work_checksum(t->value.as.u64, bytes, n);
}

/* All members of bf_value begin where the union does. */
size_t work_value_size(bf_dtype dtype) {
    switch (dtype) {
    case BF_I192: return sizeof(uint64_t[3]);
    case BF_F16:
    case BF_BF16:
    case BF_F32: return bf_dtype_size(dtype);
    default: return sizeof(uint64_t);
    }
}

void work_add_value(task *t, const bf_value *value) {
    work_add(t, &value->as, work_value_size(value->dtype));
}

outcome work_saved_checksum(const void *bytes, size_t size) {
    const unsigned char *last = (const unsigned char *)bytes + size - 8;
    outcome r = {.value.dtype = BF_U64};
    for (size_t i = 0; i < 8; i++) r.value.as.u64 |= (uint64_t)last[i] << 8 * i;
    return r;
}

/* ---- ways ------------------------------------------------------------------------------------ */

static bf_status create(task *t, void **object) {
    return t->work->create ? t->work->create(t, object) : BF_OK;
}

static bf_status tell(task *t, void *object) {
    return t->work->tell ? t->work->tell(t, object) : BF_OK;
}

static void destroy(const task *t, void *object) {
    if (t->work->destroy) t->work->destroy(object);
}

bf_status work_absorb_whole(task *t) {
    void *object = NULL;
    bf_status st = create(t, &object);
    if (st == BF_OK) st = t->work->absorb(t, object, 0, t->a.shape[0]);
    if (st == BF_OK) st = tell(t, object);
    destroy(t, object);
    return st;
}

/* Merges the third part into the second, then the second into the first. */
static bf_status merge(const task *t, void *parts[PARTS]) {
    bf_status st = BF_OK;
    for (int i = PARTS - 1; i > 0 && st == BF_OK && t->work->merge; i--)
        st = t->work->merge(parts[i - 1], parts[i]);
    return st;
}

bf_status work_absorb_parts(task *t) {
    const int64_t n = t->a.shape[0], cuts[] = {0, n / 7, n - n / 3, n};
    void *parts[PARTS] = {NULL};
    bf_status st = BF_OK;
    for (int i = 0; i < PARTS && st == BF_OK; i++) {
        st = create(t, &parts[i]);
        if (st == BF_OK) st = t->work->absorb(t, parts[i], cuts[i], cuts[i + 1]);
    }
    if (st == BF_OK) st = merge(t, parts);
    if (st == BF_OK) st = tell(t, parts[0]);
    for (int i = 0; i < PARTS; i++) destroy(t, parts[i]);
    return st;
}

static bf_status compute(task *t, bool parts) {
    const work *w = t->work;
    bf_status st = w->open ? w->open(t) : BF_OK;
    if (st == BF_OK && parts)
        st = w->parts ? w->parts(t) : work_absorb_parts(t);
    else if (st == BF_OK)
        st = w->whole ? w->whole(t) : work_absorb_whole(t);
    if (w->close) w->close(t);
    return st;
}

/* Computes one kind, and goes on with the checksum of *value. */
static bf_status compute_kind(const task *given, bool parts, bf_value *value) {
    task t = *given;
    t.value = *value;
    t.moved = t.gpu && !parts && !(t.work->stays && t.work->stays(&t));
    bf_status st = move_array(&t, t.moved, &given->a, &t.a);
    if (st == BF_OK) st = move_array(&t, t.moved, &given->b, &t.b);
    if (st == BF_OK) st = compute(&t, parts);
    free_moved(&t, &given->a, &t.a);
    free_moved(&t, &given->b, &t.b);
    *value = t.value;
    return st;
}

outcome work_compute(const task *given, bf_context *context, bool gpu, bool parts) {
    task t = *given;
    outcome r = {.value.dtype = BF_U64};
    t.context = context;
    t.gpu = gpu;
    do r.status = compute_kind(&t, parts, &r.value);
    while (++t.kind < t.kinds && r.status == BF_OK);
    return r;
}
