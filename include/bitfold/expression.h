/* Expressions: element-wise arithmetic of several arrays, from text.
 *
 *     const char *names[] = {"a", "b"};
 *     const bf_dtype dtypes[] = {BF_F64, BF_F64};
 *     bf_expression *e;
 *     bf_expression_parse(context, "(a - b)**2", names, dtypes, 2, NULL, NULL, &e);
 *     bf_state_absorb_expression(state, e, columns);
 *
 * An expression is parsed once, for columns that have names and dtypes. Its operations are those of
 * bf_map: each is rounded once, and none is contracted with another. It is computed in tiles that
 * stay in the caches, so that its intermediate results take no memory and no time to store.
 *
 *     a, `unit price`    a column. A name is of letters, digits, _ and bytes beyond ASCII, and does
 *                        not begin with a digit; any others stand between ` and `
 *     1, 0x1f, 2.5e-3    plain numbers: integers up to 64 bits, or 38 digits, and floats (0x1.8p3)
 *     "Lagos", 'Lagos'   strings
 *     null               NULL, of the dtype of what it stands beside
 *     f(x, ...)          of one: abs sqrt floor ceil isnan is_null (or isnull) log log2 log10 exp;
 *                        of two: pow; of three: fma; of two and more: min max coalesce
 *     round(x, n)        to n digits behind the point, from -18 to 18; ties to even
 *     if(c, x, y)        c ? x : y
 *     x**3               a whole power from 0 to 64, as products from the left
 *     - !
 *     * / %              / of integers gives f64; % has the sign of the divisor, as in Python
 *     + -
 *     == != < <= > >= =~ give bools; they do not follow each other without && or brackets
 *     &&                 of bools; other operands are true if they are not 0
 *     ||
 *     x ? y : z          y where x is true, else z
 *
 * Those that bind most come first; ** takes a number alone on its right, and binds more than a sign
 * on its left. Operations of one line group from the left, ?: from the right.
 *
 * Between quotes any bytes stand for themselves, but two quotes of the same kind for one of them:
 * 'it''s', "a ""word""", `a``b`. There are no other escapes.
 *
 * Dtypes are those of bf_map: NumPy 2's promotion, where numbers take the dtype of the columns
 * unless they are of a higher kind. Operations of numbers alone give numbers: 1/3 times an f32 is
 * an f32. floor and ceil leave integers as they are. docs/numerics.md has the details.
 *
 * Decimals, where options give scales: integers in units of a power of ten, and of the numbers in
 * the text those of at most 15 digits, such as 0.1, where they meet integers. + - * % min max abs
 * fma, whole powers, ?: and comparisons of these are exact: 0.1 + 0.2 == 0.3. A result that 64 bits
 * do not hold is an error, as of integers, and one with more than BF_SCALE_MOST digits behind the
 * point, too. i64 with u64 gives i128. / and other functions take each value rounded once to f64,
 * and so does an operation on a float.
 *
 * i128: an operation on a column of BF_I128 and other integers gives BF_I128, and with the option
 * `wide` so does every operation on integers. A result of more than 38 digits, which is one of
 * 10^38 and beyond, or with more than BF_SCALE_MOST_I128 digits behind the point is an error; so is
 * the product in fma. Decimals come to one scale before they are added, and must fit
 * it; comparisons in 128 bits of numbers below 10^38 never fail. Where integers wrap around or
 * saturate, decimals of several scales are compared in 128 bits. BF_OVERFLOW_WRAP computes modulo
 * 2^128. Beside i128 and decimals, and with `wide`, integers in the text have up to 38 digits. The
 * CPU computes: arrays in a GPU's memory are refused (BF_E_DEVICE).
 *
 * Strings are compared with strings, by their bytes: each is less than what it begins. s =~
 * "pattern" is true where a POSIX extended regular expression matches some part of s, byte by byte;
 * no dot matches a zero byte. length(s) counts characters of UTF-8, of which a byte that belongs to
 * none is one; contains(s, part), starts and ends are bools. substr(s, from, n) has the characters
 * of the numbers from `from` to from + n - 1, where the first is 1; trim(s) leaves blanks at both
 * ends out, of ASCII; lower and upper change the letters of ASCII alone; concat(s, ...) joins
 * strings. if, ?: and coalesce choose among strings. bf_expression_eval_strings computes results
 * that are strings. Strings are the CPU's.
 *
 * Times, where options give their kinds: a time is compared with a time, time - time is the seconds
 * between them, and time + seconds and time - seconds are times; min, max and ?: choose among
 * times. All of that is exact. A string in quotes is a time where it meets one, as in
 * date >= "2026-01-01". year, month, day, hour, minute, second (without a fraction) and weekday (1
 * is Monday) of a time are i64; a date is at midnight. date(t) is the day of a time, and trunc(t,
 * "month") the first of its month: year, quarter, month, week (from Monday) and day give dates;
 * hour, minute and second times. A date meets any time; local times and those in UTC do not meet.
 * The CPU computes: arrays in a GPU's memory are refused (BF_E_DEVICE).
 *
 * NULL: an operation on a NULL is NULL, also x**0, and isnan of integers. && and || are Kleene's:
 * false && NULL is false, true || NULL is true. A condition that is NULL is not met: x ? y : z is
 * then z. is_null(x) is never NULL. coalesce(x, y) is y where x is NULL, else x.
 *
 * log, log2, log10, exp and pow are those of the C library, of doubles: they are not correctly
 * rounded, and may differ between C libraries. The CPU computes them, and round and null.
 *
 * What is not needed does not fail: y and z where they are not chosen; the right side of && where
 * the left is false, and of || where it is true; y in coalesce(x, y) where x is not NULL. So n != 0
 * ? total / n : 0 divides by no 0. Numbers alone are no exception: n < 9 ? n : 1 / 0. But one that
 * does not fit its dtype is refused. */
#ifndef BITFOLD_EXPRESSION_H
#define BITFOLD_EXPRESSION_H

#include "array.h"
#include "column.h"
#include "context.h"
#include "options.h"
#include "state.h"
#include "time.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bf_expression bf_expression;

typedef struct bf_expression_options {
    size_t size;                 /* sizeof(bf_expression_options): see bitfold.h */
    bf_overflow_policy overflow; /* integer results that do not fit; default: error */
    const int *scales; /* one for each column: an i64 or i128 stands for itself times 10^-scale,
                          from 0 to BF_SCALE_MOST or BF_SCALE_MOST_I128; others have 0. NULL: there
                          are no decimals */
    int rounded;       /* a result that has a scale or is i128 is rounded once to f64; default: 0 */
    int wide;          /* integers are computed with 128 bits; default: 0, as their dtypes say */
    const unsigned char
        *times; /* one for each column: the bf_time_kind of an i64 or i128 that is
                   a time in units of 10^-scale seconds; BF_TIME_ANY of one that is
                   NULL in all rows: it is what it meets. NULL: there are no times */
} bf_expression_options;

/* BF_EXPRESSION_OPTIONS(.overflow = BF_OVERFLOW_WRAP). */
#define BF_EXPRESSION_OPTIONS(...) BF_OPTIONS_OF(bf_expression_options, __VA_ARGS__)

/* Parses text for `count` columns of these names and dtypes (BF_NONE: of strings); options may be
 * NULL. The expression uses the context whenever it is computed, and the context must outlive it.
 *
 * If the text is wrong, the message begins with "character N: ", and *position, unless NULL, is the
 * number of bytes before the place. The text has at most 1 MiB. An expression has at most 4096
 * operations, 256 columns, 256 different numbers, 256 strings and 1000 operations that wait for
 * others.
 * Errors: BF_E_ARGUMENT (also a name that no column has, or two have), BF_E_DTYPE (an operation
 * that these dtypes do not have), BF_E_OVERFLOW (a number does not fit the dtype that it takes, or
 * a result would have too great a scale), BF_E_MEMORY. */
BF_API bf_status bf_expression_parse(bf_context *context, const char *text,
                                     const char *const names[], const bf_dtype dtypes[], int count,
                                     const bf_expression_options *options, int *position,
                                     bf_expression **expression);
BF_API void bf_expression_destroy(bf_expression *expression);

/* What a name in a text stands for: strings, if it is compared with a string in quotes that is no
 * time, or with a name that is; numbers or times, if there is another operation on it than isnull,
 * or it is compared with a number; either, if nothing tells: it may be of times or strings if it is
 * compared with a string that is a time. */
typedef enum bf_expression_name_kind {
    BF_NAME_EITHER,
    BF_NAME_NUMBER,
    BF_NAME_STRING
} bf_expression_name_kind;

#define BF_EXPRESSION_NAMES_MAX 256

/* Writes the names of the columns in a text to `names`, each once and with a zero byte behind it,
 * in the order of their first places; their number to *count; and their kinds, unless NULL, to
 * `kinds`. There must be room for strlen(text) + 1 bytes and for BF_EXPRESSION_NAMES_MAX kinds. A
 * text of the wrong form is refused; *position is then set, unless NULL, as by bf_expression_parse.
 * Errors: BF_E_ARGUMENT (also too many names), BF_E_MEMORY. */
BF_API bf_status bf_expression_names(bf_context *context, const char *text, char *names,
                                     unsigned char *kinds, int *count, int *position);

/* The dtype of the results. BF_NONE: they are strings, or the expression is NULL. */
BF_API bf_dtype bf_expression_dtype(const bf_expression *expression);

/* Are the results strings? 1 or 0; 0 of NULL. */
BF_API int bf_expression_is_string(const bf_expression *expression);

/* The scale of the results: integers, they stand for themselves times 10^-scale. 0 of NULL. */
BF_API int bf_expression_scale(const bf_expression *expression);

/* How the results are shown, if they are times. BF_TIME_NONE: they are not, or NULL. */
BF_API bf_time_kind bf_expression_time(const bf_expression *expression);

/* Does the expression use this column (0 to count - 1)? 1 or 0. */
BF_API int bf_expression_uses(const bf_expression *expression, int column);

/* Computes out = expression(columns). There are as many columns as it was parsed for; those that it
 * does not use may be NULL. The others have the dtypes that it was parsed for, and the shape of
 * out; a stride of 0 makes one element stand for many. out has the dtype of the results. All
 * strides work; contiguous memory is fastest. out may be exactly a column: the same data and
 * strides, and elements as wide. Any other overlap is refused.
 *
 * O(n). A GPU computes if an array is in its memory, else the CPU. On BF_E_OVERFLOW and division of
 * integers by zero, the message has the place in the text and the first index, in C order, and out
 * may have been partly written.
 * Errors: BF_E_ARGUMENT (also overlap, division by zero), BF_E_DTYPE, BF_E_SHAPE, BF_E_OVERFLOW,
 * BF_E_DEVICE, BF_E_MEMORY, BF_E_CANCELLED. */
BF_API bf_status bf_expression_eval(bf_expression *expression, const bf_array *const columns[],
                                    const bf_array *out);

/* Evaluates an expression of columns of tables: strings, and numbers of one dimension, which may be
 * NULL. valid (NULL: no result may be NULL) has a byte for each row, which becomes 0 where the
 * result is NULL, else 1; it overlaps nothing. A result that is NULL is 0 in out, so that a
 * condition that is NULL is not met. What is beneath a NULL cannot fail. Strings, bits and bytes of
 * validity are in host memory, and so are numbers beside strings, else BF_E_DEVICE. Errors: those
 * of bf_expression_eval; BF_E_ARGUMENT also for a NULL where none may be, with the index, and for
 * offsets that decrease. */
BF_API bf_status bf_expression_eval_columns(bf_expression *expression,
                                            const bf_column *const columns[], const bf_array *out,
                                            uint8_t *valid);

/* Computes results that are strings, of n rows; valid as above, and a result that is NULL is empty.
 * *out points to memory of the expression until it is used again or destroyed.
 * Errors: those of bf_expression_eval_columns. */
BF_API bf_status bf_expression_eval_strings(bf_expression *expression,
                                            const bf_column *const columns[], int64_t n,
                                            bf_strings *out, uint8_t *valid);

/* Absorbs the results as bf_state_absorb would, without storing them: the state has their dtype
 * and their scale (bf_state_rescale).
 * The columns that are used have one shape; if none is used, the results have the shape of the
 * columns given, or are one. Indices in messages go on from the elements absorbed before. On
 * failure the state is as it was. The expression may belong to another context, which is not used.
 * Errors: those of bf_expression_eval and of bf_state_absorb. */
BF_API bf_status bf_state_absorb_expression(bf_state *state, const bf_expression *expression,
                                            const bf_array *const columns[]);

#ifdef __cplusplus
}
#endif
#endif
