/* The loops of reduce.c for one operation: a template.
 *
 * Parameters: NAME(f)     the name of f for this operation
 *             IDENTITY    what changes nothing
 *             JOIN        uint32_t (uint32_t, uint32_t)
 * Integers are uint32_t, whose arithmetic is modulo 2^32. */

/* One after another: each step waits for the one before. */
static uint32_t NAME(scalar)(const uint32_t *x, int64_t n) {
    uint32_t value = IDENTITY;
    for (int64_t i = 0; i < n; i++) {
        value = JOIN(value, x[i]);
        LADDER_AS_WRITTEN(value);
    }
    return value;
}

/* Four chains that do not wait for each other. */
static uint32_t NAME(unrolled)(const uint32_t *x, int64_t n) {
    uint32_t part[4] = {IDENTITY, IDENTITY, IDENTITY, IDENTITY};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++) {
            part[k] = JOIN(part[k], x[i + k]);
            LADDER_AS_WRITTEN(part[k]);
        }
    for (; i < n; i++) part[0] = JOIN(part[0], x[i]);
    return JOIN(JOIN(part[0], part[1]), JOIN(part[2], part[3]));
}

#undef NAME
#undef IDENTITY
#undef JOIN
