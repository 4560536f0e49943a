#include "group/choices.h"

#include "memory/large.h"

#include <stdlib.h>
#include <string.h>

static bool counts(const numbered *x, int i) {
    return x->table->asked->result[i].aggregate->order == ORDER_DISTINCT_OF;
}

bool choices_is_text(const numbered *x, int i) {
    const asked_result *r = &x->table->asked->result[i];
    return asked_chooses(r) && !counts(x, i) && x->table->values[r->value].form.dtype == BF_NONE;
}

void choices_type(const numbered *x, int i, structured_field *field) {
    const table_value *v = &x->table->values[x->table->asked->result[i].value];
    if (!counts(x, i)) field->form = structured_form(v->form);
}

/* ---- words ----------------------------------------------------------------------------------- */

/* The numbers that stand for `all` results, those alone that there are. */
static bf_status list_words(const chosen_results *r, int64_t all, int64_t **words, int64_t *n) {
    const int64_t *const elements = (const int64_t *)(void *)r->elements;
    *n = 0;
    *words = malloc((size_t)all * sizeof **words);
    for (int64_t i = 0; i < all && *words; i++)
        if (r->valid[i]) (*words)[(*n)++] = elements[i];
    return *words ? BF_OK : BF_E_MEMORY;
}

/* Numbers go to their rows from the last on. */
static bf_status take_numbers(const chosen *of, const bf_array *words, const uint8_t valid[],
                              int64_t all, shown_column *c) {
    const size_t bytes = bf_dtype_size(c->form.dtype);
    int64_t n = words->shape[0];
    c->array = large_alloc((size_t)all * bytes);
    if (!c->array) return BF_E_MEMORY;
    const bf_array values = bf_array_of(c->form.dtype, c->array, n);
    const bf_status st = bf_dictionary_values(of->of, 0, words, &values, NULL);
    for (int64_t i = all; i-- > 0 && st == BF_OK;)
        if (valid[i]) memmove(c->array + (size_t)i * bytes, c->array + (size_t)--n * bytes, bytes);
    return st;
}

/* Strings lie in the order of their rows, where others are empty. */
static void spread_offsets(shown_column *c, const uint8_t valid[], int64_t all, int64_t n) {
    c->offsets[all] = c->offsets[n];
    for (int64_t i = all; i-- > 0;) {
        n -= valid[i];
        c->offsets[i] = c->offsets[n];
    }
}

static bf_status take_strings(const chosen *of, const bf_array *words, const uint8_t valid[],
                              int64_t all, shown_column *c) {
    const int64_t n = words->shape[0];
    c->offsets = large_alloc((size_t)(all + 1) * sizeof *c->offsets);
    if (!c->offsets) return BF_E_MEMORY;
    const bf_array places = bf_array_of(BF_I64, c->offsets, n + 1);
    bf_status st = bf_dictionary_strings(of->of, 0, words, &places, NULL, 0, NULL);
    const int64_t room = st == BF_OK ? c->offsets[n] : 0;
    c->bytes = large_alloc((size_t)room + 1);
    if (!c->bytes) return BF_E_MEMORY;
    if (st == BF_OK) st = bf_dictionary_strings(of->of, 0, words, &places, c->bytes, room, NULL);
    if (st == BF_OK) spread_offsets(c, valid, all, n);
    c->strings = (bf_strings){sizeof(bf_strings), all, BF_I64, c->offsets, c->bytes};
    return st;
}

static bf_status take_words(const chosen *of, const chosen_results *r, shown_column *c) {
    const int64_t all = r->groups + 1;
    int64_t *words, n;
    bf_status st = list_words(r, all, &words, &n);
    const bf_array numbers = bf_array_of(BF_I64, words, n);
    if (st == BF_OK)
        st = (c->form.dtype == BF_NONE ? take_strings : take_numbers)(of, &numbers, r->valid, all,
                                                                      c);
    free(words);
    return st;
}

/* ---- results --------------------------------------------------------------------------------- */

static bool make_results(chosen_results *r, const chosen *of) {
    const size_t all = (size_t)r->groups + 1;
    r->elements = calloc(all, bf_dtype_size(of->dtype));
    r->valid = calloc(all, 1);
    r->counts = calloc(all, sizeof *r->counts);
    return r->elements && r->valid && r->counts;
}

static bf_status take_counts(const numbered *x, const chosen *of, bool total, chosen_results *r) {
    chosen_tally t = {.n = 0};
    const bf_status st = numbered_tally(x, of, total, &t);
    if (st == BF_OK) chosen_take_counts(of, &t, total, r);
    chosen_free_tally(&t);
    return st;
}

static bf_status find_results(const numbered *x, const chosen *of, enum wanted_order order,
                              chosen_results *r) {
    if (order == ORDER_FIRST_OF || order == ORDER_LAST_OF) {
        chosen_take_ends(of, order == ORDER_LAST_OF, r);
        return BF_OK;
    }
    bf_status st = chosen_begin_counts(of, r);
    if (st == BF_OK) st = take_counts(x, of, false, r);
    return st == BF_OK && x->table->asked->total ? take_counts(x, of, true, r) : st;
}

/* The column gets the memory that it shows. */
static bf_status show_results(const chosen *of, const table_value *v, bool count, chosen_results *r,
                              shown_column *c) {
    c->form = count ? (units_form){.dtype = BF_I64} : v->form;
    if (count) {
        c->array = (char *)r->counts;
        r->counts = NULL;
        return BF_OK;
    }
    const bf_status st = of->words ? take_words(of, r, c) : BF_OK;
    c->valid = r->valid;
    r->valid = NULL;
    if (!of->words) {
        c->array = r->elements;
        r->elements = NULL;
    }
    return st;
}

bf_status choices_take(const shown *s, int i, shown_column *c) {
    const numbered *x = s->groups;
    const asked_result *result = &s->asked->result[i];
    const chosen *of = &x->chosen[x->place[i].chosen];
    chosen_results r = {.groups = s->n};
    bf_status st = make_results(&r, of) ? BF_OK : BF_E_MEMORY;
    if (st == BF_OK) st = find_results(x, of, result->aggregate->order, &r);
    if (st == BF_OK) st = show_results(of, &x->table->values[result->value], counts(x, i), &r, c);
    free(r.elements);
    free(r.valid);
    free(r.counts);
    free(r.most);
    free(r.ranks);
    return st;
}
