/* Expressions: a program of element-wise steps, which a backend runs tile by tile. */
#ifndef BF_SEAM_EXPRESSION_H
#define BF_SEAM_EXPRESSION_H

#include "rules/expression/operation.h"
#include "seam/backend.h"
#include "seam/memory.h"
#include "seam/reduce.h"

#include <bitfold/time.h>

enum {
    BF_EXPRESSION_STEPS = 4096,
    BF_EXPRESSION_NESTED = 1000, /* operations that wait for their operands */
    BF_EXPRESSION_REGISTERS = 3 * BF_EXPRESSION_NESTED + 8, /* two values and a guard of each */
    BF_EXPRESSION_CONSTANTS = 256,
    BF_EXPRESSION_COLUMNS = 256,
    BF_EXPRESSION_STRINGS = 256
};

/* What a step takes or makes. */
typedef enum bf_expression_kind {
    BF_EXPRESSION_NOTHING,
    BF_EXPRESSION_COLUMN,   /* number: among the columns that the program uses */
    BF_EXPRESSION_CONSTANT, /* one element that stands for all */
    BF_EXPRESSION_STRING,   /* one string that stands for all */
    BF_EXPRESSION_NULL,     /* NULL in all places */
    BF_EXPRESSION_REGISTER, /* a tile of results */
    BF_EXPRESSION_RESULT    /* the result of the program */
} bf_expression_kind;

typedef struct bf_expression_operand {
    bf_expression_kind kind;
    int number;
} bf_expression_operand;

/* out[i] = op(in[0][i], ...). A register that is both an input and the output has elements as wide.
 */
typedef struct bf_expression_step {
    int op; /* bf_map_op or bf_expression_op */
    int arity;
    bool refuse_zero; /* for integers: a divisor of 0 is an error */
    bool beyond;      /* that error stands for a number of the text that is too long */
    bf_dtype work;    /* inputs are cast to this, and op computes in it; SELECT's first is a bool.
                         BF_NONE: it takes strings. BF_I128: all inputs are integers, and op is
                         none of FMA, DIV and SQRT */
    bf_dtype to;      /* the output's; BF_NONE: strings */
    bf_dtype from[3];
    bf_expression_operand in[3], out;
    bf_expression_operand guard; /* bools: where one is 0, the step cannot fail */
    int position;                /* where the operator is in the text */
    int scale, digits; /* the input's scale, for times and ROUND; the digits that ROUND leaves, or
                          the number of a pattern */
} bf_expression_step;

typedef struct bf_expression_constant {
    bf_dtype dtype;
    uint64_t bits, high; /* high: of BF_I128 */
} bf_expression_constant;

typedef struct bf_expression_string {
    int64_t begin, size; /* in the program's bytes; a zero byte follows */
} bf_expression_string;

typedef struct bf_expression_program {
    bf_dtype dtype;    /* the result's */
    int scale;         /* the result's: integers in units of 10^-scale */
    bf_time_kind time; /* the result's */
    bf_overflow_policy overflow;
    bool wide;       /* some step computes with integers of 128 bits */
    bool nulls;      /* some step takes NULL */
    bool spans;      /* some step makes strings */
    int patterns;    /* steps of MATCH; each has its number in `digits` */
    const char *own; /* what of it the CPU alone does; NULL: a GPU can do all */
    int columns, constants, strings, registers, steps;
    bf_dtype column[BF_EXPRESSION_COLUMNS]; /* BF_NONE: of strings */
    bf_expression_constant constant[BF_EXPRESSION_CONSTANTS];
    bf_expression_string string[BF_EXPRESSION_STRINGS];
    char *bytes;                                  /* the strings' bytes */
    bf_expression_step step[BF_EXPRESSION_STEPS]; /* the last makes the result */
} bf_expression_program;

/* Numbers, or strings: string i has the bytes from offset i to the next. */
typedef struct bf_expression_column {
    bf_strided numbers;
    const void *offsets; /* i64 if wide, else i32; none decreases */
    bool wide;
    const char *bytes;
    const uint8_t *valid; /* bit first + i is 0 where element i is NULL; NULL: none is */
    int64_t first;
} bf_expression_column;

/* Elements to compute. */
typedef struct bf_expression_job {
    const bf_expression_program *program;
    const bf_expression_column *columns; /* they have one shape */
    bf_strided out; /* it has that shape, and may be a column whose elements are as wide */
    uint8_t *valid; /* becomes 0 for results that are NULL, else 1; NULL: there must be none */
    int64_t count;
    int64_t index; /* the first element's, for messages */
} bf_expression_job;

/* Strings that are results; the memory is freed by the caller. */
typedef struct bf_expression_strings {
    int64_t *offsets; /* count + 1 of them */
    char *bytes;
} bf_expression_strings;

typedef struct bf_expression_backend {
    /* Computes the job's elements; those that are NULL are 0. Errors: BF_E_OVERFLOW, BF_E_ARGUMENT
     * (division by zero, a NULL), by bf_expression_fail with the first index; BF_E_MEMORY,
     * BF_E_CANCELLED. */
    bf_status (*eval)(bf_context *context, const bf_expression_job *job);
    /* Absorbs them into the words of a state, without an output: `to` has the op, the kind, the
     * dtype and the index. On failure words may have changed. */
    bf_status (*absorb)(bf_context *context, const bf_expression_job *job, const bf_job *to,
                        int64_t *words);
    /* Computes results that are strings; those that are NULL are empty. The CPU's alone. */
    bf_status (*eval_strings)(bf_context *context, const bf_expression_job *job,
                              bf_expression_strings *to);
} bf_expression_backend;

/* Fails with the message for the first element that fails, in this step; NULL: its result is NULL.
 */
static inline bf_status bf_expression_fail(bf_context *context, const bf_expression_step *step,
                                           int64_t index) {
    if (step == NULL)
        return bf_fail(context, BF_E_ARGUMENT, "the result at index %lld is NULL",
                       (long long)index);
    if (step->beyond)
        return bf_fail(context, BF_E_OVERFLOW,
                       "character %d: the number is beyond %s at index %lld", step->position + 1,
                       step->work == BF_I128 ? "38 digits" : "64 bits", (long long)index);
    if (step->refuse_zero)
        return bf_fail(context, BF_E_ARGUMENT,
                       "character %d: integer division by zero at index %lld", step->position + 1,
                       (long long)index);
    if (step->op == BF_EXPRESSION_MATCH)
        return bf_fail(context, BF_E_OVERFLOW,
                       "character %d: the string at index %lld is longer than 2 GiB",
                       step->position + 1, (long long)index);
    if (step->to == BF_I128)
        return bf_fail(context, BF_E_OVERFLOW,
                       "character %d: the result at index %lld is beyond 38 digits",
                       step->position + 1, (long long)index);
    return bf_fail(context, BF_E_OVERFLOW, "character %d: the result at index %lld does not fit %s",
                   step->position + 1, (long long)index, bf_dtype_name(step->to));
}

#endif
