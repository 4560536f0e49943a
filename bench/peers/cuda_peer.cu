// What the CUDA toolkit itself offers for this work, and the kernels that one would write by hand;
// the argument says which.
#include "cuda_serve.h"

#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#if __has_include(<cub/device/device_transform.cuh>)
#include <cub/device/device_transform.cuh>
#define HAVE_TRANSFORM
#endif
#include <cuda/std/functional>
#include <thrust/execution_policy.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

template <typename T> struct moments { T sum, squares; };

template <typename T> struct moments_of {
    __host__ __device__ moments<T> operator()(T x) const { return {x, x * x}; }
};

template <typename T> struct add_moments {
    __host__ __device__ moments<T> operator()(moments<T> a, moments<T> b) const {
        return {a.sum + b.sum, a.squares + b.squares};
    }
};

// CUB. Its kernels for 32-bit counts are the faster ones.

template <typename Body> cudaError_t with_count(size_t count, Body body) {
    return count <= INT_MAX ? body(static_cast<int>(count)) : body(static_cast<int64_t>(count));
}

template <typename T> const T *input(const cuda_call &c) { return static_cast<const T *>(c.a); }

template <typename T, typename Sum> cudaError_t cub_sum(const cuda_call &c) {
    size_t bytes = c.scratch_bytes;
    auto result = static_cast<Sum *>(c.result);
    return with_count(c.count, [&](auto n) {
        return cub::DeviceReduce::Sum(c.scratch, bytes, input<T>(c), result, n, c.stream);
    });
}

template <typename T> cudaError_t cub_min(const cuda_call &c) {
    size_t bytes = c.scratch_bytes;
    auto result = static_cast<T *>(c.result);
    return with_count(c.count, [&](auto n) {
        return cub::DeviceReduce::Min(c.scratch, bytes, input<T>(c), result, n, c.stream);
    });
}

template <typename T> cudaError_t cub_max(const cuda_call &c) {
    size_t bytes = c.scratch_bytes;
    auto result = static_cast<T *>(c.result);
    return with_count(c.count, [&](auto n) {
        return cub::DeviceReduce::Max(c.scratch, bytes, input<T>(c), result, n, c.stream);
    });
}

template <typename T> cudaError_t cub_prod(const cuda_call &c) {
    size_t bytes = c.scratch_bytes;
    auto result = static_cast<T *>(c.result);
    return with_count(c.count, [&](auto n) {
        return cub::DeviceReduce::Reduce(c.scratch, bytes, input<T>(c), result, n,
                                         cuda::std::multiplies<T>{}, T{1}, c.stream);
    });
}

template <typename T> cudaError_t cub_var(const cuda_call &c) {
    size_t bytes = c.scratch_bytes;
    auto result = static_cast<moments<T> *>(c.result);
    return with_count(c.count, [&](auto n) {
        return cub::DeviceReduce::TransformReduce(c.scratch, bytes, input<T>(c), result, n,
                                                  add_moments<T>{}, moments_of<T>{},
                                                  moments<T>{0, 0}, c.stream);
    });
}

// Counts of even bins go behind the scratch that CUB needs for them.
template <typename T, typename Level, int bins>
cudaError_t cub_histogram(const cuda_call &c, Level lo, Level hi) {
    const size_t room = (size_t{bins} * sizeof(unsigned) + 255) & ~size_t{255};
    size_t bytes = c.scratch_bytes - room;
    auto counts = reinterpret_cast<unsigned *>(static_cast<char *>(c.scratch) + bytes);
    return with_count(c.count, [&](auto n) {
        return cub::DeviceHistogram::HistogramEven(c.scratch, bytes, input<T>(c), counts, bins + 1,
                                                   lo, hi, n, c.stream);
    });
}

cudaError_t cub_histogram_u8(const cuda_call &c) {
    return cub_histogram<uint8_t, int, 256>(c, 0, 256);
}

template <int bins> cudaError_t cub_histogram_f32(const cuda_call &c) {
    return cub_histogram<float, float, bins>(c, 0, 1);
}

const cuda_work cub_works[] = {
    {"sum", "i32", cub_sum<int32_t, int32_t>, false},
    {"min", "i32", cub_min<int32_t>, false},
    {"max", "i32", cub_max<int32_t>, false},
    {"sum", "u8", cub_sum<uint8_t, uint32_t>, false},
    {"min", "u8", cub_min<uint8_t>, false},
    {"max", "u8", cub_max<uint8_t>, false},
    {"sum", "f32", cub_sum<float, float>, false},
    {"min", "f32", cub_min<float>, false},
    {"max", "f32", cub_max<float>, false},
    {"var", "f32", cub_var<float>, false},
    {"sum", "f64", cub_sum<double, double>, false},
    {"min", "f64", cub_min<double>, false},
    {"max", "f64", cub_max<double>, false},
    {"var", "f64", cub_var<double>, false},
    {"prod", "f64", cub_prod<double>, false},
    {"histogram", "u8", cub_histogram_u8, false},
    {"histogram", "f32", cub_histogram_f32<100>, false},
    {nullptr, nullptr, nullptr, false},
};

// Thrust, with memory that was there before, and without waiting where it offers that.

struct scratch_allocator {
    using value_type = char;
    char *memory;
    size_t bytes, used;
    char *allocate(std::ptrdiff_t n) {
        char *at = memory + used;
        used += (static_cast<size_t>(n) + 255) & ~size_t{255};
        return used <= bytes ? at : nullptr;
    }
    void deallocate(char *, size_t) {}
};

template <typename T> cudaError_t thrust_var(const cuda_call &c) {
    scratch_allocator allocator{static_cast<char *>(c.scratch), c.scratch_bytes, 0};
    const moments<T> m = thrust::transform_reduce(
        thrust::cuda::par(allocator).on(c.stream), input<T>(c), input<T>(c) + c.count,
        moments_of<T>{}, moments<T>{0, 0}, add_moments<T>{});
    return m.squares >= 0 ? cudaGetLastError() : cudaErrorUnknown;
}

cudaError_t thrust_add(const cuda_call &c) {
    thrust::transform(thrust::cuda::par_nosync.on(c.stream), input<float>(c),
                      input<float>(c) + c.count, static_cast<const float *>(c.b),
                      static_cast<float *>(c.out), cuda::std::plus<float>{});
    return cudaGetLastError();
}

const cuda_work thrust_works[] = {
    {"var", "f32", thrust_var<float>, true},
    {"var", "f64", thrust_var<double>, true},
    {"add", "f32", thrust_add, false},
    {nullptr, nullptr, nullptr, false},
};

// cub::DeviceTransform.

#ifdef HAVE_TRANSFORM
cudaError_t transform_add(const cuda_call &c) {
    return with_count(c.count, [&](auto n) {
        return cub::DeviceTransform::Transform(
            cuda::std::make_tuple(input<float>(c), static_cast<const float *>(c.b)),
            static_cast<float *>(c.out), n, cuda::std::plus<float>{}, c.stream);
    });
}
#endif

const cuda_work transform_works[] = {
#ifdef HAVE_TRANSFORM
    {"add", "f32", transform_add, false},
#endif
    {nullptr, nullptr, nullptr, false},
};

// By hand: four elements a thread.

__global__ void float4_add_kernel(const float4 *a, const float4 *b, float4 *out, size_t count) {
    const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
    if (i >= count) return;
    const float4 x = a[i], y = b[i];
    out[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}

cudaError_t float4_add(const cuda_call &c) {
    const size_t quads = c.count / 4; /* every count here is a multiple of 4 */
    float4_add_kernel<<<static_cast<unsigned>((quads + 255) / 256), 256, 0, c.stream>>>(
        static_cast<const float4 *>(c.a), static_cast<const float4 *>(c.b),
        static_cast<float4 *>(c.out), quads);
    return cudaGetLastError();
}

const cuda_work float4_works[] = {
    {"add", "f32", float4_add, false},
    {nullptr, nullptr, nullptr, false},
};

// The limit: a kernel that loads every byte, and does nothing with it.

__global__ void __launch_bounds__(1024, 2)
    read_kernel(const uint4 *x, size_t count, unsigned *result) {
    const size_t step = size_t{4} * blockDim.x * gridDim.x;
    unsigned bits = 0;
    for (size_t i = size_t{4} * blockDim.x * blockIdx.x + threadIdx.x; i < count; i += step) {
        uint4 v[4];
        for (unsigned k = 0; k < 4; k++) {
            const size_t at = i + k * blockDim.x;
            v[k] = at < count ? __ldg(x + at) : make_uint4(0, 0, 0, 0);
        }
        for (unsigned k = 0; k < 4; k++) bits |= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
    }
    if (bits == 0x12345678) *result = bits; // otherwise the loads would be left out
}

// `vectors` of count elements of `size` bytes, all of them.
template <unsigned size, unsigned vectors> cudaError_t read_all(const cuda_call &c) {
    static int multiprocessors = 0;
    if (multiprocessors == 0) {
        int gpu;
        cudaError_t error = cudaGetDevice(&gpu);
        if (error == cudaSuccess)
            error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, gpu);
        if (error != cudaSuccess) return error;
    }
    const size_t words = c.count * size * vectors / sizeof(uint4);
    const unsigned threads = words <= (1 << 20) ? 256 : 1024;
    const size_t needed = (words + 4 * threads - 1) / (4 * threads);
    const size_t most = size_t{2} * static_cast<unsigned>(multiprocessors);
    const size_t blocks = threads == 1024 && needed > most ? most : needed;
    read_kernel<<<static_cast<unsigned>(blocks), threads, 0, c.stream>>>(
        static_cast<const uint4 *>(c.a), words, static_cast<unsigned *>(c.result));
    return cudaGetLastError();
}

const cuda_work read_works[] = {
    {"sum", "i32", read_all<4, 1>, false},      {"min", "i32", read_all<4, 1>, false},
    {"max", "i32", read_all<4, 1>, false},      {"sum", "u8", read_all<1, 1>, false},
    {"min", "u8", read_all<1, 1>, false},       {"max", "u8", read_all<1, 1>, false},
    {"sum", "f32", read_all<4, 1>, false},      {"min", "f32", read_all<4, 1>, false},
    {"max", "f32", read_all<4, 1>, false},      {"var", "f32", read_all<4, 1>, false},
    {"dot", "f32", read_all<4, 2>, false},      {"sum", "f64", read_all<8, 1>, false},
    {"min", "f64", read_all<8, 1>, false},      {"max", "f64", read_all<8, 1>, false},
    {"var", "f64", read_all<8, 1>, false},      {"dot", "f64", read_all<8, 2>, false},
    {"prod", "f64", read_all<8, 1>, false},     {"describe", "f64", read_all<8, 1>, false},
    {"histogram", "u8", read_all<1, 1>, false}, {"histogram", "f32", read_all<4, 1>, false},
    {nullptr, nullptr, nullptr, false},
};

const struct {
    const char *name;
    const cuda_work *works;
} peers[] = {
    {"cub", cub_works},       {"thrust", thrust_works}, {"transform", transform_works},
    {"float4", float4_works}, {"read", read_works},
};

} // namespace

int main(int argc, char **argv) {
    for (const auto &peer : peers)
        if (argc == 2 && std::strcmp(argv[1], peer.name) == 0)
            return cuda_serve(peer.name, peer.works);
    std::fprintf(stderr, "usage: cuda_peer cub|thrust|transform|float4|read\n");
    return 2;
}
