/* Joins: the keys of one side are looked up in a multimap of the other side's rows. */
#include "api/table/join.h"

#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "base/memory.h"
#include "base/spill/spool.h"
#include "seam/memory.h"

/* ---- keys for tables --------------------------------------------------------------------------
 */

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
        wide[i] = bf_join_wide(dtype, bf_load_bits(flat->data + i * bytes, bytes));
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
    *p = (bf_pairs){size, rows, rows + n, rows};
    return p;
}

static bf_status insert_rows(const bf_joining *j, void *table) {
    int64_t n = j->b.count, *rows = bf_alloc((size_t)n * sizeof *rows);
    if (rows == NULL) return bf_fail(j->context, BF_E_MEMORY, "no memory for rows");
    for (int64_t i = 0; i < n; i++) rows[i] = i;
    bf_status status = bf_watch_begin(j->context, bf_bytes_of(n, bf_key_bytes(j->dtype)));
    if (status == BF_OK) status = j->by->insert(j->context, table, j->b.data, rows, n);
    bf_free(rows);
    return bf_watch_end(j->context, status);
}

/* Writes row i of a once for each of the counts[i] rows of b with its key. */
static void repeat_rows(const int64_t *counts, int64_t n, int64_t *out) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < counts[i]; k++) *out++ = i;
}

static bf_status look_up_rows(const bf_joining *j, void *table, bf_pairs **pairs) {
    int64_t total = 0, n = j->a.count, *counts = bf_alloc((size_t)n * sizeof *counts);
    if (counts == NULL) return bf_fail(j->context, BF_E_MEMORY, "no memory for counts");
    int64_t bytes = bf_bytes_of(n, bf_key_bytes(j->dtype));
    bf_status status = bf_watch_begin(j->context, bytes / 2);
    if (status == BF_OK) status = j->by->count(j->context, table, j->a.data, n, counts, &total);
    bf_watch_end(j->context, status);
    bf_pairs *made = status == BF_OK ? make_pairs(total) : NULL;
    if (status == BF_OK && made == NULL)
        status = bf_fail(j->context, BF_E_MEMORY, "no memory for %lld pairs", (long long)total);
    if (status == BF_OK && total > 0) {
        repeat_rows(counts, n, made->memory);
        status = bf_watch_begin(j->context, bytes - bytes / 2);
        if (status == BF_OK)
            status = j->by->find_all(j->context, table, j->a.data, n, made->memory + total);
        bf_watch_end(j->context, status);
    }
    bf_free(counts);
    if (status == BF_OK)
        *pairs = made;
    else
        bf_pairs_destroy(made);
    return status;
}

bf_status bf_join_make_table(const bf_joining *j, void **table) {
    const bf_table_kind kind = {bf_join_dtype(j->dtype), BF_I64, BF_DUPLICATES_KEEP, j->seed};
    return j->by->create(j->context, &kind, table);
}

static bf_status join_rows(const bf_joining *j, bf_pairs **pairs) {
    void *table;
    bf_status status = bf_join_make_table(j, &table);
    if (status != BF_OK) return status;
    status = insert_rows(j, table);
    if (status == BF_OK) status = look_up_rows(j, table, pairs);
    j->by->destroy(j->context, table);
    return status;
}

/* Joins copies of narrow keys, or the keys themselves. */
static bf_status join_in_memory(const bf_joining *j, bf_pairs **pairs) {
    bf_joining wide = *j;
    wide.a.copy = wide.b.copy = NULL;
    bf_status status = widen_keys(j->context, j->dtype, &wide.a);
    if (status == BF_OK) status = widen_keys(j->context, j->dtype, &wide.b);
    if (status == BF_OK) status = join_rows(&wide, pairs);
    bf_flat_release(&wide.a);
    bf_flat_release(&wide.b);
    return status;
}

static bf_status place_join(bf_joining *j, const bf_array *a, const bf_array *b) {
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

static bf_status flatten_keys(const bf_joining *j, const bf_array *array, bf_flat *flat) {
    bf_status status = bf_flat_take(j->context, j->on, j->dtype, array, flat);
    bool on_host = j->on == &bf_backend_cpu || bf_key_bytes(j->dtype) < 4;
    return status == BF_OK && on_host ? fetch_keys(j->context, j->dtype, flat) : status;
}

static bf_status make_no_pairs(bf_context *context, bf_pairs **pairs) {
    bf_pairs *made = make_pairs(0);
    if (made == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for pairs");
    *pairs = made;
    return BF_OK;
}

static bf_status join_keys(const bf_joining *j, bf_pairs **pairs) {
    if (j->a.count == 0 || j->b.count == 0) return make_no_pairs(j->context, pairs);
    const bf_status status = join_in_memory(j, pairs);
    const bool spills = j->on == &bf_backend_cpu && bf_may_spill(j->context);
    return status == BF_E_MEMORY && spills ? bf_join_spilled(j, pairs) : status;
}

static bf_status join_arrays(bf_context *context, const bf_array *a, const bf_array *b,
                             uint64_t seed, bf_pairs **pairs) {
    bf_joining j = {.context = context, .seed = seed};
    if (a == NULL || b == NULL || pairs == NULL)
        return bf_fail(context, BF_E_ARGUMENT, "no array, or no place for the pairs");
    j.dtype = a->dtype;
    bf_status status = place_join(&j, a, b);
    if (status == BF_OK) status = flatten_keys(&j, a, &j.a);
    if (status == BF_OK) status = flatten_keys(&j, b, &j.b);
    if (status == BF_OK) status = join_keys(&j, pairs);
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
    if (pairs->memory == NULL) {
        bf_spool_forget(pairs->a, pairs->size * 8);
        bf_spool_forget(pairs->b, pairs->size * 8);
    }
    bf_free(pairs->memory);
    bf_free(pairs);
}

int64_t bf_pairs_size(const bf_pairs *pairs) { return pairs == NULL ? 0 : pairs->size; }
const int64_t *bf_pairs_a(const bf_pairs *pairs) { return pairs == NULL ? NULL : pairs->a; }
const int64_t *bf_pairs_b(const bf_pairs *pairs) { return pairs == NULL ? NULL : pairs->b; }
