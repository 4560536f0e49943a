/* The data of bench and its peers: the same values, in memory of the same kind. */
#ifndef BITFOLD_CLI_WORKS_MEASURED_H
#define BITFOLD_CLI_WORKS_MEASURED_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns zeroed memory, on huge pages if the system has them, with every page present; NULL if
 * there is not enough. The caller releases it by bench_free with the same size. */
void *bench_alloc(size_t bytes);
void bench_free(void *memory, size_t bytes);

/* Fills x with the first `count` elements of these data, of dtype f32, f64, u8, i32 or i64:
 *   uniform   [0, 1); integers of 8, 32 and 48 random bits
 *   zipf      k with a chance in proportion to 1 / (k + 1) (u8)
 *   constant  all the same (u8)
 *   normal    mean 0, variance 1, to +-3.5 (floats)
 *   wide      of either sign, exponents spread evenly over -100 to 100 (floats)
 *   full      of either sign, every exponent of a normal f64 equally often (f64)
 * Returns false for other data. */
bool bench_fill(const char *dtype, const char *data, void *x, size_t count);

#ifdef __cplusplus
}
#endif
#endif
