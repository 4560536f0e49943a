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

#include <stdlib.h>

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

/* Writes states [first, first + n), whose column is planned. */
static bf_status write_states(bf_states *s, int64_t first, int64_t n, bf_packed *packed,
                              uint8_t *out) {
    bf_status status = each_batch(s, first, n, packed, out + COUNTS_AT, put_batch);
    if (status != BF_OK) return status;
    bf_saved_begin(out, magic, VERSION);
    bf_saved_put(out + 12, 0, 4);
    bf_saved_put(out + 16, (uint64_t)n, 8);
    bf_packed_put_header(packed, out + HEADER_BYTES);
    bf_saved_end(out, saved_bytes(packed, n));
    return BF_OK;
}

bf_status bf_states_append(bf_states *s, int64_t first, int64_t n, char **bytes, size_t *size) {
    bf_packed packed;
    bf_status status = plan_column(s, first, n, &packed);
    if (status != BF_OK) return status;
    const size_t more = saved_bytes(&packed, n);
    char *grown = realloc(*bytes, *size + more);
    if (grown == NULL) return bf_fail(s->context, BF_E_MEMORY, "no memory for saved states");
    *bytes = grown;
    status = write_states(s, first, n, &packed, (uint8_t *)grown + *size);
    *size += more;
    return status;
}

static bf_status find_size(bf_states *s, size_t *size) {
    bf_packed packed;
    if (size == NULL) return bf_fail(s->context, BF_E_ARGUMENT, "no place for the size");
    bf_status status = plan_column(s, 0, s->count, &packed);
    if (status == BF_OK) *size = saved_bytes(&packed, s->count);
    return status;
}

static bf_status save_states(bf_states *s, void *buffer) {
    bf_packed packed;
    if (buffer == NULL) return bf_fail(s->context, BF_E_ARGUMENT, "no buffer");
    bf_status status = plan_column(s, 0, s->count, &packed);
    return status == BF_OK ? write_states(s, 0, s->count, &packed, buffer) : status;
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

/* Reads a batch of words, and adds their elements. */
static bf_status get_batch(bf_states *s, const bf_packed *packed, bf_packed *seen,
                           const uint8_t *in, const batch *b) {
    for (int64_t i = 0; i < b->n; i++) {
        int64_t *words = b->words + i * packed->words;
        const int64_t count = (int64_t)bf_saved_get(in + 8 * (b->at + i), 8);
        if (count < 0 || count > BF_COUNT_MAX) return refuse_contents(s->context);
        if (count > BF_COUNT_MAX - s->elements)
            return bf_fail(s->context, BF_E_OVERFLOW, "more than 2^62 elements");
        bf_packed_get(packed, (size_t)b->all, (size_t)(b->at + i), count, in + 8 * b->all, words);
        bf_packed_cover(seen, words);
        if (!bf_state_valid(s->op, s->dtype, words)) return refuse_contents(s->context);
        s->elements += count;
    }
    return BF_OK;
}

/* Merges `count` saved states into those from number `first` on. */
static bf_status merge_words(bf_states *s, int64_t first, int64_t count, const bf_packed *packed,
                             const uint8_t *in) {
    bf_packed seen = bf_packed_of(packed->aggregate, COLUMN_VERSION);
    batch b;
    bf_status status = make_batch(s, packed, count, &b);
    for (; b.at < count && status == BF_OK; b.at += b.n) {
        b.n = least(b.most, count - b.at);
        status = get_batch(s, packed, &seen, in, &b);
        if (status == BF_OK)
            status = s->on->axis->add_words(s->context, s->inside, first + b.at, b.n, b.words);
    }
    bf_free(b.words);
    bf_packed_settle(&seen);
    if (status == BF_OK && !bf_packed_same(packed, &seen)) status = refuse_contents(s->context);
    return status;
}

/* Reads the layout and the number of saved states, and checks that their size is right. */
static bf_status read_header(bf_context *context, const uint8_t *in, size_t size, bf_packed *packed,
                             int64_t *count) {
    bf_status status = bf_saved_check(context, in, size, COUNTS_AT, magic, VERSION);
    if (status != BF_OK) return status;
    const bf_aggregate a = bf_packed_aggregate(in + HEADER_BYTES);
    const uint64_t n = bf_saved_get(in + 16, 8);
    if (!bf_states_have(a.op) || bf_dtype_bytes(a.dtype) == 0)
        return bf_saved_refuse(context, "states that this version does not know");
    *packed = bf_packed_of(a, COLUMN_VERSION);
    if (!bf_packed_get_header(packed, in + HEADER_BYTES) || bf_saved_get(in + 12, 4) != 0 ||
        n > (uint64_t)BF_SLOTS_MAX || size != saved_bytes(packed, (int64_t)n))
        return bf_saved_refuse(context, "not the size that its header says");
    *count = (int64_t)n;
    return BF_OK;
}

bf_status bf_states_merge_saved(bf_states *s, int64_t first, const void *buffer, size_t size) {
    bf_packed packed;
    int64_t count;
    bf_status status = read_header(s->context, buffer, size, &packed, &count);
    if (status != BF_OK) return status;
    const bf_aggregate a = packed.aggregate;
    if (a.op != s->op || a.dtype != s->dtype || count > s->count - first)
        return bf_fail(s->context, BF_E_STATE, "states of another op, dtype or number");
    return merge_words(s, first, count, &packed, (const uint8_t *)buffer + COUNTS_AT);
}

bf_status bf_states_load_from(bf_context *context, const void *buffer, size_t size,
                              bf_states **states) {
    bf_packed packed;
    bf_states *made = NULL;
    int64_t count;
    if (buffer == NULL || states == NULL) return bf_fail(context, BF_E_ARGUMENT, "no buffer");
    bf_status status = read_header(context, buffer, size, &packed, &count);
    if (status != BF_OK) return status;
    status = bf_states_make(context, packed.aggregate.op, packed.aggregate.dtype, count, &made);
    if (status == BF_OK)
        status = merge_words(made, 0, count, &packed, (const uint8_t *)buffer + COUNTS_AT);
    if (status == BF_E_OVERFLOW) status = refuse_contents(context);
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
