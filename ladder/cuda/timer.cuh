/* Time on the GPU: two events in a stream enclose the work. The clock is the GPU's own; the host
 * only has to keep the stream filled. */
#ifndef BITFOLD_LADDER_CUDA_TIMER_CUH
#define BITFOLD_LADDER_CUDA_TIMER_CUH

#include "ladder/cuda/gpu.cuh"

class timer {
  public:
    timer() {
        error_ = cudaEventCreate(&begin_);
        if (error_ == cudaSuccess) error_ = cudaEventCreate(&end_);
    }
    ~timer() {
        if (begin_) cudaEventDestroy(begin_);
        if (end_) cudaEventDestroy(end_);
    }
    timer(const timer &) = delete;
    timer &operator=(const timer &) = delete;

    void begin(cudaStream_t stream) {
        if (error_ == cudaSuccess) error_ = cudaEventRecord(begin_, stream);
    }
    void end(cudaStream_t stream) {
        if (error_ == cudaSuccess) error_ = cudaEventRecord(end_, stream);
    }
    /* Waits for the work. */
    const char *seconds(double *seconds) {
        float milliseconds = 0;
        if (error_ == cudaSuccess) error_ = cudaEventSynchronize(end_);
        if (error_ == cudaSuccess) error_ = cudaEventElapsedTime(&milliseconds, begin_, end_);
        *seconds = 1e-3 * milliseconds;
        return why(error_);
    }

  private:
    cudaEvent_t begin_ = NULL, end_ = NULL;
    cudaError_t error_;
};

#endif
