#include "group/ordered.h"

#include "sheet/output.h"
#include "text/item.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what can be sorted -----------------------------------------------------------------------
 */

/* Replaces rows of key columns by their ranks: numbers in the same order. */
static bf_status rank_rows(const shown *s, int count, const bf_dtype dtypes[],
                           const bf_column *const columns[], int64_t *ranks) {
    bf_dictionary *d = NULL;
    const bf_array numbers = bf_array_of(BF_I64, ranks, s->n);
    bf_status st = bf_dictionary_create(s->groups->table->context, count, dtypes, &d);
    if (st == BF_OK) st = bf_dictionary_encode(d, columns, &numbers);
    const int64_t n = bf_dictionary_size(d);
    int64_t *of = malloc((size_t)n * sizeof *of + 1);
    const bf_array all = bf_array_of(BF_I64, of, n);
    if (st == BF_OK) st = of ? bf_dictionary_ranks(d, &all) : BF_E_MEMORY;
    for (int64_t i = 0; i < s->n && st == BF_OK; i++) ranks[i] = of[ranks[i]];
    free(of);
    bf_dictionary_destroy(d);
    return st;
}

static bf_status rank_strings(const shown *s, const bf_strings *strings, int64_t *ranks) {
    static const bf_dtype kind = BF_NONE;
    bf_strings some = *strings;
    some.count = s->n;
    const bf_column column = {.size = sizeof column, .strings = &some};
    const bf_column *const columns[] = {&column};
    return rank_rows(s, 1, &kind, columns, ranks);
}

static bool is_signed(bf_dtype dtype) {
    return dtype == BF_BOOL || (dtype >= BF_I8 && dtype <= BF_I64);
}

/* Between integers of 64 bits. */
static void words_of_float(double x, uint64_t words[ORDERED_WORDS]) {
    const double whole = floor(x), fraction = (x - whole) * 0x1p64, first = floor(fraction);
    const bool large = whole >= 0x1p64;
    words[0] = whole < 0 ? UINT64_MAX : 0;
    words[1] = whole < 0 ? UINT64_MAX : large;
    words[2] = whole < 0 ? (uint64_t)(int64_t)whole : (uint64_t)(large ? 0 : whole);
    words[3] = (uint64_t)first;
    words[4] = (uint64_t)((fraction - first) * 0x1p64);
}

/* The words of -x. */
static void negate_words(uint64_t words[ORDERED_WORDS]) {
    bool carry = true;
    for (int i = ORDERED_WORDS - 1; i >= 0; i--) {
        words[i] = ~words[i] + carry;
        carry = carry && words[i] == 0;
    }
}

/* words /= 10^scale. What is less than a unit is cut off: of up to 38 digits behind the point,
 * different numbers stay different. */
static void divide_words(uint64_t words[ORDERED_WORDS], int scale) {
    __extension__ const unsigned __int128 power = (unsigned __int128)text_power_of_ten(scale);
    __extension__ unsigned __int128 left = 0;
    const bool negative = words[0] >> 63;
    if (negative) negate_words(words);
    for (int i = 0; i < ORDERED_WORDS; i++) {
        uint64_t quotient = 0;
        for (int bit = 63; bit >= 0; bit--) {
            left = left << 1 | (words[i] >> bit & 1);
            quotient = quotient << 1 | (left >= power);
            if (left >= power) left -= power;
        }
        words[i] = quotient;
    }
    if (negative) negate_words(words);
}

void ordered_words(const bf_value *v, uint64_t words[ORDERED_WORDS]) {
    const bool narrow = v->dtype != BF_I192;
    const uint64_t high = narrow && is_signed(v->dtype) && v->as.i64 < 0 ? UINT64_MAX : 0;
    words[0] = narrow ? high : v->as.i192[2];
    words[1] = narrow ? high : v->as.i192[1];
    words[2] = narrow ? v->as.u64 : v->as.i192[0];
    words[3] = words[4] = 0;
    if (v->dtype == BF_F64)
        words_of_float(v->as.f64, words);
    else if (v->scale > 0)
        divide_words(words, v->scale);
}

static bf_status rank_integers(const shown *s, const shown_column *c, int64_t *ranks) {
    static const bf_dtype kinds[ORDERED_WORDS] = {BF_I64, BF_U64, BF_U64, BF_U64, BF_U64};
    uint64_t *words = malloc(shown_rows(s) * ORDERED_WORDS * sizeof *words);
    bf_array arrays[ORDERED_WORDS];
    bf_column columns[ORDERED_WORDS];
    const bf_column *list[ORDERED_WORDS];
    if (!words) return BF_E_MEMORY;
    for (int64_t i = 0; i < s->n; i++) {
        uint64_t of[ORDERED_WORDS];
        const bf_value v = c->array ? output_element(c->form.dtype, 0, c->array, i) : c->values[i];
        ordered_words(&v, of);
        for (int k = 0; k < ORDERED_WORDS; k++) words[k * s->n + i] = of[k];
    }
    for (int k = 0; k < ORDERED_WORDS; k++) {
        arrays[k] = bf_array_of(kinds[k], words + k * s->n, s->n);
        columns[k] = (bf_column){.size = sizeof columns[k], .numbers = &arrays[k]};
        list[k] = &columns[k];
    }
    const bf_status st = rank_rows(s, ORDERED_WORDS, kinds, list, ranks);
    free(words);
    return st;
}

/* Something of 64 bits that is in the order of a column's values; *dtype says what. */
static bf_status make_sortable(const shown *s, const shown_column *c, bf_dtype *dtype, void *to) {
    *dtype = BF_I64;
    if (c->offsets) return rank_strings(s, &c->strings, to);
    if (c->form.dtype == BF_I128 || (c->values && bf_dtype_kind(c->form.dtype) != 'f'))
        return rank_integers(s, c, to);
    for (int64_t i = 0; i < s->n; i++) {
        const bf_value v = c->array ? output_element(c->form.dtype, 0, c->array, i) : c->values[i];
        if (bf_dtype_kind(v.dtype) == 'f')
            ((double *)to)[i] = bf_value_f64(&v);
        else
            memcpy((uint64_t *)to + i, &v.as, sizeof(uint64_t));
    }
    *dtype = bf_dtype_kind(c->form.dtype) == 'f' ? BF_F64
             : is_signed(c->form.dtype)          ? BF_I64
                                                 : BF_U64;
    return BF_OK;
}

/* ---- sorting --------------------------------------------------------------------------------- */

/* Sorts the groups, which are by key, by what is given of each; NULLs are last. */
static bf_status sort_groups(shown *s, const shown_column *c, bf_dtype dtype, const uint64_t *of,
                             bool descending) {
    uint64_t *sorted = malloc(shown_rows(s) * sizeof *sorted);
    int64_t *index = malloc(shown_rows(s) * sizeof *index), n = 0, nulls = 0;
    int64_t *groups = malloc(shown_rows(s) * sizeof *groups);
    bf_status st = sorted && index && groups ? BF_OK : BF_E_MEMORY;
    for (int64_t i = 0; i < s->n && st == BF_OK; i++) {
        const int64_t group = s->by_key[i];
        const bool null = c->valid && !c->valid[group];
        if (!null) sorted[n] = of[group];
        groups[null ? s->n - ++nulls : n++] = group;
    }
    const bf_array values = bf_array_of(dtype, sorted, n), places = bf_array_of(BF_I64, index, n);
    const bf_order_options rules = {.size = sizeof rules, .descending = descending};
    if (st == BF_OK && n > 0)
        st = bf_sort(s->groups->table->context, &values, 0, &rules, NULL, &places);
    for (int64_t i = 0; i < n && st == BF_OK; i++) s->order[i] = groups[index[i]];
    for (int64_t i = n; i < s->n && st == BF_OK; i++) s->order[i] = groups[s->n - 1 - (i - n)];
    free(sorted);
    free(index);
    free(groups);
    return st;
}

/* Whether the library can sort the column as it lies: no row is NULL, and rows are by key. */
static bool sorts_as_it_is(const shown *s, const shown_column *c) {
    const bool wide = c->form.dtype == BF_I64 || c->form.dtype == BF_U64 || c->form.dtype == BF_F64;
    return s->groups->plain && c->array && !c->valid && wide;
}

static bf_status sort_by(shown *s, const shown_column *c, bool descending) {
    const bf_order_options rules = {.size = sizeof rules, .descending = descending};
    if (sorts_as_it_is(s, c)) {
        const bf_array values = bf_array_of(c->form.dtype, c->array, s->n),
                       order = bf_array_of(BF_I64, s->order, s->n);
        return bf_sort(s->groups->table->context, &values, 0, &rules, NULL, &order);
    }
    uint64_t *of = malloc(shown_rows(s) * sizeof *of);
    bf_dtype dtype;
    bf_status st = of ? make_sortable(s, c, &dtype, of) : BF_E_MEMORY;
    if (st == BF_OK) st = sort_groups(s, c, dtype, of, descending);
    free(of);
    return st;
}

/* ---- what is asked for ----------------------------------------------------------------------- */

enum { NOT_THERE = -1, TWICE = -2 };

static bool counts_rows(const shown *s, int column) {
    return column >= s->asked->keys && s->asked->result[column - s->asked->keys].value < 0;
}

/* The column of this name, rather one that is not the count of rows: `count` means that. */
static int find_column(const shown *s, const char *name) {
    const text_item item = text_take_item(&name, "");
    int at = NOT_THERE;
    for (int c = 0; c < s->count; c++) {
        if (!text_item_is(item, s->names[c], strlen(s->names[c]))) continue;
        if (at == NOT_THERE || counts_rows(s, at))
            at = c;
        else if (!counts_rows(s, c))
            return TWICE;
    }
    return at;
}

static int refuse_sort(const shown *s, const char *name, bool twice) {
    char names[180] = "";
    size_t used = 0;
    for (int i = 0; i < s->count && used < 120; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%.40s", i ? ", " : "",
                                 s->names[i]);
    const int code = twice ? EXIT_USAGE : EXIT_DATA;
    fail(code, NULL, "--sort: %s column is named '%s'", twice ? "more than one" : "no", name);
    hint(twice ? "=NAME behind a V names its column: the columns are %s"
               : "the columns are %s; count and key go, too",
         names);
    return code;
}

/* By key, if nothing else is asked for; counts by frequency. */
int ordered_find(const shown *s, ordered *order) {
    const options *o = s->asked->options;
    const char *name = o->sort ? o->sort : s->asked->keyed || o->by_key ? "key" : "count";
    const bool minus = *name == '-' && name[1] != '\0';
    name += minus;
    *order = (ordered){ORDERED_BY_KEY, -1, minus};
    if (strcmp(name, "key") == 0) return EXIT_DONE;
    if (strcmp(name, "count") == 0) { /* descending without a minus, too */
        *order = (ordered){ORDERED_BY_COUNT, -1, true};
        return EXIT_DONE;
    }
    *order = (ordered){ORDERED_BY_COLUMN, find_column(s, name + (*name == ':')), minus};
    return order->column < 0 ? refuse_sort(s, name, order->column == TWICE) : EXIT_DONE;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool some_key_is_null(const shown *s) {
    for (int i = 0; i < s->asked->keys; i++)
        if (memchr(s->columns[i].valid, 0, (size_t)s->n)) return true;
    return false;
}

/* By the last of the keys first, for equal ones stay in place. Of each, what is NULL is last. */
static bf_status sort_descending(shown *s) {
    bf_status st = BF_OK;
    for (int i = s->asked->keys - 1; i >= 0 && st == BF_OK; i--) {
        memcpy(s->by_key, s->order, shown_rows(s) * sizeof *s->by_key);
        st = sort_by(s, &s->columns[i], true);
    }
    return st;
}

/* The greatest key first. */
static bf_status reverse_groups(shown *s) {
    if (some_key_is_null(s)) return sort_descending(s);
    for (int64_t i = 0; i < s->n; i++) s->order[i] = s->by_key[s->n - 1 - i];
    return BF_OK;
}

/* The most frequent keys, of which a few are shown, where the groups are by key already. */
static bf_status find_most(const shown *s) {
    const bf_order_options rules = {.size = sizeof rules, .descending = true};
    const bf_array counts = bf_array_of(BF_I64, s->counts, s->n),
                   first = bf_array_of(BF_I64, s->order, s->asked->options->top);
    return bf_top(s->groups->table->context, &counts, 0, first.shape[0], &rules, NULL, &first);
}

static bf_status sort_as(shown *s, const ordered *order) {
    const int64_t top = s->asked->options->top;
    const bool few = top > 0 && top < s->n && s->groups->plain;
    if (few && order->by == ORDERED_BY_COUNT && order->descending) return find_most(s);
    const shown_column counts = {.form.dtype = BF_I64, .array = (char *)s->counts};
    switch (order->by) {
    case ORDERED_BY_KEY: return order->descending ? reverse_groups(s) : BF_OK;
    case ORDERED_BY_COUNT: return sort_by(s, &counts, order->descending);
    default: return sort_by(s, &s->columns[order->column], order->descending);
    }
}

int ordered_put(shown *s) {
    ordered order;
    const int code = ordered_find(s, &order);
    if (code != EXIT_DONE) return code;
    memcpy(s->order, s->by_key, shown_rows(s) * sizeof *s->order);
    const bf_status st = sort_as(s, &order);
    return st == BF_OK ? EXIT_DONE : shown_failed(s, st);
}
