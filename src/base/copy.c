/* Copies past the caches. */
#include "base/memory.h"

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

enum { LINE = 64 /* bytes of a cache line, which is written at once */ };

/* To whole lines. */
static void stream_lines(char *to, const char *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i += LINE) {
        const __m128i *line = (const __m128i *)(const void *)(from + i);
        __m128i a = _mm_loadu_si128(line), b = _mm_loadu_si128(line + 1),
                c = _mm_loadu_si128(line + 2), d = _mm_loadu_si128(line + 3);
        _mm_stream_si128((__m128i *)(void *)(to + i), a);
        _mm_stream_si128((__m128i *)(void *)(to + i + 16), b);
        _mm_stream_si128((__m128i *)(void *)(to + i + 32), c);
        _mm_stream_si128((__m128i *)(void *)(to + i + 48), d);
    }
    _mm_sfence(); /* such stores are not ordered with those of a lock */
}

void bf_stream_copy(void *to, const void *from, size_t bytes) {
    char *out = to;
    const char *in = from;
    size_t head = -(uintptr_t)to % LINE;
    if (head > bytes) head = bytes;
    size_t lines = (bytes - head) / LINE * LINE;
    memcpy(out, in, head);
    stream_lines(out + head, in + head, lines);
    memcpy(out + head + lines, in + head + lines, bytes - head - lines);
}

#else

void bf_stream_copy(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); }

#endif
