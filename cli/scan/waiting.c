#include "scan/waiting.h"

#include "sheet/output.h"

#include <string.h>

typedef struct waiting_row {
    size_t bytes;
    bool valid;
} waiting_row;

int waiting_add(waiting *w, const char *row, size_t bytes, bool valid) {
    if (w->limit > 0 && w->used + bytes > (size_t)w->limit)
        return fail(EXIT_IO, w->to->file, "--append: --memory does not hold the rows of a window");
    char *const text = buffer_grow(&w->text, w->used + bytes);
    waiting_row *const rows = buffer_grow(&w->rows, ((size_t)w->count + 1) * sizeof *rows);
    if (!text || !rows) return fail_memory(w->to->file);
    memcpy(text + w->used, row, bytes);
    w->used += bytes;
    rows[w->count++] = (waiting_row){bytes, valid};
    return EXIT_DONE;
}

/* Drops what was written. */
static void forget(waiting *w) {
    w->count -= w->first;
    w->used -= w->at;
    buffer_drop(&w->text, w->at, w->used);
    buffer_drop(&w->rows, (size_t)w->first * sizeof(waiting_row),
                (size_t)w->count * sizeof(waiting_row));
    w->first = 0;
    w->at = 0;
}

int waiting_release(waiting *w, const bf_array *results, int scale) {
    int code = EXIT_DONE;
    for (int64_t used = 0; w->first < w->count && code == EXIT_DONE;) {
        const waiting_row *const row = (const waiting_row *)w->rows.at + w->first;
        bf_value value = {.dtype = BF_NONE};
        if (row->valid && used == results->shape[0]) break;
        if (row->valid) value = output_element(results->dtype, scale, results->data, used++);
        code = written_add_value(w->to, w->text.at + w->at, row->bytes, &value);
        w->at += row->bytes;
        w->first++;
    }
    forget(w);
    return code;
}

void waiting_close(waiting *w) {
    buffer_free(&w->text);
    buffer_free(&w->rows);
}
