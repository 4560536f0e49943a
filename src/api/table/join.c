/* Joins: the keys of one side are looked up in a multimap of the other side's rows. */
#include <bitfold/group.h>

#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "api/runtime/flat.h"
#include "api/runtime/place.h"
#include "base/memory.h"
#include "rules/table/entry.h"
#include "seam/memory.h"
#include "seam/table.h"

struct bf_pairs {
    int64_t size;
    int64_t *a, *b;
};

/* ---- keys for tables --------------------------------------------------------------------------
 */

/* Returns the dtype in which keys are looked up: of equal keys, in any order. Narrow ones are
 * widened. */
static bf_dtype wide_dtype(bf_dtype dtype) {
    if (dtype == BF_I128) return BF_PAIR;
    if (bf_key_bytes(dtype) >= 4) return dtype;
    return bf_dtype_is_float(dtype) ? BF_F32 : BF_I32;
}

static uint32_t wide_bits(bf_dtype dtype, uint64_t bits) {
    if (dtype == BF_F16) return bf_f16_to_f32((uint16_t)bits);
    if (dtype == BF_BF16) return (uint32_t)bits << 16;
    return (uint32_t)bf_order_rank(dtype, bits);
}

/* Replaces flat's elements by others in host memory, which flat then owns. */
static void replace_elements(bf_flat *flat, void *elements) {
    bf_flat_release(flat);
    flat->by = &bf_backend_cpu;
    flat->copy = elements;
    flat->data = elements;
}

/* Replaces narrow elements by copies of 4 bytes each. */
static bf_status widen_keys(bf_context *context, bf_dtype dtype, bf_flat *flat) {
    int bytes = bf_key_bytes(dtype);
    if (bytes >= 4 || flat->count == 0) return BF_OK;
    uint32_t *wide = bf_backend_cpu.memory->allocate(context, (size_t)flat->count * sizeof *wide);
    if (wide == NULL) return BF_E_MEMORY;
    for (int64_t i = 0; i < flat->count; i++)
        wide[i] = wide_bits(dtype, bf_load_bits(flat->data + i * bytes, bytes));
    replace_elements(flat, wide);
    return BF_OK;
}

/* Copies elements from a GPU's memory to the host's. */
static bf_status fetch_keys(bf_context *context, bf_dtype dtype, bf_flat *flat) {
    size_t size = (size_t)flat->count * (size_t)bf_key_bytes(dtype);
    if (size == 0 || bf_where_is(flat->data, NULL) != BF_WHERE_DEVICE) return BF_OK;
    void *keys = bf_backend_cpu.memory->allocate(context, size);
    if (keys == NULL) return BF_E_MEMORY;
    bf_status status = bf_backend_open(context)->memory->copy(context, keys, flat->data, size);
    if (status == BF_OK)
        replace_elements(flat, keys);
    else
        bf_backend_cpu.memory->release(context, keys);
    return status;
}

/* ---- pairs ------------------------------------------------------------------------------------
 */

static bf_pairs *make_pairs(int64_t size) {
    bf_pairs *p = bf_alloc(sizeof *p);
    size_t bytes, n = size > 0 ? (size_t)size : 1;
    if (p == NULL) return NULL;
    bool fits = !__builtin_mul_overflow(n, 2 * sizeof *p->a, &bytes) && bytes < SIZE_MAX / 4;
    int64_t *rows = fits ? bf_alloc(bytes) : NULL;
    if (rows == NULL) {
        bf_free(p);
        return NULL;
    }
    *p = (bf_pairs){size, rows, rows + n};
    return p;
}

/* A join, with a multimap of b's rows by key. */
typedef struct join {
    bf_context *context;
    const bf_backend *on;       /* runs the join */
    const bf_table_backend *by; /* its functions for tables */
    void *table;
    bf_flat a, b;
    int64_t key_bytes; /* the keys of a and b */
} join;

static bf_status insert_rows(join *j) {
    int64_t n = j->b.count, *rows = bf_alloc((size_t)n * sizeof *rows);
    if (rows == NULL) return bf_fail(j->context, BF_E_MEMORY, "no memory for rows");
    for (int64_t i = 0; i < n; i++) rows[i] = i;
    bf_status status = bf_watch_begin(j->context, bf_bytes_of(n, j->key_bytes));
    if (status == BF_OK) status = j->by->insert(j->context, j->table, j->b.data, rows, n);
    bf_free(rows);
    return bf_watch_end(j->context, status);
}

/* Writes row i of a once for each of the counts[i] rows of b with its key. */
static void repeat_rows(const int64_t *counts, int64_t n, int64_t *out) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < counts[i]; k++) *out++ = i;
}

static bf_status look_up_rows(join *j, bf_pairs **pairs) {
    int64_t total = 0, n = j->a.count, *counts = bf_alloc((size_t)n * sizeof *counts);
    if (counts == NULL) return bf_fail(j->context, BF_E_MEMORY, "no memory for counts");
    int64_t bytes = bf_bytes_of(n, j->key_bytes);
    bf_status status = bf_watch_begin(j->context, bytes / 2);
    if (status == BF_OK) status = j->by->count(j->context, j->table, j->a.data, n, counts, &total);
    bf_watch_end(j->context, status);
    bf_pairs *made = status == BF_OK ? make_pairs(total) : NULL;
    if (status == BF_OK && made == NULL)
        status = bf_fail(j->context, BF_E_MEMORY, "no memory for %lld pairs", (long long)total);
    if (status == BF_OK && total > 0) {
        repeat_rows(counts, n, made->a);
        status = bf_watch_begin(j->context, bytes - bytes / 2);
        if (status == BF_OK) status = j->by->find_all(j->context, j->table, j->a.data, n, made->b);
        bf_watch_end(j->context, status);
    }
    bf_free(counts);
    if (status == BF_OK)
        *pairs = made;
    else
        bf_pairs_destroy(made);
    return status;
}

static bf_status join_rows(join *j, bf_dtype dtype, uint64_t seed, bf_pairs **pairs) {
    bf_table_kind kind = {wide_dtype(dtype), BF_I64, BF_DUPLICATES_KEEP, seed};
    bf_status status = j->by->create(j->context, &kind, &j->table);
    if (status != BF_OK) return status;
    status = insert_rows(j);
    if (status == BF_OK) status = look_up_rows(j, pairs);
    j->by->destroy(j->context, j->table);
    return status;
}

static bf_status place_join(join *j, const bf_array *a, const bf_array *b) {
    const bf_memory memory[] = {bf_flat_memory(a), bf_flat_memory(b)};
    const bf_demand demand = {.follows = true,
                              .on_host = "joins of keys in host memory are made there",
                              .on_gpu = "the keys are in a GPU's memory",
                              .n = 2,
                              .memory = memory};
    bf_status status = bf_place(j->context, &demand);
    j->on = j->context->used;
    j->by = j->on->table;
    return status;
}

static bf_status flatten_keys(const join *j, bf_dtype dtype, const bf_array *array, bf_flat *flat) {
    bf_status status = bf_flat_take(j->context, j->on, dtype, array, flat);
    bool on_host = j->on == &bf_backend_cpu || bf_key_bytes(dtype) < 4;
    if (status == BF_OK && on_host) status = fetch_keys(j->context, dtype, flat);
    return status == BF_OK ? widen_keys(j->context, dtype, flat) : status;
}

static bf_status make_no_pairs(bf_context *context, bf_pairs **pairs) {
    bf_pairs *made = make_pairs(0);
    if (made == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for pairs");
    *pairs = made;
    return BF_OK;
}

static bf_status join_arrays(bf_context *context, const bf_array *a, const bf_array *b,
                             uint64_t seed, bf_pairs **pairs) {
    join j = {.context = context};
    if (a == NULL || b == NULL || pairs == NULL)
        return bf_fail(context, BF_E_ARGUMENT, "no array, or no place for the pairs");
    j.key_bytes = bf_key_bytes(a->dtype);
    bf_status status = place_join(&j, a, b);
    if (status == BF_OK) status = flatten_keys(&j, a->dtype, a, &j.a);
    if (status == BF_OK) status = flatten_keys(&j, a->dtype, b, &j.b);
    if (status == BF_OK)
        status = j.a.count == 0 || j.b.count == 0 ? make_no_pairs(context, pairs)
                                                  : join_rows(&j, a->dtype, seed, pairs);
    bf_flat_release(&j.a);
    bf_flat_release(&j.b);
    return status;
}

bf_status bf_join(bf_context *context, const bf_array *a, const bf_array *b, uint64_t seed,
                  bf_pairs **pairs) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, join_arrays(context, a, b, seed, pairs));
}

void bf_pairs_destroy(bf_pairs *pairs) {
    if (pairs == NULL) return;
    bf_free(pairs->a);
    bf_free(pairs);
}

int64_t bf_pairs_size(const bf_pairs *pairs) { return pairs == NULL ? 0 : pairs->size; }
const int64_t *bf_pairs_a(const bf_pairs *pairs) { return pairs == NULL ? NULL : pairs->a; }
const int64_t *bf_pairs_b(const bf_pairs *pairs) { return pairs == NULL ? NULL : pairs->b; }
