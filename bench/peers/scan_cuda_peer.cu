// Sums of every prefix on a GPU, beside cub::DeviceScan and a copy; prints a table.
#include "timed.cuh"
#include <bitfold.h>

#include <cub/device/device_scan.cuh>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

bf_context *context;

void require(bool good, const char *what) {
    if (good) return;
    std::fprintf(stderr, "scan_cuda_peer: %s: %s, %s\n", what, bf_context_message(context),
                 cudaGetErrorString(cudaGetLastError()));
    std::exit(1);
}

enum class data { uniform, normal, spread_100, spread_600, integers };

__device__ double number(uint64_t i, data kind) {
    const uint64_t r = mix(i);
    const double u = (double)(r >> 11) / 9007199254740992.0;
    switch (kind) {
    case data::normal:
        return sqrt(-2 * log(1 - u)) * cospi(2 * ((double)(mix(r) >> 11) / 9007199254740992.0));
    case data::spread_100: return ldexp(u - 0.5, (int)(mix(r) % 200) - 100);
    case data::spread_600: return ldexp(u - 0.5, (int)(mix(r) % 1200) - 600);
    case data::integers: return (u - 0.5) * 1000;
    default: return u;
    }
}

template <typename T> __global__ void fill(T *to, int64_t n, data kind) {
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * blockDim.x)
        to[i] = (T)number((uint64_t)i, kind);
}

// kept: the results stay as they are if one does not fit, which CUB does not look for.
template <typename T>
void compare(const char *what, bf_dtype dtype, int64_t n, data kind, bool kept = false) {
    T *x, *to;
    void *scratch;
    size_t bytes = 0;
    const bf_scan_options options = BF_SCAN_OPTIONS(.fresh = !kept);
    const bf_dtype sums = bf_scan_dtype(BF_SUM, dtype, &options);
    const size_t room = (size_t)n * std::max(sizeof(T), bf_dtype_size(sums));
    cub::DeviceScan::InclusiveSum(nullptr, bytes, (T *)nullptr, (T *)nullptr, n);
    require(cudaMalloc((void **)&x, (size_t)n * sizeof(T)) == cudaSuccess &&
                cudaMalloc((void **)&to, room) == cudaSuccess &&
                cudaMalloc(&scratch, bytes) == cudaSuccess,
            "memory");
    fill<<<2000, 256>>>(x, n, kind);
    const bf_array in = bf_array_of(dtype, x, n), out = bf_array_of(sums, to, n);
    const double ours = microseconds(nullptr, [&] {
        require(bf_scan(context, BF_SUM, &in, 0, &options, &out) == BF_OK, "bf_scan");
    });
    const double cub =
        microseconds(nullptr, [&] { cub::DeviceScan::InclusiveSum(scratch, bytes, x, to, n); });
    const double copy = microseconds(
        nullptr, [&] { cudaMemcpyAsync(to, x, (size_t)n * sizeof(T), cudaMemcpyDeviceToDevice); });
    std::printf("%-32s n %-10lld %9.1f us   CUB %9.1f us, %.2fx   a copy %8.1f us\n", what,
                (long long)n, ours, cub, cub / ours, copy);
    std::fflush(stdout);
    cudaFree(x);
    cudaFree(to);
    cudaFree(scratch);
}

} // namespace

int main() {
    const bf_options options = BF_OPTIONS(.device = "cuda");
    const int64_t many = int64_t{1} << 28;
    require(bf_context_create(&options, &context) == BF_OK, "a context");
    compare<float>("f32, uniform", BF_F32, many, data::uniform);
    compare<float>("f32, normal", BF_F32, many, data::normal);
    compare<float>("f32, spread over 2^+-100", BF_F32, many, data::spread_100);
    compare<double>("f64, uniform", BF_F64, many, data::uniform);
    compare<double>("f64, normal", BF_F64, many, data::normal);
    compare<double>("f64, spread over 2^+-100", BF_F64, many, data::spread_100);
    compare<double>("f64, spread over 2^+-600", BF_F64, many / 4, data::spread_600);
    compare<int32_t>("i32, to i64", BF_I32, many, data::integers);
    compare<int64_t>("i64", BF_I64, many, data::integers);
    compare<uint64_t>("u64", BF_U64, many, data::uniform);
    compare<int64_t>("i64, kept", BF_I64, many, data::integers, true);
    compare<float>("f32, uniform", BF_F32, 1 << 20, data::uniform);
    compare<float>("f32, uniform", BF_F32, 1000, data::uniform);
    bf_context_destroy(context);
    return 0;
}
