/* Copies of large memory: threads take pieces of it. */
#include "seam/copy.h"

#include "cpu/runtime/context.h"

#include <stdatomic.h>

enum { PIECE = 1 << 18 };

typedef struct copy_work {
    char *to;
    const char *from;
    size_t bytes;
    _Atomic size_t next;
} copy_work;

static void copy_pieces(void *arg) {
    copy_work *c = arg;
    for (;;) {
        size_t at = atomic_fetch_add(&c->next, PIECE);
        if (at >= c->bytes) return;
        memcpy(c->to + at, c->from + at, c->bytes - at < PIECE ? c->bytes - at : PIECE);
    }
}

void bf_host_copy(bf_context *context, void *to, const void *from, size_t bytes) {
    copy_work c = {.to = to, .from = from, .bytes = bytes};
    size_t pieces = (bytes + PIECE - 1) / PIECE, most = (size_t)bf_pool_threads(context->cpu->pool);
    bf_pool_run(context->cpu->pool, (int)(pieces < most ? pieces : most), copy_pieces, &c);
}
