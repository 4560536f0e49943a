/* A sum in parts: two workers each absorb half of the data in chunks, one sends its state as bytes,
 * and the merged state has the bits of a single pass. */
#include <bitfold.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 100000, CHUNK = 777 };

/* Absorbs x[from..to) chunk by chunk. */
static bf_status absorb(bf_state *state, const float *x, int from, int to) {
    for (int i = from; i < to; i += CHUNK) {
        bf_array chunk = bf_array_of(BF_F32, x + i, i + CHUNK < to ? CHUNK : to - i);
        bf_status st = bf_state_absorb(state, &chunk);
        if (st != BF_OK) return st;
    }
    return BF_OK;
}

/* The work of a second process: half of the data, saved to bytes. */
static bf_status other_half(bf_context *ctx, const float *x, void **bytes, size_t *size) {
    bf_state *state;
    bf_status st = bf_state_create(ctx, BF_SUM, BF_F32, &state);
    if (st != BF_OK) return st;
    st = absorb(state, x, COUNT / 2, COUNT);
    *size = bf_state_save_size(state);
    *bytes = malloc(*size);
    if (*bytes)
        bf_state_save(state, *bytes);
    else
        st = BF_E_MEMORY;
    bf_state_destroy(state);
    return st;
}

static bf_status sum_in_parts(bf_context *ctx, const float *x, bf_value *total) {
    void *bytes = NULL;
    size_t size = 0;
    bf_state *mine = NULL, *theirs = NULL;

    bf_status st = other_half(ctx, x, &bytes, &size);
    if (st == BF_OK) st = bf_state_create(ctx, BF_SUM, BF_F32, &mine);
    if (st == BF_OK) st = absorb(mine, x, 0, COUNT / 2);
    if (st == BF_OK) st = bf_state_load(ctx, bytes, size, &theirs);
    if (st == BF_OK) st = bf_state_merge(mine, theirs);
    if (st == BF_OK) st = bf_state_result(mine, NULL, total);
    bf_state_destroy(theirs);
    bf_state_destroy(mine);
    free(bytes);
    return st;
}

int main(void) {
    static float x[COUNT];
    for (int i = 0; i < COUNT; i++) x[i] = 0.1F * (float)(i % 1000 - 300);

    bf_context *ctx;
    if (bf_context_create(NULL, &ctx) != BF_OK) return 1;
    bf_value parts;
    double once;
    bf_status st = sum_in_parts(ctx, x, &parts);
    if (st == BF_OK) st = bf_sum_f32(ctx, x, COUNT, &once);
    bf_context_destroy(ctx);
    if (st != BF_OK) {
        fprintf(stderr, "stream: %s\n", bf_status_string(st));
        return 1;
    }
    printf("in parts %.17g, in one pass %.17g\n", parts.as.f64, once);
    return parts.as.f64 == once ? 0 : 1;
}
