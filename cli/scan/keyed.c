#include "scan/keyed.h"

#include <stdlib.h>
#include <string.h>

/* What a line takes in memory beside its elements or state, and the strings of its key. */
enum { LINE_BYTES = sizeof(keyed_line) + 256 };

bf_status keyed_open(keyed *k, running *of, const table *t) {
    bf_dtype dtypes[BF_KEY_COLUMNS_MAX];
    *k = (keyed){.of = of, .table = t};
    for (int i = 0; i < t->asked->keys; i++) dtypes[i] = t->columns[t->key_columns[i]].form.dtype;
    return bf_dictionary_create(of->context, t->asked->keys, dtypes, &k->keys);
}

void keyed_close(keyed *k) {
    for (int64_t i = 0; i < k->n; i++) line_close(&k->list[i].line);
    bf_dictionary_destroy(k->keys);
    free(k->list);
    buffer_free(&k->numbers);
    buffer_free(&k->next);
    buffer_free(&k->own);
    buffer_free(&k->own_on);
    buffer_free(&k->results);
}

static const source *source_of(const keyed *k) { return &k->table->input->source; }

/* ---- lines ----------------------------------------------------------------------------------- */

static int64_t key_bytes(const keyed *k, int64_t row) {
    const table *t = k->table;
    int64_t bytes = 0;
    for (int i = 0; i < t->asked->keys; i++) {
        const table_column *c = &t->columns[t->key_columns[i]];
        const int64_t *offsets = c->view.strings.offsets;
        bytes += c->form.dtype == BF_NONE ? offsets[row + 1] - offsets[row] : 16;
    }
    return bytes;
}

static bf_status add_line(keyed *k, int64_t row) {
    if (k->n == k->room) {
        const int64_t room = 2 * k->room + 64;
        keyed_line *const more = realloc(k->list, (size_t)room * sizeof *more);
        if (!more) return BF_E_MEMORY;
        k->list = more;
        k->room = room;
    }
    keyed_line *const l = &k->list[k->n++];
    l->count = 0;
    const bf_status st = line_open(&l->line, k->of);
    k->held += LINE_BYTES + key_bytes(k, row);
    if (l->line.state) k->held += (int64_t)bf_state_save_size(l->line.state);
    return st;
}

/* Numbers the keys: a new one has the next number. */
static bf_status number_rows(keyed *k) {
    const table *t = k->table;
    const bf_column *columns[BF_KEY_COLUMNS_MAX];
    int64_t *const numbers = buffer_take(&k->numbers, (size_t)t->n * sizeof *numbers);
    if (!numbers) return BF_E_MEMORY;
    const bf_array to = bf_array_of(BF_I64, numbers, t->n);
    for (int i = 0; i < t->asked->keys; i++)
        columns[i] = &t->columns[t->key_columns[i]].view.column;
    bf_status st = bf_dictionary_encode(k->keys, columns, &to);
    for (int64_t i = 0; i < t->n && st == BF_OK; i++)
        if (numbers[i] == k->n) st = add_line(k, i);
    return st;
}

int keyed_number(keyed *k) {
    const bf_status st = number_rows(k);
    return st == BF_OK ? EXIT_DONE : running_failed(k->of, st, source_of(k));
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Makes a chain of the numbers of each line. */
static bool chain(keyed *k, int64_t n, const int64_t lines[]) {
    int64_t *const next = buffer_take(&k->next, (size_t)n * sizeof *next);
    for (int64_t i = 0; next && i < n; i++) {
        keyed_line *const l = &k->list[lines[i]];
        if (l->count++ == 0)
            l->first = i;
        else
            next[l->last] = i;
        l->last = i;
    }
    return next != NULL;
}

/* Gathers what the numbers of a line have. */
static bool gather(const keyed *k, const keyed_line *l, const void *from, size_t bytes,
                   buffer *to) {
    const int64_t *const next = (const int64_t *)k->next.at;
    char *const own = buffer_take(to, (size_t)l->count * bytes);
    for (int64_t i = 0, at = l->first; own && i < l->count; at = next[at], i++)
        memcpy(own + (size_t)i * bytes, (const char *)from + (size_t)at * bytes, bytes);
    return own != NULL;
}

static void scatter(const keyed *k, const keyed_line *l, const bf_array *found) {
    const int64_t *const next = (const int64_t *)k->next.at;
    const size_t bytes = running_bytes(k->of);
    for (int64_t i = 0, at = l->first; i < l->count; at = next[at], i++)
        memcpy(k->results.at + (size_t)at * bytes, (const char *)found->data + (size_t)i * bytes,
               bytes);
}

/* Takes the numbers of one line, which are chained. */
static bf_status take_line(keyed *k, keyed_line *l, const bf_array *numbers, const void *on) {
    const size_t before = l->line.held.room + l->line.keys.room;
    bf_array found;
    if (!gather(k, l, numbers->data, bf_dtype_size(numbers->dtype), &k->own)) return BF_E_MEMORY;
    if (on && !gather(k, l, on, bf_dtype_size(k->of->on), &k->own_on)) return BF_E_MEMORY;
    const bf_status st =
        line_take(&l->line, k->own.at, on ? k->own_on.at : NULL, l->count, false, &found);
    k->held += (int64_t)(l->line.held.room + l->line.keys.room - before);
    if (st == BF_OK) scatter(k, l, &found);
    l->count = 0;
    return st;
}

static bf_status take_lines(keyed *k, const bf_array *numbers, const void *on,
                            const int64_t lines[]) {
    bf_status st = BF_OK;
    for (int64_t i = 0; i < numbers->shape[0] && st == BF_OK; i++) {
        keyed_line *const l = &k->list[lines[i]];
        if (l->count > 0) st = take_line(k, l, numbers, on);
    }
    return st;
}

/* Lines are not spilled: any row may be of any key. */
static int check_limit(const keyed *k) {
    const int64_t limit = running_limit(k->of);
    if (limit == 0 || k->held <= limit) return EXIT_DONE;
    return fail(EXIT_IO, source_of(k)->name, "--by: --memory does not hold what %lld keys have",
                (long long)k->n);
}

int keyed_take(keyed *k, const bf_array *numbers, const void *on, const int64_t lines[],
               bf_array *results) {
    const int64_t n = numbers->shape[0];
    void *const to = buffer_take(&k->results, (size_t)n * running_bytes(k->of));
    bf_status st = to && chain(k, n, lines) ? BF_OK : BF_E_MEMORY;
    if (st == BF_OK) st = take_lines(k, numbers, on, lines);
    *results = bf_array_of(k->of->to, to, n);
    return st == BF_OK ? check_limit(k) : running_failed(k->of, st, source_of(k));
}
