/* For tests on streams of a GPU: two streams and pinned memory, which are made for each test. */
#ifndef BITFOLD_TESTS_SUPPORT_STREAMS_H
#define BITFOLD_TESTS_SUPPORT_STREAMS_H

#include "tests/support/both.h"

#include <cuda_runtime_api.h>
#include <time.h>

enum { PINNED = 8 << 20 };

static cudaStream_t streams[2]; /* the default stream does not wait for them */
static char *pinned;            /* PINNED bytes */
static bf_value *answers;       /* VALUES of them, pinned */

static inline int get_streams(void **unused) {
    (void)unused;
    for (int i = 0; i < 2; i++)
        if (cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking)) return -1;
    if (cudaMallocHost((void **)&pinned, PINNED)) return -1;
    return cudaMallocHost((void **)&answers, VALUES * sizeof *answers) ? -1 : 0;
}

static inline int free_streams(void **unused) {
    (void)unused;
    int failed = bf_context_set_stream(gpu, NULL) || bf_context_synchronize(gpu);
    for (int i = 0; i < 2; i++) cudaStreamDestroy(streams[i]);
    cudaFreeHost(pinned);
    cudaFreeHost(answers);
    return failed ? -1 : 0;
}

#define TEST_ON_STREAMS(name) cmocka_unit_test_setup_teardown(name, get_streams, free_streams)

static inline void CUDART_CB doze(void *unused) {
    (void)unused;
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

/* Copies `bytes` of pinned memory to on_device, but only after a while. */
static inline void copy_late(cudaStream_t stream, size_t bytes) {
    assert_cuda(cudaLaunchHostFunc(stream, doze, NULL));
    assert_cuda(cudaMemcpyAsync(on_device, pinned, bytes, cudaMemcpyHostToDevice, stream));
}

#endif
