/* Elements of an array by their places. */
#include "read/read.h"

#include <string.h>

void bitfold_read_pick(const void *from, size_t size, const int64_t *places, int64_t n, void *to) {
    for (int64_t i = 0; i < n; i++) {
        char *element = (char *)to + (size_t)i * size;
        if (places[i] < 0)
            memset(element, 0, size);
        else if (size == sizeof(int64_t))
            memcpy(element, (const int64_t *)from + places[i], sizeof(int64_t));
        else
            memcpy(element, (const char *)from + (size_t)places[i] * size, size);
    }
}
