#include "group/joined.h"

#include "group/keys.h"
#include "runtime/info.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is asked --------------------------------------------------------------------------- */

static bool asks_the_same(const asked *a, const asked *b) {
    bool same = a->keys == b->keys && a->results == b->results && a->values == b->values &&
                a->skip_nulls == b->skip_nulls && a->total == b->total && a->method == b->method;
    for (int i = 0; i < a->results && same; i++) {
        const struct wanted_aggregate *x = a->result[i].aggregate, *y = b->result[i].aggregate;
        same = a->result[i].value == b->result[i].value &&
               (a->result[i].value < 0 ||
                (x->op == y->op && x->order == y->order && x->percent == y->percent));
    }
    return same;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Brings aggregates to values of other forms. */
static bf_status bring_groups(const numbered *x, const numbered_part *p, const units_form to[],
                              bf_groups **groups) {
    bf_aggregate aggregates[OPTIONS_AGGREGATES];
    int digits[OPTIONS_AGGREGATES];
    bf_groups_options kind = groups_kind(*groups);
    bf_groups *made = NULL;
    for (int i = 0; i < p->count; i++) {
        const int value = x->table->asked->result[p->result[i]].value;
        aggregates[i] = (bf_aggregate){kind.aggregates[i].op, to[value].dtype};
        digits[i] = to[value].scale - x->table->values[value].form.scale;
    }
    kind.aggregates = aggregates;
    bf_status st = bf_groups_create(x->table->context, &kind, &made);
    if (st == BF_OK) st = bf_groups_merge(made, *groups);
    if (st == BF_OK) st = bf_groups_rescale(made, 0, digits);
    bf_groups_destroy(st == BF_OK ? *groups : made);
    if (st == BF_OK) *groups = made;
    return st;
}

static bf_status bring_rows(const numbered *x, medians *m, units_form to) {
    const units_form from = x->table->values[m->value].form;
    char *values = malloc((size_t)(m->n + 1) * bf_dtype_size(to.dtype));
    if (!values) return BF_E_MEMORY;
    const bool good = units_bring(from, m->values, m->n, to, values);
    free(m->values);
    m->values = values;
    m->room = m->n;
    m->form = to;
    return good ? BF_OK : BF_E_OVERFLOW;
}

static bool has_forms(const numbered *x, const units_form to[]) {
    bool has = true;
    for (int v = 0; v < x->table->asked->values; v++)
        has = has && units_are_same(x->table->values[v].form, to[v]);
    return has;
}

static bf_status bring_values(numbered *x, const units_form to[]) {
    bf_status st = BF_OK;
    if (has_forms(x, to)) return BF_OK;
    for (int i = 0; i < x->parts && st == BF_OK; i++) {
        numbered_part *p = &x->part[i];
        st = bring_groups(x, p, to, &p->groups);
        if (st == BF_OK && p->total) st = bring_groups(x, p, to, &p->total);
    }
    for (int k = 0; k < x->kept_count && st == BF_OK; k++)
        st = bring_rows(x, &x->kept[k], to[x->kept[k].value]);
    for (int k = 0; k < x->chosen_count && st == BF_OK; k++) {
        const int v = x->chosen[k].value;
        st = chosen_bring(&x->chosen[k], x->table->context, x->table->values[v].form, to[v]);
    }
    for (int v = 0; v < x->table->asked->values && st == BF_OK; v++)
        x->table->values[v].form = to[v];
    return st;
}

/* ---- both ------------------------------------------------------------------------------------ */

/* Whether the keys of x must be numbered anew. */
static bool wants_keys(const numbered *x, bool plain, const units_form to[]) {
    bool wants = x->plain != plain;
    for (int i = 0; i < x->table->asked->keys; i++)
        wants = wants || !units_are_same(keys_form(x, i), to[i]);
    return wants;
}

/* Medians of values of 128 bits are found by the numbers of their groups. */
static bool keeps_wide(const numbered *a, const numbered *b) {
    bool keeps = false;
    for (int k = 0; k < a->kept_count; k++) {
        const int v = a->kept[k].value;
        keeps = keeps || !units_are_same(a->table->values[v].form, b->table->values[v].form);
    }
    return keeps;
}

static bf_status match_keys(numbered *a, numbered *b) {
    units_form to[BF_KEY_COLUMNS_MAX];
    for (int i = 0; i < a->table->asked->keys; i++) {
        to[i] = keys_form(a, i);
        if (!units_join(&to[i], keys_form(b, i))) return BF_E_STATE;
    }
    const bool plain = a->plain && b->plain && !keeps_wide(a, b) &&
                       units_are_same(keys_form(a, 0), keys_form(b, 0));
    bf_status st = wants_keys(a, plain, to) ? keys_bring(a, to) : BF_OK;
    return st == BF_OK && wants_keys(b, plain, to) ? keys_bring(b, to) : st;
}

static bf_status match_values(numbered *a, numbered *b) {
    units_form to[ASKED_VALUES];
    for (int v = 0; v < a->table->asked->values; v++) {
        to[v] = a->table->values[v].form;
        if (!units_join(&to[v], b->table->values[v].form)) return BF_E_STATE;
    }
    const bf_status st = bring_values(a, to);
    return st == BF_OK ? bring_values(b, to) : st;
}

/* Gives the groups of `from` the numbers that their keys have in `into`. */
static bf_status match_numbers(numbered *into, numbered *from) {
    const int64_t n = into->plain ? 0 : bf_dictionary_size(from->dictionary);
    int64_t *map = into->plain ? NULL : malloc((size_t)(n + 1) * sizeof *map);
    const bf_array numbers = bf_array_of(BF_I64, map, n);
    if (into->plain) return BF_OK;
    bf_status st =
        map ? bf_dictionary_merge(into->dictionary, from->dictionary, &numbers) : BF_E_MEMORY;
    from->key = into->key;
    if (st == BF_OK) st = keys_renumber(from, map);
    for (int k = 0; k < from->chosen_count && st == BF_OK; k++)
        st = chosen_match(&into->chosen[k], &from->chosen[k]);
    free(map);
    return st;
}

/* Adds the rows that are kept for medians. */
static bf_status append_rows(medians *into, const medians *from) {
    const size_t key = bf_dtype_size(into->key), value = bf_dtype_size(into->form.dtype);
    const size_t n = (size_t)into->n, more = (size_t)from->n;
    if (medians_reserve(into, from->n) != EXIT_DONE) return BF_E_MEMORY;
    if (more > 0) memcpy(into->values + n * value, from->values, more * value);
    if (more > 0) memcpy(into->keys + n * key, from->keys, more * key);
    into->n += from->n;
    return BF_OK;
}

/* ---- rows that are taken out ----------------------------------------------------------------- */

/* A row that is kept: its group, and the bits of its value. */
typedef struct kept_row {
    int64_t number;
    uint64_t bits[2];
} kept_row;

static int compare_rows(const void *a, const void *b) { return memcmp(a, b, sizeof(kept_row)); }

/* The rows of m, those that are alike side by side. NULL: there is no memory. */
static kept_row *list_rows(const medians *m) {
    const size_t bytes = bf_dtype_size(m->form.dtype);
    kept_row *list = calloc((size_t)m->n + 1, sizeof *list);
    for (int64_t i = 0; list && i < m->n; i++) {
        list[i].number = keys_number_at(m->key, m->keys, i);
        memcpy(list[i].bits, m->values + (size_t)i * bytes, bytes);
    }
    if (list && m->n > 0) qsort(list, (size_t)m->n, sizeof *list, compare_rows);
    return list;
}

/* Leaves of n rows those that are not among the others; false: some of these are not there. */
static bool leave_rows(kept_row *list, int64_t *n, const kept_row *others, int64_t count) {
    int64_t left = 0, at = 0;
    for (int64_t i = 0; i < *n; i++) {
        const bool taken = at < count && compare_rows(&list[i], &others[at]) == 0;
        at += taken;
        if (!taken) list[left++] = list[i];
    }
    *n = left;
    return at == count;
}

static void put_rows(medians *m, const kept_row *list, int64_t n) {
    const size_t key = bf_dtype_size(m->key), value = bf_dtype_size(m->form.dtype);
    m->n = n;
    for (int64_t i = 0; i < n; i++) {
        memcpy(m->keys + (size_t)i * key, &list[i].number, key);
        memcpy(m->values + (size_t)i * value, list[i].bits, value);
    }
}

/* Takes rows that are kept for medians out: those of the same groups and bits. */
static bf_status retract_rows(medians *into, const medians *from) {
    kept_row *list = list_rows(into), *others = list_rows(from);
    int64_t n = into->n;
    bf_status st = list && others ? BF_OK : BF_E_MEMORY;
    if (st == BF_OK && !leave_rows(list, &n, others, from->n)) st = BF_E_STATE;
    if (st == BF_OK) put_rows(into, list, n);
    free(list);
    free(others);
    return st;
}

/* ---- joining --------------------------------------------------------------------------------- */

/* How groups, rows that are kept for medians, and chosen values are joined. */
typedef struct joining {
    bf_status (*groups)(bf_groups *into, const bf_groups *from);
    bf_status (*rows)(medians *into, const medians *from);
    bf_status (*values)(chosen *into, const chosen *from);
} joining;

/* Moves what the library has counted of values to where they are joined. */
static bf_status move_counts(numbered *x, chosen *c) {
    chosen_tally all = {.n = 0};
    bf_status st = c->counts ? numbered_tally(x, c, false, &all) : BF_OK;
    for (int k = 0; k < CHOSEN_PARTS && c->counts && st == BF_OK; k++) {
        const numbered_part *p = &x->part[c->part + k];
        st = bf_groups_clear(p->groups);
        if (st == BF_OK && p->total) st = bf_groups_clear(p->total);
    }
    chosen_free_tally(&c->counted);
    c->counted = all;
    chosen_settle(&c->counted);
    return st;
}

static bf_status move_all_counts(numbered *x) {
    bf_status st = BF_OK;
    for (int k = 0; k < x->chosen_count && st == BF_OK; k++) st = move_counts(x, &x->chosen[k]);
    return st;
}

static bf_status join_parts(numbered *into, const numbered *from, const joining *how) {
    bf_status st = BF_OK;
    for (int i = 0; i < into->parts && st == BF_OK; i++) {
        const numbered_part *p = &into->part[i], *q = &from->part[i];
        st = how->groups(p->groups, q->groups);
        if (st == BF_OK && p->total) st = how->groups(p->total, q->total);
    }
    for (int k = 0; k < into->kept_count && st == BF_OK; k++)
        st = how->rows(&into->kept[k], &from->kept[k]);
    for (int k = 0; k < into->chosen_count && st == BF_OK; k++) {
        st = how->values(&into->chosen[k], &from->chosen[k]);
        if (st == BF_OK && into->table->asked->total) st = chosen_sum_up(&into->chosen[k]);
    }
    return st;
}

bool joined_is_empty(const numbered *x) {
    bool empty = true;
    for (int i = 0; i < x->parts; i++) empty = empty && bf_groups_size(x->part[i].groups) == 0;
    for (int k = 0; k < x->kept_count; k++) empty = empty && x->kept[k].n == 0;
    return empty;
}

static bf_status join(numbered *into, numbered *from, const joining *how) {
    if (!asks_the_same(into->table->asked, from->table->asked)) return BF_E_STATE;
    if (joined_is_empty(from)) return BF_OK;
    bf_status st = move_all_counts(into);
    if (st == BF_OK) st = move_all_counts(from);
    if (st == BF_OK) st = match_keys(into, from);
    if (st == BF_OK) st = match_values(into, from);
    if (st == BF_OK) st = match_numbers(into, from);
    numbered_drop_whole(into);
    return st == BF_OK ? join_parts(into, from, how) : st;
}

bf_status joined_merge(numbered *into, numbered *from) {
    static const joining how = {bf_groups_merge, append_rows, chosen_append};
    return join(into, from, &how);
}

bf_status joined_merge_share(numbered *into, numbered *from) {
    static const joining how = {bf_groups_merge, append_rows, chosen_append_share};
    return join(into, from, &how);
}

static bool has_ends(const numbered *x) {
    bool has = false;
    for (int k = 0; k < x->chosen_count; k++) has = has || x->chosen[k].ends;
    return has;
}

/* Keys without groups are left out of the dictionary. */
bf_status joined_retract(numbered *into, numbered *from) {
    static const joining how = {bf_groups_retract, retract_rows, chosen_retract};
    units_form forms[BF_KEY_COLUMNS_MAX];
    if (has_ends(into)) return BF_E_ARGUMENT;
    const bf_status st = join(into, from, &how);
    for (int i = 0; i < into->table->asked->keys; i++) forms[i] = keys_form(into, i);
    return st == BF_OK && !into->plain ? keys_bring(into, forms) : st;
}
