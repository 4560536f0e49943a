/* How works are computed: in one pass and in parts. */
#include "works/works.h"
#include "runtime/info.h"
#include "works/data.h"

#include <stdlib.h>
#include <string.h>

const work *const works_on_data[] = {&work_reduce,    &work_axis,    &work_order,
                                     &work_histogram, &work_map,     &work_expression,
                                     &work_scan,      &work_rolling, NULL};
const work *const works_of_own[] = {&work_julia, &work_table, &work_group, &work_dictionary, NULL};

/* ---- arrays ---------------------------------------------------------------------------------- */

bool work_always(const task *t) {
    (void)t;
    return true;
}

bf_array work_slice(const bf_array *a, int64_t first, int64_t last) {
    bf_array part = *a;
    const size_t row = (size_t)a->strides[0] * data_size(a->dtype);
    if (a->data) part.data = (char *)a->data + (size_t)first * row;
    part.shape[0] = last - first;
    return part;
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

bf_status work_add_array(task *t, bf_status st, const bf_array *a) {
    if (st == BF_OK) work_add(t, a->data, work_bytes(a));
    return st;
}

void work_add_value(task *t, const bf_value *value) {
    work_add(t, &value->as, work_value_size(value->dtype));
}

static bf_status saved_checksum(const statefile *saved, uint64_t *sum) {
    unsigned char *bytes = NULL;
    size_t size = 0;
    const bf_status st = statefile_copy(saved, &bytes, &size);
    for (size_t i = 0; i < 8 && st == BF_OK; i++) *sum |= (uint64_t)bytes[size - 8 + i] << 8 * i;
    free(bytes);
    return st;
}

/* A description has many values, and a product is soon 0 or infinite. */
static bool has_value(const bf_state *state) {
    return state && state_info(state).op != BF_DESCRIBE && state_info(state).op != BF_PROD;
}

outcome work_result(const statefile *saved, const bf_reduce_options *rules) {
    outcome r = {.value.dtype = BF_U64};
    r.status = has_value(saved->state) ? bf_state_result(saved->state, rules, &r.value)
                                       : saved_checksum(saved, &r.value.as.u64);
    return r;
}

bf_status work_tell_saved(task *t, const statefile *saved) {
    const outcome r = work_result(saved, &BF_REDUCE_OPTIONS(.nan = t->nan));
    t->value = r.value;
    return r.status;
}

/* ---- ways ------------------------------------------------------------------------------------ */

int64_t work_cut(int64_t n, int cut, int parts) {
    const int64_t cuts[] = {0, n / 7, n - n / 3};
    return cut == parts ? n : cuts[cut];
}

void work_free(work_object *o) {
    statefile_free(&o->saved);
    bf_expression_destroy(o->expression);
    bf_table_destroy(o->table);
    bf_dictionary_destroy(o->dictionary);
}

/* Merges the last part into the one before it, and so on up to the first. */
static bf_status merge(const task *t, work_object *parts, int n) {
    bf_status st = BF_OK;
    for (int i = n - 1; i > 0 && st == BF_OK && t->work->create; i--)
        st = t->work->merge ? t->work->merge(&parts[i - 1], &parts[i])
                            : statefile_merge(&parts[i - 1].saved, &parts[i].saved);
    return st;
}

static bf_status tell(task *t, work_object *o) {
    if (t->work->tell) return t->work->tell(t, o);
    return t->work->create ? work_tell_saved(t, &o->saved) : work_tell(t, &t->out);
}

bf_status work_absorb(task *t, int n) {
    const work *w = t->work;
    const bool in_turn = w->in_turn && w->in_turn(t);
    const int64_t rows = t->a.shape[0];
    work_object parts[WORK_PARTS] = {{.first = 0}};
    bf_status st = BF_OK;
    for (int i = 0; i < n && st == BF_OK && w->create; i++) st = w->create(t, &parts[i]);
    for (int i = 0; i < n && st == BF_OK; i++) {
        work_object *into = &parts[in_turn ? 0 : i];
        into->first = work_cut(rows, i, n);
        into->last = work_cut(rows, i + 1, n);
        st = w->absorb(t, into, into->first, into->last);
    }
    if (st == BF_OK) st = merge(t, parts, n);
    if (st == BF_OK) st = tell(t, &parts[0]);
    for (int i = 0; i < n; i++) work_free(&parts[i]);
    return st;
}

static bf_status compute(task *t, bool parts) {
    const work *w = t->work;
    bf_status (*way)(task *) = parts ? w->parts : w->whole;
    bf_status st = w->open ? w->open(t) : BF_OK;
    if (st == BF_OK) st = way ? way(t) : work_absorb(t, parts ? WORK_PARTS : 1);
    work_room_free(t, &t->out);
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
