/* The mailbox: letters, notes and failures. */
#include "cuda/runtime/mailbox.cuh"

#include "cuda/runtime/workspace.cuh"

#include <stdlib.h>

cudaError_t bf_cuda_mailbox_open(bf_cuda *cuda) {
    bf_cuda_mailbox *box = (bf_cuda_mailbox *)calloc(1, sizeof *box);
    if (box == NULL) return cudaErrorMemoryAllocation;
    cuda->mailbox = box;
    cudaError_t error = cudaHostAlloc((void **)&box->memory, sizeof *box->memory,
                                      cudaHostAllocMapped | cudaHostAllocPortable);
    if (error != cudaSuccess) return error;
    memset((void *)box->memory, 0, sizeof *box->memory);
    for (int i = 0; i < BF_CUDA_FAILURES; i++) box->memory->failures[i] = BF_CUDA_NO_FAILURE;
    return cudaSuccess;
}

/* Graphs that are left may still leave failures. */
void bf_cuda_mailbox_close(bf_cuda *cuda) {
    if (cuda->mailbox == NULL) return;
    if (cuda->workspaces == NULL) cudaFreeHost(cuda->mailbox->memory);
    cudaFree(cuda->mailbox->notes);
    free(cuda->mailbox);
    cuda->mailbox = NULL;
}

/* --- letters --- */

uint32_t bf_cuda_next_letter(bf_cuda *cuda) {
    bf_cuda_mailbox *box = cuda->mailbox;
    if (++box->number == 0) box->number = 1; /* 0 is in memory before the first letter */
    return box->number;
}

bool bf_cuda_receive_word(const bf_cuda *cuda, int i, int64_t *word, cudaError_t *error) {
    const bf_cuda_mailbox *box = cuda->mailbox;
    uint64_t half[2];
    for (int k = 0; k < 2; k++) {
        const uint64_t *at = &box->memory->letter.halves[2 * i + k];
        for (unsigned tries = 1;; tries++) {
            half[k] = __atomic_load_n(at, __ATOMIC_ACQUIRE);
            if (half[k] >> 32 == box->number) break;
            if (tries % 1024 != 0) continue;
            *error = cudaStreamQuery(cuda->stream);
            if (*error == cudaErrorNotReady) continue;
            half[k] = __atomic_load_n(at, __ATOMIC_ACQUIRE);
            if (half[k] >> 32 != box->number) return false;
        }
    }
    *word = (int64_t)((half[0] & 0xffffffffu) | half[1] << 32);
    return true;
}

static __global__ void send_words(int64_t *from, int words, bool clear, bf_cuda_letter *letter,
                                  uint32_t number) {
    bf_cuda_send(letter, number, from, words);
    __syncwarp();
    for (int i = (int)threadIdx.x; i < words && clear; i += 32) from[i] = 0;
}

static bf_status fetch_words(bf_context *context, cudaError_t error, int64_t *from, int words,
                             bool clear, int64_t *to, const char *what) {
    bf_cuda *cuda = context->cuda;
    if (error == cudaSuccess) error = cudaGetLastError();
    if (error != cudaSuccess) return bf_cuda_fail(context, error, what);
    uint32_t number = bf_cuda_next_letter(cuda);
    send_words<<<1, 32, 0, cuda->stream>>>(from, words, clear, &cuda->mailbox->memory->letter,
                                           number);
    error = cudaGetLastError();
    if (error != cudaSuccess) return bf_cuda_fail(context, error, what);
    for (int i = 0; i < words; i++)
        if (!bf_cuda_receive_word(cuda, i, &to[i], &error))
            return bf_cuda_fail(context, error == cudaSuccess ? cudaErrorUnknown : error, what);
    return BF_OK;
}

bf_status bf_cuda_fetch_words(bf_context *context, cudaError_t error, const void *from, int words,
                              void *to, const char *what) {
    return fetch_words(context, error, (int64_t *)(uintptr_t)from, words, false, (int64_t *)to,
                       what);
}

/* --- notes --- */

cudaError_t bf_cuda_clear_notes(bf_context *context) {
    bf_cuda_mailbox *box = context->cuda->mailbox;
    size_t bytes = BF_CUDA_NOTES * sizeof *box->notes;
    cudaError_t error = cudaSuccess;
    if (box->notes == NULL) error = cudaMalloc((void **)&box->notes, bytes);
    if (error == cudaSuccess && !box->clear)
        error = cudaMemsetAsync(box->notes, 0, bytes, context->cuda->stream);
    box->clear = error == cudaSuccess;
    return error;
}

unsigned long long *bf_cuda_notes(const bf_context *context) {
    context->cuda->mailbox->clear = false;
    return context->cuda->mailbox->notes;
}

bf_status bf_cuda_fetch_notes(bf_context *context, cudaError_t error, uint64_t notes[BF_CUDA_NOTES],
                              const char *what) {
    bf_cuda_mailbox *box = context->cuda->mailbox;
    bf_status status = fetch_words(context, error, (int64_t *)box->notes, BF_CUDA_NOTES, true,
                                   (int64_t *)notes, what);
    box->clear = status == BF_OK;
    return status;
}

/* --- failures --- */

unsigned long long bf_cuda_fetch_failure(const bf_cuda *cuda, bf_cuda_failure which) {
    volatile unsigned long long *at = &cuda->mailbox->memory->failures[which];
    unsigned long long failure = *at;
    *at = BF_CUDA_NO_FAILURE;
    return failure;
}

bf_status bf_cuda_late_failure(bf_context *context) {
    bf_cuda_late *at = &context->cuda->mailbox->memory->late;
    const int64_t status = __atomic_load_n(&at->status, __ATOMIC_ACQUIRE);
    if (status == BF_OK) return BF_OK;
    bf_cuda_late late = *at;
    late.status = status;
    __atomic_store_n(&at->status, (int64_t)BF_OK, __ATOMIC_RELEASE);
    return late.tell(context, &late);
}
