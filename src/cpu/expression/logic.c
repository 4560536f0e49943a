/* The logic of three values (Kleene), and of what is NULL. The loops have no branches, so that
 * compilers make vectors of them. */
#include "cpu/expression/expression.h"

/* ---- without NULLs --------------------------------------------------------------------------- */

static void decide_plain(int op, const uint8_t *a, const uint8_t *b, uint8_t *out, int64_t n) {
    switch (op) {
    case BF_EXPRESSION_AND:
        for (int64_t i = 0; i < n; i++) out[i] = (a[i] != 0) & (b[i] != 0);
        break;
    case BF_EXPRESSION_OR:
        for (int64_t i = 0; i < n; i++) out[i] = (a[i] | b[i]) != 0;
        break;
    case BF_EXPRESSION_UNMET:
        for (int64_t i = 0; i < n; i++) out[i] = a[i] == 0;
        break;
    case BF_EXPRESSION_ISNULL: memset(out, 0, (size_t)n); break;
    default:
        for (int64_t i = 0; i < n; i++) out[i] = a[i] != 0; /* MET, MAYBE */
    }
}

/* ---- with NULLs ------------------------------------------------------------------------------ */

enum { BLOCK = 256 };

/* True and false of up to BLOCK elements; neither is NULL. */
typedef struct truth {
    uint8_t yes[BLOCK], no[BLOCK];
} truth;

static void find_truth(const bf_expression_bools *x, int64_t first, int64_t n, truth *t) {
    const uint8_t *value = x->value + first;
    for (int64_t i = 0; i < n; i++) t->yes[i] = value[i] != 0;
    for (int64_t i = 0; i < n; i++) t->no[i] = value[i] == 0;
    if (x->valid == NULL) return;
    const uint8_t *valid = x->valid + first;
    for (int64_t i = 0; i < n; i++) {
        t->yes[i] &= valid[i];
        t->no[i] &= valid[i];
    }
}

static void join_truth(int op, const truth *a, const truth *b, uint8_t *out, uint8_t *valid,
                       int64_t n) {
    if (op == BF_EXPRESSION_AND)
        for (int64_t i = 0; i < n; i++) {
            out[i] = a->yes[i] & b->yes[i];
            valid[i] = out[i] | a->no[i] | b->no[i];
        }
    else
        for (int64_t i = 0; i < n; i++) {
            out[i] = a->yes[i] | b->yes[i];
            valid[i] = out[i] | (a->no[i] & b->no[i]);
        }
}

static void decide_one(int op, const truth *t, uint8_t *out, int64_t n) {
    if (op == BF_EXPRESSION_MET) memcpy(out, t->yes, (size_t)n);
    if (op == BF_EXPRESSION_UNMET)
        for (int64_t i = 0; i < n; i++) out[i] = t->yes[i] ^ 1;
    if (op == BF_EXPRESSION_MAYBE)
        for (int64_t i = 0; i < n; i++) out[i] = t->no[i] ^ 1;
}

void bf_expression_decide(int op, const bf_expression_bools *in, uint8_t *out, uint8_t *valid,
                          int64_t n) {
    bool two = op == BF_EXPRESSION_AND || op == BF_EXPRESSION_OR;
    truth a, b;
    if (in[0].valid == NULL && (!two || in[1].valid == NULL)) {
        decide_plain(op, in[0].value, in[1].value, out, n);
        return;
    }
    if (op == BF_EXPRESSION_ISNULL) {
        for (int64_t i = 0; i < n; i++) out[i] = in[0].valid[i] ^ 1;
        return;
    }
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t count = n - at < BLOCK ? n - at : BLOCK;
        find_truth(&in[0], at, count, &a);
        if (two) find_truth(&in[1], at, count, &b);
        if (two)
            join_truth(op, &a, &b, out + at, valid + at, count);
        else
            decide_one(op, &a, out + at, count);
    }
}

void bf_expression_both(const uint8_t *a, const uint8_t *b, uint8_t *to, int64_t n) {
    if (a == NULL)
        memmove(to, b, (size_t)n);
    else
        for (int64_t i = 0; i < n; i++) to[i] = a[i] & b[i];
}

/* ---- bits ------------------------------------------------------------------------------------ */

static bool bit_of(const uint8_t *bits, int64_t i) { return bits[i >> 3] >> (i & 7) & 1; }

/* Are bits [first, end) all 1? */
static bool all_ones(const uint8_t *bits, int64_t first, int64_t end) {
    for (; first < end && (first & 7) != 0; first++)
        if (!bit_of(bits, first)) return false;
    for (; end - first >= 8; first += 8)
        if (bits[first >> 3] != 255) return false;
    for (; first < end; first++)
        if (!bit_of(bits, first)) return false;
    return true;
}

bool bf_expression_expand(const uint8_t *bits, int64_t first, int64_t n, uint8_t *bytes) {
    if (all_ones(bits, first, first + n)) return false;
    int64_t i = 0;
    for (; i < n && ((first + i) & 7) != 0; i++) bytes[i] = bit_of(bits, first + i);
    for (; n - i >= 8; i += 8) {
        unsigned eight = bits[(first + i) >> 3];
        for (int k = 0; k < 8; k++) bytes[i + k] = eight >> k & 1;
    }
    for (; i < n; i++) bytes[i] = bit_of(bits, first + i);
    return true;
}
