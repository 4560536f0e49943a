/* Launches. Kernels that need neither much shared memory nor an early start may be launched by
 * <<<>>>. */
#ifndef BF_CUDA_RUNTIME_LAUNCH_CUH
#define BF_CUDA_RUNTIME_LAUNCH_CUH

#include "cuda/runtime/context.cuh"
#include "cuda/runtime/ptx.cuh"

typedef struct bf_cuda_shape {
    int64_t blocks; /* at least 1 is launched */
    int threads;
    size_t shared; /* dynamic, of a block */
    bool overlaps; /* the kernel may begin before the one before has ended; it waits for that itself
                    */
    bool spares_cache; /* prefer shared memory to cache: more blocks may share a multiprocessor */
} bf_cuda_shape;

/* Launches a kernel on the stream in use. It may use all shared memory that its static variables
 * leave: this is arranged at its first launch in the context. */
cudaError_t bf_cuda_launch(const bf_cuda *cuda, const void *kernel, bf_cuda_shape shape,
                           void **arguments);

/* Sets *blocks to the number of such blocks that a multiprocessor holds at once. */
cudaError_t bf_cuda_occupancy(const bf_cuda *cuda, const void *kernel, bf_cuda_shape shape,
                              int *blocks);

/* Launches a kernel with arguments by value. */
template <class... Wanted, class... Given>
static cudaError_t bf_cuda_launch(const bf_cuda *cuda, void (*kernel)(Wanted...),
                                  bf_cuda_shape shape, Given... given) {
    return [&](Wanted... arguments) {
        void *pointers[] = {(void *)&arguments...};
        return bf_cuda_launch(cuda, (const void *)kernel, shape, pointers);
    }(given...);
}

/* For __launch_bounds__: of the blocks wanted on a multiprocessor, those that it has threads for.
 */
static constexpr int bf_cuda_blocks_held(int threads, int wanted) {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 800
    const int room = 1024;
#elif defined __CUDA_ARCH__ &&                                                                     \
    ((__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900) || __CUDA_ARCH__ >= 1100)
    const int room = 1536;
#else
    const int room = 2048;
#endif
    return wanted * threads <= room ? wanted : room / threads;
}

/* Open and close a context's table of its kernels. */
cudaError_t bf_cuda_launch_open(bf_cuda *cuda);
void bf_cuda_launch_close(bf_cuda *cuda);

/* Returns how many blocks take n elements, so many each: at most so many for a multiprocessor. */
static inline unsigned bf_cuda_blocks(const bf_cuda *cuda, int64_t n, int64_t each, int most = 16) {
    const int64_t blocks = (n + each - 1) / each, all = (int64_t)most * cuda->multiprocessors;
    return (unsigned)(blocks < 1 ? 1 : blocks < all ? blocks : all);
}

/* --- in a kernel --- */

/* The numbers below n that a thread takes, of a grid of blocks of so many threads. */
template <int threads> struct bf_cuda_indices {
    struct place {
        int64_t i;
        __device__ __forceinline__ int64_t operator*() const { return i; }
        __device__ __forceinline__ void operator++() { i += (int64_t)gridDim.x * threads; }
        __device__ __forceinline__ bool operator!=(place end) const { return i < end.i; }
    };
    int64_t n;
    __device__ __forceinline__ explicit bf_cuda_indices(int64_t all) : n(all) {}
    __device__ __forceinline__ place begin() const {
        return {blockIdx.x * (int64_t)threads + threadIdx.x};
    }
    __device__ __forceinline__ place end() const { return {n}; }
};

/* Returns how many numbers i below n, from 0 on, hold(i): after the first that does not, none does.
 */
template <class I, class Hold>
static __device__ __forceinline__ I bf_cuda_count_first(I n, const Hold &hold) {
    I low = 0, high = n;
    while (low < high) {
        const I middle = low + (high - low) / 2;
        if (hold(middle))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Waits for the launch before this one, and lets the one after it begin. */
static __device__ __forceinline__ void bf_cuda_wait_for_previous() {
    bf_cuda_wait_for_end();
    bf_cuda_let_next_begin();
}

#endif
