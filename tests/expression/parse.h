/* Expressions of columns with these names. */
#ifndef BITFOLD_TESTS_EXPRESSION_PARSE_H
#define BITFOLD_TESTS_EXPRESSION_PARSE_H

#include "tests/support/unit.h"

static const char *const names[] = {"a", "b", "c", "unit price", "twice", "twice"};
enum { NAMES = 6 };

static inline bf_expression *parse(bf_context *context, const char *text, const bf_dtype dtypes[],
                                   int count, bf_overflow_policy overflow) {
    bf_expression *e = NULL;
    const bf_expression_options options = BF_EXPRESSION_OPTIONS(.overflow = overflow);
    if (bf_expression_parse(context, text, names, dtypes, count, &options, NULL, &e) != BF_OK)
        fail_msg("%s: %s", text, bf_context_message(context));
    return e;
}

#endif
