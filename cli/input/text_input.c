#define _GNU_SOURCE /* memrchr */
#include "input/text_input.h"

#include "input/bytes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Pieces stay in the second-level cache; their rows, in the first. */
enum { PIECE = 256 * 1024, ROWS = 4096 };

enum {
    AHEAD = 4 * 1024,  /* bytes behind a part of a file that are read for its last line */
    SEARCH = 16 * 1024 /* bytes that are searched for newlines at a time */
};

/* A line that is longer is no line. */
#define LONGEST ((size_t)256 * 1024 * 1024)

/* ---- pieces ---------------------------------------------------------------------------------- */

static bool piece_reserve(text_piece *p, size_t room) {
    if (p->room >= room) return true;
    char *buffer = realloc(p->buffer, room + 1 + TEXT_SLACK);
    if (!buffer) return false;
    p->buffer = buffer;
    p->room = room;
    return true;
}

/* Makes [begin, end) the piece, up to the line with the first NUL byte. */
static void piece_set(text_piece *p, const char *begin, const char *end, int64_t offset) {
    const char *nul = memchr(begin, '\0', (size_t)(end - begin));
    if (nul) {
        const char *line = memrchr(begin, '\n', (size_t)(nul - begin));
        end = line ? line + 1 : begin;
    }
    p->at = p->begin = begin;
    p->end = end;
    p->nul = nul ? end : NULL;
    p->offset = offset;
    p->lines = -1;
}

/* The buffer's first n bytes as a piece; a last line without a newline gets one. */
static void piece_set_copy(text_piece *p, size_t n, int64_t offset) {
    if (n > 0 && p->buffer[n - 1] != '\n') p->buffer[n++] = '\n';
    memset(p->buffer + n, '\n', TEXT_SLACK);
    piece_set(p, p->buffer, p->buffer + n, offset);
}

/* A line that is too long leaves an empty piece, where it begins. */
static text_status piece_refuse(text_piece *p, int64_t offset, int64_t lines) {
    piece_set(p, p->buffer, p->buffer, offset);
    p->lines = lines;
    return TEXT_REFUSED;
}

static size_t twice(size_t n) { return n < LONGEST / 2 ? 2 * n : LONGEST + 1; }

/* Is there not one whole line in more bytes than a line may have? */
static bool too_long(const char *bytes, size_t n) { return n > LONGEST && !memchr(bytes, '\n', n); }

/* ---- files ----------------------------------------------------------------------------------- */

static text_status read_at(const text_input *t, int64_t offset, char *bytes, size_t n) {
    const int64_t got = bytes_pread(t->fd, bytes, n, t->origin + offset);
    return got < 0 ? TEXT_FAILED : (size_t)got < n ? TEXT_SHORTER : TEXT_OK;
}

/* The first beginning of a line in [from, to), or `to`. */
static text_status find_line(const text_input *t, int64_t from, int64_t to, int64_t *line) {
    char some[SEARCH];
    for (int64_t at = from - 1; at < to - 1; at += SEARCH) {
        const size_t n = to - 1 - at < SEARCH ? (size_t)(to - 1 - at) : SEARCH;
        const text_status st = read_at(t, at, some, n);
        if (st != TEXT_OK) return st;
        const char *newline = memchr(some, '\n', n);
        if (!newline) continue;
        *line = at + (newline - some) + 1;
        return TEXT_OK;
    }
    *line = to;
    return TEXT_OK;
}

/* Of the whole lines in `have` bytes, those that begin in the first `own`: where the last ends, or
 * 0. At the end of the text a line need not have a newline. */
static size_t whole_lines(const char *bytes, size_t have, size_t own, bool at_end) {
    if (have >= own) {
        const char *newline = memchr(bytes + own - 1, '\n', have - own + 1);
        if (newline) return (size_t)(newline + 1 - bytes);
        if (at_end) return have;
    }
    const char *newline = memrchr(bytes, '\n', have < own ? have : own - 1);
    return newline ? (size_t)(newline + 1 - bytes) : 0;
}

/* Lines that begin in [from, to), the first of them at `from`. */
static text_status take_from_file(const text_input *t, text_piece *p, int64_t from, int64_t to) {
    const size_t own = (size_t)(to - from), left = (size_t)(t->size - from);
    size_t have = 0, whole = 0;
    for (size_t want = own < PIECE - AHEAD ? own + AHEAD : PIECE; whole == 0; want = twice(want)) {
        if (want > left) want = left;
        if (!piece_reserve(p, want)) return TEXT_NO_MEMORY;
        const text_status st = read_at(t, from + (int64_t)have, p->buffer + have, want - have);
        if (st != TEXT_OK) return st;
        if (too_long(p->buffer, want)) return piece_refuse(p, from, -1);
        whole = whole_lines(p->buffer, want, own, want == left);
        if (whole == 0 && memchr(p->buffer + have, '\0', want - have)) whole = want;
        have = want;
    }
    piece_set_copy(p, whole, from);
    return TEXT_OK;
}

/* ---- streams --------------------------------------------------------------------------------- */

static int64_t count_newlines(const char *at, const char *end) {
    int64_t n = 0;
    while (at < end) { /* by bytes, so that the compiler makes vectors of them */
        uint8_t some = 0;
        const char *stop = end - at > 255 ? at + 255 : end;
        for (; at < stop; at++) some = (uint8_t)(some + (*at == '\n'));
        n += some;
    }
    return n;
}

/* Fills the buffer from the rest and the stream, until a line is whole or the stream ends. *n: the
 * bytes there are; *whole: those of whole lines. */
static text_status fill_piece(text_input *t, text_piece *p, size_t *n, size_t *whole) {
    size_t have = t->rest_size, searched = 0;
    for (size_t want = have < PIECE / 2 ? PIECE : twice(have);; want = twice(want)) {
        if (!piece_reserve(p, want)) return TEXT_NO_MEMORY;
        if (searched == 0 && have > 0) memcpy(p->buffer, t->rest, have);
        const int64_t got = bytes_read(t->fd, p->buffer + have, want - have);
        if (got < 0) return TEXT_FAILED;
        have += (size_t)got;
        const char *last = memrchr(p->buffer + searched, '\n', have - searched);
        searched = have;
        t->ended = have < want;
        *n = have;
        *whole = t->ended ? have : last ? (size_t)(last + 1 - p->buffer) : 0;
        if (too_long(p->buffer, have)) return piece_refuse(p, t->offset, t->lines);
        if (*whole > 0 || t->ended || memchr(p->buffer, '\0', have)) return TEXT_OK;
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

/* The stream's next piece, empty at its end; after a failure nobody gets more. */
static text_status take_from_stream(text_input *t, text_piece *p) {
    size_t n = 0, whole = 0;
    text_status st = t->ended ? TEXT_OK : fill_piece(t, p, &n, &whole);
    if (st == TEXT_OK && whole == 0 && n > 0) whole = n; /* no line, but a NUL byte */
    if (st == TEXT_OK) st = keep_rest(t, p->buffer ? p->buffer + whole : "", n - whole);
    if (st == TEXT_OK && !piece_reserve(p, 1)) st = TEXT_NO_MEMORY;
    if (st != TEXT_OK) {
        t->ended = true;
        return st;
    }
    piece_set_copy(p, whole, t->offset);
    p->lines = t->lines;
    t->offset += (int64_t)whole;
    t->lines += count_newlines(p->begin, p->end);
    if (p->nul) t->ended = true;
    return TEXT_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* The lines of a file before an offset; where it cannot be read any more there are none. */
static int64_t lines_before(const text_input *t, int64_t offset) {
    char some[SEARCH];
    int64_t lines = 0;
    for (int64_t at = 0; at < offset; at += SEARCH) {
        const size_t n = offset - at < SEARCH ? (size_t)(offset - at) : SEARCH;
        if (read_at(t, at, some, n) != TEXT_OK) break;
        lines += count_newlines(some, some + n);
    }
    return lines;
}

/* Sets the offset and line of refusal->error.at, which lies in the piece. */
static void place_refusal(const text_input *t, const text_piece *p, text_refusal *refusal) {
    const char *at = refusal->error.at;
    refusal->offset = p->offset + (at - p->begin);
    const int64_t before = p->lines >= 0 ? p->lines : lines_before(t, p->offset);
    refusal->line = before + count_newlines(p->begin, at) + 1;
}

/* Refuses the line at the end of the piece: it is no text. */
static text_status refuse_line(const text_input *t, const text_piece *p, const char *what,
                               text_refusal *refusal) {
    text_error *e = &refusal->error;
    *e = (text_error){.at = p->end};
    snprintf(e->what, sizeof e->what, "%s: this is not text", what);
    snprintf(e->hint, sizeof e->hint, "numbers without a header need --format raw --dtype T");
    place_refusal(t, p, refusal);
    return TEXT_REFUSED;
}

static text_status refuse_nul(const text_input *t, const text_piece *p, text_refusal *refusal) {
    return refuse_line(t, p, "a NUL byte", refusal);
}

static text_status refuse_long(const text_input *t, const text_piece *p, text_refusal *refusal) {
    return refuse_line(t, p, "a line of more than 256 MiB", refusal);
}

/* Finds the layout in the first piece, and leaves its rows in it. */
static text_status find_layout(text_input *t, const text_options *options, text_piece *p,
                               text_refusal *refusal) {
    if (p->nul == p->begin) return refuse_nul(t, p, refusal);
    if (text_layout_find(&t->layout, options, &p->at, p->end, &refusal->error)) return TEXT_OK;
    if (refusal->error.at) place_refusal(t, p, refusal);
    return TEXT_REFUSED;
}

text_status text_open_file(text_input *t, const text_options *options, int fd, int64_t origin,
                           int64_t size, text_refusal *refusal) {
    *t = (text_input){.fd = fd, .file = true, .origin = origin, .size = size};
    pthread_mutex_init(&t->lock, NULL);
    text_status st = take_from_file(t, &t->first, 0, size);
    if (st == TEXT_REFUSED) return refuse_long(t, &t->first, refusal);
    if (st == TEXT_OK) st = find_layout(t, options, &t->first, refusal);
    t->begin = t->first.at - t->first.begin;
    if (t->begin > size) t->begin = size; /* a header that no newline ends */
    free(t->first.buffer);                /* readers read their pieces themselves */
    t->first = (text_piece){.buffer = NULL};
    return st;
}

text_status text_open_stream(text_input *t, const text_options *options, int fd, const char *prefix,
                             size_t length, text_refusal *refusal) {
    *t = (text_input){.fd = fd};
    pthread_mutex_init(&t->lock, NULL);
    text_status st = keep_rest(t, prefix, length);
    if (st == TEXT_OK) st = take_from_stream(t, &t->first);
    if (st == TEXT_REFUSED) return refuse_long(t, &t->first, refusal);
    return st == TEXT_OK ? find_layout(t, options, &t->first, refusal) : st;
}

void text_close(text_input *t) {
    text_layout_free(&t->layout);
    pthread_mutex_destroy(&t->lock);
    free(t->first.buffer);
    free(t->rest);
    *t = (text_input){.fd = -1};
}

/* ---- reading --------------------------------------------------------------------------------- */

bool text_reader_open(text_reader *r, text_input *t, int64_t from, int64_t to) {
    const int columns = t->layout.columns;
    const int64_t room = columns == 1 ? ROWS : 2 * ROWS / columns > 256 ? 2 * ROWS / columns : 256;
    *r = (text_reader){.input = t, .left = -1};
    text_reader_assign(r, from, to);
    return text_rows_alloc(&r->rows, &t->layout, room);
}

void text_reader_assign(text_reader *r, int64_t from, int64_t to) {
    const text_input *t = r->input;
    r->from = from > t->begin ? from : t->begin;
    r->to = to < t->size ? to : t->size;
    r->within = from > t->begin;
}

void text_reader_close(text_reader *r) {
    text_rows_free(&r->rows, &r->input->layout);
    free(r->piece.buffer);
    r->piece.buffer = NULL;
}

/* The next piece of the stream, to whoever comes first. */
static text_status take_in_turn(text_input *t, text_piece *p) {
    text_status st = TEXT_OK;
    pthread_mutex_lock(&t->lock);
    if (t->first.buffer) {
        free(p->buffer);
        *p = t->first;
        t->first = (text_piece){.buffer = NULL};
    } else {
        st = take_from_stream(t, p);
    }
    pthread_mutex_unlock(&t->lock);
    return st;
}

/* The next piece of the reader's part of the file. */
static text_status take_of_part(text_reader *r, bool *end) {
    text_status st = TEXT_OK;
    if (r->within && r->from < r->to) st = find_line(r->input, r->from, r->to, &r->from);
    r->within = false;
    *end = r->from >= r->to;
    if (st != TEXT_OK || *end) return st;
    st = take_from_file(r->input, &r->piece, r->from, r->to);
    if (st == TEXT_OK) r->from += r->piece.end - r->piece.begin;
    return st;
}

/* Takes a piece; *end: there is none. */
static text_status take_piece(text_reader *r, bool *end) {
    text_piece *p = &r->piece;
    text_status st;
    if (r->input->file) {
        st = take_of_part(r, end);
    } else {
        st = take_in_turn(r->input, p);
        *end = st == TEXT_OK && p->begin == p->end && !p->nul;
    }
    if (st == TEXT_OK && !*end) r->taken += p->end - p->begin;
    return st == TEXT_REFUSED ? refuse_long(r->input, p, &r->refusal) : st;
}

/* Makes sure that there are rows in the piece, or that *end is true. */
static text_status need_piece(text_reader *r, bool *end) {
    text_piece *p = &r->piece;
    *end = r->left == 0;
    while (!*end && p->at >= p->end) {
        if (p->nul) return refuse_nul(r->input, p, &r->refusal);
        const text_status st = take_piece(r, end);
        if (st != TEXT_OK) return st;
    }
    return TEXT_OK;
}

/* Passes over rows, `most` of them or (-1) all. */
static text_status skip_rows(text_reader *r, int64_t most, int64_t *n) {
    bool end = false;
    *n = 0;
    while (!end && *n != most) {
        const text_status st = need_piece(r, &end);
        if (st != TEXT_OK) return st;
        if (end) break;
        int64_t passed;
        r->piece.at = text_rows_skip(&r->input->layout, r->piece.at, r->piece.end,
                                     most < 0 ? -1 : most - *n, &passed);
        *n += passed;
    }
    return TEXT_OK;
}

text_status text_reader_count(text_reader *r, int64_t *n) { return skip_rows(r, -1, n); }

/* Reads the rows in the piece. */
static text_status read_rows(text_reader *r) {
    text_piece *p = &r->piece;
    const int64_t room = r->rows.room;
    if (r->left >= 0 && r->left < room) r->rows.room = r->left;
    const char *at = text_rows_read(&r->rows, &r->input->layout, p->at, p->end, &r->refusal.error);
    r->rows.room = room;
    if (!at) {
        place_refusal(r->input, p, &r->refusal);
        return TEXT_REFUSED;
    }
    p->at = at;
    if (r->left > 0) r->left -= r->rows.n;
    return TEXT_OK;
}

static text_status take_rows(text_reader *r) {
    int64_t passed = 0;
    text_status st = r->skip > 0 ? skip_rows(r, r->skip, &passed) : TEXT_OK;
    r->skip -= passed;
    r->rows.n = 0;
    bool end = r->skip > 0; /* there are not so many */
    while (st == TEXT_OK && !end && r->rows.n == 0) {
        st = need_piece(r, &end);
        if (st == TEXT_OK && !end) st = read_rows(r);
    }
    return st;
}

text_status text_reader_next(text_reader *r) {
    r->status = take_rows(r);
    r->error = errno;
    return r->status;
}

/* ---- loading --------------------------------------------------------------------------------- */

static bool append_numbers(text_numbers *x, const text_layout *l, const text_rows *rows) {
    while (x->room - x->n < rows->n || x->room == 0) x->room = x->room ? 2 * x->room : ROWS;
    for (int i = 0; i < text_candidates(l); i++) {
        if (i == 1) continue;
        const size_t element = bf_dtype_size(text_candidate(l, i));
        void *numbers = realloc(x->as[i], (size_t)x->room * element);
        if (!numbers) return false;
        x->as[i] = numbers;
        memcpy((char *)numbers + (size_t)x->n * element, text_rows_numbers(rows, l, 0, i),
               (size_t)rows->n * element);
    }
    x->n += rows->n;
    if (rows->n > 0) x->can &= rows->columns[0].can;
    return true;
}

text_status text_load(text_reader *r, text_numbers *x) {
    const text_layout *l = &r->input->layout;
    *x = (text_numbers){.can = (1u << text_candidates(l)) - 1};
    text_status st;
    do {
        st = text_reader_next(r);
        if (st == TEXT_OK && !append_numbers(x, l, &r->rows)) st = TEXT_NO_MEMORY;
    } while (st == TEXT_OK && r->rows.n > 0);
    return st;
}

void text_numbers_free(text_numbers *x) {
    for (int i = 0; i < TEXT_CANDIDATES; i++) free(x->as[i]);
    *x = (text_numbers){.n = 0};
}
