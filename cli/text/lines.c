#include "text/lines.h"

#include "runtime/report.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

/* Lines that a thread makes at a time: enough to be worth starting it. */
enum { PIECE = 1 << 14 };

/* One thread's lines. */
typedef struct piece {
    const lines *lines;
    int64_t first, n;
    char *text, *end;
    pthread_t thread;
    bool started;
} piece;

static void *make_piece(void *arg) {
    piece *p = arg;
    const lines *l = p->lines;
    p->end = p->text;
    for (int64_t i = p->first; i < p->first + p->n; i++) p->end = l->make(l->arg, i, p->end);
    return NULL;
}

/* Makes all pieces, the first of them on the calling thread. */
static void make_pieces(piece *pieces, int count) {
    for (int i = 1; i < count; i++)
        pieces[i].started = pthread_create(&pieces[i].thread, NULL, make_piece, &pieces[i]) == 0;
    make_piece(&pieces[0]);
    for (int i = 1; i < count; i++)
        if (pieces[i].started)
            pthread_join(pieces[i].thread, NULL);
        else
            make_piece(&pieces[i]);
}

static void put_pieces(FILE *stream, const lines *l, int64_t n, piece *pieces, int threads) {
    for (int64_t at = 0; at < n && !ferror(stream);) {
        int count = 0;
        for (; count < threads && at < n; at += pieces[count++].n) {
            piece *p = &pieces[count];
            *p = (piece){.lines = l, .first = at, .text = p->text};
            p->n = n - at < PIECE ? n - at : PIECE;
        }
        make_pieces(pieces, count);
        for (int i = 0; i < count; i++)
            fwrite(pieces[i].text, 1, (size_t)(pieces[i].end - pieces[i].text), stream);
    }
}

int lines_put(FILE *stream, const lines *l, int64_t n, int threads) {
    const int64_t useful = (n + PIECE - 1) / PIECE, room = n < PIECE ? n : PIECE;
    if (threads > useful) threads = useful > 1 ? (int)useful : 1;
    piece *pieces = calloc((size_t)threads, sizeof *pieces);
    bool good = pieces != NULL;
    for (int i = 0; good && i < threads; i++) {
        pieces[i].text = malloc((size_t)room * l->most + 1);
        good = pieces[i].text != NULL;
    }
    if (good) put_pieces(stream, l, n, pieces, threads);
    for (int i = 0; pieces && i < threads; i++) free(pieces[i].text);
    free(pieces);
    return good ? EXIT_DONE : fail_status(BF_E_MEMORY, NULL, NULL);
}
