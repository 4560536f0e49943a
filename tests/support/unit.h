/* For the unit tests: those of a folder are one program, in which each file has a name. */
#ifndef BITFOLD_TESTS_SUPPORT_UNIT_H
#define BITFOLD_TESTS_SUPPORT_UNIT_H

#include "tests/support/leave_out.h"

typedef struct unit_file {
    const char *name;
    int (*run)(void); /* returns the exit code of the program */
    struct unit_file *next;
} unit_file;

void unit_add(unit_file *one);

/* Ends unit_NAME.c: its cases are run between two functions. Those of tests/reduce/unit_dot.c are
 * `unit_reduce dot`. */
#define UNIT_TESTS(name, set_up, tear_down)                                                        \
    static int run_##name(void) {                                                                  \
        return run_cases(own_cases, own_case_count, set_up, tear_down);                            \
    }                                                                                              \
    __attribute__((constructor)) static void add_##name##_tests(void) {                            \
        static unit_file file = {#name, run_##name, NULL};                                         \
        unit_add(&file);                                                                           \
    }

#endif
