/* Sorting lines: long ones one by one, by all threads; the others at once, each by one thread. Rows
 * by their keys. */
#include "cpu/order/sorting.h"

#include <string.h>

/* ---- the values of one line ------------------------------------------------------------------ */

size_t bf_order_line_bytes(const bf_order_sorter *s, int64_t n) {
    if (s->bytes < 4) return (size_t)(8 * n);
    if (n > s->word->scratch_most && !bf_order_has_nans(&s->code, s->bytes))
        n = s->word->scratch_most;
    return (size_t)(s->bytes * n);
}

void bf_order_line(const bf_order_sorter *s, const char *from, int64_t n, char *to, char *scratch) {
    if (s->bytes == 1 && n >= BF_ORDER_COUNTED) {
        bf_order_count_bytes(s, from, n, to);
        return;
    }
    bool narrow = s->bytes < 4;
    char *words = narrow ? scratch : to, *rest = narrow ? scratch + 4 * n : scratch;
    int64_t live = n;
    if (from != words || !bf_order_is_place(&s->code, s->bytes))
        live = s->element->split(&s->code, from, n, words, rest);
    int64_t nans = n - live;
    char *first = to + (s->nan_first ? nans * s->bytes : 0);
    if (nans > 0) {
        if (!narrow) words = memmove(first, words, (size_t)(live * s->bytes));
        memcpy(s->nan_first ? to : to + live * s->bytes, rest, (size_t)(nans * s->bytes));
    }
    s->word->sort(narrow ? &bf_order_no_code : &s->code, words, rest, live);
    if (narrow) s->element->join(&s->code, words, live, first);
}

void bf_order_short_lines(const bf_order_sorter *s, const char *from, int64_t n, int64_t count,
                          char *to, char *scratch) {
    const int64_t bytes = n * s->bytes;
    for (int64_t i = 0; i < count; i++) {
        if (n <= s->element->few)
            i += s->element->lines(&s->code, from + i * bytes, n, count - i, to + i * bytes);
        if (i < count) bf_order_line(s, from + i * bytes, n, to + i * bytes, scratch);
    }
}

bf_status bf_order_long_line(bf_context *context, const bf_order_sorter *s, const char *from,
                             int64_t n, char *to, char *scratch) {
    if (s->bytes < 4) return bf_order_count_long(context, s, from, n, to);
    return bf_order_divide(context, s, n * s->bytes, from, n, to, scratch);
}

/* ---- lines ----------------------------------------------------------------------------------- */

enum { PIECE = 1 << 13 /* elements of short lines that a worker takes at a time */ };

typedef struct sorting {
    bf_order_sorter s;
    const bf_order_lines *lines;
    int64_t most;  /* longer lines are long */
    int64_t room;  /* bytes of scratch memory of each worker */
    char *sorted;  /* NULL: none */
    char *index;   /* NULL: none */
    char *scratch; /* the workers', or a long line's */
    bool indexed;  /* positions are needed, even where none are wanted */
} sorting;

static int64_t line_begin(const bf_order_lines *l, int64_t i) {
    return l->offsets != NULL ? l->offsets[i] : i * l->length;
}

static int64_t line_length(const bf_order_lines *l, int64_t i) {
    return l->offsets != NULL ? l->offsets[i + 1] - l->offsets[i] : l->length;
}

static const char *line_values(const sorting *t, int64_t begin) {
    return (const char *)t->lines->values + begin * t->s.bytes;
}

static char *line_sorted(const sorting *t, int64_t begin) {
    return t->sorted == NULL ? NULL : t->sorted + begin * t->s.bytes;
}

/* Bytes of scratch memory for a line; positions that nobody wants are at its end. */
static size_t scratch_bytes(const bf_context *context, const sorting *t, int64_t n) {
    if (!t->indexed && n > t->most)
        return t->s.bytes < 4 ? 0 : bf_order_divide_bytes(context, &t->s, n);
    if (!t->indexed) return bf_order_line_bytes(&t->s, n);
    return bf_order_index_bytes(n) + (t->index == NULL ? 8 * (size_t)n : 0);
}

static char *line_index(const sorting *t, int64_t begin, int64_t n, char *scratch) {
    return t->index == NULL ? scratch + bf_order_index_bytes(n) : t->index + 8 * begin;
}

static void sort_short(const sorting *t, int64_t i, char *scratch) {
    int64_t begin = line_begin(t->lines, i), n = line_length(t->lines, i);
    if (n == 0 || n > t->most) return;
    const char *from = line_values(t, begin);
    char *to = line_sorted(t, begin);
    if (t->indexed)
        bf_order_index(&t->s, from, n, to, line_index(t, begin, n, scratch), scratch);
    else
        bf_order_short_lines(&t->s, from, n, 1, to, scratch);
}

static bf_status sort_shorts(void *arg, int worker, int64_t first, int64_t n) {
    const sorting *t = arg;
    for (int64_t i = first; i < first + n; i++) sort_short(t, i, t->scratch + worker * t->room);
    return BF_OK;
}

static bf_status sort_long(bf_context *context, const sorting *t, int64_t i) {
    int64_t begin = line_begin(t->lines, i), n = line_length(t->lines, i);
    const char *from = line_values(t, begin);
    char *to = line_sorted(t, begin);
    if (!t->indexed) return bf_order_long_line(context, &t->s, from, n, to, t->scratch);
    return bf_order_long_index(context, &t->s, from, n, to, line_index(t, begin, n, t->scratch),
                               t->scratch);
}

/* May some lines be short? */
static bool has_short(const sorting *t) {
    return t->lines->offsets != NULL || t->lines->length <= t->most;
}

/* The threads that sort short lines, each in a room of its own. */
static int short_workers(const bf_context *context, const sorting *t, int64_t all, size_t room) {
    const int workers = bf_workers_within(bf_workers(context, all, BF_ORDER_LEAST), room);
    return workers < t->lines->count ? workers : (int)t->lines->count;
}

/* Plans which lines are long: those that are worth two threads, and too long for one of them. */
static void plan_sorting(bf_context *context, sorting *t, int64_t all) {
    int workers = bf_workers(context, all, BF_ORDER_LEAST);
    int64_t share = all / (8 * workers);
    bool counted = t->s.bytes < 4 && !t->indexed;
    int64_t shares = 2 * BF_ORDER_SHARE / (t->indexed ? 8 : t->s.word_bytes);
    int64_t least = counted ? BF_ORDER_LONG : shares - 1;
    t->most = workers == 1 || share > BF_ORDER_WHOLE ? BF_ORDER_WHOLE : share;
    if (t->most < least || counted) t->most = least;
}

static bf_status run_sorting(bf_context *context, const sorting *t, int64_t all, int workers) {
    const bf_order_lines *lines = t->lines;
    bf_status status = BF_OK;
    for (int64_t i = 0; i < lines->count && status == BF_OK && lines->length > t->most; i++)
        if (line_length(lines, i) > t->most) status = sort_long(context, t, i);
    if (status != BF_OK || workers == 0) return status;
    int64_t piece = PIECE / (all / lines->count + 1) + 1;
    return bf_parallel_watched(context, workers, lines->count, piece, all * t->s.bytes, sort_shorts,
                               (void *)(uintptr_t)t);
}

bf_status bf_cpu_sort(bf_context *context, const bf_order_lines *lines, void *sorted, void *index) {
    sorting t = {.s = bf_order_sorter_of(context, lines->dtype, lines->order),
                 .lines = lines,
                 .sorted = sorted,
                 .index = index};
    t.indexed = index != NULL || t.s.bytes == 16;
    int64_t all = line_begin(lines, lines->count) - line_begin(lines, 0);
    if (lines->length == 0 || (sorted == NULL && index == NULL)) return BF_OK;
    plan_sorting(context, &t, all);
    const size_t of_long = lines->length > t.most ? scratch_bytes(context, &t, lines->length) : 0;
    const int64_t most = lines->length < t.most ? lines->length : t.most;
    const size_t room =
        (scratch_bytes(context, &t, most) + BF_CPU_APART - 1) / BF_CPU_APART * BF_CPU_APART;
    const int workers = has_short(&t) ? short_workers(context, &t, all, room) : 0;
    const size_t bytes = room * (size_t)workers;
    t.room = (int64_t)room;
    t.scratch = bf_order_alloc(of_long > bytes ? of_long : bytes);
    if (t.scratch == NULL) return bf_fail(context, BF_E_MEMORY, "no memory to sort");
    bf_status status = run_sorting(context, &t, all, workers);
    bf_free(t.scratch);
    return status;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Keys and payloads are taken through scratch memory, whose elements are of at most 16 bytes. */
static bf_status move_rows(bf_context *context, const bf_order_lines *keys, int payloads,
                           void *const payload[], const int bytes[], char *index, char *scratch) {
    const int64_t n = keys->length;
    bf_status status = BF_OK;
    for (int p = 0; p < payloads && status == BF_OK; p++)
        status = bf_order_take_long(context, bytes[p], payload[p], index, n, payload[p], scratch,
                                    n * bytes[p]);
    return status;
}

bf_status bf_cpu_sort_rows(bf_context *context, const bf_order_lines *keys, int payloads,
                           void *const payload[], const int bytes[]) {
    const bf_order_sorter s = bf_order_sorter_of(context, keys->dtype, keys->order);
    const int64_t n = keys->length;
    char *values = (char *)(uintptr_t)keys->values;
    char *scratch = bf_order_alloc(bf_order_index_bytes(n) + 8 * (size_t)n);
    if (scratch == NULL) return bf_fail(context, BF_E_MEMORY, "no memory to sort");
    char *index = scratch + bf_order_index_bytes(n);
    bf_status status = BF_OK;
    if (n > BF_ORDER_LONG)
        status = bf_order_long_index(context, &s, values, n, values, index, scratch);
    else
        bf_order_index(&s, values, n, values, index, scratch);
    if (status == BF_OK)
        status = move_rows(context, keys, payloads, payload, bytes, index, scratch);
    bf_free(scratch);
    return status;
}
