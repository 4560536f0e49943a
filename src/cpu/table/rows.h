/* The loops over whole regions, and those that prepare a bulk insertion, for one width of keys and
 * one of values, as loops.h. */

/* ---- all of a region ------------------------------------------------------------------------- */

static bool LOOP(move)(const bf_cpu_table *t, uint64_t region, bf_slots *to) {
    const bf_slots *s = &t->slots;
    for (uint64_t b = region << s->shift; b < (region + 1) << s->shift; b++) {
        char *from = s->buckets + b * BUCKET;
        for (int i = 0; i < PLACES; i++) {
            int place;
            KEY_T key = LOOP(key_at)(from, i);
            if (key == 0) break;
            uint64_t home = LOOP(home)(to, key);
            if (to->regions[home >> to->shift].used++ >= to->limit) return false;
            char *at = LOOP(free_place)(to, home, &place);
            memcpy(at + place * KEY, &key, KEY);
            memcpy(LOOP(value_at)(at, place), LOOP(value_at)(from, i), VALUE);
        }
    }
    return true;
}

static void LOOP(collect)(const bf_cpu_table *t, uint64_t region, char *keys, char *values) {
    const bf_slots *s = &t->slots;
    const KEY_T pattern = LOOP(pattern)(t);
    for (uint64_t b = region << s->shift; b < (region + 1) << s->shift; b++) {
        char *from = s->buckets + b * BUCKET;
        for (int i = 0; i < PLACES; i++) {
            KEY_T key = LOOP(key_at)(from, i);
            if (key == 0) break;
            key ^= pattern;
            memcpy(keys, &key, KEY);
            keys += KEY;
            if (values == NULL) continue;
            memcpy(values, LOOP(value_at)(from, i), VALUE);
            values += VALUE;
        }
    }
}

/* ---- before a bulk insertion ----------------------------------------------------------------- */

static void LOOP(count)(const bf_cpu_table *t, const bf_entries *entries, int64_t first, int64_t n,
                        int shift, uint32_t *counts) {
    const bf_entries e = *entries;
    const bf_slots slots = t->slots;
    const KEY_T pattern = LOOP(pattern)(t);
    for (int64_t i = first; i < first + n; i++)
        counts[LOOP(home)(&slots, LOOP(key)(pattern, &e, i)) >> shift]++;
}

/* As count, but only of keys that the table does not have. */
static void LOOP(count_new)(const bf_cpu_table *t, const bf_entries *e, int64_t first, int64_t n,
                            int shift, uint32_t *counts) {
    LOOP(block) b;
    for (int64_t done = 0; done < n; done += BF_TABLE_BLOCK) {
        int now = (int)(n - done < BF_TABLE_BLOCK ? n - done : BF_TABLE_BLOCK);
        LOOP(load)(t, e, first + done, now, &b);
        for (int i = 0; i < now; i++)
            if (LOOP(look_up)(t, b.key[i], b.home[i]) == NULL) counts[b.home[i] >> shift]++;
    }
}

static void LOOP(scatter)(const bf_cpu_table *t, const bf_entries *entries, int64_t first,
                          int64_t n, int shift, int64_t *at, char *rows) {
    const bf_entries e = *entries; /* copies, which no row that is written can change */
    const bf_slots slots = t->slots;
    const KEY_T pattern = LOOP(pattern)(t);
    bf_chain chain = {0, 1};
    for (int64_t i = first; i < first + n; i++) {
        const char *value = (const char *)&chain;
        KEY_T key = LOOP(key)(pattern, &e, i);
        char *row = rows + at[LOOP(home)(&slots, key) >> shift]++ * ENTRY;
        __builtin_prefetch(row + BF_CPU_LINE, 1);
        key ^= pattern;
        chain.tail = e.node + i;
        if (e.values != NULL) value = e.values + (size_t)i * e.value_step;
        memcpy(row, &key, KEY);
        memcpy(row + KEY, value, VALUE);
    }
}
