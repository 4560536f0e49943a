/* Rows of few vectors, of which warps copy batches to shared memory (short.cuh). */
#ifndef BF_CUDA_AXIS_DOUBLES_BATCH_H
#define BF_CUDA_AXIS_DOUBLES_BATCH_H

enum { BF_CUDA_AXIS_BATCH_VECTORS = 8 /* the most that a row has */ };

/* Is a row of so many vectors taken by one thread? */
static inline bool bf_cuda_axis_is_short(long long vectors) {
    return vectors > 0 && vectors <= BF_CUDA_AXIS_BATCH_VECTORS && (vectors & (vectors - 1)) == 0;
}
/* Vectors that a thread copies of a batch. */
static constexpr int bf_cuda_axis_batch_each(int vectors) { return vectors > 4 ? vectors : 4; }
/* Batches of a warp in shared memory: the one that it adds up, and those under way. */
static constexpr int bf_cuda_axis_batch_stages(int vectors) { return vectors > 4 ? 2 : 3; }
/* Shared memory of a thread. */
static constexpr int bf_cuda_axis_batch_bytes(int vectors) {
    return bf_cuda_axis_batch_stages(vectors) * bf_cuda_axis_batch_each(vectors) * 16;
}

#endif
