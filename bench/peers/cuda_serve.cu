// The conversation, the data and the clock of the peers on a GPU.
#include "cuda_serve.h"

#include "works/keys.h"
#include "works/measured.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

namespace {

struct question {
    char work[32], dtype[32], data[32], mode[32];
    size_t count;
    int gpu, passes, buffers;
};

// The data last asked for, by way of a block of the host's.
struct dataset {
    std::string about;
    std::vector<char> block;
    char *memory;
    size_t bytes;
};

constexpr size_t BLOCK = 1 << 26, SCRATCH = 1 << 26, RESULT = 64, ALIGNMENT = 256;

bool is(const char *a, const char *b) { return std::strcmp(a, b) == 0; }

bool has_keys(const question &q) { return is(q.work, "table") || is(q.work, "group"); }

// Their data go by the work and the count besides.
bool counts_items(const question &q) { return has_keys(q) || is(q.work, "julia"); }

size_t element(const question &q) {
    if (is(q.work, "julia")) return 2;
    return is(q.dtype, "u8") ? 1 : std::strchr(q.dtype, '6') ? 8 : 4;
}

size_t vectors(const question &q) {
    if (is(q.work, "add") || is(q.work, "table")) return 3;
    return is(q.work, "dot") || is(q.work, "group") ? 2 : 1;
}

size_t stride(const question &q) {
    const size_t bytes = vectors(q) * q.count * element(q);
    return (bytes + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
}

#define TRY(call)                                                                                  \
    do {                                                                                           \
        const cudaError_t error_ = (call);                                                         \
        if (error_ != cudaSuccess) return error_;                                                  \
    } while (0)

cudaError_t grow(dataset &d, size_t bytes) {
    TRY(cudaFree(d.memory));
    d.memory = nullptr;
    d.bytes = 0;
    TRY(cudaMalloc(&d.memory, bytes));
    d.bytes = bytes;
    return cudaSuccess;
}

// A block over and over.
cudaError_t load_block(dataset &d, const question &q) {
    if (!bench_fill(q.dtype, q.data, d.block.data(), BLOCK / element(q)))
        return cudaErrorInvalidValue;
    size_t done = d.bytes < BLOCK ? d.bytes : BLOCK;
    TRY(cudaMemcpy(d.memory, d.block.data(), done, cudaMemcpyHostToDevice));
    while (done < d.bytes) {
        const size_t more = done < d.bytes - done ? done : d.bytes - done;
        TRY(cudaMemcpy(d.memory + done, d.memory, more, cudaMemcpyDeviceToDevice));
        done += more;
    }
    return cudaSuccess;
}

// count elements at `to`, of which part(first, n) puts n into the block.
template <typename Part>
cudaError_t load_parts(dataset &d, char *to, size_t count, size_t size, Part part) {
    const size_t most = BLOCK / size;
    for (size_t first = 0; first < count; first += most) {
        const size_t n = count - first < most ? count - first : most;
        part(first, n);
        TRY(cudaMemcpy(to + first * size, d.block.data(), n * size, cudaMemcpyHostToDevice));
    }
    return cudaSuccess;
}

// Keys, and behind them what the table is asked for, or the values of the groups.
cudaError_t load_keys(dataset &d, const question &q) {
    const size_t size = element(q);
    char *behind = d.memory + q.count * size;
    auto words = reinterpret_cast<uint32_t *>(d.block.data());
    TRY(load_parts(d, d.memory, q.count, sizeof *words, [&](size_t first, size_t n) {
        bench_keys(q.work, q.data, q.count, first, n, words);
    }));
    if (is(q.work, "table"))
        return load_parts(d, behind, q.count, sizeof *words, [&](size_t first, size_t n) {
            bench_queries(q.data, q.count, first, n, words);
        });
    if (is(q.dtype, "u32")) return cudaSuccess;
    return load_parts(d, behind, q.count, size,
                      [&](size_t, size_t n) { bench_fill(q.dtype, "normal", d.block.data(), n); });
}

cudaError_t load(dataset &d, const question &q) {
    const size_t bytes = stride(q) * static_cast<size_t>(q.buffers);
    std::string about = std::string(q.dtype) + ' ' + q.data;
    if (counts_items(q)) about += ' ' + std::string(q.work) + std::to_string(q.count);
    if (about == d.about && bytes <= d.bytes) return cudaSuccess;
    d.about.clear();
    d.block.resize(BLOCK);
    if (bytes > d.bytes) TRY(grow(d, bytes));
    if (has_keys(q))
        TRY(load_keys(d, q));
    else if (!is(q.work, "julia"))
        TRY(load_block(d, q));
    d.about = about;
    return cudaDeviceSynchronize();
}

// What calls work with besides the data.
struct machine {
    cudaStream_t stream;
    void *scratch, *result, *host; // host: pinned, of RESULT bytes
    bool open;
};

cudaError_t open(machine &m, int gpu) {
    if (m.open) return cudaSuccess;
    TRY(cudaSetDevice(gpu));
    TRY(cudaStreamCreateWithFlags(&m.stream, cudaStreamNonBlocking));
    TRY(cudaMalloc(&m.scratch, SCRATCH));
    TRY(cudaMalloc(&m.result, RESULT));
    TRY(cudaHostAlloc(&m.host, RESULT, cudaHostAllocDefault));
    m.open = true;
    return cudaSuccess;
}

cudaError_t run(const cuda_work &work, const machine &m, const dataset &d, const question &q,
                int passes, int &buffer) {
    const size_t vector = q.count * element(q);
    const bool bring = is(q.mode, "host") && !work.waits;
    for (int i = 0; i < passes; i++) {
        char *a = d.memory + static_cast<size_t>(buffer) * stride(q);
        char *out = is(q.work, "julia") ? a : a + 2 * vector;
        TRY(work.fn({q.data, a, a + vector, out, q.count, m.result, m.scratch, SCRATCH, m.stream}));
        if (bring) {
            TRY(cudaMemcpyAsync(m.host, m.result, 8, cudaMemcpyDeviceToHost, m.stream));
            TRY(cudaStreamSynchronize(m.stream));
        }
        buffer = buffer + 1 < q.buffers ? buffer + 1 : 0;
    }
    return cudaStreamSynchronize(m.stream);
}

cudaError_t measure(const cuda_work &work, machine &m, dataset &d, const question &q,
                    double &seconds) {
    using clock = std::chrono::steady_clock;
    int buffer = 0;
    TRY(open(m, q.gpu));
    TRY(load(d, q));
    TRY(run(work, m, d, q, q.passes / 8 + 1, buffer));
    const clock::time_point start = clock::now();
    TRY(run(work, m, d, q, q.passes, buffer));
    seconds = std::chrono::duration<double>(clock::now() - start).count() / q.passes;
    return cudaSuccess;
}

const cuda_work *find(const cuda_work *works, const question &q) {
    for (; works->work; works++)
        if (is(works->work, q.work) && is(works->dtype, q.dtype)) return works;
    return nullptr;
}

void answer(const char *name, const cuda_work *works, machine &m, dataset &d, const question &q) {
    const cuda_work *work = find(works, q);
    double seconds = 0;
    const char *failure = nullptr;
    try {
        const cudaError_t error = work ? measure(*work, m, d, q, seconds) : cudaSuccess;
        if (error != cudaSuccess) failure = cudaGetErrorString(error);
    } catch (const std::exception &) { // Thrust's, and of memory
        failure = "an exception";
    }
    if (failure) std::fprintf(stderr, "%s: %s %s: %s\n", name, q.work, q.dtype, failure);
    if (seconds > 0)
        std::printf("%s %.9g\n", name, seconds);
    else
        std::printf("%s -\n", name);
    std::fflush(stdout);
}

} // namespace

int cuda_serve(const char *name, const cuda_work *works) {
    machine m{};
    dataset d{};
    question q{};
    while (std::scanf("%31s %31s %31s %zu %d %d %31s %d", q.work, q.dtype, q.data, &q.count, &q.gpu,
                      &q.passes, q.mode, &q.buffers) == 8)
        answer(name, works, m, d, q);
    return 0;
}
