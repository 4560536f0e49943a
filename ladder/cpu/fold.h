/* A reduction in vectors, for one operation and one instruction set: a template.
 *
 * Parameters: FOLD        the function's name
 *             JOIN(a, b)  an expression of two ladder_words
 *             TARGET      the function attribute that allows the instruction set
 * Four chains of sixteen lanes; each vector is a cache line, asked for ahead of time. */

TARGET static void FOLD(const uint32_t *x, int64_t steps, uint32_t lanes[LADDER_LANES]) {
    const ladder_words *v = (const ladder_words *)x;
    ladder_words part[LADDER_CHAINS];
    for (int k = 0; k < LADDER_CHAINS; k++) part[k] = v[k];
    for (int64_t i = 1; i < steps; i++) {
        v += LADDER_CHAINS;
        for (int k = 0; k < LADDER_CHAINS; k++) {
            __builtin_prefetch((const char *)(v + k) + LADDER_AHEAD);
            part[k] = JOIN(part[k], v[k]);
        }
    }
    for (int k = 1; k < LADDER_CHAINS; k++) part[0] = JOIN(part[0], part[k]);
    memcpy(lanes, &part[0], sizeof part[0]);
}

#undef FOLD
#undef JOIN
