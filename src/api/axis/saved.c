/* Many saved states: a header, counts, the words of all, a checksum; all little-endian.
 *
 *   0  "bfmany" and a newline, 0    16  states (u64)
 *   8  version (u32), 1             24  the layout of the column (api/reduce/packed.h)
 *  12  0 (u32)                      40  the elements that each state has absorbed (i64)
 *                                       the column
 *                                       CRC-64/XZ of all before (u64) */
#include "api/axis/states.h"

#include "api/reduce/reduce.h"
#include "api/runtime/enter.h"
#include "api/runtime/saved.h"
#include "seam/host.h"

enum {
    HEADER_BYTES = 24,
    COUNTS_AT = HEADER_BYTES + BF_PACKED_HEADER_BYTES,
    VERSION = 1,
    COLUMN_VERSION = 2 /* of saved groups, which have such columns too */
};
static const char magic[8] = {'b', 'f', 'm', 'a', 'n', 'y', '\n', 0};

/* A batch of words: those of states [at, at + n) of `all`. */
typedef struct batch {
    int64_t at, n, most, all;
    int64_t *words;
} batch;

static bf_status make_batch(const bf_states *s, const bf_packed *packed, int64_t all, batch *b) {
    *b = (batch){.most = bf_states_batch(s), .all = all};
    b->words = bf_alloc((size_t)(b->most * packed->words) * sizeof *b->words + 1);
    return b->words != NULL ? BF_OK : bf_fail(s->context, BF_E_MEMORY, "no memory for words");
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- saving ---------------------------------------------------------------------------------- */

/* Calls take(packed, b, out) with batches of the words of n states. */
static bf_status each_batch(bf_states *s, int64_t first, int64_t n, bf_packed *packed, uint8_t *out,
                            void (*take)(bf_packed *packed, const batch *b, uint8_t *out)) {
    batch b;
    bf_status status = make_batch(s, packed, n, &b);
    for (; b.at < n && status == BF_OK; b.at += b.n) {
        b.n = least(b.most, n - b.at);
        status = s->on->axis->words(s->context, s->inside, first + b.at, b.n, b.words);
        if (status == BF_OK) take(packed, &b, out);
    }
    bf_free(b.words);
    return status;
}

static void cover_batch(bf_packed *packed, const batch *b, uint8_t *out) {
    (void)out;
    for (int64_t i = 0; i < b->n; i++) bf_packed_cover(packed, b->words + i * packed->words);
}

static void put_batch(bf_packed *packed, const batch *b, uint8_t *out) {
    uint8_t *column = out + 8 * b->all;
    for (int64_t i = 0; i < b->n; i++) {
        const int64_t *words = b->words + i * packed->words;
        bf_saved_put(out + 8 * (b->at + i), (uint64_t)words[0], 8);
        bf_packed_put(packed, (size_t)b->all, (size_t)(b->at + i), words, column);
    }
}

static bf_status plan_column(bf_states *s, int64_t first, int64_t n, bf_packed *packed) {
    *packed = bf_packed_of((bf_aggregate){s->op, s->dtype}, COLUMN_VERSION);
    bf_status status = each_batch(s, first, n, packed, NULL, cover_batch);
    bf_packed_settle(packed);
    return status;
}

static size_t saved_bytes(const bf_packed *packed, int64_t count) {
    return COUNTS_AT + (size_t)count * (8 + bf_packed_bytes(packed)) + BF_SAVED_CRC_BYTES;
}

bf_status bf_states_find_size(bf_states *s, int64_t first, int64_t n, size_t *size) {
    bf_packed packed;
    bf_status status = plan_column(s, first, n, &packed);
    if (status == BF_OK) *size = saved_bytes(&packed, n);
    return status;
}

bf_status bf_states_save_to(bf_states *s, int64_t first, int64_t n, void *buffer) {
    bf_packed packed;
    uint8_t *out = buffer;
    bf_status status = plan_column(s, first, n, &packed);
    if (status == BF_OK) status = each_batch(s, first, n, &packed, out + COUNTS_AT, put_batch);
    if (status != BF_OK) return status;
    bf_saved_begin(out, magic, VERSION);
    bf_saved_put(out + 12, 0, 4);
    bf_saved_put(out + 16, (uint64_t)n, 8);
    bf_packed_put_header(&packed, out + HEADER_BYTES);
    bf_saved_end(out, saved_bytes(&packed, n));
    return BF_OK;
}

static bf_status find_size(bf_states *s, size_t *size) {
    if (size == NULL) return bf_fail(s->context, BF_E_ARGUMENT, "no place for the size");
    return bf_states_find_size(s, 0, s->count, size);
}

static bf_status save_states(bf_states *s, void *buffer) {
    if (buffer == NULL) return bf_fail(s->context, BF_E_ARGUMENT, "no buffer");
    return bf_states_save_to(s, 0, s->count, buffer);
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

static bf_status refuse_contents(bf_context *context) {
    return bf_saved_refuse(context, "impossible contents");
}

/* Reads a batch of words, and adds their elements. false: no states have such words. */
static bool get_batch(bf_states *s, const bf_packed *packed, bf_packed *seen, const uint8_t *in,
                      const batch *b) {
    for (int64_t i = 0; i < b->n; i++) {
        int64_t *words = b->words + i * packed->words;
        const int64_t count = (int64_t)bf_saved_get(in + 8 * (b->at + i), 8);
        if (count < 0 || count > BF_COUNT_MAX - s->elements) return false;
        bf_packed_get(packed, (size_t)b->all, (size_t)(b->at + i), count, in + 8 * b->all, words);
        bf_packed_cover(seen, words);
        if (!bf_state_valid(s->op, s->dtype, words)) return false;
        s->elements += count;
    }
    return true;
}

static bf_status load_words(bf_states *s, const bf_packed *packed, const uint8_t *in) {
    bf_packed seen = bf_packed_of(packed->aggregate, COLUMN_VERSION);
    batch b;
    bf_status status = make_batch(s, packed, s->count, &b);
    for (; b.at < b.all && status == BF_OK; b.at += b.n) {
        b.n = least(b.most, b.all - b.at);
        if (get_batch(s, packed, &seen, in, &b))
            status = s->on->axis->add_words(s->context, s->inside, b.at, b.n, b.words);
        else
            status = refuse_contents(s->context);
    }
    bf_free(b.words);
    bf_packed_settle(&seen);
    if (status == BF_OK && !bf_packed_same(packed, &seen)) status = refuse_contents(s->context);
    return status;
}

/* Makes the states of a saved form whose size is right. */
static bf_status load_states(bf_context *context, const bf_packed *packed, const uint8_t *in,
                             bf_states **states) {
    const bf_aggregate a = packed->aggregate;
    const int64_t count = (int64_t)bf_saved_get(in + 16, 8);
    bf_states *made = NULL;
    bf_status status = bf_states_make(context, a.op, a.dtype, count, &made);
    if (status == BF_E_ARGUMENT || status == BF_E_DTYPE)
        return bf_saved_refuse(context, "states that this version does not know");
    if (status == BF_OK) status = load_words(made, packed, in + COUNTS_AT);
    if (status == BF_OK)
        *states = made;
    else
        bf_states_destroy(made);
    return status;
}

bf_status bf_states_load_from(bf_context *context, const void *buffer, size_t size,
                              bf_states **states) {
    const uint8_t *in = buffer;
    if (buffer == NULL || states == NULL) return bf_fail(context, BF_E_ARGUMENT, "no buffer");
    bf_status status = bf_saved_check(context, in, size, COUNTS_AT, magic, VERSION);
    if (status != BF_OK) return status;
    const bf_aggregate a = bf_packed_aggregate(in + HEADER_BYTES);
    const uint64_t count = bf_saved_get(in + 16, 8);
    if (!bf_states_have(a.op) || bf_dtype_bytes(a.dtype) == 0)
        return bf_saved_refuse(context, "states that this version does not know");
    bf_packed packed = bf_packed_of(a, COLUMN_VERSION);
    if (!bf_packed_get_header(&packed, in + HEADER_BYTES) || bf_saved_get(in + 12, 4) != 0 ||
        count > (uint64_t)BF_SLOTS_MAX || size != saved_bytes(&packed, (int64_t)count))
        return bf_saved_refuse(context, "not the size that its header says");
    return load_states(context, &packed, in, states);
}

bf_status bf_states_load(bf_context *context, const void *buffer, size_t size, bf_states **states) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, bf_states_load_from(context, buffer, size, states));
}
