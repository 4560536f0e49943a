/* For the tests in C: what a case is trying, which its failure names (leave_out.h). */
#ifndef BITFOLD_TESTS_SUPPORT_TRIED_H
#define BITFOLD_TESTS_SUPPORT_TRIED_H

#include <stdarg.h>
#include <stdio.h>

#include <bitfold.h>

/* What the thread that runs the case has named. Empty: nothing. */
static __thread char tried_context[64], tried_data[128];

static inline void try_context(const bf_context *context) {
    snprintf(tried_context, sizeof tried_context, "device %s, isa %s, threads %d",
             bf_context_device(context), bf_context_isa(context), bf_context_threads(context));
}

__attribute__((format(printf, 1, 2))) static inline void try_data(const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(tried_data, sizeof tried_data, format, values);
    va_end(values);
}

static inline void forget_what_is_tried(void) { tried_context[0] = tried_data[0] = '\0'; }

#endif
