#include "table/numbers.h"

#include <stdlib.h>
#include <string.h>

/* ---- keys of one dtype ----------------------------------------------------------------------- */

/* The key columns of one side, as the dictionary takes them. */
typedef struct key_side {
    const bf_column *columns[BF_KEY_COLUMNS_MAX];
    bf_column changed[BF_KEY_COLUMNS_MAX]; /* those that are not as they were read */
    bf_array arrays[BF_KEY_COLUMNS_MAX];
    double *floats[BF_KEY_COLUMNS_MAX]; /* their memory */
} key_side;

typedef struct key_sides {
    int keys;
    bf_dtype dtypes[BF_KEY_COLUMNS_MAX];
    bool halves[BF_KEY_COLUMNS_MAX]; /* one side is i64, the other u64 */
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

/* Integers as floats. */
static bool take_as_floats(key_side *s, int k) {
    const bf_array *from = s->columns[k]->numbers;
    const int64_t n = from->shape[0], *integers = from->data;
    const uint64_t *naturals = from->data;
    double *floats = malloc((size_t)n * sizeof *floats + 1);
    if (!floats) return false;
    for (int64_t i = 0; i < n; i++)
        floats[i] = from->dtype == BF_U64 ? (double)naturals[i] : (double)integers[i];
    s->floats[k] = floats;
    change_column(s, k, BF_F64, floats);
    return true;
}

/* Gives both columns one dtype. i64 and u64 are taken as i64: what has the highest bit has no equal
 * on the other side, which leave_out sees to. */
static bool match_columns(key_sides *x, int k) {
    const bf_dtype a = dtype_of(x->sides[SIDE_A].columns[k]);
    const bf_dtype b = dtype_of(x->sides[SIDE_B].columns[k]);
    const bool floats = a == BF_F64 || b == BF_F64;
    x->dtypes[k] = a == b ? a : floats ? BF_F64 : BF_I64;
    x->halves[k] = a != b && !floats;
    bool good = true;
    for (int s = 0; s < SIDES && a != b && good; s++) {
        key_side *side = &x->sides[s];
        if (dtype_of(side->columns[k]) == x->dtypes[k]) continue;
        if (floats)
            good = take_as_floats(side, k);
        else
            change_column(side, k, BF_I64, side->columns[k]->numbers->data);
    }
    return good;
}

static void close_sides(key_sides *x) {
    for (int s = 0; s < SIDES; s++)
        for (int k = 0; k < x->keys; k++) free(x->sides[s].floats[k]);
    free(x);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* A row with a NULL, or with an integer that the other side's dtype has not, goes with none. */
static void leave_out(int64_t *numbers, int64_t n, const bf_column *c, bool half) {
    for (int64_t i = 0; c->valid && i < n; i++) {
        const int64_t bit = c->first + i;
        if (bit % 8 == 0 && c->valid[bit / 8] == 0xff)
            i += 7;
        else if (!(c->valid[bit / 8] >> bit % 8 & 1))
            numbers[i] = -1;
    }
    const int64_t *integers = half ? c->numbers->data : NULL;
    for (int64_t i = 0; half && i < n; i++)
        if (integers[i] < 0) numbers[i] = -1;
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

int join_numbers_make(join_numbers *numbers, bf_context *context, const char *file, int keys,
                      const bf_column *const columns[SIDES][BF_KEY_COLUMNS_MAX],
                      const int64_t counts[SIDES]) {
    key_sides *x = calloc(1, sizeof *x);
    bool good = x != NULL;
    *numbers = (join_numbers){.keys = 0};
    for (int s = 0; s < SIDES && good; s++) {
        memcpy(x->sides[s].columns, columns[s], (size_t)keys * sizeof *columns[s]);
        numbers->rows[s] = counts[s];
        numbers->of[s] = malloc((size_t)counts[s] * sizeof *numbers->of[s] + 1);
        good = numbers->of[s] != NULL;
    }
    if (good && (counts[SIDE_A] == 0 || counts[SIDE_B] == 0)) keys = 0;
    for (int k = 0; k < keys && good; k++) {
        x->keys++;
        good = match_columns(x, k);
    }
    const bf_status st = !good       ? BF_E_MEMORY
                         : keys == 0 ? number_none(numbers)
                                     : number_sides(numbers, context, x);
    for (int s = 0; s < SIDES && st == BF_OK; s++)
        for (int k = 0; k < keys; k++)
            leave_out(numbers->of[s], counts[s], x->sides[s].columns[k], x->halves[k]);
    if (x) close_sides(x);
    return st == BF_OK ? EXIT_DONE : fail_status(st, good ? context : NULL, file);
}

void join_numbers_close(join_numbers *numbers) {
    for (int s = 0; s < SIDES; s++) free(numbers->of[s]);
}
