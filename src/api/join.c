/* Joins: a multimap of one side's rows by key, in which the other side's keys are looked up. */
#include "../../include/bitfold/group.h"

#include "../rules/entry.h"
#include "table.h"

#include <stdlib.h>

struct bf_pairs {
    int64_t size;
    int64_t *a, *b;
};

/* ---- keys that tables can have ----------------------------------------------------------------
 */

/* The dtype that keys are looked up as: narrow ones are widened. */
static bf_dtype wide_dtype(bf_dtype dtype) {
    if (bf_table_bytes(dtype) >= 4) return dtype;
    return bf_dtype_is_float(dtype) ? BF_F32 : BF_I32;
}

static uint32_t wide_bits(bf_dtype dtype, uint64_t bits) {
    if (dtype == BF_F16) return bf_f16_to_f32((uint16_t)bits);
    if (dtype == BF_BF16) return (uint32_t)bits << 16;
    return (uint32_t)bf_order_key(dtype, bits);
}

/* Replaces flat->data by a copy in 4 bytes each. */
static bf_status widen(bf_context *context, bf_dtype dtype, bf_flat *flat) {
    int bytes = bf_table_bytes(dtype);
    if (bytes >= 4 || flat->count == 0) return BF_OK;
    uint32_t *wide = malloc((size_t)flat->count * sizeof *wide);
    if (wide == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for keys");
    for (int64_t i = 0; i < flat->count; i++)
        wide[i] = wide_bits(dtype, bf_load_bits(flat->data + i * bytes, bytes));
    free(flat->copy);
    flat->copy = wide;
    flat->data = (char *)wide;
    return BF_OK;
}

static bf_status take_keys(bf_context *context, bf_dtype dtype, const bf_array *array,
                           bf_flat *flat) {
    bf_status status = bf_flat_take(context, dtype, array, flat);
    return status == BF_OK ? widen(context, dtype, flat) : status;
}

/* ---- pairs ------------------------------------------------------------------------------------
 */

static bf_pairs *make_pairs(int64_t size) {
    bf_pairs *p = malloc(sizeof *p);
    size_t bytes, n = size > 0 ? (size_t)size : 1;
    if (p == NULL) return NULL;
    bool fits = !__builtin_mul_overflow(n, 2 * sizeof *p->a, &bytes) && bytes < SIZE_MAX / 4;
    int64_t *rows = fits ? malloc(bytes) : NULL;
    if (rows == NULL) {
        free(p);
        return NULL;
    }
    *p = (bf_pairs){size, rows, rows + n};
    return p;
}

/* A job with a table of b's rows by key. */
typedef struct join {
    bf_context *context;
    const bf_table_backend *by;
    void *table;
    bf_flat a, b;
} join;

static bf_status enter_rows(join *j) {
    int64_t n = j->b.count, *rows = malloc((size_t)n * sizeof *rows);
    if (rows == NULL) return bf_fail(j->context, BF_E_MEMORY, "no memory for rows");
    for (int64_t i = 0; i < n; i++) rows[i] = i;
    bf_status status = j->by->insert(j->context, j->table, j->b.data, rows, n);
    free(rows);
    return status;
}

/* counts[i]: b's rows with the key of a's row i. */
static void repeat_rows(const int64_t *counts, int64_t n, int64_t *out) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < counts[i]; k++) *out++ = i;
}

static bf_status look_up(join *j, bf_pairs **pairs) {
    int64_t total = 0, n = j->a.count, *counts = malloc((size_t)n * sizeof *counts);
    if (counts == NULL) return bf_fail(j->context, BF_E_MEMORY, "no memory for counts");
    bf_status status = j->by->count(j->context, j->table, j->a.data, n, counts, &total);
    bf_pairs *made = status == BF_OK ? make_pairs(total) : NULL;
    if (status == BF_OK && made == NULL)
        status = bf_fail(j->context, BF_E_MEMORY, "no memory for %lld pairs", (long long)total);
    if (status == BF_OK && total > 0) {
        repeat_rows(counts, n, made->a);
        status = j->by->find_all(j->context, j->table, j->a.data, n, made->b);
    }
    free(counts);
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
    status = enter_rows(j);
    if (status == BF_OK) status = look_up(j, pairs);
    j->by->destroy(j->context, j->table);
    return status;
}

static bf_status place(bf_context *context, const bf_table_backend **by) {
    const bf_backend *backend = context->fixed != NULL ? context->fixed : &bf_backend_cpu;
    if (backend->tables == NULL)
        return bf_fail(context, BF_E_DEVICE, "joins are in host memory: ask for the device cpu");
    context->used = backend;
    if (context->fixed == NULL) context->reason = "joins are in host memory";
    *by = backend->tables;
    return BF_OK;
}

static bf_status no_pairs(bf_context *context, bf_pairs **pairs) {
    *pairs = make_pairs(0);
    return *pairs != NULL ? BF_OK : bf_fail(context, BF_E_MEMORY, "no memory for pairs");
}

bf_status bf_join(bf_context *context, const bf_array *a, const bf_array *b, uint64_t seed,
                  bf_pairs **pairs) {
    join j = {.context = context};
    if (context == NULL) return BF_E_ARGUMENT;
    if (a == NULL || b == NULL || pairs == NULL)
        return bf_fail(context, BF_E_ARGUMENT, "no array, or no place for the pairs");
    bf_status status = place(context, &j.by);
    if (status == BF_OK) status = take_keys(context, a->dtype, a, &j.a);
    if (status == BF_OK) status = take_keys(context, a->dtype, b, &j.b);
    if (status == BF_OK)
        status = j.a.count == 0 || j.b.count == 0 ? no_pairs(context, pairs)
                                                  : join_rows(&j, a->dtype, seed, pairs);
    bf_flat_release(&j.a);
    bf_flat_release(&j.b);
    return status;
}

void bf_pairs_destroy(bf_pairs *pairs) {
    if (pairs == NULL) return;
    free(pairs->a);
    free(pairs);
}

int64_t bf_pairs_size(const bf_pairs *pairs) { return pairs->size; }
const int64_t *bf_pairs_a(const bf_pairs *pairs) { return pairs->a; }
const int64_t *bf_pairs_b(const bf_pairs *pairs) { return pairs->b; }
