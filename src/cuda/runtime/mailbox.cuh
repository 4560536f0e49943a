/* The mailbox: how a kernel tells the host a few numbers.
 *
 * A letter is words that one warp writes to pinned memory, where the host waits for them: a copy
 * and a wait for the stream take several microseconds longer. Notes are counters on the device, to
 * which the blocks of several kernels add; a small kernel sends them as a letter. Failures stay in
 * pinned memory until the host asks for them, after it has waited for the stream anyway. Long
 * results do not go through the mailbox: kernels or copies bring them to their destination. */
#ifndef BF_CUDA_RUNTIME_MAILBOX_CUH
#define BF_CUDA_RUNTIME_MAILBOX_CUH

#include "cuda/runtime/context.cuh"

#include "rules/number/rule.h"

enum {
    BF_CUDA_LETTER_WORDS = 81,  /* most of a letter */
    BF_CUDA_LETTER_PLAIN = 256, /* the most of its plain words */
    BF_CUDA_LATE_WORDS = 14,
    BF_CUDA_NOTES = 8
};

/* Each half holds 32 bits of a word and the letter's number, which tells the host that it has
 * arrived (NCCL's LL protocol). Words that are too many for this are plain: the kernel writes them,
 * and a fence, before a word that says so. */
struct bf_cuda_letter {
    uint64_t halves[2 * BF_CUDA_LETTER_WORDS];
    int64_t plain[BF_CUDA_LETTER_PLAIN];
};

/* Failures of calls that wait, and of all others. */
enum bf_cuda_failure { BF_CUDA_FAILURE_NOW, BF_CUDA_FAILURE_LATER, BF_CUDA_FAILURES };
static const unsigned long long BF_CUDA_NO_FAILURE = ~0ull; /* kernels keep the least number */

/* A failure of a call that nobody waited for. */
struct bf_cuda_late {
    int64_t status; /* BF_OK: there is none; the last to be written */
    /* Sets its message, on the host. Returns the status. */
    bf_status (*tell)(bf_context *context, const bf_cuda_late *late);
    int64_t what[BF_CUDA_LATE_WORDS]; /* what tell reads */
};

/* Mapped pinned memory: kernels write, the host reads. */
struct bf_cuda_mailbox_memory {
    bf_cuda_letter letter;
    unsigned long long failures[BF_CUDA_FAILURES];
    bf_cuda_late late;
};

struct bf_cuda_mailbox {
    bf_cuda_mailbox_memory *memory;
    uint32_t number;           /* the last letter's that was asked for */
    unsigned long long *notes; /* BF_CUDA_NOTES, on the device; NULL until needed */
    bool clear;                /* all notes are 0 */
};

cudaError_t bf_cuda_mailbox_open(bf_cuda *cuda);
void bf_cuda_mailbox_close(bf_cuda *cuda);

/* --- letters --- */

/* Sends n words. All threads of one warp call it. */
static __device__ void bf_cuda_send(bf_cuda_letter *letter, uint32_t number, const int64_t *words,
                                    int n) {
    BF_ROLLED
    for (int i = (int)threadIdx.x; i < 2 * n; i += 32) {
        uint64_t half = (uint64_t)words[i / 2] >> 32 * (i % 2) & 0xffffffffu;
        *(volatile uint64_t *)&letter->halves[i] = half | (uint64_t)number << 32;
    }
}

/* Returns the number of a letter for which the host will wait. The one before has arrived, or never
 * will. */
uint32_t bf_cuda_next_letter(bf_cuda *cuda);

/* Waits for word i of that letter. Returns false if the stream has failed (*error), or has ended
 * without it. */
bool bf_cuda_receive_word(const bf_cuda *cuda, int i, int64_t *word, cudaError_t *error);

/* Sends words of device memory, no more than a letter has, and waits for them. If `error` is set,
 * fails with it instead. */
bf_status bf_cuda_fetch_words(bf_context *context, cudaError_t error, const void *from, int words,
                              void *to, const char *what);

/* --- notes --- */

/* Enqueues the clearing of all notes. */
cudaError_t bf_cuda_clear_notes(bf_context *context);

/* Returns the notes, for a kernel that changes them. */
unsigned long long *bf_cuda_notes(const bf_context *context);

/* Waits for all notes, copies and clears them. */
bf_status bf_cuda_fetch_notes(bf_context *context, cudaError_t error, uint64_t notes[BF_CUDA_NOTES],
                              const char *what);

/* --- failures --- */

/* Returns the failure that kernels have left, and clears it. */
unsigned long long bf_cuda_fetch_failure(const bf_cuda *cuda, bf_cuda_failure which);

/* A thread leaves a failure there, unless another waits for the host. */
static __device__ __forceinline__ void bf_cuda_leave_late(bf_cuda_late late, bf_cuda_late *to) {
    const int64_t what = late.status;
    volatile int64_t *status = &to->status;
    if (*status != BF_OK) return;
    late.status = BF_OK;
    *to = late;
    __threadfence_system();
    *status = what;
}

/* Reports the failure that is left, and makes room for another. */
bf_status bf_cuda_late_failure(bf_context *context);

#endif
