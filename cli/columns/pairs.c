#include "columns/pairs.h"

#include "sheet/output.h"

static bool is_float(bf_dtype dtype) { return bf_dtype_kind(dtype) == 'f'; }

/* Sets *into to the form that holds numbers of both. False: there is none. */
static bool join(units_form *into, units_form other) {
    if (units_join(into, other)) return true;
    const bool times = into->time || other.time;
    const bool known = (is_float(into->dtype) || units_are_integers(into->dtype)) &&
                       (is_float(other.dtype) || units_are_integers(other.dtype));
    *into = (units_form){.dtype = BF_F64};
    return known && !times;
}

int pairs_settle(table *t, int i) {
    table_value *const x = &t->values[i], *const y = &t->values[i + 1];
    units_form both = x->own;
    if (!join(&both, y->own))
        return fail(EXIT_DATA, t->input->source.name,
                    "%.80s:%.80s: no dtype holds pairs of %s and %s", t->asked->value[i].text,
                    t->asked->value[i + 1].text, output_type(x->own), output_type(y->own));
    x->form = y->form = both;
    return EXIT_DONE;
}

/* Decimals become the nearest doubles, as they would in a column of floats. False: an integer is no
 * double. */
static bool bring_doubles(units_form from, const void *numbers, int64_t n, double *to) {
    bool exact = true;
    for (int64_t i = 0; i < n; i++) {
        to[i] = units_double(from.dtype, from.scale, numbers, i);
        if (is_float(from.dtype) || from.scale > 0) continue;
        const text_i128 x = units_at(from.dtype, numbers, i);
        exact = exact && to[i] < 0x1p127 && (text_i128)to[i] == x;
    }
    return exact;
}

static int bring(table *t, int i) {
    table_value *const v = &t->values[i];
    const units_form to = v->form;
    if (units_are_same(v->own, to)) return EXIT_DONE;
    void *const room = buffer_take(&v->numbers, (size_t)t->n * bf_dtype_size(to.dtype));
    if (!room) return fail_memory(t->input->source.name);
    const bool floats = to.dtype == BF_F64;
    if (!(floats ? bring_doubles(v->own, v->array.data, t->n, room)
                 : units_bring(v->own, v->array.data, t->n, to, room)))
        return floats ? fail(EXIT_DATA, t->input->source.name,
                             "%.80s: beside floats, an integer of more than 53 bits is no f64",
                             t->asked->value[i].text)
                      : rows_refuse_scale(t->input->source.name);
    v->array = bf_array_of(to.dtype, room, t->n);
    return EXIT_DONE;
}

/* Both have the rows in which neither is NULL. */
static int join_valid(table *t, int i) {
    table_value *const x = &t->values[i], *const y = &t->values[i + 1];
    if (!x->valid && !y->valid) return EXIT_DONE;
    uint8_t *const both = buffer_take(&x->text, (size_t)t->n);
    if (!both) return fail_memory(t->input->source.name);
    for (int64_t k = 0; k < t->n; k++)
        both[k] = (!x->valid || x->valid[k]) && (!y->valid || y->valid[k]);
    x->valid = y->valid = both;
    return EXIT_DONE;
}

int pairs_bring(table *t, int i) {
    int code = bring(t, i);
    if (code == EXIT_DONE) code = bring(t, i + 1);
    return code == EXIT_DONE ? join_valid(t, i) : code;
}
