/* Products of integers on one thread, by the rules: an exact product is soon 0 or too large to
 * keep. */
#include "cpu/reduce/reduce.h"

void bf_product_absorb(const bf_job *job, int64_t first, int64_t n, int64_t *words) {
    int bytes = bf_dtype_bytes(job->dtype);
    const char *p = (const char *)job->a + (size_t)first * (size_t)bytes;
    for (int64_t i = 0; i < n; i++, p += bytes)
        bf_product_take(job->dtype, words, bf_load_bits(p, bytes));
}
