/* From operations on values to the steps of a program: dtypes, numbers, registers, guards. */
#ifndef BF_API_EXPRESSION_BUILD_H
#define BF_API_EXPRESSION_BUILD_H

#include "seam/expression.h"

#include <stdarg.h>

/* A column, a number, a string or a result. */
typedef struct bf_expression_value {
    bf_expression_operand at; /* a constant has no number until a step takes it */
    bf_dtype dtype;           /* BF_NONE: of strings */
    bool weak;                /* a plain number, as in Python: bf_map_result_dtype */
    uint64_t bits;            /* a constant's, but for those of i128 */
    int scale;                /* for an i64 or i128: it stands for itself times 10^-scale */
    bool decimal;             /* a constant that is a weak f64 is exactly units * 10^-scale, too */
    bf_i128 units;            /* also of a constant of i128 */
    bf_time_kind time;        /* the kind of time that an integer is, or may be */
    int position;             /* the place of a string in the text */
} bf_expression_value;

/* Operations of the language besides those of steps. */
enum {
    BF_EXPRESSION_NOT = 80,
    BF_EXPRESSION_ISNAN,
    BF_EXPRESSION_MISSING, /* ISNULL of a value that may be used again */
    BF_EXPRESSION_TRUNC,
    BF_EXPRESSION_IF, /* these become SELECT */
    BF_EXPRESSION_COALESCE
};

/* Elements for which an operand is not needed, such as those that ?: does not choose, cannot fail
 * there. A guard holds the bools that tell which are needed. */
typedef struct bf_expression_guard {
    bf_expression_value condition;
    int op;                     /* MET, UNMET or MAYBE: where an operand is needed */
    bool ready;                 /* `mask` is computed */
    bf_expression_operand mask; /* the mask of this guard and those around it */
} bf_expression_guard;

typedef struct bf_expression_builder bf_expression_builder;

/* What the parser makes of values: the steps of a program, or what kinds the columns are. Each
 * fails with the context's message. */
typedef struct bf_expression_maker {
    /* Computes op of the values, which must not be used again, but for that of MISSING. */
    bf_status (*operation)(bf_expression_builder *b, int op, const bf_expression_value *in,
                           int count, bf_expression_value *out);
    /* x to a whole power from 0 to 64: products from the left. */
    bf_status (*power)(bf_expression_builder *b, bf_expression_value x, int exponent,
                       bf_expression_value *out);
    /* Makes a condition of a value. */
    bf_status (*condition)(bf_expression_builder *b, bf_expression_value *x);
    /* Ends with this result. */
    bf_status (*result)(bf_expression_builder *b, bf_expression_value x);
} bf_expression_maker;

extern const bf_expression_maker bf_expression_steps, bf_expression_judge;

struct bf_expression_builder {
    const bf_expression_maker *make;
    bf_context *context;
    bf_expression_program *program;
    struct bf_expression_kinds *kinds; /* the columns' kinds, for bf_expression_judge */
    bool busy[BF_EXPRESSION_REGISTERS];
    bf_expression_guard guards[BF_EXPRESSION_NESTED];
    int guard_count;
    int position;  /* in the text, of what is being built */
    bool decimals; /* numbers of the text may be decimals */
    bool rounded;  /* a result that has a scale becomes f64 */
    bool wide;     /* integers are computed with 128 bits */
    bool digits;   /* integers in the text have up to 38 digits, not 64 bits alone */
};

/* Is this an integer that the text may have? */
bool bf_expression_holds(const bf_expression_builder *b, bf_i128 x);

/* Fails with the message for one that is not. */
bf_status bf_expression_refuse_long(bf_expression_builder *b, bf_status status, int position);

/* Fails with the message "character N: ..." for this place of the text. */
bf_status bf_expression_refuse(bf_expression_builder *b, bf_status status, int position,
                               const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Fails with the message for a string where it has no place. */
bf_status bf_expression_refuse_string(bf_expression_builder *b);

/* What is built until the guard is dropped is needed where op (MET, UNMET or MAYBE) of the
 * condition is true. The condition must not be used up before. */
void bf_expression_guard_begin(bf_expression_builder *b, bf_expression_value condition, int op);
void bf_expression_guard_end(bf_expression_builder *b);

/* A plain number, and an integer of at most 38 digits, which is i64, u64 or i128. */
bf_expression_value bf_expression_number(bf_dtype dtype, uint64_t bits);
bf_expression_value bf_expression_integer(bf_i128 x);

/* NULL, of which the number is 0 as long as nothing says what it would be, then 1. */
bf_expression_value bf_expression_null(void);

/* The integer that a constant of an integer's or bool's dtype is. */
bf_i128 bf_expression_whole_value(const bf_expression_value *x);

/* Is an operation on these computed with integers of 128 bits? */
bool bf_expression_is_wide(const bf_expression_builder *b, const bf_expression_value *in,
                           int count);

/* ---- build.c, for the files below ---- */

/* Adds a step of op in the dtype `work`, with a new register. The inputs stay, except that those
 * with used set give their registers up. */
bf_status bf_expression_add_step(bf_expression_builder *b, int op, bf_dtype work, bf_dtype to,
                                 const bf_expression_value *in, int count, bool used,
                                 bf_expression_value *out);

/* Builds a step for an operation on numbers, in the dtype that it takes them to and with its guard.
 */
bf_status bf_expression_build_step(bf_expression_builder *b, int op, const bf_expression_value *in,
                                   int count, bool used, bf_expression_value *out);

/* Builds an operation that map has, or FLOOR, CEIL, MOD or SELECT, of numbers. */
bf_status bf_expression_build_arithmetic(bf_expression_builder *b, int op,
                                         const bf_expression_value *in, int count,
                                         bf_expression_value *out);

/* What has been added last. */
static inline bf_expression_step *bf_expression_last_step(bf_expression_builder *b) {
    return &b->program->step[b->program->steps - 1];
}

/* The bytes of a string in the text. */
const char *bf_expression_string_of(const bf_expression_builder *b, const bf_expression_value *x,
                                    int64_t *size);

/* Sets the guard of the step that is built next: it may fail. */
bf_status bf_expression_find_guard(bf_expression_builder *b, bf_expression_operand *guard);

/* ---- time.c ---- */

/* Is it a time? One of BF_TIME_ANY is a number, unless it meets a time. */
static inline bool bf_expression_is_time(const bf_expression_value *x) {
    return x->time != BF_TIME_NONE && x->time != BF_TIME_ANY;
}

/* Has op, of these, to do with times? */
bool bf_expression_are_times(int op, const bf_expression_value *in, int count);

/* Computes op of them. */
bf_status bf_expression_build_times(bf_expression_builder *b, int op, const bf_expression_value *in,
                                    int count, bf_expression_value *out);

/* Refuses what times do not have. */
bf_status bf_expression_refuse_time(bf_expression_builder *b);

/* Makes a constant one of this dtype. */
bf_status bf_expression_convert_constant(bf_expression_builder *b, bf_expression_value *x,
                                         bf_dtype to);

/* ---- string.c ---- */

/* Has op, of these, to do with strings? */
bool bf_expression_are_strings(int op, const bf_expression_value *in, int count);

/* Computes op of them. */
bf_status bf_expression_build_strings(bf_expression_builder *b, int op,
                                      const bf_expression_value *in, int count,
                                      bf_expression_value *out);

/* ---- function.c ---- */

/* Builds ROUND, or a function of the C library. */
bf_status bf_expression_build_round(bf_expression_builder *b, const bf_expression_value *in,
                                    bf_expression_value *out);
bf_status bf_expression_build_library(bf_expression_builder *b, int op,
                                      const bf_expression_value *in, int count,
                                      bf_expression_value *out);

/* ---- decimal.c ---- */

/* An integer with a scale. */
bf_expression_value bf_expression_units(bf_i128 units, int scale);

/* Is one of the inputs of op an integer with a scale, or a number that may become one? */
bool bf_expression_are_decimals(int op, const bf_expression_value *in, int count);

/* Computes op of them, of which some are no constants. */
bf_status bf_expression_build_decimals(bf_expression_builder *b, int op,
                                       const bf_expression_value *in, int count,
                                       bf_expression_value *out);

/* Makes *out, the number that op gives of numbers, the exact one where there is one. */
void bf_expression_fold_decimals(int op, const bf_expression_value *in, int count,
                                 bf_expression_value *out);

/* The scale of what op gives in the dtype `work`, of inputs whose scales fit each other. */
bf_status bf_expression_find_scale(bf_expression_builder *b, int op, bf_dtype work,
                                   const bf_expression_value *in, int *scale);

/* Makes a decimal number an integer with a scale. */
void bf_expression_to_units(bf_expression_value *x);

/* Rounds an integer with a scale to f64. */
bf_status bf_expression_unscale_value(bf_expression_builder *b, bf_expression_value *x);

#endif
