/* Comparisons of strings. Most are of a column with one string: their sizes differ, or their first
 * and last bytes do, and loops without branches find that. */
#include "cpu/expression/expression.h"

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

/* Returns the n + 1 offsets as aligned i64, if need be in `room`. NULL: of one string. */
static const int64_t *offsets_of(const bf_expression_text *x, int64_t *room, int64_t n) {
    if (x->offsets == NULL) return NULL;
    if (x->wide && (uintptr_t)x->offsets % _Alignof(int64_t) == 0) return (const void *)x->offsets;
    for (int64_t i = 0; i <= n; i++)
        room[i] = x->wide ? (int64_t)bf_load_bits(x->offsets + 8 * i, 8)
                          : (int32_t)bf_load_bits(x->offsets + 4 * i, 4);
    return room;
}

static const char *string_at(const bf_expression_text *x, const int64_t *offsets, int64_t i,
                             int64_t *size) {
    *size = offsets != NULL ? offsets[i + 1] - offsets[i] : x->size;
    return offsets != NULL ? x->bytes + offsets[i] : x->bytes;
}

static void compare_strings(int op, const bf_expression_text in[2], const int64_t *const offsets[2],
                            uint8_t *out, int64_t n) {
    bool equality = op == BF_MAP_EQ || op == BF_MAP_NE;
    for (int64_t i = 0; i < n; i++) {
        int64_t a_size, b_size;
        const char *a = string_at(&in[0], offsets[0], i, &a_size);
        const char *b = string_at(&in[1], offsets[1], i, &b_size);
        if (equality && a_size != b_size)
            out[i] = op == BF_MAP_NE;
        else
            out[i] = bf_map_holds(op, bf_expression_string_order(a, a_size, b, b_size));
    }
}

void bf_expression_compare(int op, const bf_expression_text in[2], uint8_t *out, int64_t n) {
    int64_t room[2][BF_TILE + 1];
    const int64_t *offsets[2];
    for (int k = 0; k < 2; k++) offsets[k] = offsets_of(&in[k], room[k], n);
    int column = offsets[0] != NULL ? 0 : 1;
    bool equality = op == BF_MAP_EQ || op == BF_MAP_NE;
    if (!equality || offsets[1 - column] != NULL) {
        compare_strings(op, in, offsets, out, n);
        return;
    }
    find_equal(offsets[column], in[column].bytes, &in[1 - column], out, n);
    for (int64_t i = 0; op == BF_MAP_NE && i < n; i++) out[i] ^= 1;
}
