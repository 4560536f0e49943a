/* The plain loops for one element type and one vector width: a template.
 *
 * Parameters: T           the element type, and of the sum
 *             LANES       bytes of a vector
 *             TARGET      the function attribute that allows vectors of that size
 *             NAME(f)     the name of f for this type and width
 *             STREAM(p,v) stores v at p past the caches; FENCE() ends such stores
 * Eight accumulators hide the latency of an add. */

enum { NAME(STEP) = 8 * LANES };

typedef T NAME(vector) __attribute__((vector_size(LANES), aligned(sizeof(T)), may_alias));

/* True for the first vector of each cache line: one prefetch a line is enough. */
#define OPENS_LINE(k) ((k)*LANES % 64 == 0)

/* Returns the sum of the eight accumulators. */
TARGET static inline T NAME(total)(const NAME(vector) part[8]) {
    NAME(vector)
    sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    T total = 0;
    for (size_t lane = 0; lane < LANES / sizeof(T); lane++) total += sum[lane];
    return total;
}

TARGET static inline double NAME(sum)(const void *a, const void *b, size_t bytes, size_t ahead) {
    (void)b;
    const T *x = a;
    NAME(vector) part[8] = {{0}};
    size_t done = bytes - bytes % NAME(STEP);
    for (size_t i = 0; i < done; i += NAME(STEP)) {
        const NAME(vector) *v = (const void *)((const char *)x + i);
        for (int k = 0; k < 8; k++) {
            if (ahead && OPENS_LINE(k)) __builtin_prefetch((const char *)(v + k) + ahead);
            part[k] += v[k];
        }
    }
    T total = NAME(total)(part);
    for (size_t i = done / sizeof(T); i < bytes / sizeof(T); i++) total += x[i];
    return (double)total;
}

TARGET static inline double NAME(dot)(const void *a, const void *b, size_t bytes, size_t ahead) {
    const T *x = a, *y = b;
    NAME(vector) part[8] = {{0}};
    size_t done = bytes - bytes % NAME(STEP);
    for (size_t i = 0; i < done; i += NAME(STEP)) {
        const NAME(vector) *v = (const void *)((const char *)x + i);
        const NAME(vector) *w = (const void *)((const char *)y + i);
        for (int k = 0; k < 8; k++) {
            if (ahead && OPENS_LINE(k)) {
                __builtin_prefetch((const char *)(v + k) + ahead);
                __builtin_prefetch((const char *)(w + k) + ahead);
            }
            part[k] += v[k] * w[k];
        }
    }
    T total = NAME(total)(part);
    for (size_t i = done / sizeof(T); i < bytes / sizeof(T); i++) total += x[i] * y[i];
    return (double)total;
}

/* Stores a + b in a third vector, as far behind b as b is behind a. Long vectors are stored past
 * the caches, so that the old contents are not read. */
TARGET static inline double NAME(add)(const void *a, const void *b, size_t bytes, size_t ahead) {
    const T *x = a, *y = b;
    T *z = (T *)(uintptr_t)(y + (y - x));
    size_t done = bytes - bytes % NAME(STEP);
    bool stream = bytes > PLAIN_CACHED;
    for (size_t i = 0; i < done; i += NAME(STEP)) {
        const NAME(vector) *v = (const void *)((const char *)x + i);
        const NAME(vector) *w = (const void *)((const char *)y + i);
        NAME(vector) *out = (void *)((char *)z + i);
        for (int k = 0; k < 8; k++) {
            if (ahead && OPENS_LINE(k)) {
                __builtin_prefetch((const char *)(v + k) + ahead);
                __builtin_prefetch((const char *)(w + k) + ahead);
            }
            if (stream)
                STREAM(out + k, v[k] + w[k]);
            else
                out[k] = v[k] + w[k];
        }
    }
    for (size_t i = done / sizeof(T); i < bytes / sizeof(T); i++) z[i] = x[i] + y[i];
    FENCE();
    return 0;
}

#undef OPENS_LINE
#undef T
#undef NAME
