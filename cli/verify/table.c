/* verify: tables. Inserts keys, erases some and inserts them again. Compares tables by a checksum
 * of all their answers and their lists. */
#include "verify/data.h"
#include "verify/verify.h"

#include <stdlib.h>

enum { ENTRIES = 65537, PIECES = 3 };

typedef struct policy {
    bf_dtype key, value;
    bf_duplicates duplicates;
} policy;

static const policy policies[] = {
    {BF_I32, BF_I32, BF_DUPLICATES_FIRST},  {BF_I32, BF_I32, BF_DUPLICATES_LAST},
    {BF_I32, BF_I32, BF_DUPLICATES_LEAST},  {BF_I32, BF_I32, BF_DUPLICATES_GREATEST},
    {BF_I32, BF_I32, BF_DUPLICATES_ADD},    {BF_I32, BF_I32, BF_DUPLICATES_KEEP},
    {BF_U32, BF_F64, BF_DUPLICATES_LEAST},  {BF_I64, BF_U64, BF_DUPLICATES_ADD},
    {BF_U64, BF_U32, BF_DUPLICATES_KEEP},   {BF_F32, BF_F32, BF_DUPLICATES_GREATEST},
    {BF_F64, BF_NONE, BF_DUPLICATES_FIRST}, {BF_PAIR, BF_PAIR, BF_DUPLICATES_LAST},
    {BF_PAIR, BF_F32, BF_DUPLICATES_KEEP}};
enum { POLICIES = sizeof policies / sizeof *policies };

/* The answers of a table for every key, and its list: in the host's memory, and in the memory
 * (`at`) that the calls write to. */
enum { FOUND, VALUES, COUNTS, LIST_KEYS, LIST_VALUES, ANSWERS };
typedef struct answers {
    bf_array host[ANSWERS], at[ANSWERS];
} answers;

static bool has_values(const subject *s) { return s->b.dtype != BF_NONE; }

static const bf_array *or_null(const subject *s, const bf_array *values) {
    return has_values(s) ? values : NULL;
}

static void clear_answers(bf_context *context, answers *a) {
    for (int i = 0; i < ANSWERS; i++) {
        if (a->at[i].data) verify_unmove(context, &a->host[i], &a->at[i]);
        free(a->host[i].data);
    }
}

static bf_status make_answers(bf_context *context, const subject *s, int64_t size, bool move,
                              answers *a) {
    const bf_dtype dtypes[ANSWERS] = {BF_BOOL, s->b.dtype, BF_I64, s->a.dtype, s->b.dtype};
    bf_status st = BF_OK;
    for (int i = 0; i < ANSWERS && st == BF_OK; i++) {
        const int64_t n = i < LIST_KEYS ? s->a.shape[0] : size;
        void *memory = calloc((size_t)n + 1, data_size(dtypes[i]) + 1);
        a->host[i] = a->at[i] = bf_array_of(dtypes[i], memory, n);
        if (!memory) st = BF_E_MEMORY;
        if (st == BF_OK && move) st = verify_move(context, &a->host[i], &a->at[i]);
    }
    return st;
}

static bf_status ask_keys(bf_table *table, const subject *s, const bf_array *keys,
                          const answers *a) {
    bf_status st = bf_table_find(table, keys, or_null(s, &a->at[VALUES]), &a->at[FOUND]);
    if (st == BF_OK) st = bf_table_count(table, keys, &a->at[COUNTS]);
    if (st == BF_OK)
        st = bf_table_export(table, &a->at[LIST_KEYS], or_null(s, &a->at[LIST_VALUES]));
    return st;
}

/* Returns a checksum of the table's answers and lists. They are written to the device's memory if
 * the keys are there. */
static outcome tell_table(bf_context *context, const subject *s, bf_table *table,
                          const bf_array *keys) {
    answers a = {.host = {{0}}};
    outcome r = {.value.dtype = BF_U64};
    r.status = make_answers(context, s, bf_table_size(table), keys->data != s->a.data, &a);
    if (r.status == BF_OK) r.status = ask_keys(table, s, keys, &a);
    for (int i = 0; i < ANSWERS && r.status == BF_OK; i++) {
        const size_t bytes = (size_t)a.host[i].shape[0] * data_size(a.host[i].dtype);
        r.status = verify_return(context, &a.host[i], &a.at[i]);
        r.value.as.u64 = verify_checksum(r.value.as.u64, a.host[i].data, bytes);
    }
    clear_answers(context, &a);
    return r;
}

static bf_status insert_keys(bf_table *table, const subject *s, const bf_array *keys,
                             const bf_array *values, int64_t first, int64_t last) {
    const bf_array k = verify_slice(keys, first, last), v = verify_slice(values, first, last);
    return bf_table_insert(table, &k, or_null(s, &v));
}

static bf_status erase_keys(bf_table *table, const bf_array *keys, int64_t first, int64_t last) {
    const bf_array k = verify_slice(keys, first, last);
    return bf_table_erase(table, &k, NULL);
}

static bf_status fill_whole(bf_table *table, const subject *s, const bf_array *keys,
                            const bf_array *values) {
    const int64_t n = keys->shape[0];
    bf_status st = insert_keys(table, s, keys, values, 0, n);
    if (st == BF_OK) st = erase_keys(table, keys, 0, n / 5);
    return st == BF_OK ? insert_keys(table, s, keys, values, n / 9, n / 3) : st;
}

/* Makes the same table in parts, after reserving room. Inserts the last keys one by one. */
static bf_status fill_parts(bf_table *table, const subject *s, const bf_array *keys,
                            const bf_array *values) {
    const int64_t n = keys->shape[0], one_by_one = n / 3 - 50;
    const int64_t cuts[] = {0, n / 7, n - n / 3, n};
    const size_t key = data_size(keys->dtype), value = data_size(values->dtype);
    bf_status st = bf_table_reserve(table, n);
    for (int i = 0; i < PIECES && st == BF_OK; i++)
        st = insert_keys(table, s, keys, values, cuts[i], cuts[i + 1]);
    if (st == BF_OK) st = erase_keys(table, keys, n / 9, n / 5);
    if (st == BF_OK) st = erase_keys(table, keys, 0, n / 9);
    if (st == BF_OK) st = insert_keys(table, s, keys, values, n / 9, one_by_one);
    for (int64_t i = one_by_one; i < n / 3 && st == BF_OK; i++) {
        const char *at = (char *)keys->data + (size_t)i * key;
        const char *with = has_values(s) ? (char *)values->data + (size_t)i * value : NULL;
        st = bf_table_insert_one(table, at, with);
    }
    return st;
}

static bf_status create_table(bf_context *context, const policy *p, bf_table **table) {
    const bf_table_options made_of =
        BF_TABLE_OPTIONS(.key = p->key, .value = p->value, .duplicates = p->duplicates);
    return bf_table_create(context, &made_of, table);
}

/* Inserts arrays in the memory of the device. */
static outcome in_one_pass(bf_context *context, const subject *s) {
    bf_array keys = s->a, values = s->b;
    bf_table *table = NULL;
    outcome r = {.status = create_table(context, s->about, &table)};
    if (r.status == BF_OK) r.status = verify_move(context, &s->a, &keys);
    if (r.status == BF_OK) r.status = verify_move(context, &s->b, &values);
    if (r.status == BF_OK) r.status = fill_whole(table, s, &keys, &values);
    if (r.status == BF_OK) r = tell_table(context, s, table, &keys);
    bf_table_destroy(table);
    verify_unmove(context, &s->a, &keys);
    verify_unmove(context, &s->b, &values);
    return r;
}

/* Inserts parts from the host's memory. */
static outcome in_parts(bf_context *context, const subject *s) {
    bf_table *table = NULL;
    outcome r = {.status = create_table(context, s->about, &table)};
    if (r.status == BF_OK) r.status = fill_parts(table, s, &s->a, &s->b);
    if (r.status == BF_OK) r = tell_table(context, s, table, &s->a);
    bf_table_destroy(table);
    return r;
}

int verify_tables(const machine *m, verdict *v) {
    subject s = {.op = "table", .whole = in_one_pass, .parts = in_parts};
    char *keys = malloc((size_t)ENTRIES * 16), *values = malloc((size_t)ENTRIES * 16);
    int code = keys && values ? EXIT_DONE : fail_status(BF_E_MEMORY, NULL, NULL);
    for (int i = 0; i < POLICIES && code == EXIT_DONE; i++) {
        const policy *p = &policies[i];
        data_fill_keys(DATA_SPECIAL, p->key, keys, ENTRIES, ENTRIES / 4);
        data_fill_keys(DATA_SPECIAL, p->value, values, ENTRIES, ENTRIES);
        s.a = bf_array_of(p->key, keys, ENTRIES);
        s.b = bf_array_of(p->value, values, p->value ? ENTRIES : 0);
        s.data = bf_duplicates_name(p->duplicates);
        s.about = p;
        code = verify_row(m, &s, v);
    }
    free(keys);
    free(values);
    return code;
}
