/* bf_value: one result of any dtype. Plain data, whose layout never changes. */
#ifndef BITFOLD_VALUE_H
#define BITFOLD_VALUE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bf_value {
    bf_dtype dtype; /* says which member holds the value */
    int32_t scale;  /* an integer's: the value is it times 10^-scale; else 0 */
    union {
        int64_t i64;      /* BF_BOOL (0 or 1), BF_I8 ... BF_I64 */
        uint64_t u64;     /* BF_U8 ... BF_U64 */
        double f64;       /* BF_F64 */
        float f32;        /* BF_F32 */
        uint16_t bits;    /* BF_F16, BF_BF16 */
        uint64_t i192[3]; /* BF_I192, least significant word first */
    } as;
} bf_value;

/* The greatest scale of integers of up to 64 bits, which hold 18 digits, and of BF_I128, which hold
 * 38. */
#define BF_SCALE_MOST 18
#define BF_SCALE_MOST_I128 38

/* The longest text that bf_value_format writes, with its NUL. */
#define BF_VALUE_TEXT 96

/* Writes the value as decimal text, whatever the locale: integers with every digit, and of a scale
 * without zeros at the end of their fraction; floats as the shortest decimal that reads back to the
 * same bits, in the form of Python's repr without a final ".0" (1, 0.1, 1e+22, -0, inf, nan). */
BF_API void bf_value_format(const bf_value *value, char text[BF_VALUE_TEXT]);

/* Writes the value in hexadecimal: floats as C's %a prints them (f16 and bf16 as the double they
 * equal), integers as a sign, 0x and the digits of the magnitude, whatever their scale. */
BF_API void bf_value_format_hex(const bf_value *value, char text[BF_VALUE_TEXT]);

/* The value as a C type. BF_E_OVERFLOW if it is no whole number, or one that does not fit.
 * bf_value_f64 rounds integers once, to nearest even, and always succeeds. */
BF_API bf_status bf_value_i64(const bf_value *value, int64_t *out);
BF_API bf_status bf_value_u64(const bf_value *value, uint64_t *out);
BF_API double bf_value_f64(const bf_value *value);

#ifdef __cplusplus
}
#endif
#endif
