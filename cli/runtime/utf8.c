#include "runtime/utf8.h"

#include <stdbool.h>
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
