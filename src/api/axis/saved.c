/* Many saved states: "states" (the numbers of their layout), "counts": the elements that each has
 * absorbed (i64), and the sections of their words (api/reduce/saved_words.h). */
#include "api/axis/states.h"

#include "api/reduce/reduce.h"
#include "api/runtime/enter.h"
#include "api/runtime/saved.h"
#include "base/memory.h"

#include <stdlib.h>

static bf_saved_words layout_of(bf_aggregate a) {
    return bf_saved_words_of(a, bf_states_words(a.op, a.dtype), bf_states_keep_words(a.op));
}

/* ---- saving ---------------------------------------------------------------------------------- */

/* States [first, first + n), whose column is planned. */
typedef struct selection {
    const bf_states *states;
    int64_t first, n;
    bf_saved_words column;
} selection;

static bf_status read_words(const bf_words_source *s, int64_t at, int64_t n, int64_t *words) {
    const selection *x = s->of;
    const bf_states *states = x->states;
    return states->on->axis->words(states->context, states->inside, x->first + at, n, words);
}

static bf_words_source source_of(const selection *x) {
    return (bf_words_source){.n = x->n, .of = x, .words = read_words};
}

static bf_status select_states(const bf_states *s, int64_t first, int64_t n, selection *x) {
    *x = (selection){s, first, n, layout_of((bf_aggregate){s->op, s->dtype})};
    const bf_words_source source = source_of(x);
    return bf_saved_words_plan(s->context, &source, &x->column);
}

/* Lays out the form, and sets the offset of its counts. */
static bf_saving lay_out(selection *x, uint8_t *out, size_t *counts) {
    int numbers[BF_SAVED_WORDS_NUMBERS];
    bf_saved_words_tell(&x->column, numbers);
    bf_saving s = bf_saving_begin(out, "states", numbers, BF_SAVED_WORDS_NUMBERS);
    *counts = bf_saving_section(&s, "counts", BF_I64, x->n);
    bf_saved_words_add(&x->column, &s, x->n);
    return s;
}

static size_t size_of(selection *x) {
    size_t counts;
    bf_saving s = lay_out(x, NULL, &counts);
    return bf_saving_end(&s);
}

static bf_status put_saved(selection *x, uint8_t *out) {
    size_t counts;
    lay_out(x, NULL, &counts);
    const bf_words_source source = source_of(x);
    bf_status status =
        bf_saved_words_put(x->states->context, &source, &x->column, out, out + counts);
    if (status != BF_OK) return status;
    bf_saving s = lay_out(x, out, &counts);
    bf_saving_end(&s);
    return BF_OK;
}

bf_status bf_states_append_saved(bf_states *s, int64_t first, int64_t n, char **bytes,
                                 size_t *size) {
    selection x;
    bf_status status = select_states(s, first, n, &x);
    if (status != BF_OK) return status;
    const size_t before = *size;
    char *grown = realloc(*bytes, before + size_of(&x));
    if (grown == NULL) return bf_fail(s->context, BF_E_MEMORY, "no memory for saved states");
    *bytes = grown;
    *size += size_of(&x);
    return put_saved(&x, (uint8_t *)grown + before);
}

static bf_status find_size(bf_states *s, size_t *size) {
    selection x;
    if (size == NULL) return bf_fail(s->context, BF_E_ARGUMENT, "no place for the size");
    bf_status status = select_states(s, 0, s->count, &x);
    if (status == BF_OK) *size = size_of(&x);
    return status;
}

static bf_status save_states(bf_states *s, void *buffer) {
    selection x;
    if (buffer == NULL) return bf_fail(s->context, BF_E_ARGUMENT, "no buffer");
    bf_status status = select_states(s, 0, s->count, &x);
    return status == BF_OK ? put_saved(&x, buffer) : status;
}

bf_status bf_states_save_size(bf_states *states, size_t *size) {
    if (states == NULL || !bf_enter(states->context)) return BF_E_ARGUMENT;
    return bf_leave(states->context, find_size(states, size));
}

bf_status bf_states_save(bf_states *states, void *buffer) {
    if (states == NULL || !bf_enter(states->context)) return BF_E_ARGUMENT;
    return bf_leave(states->context, save_states(states, buffer));
}

/* ---- loading --------------------------------------------------------------------------------- */

/* A form that is read. */
typedef struct saved {
    bf_aggregate of; /* op and dtype */
    int64_t count;
    const uint8_t *counts;
    bf_loaded_words column;
} saved;

/* Finds the layout and the number of saved states. */
static bf_status open_saved(bf_context *context, const void *buffer, size_t size, saved *x) {
    int numbers[BF_SAVED_WORDS_NUMBERS];
    bf_loading l;
    bf_status status =
        bf_loading_begin(&l, context, buffer, size, "states", numbers, BF_SAVED_WORDS_NUMBERS);
    if (status != BF_OK) return status;
    x->of = (bf_aggregate){(bf_reduction)numbers[0], (bf_dtype)numbers[1]};
    if (!bf_states_have(x->of.op) || bf_dtype_bytes(x->of.dtype) == 0)
        return bf_saved_refuse(context, "states that this version does not know");
    x->counts = l.in + bf_loading_section(&l, "counts", BF_I64, &x->count);
    bf_loaded_words_find(&x->column, layout_of(x->of), numbers, &l, x->count);
    return bf_loading_end(&l) && x->count <= BF_SLOTS_MAX
               ? BF_OK
               : bf_saved_refuse(context, "not the size that its header says");
}

/* Reads the words of n states from number `at` on, and adds their elements. */
static bf_status get_batch(bf_states *s, saved *x, int64_t at, int64_t n, int64_t *words) {
    for (int64_t i = 0; i < n; i++, words += x->column.layout.words) {
        const int64_t count = (int64_t)bf_load_bits(x->counts + 8 * (at + i), 8);
        if (count < 0 || count > BF_COUNT_MAX) return bf_saved_refuse_contents(s->context);
        if (count > BF_COUNT_MAX - s->elements)
            return bf_fail(s->context, BF_E_OVERFLOW, "more than 2^62 elements");
        if (!bf_loaded_words_get(&x->column, at + i, count, words))
            return bf_saved_refuse_contents(s->context);
        s->elements += count;
    }
    return BF_OK;
}

/* Merges the saved states into those from number `first` on. */
static bf_status merge_words(bf_states *s, int64_t first, saved *x) {
    const int64_t batch = bf_states_batch(s);
    int64_t *words = bf_alloc((size_t)(batch * x->column.layout.words) * sizeof *words + 1);
    bf_status status =
        words != NULL ? BF_OK : bf_fail(s->context, BF_E_MEMORY, "no memory for words");
    for (int64_t at = 0, n; at < x->count && status == BF_OK; at += n) {
        n = batch < x->count - at ? batch : x->count - at;
        status = get_batch(s, x, at, n, words);
        if (status == BF_OK)
            status = s->on->axis->add_words(s->context, s->inside, first + at, n, words);
    }
    bf_free(words);
    return status == BF_OK && !bf_loaded_words_is_least(&x->column)
               ? bf_saved_refuse_contents(s->context)
               : status;
}

bf_status bf_states_merge_saved(bf_states *s, int64_t first, const void *buffer, size_t size) {
    saved x;
    bf_status status = open_saved(s->context, buffer, size, &x);
    if (status != BF_OK) return status;
    if (x.of.op != s->op || x.of.dtype != s->dtype || x.count > s->count - first)
        return bf_fail(s->context, BF_E_STATE, "states of another op, dtype or number");
    return merge_words(s, first, &x);
}

bf_status bf_states_load_from(bf_context *context, const void *buffer, size_t size,
                              bf_states **states) {
    saved x;
    bf_states *made = NULL;
    if (states == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the states");
    bf_status status = open_saved(context, buffer, size, &x);
    if (status == BF_OK) status = bf_states_make(context, x.of.op, x.of.dtype, x.count, &made);
    if (status == BF_OK) status = merge_words(made, 0, &x);
    if (status == BF_E_OVERFLOW) status = bf_saved_refuse_contents(context);
    if (status == BF_OK)
        *states = made;
    else
        bf_states_destroy(made);
    return status;
}

bf_status bf_states_load(bf_context *context, const void *buffer, size_t size, bf_states **states) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, bf_states_load_from(context, buffer, size, states));
}
