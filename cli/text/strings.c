#include "text/strings.h"

#include "text/number.h"

#include <stdlib.h>
#include <string.h>

/* ---- strings --------------------------------------------------------------------------------- */

enum { ROOM_LEAST = 64 };

static bool reserve_bytes(text_strings *s, int64_t n) {
    if (n <= s->room && s->bytes) return true;
    const int64_t twice = 2 * s->room, room = n > twice ? n : twice;
    char *bytes =
        realloc(s->bytes, (size_t)(room > ROOM_LEAST ? room : ROOM_LEAST) + TEXT_STRINGS_SLACK);
    if (!bytes) return false;
    s->bytes = bytes;
    s->room = room > ROOM_LEAST ? room : ROOM_LEAST;
    return true;
}

/* Copies text in which two quotes stand for one. Returns the end of the copy. */
static char *copy_quoted(char *out, const char *at, const char *end) {
    while (at < end) {
        const char *quote = memchr(at, '"', (size_t)(end - at));
        const size_t n = quote ? (size_t)(quote + 1 - at) : (size_t)(end - at);
        memcpy(out, at, n);
        out += n;
        at += quote ? n + 1 : n;
    }
    return out;
}

bool text_strings_put(text_strings *s, int64_t i, const char *at, const char *end, bool quoted) {
    if (i == 0) s->offsets[0] = 0;
    const int64_t begin = s->offsets[i];
    if (!reserve_bytes(s, begin + (end - at))) return false;
    char *out = s->bytes + begin;
    if (quoted) {
        out = copy_quoted(out, at, end);
    } else if (end > at) {
        memcpy(out, at, (size_t)(end - at));
        out += end - at;
    }
    s->offsets[i + 1] = out - s->bytes;
    return true;
}

bool text_strings_append(text_strings *s, int64_t have, const text_strings *from, int64_t first,
                         int64_t n) {
    if (have == 0) s->offsets[0] = 0;
    const int64_t begin = from->offsets[first], bytes = from->offsets[first + n] - begin;
    const int64_t at = s->offsets[have];
    if (!reserve_bytes(s, at + bytes)) return false;
    if (bytes > 0) memcpy(s->bytes + at, from->bytes + begin, (size_t)bytes);
    for (int64_t i = 1; i <= n; i++) s->offsets[have + i] = from->offsets[first + i] - begin + at;
    return true;
}

/* ---- no value -------------------------------------------------------------------------------- */

text_nulls text_nulls_of(const char *list) {
    text_nulls nulls = {.list = list};
    for (const char *at = list; at && *at;) {
        const size_t n = strcspn(at, ",");
        char token[64 + TEXT_SLACK] = "";
        text_number number;
        if (n > 0 && n < 64) memcpy(token, at, n);
        if (n > 0 && n < 64 && text_parse_token(token, n, &number)) nulls.numbers = true;
        if (n > 0) nulls.begins[(unsigned char)*at] = true;
        at += n + (at[n] == ',');
    }
    return nulls;
}

bool text_is_null(const text_nulls *nulls, const char *at, const char *end) {
    if (at == end) return true;
    if (!nulls->begins[(unsigned char)*at]) return false;
    const size_t length = (size_t)(end - at);
    for (const char *item = nulls->list; *item;) {
        const size_t n = strcspn(item, ",");
        if (n == length && memcmp(item, at, n) == 0) return true;
        item += n + (item[n] == ',');
    }
    return false;
}

bool text_has_null(const uint8_t *bits, int64_t first, int64_t n) {
    int64_t i = first;
    const int64_t end = first + n;
    for (; i < end && i % 8 != 0; i++)
        if (!text_has_bit(bits, i)) return true;
    for (; i + 64 <= end; i += 64) {
        uint64_t word;
        memcpy(&word, bits + i / 8, sizeof word);
        if (word != UINT64_MAX) return true;
    }
    for (; i + 8 <= end; i += 8)
        if (bits[i / 8] != 0xff) return true;
    for (; i < end; i++)
        if (!text_has_bit(bits, i)) return true;
    return false;
}
