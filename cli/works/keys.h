/* The pictures and keys of bench and its peers. */
#ifndef BITFOLD_CLI_WORKS_KEYS_H
#define BITFOLD_CLI_WORKS_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Pictures are square views of the tutorial's Julia set (bf_julia_defaults). The middle is at 0
 * ("centred") or at this point ("shifted"). */
#define BENCH_SHIFT_RE 0.1
#define BENCH_SHIFT_IM 0.05

/* Returns the pixels of a side of a square of so many pixels: their square root, rounded down. */
size_t bench_side_of(size_t pixels);

/* Writes keys [first, first + count) of n keys in random order. Key i depends on i alone. Data of
 * work "group":
 *   2^B     each of 2^B keys with the same chance (B up to 32)
 *   zipf    the k-th of 2^20 keys with a chance in proportion to log(1 + 1/k)
 * Data of work "table", where n is a power of two:
 *   twice...   n/2 keys, each twice
 *   others     n different keys
 * Returns false for other data. */
bool bench_keys(const char *work, const char *data, size_t n, size_t first, size_t count,
                uint32_t *keys);

/* Writes keys [first, first + count) of those that are looked up, in another random order: all keys
 * of the table ("find..."), n keys that it does not hold ("miss..."), or half of each ("half...").
 */
void bench_queries(const char *data, size_t n, size_t first, size_t count, uint32_t *keys);

#ifdef __cplusplus
}
#endif
#endif
