/* For the tests in C: cases that cannot be tried here. A program that leaves out all of its cases
 * ends as skipped. */
#ifndef BITFOLD_TESTS_SUPPORT_LEAVE_OUT_H
#define BITFOLD_TESTS_SUPPORT_LEAVE_OUT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "tests/support/sanitizer.h"

enum { EXIT_SKIPPED = 77 }; /* as ctest and scripts/test-gpu know it */

static size_t cases_left_out;
static char why_left_out[200];

/* Ends the case that calls it. */
static inline void leave_out(const char *why) {
    cases_left_out++;
    snprintf(why_left_out, sizeof why_left_out, "%s", why);
    print_message("left out: %s\n", why);
    skip();
}

/* Ends a case of one thread, or of threads that another case has: ThreadSanitizer would see nothing
 * new. */
static inline void needs_no_threads(void) {
#ifdef THREAD_SANITIZER
    leave_out("no threads, or those of another case");
#endif
}

static inline int exit_code(int failed, size_t cases) {
    if (failed > 0 || cases_left_out < cases) return failed;
    printf("skipped: %s\n", why_left_out);
    return EXIT_SKIPPED;
}

/* The exit code of a program that is these tests. */
#define RUN_TESTS(tests, set_up, tear_down)                                                        \
    exit_code(cmocka_run_group_tests(tests, set_up, tear_down), sizeof(tests) / sizeof *(tests))

#endif
