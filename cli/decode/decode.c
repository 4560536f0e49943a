#include "decode/decode.h"

#include "decode/charset.h"
#include "decode/escape.h"
#include "decode/lead.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes [at, n) are those that are left. */
typedef struct buffer {
    char *bytes;
    size_t at, n, room;
} buffer;

/* Where the lines of the file and the newlines that are given part: before `offset`, `more` lines
 * more than newlines, or less. */
typedef struct parting {
    int64_t offset;
    int more;
} parting;

struct decode {
    text_options options;
    decode_input from;
    size_t chunk, longest;
    charset set;
    unsigned char *raw; /* bytes in another character set that are not converted yet */
    size_t raw_n;
    buffer in, out;    /* text in UTF-8, and as it is given */
    int64_t given;     /* bytes before those in `out` */
    int64_t lines;     /* taken so far */
    bool ended, begun; /* all is read; what is before the rows is taken */
    bool spans;        /* fields in quotes may hold newlines */
    int state;         /* the next line begins in it: TEXT_ROW, TEXT_QUOTED, ... */
    char newline;
    escape_rules rules;
    bool bad_character; /* behind all that is in `in` */
    char fault[80];
    int64_t fault_line;
    pthread_mutex_t lock; /* guards what follows */
    parting *partings;
    size_t parting_count, parting_room;
};

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Makes room for so many bytes behind those that are left. */
static bool buffer_reserve(buffer *b, size_t more) {
    if (b->room - b->n >= more) return true;
    const size_t left = b->n - b->at;
    if (left > 0 && b->at > 0) memmove(b->bytes, b->bytes + b->at, left);
    b->at = 0;
    b->n = left;
    if (b->room - left >= more) return true;
    char *bytes = realloc(b->bytes, left + more + left / 2);
    if (!bytes) {
        errno = ENOMEM;
        return false;
    }
    b->bytes = bytes;
    b->room = left + more + left / 2;
    return true;
}

static bool refuse(decode *d, const char *what) {
    snprintf(d->fault, sizeof d->fault, "%s", what);
    d->fault_line = d->lines + 1;
    errno = EBADMSG;
    return false;
}

/* Converts what was read, but for a part of a character. */
static bool convert(decode *d) {
    size_t used;
    bool bad;
    if (!buffer_reserve(&d->in, CHARSET_GROWTH * d->raw_n)) return false;
    char *const end = charset_convert(d->set, d->raw, d->raw_n, d->in.bytes + d->in.n, &used, &bad);
    d->in.n = (size_t)(end - d->in.bytes);
    d->raw_n -= used;
    memmove(d->raw, d->raw + used, d->raw_n);
    d->bad_character = bad || (d->ended && d->raw_n > 0);
    d->ended = d->ended || bad;
    return true;
}

/* Reads as many bytes more as are left, or a chunk. Lines may be long: so no byte is looked at
 * often. */
static bool read_more(decode *d) {
    const size_t left = d->in.n - d->in.at, size = left > d->chunk ? left : d->chunk;
    char *to = (char *)d->raw + d->raw_n;
    const size_t most = d->set == CHARSET_UTF8 ? size : d->chunk;
    if (d->set == CHARSET_UTF8) {
        if (!buffer_reserve(&d->in, most)) return false;
        to = d->in.bytes + d->in.n;
    }
    const int64_t got = d->from.read(d->from.arg, to, most);
    if (got < 0) return false;
    d->ended = (size_t)got < most;
    *(d->set == CHARSET_UTF8 ? &d->in.n : &d->raw_n) += (size_t)got;
    return d->set == CHARSET_UTF8 || convert(d);
}

/* Reads on, for a line that is not whole. */
static bool read_line(decode *d) {
    if (d->in.n - d->in.at <= d->longest) return read_more(d);
    return refuse(d, text_longest(&d->options) < TEXT_LONGEST ? "a line longer than --memory allows"
                                                              : "a line of more than 256 MiB");
}

/* ---- what is given --------------------------------------------------------------------------- */

static bool put(decode *d, const char *bytes, size_t n) {
    if (!buffer_reserve(&d->out, n)) return false;
    memcpy(d->out.bytes + d->out.n, bytes, n);
    d->out.n += n;
    return true;
}

/* Notes that there is one line more of the file, or less, before what is behind a byte that is
 * given. Without memory for it, errors name other lines. */
static void part_lines(decode *d, const char *at, int more) {
    pthread_mutex_lock(&d->lock);
    if (d->parting_count == d->parting_room) {
        const size_t room = 2 * d->parting_room + 16;
        parting *const all = realloc(d->partings, room * sizeof *all);
        d->parting_room = all ? room : d->parting_room;
        d->partings = all ? all : d->partings;
    }
    if (d->parting_count < d->parting_room)
        d->partings[d->parting_count++] = (parting){d->given + (at - d->out.bytes), more};
    pthread_mutex_unlock(&d->lock);
}

int64_t decode_lines_more(decode *d, int64_t offset) {
    int64_t more = 0;
    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < d->parting_count; i++)
        if (d->partings[i].offset < offset) more += d->partings[i].more;
    pthread_mutex_unlock(&d->lock);
    return more;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Finds the end of the line at hand, behind its newline, or of all; what escapes take is none, if
 * they count. NULL: there is nothing any more, or that failed, with errno set. */
static const char *find_line(decode *d, bool escapes) {
    size_t searched = 0;
    errno = 0;
    for (;;) {
        const char *const at = d->in.bytes + d->in.at;
        const size_t n = d->in.n - d->in.at;
        for (const char *p; searched < n && (p = memchr(at + searched, d->newline, n - searched));
             searched = (size_t)(p + 1 - at))
            if (!escapes || !escape_takes(&d->rules, at, p)) return p + 1;
        searched = n;
        if (d->ended) return n > 0 ? at + n : NULL;
        if (!read_line(d)) return NULL;
    }
}

static bool is_blank(const decode *d, const char *at, const char *end) {
    while (at < end && text_is_blank(*at, d->options.delimiter)) at++;
    return at == end || *at == d->newline;
}

static bool is_comment(const decode *d, const char *at, const char *end) {
    const char comment = d->options.dialect.comment;
    while (at < end && *at != comment && text_is_blank(*at, d->options.delimiter)) at++;
    return comment && at < end && *at == comment;
}

/* A line that is none of the text. */
static bool put_gap(decode *d, const char *end) {
    d->in.at = (size_t)(end - d->in.bytes);
    d->lines++;
    return put(d, "\r\n", 2);
}

/* Goes over the bytes of a line that was given, as far as there are quotes in it, or newlines of
 * the other kind. False: one of these is outside of quotes. */
static bool pass_line(decode *d, const char *at, const char *end) {
    const bool cr = d->newline == '\r';
    const bool quotes =
        d->spans && (d->state == TEXT_QUOTED || memchr(at, '"', (size_t)(end - at)));
    for (const char *p = at; (cr || quotes) && p < end; p++) {
        if (quotes) d->state = text_step(d->state, *p, d->options.delimiter);
        if (cr && *p == '\n' && d->state != TEXT_QUOTED) return false;
        if (cr && (*p == '\n' || *p == '\r')) part_lines(d, p, *p == '\r' ? 1 : -1);
    }
    return true;
}

/* Makes the end of a line that was given a newline, outside of quotes. A blank line becomes no gap.
 * False: it is refused. */
static bool end_line(decode *d, size_t begin) {
    char *const at = d->out.bytes + begin, *const end = d->out.bytes + d->out.n;
    const bool newline = end > at && end[-1] == d->newline;
    char *const last = newline ? end - 1 : end;
    if (!pass_line(d, at, last)) return false;
    const bool inside = d->state == TEXT_QUOTED;
    if (inside && newline && d->newline == '\r') part_lines(d, last, 1);
    if (inside) return true;
    d->state = TEXT_ROW;
    if (newline) *last = '\n';
    if (newline && last - at == 1 && *at == '\r') {
        *at = '\n';
        d->out.n--;
    }
    return true;
}

/* An escape made a newline that ends no line of the file. */
static void note_made(void *arg, const char *out) { part_lines(arg, out, -1); }

/* The lines of the file that end in [at, end). */
static int64_t count_lines(const decode *d, const char *at, const char *end) {
    int64_t lines = 0;
    for (; at < end && (at = memchr(at, d->newline, (size_t)(end - at))); at++) lines++;
    return lines;
}

/* Gives the bytes of a line, with quotes in place of escapes if there are some. */
static bool put_line(decode *d, const char *at, const char *end, bool escapes) {
    const size_t n = (size_t)(end - at);
    const char *fault = NULL;
    bool inside = d->state == TEXT_QUOTED;
    if (!escapes) return put(d, at, n);
    if (!buffer_reserve(&d->out, escape_room(n))) return false;
    char *const out = d->out.bytes + d->out.n;
    char *const to = escape_rewrite(&d->rules, at, end, out, &inside, &fault);
    if (!to) return refuse(d, fault);
    d->out.n += (size_t)(to - out);
    return true;
}

/* Gives the line at hand, which ends at `end` or, if an escape takes its newline, behind that. */
static bool take_line(decode *d, const char *end) {
    const char *at = d->in.bytes + d->in.at;
    const size_t begin = d->out.n;
    if (d->state != TEXT_QUOTED && is_comment(d, at, end)) return put_gap(d, end);
    const char escape = d->rules.escape;
    const bool escapes = escape && memchr(at, escape, (size_t)(end - at));
    if (escapes && !(end = find_line(d, true))) return false;
    at = d->in.bytes + d->in.at;
    if (!put_line(d, at, end, escapes)) return false;
    if (!end_line(d, begin))
        return refuse(d, "lines end with CR alone before it, and this one has an LF");
    d->lines += escapes ? count_lines(d, at, end) : 1;
    d->in.at = (size_t)(end - d->in.bytes);
    return true;
}

/* ---- before the rows ------------------------------------------------------------------------- */

static bool skip_lines(decode *d) {
    const int64_t skip = d->options.dialect.skip;
    for (int64_t i = 0; i < skip; i++) {
        const char *const end = find_line(d, false);
        if (!end && errno) return false;
        if (!end) {
            snprintf(d->fault, sizeof d->fault, "--skip-lines %" PRId64 ": it has %" PRId64 " %s",
                     skip, i, i == 1 ? "line" : "lines");
            errno = EBADMSG;
            return false;
        }
        if (!put_gap(d, end)) return false;
    }
    return true;
}

/* Whether quotes count in the line at hand, as far as it was read: not in what is passed over. */
static bool has_quotes(const decode *d) {
    return d->options.dialect.skip == 0 &&
           !is_comment(d, d->in.bytes + d->in.at, d->in.bytes + d->in.n);
}

static bool find_newline(decode *d) {
    while (!(d->newline = lead_newline(&d->options, d->in.bytes + d->in.at, d->in.bytes + d->in.n,
                                       d->ended, has_quotes(d)))) {
        if (d->ended) d->newline = '\n';
        if (d->ended) break;
        if (!read_line(d)) return false;
    }
    return true;
}

/* Passes over blank lines and comments before the first row. */
static const char *pass_comments(decode *d) {
    const char *end;
    while ((end = find_line(d, false)) != NULL) {
        const char *const at = d->in.bytes + d->in.at;
        const bool comment = is_comment(d, at, end);
        if (!comment && !is_blank(d, at, end)) return end;
        if (!(comment ? put_gap(d, end) : take_line(d, end))) return NULL;
    }
    return NULL;
}

/* Finds the delimiter by the first row. */
static bool find_delimiter(decode *d) {
    const char *at, *row_end;
    while ((at = d->in.bytes + d->in.at,
            row_end = lead_row_end(&d->options, at, d->in.bytes + d->in.n)) ==
               d->in.bytes + d->in.n &&
           !d->ended)
        if (!read_line(d)) return false;
    d->options.delimiter = lead_delimiter(&d->options, at, row_end);
    if (!d->options.delimiter) errno = ENOMEM;
    return d->options.delimiter != '\0';
}

static bool begin(decode *d) {
    if (!find_newline(d) || !skip_lines(d)) return false;
    const char *end = pass_comments(d);
    if (!end && errno) return false;
    const char separator =
        end && !d->options.json ? lead_separator(d->in.bytes + d->in.at, end) : '\0';
    if (separator) {
        if (!put_gap(d, end) || (!(end = pass_comments(d)) && errno)) return false;
        if (!d->options.delimiter) d->options.delimiter = separator;
    }
    if (d->options.json) d->options.delimiter = ' ';
    if (!d->options.delimiter && !find_delimiter(d)) return false;
    d->spans = text_spans_lines(d->options.delimiter);
    d->rules = (escape_rules){.escape = d->options.dialect.escape,
                              .delimiter = d->options.delimiter,
                              .newline = d->newline,
                              .spans = d->spans,
                              .made = note_made,
                              .arg = d};
    d->begun = true;
    return true;
}

/* ---- all ------------------------------------------------------------------------------------- */

decode_need decode_needs(const text_options *options, const char *bytes, size_t length,
                         bool ended) {
    const text_dialect *const x = &options->dialect;
    if (x->skip > 0 || x->comment || x->escape) return DECODE_IS_NEEDED;
    if (charset_of(x->encoding, bytes, length) != CHARSET_UTF8) return DECODE_IS_NEEDED;
    const char *const at = bytes + charset_mark(CHARSET_UTF8, bytes, length), *const end =
                                                                                  bytes + length;
    const char newline = lead_newline(options, at, end, ended, true);
    if (!newline && !ended) return DECODE_UNKNOWN;
    if (!options->json && lead_separator(at, end)) return DECODE_IS_NEEDED;
    return newline == '\r' ? DECODE_IS_NEEDED : DECODE_NOT;
}

decode *decode_open(const text_options *options, const decode_input *from, size_t chunk) {
    decode *const d = calloc(1, sizeof *d);
    if (!d) return NULL;
    d->options = *options;
    d->from = *from;
    d->chunk = chunk;
    d->longest = text_longest(options);
    d->set = charset_of(options->dialect.encoding, from->bytes, from->length);
    d->state = TEXT_ROW;
    d->ended = from->ended;
    pthread_mutex_init(&d->lock, NULL);
    const size_t mark = charset_mark(d->set, from->bytes, from->length);
    d->raw_n = from->length - mark;
    d->raw = malloc((from->length > chunk ? from->length : chunk) + 4);
    bool good = d->raw && buffer_reserve(&d->in, from->length + 1);
    if (good) memcpy(d->raw, (const char *)from->bytes + mark, d->raw_n);
    if (good && d->set != CHARSET_UTF8) good = convert(d);
    if (good && d->set == CHARSET_UTF8) {
        memcpy(d->in.bytes, d->raw, d->raw_n);
        d->in.n = d->raw_n;
        d->raw_n = 0;
    }
    if (good) return d;
    decode_close(d);
    return NULL;
}

void decode_close(decode *d) {
    if (!d) return;
    pthread_mutex_destroy(&d->lock);
    free(d->raw);
    free(d->in.bytes);
    free(d->out.bytes);
    free(d->partings);
    free(d);
}

char decode_delimiter(decode *d) { return d->begun || begin(d) ? d->options.delimiter : '\0'; }

/* Makes more to give, if there is more. */
static bool make_more(decode *d) {
    d->given += (int64_t)d->out.n;
    d->out.at = d->out.n = 0;
    while (d->out.n < d->chunk) {
        const char *const end = find_line(d, false);
        if (!end && errno) return false;
        if (!end && d->bad_character) return refuse(d, "no text in UTF-16: half a character");
        if (!end) return true;
        if (!take_line(d, end)) return false;
    }
    return true;
}

int64_t decode_read(decode *d, void *to, size_t size) {
    size_t n = 0;
    if (!d->begun && !begin(d)) return -1;
    while (n < size) {
        if (d->out.at == d->out.n && !make_more(d)) return -1;
        const size_t left = d->out.n - d->out.at, some = left < size - n ? left : size - n;
        if (some == 0) break;
        memcpy((char *)to + n, d->out.bytes + d->out.at, some);
        d->out.at += some;
        n += some;
    }
    return (int64_t)n;
}

const char *decode_fault(const decode *d, int64_t *line) {
    *line = d->fault_line;
    return *d->fault ? d->fault : NULL;
}
