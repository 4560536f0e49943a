#include "group/chosen.h"

#include "group/keys.h"
#include "memory/key.h"

#include <stdlib.h>
#include <string.h>

static size_t bytes_of(const chosen *c) { return bf_dtype_size(c->dtype); }

/* ---- making ---------------------------------------------------------------------------------- */

bf_status chosen_make(chosen *c, const table *t) {
    const bf_dtype dtype = t->values[c->value].form.dtype;
    c->words = dtype == BF_NONE || dtype == BF_I128;
    c->dtype = c->words ? BF_I64 : dtype;
    return c->words && !c->of ? bf_dictionary_create(t->context, 1, &dtype, &c->of) : BF_OK;
}

static void free_ends(chosen_ends *e) {
    free(e->list);
    *e = (chosen_ends){.room = 0};
}

void chosen_free_tally(chosen_tally *t) {
    free(t->list);
    *t = (chosen_tally){.n = 0};
}

void chosen_drop_groups(chosen *c) {
    free_ends(&c->groups);
    chosen_free_tally(&c->counted);
}

void chosen_close(chosen *c) {
    chosen_drop_groups(c);
    free_ends(&c->all);
    chosen_free_tally(&c->counted_all);
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
    const bool strings = v->form.dtype == BF_NONE;
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
    c->file = (int32_t)(t->input - t->inputs) + 1;
    if (c->words) return number_values(c, t);
    c->elements = t->values[c->value].array.data;
    return BF_OK;
}

/* Where the ends of a group are; NULL: there is no memory. */
static chosen_end *end_of(chosen_ends *e, int64_t group) {
    if (group < e->room) return &e->list[group];
    const size_t room = (size_t)(group < 2 * e->room ? 2 * e->room : group + 1);
    chosen_end *list = realloc(e->list, room * sizeof *list);
    if (!list) return NULL;
    memset(list + e->room, 0, (room - (size_t)e->room) * sizeof *list);
    *e = (chosen_ends){list, (int64_t)room};
    return &list[group];
}

bool chosen_note(chosen *c, chosen_ends *to, const bf_array *keys, const int64_t *places,
                 int64_t n) {
    const size_t bytes = bytes_of(c);
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = places ? places[i] : i;
        chosen_end *e = end_of(to, keys ? keys_number_at(keys->dtype, keys->data, row) : 0);
        const char *const from = c->elements + (size_t)row * bytes;
        if (!e) return false;
        if (e->first_file == 0) {
            memcpy(&e->first, from, bytes);
            e->first_file = c->file;
        }
        memcpy(&e->last, from, bytes);
        e->last_file = c->file;
    }
    return true;
}

/* The number of a value that has one, as code, and the other way round. */
static uint64_t word_code(int64_t word) { return (uint64_t)word ^ UINT64_C(1) << 63; }

static int64_t word_of(uint64_t code) { return (int64_t)(code ^ UINT64_C(1) << 63); }

/* Does a narrow pair hold the number of a group and the code of a value? Others are pairs of words.
 */
static bool is_narrow(int64_t number, uint64_t code) {
    return number >> 32 == 0 && word_of(code) == (int32_t)word_of(code);
}

static uint64_t narrow(int64_t number, uint64_t code) {
    return (uint64_t)number << 32 | ((uint32_t)code ^ UINT32_C(1) << 31);
}

static uint64_t code_of_narrow(uint64_t pair) {
    return word_code((int32_t)((uint32_t)pair ^ UINT32_C(1) << 31));
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
        if (is_narrow(number, codes[row])) {
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

/* ---- counts ---------------------------------------------------------------------------------- */

static bool reserve(chosen_tally *t, int64_t more) {
    if (t->n + more <= t->room) return true;
    const int64_t room = t->n + more > 2 * t->room ? t->n + more : 2 * t->room;
    chosen_count *list = realloc(t->list, (size_t)room * sizeof *list);
    if (!list) return false;
    t->list = list;
    t->room = room;
    return true;
}

/* Adds n keys that a part has counted, as words; times[i] says how often. */
static void add_counts(chosen_tally *t, const uint64_t *words, bool pairs, enum chosen_part part,
                       const int64_t *times, int64_t n) {
    const bool few = part == CHOSEN_NARROW;
    const int each = pairs && !few ? 2 : 1;
    for (int64_t i = 0; i < n; i++, words += each)
        t->list[t->n++] = (chosen_count){.group = !pairs ? 0
                                                  : few  ? (int64_t)(words[0] >> 32)
                                                         : (int64_t)words[0],
                                         .code = few ? code_of_narrow(words[0]) : words[each - 1],
                                         .times = times[i]};
}

bf_status chosen_tally_part(chosen_tally *t, bf_groups *counted, bool pairs,
                            enum chosen_part part) {
    const bf_dtype dtypes[] = {pairs ? BF_U64 : BF_U32, pairs ? BF_PAIR : BF_U64};
    const int64_t n = bf_groups_size(counted);
    uint64_t *words = malloc((size_t)(2 * n + 1) * sizeof *words);
    int64_t *times = malloc((size_t)(n + 1) * sizeof *times);
    const bf_array keys = bf_array_of(dtypes[part], words, n), of = bf_array_of(BF_I64, times, n);
    bf_status st = words && times && reserve(t, n) ? BF_OK : BF_E_MEMORY;
    if (st == BF_OK) st = bf_groups_list(counted, &keys, &of);
    if (st == BF_OK && dtypes[part] == BF_U32)
        for (int64_t i = n; i-- > 0;) words[i] = ((const uint32_t *)words)[i];
    if (st == BF_OK) add_counts(t, words, pairs, part, times, n);
    free(words);
    free(times);
    return st;
}

bf_status chosen_tally_more(chosen_tally *t, const chosen_tally *more) {
    if (!reserve(t, more->n)) return BF_E_MEMORY;
    if (more->n > 0) memcpy(t->list + t->n, more->list, (size_t)more->n * sizeof *t->list);
    t->n += more->n;
    return BF_OK;
}

static int compare_counts(const void *a, const void *b) {
    const chosen_count *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    return (x->code > y->code) - (x->code < y->code);
}

void chosen_settle(chosen_tally *t) {
    int64_t n = 0;
    if (t->n > 0) qsort(t->list, (size_t)t->n, sizeof *t->list, compare_counts);
    for (int64_t i = 0; i < t->n; i++)
        if (n > 0 && compare_counts(&t->list[n - 1], &t->list[i]) == 0)
            t->list[n - 1].times += t->list[i].times;
        else
            t->list[n++] = t->list[i];
    t->n = n;
}

/* ---- results --------------------------------------------------------------------------------- */

void chosen_take_ends(const chosen *c, bool last, chosen_results *r) {
    const size_t bytes = bytes_of(c);
    for (int64_t i = 0; i <= r->groups; i++) {
        const chosen_ends *of = i < r->groups ? &c->groups : &c->all;
        const int64_t at = i < r->groups ? i : 0;
        r->valid[i] = at < of->room && of->list[at].first_file > 0;
        if (!r->valid[i]) continue;
        const chosen_end *e = &of->list[at];
        memcpy(r->elements + (size_t)i * bytes, last ? &e->last : &e->first, bytes);
    }
}

/* Whether a code is that of a lesser value than an element. */
static bool is_less(const chosen *c, const chosen_results *r, uint64_t code, const char *element) {
    uint64_t other;
    key_ranks(c->dtype, element, 1, &other);
    return r->ranks ? r->ranks[word_of(code)] < r->ranks[word_of(other)] : code < other;
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

void chosen_take_counts(const chosen *c, const chosen_tally *t, bool total, chosen_results *r) {
    for (int64_t i = 0; i < t->n; i++) {
        const chosen_count *x = &t->list[i];
        count_value(c, r, total ? r->groups : x->group, x->code, x->times);
    }
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

/* ---- groups that leave the process ----------------------------------------------------------- */

/* Brings the values that a dictionary has, which keep their numbers. */
static bf_status bring_words(chosen *c, bf_context *context, units_form from, units_form to) {
    keys_column values = {.bytes = NULL};
    bf_dictionary *made = NULL;
    bf_status st = keys_take_all(c->of, 0, from.dtype, &values);
    if (st == BF_OK) st = keys_bring_column(&values, from, to);
    if (st == BF_OK) st = bf_dictionary_create(context, 1, &to.dtype, &made);
    const bf_column *const columns[] = {&values.column};
    if (st == BF_OK) st = keys_encode(made, columns, bf_dictionary_size(c->of));
    keys_free(&values);
    bf_dictionary_destroy(st == BF_OK ? c->of : made);
    if (st == BF_OK) c->of = made;
    return st;
}

/* Numbers n elements of 64 bits, which become these numbers. */
static bf_status number_elements(chosen *c, units_form from, units_form to, uint64_t *elements,
                                 int64_t n) {
    char *wide = malloc((size_t)(n + 1) * bf_dtype_size(to.dtype));
    const bf_array values = bf_array_of(to.dtype, wide, n),
                   numbers = bf_array_of(BF_I64, elements, n);
    const bf_column column = {.size = sizeof column, .numbers = &values};
    const bf_column *const columns[] = {&column};
    bf_status st = wide ? BF_OK : BF_E_MEMORY;
    if (st == BF_OK && !units_bring(from, elements, n, to, wide)) st = BF_E_OVERFLOW;
    if (st == BF_OK) st = bf_dictionary_encode(c->of, columns, &numbers);
    free(wide);
    return st;
}

static bf_status number_ends(chosen *c, chosen_ends *e, units_form from, units_form to) {
    uint64_t *elements = malloc((size_t)(2 * e->room + 1) * sizeof *elements);
    for (int64_t i = 0; elements && i < e->room; i++) {
        elements[2 * i] = e->list[i].first;
        elements[2 * i + 1] = e->list[i].last;
    }
    const bf_status st =
        elements ? number_elements(c, from, to, elements, 2 * e->room) : BF_E_MEMORY;
    for (int64_t i = 0; st == BF_OK && i < e->room; i++) {
        e->list[i].first = elements[2 * i];
        e->list[i].last = elements[2 * i + 1];
    }
    free(elements);
    return st;
}

static bf_status number_counts(chosen *c, chosen_tally *t, units_form from, units_form to) {
    uint64_t *elements = malloc((size_t)(t->n + 1) * sizeof *elements);
    for (int64_t i = 0; elements && i < t->n; i++)
        key_of_rank(from.dtype, t->list[i].code, &elements[i]);
    const bf_status st = elements ? number_elements(c, from, to, elements, t->n) : BF_E_MEMORY;
    for (int64_t i = 0; st == BF_OK && i < t->n; i++)
        t->list[i].code = word_code((int64_t)elements[i]);
    chosen_settle(t);
    free(elements);
    return st;
}

/* Forms are joined in 128 bits alone, whose values have numbers. */
bf_status chosen_bring(chosen *c, bf_context *context, units_form from, units_form to) {
    if (from.dtype == to.dtype && from.scale == to.scale) return BF_OK;
    if (c->words) return bring_words(c, context, from, to);
    c->words = true;
    c->dtype = BF_I64;
    bf_status st = bf_dictionary_create(context, 1, &to.dtype, &c->of);
    if (st == BF_OK) st = number_ends(c, &c->groups, from, to);
    if (st == BF_OK) st = number_ends(c, &c->all, from, to);
    return st == BF_OK ? number_counts(c, &c->counted, from, to) : st;
}

/* Adds the ends of a group: of rows behind these, or in each file behind these. */
static void add_end(chosen_end *to, const chosen_end *from, bool files) {
    const bool none = to->first_file == 0;
    if (none || (files && from->first_file < to->first_file)) {
        to->first = from->first;
        to->first_file = from->first_file;
    }
    if (none || !files || from->last_file >= to->last_file) {
        to->last = from->last;
        to->last_file = from->last_file;
    }
}

static bf_status add_ends(chosen_ends *to, const chosen_ends *from, bool files) {
    for (int64_t i = 0; i < from->room; i++) {
        if (from->list[i].first_file == 0) continue;
        chosen_end *e = end_of(to, i);
        if (!e) return BF_E_MEMORY;
        add_end(e, &from->list[i], files);
    }
    return BF_OK;
}

static bf_status renumber_ends(chosen_ends *e, const int64_t to[]) {
    chosen_ends moved = {.room = 0};
    bf_status st = BF_OK;
    for (int64_t i = 0; i < e->room && st == BF_OK; i++) {
        if (e->list[i].first_file == 0) continue;
        chosen_end *of = to[i] < 0 ? NULL : end_of(&moved, to[i]);
        if (of) *of = e->list[i];
        st = of ? BF_OK : to[i] < 0 ? BF_E_STATE : BF_E_MEMORY;
    }
    free_ends(e);
    *e = moved;
    return st;
}

bf_status chosen_renumber(chosen *c, const int64_t to[]) {
    bf_status st = renumber_ends(&c->groups, to);
    for (int64_t i = 0; i < c->counted.n && st == BF_OK; i++) {
        chosen_count *x = &c->counted.list[i];
        x->group = to[x->group];
        if (x->group < 0) st = BF_E_STATE;
    }
    chosen_settle(&c->counted);
    return st;
}

static void match_ends(chosen_ends *e, const int64_t to[]) {
    for (int64_t i = 0; i < e->room; i++) {
        if (e->list[i].first_file == 0) continue;
        e->list[i].first = (uint64_t)to[e->list[i].first];
        e->list[i].last = (uint64_t)to[e->list[i].last];
    }
}

bf_status chosen_match(chosen *into, chosen *from) {
    const int64_t n = into->words ? bf_dictionary_size(from->of) : 0;
    int64_t *to = malloc((size_t)(n + 1) * sizeof *to);
    const bf_array numbers = bf_array_of(BF_I64, to, n);
    bf_status st = to ? BF_OK : BF_E_MEMORY;
    if (into->words && st == BF_OK) st = bf_dictionary_merge(into->of, from->of, &numbers);
    if (into->words && st == BF_OK) {
        match_ends(&from->groups, to);
        match_ends(&from->all, to);
        for (int64_t i = 0; i < from->counted.n; i++)
            from->counted.list[i].code = word_code(to[word_of(from->counted.list[i].code)]);
        chosen_settle(&from->counted);
    }
    free(to);
    return st;
}

static bf_status append(chosen *into, const chosen *from, bool files) {
    bf_status st = add_ends(&into->groups, &from->groups, files);
    if (st == BF_OK) st = add_ends(&into->all, &from->all, files);
    if (st == BF_OK) st = chosen_tally_more(&into->counted, &from->counted);
    if (st == BF_OK) chosen_settle(&into->counted);
    return st;
}

bf_status chosen_append(chosen *into, const chosen *from) { return append(into, from, false); }

bf_status chosen_append_share(chosen *into, const chosen *from) { return append(into, from, true); }

bf_status chosen_retract(chosen *into, const chosen *from) {
    chosen_tally *t = &into->counted;
    int64_t at = 0, n = 0;
    for (int64_t i = 0; i < t->n; i++) {
        chosen_count x = t->list[i];
        const bool some = at < from->counted.n && compare_counts(&x, &from->counted.list[at]) == 0;
        if (some) x.times -= from->counted.list[at++].times;
        if (x.times < 0) return BF_E_STATE;
        if (x.times > 0) t->list[n++] = x;
    }
    t->n = n;
    return at == from->counted.n ? BF_OK : BF_E_STATE;
}

bf_status chosen_sum_up(chosen *c) {
    c->counted_all.n = 0;
    const bf_status st = chosen_tally_more(&c->counted_all, &c->counted);
    for (int64_t i = 0; i < c->counted_all.n; i++) c->counted_all.list[i].group = 0;
    chosen_settle(&c->counted_all);
    return st;
}
