// Reductions along axes and of segments, beside cub::DeviceSegmentedReduce where that has a form of
// the work; prints tables. Arguments: axes, inner, segments, hard, cells (none: all). "cells"
// prints JSON lines: each operation on each dtype and shape, beside a flat sum of the same bytes.
#include "timed.cuh"
#include <bitfold.h>

#include <cub/device/device_segmented_reduce.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr int64_t ELEMENTS = int64_t{1} << 28;
cudaStream_t stream;
bf_context *context;
char *input, *output, *offsets, *scratch;
size_t scratch_bytes;

void require(bool good, const char *what) {
    if (good) return;
    std::fprintf(stderr, "axis_cuda_peer: %s: %s, %s\n", what, bf_context_message(context),
                 cudaGetErrorString(cudaGetLastError()));
    std::exit(1);
}

// Normal numbers; or (kind 1) any bits of finite floats; or (2) normal numbers times 2^-20 ...
// 2^20.
template <typename T> __global__ void fill(T *to, int64_t n, int kind) {
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * blockDim.x) {
        uint64_t r = mix((uint64_t)i);
        double u = ((r >> 40) + 0.5) / 16777216, v = (double)(r & 0xffffff) / 16777216;
        double x = sqrt(-2 * log(u)) * cospi(2 * v);
        if (kind == 1) x = ldexp(1 + v, (int)(r >> 30 & 255) % 250 - 124) * (r >> 60 & 1 ? 1 : -1);
        if (kind == 2) x = ldexp(x, (int)(r >> 30 & 255) % 41 - 20);
        to[i] = (T)x;
    }
}

__global__ void fill_bytes(uint64_t *to, int64_t n) {
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * blockDim.x)
        to[i] = mix((uint64_t)i);
}

bf_array matrix(bf_dtype dtype, int64_t rows, int64_t columns) {
    bf_array a = bf_array_of(dtype, input, rows);
    a.ndim = 2;
    a.shape[1] = columns;
    a.strides[0] = columns;
    a.strides[1] = 1;
    return a;
}

double axis_time(bf_reduction op, bf_dtype dtype, int64_t rows, int64_t columns, int axis) {
    bf_array a = matrix(dtype, rows, columns);
    bf_reduce_options o = {};
    o.size = sizeof o;
    if (dtype == BF_F32) o.out_dtype = BF_F32;
    bf_array values = bf_array_of(bf_reduce_dtype(op, dtype, &o), output, axis ? rows : columns);
    return microseconds(stream, [&] {
        require(bf_reduce_axes_async(context, op, &a, &axis, 1, &o, &values, nullptr) == BF_OK,
                "axes");
    });
}

double flat_time(bf_reduction op, bf_dtype dtype, int64_t n) {
    bf_array a = bf_array_of(dtype, input, n);
    return microseconds(stream, [&] {
        require(bf_reduce_async(context, op, &a, nullptr, (bf_value *)output) == BF_OK, "reduce");
    });
}

void time_axes() {
    const int64_t shapes[][2] = {{1 << 14, 1 << 14}, {1 << 24, 16},  {16, 1 << 24}, {1 << 20, 256},
                                 {256, 1 << 20},     {1 << 27, 2},   {4, 1 << 26},  {1 << 26, 4},
                                 {1000, 268435},     {268435, 1000}, {2, 1 << 27}};
    const bf_dtype dtypes[] = {BF_F32, BF_F64};
    std::printf("sum and var of 2^28 f32, 2^27 f64: us, and TB/s read and written\n");
    for (bf_dtype dtype : dtypes) {
        const int64_t bytes = (int64_t)bf_dtype_size(dtype),
                      n = dtype == BF_F32 ? ELEMENTS : ELEMENTS / 2;
        if (dtype == BF_F32)
            fill<<<2000, 256, 0, stream>>>((float *)input, n, 0);
        else
            fill<<<2000, 256, 0, stream>>>((double *)input, n, 0);
        const double flat = flat_time(BF_SUM, dtype, n), flat_var = flat_time(BF_VAR, dtype, n);
        std::printf("%s flat sum %7.1f %5.2f  var %7.1f %5.2f\n", bf_dtype_name(dtype), flat,
                    (double)(n * bytes) / flat / 1e6, flat_var,
                    (double)(n * bytes) / flat_var / 1e6);
        for (auto &s : shapes)
            for (int axis = 0; axis < 2; axis++) {
                const int64_t rows = s[0],
                              columns = dtype == BF_F32 ? s[1] : std::max<int64_t>(s[1] / 2, 1);
                const double moved = (double)((rows * columns + (axis ? rows : columns)) * bytes);
                const double sum = axis_time(BF_SUM, dtype, rows, columns, axis);
                const double var = axis_time(BF_VAR, dtype, rows, columns, axis);
                std::printf("%s (%9lld, %9lld) axis %d  sum %8.1f %5.2f  var %8.1f %5.2f\n",
                            bf_dtype_name(dtype), (long long)rows, (long long)columns, axis, sum,
                            moved / sum / 1e6, var, moved / var / 1e6);
            }
    }
}

void time_inner() {
    std::printf("sum of 2^28 f32 (n / c, c): c, TB/s along axis 0, along axis 1\n");
    fill<<<2000, 256, 0, stream>>>((float *)input, ELEMENTS, 0);
    std::vector<int64_t> all;
    for (int k = 2; k <= 27; k++) {
        all.push_back(int64_t{1} << k);
        if (k < 14) all.push_back((int64_t{1} << k) * 3 / 2 + 1);
    }
    for (int64_t c : all) {
        const int64_t rows = ELEMENTS / c;
        const double a = axis_time(BF_SUM, BF_F32, rows, c, 0),
                     b = axis_time(BF_SUM, BF_F32, rows, c, 1);
        std::printf("%9lld %5.2f %5.2f\n", (long long)c, (double)(rows * c + c) * 4 / a / 1e6,
                    (double)(rows * c + rows) * 4 / b / 1e6);
    }
}

// Offsets of segments of about `mean`; shape 1: uniform, 2: a power law, 3: one giant of half.
int64_t make_offsets(int64_t mean, int shape, int64_t n = ELEMENTS) {
    std::vector<int32_t> all(1, 0);
    uint64_t seed = 1;
    int64_t at = 0;
    if (shape == 3) all.push_back((int32_t)(at = n / 2));
    while (at < n) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const double u = ((seed >> 33) + 0.5) / 2147483648.0;
        int64_t length = mean;
        if (shape == 1) length = (int64_t)(2 * u * (double)mean);
        if (shape == 2) length = (int64_t)std::min(0.25 * (double)mean / std::pow(u, 0.75), 4e6);
        at = std::min(n, at + length);
        all.push_back((int32_t)at);
    }
    cudaMemcpyAsync(offsets, all.data(), all.size() * 4, cudaMemcpyDefault, stream);
    cudaStreamSynchronize(stream);
    return (int64_t)all.size() - 1;
}

double segment_time(bf_reduction op, int64_t m) {
    bf_array a = bf_array_of(BF_F32, input, ELEMENTS);
    bf_array o = bf_array_of(BF_I32, offsets, m + 1);
    bf_reduce_options options = {};
    options.size = sizeof options;
    options.out_dtype = BF_F32;
    bf_array values = bf_array_of(BF_F32, output, m);
    auto *wrong = (int64_t *)(output + ((size_t)m * 4 + 15) / 8 * 8);
    return microseconds(stream, [&] {
        require(bf_reduce_segments_async(context, op, &a, &o, &options, &values, nullptr, wrong) ==
                    BF_OK,
                "segments");
    });
}

double cub_time(int64_t m) {
    auto *o = (const int *)offsets;
    size_t bytes = 0;
    cub::DeviceSegmentedReduce::Sum(nullptr, bytes, (const float *)input, (float *)output, (int)m,
                                    o, o + 1, stream);
    require(bytes <= scratch_bytes, "scratch");
    return microseconds(stream, [&] {
        cub::DeviceSegmentedReduce::Sum(scratch, bytes, (const float *)input, (float *)output,
                                        (int)m, o, o + 1, stream);
    });
}

void time_segments() {
    static const char *const names[] = {"equal", "uniform", "power law", "one giant"};
    std::printf("segments of 2^28 f32: mean, lengths, sum us TB/s, CUB us, CUB / sum, var TB/s\n");
    fill<<<2000, 256, 0, stream>>>((float *)input, ELEMENTS, 0);
    for (int64_t mean : {4, 8, 32, 64, 128, 256, 1024, 4096, 65536, 1 << 20})
        for (int shape = 0; shape < 4; shape++) {
            const int64_t m = make_offsets(mean, shape);
            const bool slow = mean < 1024 || shape > 1; // CUB's, by far
            const double us = segment_time(BF_SUM, m), cub = slow ? 0 : cub_time(m),
                         var = segment_time(BF_VAR, m);
            std::printf("%8lld %-9s %8.1f %5.2f  %8.1f %6.2f  %5.2f\n", (long long)mean,
                        names[shape], us, ELEMENTS * 4.0 / us / 1e6, cub, cub / us,
                        ELEMENTS * 4.0 / var / 1e6);
        }
}

// Data that fit no window.
void time_hard() {
    std::printf("sum of 2^28 f32 of kinds normal, any exponent, 2^+-20: TB/s\n");
    const int64_t shapes[][2] = {{1 << 14, 1 << 14}, {1 << 24, 16}, {1 << 20, 256}, {16, 1 << 24}};
    for (int kind = 0; kind < 3; kind++) {
        fill<<<2000, 256, 0, stream>>>((float *)input, ELEMENTS, kind);
        for (auto &s : shapes)
            for (int axis = 0; axis < 2; axis++) {
                const double us = axis_time(BF_SUM, BF_F32, s[0], s[1], axis),
                             var = axis_time(BF_VAR, BF_F32, s[0], s[1], axis);
                std::printf("kind %d (%9lld, %9lld) axis %d: sum %6.3f, var %6.3f\n", kind,
                            (long long)s[0], (long long)s[1], axis, ELEMENTS * 4.0 / us / 1e6,
                            ELEMENTS * 4.0 / var / 1e6);
            }
    }
}

// --- cells ---

constexpr int64_t BYTES = int64_t{1} << 30;

// Values of any dtype: small integers, or normal numbers; `kind` as above.
void fill_values(bf_dtype dtype, int kind) {
    const int64_t n = BYTES / (int64_t)bf_dtype_size(dtype);
    if (dtype == BF_F64) fill<<<2000, 256, 0, stream>>>((double *)input, n, kind);
    if (dtype == BF_F32) fill<<<2000, 256, 0, stream>>>((float *)input, n, kind);
    if (dtype == BF_F16) fill<<<2000, 256, 0, stream>>>((__half *)input, n, kind);
    if (dtype == BF_BF16) fill<<<2000, 256, 0, stream>>>((__nv_bfloat16 *)input, n, kind);
    if (dtype == BF_I32 || dtype == BF_I64 || dtype == BF_U8)
        fill_bytes<<<2000, 256, 0, stream>>>((uint64_t *)input, BYTES / 8);
}

bf_reduce_options cell_options(bf_reduction op, bf_dtype dtype) {
    bf_reduce_options o = {};
    o.size = sizeof o;
    o.overflow = BF_OVERFLOW_WRAP;
    const bool indexed = op == BF_ARGMIN || op == BF_ARGMAX, extreme = op == BF_MIN;
    if (!indexed && !extreme && dtype == BF_F32) o.out_dtype = BF_F32;
    return o;
}

void print_cell(const char *work, bf_reduction op, bf_dtype dtype, const char *shape, double us,
                double moved, double flat) {
    std::printf("{\"work\": \"%s\", \"op\": \"%s\", \"dtype\": \"%s\", \"shape\": \"%s\", "
                "\"us\": %.1f, \"of_flat_sum\": %.2f}\n",
                work, bf_reduction_name(op), bf_dtype_name(dtype), shape, us,
                moved / (double)BYTES * flat / us);
    std::fflush(stdout);
}

void axis_cell(bf_reduction op, bf_dtype dtype, int64_t rows, int64_t columns, int axis,
               double flat, int kind) {
    bf_array a = matrix(dtype, rows, columns);
    bf_reduce_options o = cell_options(op, dtype);
    const int64_t results = axis ? rows : columns;
    bf_array values = bf_array_of(bf_reduce_dtype(op, dtype, &o), output, results);
    const double us = microseconds(stream, [&] {
        require(bf_reduce_axes_async(context, op, &a, &axis, 1, &o, &values, nullptr) == BF_OK,
                bf_reduction_name(op));
    });
    char shape[80];
    std::snprintf(shape, sizeof shape, "(%lld, %lld) axis %d%s", (long long)rows,
                  (long long)columns, axis, kind == 1 ? ", any exponent" : "");
    print_cell("axis", op, dtype, shape, us,
               (double)BYTES + (double)results * (double)bf_dtype_size(values.dtype), flat);
}

void segment_cell(bf_reduction op, bf_dtype dtype, int64_t mean, int64_t m, double flat, int kind) {
    bf_array a = bf_array_of(dtype, input, BYTES / (int64_t)bf_dtype_size(dtype));
    bf_array o = bf_array_of(BF_I32, offsets, m + 1);
    bf_reduce_options options = cell_options(op, dtype);
    const bf_dtype to = bf_reduce_dtype(op, dtype, &options);
    const double bytes = (double)m * (double)bf_dtype_size(to);
    bf_array values = bf_array_of(to, output, m);
    auto *wrong = (int64_t *)(output + (3 * BYTES / 4));
    const double us = microseconds(stream, [&] {
        require(bf_reduce_segments_async(context, op, &a, &o, &options, &values, nullptr, wrong) ==
                    BF_OK,
                bf_reduction_name(op));
    });
    char shape[80];
    std::snprintf(shape, sizeof shape, "uniform, mean %lld%s", (long long)mean,
                  kind == 1 ? ", any exponent" : "");
    print_cell("segments", op, dtype, shape, us, (double)BYTES + bytes, flat);
}

void time_cells() {
    const bf_dtype dtypes[] = {BF_F32, BF_F64, BF_F16, BF_BF16, BF_I32, BF_I64, BF_U8};
    const bf_reduction ops[] = {BF_SUM, BF_VAR, BF_MIN, BF_ARGMIN, BF_PROD, BF_NORM, BF_SUMSQ};
    for (bf_dtype dtype : dtypes)
        for (int kind = 0; kind < (dtype == BF_F32 || dtype == BF_F64 ? 2 : 1); kind++) {
            const int64_t n = BYTES / (int64_t)bf_dtype_size(dtype);
            const int64_t shapes[][2] = {
                {1 << 14, n >> 14}, {n / 16, 16}, {16, n / 16}, {n / 256, 256}, {256, n / 256}};
            fill_values(dtype, 0);
            const double flat = flat_time(BF_SUM, dtype, n);
            fill_values(dtype, kind);
            for (bf_reduction op : ops) {
                if (kind == 1 && op != BF_SUM && op != BF_VAR) continue;
                for (auto &s : shapes)
                    for (int axis = 0; axis < 2; axis++)
                        axis_cell(op, dtype, s[0], s[1], axis, flat, kind);
            }
            for (int64_t mean : {8, 64, 1024, 16384}) {
                if (mean == 8 && dtype == BF_U8) continue; // more results than there is room for
                const int64_t m = make_offsets(mean, 1, n);
                for (bf_reduction op : {BF_SUM, BF_VAR, BF_MIN, BF_ARGMIN})
                    if (kind == 0 || op == BF_SUM || op == BF_VAR)
                        segment_cell(op, dtype, mean, m, flat, kind);
            }
        }
}

} // namespace

int main(int argc, char **argv) {
    bf_options o = {};
    o.size = sizeof o;
    o.device = "cuda";
    require(bf_context_create(&o, &context) == BF_OK, "context");
    cudaStreamCreate(&stream);
    require(bf_context_set_stream(context, stream) == BF_OK, "stream");
    scratch_bytes = 64 << 20;
    require(cudaMalloc(&input, ELEMENTS * 4) == cudaSuccess, "memory");
    require(cudaMalloc(&output, ELEMENTS * 4) == cudaSuccess, "memory");
    require(cudaMalloc(&offsets, ELEMENTS * 4) == cudaSuccess, "memory");
    require(cudaMalloc(&scratch, scratch_bytes) == cudaSuccess, "memory");
    const char *what = argc > 1 ? argv[1] : "";
    if (argc < 2 || !std::strcmp(what, "axes")) time_axes();
    if (argc < 2 || !std::strcmp(what, "inner")) time_inner();
    if (argc < 2 || !std::strcmp(what, "segments")) time_segments();
    if (argc < 2 || !std::strcmp(what, "hard")) time_hard();
    if (argc < 2 || !std::strcmp(what, "cells")) time_cells();
    return 0;
}
