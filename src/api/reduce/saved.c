/* Saved states: a header, the words, a checksum; all little-endian.
 *
 *   0  "bfstate" and a newline     16  number of words (u64)
 *   8  version (u32), 1 to 3       24  the words (i64 each)
 *  12  op (u16), dtype (u8),       then CRC-64/XZ of all before (u64)
 *  15  scale (u8)
 *
 * Version 1 has a flag in place of the count of -0 (rules/reduce/sum.h). A state that merged a part
 * of version 1, whose -0 were not counted, is saved in version 1. Version 3 has a scale, which is 0
 * in the others.
 */
#include "api/runtime/saved.h"
#include "api/reduce/reduce.h"
#include "api/reduce/state.h"
#include "api/runtime/enter.h"

enum { HEADER_BYTES = 24, VERSION = 2, SCALED = 3 };
static const char magic[8] = {'b', 'f', 's', 't', 'a', 't', 'e', '\n'};

static size_t word_count(const bf_state *s) {
    return (size_t)bf_state_words(s->kind, s->dtype, s->words);
}

size_t bf_state_save_size(const bf_state *state) {
    if (state == NULL) return 0;
    return HEADER_BYTES + 8 * word_count(state) + BF_SAVED_CRC_BYTES;
}

bf_status bf_state_save(const bf_state *state, void *buffer) {
    if (state == NULL || buffer == NULL) return BF_E_ARGUMENT;
    uint8_t *out = buffer;
    size_t count = word_count(state), size = bf_state_save_size(state);
    bf_saved_begin(out, magic, state->scale > 0 ? SCALED : state->uncounted ? 1 : VERSION);
    bf_saved_put(out + 12, (uint64_t)state->op, 2);
    bf_saved_put(out + 14, (uint64_t)state->dtype, 1);
    bf_saved_put(out + 15, (uint64_t)state->scale, 1);
    bf_saved_put(out + 16, count, 8);
    for (size_t i = 0; i < count; i++)
        bf_saved_put(out + HEADER_BYTES + 8 * i, (uint64_t)state->words[i], 8);
    if (state->uncounted)
        bf_saved_put(out + HEADER_BYTES + 8 * BF_SUM_NEG_ZERO, (uint64_t)bf_sum_flag(state->words),
                     8);
    bf_saved_end(out, size);
    return BF_OK;
}

/* Reads the words of a state that is as its header says. */
static bf_status load_words(bf_state *state, const uint8_t *in, size_t size) {
    size_t count = (size - HEADER_BYTES - BF_SAVED_CRC_BYTES) / 8;
    size_t room = (size_t)bf_state_room(state->kind, state->dtype);
    if (bf_saved_get(in + 16, 8) != count || count > room || size % 8 != 0)
        return bf_saved_refuse(state->context, "not the size that its header says");
    for (size_t i = 0; i < count; i++)
        state->words[i] = (int64_t)bf_saved_get(in + HEADER_BYTES + 8 * i, 8);
    bool counted = true,
         valid = bf_state_sized(state->kind, state->dtype, state->words, (int)count);
    if (valid && bf_saved_version(in) == 1)
        valid = bf_state_read_flag(state->kind, state->dtype, state->words, &counted);
    if (!valid || !bf_state_valid(state->op, state->dtype, state->words))
        return bf_saved_refuse(state->context, "impossible contents");
    state->scale = (int)bf_saved_get(in + 15, 1);
    if ((bf_saved_version(in) == SCALED) != (state->scale > 0) ||
        bf_check_scale(state->context, state->op, state->dtype, state->scale) != BF_OK)
        return bf_saved_refuse(state->context, "impossible scale");
    state->lasting = true;
    state->uncounted = !counted;
    return BF_OK;
}

static bf_status load_state(bf_context *context, const uint8_t *in, size_t size, bf_state **state) {
    if (in == NULL || state == NULL) return bf_fail(context, BF_E_ARGUMENT, "no buffer");
    bf_status status = bf_saved_check(context, in, &size, HEADER_BYTES, magic, SCALED);
    if (status != BF_OK) return status;
    bf_state *made;
    bf_reduction op = (bf_reduction)bf_saved_get(in + 12, 2);
    status = bf_state_make(context, op, (bf_dtype)bf_saved_get(in + 14, 1), &made);
    if (status == BF_E_MEMORY) return status;
    if (status != BF_OK)
        return bf_saved_refuse(context, "a reduction or dtype that this version does not know");
    status = load_words(made, in, size);
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
