/* Saved states: a header, the words, a checksum; all little-endian.
 *
 *   0  "bfstate" and a newline     16  number of words (u64)
 *   8  version (u32), 1            24  the words (i64 each)
 *  12  op (u16), dtype (u16)       then CRC-64/XZ of all before (u64)
 */
#include "state.h"

enum { HEADER_BYTES = 24, CRC_BYTES = 8, VERSION = 1 };
static const char magic[8] = {'b', 'f', 's', 't', 'a', 't', 'e', '\n'};

/* ECMA-182's polynomial, reflected: finds every burst of errors up to 64 bits. */
static uint64_t crc64(const uint8_t *bytes, size_t size) {
    uint64_t crc = ~(uint64_t)0;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int b = 0; b < 8; b++) crc = crc >> 1 ^ (crc & 1 ? 0xC96C5795D7870F42u : 0);
    }
    return ~crc;
}

static void put(uint8_t *at, uint64_t x, int bytes) {
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(x >> 8 * i);
}

static uint64_t get(const uint8_t *at, int bytes) {
    uint64_t x = 0;
    for (int i = 0; i < bytes; i++) x |= (uint64_t)at[i] << 8 * i;
    return x;
}

static size_t word_count(const bf_state *s) {
    return (size_t)bf_state_words(s->kind, s->dtype, s->words);
}

size_t bf_state_save_size(const bf_state *state) {
    return HEADER_BYTES + 8 * word_count(state) + CRC_BYTES;
}

void bf_state_save(const bf_state *state, void *buffer) {
    uint8_t *out = buffer;
    size_t count = word_count(state), size = bf_state_save_size(state);
    memcpy(out, magic, sizeof magic);
    put(out + 8, VERSION, 4);
    put(out + 12, (uint64_t)state->op, 2);
    put(out + 14, (uint64_t)state->dtype, 2);
    put(out + 16, count, 8);
    for (size_t i = 0; i < count; i++)
        put(out + HEADER_BYTES + 8 * i, (uint64_t)state->words[i], 8);
    put(out + size - CRC_BYTES, crc64(out, size - CRC_BYTES), 8);
}

static bf_status refuse(bf_context *context, const char *why) {
    return bf_fail(context, BF_E_STATE, "%s", why);
}

/* Reads the words of a state that is as its header says. */
static bf_status load_words(bf_state *state, const uint8_t *in, size_t size) {
    size_t count = (size - HEADER_BYTES - CRC_BYTES) / 8;
    size_t room = state->kind == BF_KIND_TREE ? BF_STATE_WORDS_MAX : BF_STATE_WORDS_SMALL;
    if (get(in + 16, 8) != count || count > room || size % 8 != 0)
        return refuse(state->context, "not the size that its header says");
    for (size_t i = 0; i < count; i++) state->words[i] = (int64_t)get(in + HEADER_BYTES + 8 * i, 8);
    if (!bf_state_sized(state->kind, state->dtype, state->words, (int)count) ||
        !bf_state_valid(state->op, state->dtype, state->words))
        return refuse(state->context, "impossible contents");
    return BF_OK;
}

bf_status bf_state_load(bf_context *context, const void *buffer, size_t size, bf_state **state) {
    const uint8_t *in = buffer;
    if (context == NULL) return BF_E_ARGUMENT;
    if (in == NULL || state == NULL) return bf_fail(context, BF_E_ARGUMENT, "no buffer");
    if (size < HEADER_BYTES + CRC_BYTES || memcmp(in, magic, sizeof magic) != 0)
        return refuse(context, "not a saved state");
    if (get(in + 8, 4) != VERSION) return refuse(context, "saved by an unknown version");
    if (get(in + size - CRC_BYTES, 8) != crc64(in, size - CRC_BYTES))
        return refuse(context, "damaged: the checksum does not match");
    bf_state *made;
    bf_reduction op = (bf_reduction)get(in + 12, 2);
    bf_status status = bf_state_create(context, op, (bf_dtype)get(in + 14, 2), &made);
    if (status == BF_E_MEMORY) return status;
    if (status != BF_OK)
        return refuse(context, "a reduction or dtype that this version does not know");
    status = load_words(made, in, size);
    if (status == BF_OK)
        *state = made;
    else
        bf_state_destroy(made);
    return status;
}
