// The C++ standard library's parallel algorithms on TBB, compiled for this very machine.
#include "peer.h"

#include <algorithm>
#include <cstdint>
#include <execution>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <tbb/global_control.h>

namespace {

int threads = 1;
std::unique_ptr<tbb::global_control> limit;

void set_threads(int n) {
    if (limit && n == threads) return;
    threads = n;
    limit.reset();
    limit = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism, n);
}

// Calls body with the policy that fits the number of threads.
template <typename Body> double with_policy(Body body) {
    return threads > 1 ? static_cast<double>(body(std::execution::par_unseq))
                       : static_cast<double>(body(std::execution::unseq));
}

template <typename T, typename Sum> double sum(const void *a, const void *, size_t count) {
    auto x = static_cast<const T *>(a);
    return with_policy([=](auto policy) {
        return std::transform_reduce(policy, x, x + count, Sum{0}, std::plus<Sum>{},
                                     [](T v) { return static_cast<Sum>(v); });
    });
}

template <typename T> double mean(const void *a, const void *b, size_t count) {
    return sum<T, T>(a, b, count) / static_cast<double>(count);
}

template <typename T> double var(const void *a, const void *b, size_t count) {
    auto x = static_cast<const T *>(a);
    T m = static_cast<T>(mean<T>(a, b, count));
    return with_policy([=](auto policy) {
               return std::transform_reduce(policy, x, x + count, T{0}, std::plus<T>{},
                                            [m](T v) { return (v - m) * (v - m); });
           }) /
           static_cast<double>(count);
}

template <typename T> double dot(const void *a, const void *b, size_t count) {
    auto x = static_cast<const T *>(a), y = static_cast<const T *>(b);
    return with_policy(
        [=](auto policy) { return std::transform_reduce(policy, x, x + count, y, T{0}); });
}

template <typename T> double min(const void *a, const void *, size_t count) {
    auto x = static_cast<const T *>(a);
    return with_policy([=](auto policy) {
        return std::reduce(policy, x, x + count, std::numeric_limits<T>::max(),
                           [](T p, T q) { return p < q ? p : q; });
    });
}

template <typename T> double max(const void *a, const void *, size_t count) {
    auto x = static_cast<const T *>(a);
    return with_policy([=](auto policy) {
        return std::reduce(policy, x, x + count, std::numeric_limits<T>::lowest(),
                           [](T p, T q) { return p > q ? p : q; });
    });
}

template <typename T> double argmin(const void *a, const void *, size_t count) {
    auto x = static_cast<const T *>(a);
    return with_policy([=](auto policy) { return std::min_element(policy, x, x + count) - x; });
}

template <typename T> double prod(const void *a, const void *, size_t count) {
    auto x = static_cast<const T *>(a);
    return with_policy(
        [=](auto policy) { return std::reduce(policy, x, x + count, T{1}, std::multiplies<T>{}); });
}

template <typename T> double add(const void *a, const void *b, size_t count) {
    auto x = static_cast<const T *>(a), y = static_cast<const T *>(b);
    auto z = const_cast<T *>(y + (y - x));
    return with_policy([=](auto policy) {
        std::transform(policy, x, x + count, y, z, std::plus<T>{});
        return z[0];
    });
}

const peer_work works[] = {
    {"prod", "f64", prod<double>},
    {"add", "f32", add<float>},
    {"sum", "f32", sum<float, float>},
    {"sum", "f64", sum<double, double>},
    {"sum", "i32", sum<int32_t, int64_t>},
    {"sum", "i64", sum<int64_t, int64_t>},
    {"mean", "f64", mean<double>},
    {"var", "f64", var<double>},
    {"dot", "f32", dot<float>},
    {"dot", "f64", dot<double>},
    {"min", "f32", min<float>},
    {"min", "f64", min<double>},
    {"min", "i32", min<int32_t>},
    {"max", "f32", max<float>},
    {"max", "f64", max<double>},
    {"max", "i32", max<int32_t>},
    {"argmin", "f64", argmin<double>},
    {nullptr, nullptr, nullptr},
};

} // namespace

int main() { return peer_serve("std", works, set_threads); }
