#include "input/series_text.h"

#include "runtime/progress.h"
#include "runtime/report.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* What a thread takes of a file at a time: worth starting one for. */
#define SHARE_BYTES ((int64_t)512 * 1024)

/* ---- one share ------------------------------------------------------------------------------- */

/* Two bytes of text make at most one number; behind those of a share there is room for the rows
 * that a reader may give at once. */
static int64_t share_room(const text_share *x) { return SHARE_BYTES / 2 + 2 + x->reader.rows.room; }

static void *read_share(void *argument) {
    text_share *x = argument;
    text_reader *r = &x->reader;
    const text_layout *l = &r->input->layout;
    const size_t element = bf_dtype_size(l->dtype);
    const int64_t taken = r->taken;
    x->n = 0;
    while (x->n + r->rows.room <= share_room(x)) {
        x->status = text_reader_next(r);
        x->error = errno;
        if (x->status != TEXT_OK || r->rows.n == 0) break;
        memcpy((char *)x->numbers + (size_t)x->n * element, text_rows_numbers(&r->rows, l, 0, 0),
               (size_t)r->rows.n * element);
        x->n += r->rows.n;
    }
    progress_add(r->taken - taken);
    return NULL;
}

/* ---- a round --------------------------------------------------------------------------------- */

/* Of a file: who reads what. False at its end. */
static bool assign(series_text *x) {
    const text_input *t = x->source->text;
    if (!t->file) return true;
    if (x->from >= t->size) return false;
    for (int i = 0; i < x->threads; i++, x->from += SHARE_BYTES)
        text_reader_assign(&x->shares[i].reader, x->from, x->from + SHARE_BYTES);
    return true;
}

static void read_shares(series_text *x) {
    for (int i = 1; i < x->threads; i++) {
        text_share *y = &x->shares[i];
        y->started = pthread_create(&y->thread, NULL, read_share, y) == 0;
    }
    read_share(&x->shares[0]);
    for (int i = 1; i < x->threads; i++) {
        text_share *y = &x->shares[i];
        if (y->started)
            pthread_join(y->thread, NULL);
        else
            read_share(y);
    }
}

/* Reports the failure that comes first in the text. */
static int check_shares(const series_text *x) {
    const text_share *first = NULL;
    for (int i = 0; i < x->threads; i++) {
        const text_share *y = &x->shares[i];
        if (y->status == TEXT_OK) continue;
        if (!first || y->status != TEXT_REFUSED ||
            (first->status == TEXT_REFUSED &&
             y->reader.refusal.offset < first->reader.refusal.offset))
            first = y;
    }
    if (!first) return EXIT_DONE;
    errno = first->error;
    return source_text_failed(x->source, first->status, &first->reader.refusal);
}

static int read_round(series_text *x) {
    x->ended = !assign(x);
    if (x->ended) return EXIT_DONE;
    read_shares(x);
    x->next = 0;
    int64_t rows = 0;
    for (int i = 0; i < x->threads; i++) rows += x->shares[i].n;
    x->rows += rows;
    x->ended = x->shares[0].reader.left == 0 || (rows == 0 && !x->source->text->file);
    return check_shares(x);
}

/* ---- all ------------------------------------------------------------------------------------- */

/* A selection is by rows, for one thread; so is the order of a stream. */
static int thread_count(const source *s, int threads, bool ordered) {
    const text_input *t = s->text;
    if (s->first > 0 || s->count >= 0 || (!t->file && (ordered || t->ended))) return 1;
    const int64_t useful = t->file ? t->size / SHARE_BYTES + 1 : threads;
    return useful < threads ? (int)useful : threads;
}

int series_text_open(series_text *x, const source *s, int threads, bool ordered) {
    *x = (series_text){.source = s, .from = s->text->begin};
    const int wanted = thread_count(s, threads, ordered);
    x->shares = calloc((size_t)wanted, sizeof *x->shares);
    for (int i = 0; x->shares && i < wanted; i++) {
        text_share *y = &x->shares[i];
        x->threads++;
        const bool open = text_reader_open(&y->reader, s->text, 0, 0);
        y->numbers = malloc((size_t)share_room(y) * bf_dtype_size(s->text->layout.dtype));
        if (!open || !y->numbers) return fail_status(BF_E_MEMORY, NULL, s->name);
        y->reader.skip = s->first;
        y->reader.left = s->count;
    }
    x->next = x->threads;
    return x->shares ? EXIT_DONE : fail_status(BF_E_MEMORY, NULL, s->name);
}

void series_text_close(series_text *x) {
    for (int i = 0; i < x->threads; i++) {
        text_reader_close(&x->shares[i].reader);
        free(x->shares[i].numbers);
    }
    free(x->shares);
    *x = (series_text){.source = NULL};
}

int series_text_next(series_text *x, const void **numbers, int64_t *n) {
    *n = 0;
    while (*n == 0 && !(x->ended && x->next == x->threads)) {
        if (x->next == x->threads) {
            const int code = read_round(x);
            if (code != EXIT_DONE) return code;
        } else {
            const text_share *y = &x->shares[x->next++];
            *numbers = y->numbers;
            *n = y->n;
        }
    }
    return *n > 0 ? EXIT_DONE : source_check_rows(x->source, &x->shares[0].reader, x->rows);
}
