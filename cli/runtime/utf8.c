#include "runtime/utf8.h"

#include <stdint.h>
#include <string.h>

int utf8_length(const unsigned char *s) {
    if (s[0] < 0x80) return 1;
    const int length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4) return 0;
    for (int i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    const bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    const bool beyond = (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf4 && s[1] > 0x8f);
    return overlong || beyond ? 0 : length;
}

int utf8_length_before(const char *s, const char *end) {
    unsigned char whole[4] = {0};
    if ((unsigned char)*s < 0x80) return 1;
    memcpy(whole, s, end - s < 4 ? (size_t)(end - s) : 4);
    return utf8_length(whole);
}

static uint32_t code_of(const unsigned char *s, int length) {
    uint32_t code = length == 1 ? s[0] : s[0] & (0x7fu >> length);
    for (int i = 1; i < length; i++) code = code << 6 | (s[i] & 0x3f);
    return code;
}

/* The blocks, as Unicode's East_Asian_Width has them by and large. */
static const struct {
    uint32_t first, last;
    int width;
} blocks[] = {
    {0x300, 0x36f, 0},     {0x483, 0x489, 0},     {0x591, 0x5bd, 0},     {0x64b, 0x65f, 0},
    {0x1100, 0x115f, 2},   {0x1ab0, 0x1aff, 0},   {0x1dc0, 0x1dff, 0},   {0x200b, 0x200f, 0},
    {0x202a, 0x202e, 0},   {0x2060, 0x2064, 0},   {0x20d0, 0x20ff, 0},   {0x231a, 0x231b, 2},
    {0x2329, 0x232a, 2},   {0x2e80, 0x303e, 2},   {0x3041, 0x33ff, 2},   {0x3400, 0x4dbf, 2},
    {0x4e00, 0x9fff, 2},   {0xa000, 0xa4cf, 2},   {0xa960, 0xa97c, 2},   {0xac00, 0xd7a3, 2},
    {0xf900, 0xfaff, 2},   {0xfe00, 0xfe0f, 0},   {0xfe20, 0xfe2f, 0},   {0xfe30, 0xfe6f, 2},
    {0xfeff, 0xfeff, 0},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},   {0x1f300, 0x1f64f, 2},
    {0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2}, {0xe0100, 0xe01ef, 0}};

int utf8_width(const unsigned char *s, int length) {
    const uint32_t code = code_of(s, length);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks && code >= blocks[i].first; i++)
        if (code <= blocks[i].last) return blocks[i].width;
    return 1;
}

bool utf8_is_control(const unsigned char *s) {
    return *s < 0x20 || *s == 0x7f || (*s == 0xc2 && s[1] < 0xa0);
}

void utf8_copy(char *out, size_t room, const char *text) {
    size_t used = 0;
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        const int length = utf8_length(s);
        const size_t n = length > 0 ? (size_t)length : 1;
        if (used + n >= room) break;
        memcpy(out + used, s, n);
        if (length == 0 || *s < 0x20 || *s == 0x7f) out[used] = '?';
        used += n;
        s += n;
    }
    out[used] = '\0';
}
