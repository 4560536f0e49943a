// What the peers on a GPU share that run bitfold and CUB side by side: numbers, and times.
#ifndef BITFOLD_PEERS_TIMED_CUH
#define BITFOLD_PEERS_TIMED_CUH

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static __device__ uint64_t mix(uint64_t x) {
    x = (x + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

// The median of nine calls, after two that are not counted.
template <typename Body> double microseconds(cudaStream_t stream, Body body) {
    std::vector<float> times;
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    for (int i = 0; i < 11; i++) {
        float ms = 0;
        cudaStreamSynchronize(stream);
        cudaEventRecord(begin, stream);
        body();
        cudaEventRecord(end, stream);
        cudaEventSynchronize(end);
        cudaEventElapsedTime(&ms, begin, end);
        if (i >= 2) times.push_back(ms * 1000);
    }
    const cudaError_t error = cudaStreamSynchronize(stream);
    if (error != cudaSuccess) {
        std::fprintf(stderr, "timing: %s\n", cudaGetErrorString(error));
        std::exit(1);
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    std::nth_element(times.begin(), times.begin() + 4, times.end());
    return times[4];
}

#endif
