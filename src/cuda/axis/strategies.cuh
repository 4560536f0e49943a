/* How a call of the axis family is planned: strategies.cu chooses, schedule.cu launches. */
#ifndef BF_CUDA_AXIS_STRATEGIES_CUH
#define BF_CUDA_AXIS_STRATEGIES_CUH

#include "cuda/axis/axis.cuh"
#include "cuda/runtime/launch.cuh"

enum {
    BF_CUDA_AXIS_LISTED_PIECE = 32768, /* elements of a piece of a segment on the list */
    BF_CUDA_AXIS_WORD_SLOTS = 1 << 14  /* the most results that several blocks compute in words */
};

/* A strategy that was chosen. It has set those fields of the params that are its schedule. */
struct bf_cuda_axis_choice {
    const char *name;
    const void *kernel;
};

/* The first strategy that fits the call. */
bf_cuda_axis_choice bf_cuda_axis_choose(const bf_cuda *cuda, const bf_cuda_axis_kernels *k,
                                        bf_cuda_axis_params *p);

/* The blocks of a kernel. */
bf_cuda_shape bf_cuda_axis_shape(const bf_cuda_axis_kernels *k, const void *kernel,
                                 const bf_cuda_axis_params *p);
/* Do doubles prove results of any length? */
bool bf_cuda_axis_is_approximate(const bf_cuda_axis_kernels *k, const bf_cuda_axis_params *p);
/* Sets the shape of blocks for tiles of columns that lie next to each other, `inner` of them. */
void bf_cuda_axis_set_columns(bf_cuda_axis_params *p, int64_t inner, int64_t length);

static inline int64_t bf_cuda_least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t bf_cuda_most(int64_t a, int64_t b) { return a > b ? a : b; }
/* a / b, rounded up. */
static inline int64_t bf_cuda_ratio(int64_t a, int64_t b) { return (a + b - 1) / b; }

#endif
