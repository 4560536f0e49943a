/* The Julia set as one writes it down, compiled with -Ofast: pixel by pixel, with rows handed to
 * threads as they become free. */
#include "peer.h"

#include "works/keys.h"
#include "works/measured.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 200 };

static int escape(float re, float im) {
    for (int i = 0; i < STEPS; i++) {
        const float next = re * re - im * im - 0.8F;
        im = 2 * re * im + 0.156F;
        re = next;
        if (re * re + im * im > 1000) return i;
    }
    return STEPS;
}

static void draw(uint16_t *counts, int side, float center_re, float center_im, int threads) {
    const float unit = (float)(side > 1 ? side / 2 : 1);
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            const float re = 1.5F * (float)(x - side / 2) / unit + center_re;
            const float im = 1.5F * (float)(y - side / 2) / unit + center_im;
            counts[(size_t)y * (size_t)side + (size_t)x] = (uint16_t)escape(re, im);
        }
    (void)threads;
}

static double seconds(void *context, const peer_question *q) {
    (void)context;
    if (strcmp(q->work, "julia") != 0 || strcmp(q->dtype, "f32") != 0) return 0;
#ifndef _OPENMP
    if (q->threads > 1) return 0;
#endif
    const bool shifted = strcmp(q->data, "shifted") == 0;
    const float re = shifted ? (float)BENCH_SHIFT_RE : 0, im = shifted ? (float)BENCH_SHIFT_IM : 0;
    const size_t bytes = q->count * sizeof(uint16_t);
    uint16_t *counts = bench_alloc(bytes);
    if (!counts) return 0;
    const int side = (int)bench_side_of(q->count);
    const double start = peer_now();
    for (int i = 0; i < q->passes; i++) draw(counts, side, re, im, q->threads);
    const double all = peer_now() - start;
    bench_free(counts, bytes);
    return all / q->passes;
}

int main(void) { return peer_answer("loop", seconds, NULL); }
