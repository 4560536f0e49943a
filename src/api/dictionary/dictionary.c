/* Dictionaries: check columns and arrays, and call the host's hash table. */
#include "seam/dictionary.h"

#include "api/runtime/array.h"
#include "api/runtime/column.h"
#include "api/runtime/enter.h"
#include "api/runtime/flat.h"
#include "base/memory.h"
#include "base/where.h"
#include "rules/key/rank.h"

/* All dictionaries are in the host's memory. */
static const bf_dictionary_backend *host(void) { return bf_backend_cpu.dictionary; }

struct bf_dictionary {
    bf_context *context;
    int columns;
    bf_dtype dtypes[BF_KEY_COLUMNS_MAX];
    bf_cpu_dictionary *inside;
};

/* ---- making ---------------------------------------------------------------------------------- */

static bf_status check_kind(bf_context *context, int count, const bf_dtype columns[]) {
    if (count < 1 || count > BF_KEY_COLUMNS_MAX || columns == NULL)
        return bf_fail(context, BF_E_ARGUMENT, "keys of %d columns; 1 to %d are possible", count,
                       BF_KEY_COLUMNS_MAX);
    for (int c = 0; c < count; c++)
        if (columns[c] != BF_NONE && (columns[c] == BF_PAIR || bf_key_bytes(columns[c]) == 0))
            return bf_fail(context, BF_E_DTYPE, "%s is no dtype of a key's column",
                           bf_dtype_name(columns[c]));
    return BF_OK;
}

static bf_status make_dictionary(bf_context *context, int count, const bf_dtype columns[],
                                 bf_dictionary **dictionary) {
    if (dictionary == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the dictionary");
    bf_status status = check_kind(context, count, columns);
    if (status != BF_OK) return status;
    bf_dictionary *d = bf_calloc(1, sizeof *d);
    if (d != NULL) d->inside = host()->create(count, columns);
    if (d == NULL || d->inside == NULL) {
        bf_free(d);
        return bf_fail(context, BF_E_MEMORY, "no memory for a dictionary");
    }
    d->context = context;
    d->columns = count;
    memcpy(d->dtypes, columns, (size_t)count * sizeof *columns);
    *dictionary = d;
    return BF_OK;
}

bf_status bf_dictionary_create(bf_context *context, int count, const bf_dtype columns[],
                               bf_dictionary **dictionary) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, make_dictionary(context, count, columns, dictionary));
}

void bf_dictionary_destroy(bf_dictionary *dictionary) {
    if (dictionary == NULL) return;
    host()->destroy(dictionary->inside);
    bf_free(dictionary);
}

int64_t bf_dictionary_size(const bf_dictionary *dictionary) {
    return dictionary == NULL ? 0 : host()->size(dictionary->inside);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* The columns of rows, and the copies that some needed. */
typedef struct rows {
    int64_t count;
    bf_key_data columns[BF_KEY_COLUMNS_MAX];
    bf_flat flats[BF_KEY_COLUMNS_MAX];
} rows;

static bf_status take_strings(bf_context *context, const bf_strings *given, bf_key_data *c,
                              int64_t *count) {
    bf_strings s;
    bf_status status = bf_strings_read(context, given, &s);
    *count = s.count;
    c->offsets = s.offsets;
    c->wide = s.offset == BF_I64;
    c->bytes = s.bytes;
    return status;
}

static bf_status take_numbers(bf_context *context, const bf_array *numbers, bf_key_data *c,
                              bf_flat *flat, int64_t *count) {
    bf_status status = bf_flat_take(context, &bf_backend_cpu, c->dtype, numbers, flat);
    if (status == BF_OK && numbers->ndim != 1)
        status =
            bf_fail(context, BF_E_SHAPE, "a key's column has one dimension, not %d", numbers->ndim);
    *count = flat->count;
    c->values = flat->data;
    return status;
}

static bf_status take_column(bf_context *context, const bf_column *given, bf_key_data *c,
                             bf_flat *flat, int64_t *count) {
    bf_column x;
    bf_status status = bf_column_read(context, given, c->dtype, &x);
    if (status != BF_OK) return status;
    c->valid = x.valid;
    c->first = x.first;
    return x.strings != NULL ? take_strings(context, x.strings, c, count)
                             : take_numbers(context, x.numbers, c, flat, count);
}

static bf_status take_columns(const bf_dictionary *d, const bf_column *const columns[], rows *r) {
    bf_context *context = d->context;
    if (columns == NULL) return bf_fail(context, BF_E_ARGUMENT, "no columns");
    for (int c = 0; c < d->columns; c++) {
        int64_t count = 0;
        r->columns[c] = (bf_key_data){.dtype = d->dtypes[c]};
        bf_status status = take_column(context, columns[c], &r->columns[c], &r->flats[c], &count);
        if (status != BF_OK) return status;
        if (c > 0 && count != r->count)
            return bf_fail(context, BF_E_SHAPE, "columns of %lld and %lld rows",
                           (long long)r->count, (long long)count);
        r->count = count;
    }
    return BF_OK;
}

static void release_columns(const bf_dictionary *d, rows *r) {
    for (int c = 0; c < d->columns; c++) bf_flat_release(&r->flats[c]);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bf_status check_vector(bf_context *context, const bf_array *a, int64_t n, const char *what) {
    if (a == NULL || bf_array_elements(a, bf_number_bytes(a->dtype)) < 0)
        return bf_fail(context, BF_E_ARGUMENT, "%s are not well formed", what);
    if (a->ndim != 1 || a->shape[0] != n)
        return bf_fail(context, BF_E_SHAPE, "%s are %lld, in one dimension", what, (long long)n);
    if (n > 0 && bf_where_is(a->data, NULL) == BF_WHERE_DEVICE)
        return bf_fail(context, BF_E_DEVICE, "%s are in host memory", what);
    return BF_OK;
}

/* An output of numbers or ranks: written in i64 first, in the array itself if it is such. */
typedef struct output {
    const bf_array *array;
    int64_t *values, *apart;
} output;

static bool is_number(bf_dtype dtype) { return dtype == BF_I32 || dtype == BF_I64; }

static bf_status open_output(bf_context *context, const bf_array *a, int64_t n, output *o) {
    bf_status status = check_vector(context, a, n, "the numbers");
    if (status != BF_OK) return status;
    if (!is_number(a->dtype))
        return bf_fail(context, BF_E_DTYPE, "numbers of keys are i32 or i64, not %s",
                       bf_dtype_name(a->dtype));
    status = bf_flat_check(context, a, a->dtype, "numbers");
    if (status != BF_OK) return status;
    *o = (output){.array = a, .values = a->data};
    const bool own = a->dtype == BF_I64 && (n < 2 || a->strides[0] == 1) &&
                     (uintptr_t)a->data % sizeof(int64_t) == 0;
    if (own) return BF_OK;
    o->values = o->apart = bf_alloc((size_t)n * sizeof(int64_t) + 1);
    return o->apart != NULL
               ? BF_OK
               : bf_fail(context, BF_E_MEMORY, "no memory for %lld numbers", (long long)n);
}

static char *element_of(const bf_array *a, int64_t i) {
    return (char *)a->data + i * a->strides[0] * bf_number_bytes(a->dtype);
}

static void put_numbers(const output *o) {
    const int64_t n = o->array->shape[0];
    const int bytes = bf_dtype_bytes(o->array->dtype);
    if (bytes == 4 && o->array->strides[0] == 1)
        for (int64_t i = 0; i < n; i++)
            bf_store_bits((char *)o->array->data + 4 * i, 4, (uint64_t)o->apart[i]);
    else
        for (int64_t i = 0; i < n; i++)
            bf_store_bits(element_of(o->array, i), bytes, (uint64_t)o->apart[i]);
}

static bf_status close_output(bf_status status, output *o) {
    if (status == BF_OK && o->apart != NULL) put_numbers(o);
    bf_free(o->apart);
    return status;
}

/* The most keys whose numbers fit. */
static int64_t most_keys(const output *o) {
    return o->array->dtype == BF_I64 ? INT64_MAX : (int64_t)INT32_MAX + 1;
}

static bf_status number_rows(bf_dictionary *d, const bf_column *const columns[],
                             const bf_array *numbers, bool add) {
    rows r = {0};
    output o = {0};
    bf_status status = take_columns(d, columns, &r);
    if (status == BF_OK) status = open_output(d->context, numbers, r.count, &o);
    if (status == BF_OK && r.count > 0)
        status = host()->number(d->context, d->inside, add ? most_keys(&o) : 0, r.columns, r.count,
                                o.values);
    status = close_output(status, &o);
    release_columns(d, &r);
    return status;
}

bf_status bf_dictionary_encode(bf_dictionary *dictionary, const bf_column *const columns[],
                               const bf_array *numbers) {
    if (dictionary == NULL || !bf_enter(dictionary->context)) return BF_E_ARGUMENT;
    return bf_leave(dictionary->context, number_rows(dictionary, columns, numbers, true));
}

bf_status bf_dictionary_find(bf_dictionary *dictionary, const bf_column *const columns[],
                             const bf_array *numbers) {
    if (dictionary == NULL || !bf_enter(dictionary->context)) return BF_E_ARGUMENT;
    return bf_leave(dictionary->context, number_rows(dictionary, columns, numbers, false));
}

static bf_status merge_keys(bf_dictionary *into, const bf_dictionary *from,
                            const bf_array *numbers) {
    const bool same = into->columns == from->columns &&
                      memcmp(into->dtypes, from->dtypes, sizeof into->dtypes) == 0;
    const int64_t n = bf_dictionary_size(from);
    if (!same) return bf_fail(into->context, BF_E_STATE, "the dictionaries have different columns");
    output o = {0};
    int64_t *apart = numbers == NULL ? bf_alloc((size_t)n * sizeof *apart + 1) : NULL;
    const bf_array nowhere = bf_array_of(BF_I64, apart, n);
    if (numbers == NULL && apart == NULL)
        return bf_fail(into->context, BF_E_MEMORY, "no memory for %lld numbers", (long long)n);
    bf_status status = open_output(into->context, numbers != NULL ? numbers : &nowhere, n, &o);
    if (status == BF_OK)
        status = host()->merge(into->context, into->inside, from->inside, most_keys(&o), o.values);
    status = close_output(status, &o);
    bf_free(apart);
    return status;
}

bf_status bf_dictionary_merge(bf_dictionary *into, const bf_dictionary *from,
                              const bf_array *numbers) {
    if (into == NULL || from == NULL || !bf_enter(into->context)) return BF_E_ARGUMENT;
    return bf_leave(into->context, merge_keys(into, from, numbers));
}

static bf_status rank_keys(bf_dictionary *d, const bf_array *ranks) {
    output o = {0};
    bf_status status = open_output(d->context, ranks, bf_dictionary_size(d), &o);
    if (status == BF_OK && ranks->dtype != BF_I64)
        status =
            bf_fail(d->context, BF_E_DTYPE, "ranks are i64, not %s", bf_dtype_name(ranks->dtype));
    if (status == BF_OK && bf_dictionary_size(d) > 0)
        status = host()->rank(d->context, d->inside, o.values);
    return close_output(status, &o);
}

bf_status bf_dictionary_ranks(bf_dictionary *dictionary, const bf_array *ranks) {
    if (dictionary == NULL || !bf_enter(dictionary->context)) return BF_E_ARGUMENT;
    return bf_leave(dictionary->context, rank_keys(dictionary, ranks));
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Keys whose column is asked for. */
typedef struct wanted {
    const bf_dictionary *d;
    int column;
    const bf_array *numbers; /* NULL: all */
    int64_t count;
    const bf_array *valid; /* NULL: not wanted */
} wanted;

static int64_t number_of(const wanted *w, int64_t i) {
    if (w->numbers == NULL) return i;
    const int bytes = bf_dtype_bytes(w->numbers->dtype);
    return bf_sign_extend(bf_load_bits(element_of(w->numbers, i), bytes), 8 * bytes);
}

static void put_valid(const wanted *w, int64_t i, bool valid) {
    if (w->valid != NULL) *element_of(w->valid, i) = valid;
}

static bf_status check_numbers(const wanted *w) {
    bf_context *context = w->d->context;
    const int64_t size = bf_dictionary_size(w->d);
    if (w->numbers == NULL) return BF_OK;
    if (!is_number(w->numbers->dtype))
        return bf_fail(context, BF_E_DTYPE, "numbers of keys are i32 or i64, not %s",
                       bf_dtype_name(w->numbers->dtype));
    for (int64_t i = 0; i < w->count; i++)
        if (number_of(w, i) < 0 || number_of(w, i) >= size)
            return bf_fail(context, BF_E_ARGUMENT, "number %lld is %lld, of %lld keys",
                           (long long)i, (long long)number_of(w, i), (long long)size);
    return BF_OK;
}

static bf_status want_column(wanted *w, bool strings) {
    bf_context *context = w->d->context;
    if (w->column < 0 || w->column >= w->d->columns)
        return bf_fail(context, BF_E_ARGUMENT, "keys of %d columns have no column %d",
                       w->d->columns, w->column);
    if ((w->d->dtypes[w->column] == BF_NONE) != strings)
        return bf_fail(context, BF_E_DTYPE, "column %d holds %s", w->column,
                       strings ? "numbers" : "strings");
    w->count = bf_dictionary_size(w->d);
    bf_status status = BF_OK;
    if (w->numbers != NULL) {
        const bool vector = bf_array_count(w->numbers) >= 0 && w->numbers->ndim == 1;
        if (vector) w->count = w->numbers->shape[0];
        status = check_vector(context, w->numbers, w->count, "the numbers");
    }
    if (status == BF_OK) status = check_numbers(w);
    if (status == BF_OK && w->valid != NULL) {
        status = check_vector(context, w->valid, w->count, "the valid bits");
        if (status == BF_OK) status = bf_flat_check(context, w->valid, BF_BOOL, "valid bits");
    }
    return status;
}

static bf_status write_values(wanted *w, const bf_array *values) {
    bf_context *context = w->d->context;
    bf_status status = want_column(w, false);
    if (status == BF_OK) status = check_vector(context, values, w->count, "the values");
    if (status == BF_OK) status = bf_flat_check(context, values, w->d->dtypes[w->column], "values");
    for (int64_t i = 0; i < w->count && status == BF_OK; i++) {
        char element[16] = {0};
        put_valid(w, i, host()->value(w->d->inside, number_of(w, i), w->column, element));
        memcpy(element_of(values, i), element, (size_t)bf_number_bytes(values->dtype));
    }
    return status;
}

bf_status bf_dictionary_values(const bf_dictionary *dictionary, int column, const bf_array *numbers,
                               const bf_array *values, const bf_array *valid) {
    if (dictionary == NULL || !bf_enter(dictionary->context)) return BF_E_ARGUMENT;
    wanted w = {.d = dictionary, .column = column, .numbers = numbers, .valid = valid};
    return bf_leave(dictionary->context, write_values(&w, values));
}

/* Writes all offsets; returns the last. */
static int64_t write_offsets(const wanted *w, const bf_array *offsets) {
    int64_t at = 0, n;
    for (int64_t i = 0; i < w->count; i++) {
        bf_store_bits(element_of(offsets, i), sizeof at, (uint64_t)at);
        put_valid(w, i, host()->string(w->d->inside, number_of(w, i), w->column, NULL, &n));
        at += n;
    }
    bf_store_bits(element_of(offsets, w->count), sizeof at, (uint64_t)at);
    return at;
}

static bf_status write_strings(wanted *w, const bf_array *offsets, char *bytes, int64_t room) {
    bf_context *context = w->d->context;
    bf_status status = want_column(w, true);
    if (status == BF_OK) status = check_vector(context, offsets, w->count + 1, "the offsets");
    if (status == BF_OK) status = bf_flat_check(context, offsets, BF_I64, "offsets");
    if (status != BF_OK) return status;
    const int64_t all = write_offsets(w, offsets);
    if (bytes == NULL) return BF_OK;
    if (all > room)
        return bf_fail(context, BF_E_SHAPE,
                       "the strings have %lld bytes, and there is room for %lld", (long long)all,
                       (long long)room);
    for (int64_t i = 0, n; i < w->count; i++, bytes += n)
        host()->string(w->d->inside, number_of(w, i), w->column, bytes, &n);
    return BF_OK;
}

bf_status bf_dictionary_strings(const bf_dictionary *dictionary, int column,
                                const bf_array *numbers, const bf_array *offsets, char *bytes,
                                int64_t room, const bf_array *valid) {
    if (dictionary == NULL || !bf_enter(dictionary->context)) return BF_E_ARGUMENT;
    wanted w = {.d = dictionary, .column = column, .numbers = numbers, .valid = valid};
    return bf_leave(dictionary->context, write_strings(&w, offsets, bytes, room));
}
