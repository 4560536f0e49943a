#include "scan/batch.h"

#include "scan/span.h"

#include <string.h>

static const table_value *value_of(const batch *b, int i) { return &b->table->values[i]; }

bool batch_has(const batch *b, int64_t i) {
    const uint8_t *const valid = value_of(b, 0)->valid,
                         *keyed = b->on < 0 ? NULL : value_of(b, b->on)->valid;
    return (!valid || valid[i]) && (!keyed || keyed[i]);
}

/* Appends element i of an array to the n elements of rows so far. */
static void append(buffer *to, int64_t n, const bf_array *from, int64_t i) {
    const size_t bytes = bf_dtype_size(from->dtype);
    memcpy(to->at + (size_t)n * bytes, (const char *)from->data + (size_t)i * bytes, bytes);
}

static bool reserve(batch *b, int64_t n) {
    const size_t room = (size_t)(n > 0 ? n : 1);
    bool good = buffer_grow(&b->numbers, room * running_element(b->of)) != NULL;
    if (good && b->on >= 0) good = buffer_grow(&b->keys, room * bf_dtype_size(b->of->on)) != NULL;
    return good && buffer_grow(&b->lines, room * sizeof(int64_t)) != NULL;
}

const void *batch_last_key(const batch *b) {
    if (b->on < 0 || b->n == 0) return NULL;
    return b->keys.at + (size_t)(b->n - 1) * bf_dtype_size(b->of->on);
}

/* Checks the key of a row that was just appended. */
static int check_key(const batch *b, int64_t row) {
    const char *const key = batch_last_key(b);
    const void *const before = b->n > 1 ? key - bf_dtype_size(b->of->on) : NULL;
    if (span_find_bad(b->of->on, key, 1, before) == 1) return EXIT_DONE;
    return rows_refuse(b->table->input, row,
                       "--on: its key is less than that of the row before it, "
                       "or not finite",
                       "'bitfold sort --by KEY' brings rows in the order of a key");
}

/* Rows of the last key wait; of the others, none may be left, for a key before is compared with. */
static int64_t count_ready(const batch *b) {
    int64_t n = b->n;
    if (b->on < 0) return n;
    while (n > 0 && span_is_same(b->of->on, b->keys.at, n - 1, b->n - 1)) n--;
    return n;
}

int batch_add(batch *b, const int64_t lines[]) {
    const table *t = b->table;
    const int arrays = running_arrays(b->of);
    int code = EXIT_DONE;
    if (!reserve(b, b->n + t->n)) return fail_memory(t->input->source.name);
    for (int64_t i = 0; i < t->n && code == EXIT_DONE; i++) {
        if (!batch_has(b, i)) continue;
        for (int k = 0; k < arrays; k++)
            append(&b->numbers, b->n * arrays + k, &value_of(b, k)->array, i);
        if (b->on >= 0) append(&b->keys, b->n, &value_of(b, b->on)->array, i);
        ((int64_t *)b->lines.at)[b->n++] = lines ? lines[i] : 0;
        if (b->on >= 0) code = check_key(b, i);
    }
    b->ready = count_ready(b);
    return code;
}

void batch_end(batch *b) { b->ready = b->n; }

void batch_forget(batch *b) {
    const size_t ready = (size_t)b->ready, rest = (size_t)(b->n - b->ready);
    const size_t bytes = running_element(b->of), keys = bf_dtype_size(b->of->on);
    buffer_drop(&b->numbers, ready * bytes, rest * bytes);
    buffer_drop(&b->keys, ready * keys, rest * keys);
    buffer_drop(&b->lines, ready * sizeof(int64_t), rest * sizeof(int64_t));
    b->n -= b->ready;
    b->ready = 0;
}

void batch_close(batch *b) {
    buffer_free(&b->numbers);
    buffer_free(&b->keys);
    buffer_free(&b->lines);
}
