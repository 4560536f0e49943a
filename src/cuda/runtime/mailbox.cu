/* The memory of groups on a GPU: buffers that grow, and numbers for the host. */
#include "cuda/group/group.cuh"
#include "cuda/table/table.cuh"

bf_status bf_cuda_group_check(bf_context *context, cudaError_t error) {
    return error == cudaSuccess ? BF_OK : bf_cuda_fail(context, error, "groups on a GPU");
}

bf_status bf_cuda_buffer_grow(bf_context *context, bf_cuda_buffer *buffer, size_t bytes,
                              size_t kept) {
    if (bytes <= buffer->bytes) return BF_OK;
    if (kept == 0) bf_cuda_buffer_free(context, buffer); /* there may not be room for both */
    void *memory = bf_cuda_take(context, bytes);
    if (memory == NULL) return bf_fail(context, BF_E_MEMORY, "no memory of the GPU for groups");
    cudaError_t error = cudaSuccess;
    if (kept > 0)
        error = cudaMemcpyAsync(memory, buffer->memory, kept, cudaMemcpyDeviceToDevice,
                                context->cuda->stream);
    if (error != cudaSuccess) {
        bf_cuda_give(context, memory);
        return bf_cuda_group_check(context, error);
    }
    bf_cuda_buffer_free(context, buffer);
    buffer->memory = memory;
    buffer->bytes = bytes;
    return BF_OK;
}

void bf_cuda_buffer_free(bf_context *context, bf_cuda_buffer *buffer) {
    bf_cuda_give(context, buffer->memory);
    buffer->memory = NULL;
    buffer->bytes = 0;
}

/* --- a context's --- */

bf_status bf_cuda_group_open(bf_context *context, bf_cuda_groups *groups) {
    bf_cuda *cuda = context->cuda;
    size_t bytes = BF_CUDA_GROUP_MAIL * sizeof *cuda->group_mail;
    cudaError_t error = cudaSuccess;
    if (cuda->group_mail == NULL) error = cudaMalloc((void **)&cuda->group_mail, bytes);
    if (error == cudaSuccess && cuda->group_read == NULL)
        error = cudaHostAlloc((void **)&cuda->group_read, bytes + sizeof *cuda->group_read,
                              cudaHostAllocPortable);
    if (error != cudaSuccess) return bf_cuda_group_check(context, error);
    groups->mail = cuda->group_mail;
    groups->read = cuda->group_read;
    cuda->tables++;
    return BF_OK;
}

void bf_cuda_group_leave(bf_context *context) {
    if (--context->cuda->tables == 0) bf_cuda_pool_trim(context->cuda);
}

void bf_cuda_group_close(bf_cuda *cuda) {
    cudaFree(cuda->group_mail);
    cudaFreeHost(cuda->group_read);
}

void *bf_cuda_group_scratch_of(bf_context *context, bf_cuda_groups *groups,
                               bf_cuda_group_scratch what, size_t bytes) {
    bf_cuda_buffer *buffer = &groups->scratch[what];
    return bf_cuda_buffer_grow(context, buffer, bytes, 0) == BF_OK ? buffer->memory : NULL;
}

cudaError_t bf_cuda_group_clear_mail(bf_context *context, bf_cuda_groups *groups) {
    return cudaMemsetAsync(groups->mail, 0, BF_CUDA_GROUP_MAIL * sizeof *groups->mail,
                           context->cuda->stream);
}

/* The number goes last: it tells that the rest is there. */
static __global__ void __launch_bounds__(BF_CUDA_GROUP_MAIL)
    post(const unsigned long long *mail, volatile unsigned long long *read,
         unsigned long long number) {
    read[threadIdx.x] = mail[threadIdx.x];
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) read[BF_CUDA_GROUP_MAIL] = number;
}

/* A copy and a wait for the stream take several microseconds more. */
bf_status bf_cuda_group_read_mail(bf_context *context, bf_cuda_groups *groups) {
    cudaStream_t stream = context->cuda->stream;
    unsigned long long *last = groups->read + BF_CUDA_GROUP_MAIL, number = *last + 1;
    post<<<1, BF_CUDA_GROUP_MAIL, 0, stream>>>(groups->mail, groups->read, number);
    cudaError_t error = cudaGetLastError();
    for (unsigned tries = 1; error == cudaSuccess; tries++) {
        if (__atomic_load_n(last, __ATOMIC_ACQUIRE) == number) return BF_OK;
        if (tries % 1024 != 0) continue;
        error = cudaStreamQuery(stream);
        if (error == cudaErrorNotReady) error = cudaSuccess;
    }
    return bf_cuda_group_check(context, error);
}
