/* The loops that find bins, for the instruction set that includes this. */
#include "cpu/histogram/histogram.h"
#include "cpu/runtime/vector.h"
#include "rules/histogram/bin.h"

enum { BIN_GROUP = 64 }; /* elements whose doubts are looked at together */

typedef float bin_vf32 __attribute__((vector_size(sizeof(vf64))));
typedef int32_t bin_vi32 __attribute__((vector_size(sizeof(vf64))));
typedef uint32_t bin_vu32 __attribute__((vector_size(sizeof(vf64))));
typedef uint32_t bin_half __attribute__((vector_size(sizeof(vf64) / 2)));

INLINE bin_vf32 bin_whole_f32(bin_vf32 t, bin_vi32 *i) {
    *i = __builtin_convertvector(t, bin_vi32);
    return __builtin_convertvector(*i, bin_vf32);
}

/* Added to 2^52, t is rounded to an integer, which is the last bits of the sum. */
INLINE vf64 bin_whole_f64(vf64 t, vi64 *i) {
    const vf64 big = 0x1p52 - (vf64){0}, nearest = (t + big) - big;
    const vf64 whole = nearest - (vf64)((vi64)(1.0 - (vf64){0}) & (nearest > t));
    *i = (vi64)(whole + big) & 0xffffffff;
    return whole;
}

INLINE void bin_store_f32(uint32_t *bin, bin_vi32 i) { memcpy(bin, &i, sizeof i); }
INLINE void bin_store_f64(uint32_t *bin, vi64 i) {
    const bin_half half = __builtin_convertvector(i, bin_half);
    memcpy(bin, &half, sizeof half);
}

INLINE bool bin_any(const void *mask) {
    uint64_t lanes[sizeof(vf64) / 8], any = 0;
    memcpy(lanes, mask, sizeof lanes);
    UNROLL
    for (size_t k = 0; k < sizeof(vf64) / 8; k++) any |= lanes[k];
    return any != 0;
}

#define NAME f32
#define T float
#define VECTOR bin_vf32
#define INDEX int32_t
#define MASK bin_vi32
#define BITS bin_vu32
#define WHOLE bin_whole_f32
#define GUESSED bf_bin_guessed_f32
#include "cpu/histogram/bin_loops.h"

#define NAME f64
#define T double
#define VECTOR vf64
#define INDEX int64_t
#define MASK vi64
#define BITS vu64
#define WHOLE bin_whole_f64
#define GUESSED bf_bin_guessed
#include "cpu/histogram/bin_loops.h"

static const bf_histogram_loops histogram_loops = {
    .bin_f32 = bin_of_f32,
    .bin_f64 = bin_of_f64,
    .bin_bytes_f32 = bin_bytes_of_f32,
    .bin_bytes_f64 = bin_bytes_of_f64,
};
