#include "table/numbers.h"

#include "sheet/output.h"

#include <stdlib.h>
#include <string.h>

/* ---- keys of one dtype ----------------------------------------------------------------------- */

/* The key columns of one side, as the dictionary takes them. */
typedef struct key_side {
    const bf_column *columns[BF_KEY_COLUMNS_MAX];
    bf_column changed[BF_KEY_COLUMNS_MAX]; /* columns that are not as they were read */
    bf_array arrays[BF_KEY_COLUMNS_MAX];
    void *memory[BF_KEY_COLUMNS_MAX]; /* theirs */
    bool *alone[BF_KEY_COLUMNS_MAX];  /* says for each row that it goes with none; NULL: nothing is
                                         known */
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

/* Whether a double is the integer. */
static bool is_double(text_i128 x, double value) {
    return value >= -0x1p127 && value < 0x1p127 && (text_i128)value == x;
}

/* Integers as floats: a fraction is the nearest, as it was read on the other side; an integer that
 * is none goes with no row. */
static void take_as_floats(const bf_array *from, int scale, double *floats, bool *alone) {
    const text_i128 power = text_power_of_ten(scale);
    for (int64_t i = 0; i < from->shape[0]; i++) {
        const bf_value v = output_element(from->dtype, scale, from->data, i);
        const text_i128 units = units_at(from->dtype, from->data, i);
        floats[i] = bf_value_f64(&v);
        alone[i] = units % power == 0 && !is_double(units / power, floats[i]);
    }
}

/* Integers in units of so many digits more, as i64 or i128; what these do not hold goes with no
 * row, for the other side holds all that it has. */
static void take_in_units(const bf_array *from, int digits, bf_dtype to, char *units, bool *alone) {
    const size_t bytes = bf_dtype_size(to);
    const text_i128 power = text_power_of_ten(digits);
    for (int64_t i = 0; i < from->shape[0]; i++) {
        text_i128 x;
        alone[i] = __builtin_mul_overflow(units_at(from->dtype, from->data, i), power, &x) ||
                   (to == BF_I64 && (x < INT64_MIN || x > INT64_MAX));
        memcpy(units + (size_t)i * bytes, &x, bytes); /* low bytes come first */
    }
}

static bool is_wide_number(bf_dtype dtype) { return units_are_integers(dtype) || dtype == BF_F64; }

units_form join_form_of(units_form a, units_form b) {
    const bool floats = a.dtype == BF_F64 || b.dtype == BF_F64;
    const bool wide = a.dtype == BF_I128 || b.dtype == BF_I128;
    const bf_dtype other = floats ? BF_F64 : wide ? BF_I128 : BF_I64;
    const bool comparable = is_wide_number(a.dtype) && is_wide_number(b.dtype);
    bf_time_kind time = a.time;
    if (!units_join_times(&time, b.time)) return (units_form){.dtype = BF_NONE};
    return (units_form){.dtype = a.dtype == b.dtype ? a.dtype
                                 : comparable       ? other
                                                    : BF_NONE,
                        .time = time,
                        .scale = floats              ? 0
                                 : a.scale > b.scale ? a.scale
                                                     : b.scale};
}

void join_take(const bf_array *from, int scale, units_form to, void *keys, bool *alone) {
    if (to.dtype == BF_F64)
        take_as_floats(from, scale, keys, alone);
    else
        take_in_units(from, to.scale - scale, to.dtype, keys, alone);
}

/* Gives both columns one form. */
static bool match_columns(key_sides *x, int k, const join_columns *columns) {
    units_form forms[SIDES];
    for (int s = 0; s < SIDES; s++)
        forms[s] =
            (units_form){dtype_of(x->sides[s].columns[k]), columns->scales[s][k], BF_TIME_NONE};
    const units_form form = join_form_of(forms[SIDE_A], forms[SIDE_B]);
    x->dtypes[k] = form.dtype;
    for (int s = 0; s < SIDES; s++) {
        key_side *side = &x->sides[s];
        if (units_are_same(forms[s], form)) continue;
        const bf_array *from = side->columns[k]->numbers;
        const size_t n = (size_t)from->shape[0];
        side->memory[k] = malloc(n * bf_dtype_size(form.dtype) + 1);
        side->alone[k] = malloc(n + 1);
        if (!side->memory[k] || !side->alone[k]) return false;
        join_take(from, forms[s].scale, form, side->memory[k], side->alone[k]);
        change_column(side, k, form.dtype, side->memory[k]);
    }
    return true;
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
