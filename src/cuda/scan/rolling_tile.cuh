/* A tile of windows: its elements, and what its results are made of. */
#ifndef BF_CUDA_SCAN_ROLLING_TILE_CUH
#define BF_CUDA_SCAN_ROLLING_TILE_CUH

#include "cuda/runtime/element.cuh"
#include "cuda/scan/rolling.cuh"

namespace bf_cuda_rolling {

using bf_cuda_element::load_bits;
using bf_cuda_element::store_bits;

struct tile {
    int64_t line, base,
        k;            /* its first result's line, the first element of that, the number in it */
    int64_t origin;   /* where that element lies */
    int64_t from, to; /* its first result, of so many, and where it is stored */
    int n;
    int heads, count;      /* the list has so many elements up to the core, and so many of all */
    int64_t begin, second; /* the first element of the list, and the first behind the core */
    int end;               /* the first window ends there, in the list */
    bool steady;           /* windows are those of one line, and each is a step behind the last */
    __device__ __forceinline__ int64_t core() const { return begin + heads; }
};

/* Where element i of a line lies. */
__device__ __forceinline__ int64_t place_in_line(const bf_rolling_job &job, int64_t line,
                                                 int64_t i) {
    if (job.inner == 1) return line * job.length + i;
    return (line % job.outer * job.length + i) * job.inner + line / job.outer;
}

__device__ __forceinline__ int64_t first_of(const bf_rolling_job &job, int64_t line, int64_t k) {
    return line * job.length + bf_rolling_first(&job, k);
}
__device__ __forceinline__ int64_t end_of(const bf_rolling_job &job, int64_t line, int64_t k) {
    return line * job.length + bf_rolling_end(&job, k);
}

__device__ __forceinline__ tile find_tile(const bf_cuda_rolling_params &p, int64_t number) {
    const bf_rolling_job &job = p.job;
    const int64_t unit = number % p.units, i = number / p.units;
    const int64_t first_line =
        p.unit_lines > 1 ? unit * p.unit_lines : unit % job.inner * job.outer + unit / job.inner;
    const int64_t from = p.starts != nullptr ? p.starts[i] : i * p.tile_results;
    const int64_t most = p.unit_lines * job.results;
    int64_t to = p.starts != nullptr ? p.starts[i + 1] : from + p.tile_results;
    if (to > most) to = most;
    const int64_t last = first_line * job.results + to - 1, last_line = last / job.results;
    tile t;
    t.from = first_line * job.results + from;
    t.n = (int)(to - from);
    t.line = t.from / job.results;
    t.k = t.from - t.line * job.results;
    t.base = t.line * job.length;
    t.origin = place_in_line(job, t.line, 0);
    t.begin = first_of(job, t.line, t.k);
    const int64_t end = end_of(job, last_line, last - last_line * job.results);
    const bool has_core = end - t.begin > p.room;
    t.heads = (int)(has_core ? first_of(job, last_line, last - last_line * job.results) - t.begin
                             : end - t.begin);
    t.second = has_core ? end_of(job, t.line, t.k) : end;
    t.count = t.heads + (int)(end - t.second);
    t.end = (int)(end_of(job, t.line, t.k) - t.second) + t.heads;
    t.to = job.inner == 1
               ? t.from
               : (t.line % job.outer * job.results + t.k) * job.inner + t.line / job.outer;
    t.steady = job.first == nullptr && last_line == t.line &&
               t.k * job.step >= job.size - job.after - 1 &&
               job.after < job.length - (t.k + t.n - 1) * job.step;
    return t;
}

/* How many lines number i >= size, counted from a line of so many numbers, is further on. Lines are
 * shorter than a tile if that is more than one. */
__device__ __forceinline__ unsigned lines_on(int64_t i, int64_t size) {
    return i < 2 * size ? 1u : (unsigned)i / (unsigned)size;
}

/* Where element `number` of all lies; not many lines behind the tile's first. */
__device__ __forceinline__ int64_t place_of(const bf_cuda_rolling_params &p, const tile &t,
                                            int64_t number) {
    if (p.job.inner == 1) return number;
    const int64_t i = number - t.base;
    if (i < p.job.length) return t.origin + i * p.job.inner;
    const unsigned on = lines_on(i, p.job.length);
    return place_in_line(p.job, t.line + on, i - on * p.job.length);
}

__device__ __forceinline__ uint64_t element_of(const bf_cuda_rolling_params &p, const tile &t,
                                               int64_t number) {
    return load_bits(p.job.elements, p.bytes, place_of(p, t, number));
}

/* The number of element i of the list. */
__device__ __forceinline__ int64_t number_of(const tile &t, int i) {
    return i < t.heads ? t.begin + i : t.second + (i - t.heads);
}

__device__ __forceinline__ uint64_t listed(const bf_cuda_rolling_params &p, const tile &t, int i) {
    return element_of(p, t, number_of(t, i));
}

/* Calls put(i, element i of the list) for the numbers i of a thread, so many; behind the list with
 * 0. All are loaded before. */
template <class Element, int threads, int each, class Put>
__device__ __forceinline__ void load_as(const bf_cuda_rolling_params &p, const tile &t,
                                        const Put &put) {
    const Element *elements = (const Element *)p.job.elements;
    Element x[each];
#pragma unroll
    for (int k = 0; k < each; k++) {
        const int i = k * threads + (int)threadIdx.x;
        x[k] = i < t.count ? elements[place_of(p, t, number_of(t, i))] : 0;
    }
#pragma unroll
    for (int k = 0; k < each; k++) put(k * threads + (int)threadIdx.x, (uint64_t)x[k]);
}

template <int threads, int each, class Put>
__device__ __forceinline__ void load_list(const bf_cuda_rolling_params &p, const tile &t,
                                          const Put &put) {
    switch (p.bytes) {
    case 1: return load_as<uint8_t, threads, each>(p, t, put);
    case 2: return load_as<uint16_t, threads, each>(p, t, put);
    case 4: return load_as<uint32_t, threads, each>(p, t, put);
    default: return load_as<uint64_t, threads, each>(p, t, put);
    }
}

/* A window: elements [first, end) of the list, and the core; and how many they are. */
struct window {
    int first, end;
    int64_t rows;
    int64_t to; /* where its result is stored */
};

__device__ __forceinline__ window window_of(const bf_cuda_rolling_params &p, const tile &t, int i) {
    const bf_rolling_job &job = p.job;
    if (t.steady) {
        const int by = i * (int)job.step;
        return {by, t.end + by, job.size, t.to + i * job.inner};
    }
    int64_t k = t.k + i, base = t.base, line = t.line;
    if (k >= job.results) {
        const unsigned on = lines_on(k, job.results);
        k -= on * job.results;
        base += on * job.length;
        line += on;
    }
    const int64_t first = base + bf_rolling_first(&job, k), end = base + bf_rolling_end(&job, k);
    window w;
    w.rows = end - first;
    w.first = (int)(first - t.begin);
    w.end = (int)(end - t.second) + t.heads;
    w.to = t.from + i;
    if (job.inner > 1) w.to = (line % job.outer * job.results + k) * job.inner + line / job.outer;
    return w;
}

/* Calls visit(element) for a thread's elements [first, end) of all. */
template <int threads, class Visit>
__device__ __forceinline__ void visit_elements(const bf_cuda_rolling_params &p, const tile &t,
                                               int64_t first, int64_t end, const Visit &visit) {
    for (int64_t i = first + threadIdx.x; i < end; i += threads) visit(element_of(p, t, i));
}

/* The whole chunks of the core, if there are records. */
struct chunks {
    int64_t first, end;
    __device__ __forceinline__ bool some() const { return first < end; }
};

__device__ __forceinline__ chunks core_chunks(const bf_cuda_rolling_params &p, const tile &t) {
    const int64_t chunk = BF_CUDA_ROLLING_CHUNK;
    const chunks c = {(t.core() + chunk - 1) / chunk, t.second / chunk};
    return p.records != nullptr && c.some() ? c : chunks{0, 0};
}

/* Calls visit(element) for a thread's elements of the core that are in no such chunk. */
template <int threads, class Visit>
__device__ __forceinline__ void visit_core(const bf_cuda_rolling_params &p, const tile &t,
                                           const chunks &c, const Visit &visit) {
    const int64_t whole = c.some() ? c.first * BF_CUDA_ROLLING_CHUNK : t.second;
    visit_elements<threads>(p, t, t.core(), whole, visit);
    if (c.some()) visit_elements<threads>(p, t, c.end * BF_CUDA_ROLLING_CHUNK, t.second, visit);
}

/* Calls visit(number) for a thread's records of the chunks: those of whole groups of them are one.
 */
template <int threads, class Visit>
__device__ __forceinline__ void visit_records(const bf_cuda_rolling_params &p, const chunks &c,
                                              const Visit &visit) {
    const int64_t first = (c.first + BF_CUDA_ROLLING_GROUP - 1) / BF_CUDA_ROLLING_GROUP;
    const int64_t end = c.end / BF_CUDA_ROLLING_GROUP;
    const bool some = first < end;
    const int64_t single = some ? first * BF_CUDA_ROLLING_GROUP : c.end;
    const int64_t behind = some ? end * BF_CUDA_ROLLING_GROUP : c.end;
    for (int64_t i = c.first + threadIdx.x; i < single; i += threads) visit(i);
    for (int64_t i = behind + threadIdx.x; i < c.end; i += threads) visit(i);
    for (int64_t i = first + threadIdx.x; i < end; i += threads) visit(p.chunks + i);
}

/* A tile of nothing but the elements of a chunk, which is a core. */
__device__ __forceinline__ tile tile_of_chunk(const bf_cuda_rolling_params &p, int64_t chunk) {
    tile t = {};
    t.begin = chunk * BF_CUDA_ROLLING_CHUNK;
    t.second = t.begin + BF_CUDA_ROLLING_CHUNK;
    t.line = t.begin / p.job.length;
    t.base = t.line * p.job.length;
    t.origin = place_in_line(p.job, t.line, 0);
    return t;
}

/* Tells of a window with NaNs, if these are refused. */
__device__ __forceinline__ void look_for_refused(const bf_cuda_rolling_params &p, int64_t nans) {
    if (p.job.window.options.nan == BF_NAN_ERROR && nans > 0) p.board->failed = BF_E_NAN;
}

} // namespace bf_cuda_rolling

#endif
