#include "decode/charset.h"

#include <stdint.h>
#include <string.h>

static bool is_ascii(unsigned char c) { return c > 0 && c < 0x80; }

/* The order of the bytes of UTF-16 without a mark, by the first character of ASCII: newlines are
 * some, and most texts have others early. */
static charset guess_order(const unsigned char *bytes, size_t length) {
    for (size_t i = 0; i + 1 < length; i += 2) {
        if (bytes[i] == 0 && is_ascii(bytes[i + 1])) return CHARSET_UTF16BE;
        if (bytes[i + 1] == 0 && is_ascii(bytes[i])) break;
    }
    return CHARSET_UTF16LE;
}

charset charset_of(enum text_encoding encoding, const void *bytes, size_t length) {
    const bool may = encoding == TEXT_AUTO || encoding == TEXT_UTF16;
    if (may && length >= 2 && memcmp(bytes, "\xff\xfe", 2) == 0) return CHARSET_UTF16LE;
    if (may && length >= 2 && memcmp(bytes, "\xfe\xff", 2) == 0) return CHARSET_UTF16BE;
    if (encoding == TEXT_UTF16) return guess_order(bytes, length);
    return encoding == TEXT_LATIN1 ? CHARSET_LATIN1 : CHARSET_UTF8;
}

size_t charset_mark(charset set, const void *bytes, size_t length) {
    static const char *const marks[] = {"\xef\xbb\xbf", "", "\xff\xfe", "\xfe\xff"};
    const size_t n = strlen(marks[set]);
    return length >= n && memcmp(bytes, marks[set], n) == 0 ? n : 0;
}

static char *put_character(char *out, uint32_t c) {
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
        *out++ = (char)(0x80 | (c & 0x3f));
    } else {
        if (c >= 0x10000) *out++ = (char)(0xf0 | c >> 18);
        *out++ = c < 0x10000 ? (char)(0xe0 | c >> 12) : (char)(0x80 | (c >> 12 & 0x3f));
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    }
    return out;
}

/* Characters of ASCII, four of UTF-16 or eight of Latin-1 at a time. Returns where others begin. */
static const unsigned char *take_ascii(charset set, const unsigned char *p,
                                       const unsigned char *end, char **to) {
    static const uint64_t others[] = {[CHARSET_LATIN1] = 0x8080808080808080u,
                                      [CHARSET_UTF16LE] = 0xff80ff80ff80ff80u,
                                      [CHARSET_UTF16BE] = 0x80ff80ff80ff80ffu};
    for (; end - p >= 8; p += 8) {
        uint64_t bytes = 0;
        for (int i = 0; i < 8; i++) bytes |= (uint64_t)p[i] << 8 * i;
        if (bytes & others[set]) break;
        for (int i = set == CHARSET_UTF16BE; i < 8; i += set == CHARSET_LATIN1 ? 1 : 2)
            *(*to)++ = (char)p[i];
    }
    return p;
}

/* The unit of UTF-16 at p. */
static uint32_t unit_at(charset set, const unsigned char *p) {
    return set == CHARSET_UTF16LE ? p[0] | (uint32_t)p[1] << 8 : p[1] | (uint32_t)p[0] << 8;
}

/* The character at p, and its bytes; 0 bytes: `end` cuts it, or, with *bad, it is none. */
static uint32_t character_at(charset set, const unsigned char *p, const unsigned char *end,
                             size_t *bytes, bool *bad) {
    *bytes = set == CHARSET_LATIN1 ? 1 : end - p >= 2 ? 2 : 0;
    if (*bytes < 2) return *p;
    const uint32_t first = unit_at(set, p);
    if (first < 0xd800 || first > 0xdfff) return first;
    *bytes = 0;
    *bad = first > 0xdbff;
    if (*bad || end - p < 4) return 0;
    const uint32_t second = unit_at(set, p + 2);
    *bad = second < 0xdc00 || second > 0xdfff;
    *bytes = *bad ? 0 : 4;
    return 0x10000 + ((first - 0xd800) << 10 | (second - 0xdc00));
}

char *charset_convert(charset set, const unsigned char *in, size_t n, char *out, size_t *used,
                      bool *bad) {
    const unsigned char *p = in, *const end = in + n;
    size_t bytes = 1;
    *bad = false;
    while (p < end && bytes > 0) {
        p = take_ascii(set, p, end, &out);
        for (int i = 0; i < 8 && p < end && bytes > 0; i++, p += bytes) {
            const uint32_t c = character_at(set, p, end, &bytes, bad);
            if (bytes > 0) out = put_character(out, c);
        }
    }
    *used = (size_t)(p - in);
    return out;
}
