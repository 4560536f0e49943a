#include "reduce/texts.h"

#include <stdlib.h>
#include <string.h>

texts *texts_open(bf_context *context) {
    static const bf_dtype strings[] = {BF_NONE};
    texts *t = calloc(1, sizeof *t);
    if (!t || bf_dictionary_create(context, 1, strings, &t->dictionary) == BF_OK) return t;
    free(t);
    return NULL;
}

void texts_close(texts *t) {
    if (!t) return;
    bf_dictionary_destroy(t->dictionary);
    buffer_free(&t->numbers);
    buffer_free(&t->counts);
    buffer_free(&t->least);
    buffer_free(&t->greatest);
    free(t);
}

/* ---- absorbing ------------------------------------------------------------------------------- */

static int compare(const char *a, size_t a_bytes, const char *b, size_t b_bytes) {
    const int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);
    return order ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

static bool keep(buffer *to, size_t *bytes, const char *at, size_t n) {
    char *const copy = buffer_take(to, n + 1);
    if (!copy) return false;
    memcpy(copy, at, n);
    copy[n] = '\0';
    *bytes = n;
    return true;
}

/* Notes a string that was not there before. */
static bool note(texts *t, const char *at, size_t n) {
    const bool first = t->different++ == 0;
    bool kept = true;
    if (first || compare(at, n, t->least.at, t->least_bytes) < 0)
        kept = keep(&t->least, &t->least_bytes, at, n);
    if (kept && (first || compare(at, n, t->greatest.at, t->greatest_bytes) > 0))
        kept = keep(&t->greatest, &t->greatest_bytes, at, n);
    return kept;
}

/* Makes room for counts of new keys, which are 0. */
static bool reserve_counts(texts *t, int64_t before) {
    const int64_t now = bf_dictionary_size(t->dictionary);
    int64_t *const counts = buffer_grow(&t->counts, (size_t)now * sizeof *counts);
    if (counts) memset(counts + before, 0, (size_t)(now - before) * sizeof *counts);
    return counts != NULL;
}

static bool is_there(const bf_column *c, int64_t i) {
    return !c->valid || text_has_bit(c->valid, c->first + i);
}

static bool count(texts *t, const bf_column *c, const int64_t *numbers, int64_t n) {
    int64_t *const counts = (int64_t *)t->counts.at;
    const int64_t *const offsets = c->strings->offsets;
    bool kept = true;
    for (int64_t i = 0; i < n && kept; i++) {
        if (!is_there(c, i)) continue;
        t->n++;
        if (counts[numbers[i]]++ > 0) continue;
        const int64_t at = offsets[i], end = offsets[i + 1];
        kept = note(t, (const char *)c->strings->bytes + at, (size_t)(end - at));
    }
    return kept;
}

bf_status texts_absorb(texts *t, const rows_view *column, int64_t n) {
    int64_t *const numbers = buffer_take(&t->numbers, (size_t)n * sizeof *numbers);
    if (!numbers) return BF_E_MEMORY;
    const bf_array to = bf_array_of(BF_I64, numbers, n);
    const bf_column *const columns[] = {&column->column};
    const int64_t before = bf_dictionary_size(t->dictionary);
    const bf_status st = bf_dictionary_encode(t->dictionary, columns, &to);
    if (st != BF_OK) return st;
    return reserve_counts(t, before) && count(t, columns[0], numbers, n) ? BF_OK : BF_E_MEMORY;
}

/* ---- the most frequent ----------------------------------------------------------------------- */

/* Keys that are looked at together. */
enum { BATCH = 1 << 12 };

typedef struct batch {
    int64_t numbers[BATCH], offsets[BATCH + 1];
    int64_t n;
    buffer bytes;
} batch;

/* Takes the strings of the keys. */
static bf_status take_strings(const texts *t, batch *b) {
    const bf_array numbers = bf_array_of(BF_I64, b->numbers, b->n),
                   offsets = bf_array_of(BF_I64, b->offsets, b->n + 1);
    bf_status st = bf_dictionary_strings(t->dictionary, 0, &numbers, &offsets, NULL, 0, NULL);
    if (st != BF_OK) return st;
    const int64_t room = b->offsets[b->n];
    if (!buffer_take(&b->bytes, (size_t)room)) return BF_E_MEMORY;
    return bf_dictionary_strings(t->dictionary, 0, &numbers, &offsets, b->bytes.at, room, NULL);
}

/* Makes *least the least of it and of the batch's strings, which is then empty. */
static bf_status take_least(const texts *t, batch *b, buffer *least, size_t *bytes) {
    const bf_status st = take_strings(t, b);
    if (st != BF_OK) return st;
    bool kept = true;
    for (int64_t i = 0; i < b->n && kept; i++) {
        const char *const at = b->bytes.at + b->offsets[i];
        const size_t n = (size_t)(b->offsets[i + 1] - b->offsets[i]);
        if (!least->at || compare(at, n, least->at, *bytes) < 0) kept = keep(least, bytes, at, n);
    }
    b->n = 0;
    return kept ? BF_OK : BF_E_MEMORY;
}

static int64_t most_of(const int64_t *counts, int64_t n) {
    int64_t most = 0;
    for (int64_t i = 0; i < n; i++)
        if (counts[i] > most) most = counts[i];
    return most;
}

bf_status texts_mode(const texts *t, char **mode, size_t *bytes, int64_t *times) {
    const int64_t n = bf_dictionary_size(t->dictionary);
    const int64_t *const counts = (const int64_t *)t->counts.at, most = most_of(counts, n);
    buffer least = {.at = NULL};
    batch *const b = calloc(1, sizeof *b);
    bf_status st = b ? BF_OK : BF_E_MEMORY;
    *times = most;
    for (int64_t i = 0; i < n && st == BF_OK && most > 0; i++) {
        if (counts[i] == most) b->numbers[b->n++] = i;
        if (b->n == BATCH || i == n - 1) st = take_least(t, b, &least, bytes);
    }
    if (b) buffer_free(&b->bytes);
    free(b);
    *mode = least.at;
    return st;
}
