/* What the tests of tables share: kinds, contexts, elements, saved forms. */
#ifndef BITFOLD_TESTS_TABLE_TABLES_H
#define BITFOLD_TESTS_TABLE_TABLES_H

#include "tests/support/forms.h"
#include "tests/support/oracle.h"

#include "rules/table/entry.h"

static const bf_dtype kinds[] = {BF_I32, BF_U32, BF_I64, BF_U64, BF_F32, BF_F64, BF_PAIR, BF_NONE};
enum { KEYS = 7, VALUES = 8, POLICIES = 6, MANY = 150000 };

/* One thread runs the loops of any machine, more the fastest. */
static inline bf_context *context_of(int threads) {
    bf_context *c = NULL;
    bf_options o = BF_OPTIONS(.threads = threads, .device = "cpu");
    if (threads == 1) o.isa = "generic";
    assert_int_equal(bf_context_create(&o, &c), BF_OK);
    return c;
}

static inline bool allowed(bf_duplicates policy, bf_dtype value) {
    if (policy == BF_DUPLICATES_ADD) return value >= BF_I32 && value <= BF_U64;
    bool compares = policy == BF_DUPLICATES_LEAST || policy == BF_DUPLICATES_GREATEST;
    return !compares || (value != BF_NONE && value != BF_PAIR);
}

/* n elements, out of about `spread` different ones: zeros, ones, and any bits. */
static inline void make(bf_dtype dtype, unsigned char *out, int64_t n, uint64_t spread,
                        uint64_t seed) {
    size_t bytes = (size_t)bf_key_bytes(dtype);
    for (int64_t i = 0; i < n; i++) {
        uint64_t which = next_random(&seed) % spread, bits[2] = {0, 0};
        if (which == 1) bits[0] = bits[1] = ~(uint64_t)0;
        if (which > 1) bits[0] = next_random(&which);
        if (which > 1) bits[1] = next_random(&which);
        memcpy(out + (size_t)i * bytes, bits, bytes);
    }
}

#endif
