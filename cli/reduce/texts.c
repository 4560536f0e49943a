#include "reduce/texts.h"

#include "runtime/ranks.h"
#include "runtime/report.h"

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
static bool note_new(texts *t, const char *at, size_t n) {
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

/* Counts string i of a column, which the dictionary has numbered, so many times. */
static bool count(texts *t, const bf_column *c, int64_t i, int64_t times) {
    int64_t *const at = (int64_t *)t->counts.at + ((int64_t *)t->numbers.at)[i];
    const int64_t *const offsets = c->strings->offsets;
    const bool met = *at > 0;
    *at += times;
    t->n += times;
    return met || note_new(t, (const char *)c->strings->bytes + offsets[i],
                           (size_t)(offsets[i + 1] - offsets[i]));
}

/* Absorbs the strings of n rows, each so many times (NULL: once). */
static bf_status absorb(texts *t, const bf_column *c, int64_t n, const int64_t *times) {
    int64_t *const numbers = buffer_take(&t->numbers, (size_t)n * sizeof *numbers);
    if (!numbers) return BF_E_MEMORY;
    const bf_array to = bf_array_of(BF_I64, numbers, n);
    const int64_t before = bf_dictionary_size(t->dictionary);
    const bf_status st = bf_dictionary_encode(t->dictionary, &c, &to);
    if (st != BF_OK) return st;
    bool good = reserve_counts(t, before);
    for (int64_t i = 0; i < n && good; i++)
        if (is_there(c, i)) good = count(t, c, i, times ? times[i] : 1);
    return good ? BF_OK : BF_E_MEMORY;
}

bf_status texts_absorb(texts *t, const rows_view *column, int64_t n) {
    t->rows += n;
    return absorb(t, &column->column, n, NULL);
}

/* ---- the most frequent ----------------------------------------------------------------------- */

/* Keys that are looked at together, of which `times` is how often each occurs. */
enum { BATCH = 1 << 12 };

typedef struct batch {
    int64_t numbers[BATCH], offsets[BATCH + 1], times[BATCH];
    int64_t n;
    buffer bytes;
} batch;

static void close_batch(batch *b) {
    if (b) buffer_free(&b->bytes);
    free(b);
}

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
    close_batch(b);
    *mode = least.at;
    return st;
}

/* ---- saved forms ----------------------------------------------------------------------------- */

static const char magic[] = "bftexts\n";

/* Writes a batch: how many strings, how often each occurs, where they end, and their bytes. */
static bf_status put_batch(const texts *t, batch *b, checkpoint_writer *to) {
    const int64_t *const counts = (const int64_t *)t->counts.at;
    const bf_status st = take_strings(t, b);
    if (st != BF_OK) return st;
    for (int64_t i = 0; i < b->n; i++) b->times[i] = counts[b->numbers[i]];
    checkpoint_put_number(to, b->n);
    checkpoint_put_bytes(to, b->times, (size_t)b->n * sizeof *b->times);
    checkpoint_put_bytes(to, b->offsets, (size_t)(b->n + 1) * sizeof *b->offsets);
    checkpoint_put_bytes(to, b->bytes.at, (size_t)b->offsets[b->n]);
    b->n = 0;
    return to->failed ? BF_E_MEMORY : BF_OK;
}

/* Keys that are NULL have no count, and stay away. */
static bf_status put(const texts *t, checkpoint_writer *to) {
    const int64_t n = bf_dictionary_size(t->dictionary);
    const int64_t *const counts = (const int64_t *)t->counts.at;
    batch *const b = calloc(1, sizeof *b);
    bf_status st = b ? BF_OK : BF_E_MEMORY;
    checkpoint_put_number(to, t->rows);
    for (int64_t i = 0; i < n && st == BF_OK; i++) {
        if (counts[i] > 0) b->numbers[b->n++] = i;
        if (b->n == BATCH || (i == n - 1 && b->n > 0)) st = put_batch(t, b, to);
    }
    checkpoint_put_number(to, 0);
    close_batch(b);
    return st == BF_OK && to->failed ? BF_E_MEMORY : st;
}

/* Takes the next bytes, which must be so many. */
static bool take_bytes(checkpoint_reader *from, void *to, int64_t wanted) {
    size_t n;
    const void *const at = checkpoint_bytes(from, &n);
    from->bad = from->bad || (int64_t)n != wanted;
    if (!from->bad && n > 0) memcpy(to, at, n);
    return !from->bad;
}

/* Whether the strings lie behind each other, and there are so many rows left. */
static bool is_good(const batch *b, int64_t left) {
    bool good = b->offsets[0] == 0;
    for (int64_t i = 0; i < b->n && good; left -= b->times[i++])
        good = b->offsets[i] <= b->offsets[i + 1] && b->times[i] > 0 && b->times[i] <= left;
    return good;
}

static bf_status take_batch(texts *t, batch *b, checkpoint_reader *from) {
    take_bytes(from, b->times, b->n * (int64_t)sizeof *b->times);
    take_bytes(from, b->offsets, (b->n + 1) * (int64_t)sizeof *b->offsets);
    if (from->bad || !is_good(b, t->rows - t->n)) return BF_E_STATE;
    const int64_t size = b->offsets[b->n];
    if (size > from->end - from->at) return BF_E_STATE;
    if (!buffer_take(&b->bytes, (size_t)size + 1)) return BF_E_MEMORY;
    if (!take_bytes(from, b->bytes.at, size)) return BF_E_STATE;
    const bf_strings strings = {sizeof strings, b->n, BF_I64, b->offsets, b->bytes.at};
    const bf_column column = {.size = sizeof column, .strings = &strings};
    return absorb(t, &column, b->n, b->times);
}

/* Absorbs all that a saved form has. */
static bf_status take(texts *t, checkpoint_reader *from) {
    batch *const b = calloc(1, sizeof *b);
    bf_status st = b ? BF_OK : BF_E_MEMORY;
    t->rows += checkpoint_number(from, 0, INT64_MAX - t->rows);
    while (st == BF_OK && (b->n = checkpoint_number(from, 0, BATCH)) > 0)
        st = take_batch(t, b, from);
    close_batch(b);
    return st == BF_OK && from->bad ? BF_E_STATE : st;
}

static int save(void *of, checkpoint_writer *to) {
    const texts *const t = *(texts **)of;
    return !t || put(t, to) == BF_OK ? EXIT_DONE : EXIT_IO;
}

static bool load(void *of, checkpoint_reader *from) {
    texts *const t = *(texts **)of;
    return t && take(t, from) == BF_OK;
}

const work_form texts_form = {save, load};

bf_status texts_save(const texts *t, statefile *to) {
    checkpoint_writer form = {.size = 0};
    checkpoint_begin(&form, magic);
    bf_status st = put(t, &form);
    if (st == BF_OK) checkpoint_end(&form);
    free(to->table);
    to->table = form.bytes;
    to->table_size = form.size;
    return st == BF_OK && form.failed ? BF_E_MEMORY : st;
}

texts *texts_load(bf_context *context, const statefile *from) {
    checkpoint_reader form;
    if (!checkpoint_open(&form, magic, from->table, from->table_size)) return NULL;
    texts *const t = texts_open(context);
    if (t && take(t, &form) == BF_OK && form.at == form.end) return t;
    texts_close(t);
    return NULL;
}

/* ---- merging --------------------------------------------------------------------------------- */

static bf_status take_form(texts *t, const void *bytes, size_t size) {
    checkpoint_reader from = {bytes, (const unsigned char *)bytes + size, false};
    return take(t, &from);
}

bf_status texts_merge(texts *into, const texts *from) {
    checkpoint_writer form = {.size = 0};
    bf_status st = put(from, &form);
    if (st == BF_OK) st = take_form(into, form.bytes, form.size);
    free(form.bytes);
    return st;
}

/* What rank 0 has itself, it does not send. */
bf_status texts_merge_ranks(texts *t) {
    checkpoint_writer form = {.size = 0};
    if (ranks_count() == 1) return BF_OK;
    int64_t *const sizes = ranks_allocate((size_t)ranks_count() * sizeof *sizes);
    bf_status st = ranks_rank() > 0 ? put(t, &form) : BF_OK;
    char *const all = ranks_collect(form.bytes, st == BF_OK ? (int64_t)form.size : 0, sizes);
    int64_t at = 0;
    for (int i = 0; all && i < ranks_count() && st == BF_OK; at += sizes[i++])
        if (sizes[i] > 0) st = take_form(t, all + at, (size_t)sizes[i]);
    free(all);
    free(form.bytes);
    free(sizes);
    return st;
}
