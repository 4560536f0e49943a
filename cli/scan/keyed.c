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
    buffer_free(&k->owners);
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
    l->count = l->waits = 0;
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

/* ---- rows that wait -------------------------------------------------------------------------- */

/* Stands in a chain for the next row, once a row has its result. */
enum { KNOWN = -1 };

static int64_t *next_of(const keyed *k, int64_t row) {
    return (int64_t *)k->next.at + (row - k->shown);
}

/* Drops the rows whose results were shown. */
static void forget(keyed *k) {
    const size_t known = (size_t)k->known, rest = (size_t)(k->rows - k->known);
    buffer_drop(&k->owners, known * sizeof(int64_t), rest * sizeof(int64_t));
    buffer_drop(&k->next, known * sizeof(int64_t), rest * sizeof(int64_t));
    buffer_drop(&k->results, known * running_bytes(k->of), rest * running_bytes(k->of));
    k->shown += k->known;
    k->rows -= k->known;
    k->known = 0;
}

static bool reserve(keyed *k, int64_t n) {
    const size_t all = (size_t)(k->rows + n + 1);
    return buffer_grow(&k->owners, all * sizeof(int64_t)) &&
           buffer_grow(&k->next, all * sizeof(int64_t)) &&
           buffer_grow(&k->results, all * running_bytes(k->of));
}

/* Adds the rows of a part, of which each line has a chain. */
static void chain(keyed *k, int64_t n, const int64_t lines[]) {
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = k->shown + k->rows++;
        keyed_line *const l = &k->list[lines[i]];
        ((int64_t *)k->owners.at)[row - k->shown] = lines[i];
        *next_of(k, row) = row;
        if (l->waits++ == 0)
            l->first = row;
        else
            *next_of(k, l->last) = row;
        if (l->count++ == 0) l->fresh = row;
        l->last = row;
    }
}

/* Gives the results to the rows of a line that have waited longest. */
static void scatter(const keyed *k, keyed_line *l, const bf_array *found) {
    const size_t bytes = running_bytes(k->of);
    for (int64_t i = 0; i < found->shape[0]; i++, l->waits--) {
        int64_t *const next = next_of(k, l->first);
        memcpy(k->results.at + (size_t)(l->first - k->shown) * bytes,
               (const char *)found->data + (size_t)i * bytes, bytes);
        l->first = *next;
        *next = KNOWN;
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Gathers what the numbers of a line have, in a part that begins with row `begin`. */
static bool gather(const keyed *k, const keyed_line *l, int64_t begin, const void *from,
                   size_t bytes, buffer *to) {
    char *const own = buffer_take(to, (size_t)l->count * bytes);
    for (int64_t i = 0, row = l->fresh; own && i < l->count; row = *next_of(k, row), i++)
        memcpy(own + (size_t)i * bytes, (const char *)from + (size_t)(row - begin) * bytes, bytes);
    return own != NULL;
}

/* Takes the numbers of a line that were gathered. */
static bf_status take_own(keyed *k, keyed_line *l, bool on, bool last) {
    const size_t before = l->line.held.room + l->line.keys.room;
    bf_array found;
    const bf_status st =
        line_take(&l->line, k->own.at, on ? k->own_on.at : NULL, l->count, last, &found);
    k->held += (int64_t)(l->line.held.room + l->line.keys.room - before);
    if (st == BF_OK) scatter(k, l, &found);
    l->count = 0;
    return st;
}

static bf_status take_line(keyed *k, keyed_line *l, const bf_array *numbers, const void *on) {
    const int64_t begin = k->shown + k->rows - numbers->shape[0];
    if (!gather(k, l, begin, numbers->data, running_element(k->of), &k->own) ||
        (on && !gather(k, l, begin, on, bf_dtype_size(k->of->on), &k->own_on)))
        return BF_E_MEMORY;
    return take_own(k, l, on != NULL, false);
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

static bf_status end_lines(keyed *k) {
    bf_status st = BF_OK;
    for (int64_t i = 0; i < k->n && st == BF_OK; i++) st = take_own(k, &k->list[i], false, true);
    return st;
}

/* Counts the results to show. The line of a row that has none may be able to give it by now: keys
 * of other lines are beyond its window. */
static bf_status find_known(keyed *k) {
    bf_status st = BF_OK;
    while (k->known < k->rows && st == BF_OK) {
        const int64_t row = k->shown + k->known;
        if (*next_of(k, row) != KNOWN && k->of->own.on)
            st = take_own(k, &k->list[((int64_t *)k->owners.at)[k->known]], false, false);
        if (*next_of(k, row) != KNOWN) break;
        k->known++;
    }
    return st;
}

/* Lines are not spilled: any row may be of any key. */
static int check_limit(const keyed *k) {
    const int64_t limit = running_limit(k->of);
    const int64_t waiting = k->rows * (int64_t)(2 * sizeof(int64_t) + running_bytes(k->of));
    if (limit == 0 || k->held + waiting <= limit) return EXIT_DONE;
    return fail(EXIT_IO, source_of(k)->name,
                "--by: --memory does not hold what %lld keys and %lld rows that wait have",
                (long long)k->n, (long long)k->rows);
}

int keyed_take(keyed *k, const bf_array *numbers, const void *on, const int64_t lines[], bool last,
               bf_array *results) {
    const int64_t n = numbers->shape[0];
    forget(k);
    bf_status st = reserve(k, n) ? BF_OK : BF_E_MEMORY;
    if (st == BF_OK) chain(k, n, lines);
    if (st == BF_OK) st = take_lines(k, numbers, on, lines);
    if (st == BF_OK && last) st = end_lines(k);
    if (st == BF_OK) st = find_known(k);
    *results = bf_array_of(k->of->to, k->results.at, k->known);
    return st == BF_OK ? check_limit(k) : running_failed(k->of, st, source_of(k));
}
