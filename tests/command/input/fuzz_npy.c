/* Any bytes at all as a .npy header: the parser stays inside them, and what it takes makes sense.
 */
#include "cli/container/npy.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) abort();
}

static void check_header(const npy_header *h, size_t size) {
    require(h->size >= 10 && h->size <= size);
    require(bf_dtype_size(h->dtype) > 0);
    require(h->ndim >= 0 && h->ndim <= NPY_MAX_DIMS);
    int64_t count = 1;
    for (int d = 0; d < h->ndim; d++) {
        require(h->shape[d] >= 0);
        count = h->shape[d] == 0 ? 0 : count;
    }
    for (int d = 0; d < h->ndim && count > 0; d++)
        require(!__builtin_mul_overflow(count, h->shape[d], &count));
    require(count == h->count);
    require(!__builtin_mul_overflow(count, (int64_t)bf_dtype_size(h->dtype), &count));
}

/* One line of printable text. */
static void check_error(const npy_error *e) {
    require(memchr(e->what, '\0', sizeof e->what) != NULL && *e->what);
    for (const char *c = e->what; *c; c++) require(*c >= ' ' && *c <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    npy_header header = {.size = 0};
    npy_error error = {.what = ""};
    if (npy_parse(data, size, &header, &error))
        check_header(&header, size);
    else
        check_error(&error);
    return 0;
}
