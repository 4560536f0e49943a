/* For the tests in C: cases that cannot be tried here, and what a case that failed was trying. A
 * program that leaves out all of its cases ends as skipped. */
#ifndef BITFOLD_TESTS_SUPPORT_LEAVE_OUT_H
#define BITFOLD_TESTS_SUPPORT_LEAVE_OUT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/own.h"
#include "tests/support/sanitizer.h"
#include "tests/support/tried.h"

enum {
    EXIT_SKIPPED = 77, /* as ctest and scripts/test-gpu know it */
    CASES_MOST = 64,   /* a file has no more */
};

static size_t cases_left_out;
static char why_left_out[200];

/* Ends the case that calls it. */
static inline void leave_out(const char *why) {
    cases_left_out++;
    forget_what_is_tried();
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

/* A case, and what follows it: one that ended has forgotten what it tried. */
static inline void run_case(void **state) {
    const struct CMUnitTest *test = (const struct CMUnitTest *)*state;
    forget_what_is_tried(); /* what was set up before */
    test->test_func(state);
    forget_what_is_tried();
}

static inline int name_what_is_tried(void **unused) {
    (void)unused;
    if (tried_context[0]) print_error("tried with %s\n", tried_context);
    if (tried_data[0]) print_error("tried on %s\n", tried_data);
    forget_what_is_tried();
    return 0;
}

static inline struct CMUnitTest watched_case(const struct CMUnitTest *test) {
    struct CMUnitTest watched = *test;
    watched.test_func = run_case;
    watched.initial_state = (void *)(uintptr_t)test;
    if (!test->teardown_func) watched.teardown_func = name_what_is_tried;
    return watched;
}

/* The cases of this file, in their order. */
static struct CMUnitTest own_cases[CASES_MOST];
static size_t own_case_count;

static inline void add_case(struct CMUnitTest one) {
    if (own_case_count == CASES_MOST) abort();
    own_cases[own_case_count++] = one;
}

/* Begins a case. */
#define TEST(name) TEST_WITH(name, NULL, NULL)

/* Begins a case before and behind which a function is called. */
#define TEST_WITH(name, set_up, tear_down)                                                         \
    static void name(void **unused);                                                               \
    __attribute__((constructor)) static void add_##name(void) {                                    \
        add_case((struct CMUnitTest){#name, name, set_up, tear_down, NULL});                       \
    }                                                                                              \
    static void name(__attribute__((unused)) void **unused)

static inline int exit_code(int failed, size_t cases) {
    if (failed > 0 || cases_left_out < cases) return failed;
    printf("skipped: %s\n", why_left_out);
    return EXIT_SKIPPED;
}

/* The exit code of a program that is these tests. */
#define RUN_TESTS(tests, set_up, tear_down)                                                        \
    run_cases(tests, sizeof(tests) / sizeof *(tests), set_up, tear_down)

static inline int run_cases(const struct CMUnitTest *tests, size_t count, CMFixtureFunction set_up,
                            CMFixtureFunction tear_down) {
    struct CMUnitTest watched[CASES_MOST];
    assert_true(count <= CASES_MOST);
    for (size_t i = 0; i < count; i++) watched[i] = watched_case(&tests[i]);
    return exit_code(_cmocka_run_group_tests("tests", watched, count, set_up, tear_down), count);
}

#endif
