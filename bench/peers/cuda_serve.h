/* Shared by the peers on a GPU: the conversation with 'bitfold bench --device cuda --peer', the
 * data and the clock.
 *
 * A question is a line WORK DTYPE DATA COUNT GPU PASSES stream|host BUFFERS. The answer is NAME
 * SECONDS, the mean time of a pass, or NAME - for work that is not offered. Pass i works on copy i
 * modulo BUFFERS of the data. An eighth of PASSES and one more come first, untimed. With "stream"
 * passes are enqueued and waited for at the end; with "host" each ends with its result on the host.
 */
#ifndef CUDA_SERVE_H
#define CUDA_SERVE_H

#include <cuda_runtime.h>

struct cuda_call {
    const char *data;  /* its name */
    const void *a, *b; /* b: of dot and add, right behind a; of table the queries, a being the
                          keys; of group the values */
    void *out;     /* add's is right behind b; table's has as many words; julia's are the counts */
    size_t count;  /* elements of each */
    void *result;  /* 64 bytes on the GPU */
    void *scratch; /* on the GPU */
    size_t scratch_bytes;
    cudaStream_t stream;
};

/* Enqueues the work once. */
typedef cudaError_t cuda_fn(const cuda_call &call);

struct cuda_work {
    const char *work, *dtype;
    cuda_fn *fn;
    bool waits; /* the call itself brings the result to the host */
};

/* Answers questions until standard input ends. works ends with an empty entry. Returns an exit
 * code. */
int cuda_serve(const char *name, const cuda_work *works);

#endif
