/* Integers of 64 bits as those of 128, which Arrow's decimals are. */
#include "read/read.h"

#include <string.h>

void bitfold_read_widen(const int64_t *narrow, int64_t n, void *wide) {
    for (int64_t i = 0; i < n; i++) {
        const __int128 number = narrow[i];
        memcpy((char *)wide + (size_t)i * sizeof number, &number, sizeof number);
    }
}
