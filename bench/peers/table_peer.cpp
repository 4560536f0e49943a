// Hash tables of C++ libraries, one key after another on one thread; the argument says which.
#include "peer.h"

#include "works/keys.h"
#include "works/measured.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#ifdef HAVE_ABSL
#include <absl/container/flat_hash_map.h>
#endif
#if __has_include(<boost/unordered/unordered_flat_map.hpp>)
#include <boost/unordered/unordered_flat_map.hpp>
#define HAVE_BOOST
#endif

namespace {

bool is(const char *a, const char *b) { return std::strcmp(a, b) == 0; }

// Memory as bitfold has it in the same run.
struct release {
    size_t bytes = 0;
    void operator()(void *memory) const { bench_free(memory, bytes); }
};
template <typename T> using vector = std::unique_ptr<T, release>;

template <typename T> vector<T> allocate(size_t n) {
    return vector<T>(static_cast<T *>(bench_alloc(n * sizeof(T))), release{n * sizeof(T)});
}

// The data of the last question; and the map that is asked.
template <typename Map> struct dataset {
    std::string about;
    vector<uint32_t> keys, queries, out;
    vector<char> values; // f32 or f64
    Map map;
};

template <typename Map> bool load(dataset<Map> &d, const peer_question &q) {
    const std::string about =
        std::string(q.work) + ' ' + q.dtype + ' ' + q.data + ' ' + std::to_string(q.count);
    if (about == d.about) return true;
    d.about.clear();
    d.map = Map();
    d.keys = allocate<uint32_t>(q.count);
    d.queries = allocate<uint32_t>(q.count);
    d.out = allocate<uint32_t>(q.count);
    d.values = allocate<char>(8 * q.count);
    if (!d.keys || !d.queries || !d.out || !d.values) return false;
    if (!bench_keys(q.work, q.data, q.count, 0, q.count, d.keys.get())) return false;
    bench_queries(q.data, q.count, 0, q.count, d.queries.get());
    if (q.dtype[0] == 'f') bench_fill(q.dtype, "normal", d.values.get(), q.count);
    d.about = about;
    return true;
}

template <typename Map> void insert(Map &map, const uint32_t *keys, size_t n) {
    for (size_t i = 0; i < n; i++) map.try_emplace(keys[i], static_cast<uint32_t>(i));
}

// Into a map that is new, or one that has room.
template <typename Map> double insert_pass(const dataset<Map> &d, const peer_question &q) {
    Map map;
    if (!is(q.data, "insert")) map.reserve(q.count);
    const double start = peer_now();
    insert(map, d.keys.get(), q.count);
    return peer_now() - start;
}

template <typename Map> double find_pass(dataset<Map> &d, const peer_question &q) {
    if (d.map.empty()) insert(d.map, d.keys.get(), q.count);
    const uint32_t *queries = d.queries.get();
    uint32_t *out = d.out.get();
    char *found = d.values.get();
    const double start = peer_now();
    for (size_t i = 0; i < q.count; i++) {
        const auto at = d.map.find(queries[i]);
        found[i] = at != d.map.end();
        if (found[i]) out[i] = at->second;
    }
    return peer_now() - start;
}

template <typename Counts> double count_pass(const uint32_t *keys, size_t n) {
    Counts counts;
    const double start = peer_now();
    for (size_t i = 0; i < n; i++) ++counts[keys[i]];
    return peer_now() - start;
}

template <typename Sums, typename T> double sum_pass(const uint32_t *keys, const T *x, size_t n) {
    Sums sums;
    const double start = peer_now();
    for (size_t i = 0; i < n; i++) sums[keys[i]] += x[i];
    return peer_now() - start;
}

template <template <typename, typename> class Map>
double pass(dataset<Map<uint32_t, uint32_t>> &d, const peer_question &q) {
    const uint32_t *keys = d.keys.get();
    if (is(q.work, "table"))
        return is(q.data, "insert") || is(q.data, "reserved") ? insert_pass(d, q) : find_pass(d, q);
    if (is(q.dtype, "f32"))
        return sum_pass<Map<uint32_t, float>>(keys, reinterpret_cast<const float *>(d.values.get()),
                                              q.count);
    if (is(q.dtype, "f64"))
        return sum_pass<Map<uint32_t, double>>(
            keys, reinterpret_cast<const double *>(d.values.get()), q.count);
    return count_pass<Map<uint32_t, uint64_t>>(keys, q.count);
}

// Lists are by key, which no hash table can give.
template <template <typename, typename> class Map>
double seconds(void *context, const peer_question *q) {
    auto &d = *static_cast<dataset<Map<uint32_t, uint32_t>> *>(context);
    const bool known = is(q->work, "table") || is(q->work, "group");
    if (!known || q->threads > 1 || std::strstr(q->data, "-list") || !load(d, *q)) return 0;
    double sum = 0;
    for (int i = 0; i < q->passes; i++) sum += pass<Map>(d, *q);
    return sum / q->passes;
}

template <template <typename, typename> class Map> int serve(const char *name) {
    dataset<Map<uint32_t, uint32_t>> d;
    return peer_answer(name, seconds<Map>, &d);
}

#ifdef HAVE_ABSL
template <typename K, typename V> using absl_map = absl::flat_hash_map<K, V>;
#endif
#ifdef HAVE_BOOST
template <typename K, typename V> using boost_map = boost::unordered_flat_map<K, V>;
#endif

} // namespace

int main(int argc, char **argv) {
    const char *name = argc == 2 ? argv[1] : "";
#ifdef HAVE_ABSL
    if (is(name, "absl")) return serve<absl_map>(name);
#endif
#ifdef HAVE_BOOST
    if (is(name, "boost")) return serve<boost_map>(name);
#endif
    std::fprintf(stderr, "table_peer: was built without '%s'\n", name);
    return 2;
}
