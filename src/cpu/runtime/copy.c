/* Copies of large memory: workers take pieces of it. */
#include "seam/copy.h"

#include "seam/host.h"

#include <string.h>

enum { PIECE = 1 << 18 };

typedef struct copy_work {
    char *to;
    const char *from;
} copy_work;

static bf_status copy_piece(void *arg, int worker, int64_t first, int64_t n) {
    const copy_work *c = arg;
    (void)worker;
    memcpy(c->to + first, c->from + first, (size_t)n);
    return BF_OK;
}

void bf_host_copy(bf_context *context, void *to, const void *from, size_t bytes) {
    copy_work c = {.to = to, .from = from};
    int64_t n = (int64_t)bytes;
    bf_parallel(context, bf_workers(context, n, PIECE), n, PIECE, copy_piece, &c);
}
