/* Saved states: "state" (op, dtype, scale), "words" (i64). */
#include "api/runtime/saved.h"
#include "api/reduce/reduce.h"
#include "api/reduce/state.h"
#include "api/runtime/enter.h"

enum { NUMBERS = 3 };

static size_t write_state(const bf_state *state, void *out) {
    const int numbers[NUMBERS] = {(int)state->op, (int)state->dtype, state->scale};
    bf_saving s = bf_saving_begin(out, "state", numbers, NUMBERS);
    bf_saving_put(&s, "words", BF_I64, state->words,
                  bf_state_words(state->kind, state->dtype, state->words));
    return bf_saving_end(&s);
}

size_t bf_state_save_size(const bf_state *state) {
    return state != NULL ? write_state(state, NULL) : 0;
}

bf_status bf_state_save(const bf_state *state, void *buffer) {
    if (state == NULL || buffer == NULL) return BF_E_ARGUMENT;
    write_state(state, buffer);
    return BF_OK;
}

/* Reads the scale and the words. */
static bf_status load_contents(bf_state *state, bf_loading *l, int scale) {
    int64_t count;
    const size_t offset = bf_loading_section(l, "words", BF_I64, &count);
    if (!bf_loading_end(l) || count > bf_state_room(state->kind, state->dtype))
        return bf_saved_refuse(state->context, "not the size that its header says");
    memcpy(state->words, l->in + offset, 8 * (size_t)count);
    if (!bf_state_sized(state->kind, state->dtype, state->words, (int)count) ||
        !bf_state_valid(state->op, state->dtype, state->words))
        return bf_saved_refuse_contents(state->context);
    if (bf_check_scale(state->context, state->op, state->dtype, scale) != BF_OK)
        return bf_saved_refuse(state->context, "impossible scale");
    state->scale = scale;
    state->lasting = true;
    return BF_OK;
}

static bf_status load_state(bf_context *context, const void *buffer, size_t size,
                            bf_state **state) {
    int numbers[NUMBERS];
    bf_loading l;
    bf_state *made;
    if (state == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the state");
    bf_status status = bf_loading_begin(&l, context, buffer, size, "state", numbers, NUMBERS);
    if (status != BF_OK) return status;
    status = bf_state_make(context, (bf_reduction)numbers[0], (bf_dtype)numbers[1], &made);
    if (status == BF_E_MEMORY) return status;
    if (status != BF_OK)
        return bf_saved_refuse(context, "a reduction or dtype that this version does not know");
    status = load_contents(made, &l, numbers[2]);
    if (status == BF_OK)
        *state = made;
    else
        bf_state_destroy(made);
    return status;
}

bf_status bf_state_load(bf_context *context, const void *buffer, size_t size, bf_state **state) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, load_state(context, buffer, size, state));
}
