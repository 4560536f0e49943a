/* Comparisons of strings. Most are of a column with one string: their sizes differ, or their first
 * and last bytes do, and loops without branches find that. */
#include "cpu/expression/reader.h"

#include "rules/expression/string.h"
#include "rules/map/map.h"

/* ---- equal to one string --------------------------------------------------------------------- */

/* Compares sizes, and `part` bytes at the begin and at the end. */
static inline __attribute__((always_inline)) void compare_ends(const int64_t *offsets,
                                                               const char *bytes,
                                                               const bf_expression_text *one,
                                                               int part, uint8_t *out, int64_t n) {
    int64_t size = one->size, last = size - part;
    uint64_t head = bf_load_bits(one->bytes, part), tail = bf_load_bits(one->bytes + last, part);
    for (int64_t i = 0; i < n; i++) {
        bool same = offsets[i + 1] - offsets[i] == size;
        /* As many bytes may be read there. A choice would become a branch. */
        uintptr_t there = (uintptr_t)(bytes + offsets[i]), here = (uintptr_t)one->bytes;
        const char *at = (const char *)(here ^ ((there ^ here) & -(uintptr_t)same));
        uint64_t other = bf_load_bits(at, part) ^ head;
        other |= bf_load_bits(at + last, part) ^ tail;
        out[i] = same & (other == 0);
    }
}

static void find_empty(const int64_t *offsets, uint8_t *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = offsets[i] == offsets[i + 1];
}

static void find_equal(const int64_t *offsets, const char *bytes, const bf_expression_text *one,
                       uint8_t *out, int64_t n) {
    int part = one->size >= 8 ? 8 : one->size >= 4 ? 4 : one->size >= 2 ? 2 : (int)one->size;
    switch (part) {
    case 0: find_empty(offsets, out, n); break;
    case 1: compare_ends(offsets, bytes, one, 1, out, n); break;
    case 2: compare_ends(offsets, bytes, one, 2, out, n); break;
    case 4: compare_ends(offsets, bytes, one, 4, out, n); break;
    default: compare_ends(offsets, bytes, one, 8, out, n);
    }
    for (int64_t i = 0; one->size > 2 * part && i < n; i++)
        if (out[i])
            out[i] = memcmp(bytes + offsets[i] + part, one->bytes + part,
                            (size_t)(one->size - 2 * part)) == 0;
}

/* ---- any comparison -------------------------------------------------------------------------- */

static void compare_strings(int op, const bf_expression_reader *x, const bf_expression_reader *y,
                            uint8_t *out, int64_t n) {
    bool equality = op == BF_MAP_EQ || op == BF_MAP_NE;
    for (int64_t i = 0; i < n; i++) {
        const bf_expression_span a = bf_expression_read(x, i), b = bf_expression_read(y, i);
        if (equality && a.size != b.size)
            out[i] = op == BF_MAP_NE;
        else
            out[i] = bf_map_holds(op, bf_expression_string_order(a.at, a.size, b.at, b.size));
    }
}

void bf_expression_compare(const bf_expression_call *c, bf_expression_room *room) {
    const int op = c->step->op;
    uint8_t *out = c->out;
    bf_expression_reader in[2];
    for (int k = 0; k < 2; k++) bf_expression_open(&c->text[k], &in[k], room->in[k], c->n);
    const int column = in[0].offsets != NULL ? 0 : 1;
    const bool equality = op == BF_MAP_EQ || op == BF_MAP_NE;
    const bool with_one = in[1 - column].offsets == NULL && in[1 - column].spans == NULL;
    if (!equality || in[column].offsets == NULL || !with_one) {
        compare_strings(op, &in[0], &in[1], out, c->n);
        return;
    }
    find_equal(in[column].offsets, in[column].bytes, &c->text[1 - column], out, c->n);
    for (int64_t i = 0; op == BF_MAP_NE && i < c->n; i++) out[i] ^= 1;
}
