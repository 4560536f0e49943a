/* The table of an instruction set's loops of selection: with those of dtypes of 1 and 2 bytes,
 * which go by their places.
 *
 * Parameter: SELECT_LOOPS, the name of the table. Its file has defined LOOP_u32 and so on for every
 * dtype of 4 and 8 bytes, for the loops places, keep, count and seek. */

/* Elements that are looked at together become places first. */
INLINE size_t seek_narrow(bf_dtype dtype, const char *x, size_t n, bf_bracket bracket,
                          uint64_t *hits) {
    const size_t bytes = (size_t)bf_dtype_bytes(dtype);
    char places[BF_SEEK * 4];
    for (size_t first = 0; first < n; first += BF_SEEK) {
        const size_t m = n - first < BF_SEEK ? n - first : BF_SEEK;
        bf_write_places(dtype, x + first * bytes, m, places);
        if (seek_u32(places, m, bracket, hits) < m) return first;
    }
    *hits = 0;
    return n;
}

#define NARROW_LOOPS(dtype, id)                                                                    \
    static void places_##dtype(const char *x, size_t n, char *to) {                                \
        bf_write_places(id, x, n, to);                                                             \
    }                                                                                              \
    static size_t seek_##dtype(const char *x, size_t n, bf_bracket bracket, uint64_t *hits) {      \
        return seek_narrow(id, x, n, bracket, hits);                                               \
    }
NARROW_LOOPS(bool, BF_BOOL)
NARROW_LOOPS(i8, BF_I8)
NARROW_LOOPS(u8, BF_U8)
NARROW_LOOPS(i16, BF_I16)
NARROW_LOOPS(u16, BF_U16)
NARROW_LOOPS(f16, BF_F16)
NARROW_LOOPS(bf16, BF_BF16)

#define WIDE_ENTRIES(loop)                                                                         \
    [BF_I32] = loop##_i32, [BF_U32] = loop##_u32, [BF_F32] = loop##_f32, [BF_I64] = loop##_i64,    \
    [BF_U64] = loop##_u64, [BF_F64] = loop##_f64
#define NARROW_ENTRIES(loop)                                                                       \
    [BF_BOOL] = loop##_bool, [BF_I8] = loop##_i8, [BF_U8] = loop##_u8, [BF_I16] = loop##_i16,      \
    [BF_U16] = loop##_u16, [BF_F16] = loop##_f16, [BF_BF16] = loop##_bf16

const bf_select_loops SELECT_LOOPS = {
    .places = {WIDE_ENTRIES(places), NARROW_ENTRIES(places)},
    .keep = {WIDE_ENTRIES(keep)},
    .count = {WIDE_ENTRIES(count)},
    .seek = {WIDE_ENTRIES(seek), NARROW_ENTRIES(seek)},
};
