// Order on a GPU, beside cub::DeviceRadixSort where that has a form of the work; prints a table.
#include "timed.cuh"
#include <bitfold.h>

#include <cub/device/device_radix_sort.cuh>

extern "C" {
#include "api/runtime/place.h"
#include "seam/order.h"
}

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int64_t ELEMENTS = int64_t{1} << 28;
cudaStream_t stream;
bf_context *context;
const bf_order_backend *order;
char *input, *output, *values, *moved, *scratch;

void require(bool good, const char *what) {
    if (good) return;
    std::fprintf(stderr, "order_cuda_peer: %s: %s, %s\n", what, bf_context_message(context),
                 cudaGetErrorString(cudaGetLastError()));
    std::exit(1);
}

// Random bits below `most`; or (0) numbers from 0 to 1.
template <typename T> __global__ void fill(T *to, int64_t n, uint64_t most) {
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * blockDim.x) {
        const uint64_t r = mix((uint64_t)i);
        to[i] = most == 0 ? (T)((double)(r >> 11) / 9007199254740992.0) : (T)(r % most);
    }
}

template <typename T> void fill_with(uint64_t most) {
    fill<<<2000, 256, 0, stream>>>((T *)input, ELEMENTS * 4 / (int64_t)sizeof(T), most);
}

void report(const char *what, int64_t n, double ours, double peer) {
    std::printf("%-34s %9.1f us %7.2f G/s", what, ours, (double)n / ours / 1e3);
    if (peer > 0)
        std::printf("   CUB %9.1f us %7.2f G/s, %.2fx", peer, (double)n / peer / 1e3, peer / ours);
    std::printf("\n");
    std::fflush(stdout);
}

bf_order_lines line_of(bf_dtype dtype, int64_t n) {
    bf_order_lines lines = {};
    lines.dtype = dtype;
    lines.values = input;
    lines.count = 1;
    lines.length = n;
    return lines;
}

double sort_time(bf_dtype dtype, int64_t n, void *sorted, void *index) {
    const bf_order_lines lines = line_of(dtype, n);
    return microseconds(
        stream, [&] { require(order->sort(context, &lines, sorted, index) == BF_OK, "sort"); });
}

template <typename K> double cub_keys(int64_t n) {
    size_t bytes = 0;
    cub::DeviceRadixSort::SortKeys(nullptr, bytes, (const K *)input, (K *)output, n);
    return microseconds(stream, [&] {
        cub::DeviceRadixSort::SortKeys(scratch, bytes, (const K *)input, (K *)output, n, 0,
                                       (int)(8 * sizeof(K)), stream);
    });
}

template <typename K, typename V> double cub_pairs(int64_t n) {
    size_t bytes = 0;
    cub::DeviceRadixSort::SortPairs(nullptr, bytes, (const K *)input, (K *)output,
                                    (const V *)values, (V *)moved, n);
    return microseconds(stream, [&] {
        cub::DeviceRadixSort::SortPairs(scratch, bytes, (const K *)input, (K *)output,
                                        (const V *)values, (V *)moved, n, 0, (int)(8 * sizeof(K)),
                                        stream);
    });
}

void time_sorts() {
    fill_with<uint32_t>(uint64_t{1} << 32);
    const double cub32 = cub_keys<uint32_t>(ELEMENTS);
    report("sort 2^28 u32", ELEMENTS, sort_time(BF_U32, ELEMENTS, output, nullptr), cub32);
    report("sort 2^28 i32", ELEMENTS, sort_time(BF_I32, ELEMENTS, output, nullptr),
           cub_keys<int32_t>(ELEMENTS));
    report("sort 2^20 u32", 1 << 20, sort_time(BF_U32, 1 << 20, output, nullptr),
           cub_keys<uint32_t>(1 << 20));
    const int64_t half = ELEMENTS / 2, quarter = ELEMENTS / 4;
    const double pairs = cub_pairs<uint32_t, uint32_t>(half);
    bf_order_lines keys = line_of(BF_U32, half);
    void *payload = values;
    const int four = 4;
    const double rows = microseconds(stream, [&] { // in place: keys are made anew
        fill<<<2000, 256, 0, stream>>>((uint32_t *)input, half, uint64_t{1} << 32);
        require(order->sort_rows(context, &keys, 1, &payload, &four) == BF_OK, "rows");
    });
    const double filling = microseconds(stream, [&] {
        fill<<<2000, 256, 0, stream>>>((uint32_t *)input, half, uint64_t{1} << 32);
    });
    report("rows 2^27 u32, 4 bytes, in place", half, rows - filling, pairs);
    report("argsort 2^27 u32", half, sort_time(BF_U32, half, nullptr, moved), pairs);
    report("sort and argsort 2^27 u32", half, sort_time(BF_U32, half, output, moved), pairs);
    fill_with<uint64_t>(~uint64_t{0});
    report("sort 2^27 u64", half, sort_time(BF_U64, half, output, nullptr),
           cub_keys<uint64_t>(half));
    report("argsort 2^26 u64", quarter, sort_time(BF_U64, quarter, nullptr, moved),
           cub_pairs<uint64_t, uint32_t>(quarter));
    fill_with<float>(0);
    report("sort 2^28 f32", ELEMENTS, sort_time(BF_F32, ELEMENTS, output, nullptr),
           cub_keys<float>(ELEMENTS));
    fill_with<double>(0);
    report("sort 2^27 f64", half, sort_time(BF_F64, half, output, nullptr), cub_keys<double>(half));
    fill_with<uint8_t>(256);
    report("sort 2^28 u8", ELEMENTS, sort_time(BF_U8, ELEMENTS, output, nullptr),
           cub_keys<uint8_t>(ELEMENTS));
}

void time_lines() {
    const int64_t lengths[] = {16, 256, 4096, 1 << 16, 1 << 20};
    fill_with<float>(0);
    for (int64_t length : lengths) {
        char what[64];
        bf_order_lines lines = line_of(BF_F32, length);
        lines.count = ELEMENTS / 4 / length;
        const double time = microseconds(stream, [&] {
            require(order->sort(context, &lines, output, nullptr) == BF_OK, "lines");
        });
        std::snprintf(what, sizeof what, "sort 2^26 f32 in lines of %lld", (long long)length);
        report(what, ELEMENTS / 4, time, 0);
    }
}

double select_time(bf_dtype dtype, int64_t n, int results) {
    static const double q[] = {0.05, 0.25, 0.5, 0.75, 0.95};
    const bf_order_lines lines = line_of(dtype, n);
    uint64_t found[5];
    bf_selection s = {};
    s.statistic = results == 1 ? BF_STATISTIC_MEDIAN : BF_STATISTIC_QUANTILE;
    s.count = results;
    s.q = q;
    s.to = results == 1 ? bf_dtype(dtype) : BF_F64;
    return microseconds(
        stream, [&] { require(order->select(context, &lines, &s, found) == BF_OK, "select"); });
}

void time_selections(bf_dtype dtype, int64_t n) {
    const bf_array array = bf_array_of(dtype, input, n);
    const double read = microseconds(stream, [&] {
        require(bf_reduce_async(context, BF_MAX, &array, nullptr, (bf_value *)output) == BF_OK,
                "max");
    });
    const double median = select_time(dtype, n, 1), five = select_time(dtype, n, 5);
    const bf_order_lines lines = line_of(dtype, n);
    bf_order_lines down = lines;
    down.order = BF_DESCENDING;
    const double top = microseconds(
        stream, [&] { require(order->top(context, &down, 100, output, moved) == BF_OK, "top"); });
    std::printf("2^%d %s: read %.1f us; median %.1f (%.2f reads), five quantiles %.1f (%.2f), "
                "top 100 %.1f (%.2f)\n",
                n == ELEMENTS ? 28 : 27, bf_dtype_name(dtype), read, median, median / read, five,
                five / read, top, top / read);
    std::fflush(stdout);
}

void time_unique() {
    const int64_t n = ELEMENTS / 4;
    int64_t different;
    fill_with<uint32_t>(1 << 20);
    const double time = microseconds(stream, [&] {
        require(order->unique(context, BF_U32, input, n, output, moved, n, &different) == BF_OK,
                "unique");
    });
    report("unique 2^26 u32 of 2^20, counts", n, time, 0);
}

} // namespace

int main() {
    bf_options options = {};
    options.size = sizeof options;
    options.device = "cuda";
    require(cudaStreamCreate(&stream) == cudaSuccess, "stream");
    options.stream = stream;
    require(bf_context_create(&options, &context) == BF_OK, "context");
    order = bf_backend_open(context)->order;
    for (char **memory : {&input, &output, &values, &moved, &scratch})
        require(cudaMalloc((void **)memory, (size_t)ELEMENTS * 4 + (64 << 20)) == cudaSuccess,
                "memory");
    time_sorts();
    time_lines();
    fill_with<float>(0);
    time_selections(BF_F32, ELEMENTS);
    fill_with<double>(0);
    time_selections(BF_F64, ELEMENTS / 2);
    time_unique();
    return 0;
}
