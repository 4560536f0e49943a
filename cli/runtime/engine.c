#include "runtime/engine.h"

#include "runtime/engine_parts.h"
#include "runtime/options.h"
#include "runtime/report.h"

#include <errno.h>
#include <stdlib.h>

/* A block that is copied stays in the second-level cache until it is absorbed; larger ones are no
 * faster, smaller ones cost more calls. */
#define BLOCK_BYTES ((int64_t)1024 * 1024)

/* On a GPU a block costs a few copies and a launch. */
#define GPU_BLOCK_BYTES ((int64_t)64 * 1024 * 1024)

bool engine_is_ordered(bf_reduction op) {
    return op == BF_ARGMIN || op == BF_ARGMAX || op == BF_PROD || op == BF_DESCRIBE;
}

int engine_columns(const source *s) { return s->text ? s->text->layout.columns : 1; }

bf_context *engine_context(const engine *e) { return e->contexts[0]; }

int engine_need_contexts(engine *e, int n) {
    for (int i = 0; i < n; i++) {
        if (e->contexts[i]) continue;
        const bf_options wanted = BF_OPTIONS(.device = e->device, .isa = e->isa, .threads = 1);
        const bf_status st = bf_context_create(&wanted, &e->contexts[i]);
        if (st == BF_E_DEVICE && e->gpu) return fail_device(e->device);
        if (st != BF_OK) return fail_status(st, NULL, NULL);
    }
    return EXIT_DONE;
}

int engine_open(engine *e, const char *device, const char *isa, int threads) {
    *e = (engine){.device = device, .isa = isa, .threads = threads};
    e->gpu = options_gpu(device);
    if (e->gpu) e->threads = 1;
    e->contexts = calloc((size_t)e->threads, sizeof(bf_context *));
    if (!e->contexts) return fail_status(BF_E_MEMORY, NULL, NULL);
    return engine_need_contexts(e, 1);
}

void engine_close(engine *e) {
    for (int i = 0; e->contexts && i < e->threads; i++) bf_context_destroy(e->contexts[i]);
    free(e->contexts);
    *e = (engine){.threads = 0};
}

int64_t pair_bytes(const pair *in) { return (int64_t)source_element(in->a) * (in->b ? 2 : 1); }

bool block_alloc(block *x, const engine *e, const pair *in, int64_t most) {
    const int64_t fits = (e->gpu ? GPU_BLOCK_BYTES : BLOCK_BYTES) / pair_bytes(in);
    *x = (block){.room = most >= 0 && most < fits ? most : fits};
    const size_t bytes = ((size_t)x->room * source_element(in->a) + 64) & ~(size_t)63;
    x->buffers[0] = aligned_alloc(64, bytes);
    x->buffers[1] = in->b ? aligned_alloc(64, bytes) : NULL;
    return x->buffers[0] && (x->buffers[1] || !in->b);
}

void block_free(block *x) {
    free(x->buffers[0]);
    free(x->buffers[1]);
}

/* As many elements of s as there is room for; fewer are trouble, unless the end was unknown. */
static const void *view(const source *s, int64_t at, int64_t end, int64_t room, void *buffer,
                        int64_t *got, trouble *t) {
    const int64_t left = end < 0 ? room : end - at, n = left < room ? left : room;
    const void *elements = source_view(s, at, n, buffer, got);
    if (*got < 0 || (*got < n && end >= 0)) *t = (trouble){s, *got, errno};
    return elements;
}

trouble block_view(block *x, const pair *in, int64_t at, int64_t end) {
    trouble t = {.source = NULL};
    x->a = view(in->a, at, end < 0 ? in->a->count : end, x->room, x->buffers[0], &x->n, &t);
    x->m = x->n;
    if (in->b && !t.source)
        x->b = view(in->b, at, end < 0 ? in->b->count : end, x->room, x->buffers[1], &x->m, &t);
    return t;
}

bf_status block_absorb(const block *x, const pair *in, bf_state *state) {
    const bf_array a = bf_array_of(in->a->layout.dtype, x->a, x->n);
    if (!in->b) return bf_state_absorb(state, &a);
    const bf_array b = bf_array_of(in->b->layout.dtype, x->b, x->m);
    return bf_state_absorb_pair(state, &a, &b);
}

int engine_reduce(engine *e, bf_reduction op, source *a, source *b, int64_t start,
                  bf_state **states) {
    const pair in = {a, b};
    const bool stream = a->stream || (b && b->stream);
    e->bytes = 0;
    e->used = 1;
    int code = a->text  ? reduce_text(e, op, a, start, states)
               : stream ? reduce_stream(e, op, &in, start, states)
                        : reduce_files(e, op, &in, start, states);
    if (code == EXIT_DONE) code = source_check(a);
    if (code == EXIT_DONE && b) code = source_check(b);
    for (int i = 0; code != EXIT_DONE && i < engine_columns(a); i++) {
        bf_state_destroy(states[i]);
        states[i] = NULL;
    }
    return code;
}
