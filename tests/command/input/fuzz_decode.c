/* Any bytes at all as a text to be decoded: however they are read, the same text comes of them, and
 * its lines are those of the file.
 *
 * The first two bytes choose the options, the rest is the text. */
#include "cli/decode/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) abort();
}

/* What is left of the data. */
typedef struct bytes {
    const char *at;
    size_t n;
} bytes;

static int64_t read_bytes(void *arg, void *buffer, size_t size) {
    bytes *b = arg;
    const size_t n = size < b->n ? size : b->n;
    memcpy(buffer, b->at, n);
    b->at += n;
    b->n -= n;
    return (int64_t)n;
}

/* All that was decoded, or why it was refused. */
typedef struct decoded {
    char *text, delimiter;
    size_t n;
    int64_t line, more; /* the line that is refused; lines that have no newline */
    char fault[80];
} decoded;

/* Decodes in chunks, of which the first was read before, and takes so many bytes at a time. */
static decoded decode_all(const text_options *options, bytes b, size_t lead, size_t chunk,
                          size_t step, size_t room) {
    decoded x = {.text = malloc(room + step)};
    char *const first = malloc(lead + 1);
    require(x.text && first);
    lead = (size_t)read_bytes(&b, first, lead);
    const decode_input from = {read_bytes, &b, first, lead, b.n == 0};
    decode *const d = decode_open(options, &from, chunk);
    require(d != NULL);
    int64_t got = -1;
    x.delimiter = decode_delimiter(d);
    if (x.delimiter) {
        while ((got = decode_read(d, x.text + x.n, step)) == (int64_t)step) {
            x.n += (size_t)got;
            require(x.n <= room);
        }
    }
    if (got >= 0) x.n += (size_t)got;
    const char *const fault = decode_fault(d, &x.line);
    require((got < 0) == (fault != NULL) && (got >= 0 || errno == EBADMSG));
    if (fault) strncpy(x.fault, fault, sizeof x.fault - 1);
    x.more = decode_lines_more(d, INT64_MAX);
    decode_close(d);
    free(first);
    return x;
}

static int64_t count(const char *at, size_t n, char c) {
    int64_t k = 0;
    for (size_t i = 0; i < n; i++) k += at[i] == c;
    return k;
}

/* Each line has one newline, or is noted; a comment that ends the text gets one. */
static void check_lines(const decoded *x, const char *text, size_t n) {
    const int64_t lines = count(x->text, x->n, '\n') + x->more;
    const int64_t lf = lines - count(text, n, '\n'), cr = lines - count(text, n, '\r');
    require(lf == 0 || lf == 1 || cr == 0 || cr == 1);
}

static text_options options_of(const uint8_t choice[2]) {
    static const char delimiters[] = {'\0', ',', ' ', '\t'}, comments[] = {'\0', '#'},
                      escapes[] = {'\0', '\\', '^', '\0'};
    const text_dialect dialect = {.encoding = (enum text_encoding)(choice[0] % 4),
                                  .skip = choice[0] / 4 % 4 == 3 ? 2 : 0,
                                  .comment = comments[choice[0] / 16 % 2],
                                  .escape = escapes[choice[0] / 32 % 4]};
    return (text_options){.dialect = dialect,
                          .delimiter = delimiters[choice[1] % 4],
                          .table = choice[1] / 4 % 2,
                          .json = choice[1] / 8 % 4 == 3,
                          .longest = choice[1] >= 128 ? 100 : 0};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2 || size > 65536) return 0;
    const text_options options = options_of(data);
    const bytes b = {(const char *)data + 2, size - 2};
    const size_t room = 4 * size + 16;
    const bool ended = true;
    if (decode_needs(&options, b.at, b.n, ended) == DECODE_UNKNOWN) abort();
    const decoded whole = decode_all(&options, b, b.n, 4096, room, room);
    const size_t steps[] = {1, 7, 1000};
    for (int i = 0; i < 3; i++) {
        /* The order of UTF-16 is guessed by what was read before. */
        const size_t lead = options.dialect.encoding == TEXT_UTF16 ? b.n : 5 * steps[i];
        const decoded x = decode_all(&options, b, lead, steps[i] + 3, steps[i], room);
        /* A line that is too long is found when it was read. */
        const bool limited = options.longest > 0 && (*whole.fault || *x.fault);
        require(limited || (strcmp(x.fault, whole.fault) == 0 && x.line == whole.line));
        require(*x.fault || *whole.fault ||
                (x.n == whole.n && memcmp(x.text, whole.text, x.n) == 0 &&
                 x.delimiter == whole.delimiter && x.more == whole.more));
        free(x.text);
    }
    const enum text_encoding encoding = options.dialect.encoding;
    const bool plain = encoding == TEXT_UTF8 || encoding == TEXT_LATIN1;
    if (plain && !*whole.fault) check_lines(&whole, b.at, b.n);
    free(whole.text);
    return 0;
}
