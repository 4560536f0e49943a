/* The pictures and the keys that bench and its peers measure on: the same for all of them. */
#ifndef BITFOLD_CLI_BENCH_KEYS_H
#define BITFOLD_CLI_BENCH_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Pictures are the tutorial's Julia set (bf_julia_defaults), as many pixels high as wide, with the
 * middle at 0 ("centred") or here ("shifted"). */
#define BENCH_SHIFT_RE 0.1
#define BENCH_SHIFT_IM 0.05

/* Pixels a side, of so many in all: their whole square root. */
size_t bench_side_of(size_t pixels);

/* Keys [first, first + count) of the n that `data` says; key i depends on i alone, and no order is
 * in them. Of work "group":
 *   2^B     one of 2^B keys, all alike (B up to 32)
 *   zipf    the k-th of 2^20 keys with a chance in proportion to log(1 + 1/k)
 * of work "table", n being a power of two:
 *   twice   (and what begins so) n/2 keys, each twice
 *   other   n different ones
 * False if there is no such data. */
bool bench_keys(const char *work, const char *data, size_t n, size_t first, size_t count,
                uint32_t *keys);

/* What the table is asked for, likewise: all of its keys ("find..."), keys that are not there
 * ("miss..."), or half of either ("half..."), in another order. */
void bench_queries(const char *data, size_t n, size_t first, size_t count, uint32_t *keys);

#ifdef __cplusplus
}
#endif
#endif
