/* The loops of selection for any machine. */
#include "cpu/order/select.h"

#define INLINE static inline __attribute__((always_inline))

INLINE void write_places(bf_dtype dtype, const char *x, size_t n, char *to) {
    const int from_bytes = bf_dtype_bytes(dtype), to_bytes = bf_place_bytes(dtype);
    for (size_t i = 0; i < n; i++) {
        uint64_t element = bf_load_bits(x + i * (size_t)from_bytes, from_bytes);
        bf_store_bits(to + i * (size_t)to_bytes, to_bytes,
                      bf_order_place(dtype, BF_ASCENDING, element));
    }
}

#define BLOCK 512 /* elements: their places stay in the L1 cache */

#define WORD uint32_t
#define NAME(name) name##_4
#include "cpu/order/select_plain.h"
#define WORD uint64_t
#define NAME(name) name##_8
#include "cpu/order/select_plain.h"

INLINE size_t seek_places(bf_dtype dtype, const char *x, size_t n, bf_bracket bracket,
                          uint64_t *hits) {
    const size_t bytes = (size_t)bf_dtype_bytes(dtype);
    const uint64_t width = bracket.hi - bracket.lo;
    for (size_t first = 0; first < n; first += BF_SEEK) {
        const size_t m = n - first < BF_SEEK ? n - first : BF_SEEK;
        uint64_t found = 0;
        for (size_t i = 0; i < m; i++) {
            const uint64_t element = bf_load_bits(x + (first + i) * bytes, (int)bytes);
            const uint64_t place = bf_order_place(dtype, BF_ASCENDING, element);
            found |= (uint64_t)(place - bracket.lo <= width) << i;
        }
        *hits = found;
        if (found != 0) return first;
    }
    return n;
}

#define LOOPS(dtype, id, bytes)                                                                    \
    static void places_##dtype(const char *x, size_t n, char *to) { write_places(id, x, n, to); }  \
    static size_t seek_##dtype(const char *x, size_t n, bf_bracket bracket, uint64_t *hits) {      \
        return seek_places(id, x, n, bracket, hits);                                               \
    }
#define WIDE_LOOPS(dtype, id, bytes)                                                               \
    LOOPS(dtype, id, bytes)                                                                        \
    static size_t keep_##dtype(const char *x, size_t n, const bf_bracket *brackets, int q,         \
                               int64_t *from, char *to) {                                          \
        return keep_##bytes(id, x, n, brackets, q, from, to);                                      \
    }                                                                                              \
    static void count_##dtype(const char *x, size_t n, const uint64_t *cuts, int q,                \
                              int64_t *from) {                                                     \
        count_##bytes(id, x, n, cuts, q, from);                                                    \
    }
LOOPS(bool, BF_BOOL, 1)
LOOPS(i8, BF_I8, 1)
LOOPS(u8, BF_U8, 1)
LOOPS(i16, BF_I16, 2)
LOOPS(u16, BF_U16, 2)
LOOPS(f16, BF_F16, 2)
LOOPS(bf16, BF_BF16, 2)
WIDE_LOOPS(i32, BF_I32, 4)
WIDE_LOOPS(u32, BF_U32, 4)
WIDE_LOOPS(f32, BF_F32, 4)
WIDE_LOOPS(i64, BF_I64, 8)
WIDE_LOOPS(u64, BF_U64, 8)
WIDE_LOOPS(f64, BF_F64, 8)

#define ENTRIES(loop)                                                                              \
    {                                                                                              \
        WIDE_ENTRIES(loop), [BF_BOOL] = loop##_bool, [BF_I8] = loop##_i8, [BF_U8] = loop##_u8,     \
                            [BF_I16] = loop##_i16, [BF_U16] = loop##_u16, [BF_F16] = loop##_f16,   \
                            [BF_BF16] = loop##_bf16                                                \
    }
#define WIDE_ENTRIES(loop)                                                                         \
    [BF_I32] = loop##_i32, [BF_U32] = loop##_u32, [BF_F32] = loop##_f32, [BF_I64] = loop##_i64,    \
    [BF_U64] = loop##_u64, [BF_F64] = loop##_f64

const bf_select_loops bf_select_loops_generic = {
    .places = ENTRIES(places),
    .keep = {WIDE_ENTRIES(keep)},
    .count = {WIDE_ENTRIES(count)},
    .seek = ENTRIES(seek),
};
