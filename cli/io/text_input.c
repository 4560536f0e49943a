#define _GNU_SOURCE /* memrchr */
#include "text_input.h"

#include "bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Pieces stay in the second-level cache; their rows, in the first. */
enum { PIECE = 256 * 1024, ROWS = 4096 };

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

/* The end of a file has nothing behind it that may be read: it is copied. */
static text_status take_from_file(const text_input *t, text_piece *p, int64_t from, int64_t to) {
    const int64_t next = text_line_from(t, to - from > PIECE ? from + PIECE : to);
    if (next + TEXT_SLACK <= t->size) {
        piece_set(p, t->data + from, t->data + next, from);
        return TEXT_OK;
    }
    if (!piece_reserve(p, (size_t)(next - from))) return TEXT_NO_MEMORY;
    memcpy(p->buffer, t->data + from, (size_t)(next - from));
    piece_set_copy(p, (size_t)(next - from), from);
    return TEXT_OK;
}

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
static text_status fill(text_input *t, text_piece *p, size_t *n, size_t *whole) {
    if (!piece_reserve(p, PIECE > 2 * t->rest_size ? PIECE : 2 * t->rest_size))
        return TEXT_NO_MEMORY;
    if (t->rest_size > 0) memcpy(p->buffer, t->rest, t->rest_size);
    size_t have = t->rest_size;
    for (;;) {
        const int64_t got = bytes_read(t->fd, p->buffer + have, p->room - have);
        if (got < 0) return TEXT_FAILED;
        const char *last = memrchr(p->buffer + have, '\n', (size_t)got);
        have += (size_t)got;
        t->ended = have < p->room;
        *n = have;
        *whole = t->ended ? have : last ? (size_t)(last + 1 - p->buffer) : 0;
        if (*whole > 0 || t->ended || memchr(p->buffer, '\0', have)) return TEXT_OK;
        if (p->room > LONGEST) return TEXT_REFUSED;
        if (!piece_reserve(p, 2 * p->room)) return TEXT_NO_MEMORY;
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

/* The stream's next piece, empty at its end. */
static text_status take_from_stream(text_input *t, text_piece *p) {
    size_t n = 0, whole = 0;
    text_status st = t->ended ? TEXT_OK : fill(t, p, &n, &whole);
    if (st == TEXT_OK && whole == 0 && n > 0) whole = n; /* no line, but a NUL byte */
    if (st == TEXT_OK) st = keep_rest(t, p->buffer ? p->buffer + whole : "", n - whole);
    if (st == TEXT_OK && !piece_reserve(p, 1)) st = TEXT_NO_MEMORY;
    if (st != TEXT_OK) return st;
    piece_set_copy(p, whole, t->offset);
    p->lines = t->lines;
    t->offset += (int64_t)whole;
    t->lines += count_newlines(p->begin, p->end);
    if (p->nul) t->ended = true;
    return TEXT_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

static const char nul_text[] = "a NUL byte: this is not text",
                  nul_hint[] = "numbers without a header need --format raw --dtype T";

static text_status refuse_nul(const text_piece *p, text_error *error) {
    error->at = p->nul;
    strcpy(error->what, nul_text);
    strcpy(error->hint, nul_hint);
    return TEXT_REFUSED;
}

/* Where in the text `at` is, which is in the piece. */
static void place(const text_input *t, const text_piece *p, text_refusal *refusal) {
    const char *at = refusal->error.at;
    refusal->offset = p->offset + (at - p->begin);
    const int64_t before = p->lines >= 0 ? p->lines : count_newlines(t->data, t->data + p->offset);
    refusal->line = before + count_newlines(p->begin, at) + 1;
}

/* Finds the layout in the first piece, and leaves its rows in it. */
static text_status find_layout(text_input *t, const text_options *options, text_piece *p,
                               text_refusal *refusal) {
    text_error *error = &refusal->error;
    if (p->nul == p->begin)
        refuse_nul(p, error);
    else if (text_layout_find(&t->layout, options, &p->at, p->end, error))
        return TEXT_OK;
    if (error->at) place(t, p, refusal);
    return TEXT_REFUSED;
}

text_status text_open_file(text_input *t, const text_options *options, const char *data,
                           int64_t size, text_refusal *refusal) {
    *t = (text_input){.fd = -1, .data = data, .size = size, .lock = PTHREAD_MUTEX_INITIALIZER};
    text_status st = take_from_file(t, &t->first, 0, size);
    if (st == TEXT_OK) st = find_layout(t, options, &t->first, refusal);
    t->begin = t->first.at - t->first.begin;
    if (t->begin > size) t->begin = size; /* a header that no newline ends */
    return st;
}

text_status text_open_stream(text_input *t, const text_options *options, int fd, const char *prefix,
                             size_t length, text_refusal *refusal) {
    *t = (text_input){.fd = fd, .lock = PTHREAD_MUTEX_INITIALIZER};
    text_status st = keep_rest(t, prefix, length);
    if (st == TEXT_OK) st = take_from_stream(t, &t->first);
    return st == TEXT_OK ? find_layout(t, options, &t->first, refusal) : st;
}

void text_close(text_input *t) {
    text_layout_free(&t->layout);
    pthread_mutex_destroy(&t->lock);
    free(t->first.buffer);
    free(t->rest);
    *t = (text_input){.fd = -1};
}

int64_t text_line_from(const text_input *t, int64_t offset) {
    if (offset <= 0) return 0;
    if (offset >= t->size) return t->size;
    const char *line = memchr(t->data + offset - 1, '\n', (size_t)(t->size - offset + 1));
    return line ? line + 1 - t->data : t->size;
}

/* ---- reading --------------------------------------------------------------------------------- */

bool text_reader_open(text_reader *r, text_input *t, int64_t from, int64_t to) {
    const int columns = t->layout.columns;
    const int64_t room = columns == 1 ? ROWS : 2 * ROWS / columns > 256 ? 2 * ROWS / columns : 256;
    *r = (text_reader){.input = t, .from = from, .to = to, .left = -1};
    return text_rows_alloc(&r->rows, &t->layout, room);
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

/* Takes a piece; *end: there is none. */
static text_status take_piece(text_reader *r, bool *end) {
    text_piece *p = &r->piece;
    text_status st = TEXT_OK;
    *end = r->input->data && r->from >= r->to;
    if (*end) return TEXT_OK;
    if (r->input->data) {
        st = take_from_file(r->input, p, r->from, r->to);
        r->from = text_line_from(r->input, r->to - r->from > PIECE ? r->from + PIECE : r->to);
    } else {
        st = take_in_turn(r->input, p);
        *end = st == TEXT_OK && p->begin == p->end && !p->nul;
    }
    if (st == TEXT_OK) r->taken += p->end - p->begin;
    if (st == TEXT_REFUSED) {
        r->refusal = (text_refusal){.line = r->input->lines + 1, .offset = r->input->offset};
        r->refusal.error = (text_error){.at = "", .what = "a line of more than 256 MiB"};
    }
    return st;
}

/* Makes sure that there are rows in the piece, or that *end is true. */
static text_status need_piece(text_reader *r, bool *end) {
    text_piece *p = &r->piece;
    *end = r->left == 0;
    while (!*end && p->at == p->end) {
        if (p->nul) {
            refuse_nul(p, &r->refusal.error);
            place(r->input, p, &r->refusal);
            return TEXT_REFUSED;
        }
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

/* Reads what is in the piece. */
static text_status read_rows(text_reader *r) {
    text_piece *p = &r->piece;
    const int64_t room = r->rows.room;
    if (r->left >= 0 && r->left < room) r->rows.room = r->left;
    const char *at = text_rows_read(&r->rows, &r->input->layout, p->at, p->end, &r->refusal.error);
    r->rows.room = room;
    if (!at) {
        place(r->input, p, &r->refusal);
        return TEXT_REFUSED;
    }
    p->at = at;
    if (r->left > 0) r->left -= r->rows.n;
    return TEXT_OK;
}

text_status text_reader_next(text_reader *r) {
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

/* ---- loading --------------------------------------------------------------------------------- */

static bool append(text_numbers *x, const text_layout *l, const text_rows *rows) {
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
        if (st == TEXT_OK && !append(x, l, &r->rows)) st = TEXT_NO_MEMORY;
    } while (st == TEXT_OK && r->rows.n > 0);
    return st;
}

void text_numbers_free(text_numbers *x) {
    for (int i = 0; i < TEXT_CANDIDATES; i++) free(x->as[i]);
    *x = (text_numbers){.n = 0};
}
