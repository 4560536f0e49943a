#define _GNU_SOURCE /* memrchr */
#include "input/text.h"

#include "runtime/bytes.h"
#include "text/field.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fields that rows of a piece may have in any case. */
enum { FIELDS_LEAST = 256 * 1024 };

/* Bytes behind a part of a file that are read with it, for its last row; bytes in which newlines
 * are counted at a time; and parts that a guess may go on for in quotes. */
enum { AHEAD = 4 * 1024, SEARCH = 16 * 1024, GUESSED = 4 };

static const char too_long[] = "a line of more than 256 MiB", nul_byte[] = "a NUL byte",
                  too_large[] = "a line longer than --memory allows",
                  no_end[] = "a quoted field that does not end";

/* ---- pieces ---------------------------------------------------------------------------------- */

/* A NUL ends the buffer, behind all that is read into it. */
static bool piece_reserve(text_piece *p, size_t room) {
    if (p->room >= room && p->buffer) return true;
    char *buffer = realloc(p->buffer, room + 1 + TEXT_SLACK + 1);
    if (!buffer) return false;
    buffer[room + 1 + TEXT_SLACK] = '\0';
    p->buffer = buffer;
    p->room = room;
    return true;
}

/* The last row of [at, end) that begins before or at `within`, a row beginning at `at`. */
static const char *row_of(const text_input *t, const char *at, const char *within) {
    if (text_spans_lines(t->delimiter))
        return text_rows_find(at, within, t->delimiter, TEXT_ROW, within + 1).last;
    const char *newline = memrchr(at, '\n', (size_t)(within - at));
    return newline ? newline + 1 : at;
}

/* Adds what there is in bytes [*to, end) of the buffer to the survey. */
static void survey_more(text_piece *p, size_t *to, size_t end) {
    const text_survey s = text_survey_of(p->buffer + *to, p->buffer + end), before = p->survey;
    p->survey =
        (text_survey){before.lines + s.lines, before.nul || s.nul, before.quotes || s.quotes};
    *to = end;
}

/* Makes bytes [begin, end) of the buffer the piece, up to the row with the first NUL byte; the row
 * behind them has the fault. A last row without a newline gets one. surveyed: bytes before it are.
 */
static void piece_set(const text_input *t, text_piece *p, size_t begin, size_t surveyed, size_t end,
                      text_fault fault, int64_t offset) {
    const char *const at = p->buffer + begin;
    p->offset = offset;
    p->next = offset + (int64_t)(end - begin);
    if (surveyed <= begin || surveyed > end) {
        p->survey = (text_survey){.lines = 0};
        surveyed = begin;
    }
    survey_more(p, &surveyed, end);
    if (p->survey.nul) {
        const char *const nul = memchr(at, '\0', end - begin), *const row = row_of(t, at, nul);
        end = (size_t)(row - p->buffer);
        fault = (text_fault){nul_byte, nul};
        p->survey = text_survey_of(at, row);
    }
    if (end > begin && p->buffer[end - 1] != '\n') {
        p->buffer[end++] = '\n';
        p->survey.lines++;
    }
    if (!fault.what) memset(p->buffer + end, '\n', TEXT_SLACK);
    p->at = p->begin = at;
    p->end = p->buffer + end;
    p->fault = fault;
    p->lines = -1;
}

static void set_longest(text_input *t, const text_options *options) {
    t->longest = text_longest(options);
    t->share = options->share > 0 && options->share < t->longest ? options->share : t->longest;
}

/* The fault of the row at `row`, of which the bytes up to `end` are too many. */
static text_fault long_fault(const text_input *t, const char *row, const char *end, bool inside) {
    const char *const at = inside ? text_open_quote(row, end, t->delimiter) : row;
    return (text_fault){t->longest < TEXT_LONGEST ? too_large : inside ? no_end : too_long, at};
}

static size_t twice(size_t n) { return n < TEXT_LONGEST / 2 ? 2 * n : n + TEXT_LONGEST; }

/* Passes over a byte order mark, and finds the delimiter, by the first bytes of the text. Returns
 * where its rows begin. */
static size_t begin_text(text_input *t, const char *bytes, size_t n) {
    const size_t mark = n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    if (!t->delimiter)
        t->delimiter = text_find_delimiter(bytes + mark, bytes + n, &t->style, t->table);
    return mark;
}

/* ---- files ----------------------------------------------------------------------------------- */

static text_status read_at(const text_input *t, int64_t offset, char *bytes, size_t n) {
    const int64_t got = bytes_pread(t->fd, bytes, n, t->origin + offset);
    return got < 0 ? TEXT_FAILED : (size_t)got < n ? TEXT_SHORTER : TEXT_OK;
}

/* Bytes of a file in a piece's buffer, from `from` on. */
typedef struct window {
    int64_t from;
    size_t have, left; /* what is left of the file, from there on */
    size_t own;        /* the rows before it are wanted */
    size_t longest;    /* bytes of a row */
    bool guessed;      /* the first row may be none */
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

/* Whether the text at `at` is in quotes, by the first quotes whose neighbours tell if they open or
 * close. There is a byte before it. */
static bool seems_quoted(const text_input *t, const char *at, const char *end) {
    bool inside = false; /* since the start, were that outside */
    for (const char *q = at; (q = memchr(q, '"', (size_t)(end - q))) != NULL;) {
        const char *const first = q;
        while (q < end && *q == '"') q++;
        if ((q - first) % 2 == 0) continue;
        const bool begins = text_ends_field(first - 1, t->delimiter);
        const bool ends = q < end && (*q == '\r' || text_ends_field(q, t->delimiter));
        if (begins != ends) return ends != inside;
        inside = !inside;
    }
    return false;
}

/* Where the first row begins behind the window's first byte, in all likelihood. */
static size_t guess_row(const text_input *t, const text_piece *p, const window *w) {
    const char *const at = p->buffer + 1, *const end = p->buffer + w->have;
    const char *const newline = memchr(p->buffer, '\n', w->own - 1);
    if (!text_spans_lines(t->delimiter) || !memchr(at, '"', w->own - 1))
        return newline ? (size_t)(newline + 1 - p->buffer) : w->own;
    const text_state before = seems_quoted(t, at, p->buffer + w->own)    ? TEXT_QUOTED
                              : text_ends_field(p->buffer, t->delimiter) ? TEXT_ROW
                                                                         : TEXT_FIELD;
    if (before == TEXT_ROW && *p->buffer == '\n') return 1;
    const char *const row = text_rows_find(at, end, t->delimiter, before, at).first;
    return row ? (size_t)(row - p->buffer) : w->own;
}

/* The rows of a window that are wanted, and the last of them. */
typedef struct extent {
    size_t begin, surveyed, last, end;
    bool unknown; /* where the last row of a guess ends, it is not worth to find out */
    text_fault fault;
} extent;

/* Finds where the line ends that the last wanted byte is in, if no quote is before it. Of one that
 * is too long, or has a NUL byte, the end is where it was given up. */
static text_status find_line_end(const text_input *t, text_piece *p, window *w, extent *x) {
    const char *newline = memrchr(p->buffer + x->begin, '\n', w->own - 1 - x->begin);
    x->last = newline ? (size_t)(newline + 1 - p->buffer) : x->begin;
    for (size_t searched = w->own - 1;;) {
        newline = memchr(p->buffer + searched, '\n', w->have - searched);
        x->end = newline ? (size_t)(newline + 1 - p->buffer) : w->have;
        if (newline || w->have == w->left || w->have - w->own >= w->longest ||
            memchr(p->buffer + searched, '\0', w->have - searched))
            return TEXT_OK;
        searched = w->have;
        const text_status st = extend_window(t, p, w, twice(w->have));
        if (st != TEXT_OK) return st;
    }
}

/* Finds the end of a row, also if there are quotes; x->last: a row to begin with. */
static text_status find_row_end(const text_input *t, text_piece *p, window *w, extent *x) {
    for (;;) {
        const char *const at = p->buffer + x->last, *const end = p->buffer + w->have;
        const text_bounds b = text_rows_find(at, end, t->delimiter, TEXT_ROW, p->buffer + w->own);
        const size_t length = (size_t)(end - b.last);
        x->last = (size_t)(b.last - p->buffer);
        x->end = b.first ? (size_t)(b.first - p->buffer) : w->have;
        if (b.first || memchr(b.last, '\0', length)) return TEXT_OK;
        if (length > w->longest)
            x->fault = long_fault(t, b.last, end, b.inside);
        else if (w->have == w->left && b.inside)
            x->fault = (text_fault){no_end, text_open_quote(b.last, end, t->delimiter)};
        if (x->fault.what || w->have == w->left) return TEXT_OK;
        x->unknown = w->guessed && b.inside && w->have > GUESSED * t->piece;
        if (x->unknown) return TEXT_OK;
        const text_status st = extend_window(t, p, w, twice(w->have));
        if (st != TEXT_OK) return st;
    }
}

static text_status find_extent(const text_input *t, text_piece *p, window *w, extent *x) {
    const bool spans = text_spans_lines(t->delimiter);
    text_status st = TEXT_OK;
    x->last = x->surveyed = x->begin;
    p->survey = (text_survey){.lines = 0};
    survey_more(p, &x->surveyed, w->own);
    bool quoted = spans && p->survey.quotes;
    if (!quoted) st = find_line_end(t, p, w, x);
    if (st == TEXT_OK && spans && !quoted)
        quoted = memchr(p->buffer + x->last, '"', x->end - x->last) != NULL;
    if (st == TEXT_OK && quoted) st = find_row_end(t, p, w, x);
    if (st != TEXT_OK || x->unknown) return st;
    const char *const row = p->buffer + x->last, *const end = p->buffer + x->end;
    if (!x->fault.what && x->end - x->last > w->longest) x->fault = long_fault(t, row, end, false);
    if (x->fault.what) x->end = x->last;
    return TEXT_OK;
}

/* No rows; the next is at an offset. */
static text_status take_none(const text_input *t, text_piece *p, int64_t row) {
    if (!piece_reserve(p, 1)) return TEXT_NO_MEMORY;
    piece_set(t, p, 0, 0, 0, (text_fault){NULL, NULL}, row);
    return TEXT_OK;
}

/* Takes the rows that begin in [from, to), the first of them at `row`, or where it seems (-1). */
static text_status take_rows(text_input *t, text_piece *p, int64_t from, int64_t to, int64_t row,
                             size_t longest) {
    p->put_off = false;
    if (row < 0 && from <= t->begin) row = t->begin;
    if (to > t->size) to = t->size;
    if (row >= to) return take_none(t, p, row);
    window w = {.from = from > 0 ? from - 1 : 0, .longest = longest, .guessed = row < 0};
    w.left = (size_t)(t->size - w.from);
    w.own = (size_t)(to - w.from);
    extent x = {.begin = (size_t)(row - w.from)};
    text_status st = extend_window(t, p, &w, w.own + AHEAD);
    if (st == TEXT_OK && row < 0) x.begin = guess_row(t, p, &w);
    if (st == TEXT_OK && row == 0) x.begin = begin_text(t, p->buffer, w.have);
    if (st == TEXT_OK && x.begin < w.own) st = find_extent(t, p, &w, &x);
    if (st != TEXT_OK) return st;
    p->put_off = x.fault.what && longest < t->longest;
    if (p->put_off) return take_none(t, p, -1);
    if (x.begin >= w.own || x.unknown) return take_none(t, p, row == 0 ? to : -1);
    piece_set(t, p, x.begin, x.surveyed, x.end, x.fault, w.from + (int64_t)x.begin);
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

static text_status take_part(text_input *t, text_piece *p, int64_t part, int64_t row,
                             size_t longest) {
    const int64_t piece = (int64_t)t->piece;
    if (part == 0 && t->first.buffer) return take_first(t, p);
    return take_rows(t, p, part * piece, (part + 1) * piece, row, longest);
}

text_status text_take_part(text_input *t, text_piece *p, int64_t part, int64_t row) {
    return take_part(t, p, part, row, t->longest);
}

text_status text_try_part(text_input *t, text_piece *p, int64_t part, int64_t row) {
    return take_part(t, p, part, row, t->share);
}

bool text_follows(const text_piece *p, int64_t row) {
    return !p->put_off && (row < 0 || (p->next >= 0 && p->offset == row));
}

/* Buffers grow twofold. */
bool text_is_long(const text_input *t, const text_piece *p) {
    return t->share < t->longest && p->room > 2 * (t->piece + AHEAD + t->share);
}

void text_release(const text_input *t, text_piece *p) {
    if (!text_is_long(t, p)) return;
    free(p->buffer);
    *p = (text_piece){.buffer = NULL};
}

text_status text_find_part(text_input *t, int64_t part, int64_t *row) {
    text_piece piece = {.buffer = NULL};
    text_status st = TEXT_OK;
    *row = part == 0 ? t->begin : -1;
    if (part == 0 || !text_spans_lines(t->delimiter)) return TEXT_OK;
    *row = t->second;
    for (int64_t i = 1; i < part && st == TEXT_OK; i++) {
        st = text_take_part(t, &piece, i, *row);
        if (st == TEXT_OK) *row = piece.next;
    }
    free(piece.buffer);
    return st;
}

/* ---- streams --------------------------------------------------------------------------------- */

/* The next bytes of a stream, and those of them that are whole rows. */
typedef struct filling {
    size_t begin, n, whole;
    text_fault fault;
} filling;

/* Finds the whole rows among the bytes, of which none was whole before `searched`. A row with a NUL
 * byte is taken as one, if there is no other. */
static void find_whole(const text_input *t, const text_piece *p, size_t searched, filling *f) {
    const char *const at = p->buffer + f->begin, *const end = p->buffer + f->n;
    const size_t n = f->n - f->begin;
    text_bounds b = {.last = at};
    if (text_spans_lines(t->delimiter) && memchr(at, '"', n)) {
        b = text_rows_find(at, end, t->delimiter, TEXT_ROW, end + 1);
    } else {
        const char *last = memrchr(p->buffer + searched, '\n', f->n - searched);
        if (last) b.last = last + 1;
    }
    const bool nul = memchr(b.last, '\0', (size_t)(end - b.last)) != NULL;
    const bool last = t->ended || (nul && b.last == at);
    if (!nul && (size_t)(end - b.last) > t->longest && (last || b.last == at))
        f->fault = long_fault(t, b.last, end, b.inside);
    else if (!nul && t->ended && b.inside)
        f->fault = (text_fault){no_end, text_open_quote(b.last, end, t->delimiter)};
    f->whole = last && !f->fault.what ? f->n : (size_t)(b.last - p->buffer);
}

/* Fills the buffer from the rest and the stream, until a row is whole or none will be. */
static text_status fill_piece(text_input *t, text_piece *p, filling *f) {
    size_t have = t->rest_size, searched = 0;
    for (size_t want = have < t->piece / 2 ? t->piece : twice(have);; want = twice(want)) {
        if (!piece_reserve(p, want)) return TEXT_NO_MEMORY;
        if (searched == 0 && have > 0) memcpy(p->buffer, t->rest, have);
        const int64_t got = tape_read(t->tape, p->buffer + have, want - have);
        if (got < 0) return TEXT_FAILED;
        have += (size_t)got;
        t->ended = have < want;
        f->n = have;
        if (t->offset == 0) f->begin = begin_text(t, p->buffer, have);
        if (searched < f->begin) searched = f->begin;
        find_whole(t, p, searched, f);
        searched = have;
        if (f->whole > f->begin || t->ended || f->fault.what) return TEXT_OK;
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

/* After a failure nobody gets more. */
static text_status take_from_stream(text_input *t, text_piece *p) {
    filling f = {.n = 0};
    text_status st = t->ended ? TEXT_OK : fill_piece(t, p, &f);
    if (f.fault.what) f.n = f.whole;
    if (st == TEXT_OK) st = keep_rest(t, p->buffer ? p->buffer + f.whole : "", f.n - f.whole);
    if (st == TEXT_OK && !piece_reserve(p, 1)) st = TEXT_NO_MEMORY;
    if (st != TEXT_OK) {
        t->ended = true;
        return st;
    }
    piece_set(t, p, f.begin, 0, f.whole, f.fault, t->offset + (int64_t)f.begin);
    p->lines = t->lines;
    t->offset = p->next;
    t->lines += p->survey.lines;
    if (p->fault.what) t->ended = true;
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

int64_t text_lines_more(const text_input *t, int64_t offset) {
    return t->file ? 0 : tape_lines_more(t->tape, offset);
}

void text_place_refusal(const text_input *t, const text_piece *p, text_refusal *refusal) {
    const char *at = refusal->error.at;
    refusal->offset = p->offset + (at - p->begin);
    const int64_t before = p->lines >= 0 ? p->lines : lines_before(t, p->offset);
    refusal->line = before + text_count_lines(p->begin, at) + 1;
    refusal->line += text_lines_more(t, refusal->offset);
}

/* Refuses the row behind the piece. */
static text_status refuse_fault(const text_piece *p, size_t longest, text_error *e) {
    const char *const what = p->fault.what;
    *e = (text_error){.at = p->fault.at};
    const bool is_text = what == too_large || what == no_end;
    snprintf(e->what, sizeof e->what, "%s%s", what, is_text ? "" : ": this is not text");
    if (what == too_large)
        snprintf(e->hint, sizeof e->hint, "lines of up to %zu bytes fit, whatever -j is", longest);
    if (!is_text)
        snprintf(e->hint, sizeof e->hint, "numbers without a header need --format raw --dtype T");
    return TEXT_REFUSED;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Keeps the line of the header, without the blank ones before it. */
static bool keep_header(text_input *t, const text_piece *p) {
    const char *at = p->begin;
    for (const char *q; *(q = text_skip_blanks(at, t->delimiter)) == '\n';) at = q + 1;
    t->header = strndup(at, (size_t)(p->at - at));
    return t->header;
}

/* Finds the layout in the first piece, and leaves its rows in it. */
static text_status find_layout(text_input *t, const text_options *options, text_refusal *refusal) {
    text_piece *p = &t->first;
    text_options found = *options;
    t->object = !options->json && p->begin < p->end && *text_skip_blanks(p->begin, ' ') == '{';
    found.guessed = options->guessed || !options->delimiter;
    found.delimiter = t->delimiter ? t->delimiter : ' ';
    if (p->fault.what && p->begin == p->end) {
        refuse_fault(p, t->longest, &refusal->error);
    } else if (text_layout_find(&t->layout, &found, &p->at, p->end, &refusal->error)) {
        t->begin = p->offset + (p->at - p->begin);
        t->second = p->next;
        t->header_lines = text_count_lines(p->begin, p->at);
        if (t->layout.whole && p->at > p->begin && !keep_header(t, p)) return TEXT_NO_MEMORY;
        p->begin = p->at;
        p->offset = t->begin;
        p->survey.lines -= t->header_lines;
        if (p->lines >= 0) p->lines = t->header_lines;
        return TEXT_OK;
    }
    if (refusal->error.at) text_place_refusal(t, p, refusal);
    return TEXT_REFUSED;
}

text_status text_open_file(text_input *t, const text_options *options, int fd, int64_t origin,
                           int64_t size, size_t piece, text_refusal *refusal) {
    *t = (text_input){.fd = fd, .file = true, .origin = origin, .size = size, .piece = piece};
    set_longest(t, options);
    t->delimiter = options->json ? ' ' : options->delimiter;
    t->style = options->style;
    t->table = text_asks_for_table(options);
    text_status st = take_rows(t, &t->first, 0, (int64_t)piece, 0, t->longest);
    if (st == TEXT_OK) st = find_layout(t, options, refusal);
    if (t->begin > size) t->begin = size; /* a header that no newline ends */
    return st;
}

text_status text_open_stream(text_input *t, const text_options *options, tape *from,
                             const char *prefix, size_t length, size_t piece,
                             text_refusal *refusal) {
    *t = (text_input){.fd = -1, .tape = from, .piece = piece};
    set_longest(t, options);
    t->delimiter = options->json ? ' ' : options->delimiter;
    t->style = options->style;
    t->table = text_asks_for_table(options);
    text_status st = keep_rest(t, prefix, length);
    if (st == TEXT_OK) st = take_from_stream(t, &t->first);
    return st == TEXT_OK ? find_layout(t, options, refusal) : st;
}

void text_close(text_input *t) {
    text_layout_free(&t->layout);
    free(t->header);
    free(t->first.buffer);
    free(t->rest);
    *t = (text_input){.fd = -1};
}

/* ---- rows ------------------------------------------------------------------------------------ */

bool text_is_quoted(const text_input *t, const text_piece *p) {
    return p->survey.quotes && text_spans_lines(t->delimiter);
}

static void skip_rows(const text_input *t, text_piece *p, text_selection *selection) {
    int64_t passed;
    const bool quoted = text_is_quoted(t, p);
    p->at = text_rows_skip(&t->layout, quoted, p->at, p->end, selection->skip, &passed);
    selection->skip -= passed;
}

/* The most rows that a piece may have. A row has a byte at least for each of its columns, unless it
 * may be too short. */
static int64_t most_rows(const text_input *t, const text_piece *p) {
    const text_layout *l = &t->layout;
    const int64_t lines = p->at == p->begin ? p->survey.lines : text_count_lines(p->at, p->end);
    const int64_t whole = (p->end - p->at) / l->columns + 1;
    return l->lax || l->keys || lines < whole ? lines : whole;
}

/* Refuses rows that are too short, and so many that their fields would take much more memory than
 * their bytes. */
static bool has_room(const text_input *t, const text_piece *p, int64_t rows, text_error *error) {
    const int64_t columns = t->layout.columns, share = (int64_t)t->share / 8;
    const int64_t most = share > FIELDS_LEAST ? share : FIELDS_LEAST;
    if (rows <= most / columns || rows <= (p->end - p->at) / columns + 1) return true;
    *error = (text_error){.at = p->at};
    snprintf(error->what, sizeof error->what,
             "from here on, rows of %d columns are too short: they take too much memory",
             t->layout.columns);
    snprintf(error->hint, sizeof error->hint, "--column takes fewer columns at a time");
    return false;
}

text_status text_read_piece(const text_input *t, text_piece *p, text_selection *selection,
                            text_rows *rows, text_error *error) {
    rows->n = 0;
    rows->quoted = text_is_quoted(t, p);
    if (selection && selection->skip > 0) skip_rows(t, p, selection);
    const int64_t most = most_rows(t, p);
    int64_t wanted =
        selection && selection->left >= 0 && selection->left < most ? selection->left : most;
    if (wanted > 1 && !has_room(t, p, wanted, error)) return TEXT_REFUSED;
    if (!text_rows_reserve(rows, &t->layout, wanted > 0 ? wanted : 1)) return TEXT_NO_MEMORY;
    const char *at =
        wanted == 0 ? p->end : text_rows_read(rows, &t->layout, p->at, p->end, wanted, error);
    if (!at) return rows->no_memory ? TEXT_NO_MEMORY : TEXT_REFUSED;
    if (selection && selection->left > 0) selection->left -= rows->n;
    if (p->fault.what && !(selection && selection->left == 0))
        return refuse_fault(p, t->longest, error);
    return TEXT_OK;
}
