/* Any bytes at all as text: the reader stays inside them, agrees with itself however the text is
 * cut, and with the C library on what the numbers are.
 *
 * The first bytes choose the options, the rest is the text. */
#define _GNU_SOURCE /* memfd_create */
#include "cli/input/text.h"
#include "cli/text/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Bytes of options: of fields, of keys and the dialect, of how integers are held. */
enum { FIELDS, DIALECT, UNITS, CHOICES };

static void require(bool condition) {
    if (!condition) abort();
}

/* Something is said (names in it may hold anything: the report cleans them), of the right place. */
static void check_refusal(const text_refusal *r, const char *text, int64_t size) {
    const char *what = r->error.what;
    require(memchr(what, '\0', sizeof r->error.what) != NULL && *what);
    require(memchr(r->error.hint, '\0', sizeof r->error.hint) != NULL);
    if (!r->error.at) return;
    require(r->offset >= 0 && r->offset <= size);
    int64_t lines = 1;
    for (int64_t i = 0; i < r->offset; i++) lines += text[i] == '\n';
    require(r->line == lines);
}

/* The C library reads the same number from a token of digits. */
static void check_double(double value, double other) {
    require(memcmp(&value, &other, sizeof value) == 0 || (value != value && other != other));
}

static void check_token(const char *text, size_t size) {
    char copy[64 + TEXT_SLACK + 1];
    const size_t n = size < 64 ? size : 64;
    memset(copy, '\n', sizeof copy);
    memcpy(copy, text, n);
    text_number slow, fast;
    const char *end = text_scan(copy, &fast);
    const size_t length = end ? (size_t)(end - copy) : n;
    require(length <= n);
    const bool parsed = text_parse_token(copy, length, &slow);
    require(parsed || !end);
    if (!parsed) return;
    copy[length] = '\0';
    check_double(text_double(&slow), strtod(copy, NULL));
    if (end) check_double(text_double(&fast), text_double(&slow));
    const uint32_t bits = (uint32_t)text_round(&slow, BF_F32);
    float narrow;
    memcpy(&narrow, &bits, sizeof narrow);
    check_double(narrow, strtof(copy, NULL));
}

/* A column reads the times that the library reads, and no other. */
static void check_time(const char *text, size_t size) {
    char copy[64 + TEXT_SLACK] = "";
    const size_t line = strcspn(memcpy(copy, text, size < 64 ? size : 64), "\n");
    const size_t n = line < 64 ? line : 64;
    int64_t units = 0;
    bf_time time;
    const bool is = bf_time_parse(copy, n, &time);
    text_column c = {.integers = &units, .time = is ? time.kind : BF_TIME_DATE, .digits = 38};
    c.scale = is ? time.scale : 0;
    require(text_store_time(&c, 0, copy, copy + n) == is);
    require(!is || (units == time.units && c.seen == time.kind));
}

/* All rows of a text, read in parts of so many bytes. */
typedef struct reading {
    double *numbers; /* the numbers of the first wanted column */
    int64_t n;
    bool refused;
} reading;

/* A digest of what row i holds besides numbers. */
static double digest(const text_rows *rows, int64_t i) {
    uint32_t hash = 2166136261;
    for (int k = 0; k < rows->count; k++) {
        const text_column *c = &rows->columns[k];
        const int64_t *offsets = c->strings.offsets;
        hash = (hash ^ (!c->valid || text_has_bit(c->valid, i))) * 16777619;
        for (int64_t at = offsets ? offsets[i] : 0; offsets && at < offsets[i + 1]; at++)
            hash = (hash ^ (unsigned char)c->strings.bytes[at]) * 16777619;
    }
    return hash;
}

/* units * 10^-scale, as the C library reads it. */
static double number_of(text_i128 units, int scale) {
    char text[64], *at = text + 48;
    snprintf(at, 16, "e-%d", scale);
    unsigned __int128 left = units < 0 ? 0 - (unsigned __int128)units : (unsigned __int128)units;
    do *--at = (char)('0' + (int)(left % 10));
    while ((left /= 10) > 0);
    if (units < 0) *--at = '-';
    return strtod(at, NULL);
}

/* Integers in units of 10^-scale are the numbers that were read, if all are held. */
static void check_units(const text_column *c, int64_t n) {
    const text_i128 *const wide = c->wide;
    const int64_t *const narrow = c->integers;
    const unsigned can = c->is_wide ? CAN_I128 : CAN_I64;
    const bool natural = c->integers && c->floats && c->can & CAN_U64;
    if (c->time) return;
    for (int64_t i = 0; natural && i < n; i++)
        require((double)((const uint64_t *)c->integers)[i] == ((const double *)c->floats)[i]);
    const bool held =
        (c->is_wide ? c->wide : c->integers) && c->can & can && c->deepest <= c->scale;
    for (int64_t i = 0; held && c->floats && i < n; i++)
        require(number_of(c->is_wide ? wide[i] : narrow[i], c->scale) ==
                ((const double *)c->floats)[i]);
}

static void append(reading *x, const text_input *t, const text_rows *rows, int64_t size) {
    const int last = text_candidates(&t->layout) - 1;
    require(x->n + rows->n <= size);
    if (rows->n == 0) return;
    for (int k = 0; k < rows->count && t->layout.dtype == BF_NONE; k++)
        if (text_has_numbers(rows, &t->layout, k)) check_units(&rows->columns[k], rows->n);
    if (rows->special)
        for (int64_t i = 0; i < rows->n; i++) x->numbers[x->n + i] = digest(rows, i);
    else if (text_candidate(&t->layout, last) == BF_F64)
        memcpy(x->numbers + x->n, text_rows_numbers(rows, &t->layout, 0, last),
               (size_t)rows->n * sizeof *x->numbers);
    else
        memset(x->numbers + x->n, 0, (size_t)rows->n * sizeof *x->numbers);
    x->n += rows->n;
}

/* Takes a part of a file as a thread that knows where its rows begin, and as one that does not. */
static void take_part(text_input *t, text_piece *piece, int64_t part, int64_t *row) {
    text_piece guess = {.buffer = NULL};
    require(text_take_part(t, &guess, part, -1) == TEXT_OK);
    require(text_take_part(t, piece, part, *row) == TEXT_OK);
    require(text_follows(piece, *row));
    if (guess.next >= 0 && text_follows(&guess, *row)) {
        const size_t n = (size_t)(piece->end - piece->begin);
        require(guess.end - guess.begin == piece->end - piece->begin &&
                guess.offset == piece->offset && memcmp(guess.begin, piece->begin, n) == 0);
        require(guess.fault.what == piece->fault.what && guess.next == piece->next);
    }
    *row = piece->next;
    free(guess.buffer);
}

static unsigned char form_of(const text_layout *l, int k) {
    return TEXT_INTEGERS | TEXT_FLOATS | (l->kinds[k] != TEXT_NUMBERS ? TEXT_STRINGS : 0);
}

/* Reads all rows: of a file in parts of `step` bytes, of a stream (step 0) as they come. */
static reading read_all(text_input *t, int64_t step, text_selection *selection, uint8_t units,
                        const char *text, int64_t size) {
    static unsigned char forms[1 << 17];
    text_rows rows;
    text_piece piece = {.buffer = NULL};
    text_refusal refusal = {.line = 0};
    reading x = {malloc((size_t)(size + 1) * sizeof *x.numbers), 0, false};
    for (int k = 0; k < t->layout.columns && k < (int)sizeof forms; k++)
        forms[k] = form_of(&t->layout, k);
    require(x.numbers != NULL && text_rows_open(&rows, &t->layout, forms));
    t->layout.digits = BF_SCALE_MOST_I128;
    for (int k = 0; k < t->layout.columns; k++) {
        rows.columns[k].is_wide = units >= 128;
        rows.columns[k].scale = units % 64 % (BF_SCALE_MOST_I128 + 1);
        if (units & 64 && t->layout.dtype == BF_NONE)
            rows.columns[k].time = BF_TIME_LOCAL + (units & 1);
    }
    if (step > 0) {
        free(t->first.buffer); /* it is of another size */
        t->first = (text_piece){.buffer = NULL};
        t->piece = (size_t)step;
    }
    int64_t row = t->begin;
    for (int64_t part = 0; !x.refused; part++) {
        if (step > 0 ? part == text_parts(t) : part > 0 && t->ended) break;
        if (step > 0)
            take_part(t, &piece, part, &row);
        else
            require(text_take_next(t, &piece) == TEXT_OK);
        const text_status st = text_read_piece(t, &piece, selection, &rows, &refusal.error);
        require(st == TEXT_OK || st == TEXT_REFUSED);
        x.refused = st == TEXT_REFUSED;
        if (x.refused) text_place_refusal(t, &piece, &refusal);
        if (x.refused)
            check_refusal(&refusal, text, size);
        else
            append(&x, t, &rows, size);
    }
    free(piece.buffer);
    text_rows_free(&rows);
    return x;
}

/* Reads the text as a stream. */
static void check_stream(const text_options *options, int file, const reading *all, uint8_t units,
                         const char *text, int64_t size) {
    text_input input;
    text_refusal refusal = {.line = 0};
    tape from;
    require(lseek(file, 0, SEEK_SET) == 0);
    tape_open(&from, file, NULL);
    require(text_open_stream(&input, options, &from, "", 0, 4096, &refusal) == TEXT_OK);
    const reading x = read_all(&input, 0, NULL, units, text, size);
    require(x.refused == all->refused && (x.n == all->n || x.refused));
    for (int64_t k = 0; k < x.n && !x.refused; k++) check_double(x.numbers[k], all->numbers[k]);
    free(x.numbers);
    text_close(&input);
    tape_close(&from);
}

/* The bytes as a text in a dialect, which is decoded. All of them can be read, or one row or byte
 * is refused. */
static void check_decoded(const text_options *plain, uint8_t choice, int file) {
    text_options options = *plain;
    text_input input = {.fd = -1};
    text_refusal refusal = {.line = 0};
    text_piece piece = {.buffer = NULL};
    tape from;
    options.gaps = true;
    options.dialect = (text_dialect){.encoding = (enum text_encoding)(choice % 4),
                                     .skip = choice / 4 % 2,
                                     .comment = choice / 8 % 2 ? '#' : '\0',
                                     .escape = choice / 16 % 2 && !options.json ? '\\' : '\0'};
    require(lseek(file, 0, SEEK_SET) == 0);
    tape_open(&from, file, NULL);
    require(tape_decode(&from, &options, "", 0, false, NULL));
    options.delimiter = decode_delimiter(from.decode);
    text_status st = options.delimiter
                         ? text_open_stream(&input, &options, &from, "", 0, 4096, &refusal)
                         : TEXT_FAILED;
    while (st == TEXT_OK && !(input.ended && !input.first.buffer)) {
        text_rows rows;
        static unsigned char forms[1 << 17];
        for (int k = 0; k < input.layout.columns && k < (int)sizeof forms; k++)
            forms[k] = form_of(&input.layout, k);
        require(text_rows_open(&rows, &input.layout, forms));
        st = text_take_next(&input, &piece);
        if (st == TEXT_OK) st = text_read_piece(&input, &piece, NULL, &rows, &refusal.error);
        if (st == TEXT_REFUSED) text_place_refusal(&input, &piece, &refusal);
        text_rows_free(&rows);
    }
    int64_t line;
    require(st != TEXT_FAILED || decode_fault(from.decode, &line));
    require(st != TEXT_REFUSED || *refusal.error.what);
    require(st != TEXT_REFUSED || !refusal.error.at || refusal.line > 0);
    free(piece.buffer);
    text_close(&input);
    tape_close(&from);
}

/* However it is cut, the text has the same rows; those selected are some of them. */
static void check_parts(text_input *t, const text_options *options, uint8_t units, const char *text,
                        int64_t size) {
    const int64_t steps[] = {size + 1, size / 2 + 1, 1};
    const reading all = read_all(t, steps[0], NULL, units, text, size);
    for (int i = 1; i < (size < 4096 ? 3 : 2); i++) {
        const reading x = read_all(t, steps[i], NULL, units, text, size);
        require(x.refused == all.refused && (x.n == all.n || x.refused));
        for (int64_t k = 0; k < x.n && !x.refused; k++) check_double(x.numbers[k], all.numbers[k]);
        free(x.numbers);
    }
    check_stream(options, t->fd, &all, units, text, size);
    if (!all.refused && all.n > 0) {
        text_selection some = {all.n / 2, 1};
        const reading x = read_all(t, steps[1], &some, units, text, size);
        require(!x.refused && x.n == 1 && some.skip == 0 && some.left == 0);
        check_double(x.numbers[0], all.numbers[all.n / 2]);
        free(x.numbers);
    }
    free(all.numbers);
}

static text_options options_of(uint8_t choice, uint8_t keys) {
    static const char *const columns[] = {NULL, "1", "2", "a", "2,1", "3,b,1", NULL, "4"};
    static const char delimiters[] = {'\0', ',', ' ', '\t'};
    static const bf_dtype dtypes[] = {BF_NONE, BF_F64, BF_F16, BF_I16};
    const bool strings = choice >= 128, json = strings && choice / 8 % 4 == 3;
    return (text_options){
        .columns = columns[choice % 8],
        .strings = strings && choice / 8 % 2 ? "2,1" : NULL,
        .keys = strings && choice / 16 % 2 ? "1" : NULL,
        .text = keys / 32 % 4 == 1 ? "1" : NULL,
        .number = keys / 32 % 4 == 2 ? "1,2" : NULL,
        .counted = keys / 32 % 4 >= 2,
        .keyed = keys / 32 % 4 == 3,
        .nulls = strings ? "x,7" : NULL,
        .skip_nulls = strings && choice / 32 % 2,
        .lax = strings && choice / 64 % 2,
        .delimiter = delimiters[choice / 8 % 4],
        .header = choice % 8 == 6,
        .table = choice / 8 % 2 == 1,
        .json = json,
        .style = {strings && !json ? "_" : NULL, json ? ',' : '\0', strings ? 'd' : '\0', strings},
        .dtype = dtypes[choice / 32 % 4]};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size <= CHOICES || size > 65536) return 0;
    const text_options options = options_of(data[FIELDS], data[DIALECT]);
    const int64_t length = (int64_t)size - CHOICES;
    const char *text = (const char *)data + CHOICES;
    const int file = memfd_create("text", MFD_CLOEXEC);
    require(file >= 0 && write(file, text, (size_t)length) == (ssize_t)length);
    check_token(text, (size_t)length);
    check_time(text, (size_t)length);
    text_input input;
    text_refusal refusal = {.line = 0};
    const text_status st = text_open_file(&input, &options, file, 0, length, 4096, &refusal);
    require(st == TEXT_OK || st == TEXT_REFUSED);
    if (st == TEXT_OK)
        check_parts(&input, &options, data[UNITS], text, length);
    else
        check_refusal(&refusal, text, length);
    text_close(&input);
    check_decoded(&options, data[DIALECT], file);
    close(file);
    return 0;
}
