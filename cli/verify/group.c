/* verify: groups and joins, compared by a checksum of their results. */
#include "verify/data.h"
#include "verify/verify.h"

#include <stdlib.h>

enum { ROWS = 65537, PIECES = 3, FEW = 1000, MANY = 10000 };

static const bf_reduction aggregates[] = {BF_SUM, BF_MEAN, BF_VAR, BF_MIN, BF_MAX};
enum { AGGREGATES = sizeof aggregates / sizeof *aggregates };

/* ---- groups ---------------------------------------------------------------------------------- */

static bf_status create_groups(bf_context *context, const subject *s, bf_groups **groups) {
    bf_aggregate list[AGGREGATES];
    for (int i = 0; i < AGGREGATES; i++) list[i] = (bf_aggregate){aggregates[i], s->b.dtype};
    const bf_groups_options made_of =
        BF_GROUPS_OPTIONS(.key = s->a.dtype, .count = AGGREGATES, .aggregates = list);
    return bf_groups_create(context, &made_of, groups);
}

static bf_status absorb_rows(bf_groups *groups, const bf_array *keys, const bf_array *values) {
    const bf_array *columns[AGGREGATES];
    for (int i = 0; i < AGGREGATES; i++) columns[i] = values;
    return bf_groups_absorb(groups, keys, columns);
}

static bf_status list_groups(bf_context *context, bf_groups *groups, const bf_array *keys,
                             const bf_array *counts, uint64_t *sum) {
    bf_array k = *keys, c = *counts;
    bf_status st = verify_move(context, keys, &k);
    if (st == BF_OK) st = verify_move(context, counts, &c);
    if (st == BF_OK) st = bf_groups_list(groups, &k, &c);
    if (st == BF_OK) st = verify_return(context, keys, &k);
    if (st == BF_OK) st = verify_return(context, counts, &c);
    verify_unmove(context, keys, &k);
    verify_unmove(context, counts, &c);
    *sum = verify_checksum(*sum, keys->data, (size_t)keys->shape[0] * data_size(keys->dtype));
    *sum = verify_checksum(*sum, counts->data, (size_t)counts->shape[0] * sizeof(int64_t));
    return st;
}

static bf_status results_of(bf_groups *groups, bf_value *values, int64_t n, uint64_t *sum) {
    const bf_reduce_options rules = BF_REDUCE_OPTIONS(.nan = BF_NAN_PROPAGATE);
    bf_status st = BF_OK;
    for (int which = 0; which < AGGREGATES && st == BF_OK; which++) {
        st = bf_groups_result(groups, which, &rules, values);
        for (int64_t i = 0; i < n && st == BF_OK; i++)
            *sum = verify_checksum(*sum, &values[i].as, verify_value_size(values[i].dtype));
    }
    return st;
}

static outcome tell_groups(bf_context *context, const subject *s, bf_groups *groups) {
    const int64_t n = bf_groups_size(groups);
    outcome r = {.value.dtype = BF_U64};
    void *keys = malloc((size_t)n * 16 + 1), *counts = malloc((size_t)n * 8 + 1);
    bf_value *values = calloc((size_t)n + 1, sizeof *values);
    const bf_array k = bf_array_of(s->a.dtype, keys, n), c = bf_array_of(BF_I64, counts, n);
    r.status = keys && counts && values ? list_groups(context, groups, &k, &c, &r.value.as.u64)
                                        : BF_E_MEMORY;
    if (r.status == BF_OK) r.status = results_of(groups, values, n, &r.value.as.u64);
    free(keys);
    free(counts);
    free(values);
    return r;
}

outcome verify_groups_result(bf_groups *groups) {
    size_t size = 0;
    outcome r = {.status = bf_groups_save_size(groups, &size)};
    void *bytes = r.status == BF_OK ? malloc(size) : NULL;
    if (r.status == BF_OK) r.status = bytes ? bf_groups_save(groups, bytes) : BF_E_MEMORY;
    if (r.status == BF_OK) r = verify_saved_checksum(bytes, size);
    free(bytes);
    return r;
}

/* Absorbs arrays in the memory of the device. */
static outcome in_one_pass(bf_context *context, const subject *s) {
    bf_array keys = s->a, values = s->b;
    bf_groups *groups = NULL;
    outcome r = {.status = create_groups(context, s, &groups)};
    if (r.status == BF_OK) r.status = verify_move(context, &s->a, &keys);
    if (r.status == BF_OK) r.status = verify_move(context, &s->b, &values);
    if (r.status == BF_OK) r.status = absorb_rows(groups, &keys, &values);
    if (r.status == BF_OK) r = tell_groups(context, s, groups);
    bf_groups_destroy(groups);
    verify_unmove(context, &s->a, &keys);
    verify_unmove(context, &s->b, &values);
    return r;
}

/* Absorbs three parts from the host's memory. Merges the third into the second, then the second
 * into the first. */
static outcome in_parts(bf_context *context, const subject *s) {
    const int64_t n = s->a.shape[0], cuts[] = {0, n / 7, n - n / 3, n};
    bf_groups *parts[PIECES] = {NULL, NULL, NULL};
    outcome r = {.status = BF_OK};
    for (int i = 0; i < PIECES && r.status == BF_OK; i++) {
        const bf_array keys = verify_slice(&s->a, cuts[i], cuts[i + 1]);
        const bf_array values = verify_slice(&s->b, cuts[i], cuts[i + 1]);
        r.status = create_groups(context, s, &parts[i]);
        if (r.status == BF_OK) r.status = absorb_rows(parts[i], &keys, &values);
    }
    if (r.status == BF_OK) r.status = bf_groups_merge(parts[1], parts[2]);
    if (r.status == BF_OK) r.status = bf_groups_merge(parts[0], parts[1]);
    if (r.status == BF_OK) r = tell_groups(context, s, parts[0]);
    for (int i = 0; i < PIECES; i++) bf_groups_destroy(parts[i]);
    return r;
}

/* ---- joins ----------------------------------------------------------------------------------- */

static outcome join_rows(bf_context *context, const bf_array *a, const bf_array *b, int64_t first,
                         uint64_t sum) {
    bf_pairs *pairs = NULL;
    outcome r = {.status = bf_join(context, a, b, 0, &pairs), .value.dtype = BF_U64};
    for (int64_t i = 0; r.status == BF_OK && i < bf_pairs_size(pairs); i++) {
        const int64_t pair[] = {bf_pairs_a(pairs)[i] + first, bf_pairs_b(pairs)[i]};
        sum = verify_checksum(sum, pair, sizeof pair);
    }
    r.value.as.u64 = sum;
    if (r.status == BF_OK) bf_pairs_destroy(pairs);
    return r;
}

/* Joins arrays in the memory of the device. */
static outcome join_whole(bf_context *context, const subject *s) {
    bf_array a = s->a, b = s->b;
    outcome r = {.status = verify_move(context, &s->a, &a)};
    if (r.status == BF_OK) r.status = verify_move(context, &s->b, &b);
    if (r.status == BF_OK) r = join_rows(context, &a, &b, 0, 0);
    verify_unmove(context, &s->a, &a);
    verify_unmove(context, &s->b, &b);
    return r;
}

/* Joins the left side in three parts, whose pairs follow each other. */
static outcome join_parts(bf_context *context, const subject *s) {
    const int64_t n = s->a.shape[0], cuts[] = {0, n / 7, n - n / 3, n};
    outcome r = {.status = BF_OK};
    for (int i = 0; i < PIECES && r.status == BF_OK; i++) {
        const bf_array piece = verify_slice(&s->a, cuts[i], cuts[i + 1]);
        r = join_rows(context, &piece, &s->b, cuts[i], r.value.as.u64);
    }
    return r;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int group_row(const machine *m, bf_dtype key, bf_dtype value, enum data_kind kind,
                     char *memory, verdict *v) {
    const int64_t different = key == BF_U32 || key == BF_PAIR ? MANY : FEW;
    char *values = memory + (size_t)ROWS * 16;
    subject s = {.op = "group", .data = data_names[kind], .whole = in_one_pass, .parts = in_parts};
    s.a = bf_array_of(key, memory, ROWS);
    s.b = bf_array_of(value, values, ROWS);
    data_fill_keys(kind, key, memory, ROWS, different);
    data_fill_keys(kind, value, values, ROWS, ROWS);
    return verify_row(m, &s, v);
}

static int join_row(const machine *m, bf_dtype key, char *memory, verdict *v) {
    subject s = {.op = "join", .whole = join_whole, .parts = join_parts};
    s.data = data_names[DATA_SPECIAL];
    data_fill_keys(DATA_SPECIAL, key, memory, ROWS / 2, ROWS / 8);
    const bf_array all = bf_array_of(key, memory, ROWS / 2);
    s.a = verify_slice(&all, 0, ROWS / 4);
    s.b = verify_slice(&all, ROWS / 4, ROWS / 2);
    return verify_row(m, &s, v);
}

static int all_rows(const machine *m, char *memory, verdict *v) {
    static const bf_dtype dtypes[] = {
#define BF_X(id, number, name, bytes, type) BF_##id,
        BF_DTYPE_LIST(BF_X)
#undef BF_X
    };
    int code = EXIT_DONE;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes && code == EXIT_DONE; i++) {
        code = group_row(m, dtypes[i], dtypes[i], DATA_PLAIN, memory, v);
        if (!data_is_float(dtypes[i])) continue;
        if (code == EXIT_DONE) code = group_row(m, dtypes[i], dtypes[i], DATA_SPREAD, memory, v);
        if (code == EXIT_DONE) code = group_row(m, dtypes[i], dtypes[i], DATA_SPECIAL, memory, v);
    }
    if (code == EXIT_DONE) code = group_row(m, BF_PAIR, BF_F64, DATA_PLAIN, memory, v);
    if (code == EXIT_DONE) code = join_row(m, BF_I32, memory, v);
    if (code == EXIT_DONE) code = join_row(m, BF_F64, memory, v);
    return code == EXIT_DONE ? join_row(m, BF_PAIR, memory, v) : code;
}

int verify_groups(const machine *m, verdict *v) {
    char *memory = malloc((size_t)ROWS * 32);
    const int code = memory ? all_rows(m, memory, v) : fail_status(BF_E_MEMORY, NULL, NULL);
    free(memory);
    return code;
}
