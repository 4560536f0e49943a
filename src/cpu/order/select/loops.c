/* The loops of selection for any machine. */
#include "cpu/order/select/select.h"
#include "cpu/runtime/vector.h"

enum { BLOCK = 512 }; /* elements: their places stay in the L1 cache */

#define WORD uint32_t
#define NAME(loop) JOIN(loop, _4)
#include "cpu/order/select/plain.h"
#define WORD uint64_t
#define NAME(loop) JOIN(loop, _8)
#include "cpu/order/select/plain.h"

#define WIDE_LOOPS(dtype, id, bytes)                                                               \
    static void places_##dtype(const char *x, size_t n, char *to) {                                \
        bf_write_places(id, x, n, to);                                                             \
    }                                                                                              \
    static size_t keep_##dtype(const char *x, size_t n, const bf_bracket *brackets, int q,         \
                               int64_t *from, char *to) {                                          \
        return keep_##bytes(id, x, n, brackets, q, from, to);                                      \
    }                                                                                              \
    static void count_##dtype(const char *x, size_t n, const uint64_t *cuts, int q,                \
                              int64_t *from) {                                                     \
        count_##bytes(id, x, n, cuts, q, from);                                                    \
    }                                                                                              \
    static size_t seek_##dtype(const char *x, size_t n, bf_bracket bracket, uint64_t *hits) {      \
        return seek_##bytes(id, x, n, bracket, hits);                                              \
    }
WIDE_LOOPS(i32, BF_I32, 4)
WIDE_LOOPS(u32, BF_U32, 4)
WIDE_LOOPS(f32, BF_F32, 4)
WIDE_LOOPS(i64, BF_I64, 8)
WIDE_LOOPS(u64, BF_U64, 8)
WIDE_LOOPS(f64, BF_F64, 8)

#define SELECT_LOOPS bf_select_loops_generic
#include "cpu/order/select/table.h"
