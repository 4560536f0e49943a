/* For tests on a GPU: runs them, and checks calls of CUDA. */
#ifndef BITFOLD_TESTS_SUPPORT_RUN_H
#define BITFOLD_TESTS_SUPPORT_RUN_H

#include "tests/support/leave_out.h"

#define RUN_ON_GPU_WITH(tests, set_up, tear_down)                                                  \
    (bf_device_count() > 0 ? RUN_TESTS(tests, set_up, tear_down)                                   \
                           : (printf("skipped: %s\n", bf_device_reason()), EXIT_SKIPPED))
#define RUN_ON_GPU(tests) RUN_ON_GPU_WITH(tests, set_up, tear_down)

#define assert_cuda(call) assert_string_equal(cudaGetErrorString(call), "no error")

#endif
