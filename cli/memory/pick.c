#include "memory/pick.h"

#include <string.h>

void pick_elements(void *to, const void *from, size_t bytes, const int64_t *places, int64_t n) {
    switch (bytes) {
    case 1:
        for (int64_t i = 0; i < n; i++) ((uint8_t *)to)[i] = ((const uint8_t *)from)[places[i]];
        break;
    case 2:
        for (int64_t i = 0; i < n; i++) ((uint16_t *)to)[i] = ((const uint16_t *)from)[places[i]];
        break;
    case 4:
        for (int64_t i = 0; i < n; i++) ((uint32_t *)to)[i] = ((const uint32_t *)from)[places[i]];
        break;
    case 8:
        for (int64_t i = 0; i < n; i++) ((uint64_t *)to)[i] = ((const uint64_t *)from)[places[i]];
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy((char *)to + (size_t)i * bytes, (const char *)from + (size_t)places[i] * bytes,
                   bytes);
    }
}
