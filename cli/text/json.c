#include "text/json.h"

#include "text/store.h"
#include "text/typed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Objects and arrays inside of each other. */
enum { DEPTH = 512 };

/* ---- errors ---------------------------------------------------------------------------------- */

/* Refuses what is at p. Returns NULL. */
static const char *expected(const char *what, const char *p, text_error *e) {
    char shown[64];
    text_quote(shown, p, p + 1);
    e->at = p;
    if (*p == '\n' || *p == '\r')
        snprintf(e->what, sizeof e->what, "not JSON: expected %s, and the line ends", what);
    else if ((unsigned char)*p >= 0x80)
        snprintf(e->what, sizeof e->what, "not JSON: expected %s", what);
    else
        snprintf(e->what, sizeof e->what, "not JSON: expected %s, not '%s'", what, shown);
    return NULL;
}

static const char *skip(const char *p) { return text_skip_blanks(p, ' '); }

/* ---- strings --------------------------------------------------------------------------------- */

/* Nonzero in each byte that is c; only the lowest counts. */
static inline uint64_t bytes_equal(uint64_t bytes, unsigned char c) {
    const uint64_t each = 0x0101010101010101u, other = bytes ^ each * c;
    return (other - each) & ~other & each << 7;
}

/* The first quote, backslash or control character from p on. */
static const char *string_stop(const char *p) {
    const uint64_t each = 0x0101010101010101u;
    for (;; p += 8) {
        const uint64_t bytes = text_eight_bytes(p);
        const uint64_t control = (bytes - each * 0x20) & ~bytes & each << 7;
        const uint64_t found = control | bytes_equal(bytes, '"') | bytes_equal(bytes, '\\');
        if (found) return p + __builtin_ctzll(found) / 8;
    }
}

/* The number that four hexadecimal digits mean; -1: they are none. */
static int hex_of(const char *p) {
    int value = 0;
    for (int i = 0; i < 4; i++) {
        const char c = p[i], lower = (char)(c | 0x20);
        const bool digit = c >= '0' && c <= '9', letter = lower >= 'a' && lower <= 'f';
        if (!digit && !letter) return -1;
        value = value * 16 + (digit ? c - '0' : lower - 'a' + 10);
    }
    return value;
}

/* The character of an escape \uXXXX, or of two of them that are a pair of surrogates, at the digits
 * of the first. *next is behind it. -1: it is none. */
static int32_t unicode_of(const char *p, const char **next) {
    const int high = hex_of(p);
    *next = p + 4;
    if (high < 0xd800 || high > 0xdfff) return high;
    const int low = high <= 0xdbff && p[4] == '\\' && p[5] == 'u' ? hex_of(p + 6) : -1;
    *next = p + 10;
    return low >= 0xdc00 && low <= 0xdfff ? 0x10000 + (high - 0xd800) * 0x400 + (low - 0xdc00) : -1;
}

/* The end of the escape at p, a backslash. */
static const char *pass_escape(const char *p, text_error *e) {
    const char *next;
    if (p[1] != 'u')
        return p[1] != '\0' && strchr("\"\\/bfnrt", p[1])
                   ? p + 2
                   : expected("one of \"\\/bfnrtu behind a backslash", p + 1, e);
    if (hex_of(p + 2) < 0) return expected("four hexadecimal digits behind \\u", p + 2, e);
    if (unicode_of(p + 2, &next) >= 0) return next;
    return expected("a pair of surrogates", p, e);
}

/* A string without its quotes. */
typedef struct string {
    const char *at, *end;
    bool escapes;
} string;

/* Takes the string at p, a quote, and returns its end. */
static const char *take_string(const char *p, string *s, text_error *e) {
    *s = (string){p + 1, p + 1, false};
    for (;;) {
        s->end = string_stop(s->end);
        if (*s->end == '"') return s->end + 1;
        if (*s->end != '\\') return expected("the end of a string", s->end, e);
        s->escapes = true;
        s->end = pass_escape(s->end, e);
        if (!s->end) return NULL;
    }
}

/* Writes a character in UTF-8, in no more bytes than its escape has. */
static char *put_utf8(char *out, uint32_t c) {
    const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    *out++ = (char)(first[more] | c >> 6 * more);
    for (int i = more - 1; i >= 0; i--) *out++ = (char)(0x80 | (c >> 6 * i & 0x3f));
    return out;
}

/* Puts what its escapes mean in the place of a string of n bytes. Returns its end. */
static char *unescape(char *at, size_t n) {
    static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
    char *out = at;
    for (const char *p = at, *const end = at + n; p < end;) {
        if (*p != '\\') {
            *out++ = *p++;
        } else if (p[1] == 'u') {
            const char *next;
            out = put_utf8(out, (uint32_t)unicode_of(p + 2, &next));
            p = next;
        } else {
            const char *const letter = strchr(letters, p[1]);
            *out++ = letter ? meant[letter - letters] : p[1];
            p += 2;
        }
    }
    return out;
}

/* A copy, which a NUL ends; NULL: there is no memory. */
static char *copy_string(const string *s, size_t *length) {
    *length = (size_t)(s->end - s->at);
    char *copy = malloc(*length + 1);
    if (!copy) return NULL;
    memcpy(copy, s->at, *length);
    if (s->escapes) *length = (size_t)(unescape(copy, *length) - copy);
    copy[*length] = '\0';
    return copy;
}

/* ---- values ---------------------------------------------------------------------------------- */

static const char *pass_digits(const char *p, text_error *e) {
    uint64_t value = 0;
    const char *const end = text_digits(p, &value);
    return end > p ? end : expected("a digit", p, e);
}

/* The end of the number at p. */
static const char *pass_number(const char *p, text_error *e) {
    p += *p == '-';
    const bool zero = *p == '0';
    p = zero ? p + 1 : pass_digits(p, e);
    if (p && *p == '.') p = pass_digits(p + 1, e);
    if (p && (*p | 0x20) == 'e') p = pass_digits(p + (p[1] == '-' || p[1] == '+' ? 2 : 1), e);
    return p;
}

/* null, true and false; and the numbers that Python writes though JSON has them not. */
static const struct word {
    const char *text;
    size_t length;
    enum kind { NULL_VALUE, TRUE_VALUE, FALSE_VALUE, NUMBER, STRING, NESTED } kind;
} words[] = {{"null", 4, NULL_VALUE}, {"true", 4, TRUE_VALUE}, {"false", 5, FALSE_VALUE},
             {"Infinity", 8, NUMBER}, {"NaN", 3, NUMBER},      {"-Infinity", 9, NUMBER}};

static const struct word *word_at(const char *p) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(p, words[i].text, words[i].length) == 0) return &words[i];
    return NULL;
}

/* A value that is no object or array; of a string what is between the quotes. */
typedef struct scalar {
    enum kind kind;
    string text;
} scalar;

/* Takes the value at p and returns its end. */
static const char *take_scalar(const char *p, scalar *s, text_error *e) {
    const char *end = p;
    s->kind = STRING;
    if (*p == '"') return take_string(p, &s->text, e);
    const bool number = (*p >= '0' && *p <= '9') || (*p == '-' && p[1] != 'I');
    const struct word *const w = number ? NULL : word_at(p);
    if (number)
        end = pass_number(p, e);
    else
        end = w ? p + w->length : expected("a value", p, e);
    s->kind = w ? w->kind : NUMBER;
    s->text = (string){p, end, false};
    return end;
}

/* The value behind the key at p. */
static const char *pass_key(const char *p, string *key, text_error *e) {
    if (*p != '"') return expected("a key in quotes", p, e);
    p = take_string(p, key, e);
    if (!p) return NULL;
    p = skip(p);
    return *p == ':' ? skip(p + 1) : expected("':' behind a key", p, e);
}

static char closing(char open) { return open == '{' ? '}' : ']'; }

/* Behind a value in so many objects and arrays: the next value, or the end of them all. */
static const char *pass_ends(const char *p, const char *open, int *depth, text_error *e) {
    string key;
    while (*depth > 0) {
        const char last = open[*depth - 1];
        p = skip(p);
        if (*p == ',') {
            p = skip(p + 1);
            return last == '{' ? pass_key(p, &key, e) : p;
        }
        if (*p != closing(last)) return expected(last == '{' ? "',' or '}'" : "',' or ']'", p, e);
        p++;
        --*depth;
    }
    return p;
}

/* The end of the object or array at p. */
static const char *pass_nested(const char *p, text_error *e) {
    char open[DEPTH];
    int depth = 0;
    do {
        scalar s;
        string key;
        if (*p != '{' && *p != '[') {
            p = take_scalar(p, &s, e);
        } else if (depth == DEPTH) {
            e->at = p;
            snprintf(e->what, sizeof e->what, "more than %d objects and arrays in each other",
                     DEPTH);
            return NULL;
        } else {
            const char last = open[depth++] = *p;
            p = skip(p + 1);
            if (*p != closing(last)) {
                p = last == '{' ? pass_key(p, &key, e) : p;
                continue;
            }
            depth--;
            p++;
        }
        if (p) p = pass_ends(p, open, &depth, e);
    } while (p && depth > 0);
    return p;
}

static const char *take_value(const char *p, scalar *s, text_error *e) {
    if (*p != '{' && *p != '[') return take_scalar(p, s, e);
    s->kind = NESTED;
    const char *const end = pass_nested(p, e);
    s->text = (string){p, end, false};
    return end;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* A bool or number as typed.h has it; its bytes. */
static size_t put_typed(const scalar *s, char *to) {
    text_number n;
    if (s->kind != NUMBER) return typed_put_bool(to, s->kind == TRUE_VALUE);
    const char *const at = s->text.at, *const end = s->text.end;
    if (text_scan(at, &n) != end) text_parse_token(at, (size_t)(end - at), &n);
    return typed_put_number(to, &n);
}

enum { SHORT = 64 };

/* Makes a bool or number string number `row`, as typed.h has it. */
static bool put_other(text_strings *to, int64_t row, const scalar *s) {
    char few[TYPED_MOST + SHORT];
    const size_t length = (size_t)(s->text.end - s->text.at);
    char *const typed = length <= SHORT ? few : malloc(TYPED_MOST + length);
    if (!typed) return false;
    const size_t n = put_typed(s, typed);
    const bool good = text_strings_put(to, row, typed, typed + n, false);
    if (typed != few) free(typed);
    return good;
}

/* Makes [at, end) string number `row`, with what its escapes mean in their place. */
static bool put_text(text_strings *to, int64_t row, const char *at, const char *end, bool escapes) {
    if (!text_strings_put(to, row, at, end, false)) return false;
    char *const copy = to->bytes + to->offsets[row];
    if (escapes) to->offsets[row + 1] = unescape(copy, (size_t)(end - at)) - to->bytes;
    return true;
}

/* Puts a string that could be taken for a bool or number. */
static bool put_marked(text_strings *to, int64_t row, const char *at, const char *end,
                       bool escapes) {
    const size_t n = (size_t)(end - at) + TYPED_MARK;
    char *copy = malloc(n);
    if (copy) typed_put_string(copy, at, end);
    const bool good = copy && put_text(to, row, copy, copy + n, escapes);
    free(copy);
    return good;
}

/* Whether strings of column k tell types apart. */
static bool tells_types(const text_rows *rows, const text_layout *l, int k) {
    const bool key = (l->kinds[k] & TEXT_KEYS) && !text_has_numbers(rows, l, k);
    return l->typed == TEXT_TYPED || (l->typed == TEXT_TYPED_KEYS && key);
}

/* Makes a value string number rows->n of column k. False: there is no memory. */
static bool put_string(text_rows *rows, const text_layout *l, int k, const scalar *s) {
    text_strings *to = &rows->columns[k].strings;
    const char *const at = s->text.at, *const end = s->kind == NULL_VALUE ? at : s->text.end;
    const bool other = s->kind > NULL_VALUE && s->kind < STRING, marked = typed_wants_mark(at, end);
    rows->no_memory = !(other && tells_types(rows, l, k) ? put_other(to, rows->n, s)
                        : l->typed && marked ? put_marked(to, rows->n, at, end, s->text.escapes)
                                             : put_text(to, rows->n, at, end, s->text.escapes));
    return !rows->no_memory;
}

/* Keeps a value that is no NULL as a number of column k. False: it is none. */
static inline bool put_number(text_rows *rows, const text_layout *l, int k, const scalar *s) {
    static const text_number zero = {.text = "0", .length = 1, .integer = true},
                             one = {.text = "1", .length = 1, .integer = true, .digits = 1};
    text_column *c = &rows->columns[k];
    text_number n;
    text_styled plain;
    const char *const at = s->text.at, *const end = s->text.end;
    if (c->time) return s->kind == STRING && text_store_time(c, rows->n, at, end);
    if (s->kind == NUMBER) {
        if (text_read_short(rows, l, k, at, end - at)) return true;
        return (text_scan(at, &n) == end || text_parse_token(at, (size_t)(end - at), &n)) &&
               text_store_number(l, c, rows->n, &n);
    }
    const bool truth = s->kind == TRUE_VALUE || s->kind == FALSE_VALUE;
    if (truth && !(l->kinds[k] & TEXT_KEYS) && !c->strict)
        return text_store_number(l, c, rows->n, s->kind == TRUE_VALUE ? &one : &zero);
    const unsigned taken = c->strict ? TEXT_ASKED : TEXT_NUMBERS | TEXT_ASKED;
    return s->kind == STRING && (l->kinds[k] & taken) && text_read_number(l, at, end, &n, plain) &&
           text_store_number(l, c, rows->n, &n);
}

static const char *refuse_value(const text_rows *rows, const text_layout *l, int k, const scalar *s,
                                text_error *e) {
    char which[80];
    const bool null = s->kind == NULL_VALUE;
    if (s->kind != NESTED && !null) {
        const text_field f = {s->text.at, s->text.end, s->text.end, false};
        text_refuse_number(l, k, f, e);
        text_refuse_time(l, k, &rows->columns[k], f, e);
        if (k + 1 == l->counted && !l->mixed)
            snprintf(e->hint, sizeof e->hint, "--by keeps strings, bools and numbers apart");
        return NULL;
    }
    text_which(which, l, k);
    e->at = s->text.at;
    snprintf(e->what, sizeof e->what, "%s%s", which,
             null                 ? "null, not a number"
             : *s->text.at == '{' ? "an object, not a value of its own"
                                  : "an array, not a value of its own");
    snprintf(e->hint, sizeof e->hint, "%s",
             null ? "--null-policy skip leaves such fields out of a value"
                  : "columns that hold none are taken by their names");
    return NULL;
}

/* Whether an object or array counts as its text: where that is a key of whole rows. */
static bool takes_nested(const text_layout *l, int k) {
    return l->whole && l->kinds[k] == (TEXT_VALUES | TEXT_STRINGS_TOO);
}

/* Keeps a value in the forms of column k. False: it is refused, or there is no memory. */
static inline bool put_value(text_rows *rows, const text_layout *l, int k, const scalar *s) {
    text_column *c = &rows->columns[k];
    const bool null = s->kind == NULL_VALUE, numbers = text_has_numbers(rows, l, k);
    if (s->kind == NESTED && !takes_nested(l, k)) return false;
    if (null && numbers && !text_takes_nulls(l, k)) return false;
    if (null && c->valid) text_clear_bit(c->valid, rows->n);
    if (c->strings.offsets && !put_string(rows, l, k, s)) return false;
    if (!numbers || (!null && put_number(rows, l, k, s))) return true;
    const bool number = l->dtype != BF_NONE && !l->inferred && s->kind == NUMBER;
    if (!null && (number || (l->kinds[k] & (TEXT_NUMBERS | TEXT_ASKED)))) return false;
    c->words = c->words || !null || (l->mixed && !l->skip_nulls);
    text_store_none(rows, l, k);
    return true;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static int compare_names(const char *a, size_t n, const char *b, size_t m) {
    const int order = memcmp(a, b, n < m ? n : m);
    return order ? order : (n > m) - (n < m);
}

static int by_name(const void *a, const void *b) {
    const json_key *x = a, *y = b;
    return compare_names(x->name, x->length, y->name, y->length);
}

/* The wanted column of a key; -1: none. */
static int find_column(const json_keys *keys, const char *name, size_t length) {
    int low = 0, high = keys->columns;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        const json_key *const key = &keys->wanted[middle];
        const int order = compare_names(key->name, key->length, name, length);
        if (order == 0) return key->column;
        if (order < 0) low = middle + 1;
        if (order > 0) high = middle;
    }
    return -1;
}

/* Finds the column of key `i` of a line, which may be that of the first line. */
static int column_of(const json_keys *keys, int i, const char *name, size_t length) {
    if (i < keys->n && keys->all[i].length == length &&
        memcmp(keys->all[i].name, name, length) == 0)
        return keys->all[i].column;
    return find_column(keys, name, length);
}

/* Finds the column of a string. -2: there is no memory. */
static int column_of_string(const json_keys *keys, int i, const string *s) {
    if (!s->escapes) return column_of(keys, i, s->at, (size_t)(s->end - s->at));
    size_t length;
    char *const name = copy_string(s, &length);
    if (!name) return -2;
    const int column = column_of(keys, i, name, length);
    free(name);
    return column;
}

/* FNV-1a. */
static uint32_t hash_of(const char *name, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return hash;
}

/* The slot of a name: that of its key, or the free one. */
static int *slot_of(const json_keys *keys, const char *name, size_t length) {
    size_t at = hash_of(name, length);
    for (;; at++) {
        int *const slot = &keys->slots[at & (keys->room * 2 - 1)];
        if (*slot == 0) return slot;
        const json_key *const key = &keys->all[*slot - 1];
        if (compare_names(key->name, key->length, name, length) == 0) return slot;
    }
}

/* Makes room for twice as many keys. */
static bool grow_keys(json_keys *keys) {
    const size_t room = keys->room ? 2 * keys->room : 16;
    json_key *all = realloc(keys->all, room * sizeof *all);
    if (all) keys->all = all;
    int *slots = all ? calloc(room * 2, sizeof *slots) : NULL;
    if (!slots) return false;
    free(keys->slots);
    keys->slots = slots;
    keys->room = room;
    for (int i = 0; i < keys->n; i++) *slot_of(keys, all[i].name, all[i].length) = i + 1;
    return true;
}

/* Adds a key, unless it is there. False: there is no memory. */
static bool add_key(json_keys *keys, const string *s) {
    if ((size_t)keys->n == keys->room && !grow_keys(keys)) return false;
    json_key key = {.column = -1};
    key.name = copy_string(s, &key.length);
    if (!key.name) return false;
    int *const slot = slot_of(keys, key.name, key.length);
    if (*slot > 0) {
        free(key.name);
        return true;
    }
    keys->all[keys->n++] = key;
    *slot = keys->n;
    return true;
}

/* Whether key number i of a line is that of the list, as it is in most lines. */
static bool is_listed(const json_keys *keys, int i, const string *s) {
    const size_t length = (size_t)(s->end - s->at);
    return i < keys->n && !s->escapes && keys->all[i].length == length &&
           memcmp(keys->all[i].name, s->at, length) == 0;
}

/* Behind a value of the object of a line: the next key, or *end, which is behind the line. */
static const char *next_key(const char *p, const char **end, text_error *e) {
    p = skip(p);
    if (*p == ',') return skip(p + 1);
    if (*p != '}') return expected("',' or '}'", p, e);
    p = skip(p + 1);
    if (*p != '\n') return expected("the end of the line behind its object", p, e);
    *end = p + 1;
    return p;
}

static const char *refuse_many(const char *at, text_error *e) {
    e->at = at;
    snprintf(e->what, sizeof e->what, "an object of more than %d keys", TEXT_FIELDS_MOST);
    return NULL;
}

/* The first key of the object at p, or *end. */
static const char *first_key(const char *p, const char **end, text_error *e) {
    *end = NULL;
    if (*p != '{') {
        expected("an object in {}", p, e);
        snprintf(e->hint, sizeof e->hint, "each line holds one object, as in {\"a\": 1}");
        return NULL;
    }
    p = skip(p + 1);
    return *p == '}' ? next_key(p, end, e) : p;
}

/* Adds the keys of the object at p. Returns the start of the next line. */
static const char *take_line(json_keys *keys, const char *p, text_error *e) {
    const char *end;
    string key;
    scalar value;
    p = first_key(p, &end, e);
    for (int i = 0; p && !end; i++, p = p ? next_key(p, &end, e) : NULL) {
        p = pass_key(p, &key, e);
        if (p) p = take_value(p, &value, e);
        if (p && i == TEXT_FIELDS_MOST) p = refuse_many(key.at, e);
        if (p && !is_listed(keys, i, &key) && !add_key(keys, &key)) {
            *e = (text_error){.what = "out of memory"};
            return NULL;
        }
    }
    return p ? end : NULL;
}

/* A line that is wrong is refused when it is read, but for the first. */
bool json_take_keys(json_keys *keys, const char *p, const char *end, text_error *e) {
    text_error later = {.at = p};
    *keys = (json_keys){.n = 0};
    p = take_line(keys, p, e);
    if (!p) return false;
    while (p && p < end && keys->n < TEXT_FIELDS_MOST) {
        p = skip(p);
        p = *p == '\n' ? p + 1 : take_line(keys, p, &later);
    }
    const bool no_memory = !p && !later.at;
    if (no_memory) *e = later;
    return !no_memory;
}

bool json_want_keys(json_keys *keys, const int *fields, int columns) {
    json_key *wanted = realloc(keys->wanted, ((size_t)columns + 1) * sizeof *wanted);
    if (!wanted) return false;
    keys->wanted = wanted;
    keys->columns = 0;
    for (int k = 0; k < columns && fields[k] < keys->n; k++) {
        if (k > 0 && fields[k] == fields[k - 1]) continue;
        keys->wanted[keys->columns] = keys->all[fields[k]];
        keys->wanted[keys->columns++].column = k;
    }
    qsort(keys->wanted, (size_t)keys->columns, sizeof *keys->wanted, by_name);
    for (int i = 0; i < keys->n; i++)
        keys->all[i].column = find_column(keys, keys->all[i].name, keys->all[i].length);
    return true;
}

void json_free_keys(json_keys *keys) {
    for (int i = 0; keys && i < keys->n; i++) free(keys->all[i].name);
    if (keys) free(keys->all);
    if (keys) free(keys->slots);
    if (keys) free(keys->wanted);
    free(keys);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const char *refuse_twice(const text_layout *l, int k, const char *at, text_error *e) {
    e->at = at;
    snprintf(e->what, sizeof e->what, "the key '%.40s' twice in an object", l->names[k]);
    return NULL;
}

/* The columns that a line has no key for are NULL. */
static bool fill_row(text_rows *rows, const text_layout *l, const char *at, text_error *e) {
    const scalar none = {.kind = NULL_VALUE, .text = {at, at, false}};
    for (int k = 0; k < l->columns; k++) {
        if (rows->seen[k] == rows->stamp || put_value(rows, l, k, &none)) continue;
        if (rows->no_memory) return false;
        e->at = at;
        snprintf(e->what, sizeof e->what, "no key '%.40s' in this line", l->names[k]);
        snprintf(e->hint, sizeof e->hint, "--null-policy skip leaves such lines out of a value");
        return false;
    }
    return true;
}

/* Whether the values of a key would be lost: all columns are wanted, and it is none of them. */
static bool is_lost(const text_layout *l, int k, const string *key, text_error *e) {
    size_t length;
    if (k != -1 || !l->closed) return false;
    char *const name = copy_string(key, &length);
    const bool lost = !name || *slot_of(l->keys, name, length) == 0;
    if (!name) *e = (text_error){.what = "out of memory"};
    if (name && lost) {
        e->at = key->at;
        snprintf(e->what, sizeof e->what, "no column for the key '%.40s': the first lines lack it",
                 name);
        snprintf(e->hint, sizeof e->hint,
                 "name the columns that are wanted, or give the first line the key, as null");
    }
    free(name);
    return lost;
}

/* Reads the value at p of the key before it as column k, and as those that repeat it. Adds how many
 * they are to *found. */
static inline const char *read_value(text_rows *rows, const text_layout *l, int k,
                                     const string *key, const char *p, int *found, text_error *e) {
    scalar value;
    if (k < -1) rows->no_memory = true;
    if (k < -1) return NULL;
    const char *const end = take_value(p, &value, e);
    if (!end || k == -1) return end;
    if (rows->seen[k] == rows->stamp) return refuse_twice(l, k, key->at, e);
    do {
        rows->seen[k] = rows->stamp;
        ++*found;
        if (!put_value(rows, l, k, &value))
            return rows->no_memory ? NULL : refuse_value(rows, l, k, &value, e);
    } while (text_layout_repeats(l, ++k));
    return end;
}

/* Reads the object at p, and returns the start of the next line. */
static const char *read_object(text_rows *rows, const text_layout *l, const char *at,
                               text_error *e) {
    const char *end;
    int found = 0;
    rows->stamp++;
    const char *p = first_key(at, &end, e);
    for (int i = 0; p && !end; i++) {
        string key;
        p = pass_key(p, &key, e);
        if (!p) return NULL;
        const int k = column_of_string(l->keys, i, &key);
        if (is_lost(l, k, &key, e)) return NULL;
        p = read_value(rows, l, k, &key, p, &found, e);
        if (p) p = next_key(p, &end, e);
    }
    if (!p || (found < l->columns && !fill_row(rows, l, at, e))) return NULL;
    return end;
}

const char *json_rows_read(text_rows *rows, const text_layout *layout, const char *at,
                           const char *end, text_error *error) {
    while (at && at < end && rows->n < rows->most) {
        const char *const object = skip(at), *next = object + 1;
        if (*object != '\n') next = read_object(rows, layout, object, error);
        if (next && *object != '\n') text_note_row(rows, at, next);
        rows->n += next && *object != '\n';
        at = next;
    }
    return at;
}
