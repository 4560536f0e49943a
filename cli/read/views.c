/* Arrow's views of strings as offsets and bytes. */
#include "read/read.h"

#include <string.h>

enum { VIEW = 16, WITHIN = 12 }; /* bytes of a view; of a string that it holds itself */

/* The bytes of a view of so many. */
static const char *bytes_of(const char *view, int32_t length, const void *const buffers[]) {
    int32_t place[2]; /* the number of a buffer, and a place in it */
    memcpy(place, view + 8, sizeof place);
    return length <= WITHIN ? view + 4 : (const char *)buffers[place[0]] + place[1];
}

void bitfold_read_views(int64_t n, const void *views, const void *const buffers[], int64_t *offsets,
                        char *bytes) {
    offsets[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t length;
        const char *view = (const char *)views + i * VIEW;
        memcpy(&length, view, sizeof length);
        if (bytes && length > 0)
            memcpy(bytes + offsets[i], bytes_of(view, length, buffers), (size_t)length);
        offsets[i + 1] = offsets[i] + length;
    }
}
