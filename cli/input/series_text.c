#include "input/series_text.h"

#include "runtime/progress.h"
#include "runtime/report.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a file that a thread takes at a time: enough to be worth starting it. */
#define SHARE_BYTES ((int64_t)512 * 1024)

/* ---- one share ------------------------------------------------------------------------------- */

/* Two bytes of text make at most one number; behind those of a share there is room for the rows
 * that a reader may give at once. */
static int64_t share_room(const text_reader *r) { return SHARE_BYTES / 2 + 2 + r->rows.room; }

static void read_share(void *argument, int i) {
    series_text *x = argument;
    text_share *share = &x->shares[i];
    text_reader *r = &x->team.readers[i];
    const text_layout *l = &r->input->layout;
    const size_t element = bf_dtype_size(l->dtype);
    const int64_t taken = r->taken;
    share->n = 0;
    while (share->n + r->rows.room <= share_room(r)) {
        if (text_reader_next(r) != TEXT_OK || r->rows.n == 0) break;
        memcpy((char *)share->numbers + (size_t)share->n * element,
               text_rows_numbers(&r->rows, l, 0, 0), (size_t)r->rows.n * element);
        share->n += r->rows.n;
    }
    progress_add(r->taken - taken);
}

/* ---- a round --------------------------------------------------------------------------------- */

/* Gives each thread its part of a file. Returns false at the end of the file. */
static bool assign_shares(series_text *x) {
    const text_input *t = x->team.source->text;
    if (!t->file) return true;
    if (x->from >= t->size) return false;
    for (int i = 0; i < x->team.threads; i++, x->from += SHARE_BYTES)
        text_reader_assign(&x->team.readers[i], x->from, x->from + SHARE_BYTES);
    return true;
}

static int read_round(series_text *x) {
    x->ended = !assign_shares(x);
    if (x->ended) return EXIT_DONE;
    text_team_run(&x->team, read_share, x);
    x->next = 0;
    int64_t rows = 0;
    for (int i = 0; i < x->team.threads; i++) rows += x->shares[i].n;
    x->rows += rows;
    x->ended = x->team.readers[0].left == 0 || (rows == 0 && !x->team.source->text->file);
    return text_team_check(&x->team);
}

/* ---- all ------------------------------------------------------------------------------------- */

int series_text_open(series_text *x, const source *s, int threads, bool ordered) {
    *x = (series_text){.from = s->text->begin};
    const int code = text_team_open(&x->team, s, threads, ordered);
    if (code != EXIT_DONE) return code;
    x->next = x->team.threads;
    x->shares = calloc((size_t)x->team.threads, sizeof *x->shares);
    const size_t element = bf_dtype_size(s->text->layout.dtype);
    for (int i = 0; x->shares && i < x->team.threads; i++) {
        x->shares[i].numbers = malloc((size_t)share_room(&x->team.readers[i]) * element);
        if (!x->shares[i].numbers) return fail_status(BF_E_MEMORY, NULL, s->name);
    }
    return x->shares ? EXIT_DONE : fail_status(BF_E_MEMORY, NULL, s->name);
}

void series_text_close(series_text *x) {
    for (int i = 0; x->shares && i < x->team.threads; i++) free(x->shares[i].numbers);
    free(x->shares);
    text_team_close(&x->team);
    *x = (series_text){.rows = 0};
}

int series_text_next(series_text *x, const void **numbers, int64_t *n) {
    *n = 0;
    while (*n == 0 && !(x->ended && x->next == x->team.threads)) {
        if (x->next == x->team.threads) {
            const int code = read_round(x);
            if (code != EXIT_DONE) return code;
        } else {
            const text_share *share = &x->shares[x->next++];
            *numbers = share->numbers;
            *n = share->n;
        }
    }
    return *n > 0 ? EXIT_DONE : source_check_rows(x->team.source, &x->team.readers[0], x->rows);
}
