#include "group/chosen.h"

#include "group/keys.h"
#include "memory/key.h"

#include <stdlib.h>
#include <string.h>

static size_t bytes_of(const chosen *c) { return bf_dtype_size(c->dtype); }

/* ---- making ---------------------------------------------------------------------------------- */

bf_status chosen_make(chosen *c, const table *t) {
    const bf_dtype dtype = t->values[c->value].array.dtype;
    c->words = dtype == BF_NONE || dtype == BF_I128;
    c->dtype = c->words ? BF_I64 : dtype;
    return c->words && !c->of ? bf_dictionary_create(t->context, 1, &dtype, &c->of) : BF_OK;
}

static void free_ends(chosen_ends *e) {
    free(e->first);
    free(e->last);
    free(e->has);
    *e = (chosen_ends){.room = 0};
}

void chosen_drop_groups(chosen *c) { free_ends(&c->groups); }

void chosen_close(chosen *c) {
    free_ends(&c->groups);
    free_ends(&c->all);
    bf_dictionary_destroy(c->of);
    c->of = NULL;
    buffer_free(&c->numbers);
    buffer_free(&c->codes);
    buffer_free(&c->pairs);
}

/* ---- rows at hand ---------------------------------------------------------------------------- */

/* Numbers the values of the rows at hand. What is NULL may have a number that nobody uses. */
static bf_status number_values(chosen *c, const table *t) {
    const table_value *v = &t->values[c->value];
    const bool strings = v->array.dtype == BF_NONE;
    const bf_column column = {.size = sizeof column,
                              .strings = strings ? &v->strings : NULL,
                              .numbers = strings ? NULL : &v->array};
    const bf_column *const columns[] = {&column};
    int64_t *numbers = buffer_take(&c->numbers, (size_t)t->n * sizeof *numbers);
    if (!numbers) return BF_E_MEMORY;
    const bf_array to = bf_array_of(BF_I64, numbers, t->n);
    c->elements = (const char *)numbers;
    return bf_dictionary_encode(c->of, columns, &to);
}

bf_status chosen_look(chosen *c, const table *t) {
    if (c->words) return number_values(c, t);
    c->elements = t->values[c->value].array.data;
    return BF_OK;
}

/* Makes room for `groups` groups. */
static bool reserve(chosen_ends *e, size_t bytes, int64_t groups) {
    if (groups <= e->room) return true;
    const size_t room = (size_t)(groups > 2 * e->room ? groups : 2 * e->room);
    char *first = realloc(e->first, room * bytes);
    if (first) e->first = first;
    char *last = first ? realloc(e->last, room * bytes) : NULL;
    if (last) e->last = last;
    uint8_t *has = last ? realloc(e->has, room) : NULL;
    if (!has) return false;
    e->has = has;
    memset(has + e->room, 0, room - (size_t)e->room);
    e->room = (int64_t)room;
    return true;
}

bool chosen_note(chosen *c, chosen_ends *to, const bf_array *keys, const int64_t *places,
                 int64_t n) {
    const size_t bytes = bytes_of(c);
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = places ? places[i] : i;
        const int64_t group = keys ? keys_number_at(keys->dtype, keys->data, row) : 0;
        if (group >= to->room && !reserve(to, bytes, group + 1)) return false;
        const char *const from = c->elements + (size_t)row * bytes;
        if (!to->has[group]) memcpy(to->first + (size_t)group * bytes, from, bytes);
        memcpy(to->last + (size_t)group * bytes, from, bytes);
        to->has[group] = 1;
    }
    return true;
}

/* The code of a value that a narrow pair holds; others are pairs of words. */
static bool is_narrow(uint64_t code) {
    const int64_t x = (int64_t)(code ^ UINT64_C(1) << 63);
    return x == (int32_t)x;
}

static uint64_t narrow(int64_t number, uint64_t code) {
    return (uint64_t)number << 32 | ((uint32_t)code ^ UINT32_C(1) << 31);
}

static uint64_t code_of_narrow(uint64_t pair) {
    const int64_t x = (int32_t)((uint32_t)pair ^ UINT32_C(1) << 31);
    return (uint64_t)x ^ UINT64_C(1) << 63;
}

bool chosen_pairs(chosen *c, const bf_array *keys, const int64_t *places, int64_t n,
                  bf_array pairs[CHOSEN_PARTS]) {
    const int64_t all = keys->shape[0];
    uint64_t *codes = buffer_take(&c->codes, (size_t)all * sizeof *codes);
    uint64_t *words = buffer_take(&c->pairs, (size_t)(3 * n) * sizeof *words);
    int64_t few = 0, others = 0;
    if (!codes || !words) return false;
    key_ranks(c->dtype, c->elements, all, codes);
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = places ? places[i] : i;
        const int64_t number = keys_number_at(keys->dtype, keys->data, row);
        uint64_t *const wide = words + n + 2 * others;
        if (is_narrow(codes[row])) {
            words[few++] = narrow(number, codes[row]);
        } else {
            wide[0] = (uint64_t)number;
            wide[1] = codes[row];
            others++;
        }
    }
    pairs[CHOSEN_NARROW] = bf_array_of(BF_U64, words, few);
    pairs[CHOSEN_WIDE] = bf_array_of(BF_PAIR, words + n, others);
    return true;
}

bf_array chosen_codes(enum chosen_part part, const bf_array *pairs) {
    const int64_t n = pairs->shape[0];
    if (part == CHOSEN_NARROW) return (bf_array){pairs->data, BF_U32, 1, {n}, {2}};
    return (bf_array){(uint64_t *)pairs->data + 1, BF_U64, 1, {n}, {2}};
}

/* ---- results --------------------------------------------------------------------------------- */

void chosen_take_ends(const chosen *c, bool last, chosen_results *r) {
    const size_t bytes = bytes_of(c);
    for (int64_t i = 0; i <= r->groups; i++) {
        const chosen_ends *e = i < r->groups ? &c->groups : &c->all;
        const int64_t at = i < r->groups ? i : 0;
        r->valid[i] = at < e->room && e->has[at];
        if (r->valid[i])
            memcpy(r->elements + (size_t)i * bytes,
                   (last ? e->last : e->first) + (size_t)at * bytes, bytes);
    }
}

/* Whether a code is that of a lesser value than an element. */
static bool is_less(const chosen *c, const chosen_results *r, uint64_t code, const char *element) {
    const uint64_t sign = UINT64_C(1) << 63; /* the code of a word's number has it */
    uint64_t other;
    key_ranks(c->dtype, element, 1, &other);
    return r->ranks ? r->ranks[code ^ sign] < r->ranks[other ^ sign] : code < other;
}

/* Counts one more value of a group, which occurs so often. */
static void count_value(const chosen *c, chosen_results *r, int64_t group, uint64_t code,
                        int64_t times) {
    char *const element = r->elements + (size_t)group * bytes_of(c);
    r->counts[group]++;
    if (times < r->most[group]) return;
    if (times == r->most[group] && !is_less(c, r, code, element)) return;
    key_of_rank(c->dtype, code, element);
    r->most[group] = times;
    r->valid[group] = 1;
}

/* Keys that a part has counted, as words; times[i] says how often. */
static void count_values(const chosen *c, chosen_results *r, const uint64_t *words, bool pairs,
                         enum chosen_part part, const int64_t *times, int64_t n) {
    const int each = pairs && part == CHOSEN_WIDE ? 2 : 1;
    for (int64_t i = 0; i < n; i++, words += each) {
        const bool few = part == CHOSEN_NARROW;
        const int64_t group = !pairs ? r->groups : (int64_t)(few ? words[0] >> 32 : words[0]);
        count_value(c, r, group, few ? code_of_narrow(words[0]) : words[each - 1], times[i]);
    }
}

bf_status chosen_take_counts(const chosen *c, bf_groups *counted, bool pairs, enum chosen_part part,
                             chosen_results *r) {
    const bf_dtype dtypes[] = {pairs ? BF_U64 : BF_U32, pairs ? BF_PAIR : BF_U64};
    const int64_t n = bf_groups_size(counted);
    uint64_t *words = malloc((size_t)(2 * n + 1) * sizeof *words);
    int64_t *times = malloc((size_t)(n + 1) * sizeof *times);
    const bf_array keys = bf_array_of(dtypes[part], words, n), of = bf_array_of(BF_I64, times, n);
    const bf_status st = words && times ? bf_groups_list(counted, &keys, &of) : BF_E_MEMORY;
    if (st == BF_OK && dtypes[part] == BF_U32)
        for (int64_t i = n; i-- > 0;) words[i] = ((const uint32_t *)words)[i];
    if (st == BF_OK) count_values(c, r, words, pairs, part, times, n);
    free(words);
    free(times);
    return st;
}

bf_status chosen_begin_counts(const chosen *c, chosen_results *r) {
    const int64_t n = c->words ? bf_dictionary_size(c->of) : 0;
    r->most = calloc((size_t)r->groups + 1, sizeof *r->most);
    if (!r->most) return BF_E_MEMORY;
    if (!c->words) return BF_OK;
    r->ranks = malloc((size_t)(n + 1) * sizeof *r->ranks);
    const bf_array ranks = bf_array_of(BF_I64, r->ranks, n);
    return r->ranks ? bf_dictionary_ranks(c->of, &ranks) : BF_E_MEMORY;
}
