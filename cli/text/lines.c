#include "text/lines.h"

#include "runtime/report.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

/* Lines that a thread makes at a time: enough to be worth starting it. Bytes that it keeps: with
 * more than these it stops before all lines are made. */
enum { PIECE = 1 << 14, KEPT = 1 << 22 };

/* One thread's lines. */
typedef struct piece {
    const lines *lines;
    int64_t first, n;
    char *text, *end;
    size_t bytes; /* how much text there is */
    pthread_t thread;
    bool started, failed; /* failed: no memory */
} piece;

/* Makes room for line i, and some to spare. False: there is no memory. */
static bool make_room(piece *p, int64_t i) {
    const size_t used = (size_t)(p->end - p->text), wanted = p->lines->room(p->lines->arg, i);
    if (wanted <= p->bytes - used) return true;
    const size_t bytes = used + wanted + (used + wanted < KEPT ? used + wanted : KEPT);
    char *more = realloc(p->text, bytes);
    if (!more) return false;
    p->text = more;
    p->end = more + used;
    p->bytes = bytes;
    return true;
}

/* Makes lines until all are, or many bytes are kept. */
static void *make_piece(void *arg) {
    piece *p = arg;
    const lines *l = p->lines;
    const int64_t end = p->first + p->n;
    int64_t i = p->first;
    p->end = p->text;
    for (; i < end && (!l->room || p->end - p->text < KEPT); i++) {
        if (l->room && !make_room(p, i)) p->failed = true;
        if (p->failed) break;
        p->end = l->make(l->arg, i, p->end);
    }
    p->first = i;
    p->n = end - i;
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

/* Writes what a piece has, and its other lines too. False: there is no memory. */
static bool put_piece(FILE *stream, piece *p) {
    fwrite(p->text, 1, (size_t)(p->end - p->text), stream);
    while (p->n > 0 && !p->failed && !ferror(stream)) {
        make_piece(p);
        fwrite(p->text, 1, (size_t)(p->end - p->text), stream);
    }
    return !p->failed;
}

static bool put_pieces(FILE *stream, const lines *l, int64_t n, piece *pieces, int threads) {
    bool good = true;
    for (int64_t at = 0; at < n && good && !ferror(stream);) {
        int count = 0;
        for (; count < threads && at < n; count++) {
            piece *p = &pieces[count];
            *p = (piece){.lines = l, .first = at, .text = p->text, .bytes = p->bytes};
            p->n = n - at < PIECE ? n - at : PIECE;
            at += p->n;
        }
        make_pieces(pieces, count);
        for (int i = 0; i < count && good; i++) good = put_piece(stream, &pieces[i]);
    }
    return good;
}

int lines_put(FILE *stream, const lines *l, int64_t n, int threads) {
    const int64_t useful = (n + PIECE - 1) / PIECE, room = n < PIECE ? n : PIECE;
    if (threads > useful) threads = useful > 1 ? (int)useful : 1;
    piece *pieces = calloc((size_t)threads, sizeof *pieces);
    bool good = pieces != NULL;
    for (int i = 0; good && i < threads; i++) {
        pieces[i].bytes = (l->room ? 1 : (size_t)room) * l->most + 1;
        pieces[i].text = malloc(pieces[i].bytes);
        good = pieces[i].text != NULL;
    }
    if (good) good = put_pieces(stream, l, n, pieces, threads);
    for (int i = 0; pieces && i < threads; i++) free(pieces[i].text);
    free(pieces);
    return good ? EXIT_DONE : fail_memory(NULL);
}
