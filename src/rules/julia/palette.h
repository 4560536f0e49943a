/* Palettes: the colour of a count, by integer arithmetic alone. */
#ifndef BF_RULES_JULIA_PALETTE_H
#define BF_RULES_JULIA_PALETTE_H

#include "rules/number/rule.h"
#include <bitfold/julia.h>

/* A stop of a gradient: at `at` of 1024 the colour is 0xRRGGBB. */
typedef struct bf_stop {
    int at;
    uint32_t color;
} bf_stop;

BF_RULE bf_stop bf_palette_stop(bf_palette palette, int i) {
    const bf_stop gray[] = {{0, 0x000000}, {1024, 0xffffff}};
    const bf_stop fire[] = {
        {0, 0x08040c}, {256, 0x7a1014}, {512, 0xe8590c}, {768, 0xffc53d}, {1024, 0xffffe8}};
    const bf_stop ocean[] = {
        {0, 0x020824}, {256, 0x0a3d7a}, {512, 0x1391b8}, {768, 0x7ee0d6}, {1024, 0xffffff}};
    const bf_stop rainbow[] = {{0, 0xe6194b},   {205, 0xffc53d}, {410, 0x3cb44b},
                               {614, 0x00b5d8}, {819, 0x5f3dc4}, {1024, 0xe6194b}};
    switch (palette) {
    case BF_PALETTE_FIRE: return fire[i];
    case BF_PALETTE_OCEAN: return ocean[i];
    case BF_PALETTE_RAINBOW: return rainbow[i];
    default: return gray[i];
    }
}

/* floor(sqrt(x)), for x up to 2^20. */
BF_RULE int bf_palette_root(int64_t x) {
    int root = 0;
    for (int bit = 1 << 10; bit > 0; bit >>= 1)
        if ((int64_t)(root + bit) * (root + bit) <= x) root += bit;
    return root;
}

BF_RULE uint32_t bf_palette_mix(bf_stop a, bf_stop b, int at) {
    uint32_t mixed = 0;
    for (int shift = 0; shift < 24; shift += 8) {
        int from = (int)(a.color >> shift & 255), to = (int)(b.color >> shift & 255);
        int value = from + ((to - from) * (at - a.at)) / (b.at - a.at);
        mixed |= (uint32_t)value << shift;
    }
    return mixed;
}

/* Returns 0xRRGGBB. Most counts are small, so all palettes but rainbow use the square root of count
 * / iterations. */
BF_RULE uint32_t bf_palette_color(bf_palette palette, int count, int iterations) {
    if (palette == BF_PALETTE_CLASSIC) return count >= iterations ? 0xff0000 : 0;
    if (count >= iterations) return 0;
    int at = palette == BF_PALETTE_RAINBOW ? count % 64 * 16
                                           : bf_palette_root(((int64_t)count << 20) / iterations);
    int i = 0;
    while (bf_palette_stop(palette, i + 1).at < at) i++;
    return bf_palette_mix(bf_palette_stop(palette, i), bf_palette_stop(palette, i + 1), at);
}

#endif
