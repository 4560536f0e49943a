#define _GNU_SOURCE /* memrchr */
#include "text/input.h"

#include "input/bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes behind a part of a file that are read with it, for its last line; and bytes in which
 * newlines are counted at a time. */
enum { AHEAD = 4 * 1024, SEARCH = 16 * 1024 };

/* A line that is longer is no line. */
#define LONGEST ((size_t)256 * 1024 * 1024)

static const char too_long[] = "a line of more than 256 MiB", nul_byte[] = "a NUL byte",
                  too_large[] = "a line longer than --memory allows";

/* ---- pieces ---------------------------------------------------------------------------------- */

static bool piece_reserve(text_piece *p, size_t room) {
    if (p->room >= room && p->buffer) return true;
    char *buffer = realloc(p->buffer, room + 1 + TEXT_SLACK);
    if (!buffer) return false;
    p->buffer = buffer;
    p->room = room;
    return true;
}

/* Makes bytes [begin, end) of the buffer the piece, up to the line with the first NUL byte; the
 * line behind them has the fault. A last line without a newline gets one. */
static void piece_set(text_piece *p, size_t begin, size_t end, const char *fault, int64_t offset) {
    const char *nul = memchr(p->buffer + begin, '\0', end - begin);
    if (nul) {
        const char *line = memrchr(p->buffer + begin, '\n', (size_t)(nul - p->buffer) - begin);
        end = line ? (size_t)(line + 1 - p->buffer) : begin;
        fault = nul_byte;
    }
    if (end > begin && p->buffer[end - 1] != '\n') p->buffer[end++] = '\n';
    if (!fault) memset(p->buffer + end, '\n', TEXT_SLACK);
    p->at = p->begin = p->buffer + begin;
    p->end = p->buffer + end;
    p->fault = fault;
    p->offset = offset;
    p->lines = -1;
}

static size_t longest_of(const text_options *options) {
    return options->longest > 0 && options->longest < LONGEST ? options->longest : LONGEST;
}

static const char *long_fault(const text_input *t) {
    return t->longest < LONGEST ? too_large : too_long;
}

static size_t twice(size_t n) { return n < LONGEST / 2 ? 2 * n : n + LONGEST; }

/* ---- files ----------------------------------------------------------------------------------- */

static text_status read_at(const text_input *t, int64_t offset, char *bytes, size_t n) {
    const int64_t got = bytes_pread(t->fd, bytes, n, t->origin + offset);
    return got < 0 ? TEXT_FAILED : (size_t)got < n ? TEXT_SHORTER : TEXT_OK;
}

/* Bytes of a file in a piece's buffer, from `from` on. */
typedef struct window {
    int64_t from;
    size_t have, left; /* of the file, from there on */
} window;

static text_status extend_window(const text_input *t, text_piece *p, window *w, size_t want) {
    if (want > w->left) want = w->left;
    if (want <= w->have) return TEXT_OK;
    if (!piece_reserve(p, want)) return TEXT_NO_MEMORY;
    const text_status st =
        read_at(t, w->from + (int64_t)w->have, p->buffer + w->have, want - w->have);
    if (st == TEXT_OK) w->have = want;
    return st;
}

/* Finds where the line ends that byte `at` of the window is in. Of one that is too long, or has a
 * NUL byte, *end is where it was given up. */
static text_status find_end(const text_input *t, text_piece *p, window *w, size_t at, size_t *end) {
    for (size_t searched = at;;) {
        const char *newline = memchr(p->buffer + searched, '\n', w->have - searched);
        *end = newline ? (size_t)(newline + 1 - p->buffer) : w->have;
        if (newline || w->have == w->left || w->have - at > t->longest ||
            memchr(p->buffer + searched, '\0', w->have - searched))
            return TEXT_OK;
        searched = w->have;
        const text_status st = extend_window(t, p, w, twice(w->have));
        if (st != TEXT_OK) return st;
    }
}

/* Takes the lines that begin in [from, to). A row begins at the first of all; where else one does,
 * the byte before tells. */
static text_status take_lines(const text_input *t, text_piece *p, int64_t from, int64_t to) {
    if (from < t->begin) from = t->begin;
    if (to > t->size) to = t->size;
    const size_t within = from > t->begin;
    window w = {.from = from - (int64_t)within};
    w.left = (size_t)(t->size - w.from);
    if (!piece_reserve(p, 1)) return TEXT_NO_MEMORY;
    piece_set(p, 0, 0, NULL, from);
    if (from >= to) return TEXT_OK;
    const size_t own = (size_t)(to - w.from);
    size_t begin = 0, end = 0;
    text_status st = extend_window(t, p, &w, own + AHEAD);
    if (st == TEXT_OK && within) {
        const char *newline = memchr(p->buffer, '\n', own - 1);
        begin = newline ? (size_t)(newline + 1 - p->buffer) : own;
    }
    if (st == TEXT_OK && begin < own) st = find_end(t, p, &w, own - 1, &end);
    if (st != TEXT_OK || begin == own) return st;
    const char *last = memrchr(p->buffer + begin, '\n', own - 1 - begin); /* before the last line */
    const size_t line = last ? (size_t)(last + 1 - p->buffer) : begin;
    const bool is_long = end - line > t->longest;
    piece_set(p, begin, is_long ? line : end, is_long ? long_fault(t) : NULL,
              w.from + (int64_t)begin);
    return TEXT_OK;
}

static text_status take_first(text_input *t, text_piece *p) {
    free(p->buffer);
    *p = t->first;
    t->first = (text_piece){.buffer = NULL};
    return TEXT_OK;
}

int64_t text_parts(const text_input *t) {
    const int64_t piece = (int64_t)t->piece;
    return t->size / piece + (t->size % piece != 0);
}

text_status text_take_part(text_input *t, text_piece *p, int64_t part) {
    const int64_t piece = (int64_t)t->piece;
    if (part == 0 && t->first.buffer) return take_first(t, p);
    return take_lines(t, p, part * piece, (part + 1) * piece);
}

/* ---- streams --------------------------------------------------------------------------------- */

/* Fills the buffer from the rest and the stream, until a line is whole or the stream ends. *n: the
 * bytes there are; *whole: those of whole lines. */
static text_status fill_piece(text_input *t, text_piece *p, size_t *n, size_t *whole) {
    size_t have = t->rest_size, searched = 0;
    for (size_t want = have < t->piece / 2 ? t->piece : twice(have);; want = twice(want)) {
        if (!piece_reserve(p, want)) return TEXT_NO_MEMORY;
        if (searched == 0 && have > 0) memcpy(p->buffer, t->rest, have);
        const int64_t got = tape_read(t->tape, p->buffer + have, want - have);
        if (got < 0) return TEXT_FAILED;
        have += (size_t)got;
        const char *last = memrchr(p->buffer + searched, '\n', have - searched);
        searched = have;
        t->ended = have < want;
        *n = have;
        *whole = t->ended ? have : last ? (size_t)(last + 1 - p->buffer) : 0;
        if (*whole > 0 || t->ended || have > t->longest || memchr(p->buffer, '\0', have))
            return TEXT_OK;
    }
}

static text_status keep_rest(text_input *t, const char *bytes, size_t n) {
    char *rest = realloc(t->rest, n + 1);
    if (!rest) return TEXT_NO_MEMORY;
    memcpy(rest, bytes, n);
    t->rest = rest;
    t->rest_size = n;
    return TEXT_OK;
}

/* Is there not one whole line in more bytes than a line may have? */
static bool is_too_long(const text_input *t, const char *bytes, size_t n) {
    return n > t->longest && !memchr(bytes, '\n', n);
}

/* After a failure nobody gets more. */
static text_status take_from_stream(text_input *t, text_piece *p) {
    size_t n = 0, whole = 0;
    text_status st = t->ended ? TEXT_OK : fill_piece(t, p, &n, &whole);
    const char *fault = st == TEXT_OK && is_too_long(t, p->buffer, n) ? long_fault(t) : NULL;
    if (fault)
        whole = n = 0;
    else if (whole == 0)
        whole = n; /* no line, but a NUL byte */
    if (st == TEXT_OK) st = keep_rest(t, p->buffer ? p->buffer + whole : "", n - whole);
    if (st == TEXT_OK && !piece_reserve(p, 1)) st = TEXT_NO_MEMORY;
    if (st != TEXT_OK) {
        t->ended = true;
        return st;
    }
    piece_set(p, 0, whole, fault, t->offset);
    p->lines = t->lines;
    t->offset += (int64_t)whole;
    t->lines += text_count_lines(p->begin, p->end);
    if (p->fault) t->ended = true;
    return TEXT_OK;
}

text_status text_take_next(text_input *t, text_piece *p) {
    return t->first.buffer ? take_first(t, p) : take_from_stream(t, p);
}

void text_rewind(text_input *t) {
    free(t->first.buffer);
    t->first = (text_piece){.buffer = NULL};
    t->rest_size = 0;
    t->offset = t->begin;
    t->lines = t->header_lines;
    t->ended = false;
    tape_rewind(t->tape, t->begin);
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* The lines of a file before an offset; where it cannot be read any more there are none. */
static int64_t lines_before(const text_input *t, int64_t offset) {
    char some[SEARCH];
    int64_t lines = 0;
    for (int64_t at = 0; at < offset; at += SEARCH) {
        const size_t n = offset - at < SEARCH ? (size_t)(offset - at) : SEARCH;
        if (read_at(t, at, some, n) != TEXT_OK) break;
        lines += text_count_lines(some, some + n);
    }
    return lines;
}

/* Sets the offset and line of refusal->error.at, which lies in the piece. */
static void place_refusal(const text_input *t, const text_piece *p, text_refusal *refusal) {
    const char *at = refusal->error.at;
    refusal->offset = p->offset + (at - p->begin);
    const int64_t before = p->lines >= 0 ? p->lines : lines_before(t, p->offset);
    refusal->line = before + text_count_lines(p->begin, at) + 1;
}

/* Refuses the line behind the piece. */
static text_status refuse_fault(const text_input *t, const text_piece *p, text_refusal *refusal) {
    text_error *e = &refusal->error;
    *e = (text_error){.at = p->end};
    const bool is_text = p->fault == too_large;
    snprintf(e->what, sizeof e->what, "%s%s", p->fault, is_text ? "" : ": this is not text");
    if (!is_text)
        snprintf(e->hint, sizeof e->hint, "numbers without a header need --format raw --dtype T");
    place_refusal(t, p, refusal);
    return TEXT_REFUSED;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Finds the layout in the first piece, and leaves its rows in it. */
static text_status find_layout(text_input *t, const text_options *options, text_refusal *refusal) {
    text_piece *p = &t->first;
    if (p->fault && p->begin == p->end) return refuse_fault(t, p, refusal);
    if (text_layout_find(&t->layout, options, &p->at, p->end, &refusal->error)) {
        t->begin = p->at - p->begin;
        t->header_lines = text_count_lines(p->begin, p->at);
        return TEXT_OK;
    }
    if (refusal->error.at) place_refusal(t, p, refusal);
    return TEXT_REFUSED;
}

text_status text_open_file(text_input *t, const text_options *options, int fd, int64_t origin,
                           int64_t size, size_t piece, text_refusal *refusal) {
    *t = (text_input){.fd = fd, .file = true, .origin = origin, .size = size, .piece = piece};
    t->longest = longest_of(options);
    text_status st = take_lines(t, &t->first, 0, (int64_t)piece);
    if (st == TEXT_OK) st = find_layout(t, options, refusal);
    if (t->begin > size) t->begin = size; /* a header that no newline ends */
    return st;
}

text_status text_open_stream(text_input *t, const text_options *options, tape *from,
                             const char *prefix, size_t length, size_t piece,
                             text_refusal *refusal) {
    *t = (text_input){.fd = -1, .tape = from, .piece = piece};
    t->longest = longest_of(options);
    text_status st = keep_rest(t, prefix, length);
    if (st == TEXT_OK) st = take_from_stream(t, &t->first);
    return st == TEXT_OK ? find_layout(t, options, refusal) : st;
}

void text_close(text_input *t) {
    text_layout_free(&t->layout);
    free(t->first.buffer);
    free(t->rest);
    *t = (text_input){.fd = -1};
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void skip_rows(const text_input *t, text_piece *p, text_selection *selection) {
    int64_t passed;
    p->at = text_rows_skip(&t->layout, p->at, p->end, selection->skip, &passed);
    selection->skip -= passed;
}

text_status text_read_piece(const text_input *t, text_piece *p, text_selection *selection,
                            text_rows *rows, text_refusal *refusal) {
    rows->n = 0;
    if (selection && selection->skip > 0) skip_rows(t, p, selection);
    const int64_t most = text_count_lines(p->at, p->end);
    int64_t wanted =
        selection && selection->left >= 0 && selection->left < most ? selection->left : most;
    if (!text_rows_reserve(rows, &t->layout, wanted > 0 ? wanted : 1)) return TEXT_NO_MEMORY;
    const char *at = wanted == 0
                         ? p->end
                         : text_rows_read(rows, &t->layout, p->at, p->end, wanted, &refusal->error);
    if (!at) {
        place_refusal(t, p, refusal);
        return TEXT_REFUSED;
    }
    if (selection && selection->left > 0) selection->left -= rows->n;
    if (p->fault && !(selection && selection->left == 0)) return refuse_fault(t, p, refusal);
    return TEXT_OK;
}
