/* The loops over whole regions, and those before a bulk insertion, for one width of keys and one of
 * values: a part of loops.h. */

/* ---- whole regions ----------------------------------------------------------------------------
 */

static bool LOOP(move)(const bf_cpu_table *t, uint64_t region, bf_buckets *to) {
    const bf_buckets *s = &t->buckets;
    for (uint64_t b = region << s->shift; b < (region + 1) << s->shift; b++) {
        char *from = s->first + b * BUCKET;
        for (int i = 0; i < SLOTS; i++) {
            int slot;
            KEY_T key = LOOP(key_at)(from, i);
            if (key == 0) break;
            uint64_t home = LOOP(home)(to, key);
            if (to->regions[home >> to->shift].used++ >= to->limit) return false;
            char *at = LOOP(free_slot)(to, home, &slot);
            memcpy(at + slot * KEY, &key, KEY);
            memcpy(LOOP(value_at)(at, slot), LOOP(value_at)(from, i), VALUE);
        }
    }
    return true;
}

static void LOOP(collect)(const bf_cpu_table *t, uint64_t region, char *keys, char *values) {
    const bf_buckets *s = &t->buckets;
    const KEY_T pattern = LOOP(pattern)(t);
    for (uint64_t b = region << s->shift; b < (region + 1) << s->shift; b++) {
        char *from = s->first + b * BUCKET;
        for (int i = 0; i < SLOTS; i++) {
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
    const bf_buckets buckets = t->buckets;
    const KEY_T pattern = LOOP(pattern)(t);
    for (int64_t i = first; i < first + n; i++)
        counts[LOOP(home)(&buckets, LOOP(key)(pattern, &e, i)) >> shift]++;
}

/* Counts only keys that the table does not have. */
static void LOOP(count_new)(const bf_cpu_table *t, const bf_entries *e, int64_t first, int64_t n,
                            int shift, uint32_t *counts) {
    LOOP(block) b;
    for (int64_t done = 0; done < n; done += BF_TABLE_BLOCK) {
        int now = (int)(n - done < BF_TABLE_BLOCK ? n - done : BF_TABLE_BLOCK);
        LOOP(load_block)(t, e, first + done, now, &b);
        for (int i = 0; i < now; i++)
            if (LOOP(look_up)(t, b.key[i], b.home[i]) == NULL) counts[b.home[i] >> shift]++;
    }
}

static void LOOP(scatter)(const bf_cpu_table *t, const bf_entries *entries, int64_t first,
                          int64_t n, int shift, int64_t *at, char *rows) {
    const bf_entries e = *entries; /* copies, which no row that is written can change */
    const bf_buckets buckets = t->buckets;
    const KEY_T pattern = LOOP(pattern)(t);
    bf_run run = {0, 1};
    for (int64_t i = first; i < first + n; i++) {
        const char *value = (const char *)&run;
        KEY_T key = LOOP(key)(pattern, &e, i);
        char *row = rows + at[LOOP(home)(&buckets, key) >> shift]++ * ENTRY;
        __builtin_prefetch(row + BF_CPU_LINE, 1);
        key ^= pattern;
        run.tail = e.node + i;
        if (e.values != NULL) value = e.values + (size_t)i * e.value_step;
        memcpy(row, &key, KEY);
        memcpy(row + KEY, value, VALUE);
    }
}
