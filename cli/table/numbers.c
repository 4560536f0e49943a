#include "table/numbers.h"

#include "runtime/output.h"
#include "text/number.h"

#include <stdlib.h>
#include <string.h>

/* ---- keys of one dtype ----------------------------------------------------------------------- */

/* The key columns of one side, as the dictionary takes them. */
typedef struct key_side {
    const bf_column *columns[BF_KEY_COLUMNS_MAX];
    bf_column changed[BF_KEY_COLUMNS_MAX]; /* those that are not as they were read */
    bf_array arrays[BF_KEY_COLUMNS_MAX];
    void *memory[BF_KEY_COLUMNS_MAX]; /* theirs */
    bool *alone[BF_KEY_COLUMNS_MAX];  /* of each row: it goes with none; NULL: nothing is known */
} key_side;

typedef struct key_sides {
    int keys;
    bf_dtype dtypes[BF_KEY_COLUMNS_MAX];
    key_side sides[SIDES];
} key_sides;

static bf_dtype dtype_of(const bf_column *c) { return c->numbers ? c->numbers->dtype : BF_NONE; }

/* Makes column k of a side anew, of these elements. */
static void change_column(key_side *s, int k, bf_dtype dtype, const void *data) {
    s->changed[k] = *s->columns[k];
    s->arrays[k] = bf_array_of(dtype, data, s->columns[k]->numbers->shape[0]);
    s->changed[k].numbers = &s->arrays[k];
    s->columns[k] = &s->changed[k];
}

static text_i128 power_of_ten(int n) {
    text_i128 power = 1;
    for (; n > 0; n--) power *= 10;
    return power;
}

/* Element i of an array of i64, u64 or i128. */
static text_i128 integer_at(const bf_array *a, int64_t i) {
    text_i128 wide;
    switch (a->dtype) {
    case BF_I64: return ((const int64_t *)a->data)[i];
    case BF_U64: return ((const uint64_t *)a->data)[i];
    default: memcpy(&wide, (const char *)a->data + 16 * i, sizeof wide); return wide;
    }
}

/* Whether a double is the integer. */
static bool is_double(text_i128 x, double value) {
    return value >= -0x1p127 && value < 0x1p127 && (text_i128)value == x;
}

/* Integers as floats: a fraction is the nearest, as it was read on the other side; an integer that
 * is none goes with no row. */
static bool take_as_floats(key_side *s, int k, int scale) {
    const bf_array *from = s->columns[k]->numbers;
    const int64_t n = from->shape[0];
    const text_i128 power = power_of_ten(scale);
    double *floats = s->memory[k] = malloc((size_t)n * sizeof *floats + 1);
    bool *alone = s->alone[k] = calloc((size_t)n + 1, sizeof *alone);
    if (!floats || !alone) return false;
    for (int64_t i = 0; i < n; i++) {
        const bf_value v = output_element(from->dtype, scale, from->data, i);
        const text_i128 units = integer_at(from, i);
        floats[i] = bf_value_f64(&v);
        alone[i] = units % power == 0 && !is_double(units / power, floats[i]);
    }
    change_column(s, k, BF_F64, floats);
    return true;
}

/* Integers in units of so many digits more, as i64 or i128; what these do not hold goes with no
 * row, for the other side holds all that it has. */
static bool take_in_units(key_side *s, int k, int digits, bf_dtype to) {
    const bf_array *from = s->columns[k]->numbers;
    const int64_t n = from->shape[0];
    const size_t bytes = bf_dtype_size(to);
    const text_i128 power = power_of_ten(digits);
    char *units = s->memory[k] = malloc((size_t)n * bytes + 1);
    bool *alone = s->alone[k] = calloc((size_t)n + 1, sizeof *alone);
    if (!units || !alone) return false;
    for (int64_t i = 0; i < n; i++) {
        text_i128 x;
        alone[i] = __builtin_mul_overflow(integer_at(from, i), power, &x) ||
                   (to == BF_I64 && (x < INT64_MIN || x > INT64_MAX));
        memcpy(units + (size_t)i * bytes, &x, bytes); /* low bytes come first */
    }
    change_column(s, k, to, units);
    return true;
}

/* Gives both columns one dtype and scale. i64 and u64 are taken as i64, and all as i128 if one is.
 */
static bool match_columns(key_sides *x, int k, const join_columns *columns) {
    const bf_dtype a = dtype_of(x->sides[SIDE_A].columns[k]);
    const bf_dtype b = dtype_of(x->sides[SIDE_B].columns[k]);
    const bool floats = a == BF_F64 || b == BF_F64;
    const bool wide = a == BF_I128 || b == BF_I128;
    x->dtypes[k] = a == b ? a : floats ? BF_F64 : wide ? BF_I128 : BF_I64;
    bool good = true;
    for (int s = 0; s < SIDES && good; s++) {
        key_side *side = &x->sides[s];
        const int scale = columns->scales[s][k], digits = columns->scales[!s][k] - scale;
        const bool same = dtype_of(side->columns[k]) == x->dtypes[k];
        if (!same && floats)
            good = take_as_floats(side, k, scale);
        else if (!floats && (!same || digits > 0))
            good = take_in_units(side, k, digits > 0 ? digits : 0, x->dtypes[k]);
    }
    return good;
}

static void close_sides(key_sides *x) {
    for (int s = 0; s < SIDES; s++)
        for (int k = 0; k < x->keys; k++) {
            free(x->sides[s].memory[k]);
            free(x->sides[s].alone[k]);
        }
    free(x);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* A row with a NULL, or with a number that the other side cannot have, goes with none. */
static void leave_out(int64_t *numbers, int64_t n, const bf_column *c, const bool *alone) {
    for (int64_t i = 0; alone && i < n; i++)
        if (alone[i]) numbers[i] = -1;
    for (int64_t i = 0; c->valid && i < n; i++) {
        const int64_t bit = c->first + i;
        if (bit % 8 == 0 && c->valid[bit / 8] == 0xff)
            i += 7;
        else if (!(c->valid[bit / 8] >> bit % 8 & 1))
            numbers[i] = -1;
    }
}

/* Where one side has no rows, the other's go with none. */
static bf_status number_none(join_numbers *numbers) {
    for (int s = 0; s < SIDES; s++)
        for (int64_t i = 0; i < numbers->rows[s]; i++) numbers->of[s][i] = -1;
    return BF_OK;
}

/* Numbers the keys of the side that has fewer rows, and looks up the others'. */
static bf_status number_sides(join_numbers *numbers, bf_context *context, const key_sides *x) {
    bf_dictionary *dictionary = NULL;
    bf_status st = bf_dictionary_create(context, x->keys, x->dtypes, &dictionary);
    const int fewer = numbers->rows[SIDE_A] < numbers->rows[SIDE_B] ? SIDE_A : SIDE_B;
    for (int i = 0; i < SIDES && st == BF_OK; i++) {
        const int s = i == 0 ? fewer : !fewer;
        const bf_array of = bf_array_of(BF_I64, numbers->of[s], numbers->rows[s]);
        st = i == 0 ? bf_dictionary_encode(dictionary, x->sides[s].columns, &of)
                    : bf_dictionary_find(dictionary, x->sides[s].columns, &of);
    }
    if (st == BF_OK) numbers->keys = bf_dictionary_size(dictionary);
    bf_dictionary_destroy(dictionary);
    return st;
}

int join_numbers_make(join_numbers *numbers, bf_context *context, const char *file,
                      const join_columns *columns, const int64_t counts[SIDES]) {
    key_sides *x = calloc(1, sizeof *x);
    int keys = columns->keys;
    bool good = x != NULL;
    *numbers = (join_numbers){.keys = 0};
    for (int s = 0; s < SIDES && good; s++) {
        memcpy(x->sides[s].columns, columns->of[s], (size_t)keys * sizeof *columns->of[s]);
        numbers->rows[s] = counts[s];
        numbers->of[s] = malloc((size_t)counts[s] * sizeof *numbers->of[s] + 1);
        good = numbers->of[s] != NULL;
    }
    if (good && (counts[SIDE_A] == 0 || counts[SIDE_B] == 0)) keys = 0;
    for (int k = 0; k < keys && good; k++) {
        x->keys++;
        good = match_columns(x, k, columns);
    }
    const bf_status st = !good       ? BF_E_MEMORY
                         : keys == 0 ? number_none(numbers)
                                     : number_sides(numbers, context, x);
    for (int s = 0; s < SIDES && st == BF_OK; s++)
        for (int k = 0; k < keys; k++)
            leave_out(numbers->of[s], counts[s], x->sides[s].columns[k], x->sides[s].alone[k]);
    if (x) close_sides(x);
    return st == BF_OK ? EXIT_DONE : fail_status(st, good ? context : NULL, file);
}

void join_numbers_close(join_numbers *numbers) {
    for (int s = 0; s < SIDES; s++) free(numbers->of[s]);
}
