/* The picture of LADDER_JULIA: the tutorial's, side x side pixels, counts of u16. */
#ifndef BITFOLD_LADDER_JULIA_H
#define BITFOLD_LADDER_JULIA_H

#include "ladder/ladder.h"

#include <stdint.h>

typedef struct ladder_picture {
    float c_re, c_im, scale, escape;
    int steps;
} ladder_picture;

#define LADDER_PICTURE                                                                             \
    { -0.8F, 0.156F, 1.5F, 1000, 200 }

/* The coordinate of pixel i, of either axis. */
static inline LADDER_ANYWHERE float ladder_coordinate(const ladder_picture *p, int side, int i) {
    return p->scale * (float)(i - side / 2) / (float)(side > 1 ? side / 2 : 1);
}

/* The step after which the orbit of (re, im) has escaped. */
static inline LADDER_ANYWHERE int ladder_escape(const ladder_picture *p, float re, float im) {
    int i = 0;
    for (; i < p->steps; i++) {
        const float next = (re * re - im * im) + p->c_re;
        im = (im * re + re * im) + p->c_im;
        re = next;
        if (re * re + im * im > p->escape) break;
    }
    return i;
}

/* The side of the largest square of at most n pixels. */
static inline int ladder_side(int64_t n) {
    int64_t side = 0;
    for (int64_t bit = 1 << 18; bit > 0; bit >>= 1)
        if ((side + bit) * (side + bit) <= n) side += bit;
    return (int)side;
}

#endif
