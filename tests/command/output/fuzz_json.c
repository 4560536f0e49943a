/* Any bytes at all as a line of JSON: the reader takes it if, and only if, it is an object as RFC
 * 8259 has it, or with NaN and infinities, and finds in it the value that a plain parser finds. */
#define _GNU_SOURCE /* memfd_create */
#include "cli/input/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) abort();
}

enum { LONGEST = 4096, DEEPEST = 512, PIECE = 1 << 14 };

/* ---- a plain parser -------------------------------------------------------------------------- */

/* What is left of the line; at the end there is a newline. NULL: it is not JSON. */
typedef struct parser {
    const char *at;
    char text[LONGEST + 1]; /* the text of the last value, if it is no object and no array */
    size_t length;
    bool nested, null; /* what it is */
} parser;

static void pass_blanks(parser *p) { p->at += strspn(p->at, " \t\r"); }

static bool take(parser *p, const char *word) {
    const size_t n = strlen(word);
    if (strncmp(p->at, word, n) != 0) return false;
    p->at += n;
    return true;
}

static bool fail(parser *p) {
    p->at = NULL;
    return false;
}

static void put_character(parser *p, unsigned c) {
    unsigned char bytes[4] = {(unsigned char)c};
    int n = 1;
    if (c >= 0x80) {
        n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        for (int i = n - 1; i > 0; i--, c >>= 6) bytes[i] = (unsigned char)(0x80 | (c & 0x3f));
        bytes[0] = (unsigned char)((0xf00 >> n & 0xff) | c);
    }
    memcpy(p->text + p->length, bytes, (size_t)n);
    p->length += (size_t)n;
}

static bool take_unit(parser *p, unsigned *unit) {
    *unit = 0;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *const digit = *p->at ? strchr(digits, *p->at) : NULL;
        if (!digit) return fail(p);
        *unit = *unit << 4 | (unsigned)((digit - digits) & 15);
        p->at++;
    }
    return true;
}

static bool take_escape(parser *p) {
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char letter = *p->at++;
    const char *const found = letter ? strchr(letters, letter) : NULL;
    unsigned c, low;
    if (found) put_character(p, (unsigned char)meant[found - letters]);
    if (found) return true;
    if (letter != 'u' || !take_unit(p, &c)) return fail(p);
    if (c >= 0xdc00 && c <= 0xdfff) return fail(p);
    if (c >= 0xd800 && c <= 0xdbff) {
        if (!take(p, "\\u") || !take_unit(p, &low) || low < 0xdc00 || low > 0xdfff) return fail(p);
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    put_character(p, c);
    return true;
}

static bool take_string(parser *p) {
    p->length = 0;
    if (!take(p, "\"")) return fail(p);
    while (*p->at != '"') {
        if ((unsigned char)*p->at < 0x20) return fail(p);
        if (*p->at != '\\')
            p->text[p->length++] = *p->at++;
        else if (p->at++, !take_escape(p))
            return false;
    }
    p->at++;
    return true;
}

static bool take_digits(parser *p) {
    const size_t n = strspn(p->at, "0123456789");
    p->at += n;
    return n > 0 || fail(p);
}

static bool take_number(parser *p) {
    take(p, "-");
    if (!take(p, "0") && !take_digits(p)) return false;
    if (take(p, ".") && !take_digits(p)) return false;
    if (!take(p, "e") && !take(p, "E")) return true;
    if (!take(p, "+")) take(p, "-");
    return take_digits(p);
}

static bool take_value(parser *p, int depth);

/* The members of an object or an array, behind its bracket. */
static bool take_members(parser *p, char closing, int depth) {
    pass_blanks(p);
    for (bool first = true; *p->at != closing; first = false) {
        if (!first && !take(p, ",")) return fail(p);
        pass_blanks(p);
        if (closing == '}' && (!take_string(p) || (pass_blanks(p), !take(p, ":")))) return fail(p);
        pass_blanks(p);
        if (!take_value(p, depth)) return false;
        pass_blanks(p);
    }
    p->at++;
    return true;
}

static bool take_value(parser *p, int depth) {
    static const char *const words[] = {"true", "false", "NaN", "Infinity", "-Infinity"};
    const char *const begin = p->at;
    const bool object = *begin == '{', nested = object || *begin == '[';
    if (nested && depth == DEEPEST) return fail(p);
    p->at += nested;
    if (nested && !take_members(p, object ? '}' : ']', depth + 1)) return false;
    p->nested = nested;
    p->null = !nested && take(p, "null");
    if (nested || p->null) return true;
    if (*begin == '"') return take_string(p);
    bool word = false;
    for (int i = 0; i < 5 && !word; i++) word = take(p, words[i]);
    if (!word && !take_number(p)) return false;
    p->length = (size_t)(p->at - begin);
    memcpy(p->text, begin, p->length);
    return true;
}

/* What the line says of the key "a". */
typedef struct found {
    bool refused, row, value;
    char text[LONGEST + 1];
    size_t length;
} found;

static void find_value(const char *line, found *f) {
    static parser p;
    p.at = line;
    *f = (found){.refused = true};
    pass_blanks(&p);
    if (*p.at == '\n') f->refused = false;
    f->row = *p.at == '{';
    if (!f->row) return;
    p.at++;
    pass_blanks(&p);
    int times = 0;
    for (bool first = true; *p.at != '}'; first = false) {
        if (!first && !take(&p, ",")) return;
        pass_blanks(&p);
        if (!take_string(&p)) return;
        const bool wanted = p.length == 1 && *p.text == 'a';
        pass_blanks(&p);
        if (!take(&p, ":")) return;
        pass_blanks(&p);
        if (!take_value(&p, 0) || (wanted && (p.nested || ++times > 1))) return;
        f->value = f->value || (wanted && !p.null);
        if (wanted && !p.null) memcpy(f->text, p.text, f->length = p.length);
        pass_blanks(&p);
    }
    p.at++;
    pass_blanks(&p);
    f->refused = *p.at != '\n';
}

/* ---- the reader ------------------------------------------------------------------------------ */

static void check_rows(const text_rows *rows, const found *f) {
    const text_column *c = rows->columns;
    require(rows->n == 1 + f->row);
    if (!f->row) return;
    const int64_t begin = c->strings.offsets[1], n = c->strings.offsets[2] - begin;
    require((!c->valid || text_has_bit(c->valid, 1)) == f->value);
    require(!f->value ||
            ((size_t)n == f->length && memcmp(c->strings.bytes + begin, f->text, f->length) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char first[] = "{\"a\":\"x\"}\n";
    static const unsigned char forms[] = {TEXT_STRINGS};
    static found expected;
    char text[sizeof first + LONGEST + 1];
    const text_options options = {.strings = "a", .json = true};
    if (size > LONGEST || memchr(data, '\n', size) || memchr(data, '\0', size)) return 0;
    memcpy(text, first, sizeof first - 1);
    memcpy(text + sizeof first - 1, data, size);
    const size_t length = sizeof first - 1 + size;
    memcpy(text + length, "\n", 2);
    const int file = memfd_create("json", MFD_CLOEXEC);
    require(file >= 0 && write(file, text, length + 1) == (ssize_t)(length + 1));
    text_input input;
    text_refusal refusal = {.line = 0};
    text_piece piece = {.buffer = NULL};
    text_rows rows;
    find_value(text + sizeof first - 1, &expected);
    require(text_open_file(&input, &options, file, 0, (int64_t)length + 1, PIECE, &refusal) ==
            TEXT_OK);
    require(text_rows_open(&rows, &input.layout, forms));
    require(text_take_part(&input, &piece, 0, input.begin) == TEXT_OK);
    const text_status st = text_read_piece(&input, &piece, NULL, &rows, &refusal.error);
    require(st == (expected.refused ? TEXT_REFUSED : TEXT_OK));
    if (st == TEXT_OK) check_rows(&rows, &expected);
    text_rows_free(&rows);
    free(piece.buffer);
    text_close(&input);
    close(file);
    return 0;
}
