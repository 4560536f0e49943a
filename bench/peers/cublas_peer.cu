// cuBLAS: the dot products that others measure themselves by. Their results stay on the GPU.
#include "cuda_serve.h"

#include <cublas_v2.h>

#include <climits>

namespace {

cublasHandle_t handle; // made at the first call

cudaError_t prepare(const cuda_call &c) {
    if (c.count > INT_MAX) return cudaErrorInvalidValue;
    if (handle) return cudaSuccess;
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return cudaErrorInitializationError;
    const bool good =
        cublasSetStream(handle, c.stream) == CUBLAS_STATUS_SUCCESS &&
        cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE) == CUBLAS_STATUS_SUCCESS;
    return good ? cudaSuccess : cudaErrorInitializationError;
}

cudaError_t dot_f32(const cuda_call &c) {
    const cudaError_t error = prepare(c);
    if (error != cudaSuccess) return error;
    const cublasStatus_t st =
        cublasSdot(handle, static_cast<int>(c.count), static_cast<const float *>(c.a), 1,
                   static_cast<const float *>(c.b), 1, static_cast<float *>(c.result));
    return st == CUBLAS_STATUS_SUCCESS ? cudaSuccess : cudaErrorUnknown;
}

cudaError_t dot_f64(const cuda_call &c) {
    const cudaError_t error = prepare(c);
    if (error != cudaSuccess) return error;
    const cublasStatus_t st =
        cublasDdot(handle, static_cast<int>(c.count), static_cast<const double *>(c.a), 1,
                   static_cast<const double *>(c.b), 1, static_cast<double *>(c.result));
    return st == CUBLAS_STATUS_SUCCESS ? cudaSuccess : cudaErrorUnknown;
}

} // namespace

int main() {
    static const cuda_work works[] = {{"dot", "f32", dot_f32, false},
                                      {"dot", "f64", dot_f64, false},
                                      {nullptr, nullptr, nullptr, false}};
    return cuda_serve("cublas", works);
}
