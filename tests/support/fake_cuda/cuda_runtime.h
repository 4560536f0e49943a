/* A CUDA runtime without a GPU, for tests of what is enqueued and what waits for what.
 *
 * Streams are queues of operations on the host's memory. An operation runs when something waits for
 * it, or earlier, by chance: all orders that CUDA allows can happen. For one file of a program. */
#ifndef BITFOLD_TESTS_SUPPORT_FAKE_CUDA_CUDA_RUNTIME_H
#define BITFOLD_TESTS_SUPPORT_FAKE_CUDA_CUDA_RUNTIME_H

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <vector>

enum cudaError_t {
    cudaSuccess,
    cudaErrorMemoryAllocation = 2,
    cudaErrorNotReady = 600,
    cudaErrorUnknown = 999
};
enum cudaMemcpyKind { cudaMemcpyDefault };
enum cudaStreamCaptureMode { cudaStreamCaptureModeRelaxed };
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2, cudaHostAllocPortable = 1 };

/* `recorded` of its records were enqueued, on this stream, and `done` of them have run. */
typedef struct fake_event {
    long recorded = 0, done = 0;
    struct fake_stream *stream = nullptr;
} * cudaEvent_t;

/* Waits for a record of an event (NULL: for none), and then runs. */
struct fake_operation {
    cudaEvent_t event;
    long number;
    std::function<void()> run;
};

typedef struct fake_stream {
    std::deque<fake_operation> queue;
} * cudaStream_t;

typedef struct fake_pool *cudaMemPool_t;

/* --- what a test sets and sees --- */

static uint64_t fake_seed = 1;
static int fake_eager; /* percent: how likely an operation runs unasked at a call; 100: all do */
static long fake_fail_at = -1; /* calls that succeed before one fails; negative: all do */
static cudaError_t fake_last_error;
static std::set<cudaStream_t> fake_streams;
static std::set<cudaEvent_t> fake_events;
static std::map<uintptr_t, size_t> fake_memory; /* pinned, and the device's */

static inline uint64_t fake_random() {
    fake_seed = fake_seed * 6364136223846793005u + 1442695040888963407u;
    return fake_seed >> 33;
}

static inline bool fake_is_idle() {
    for (cudaStream_t s : fake_streams)
        if (!s->queue.empty()) return false;
    return true;
}

static inline bool fake_is_clean() {
    return fake_streams.empty() && fake_events.empty() && fake_memory.empty();
}

/* --- running --- */

static inline void fake_run_first(cudaStream_t stream) {
    fake_operation o = stream->queue.front();
    stream->queue.pop_front();
    o.run();
}

/* Runs what an event's record needs, and no more. */
static inline void fake_need(cudaEvent_t event, long number) {
    while (event->done < number) {
        const fake_operation &first = event->stream->queue.front();
        if (first.event != nullptr) fake_need(first.event, first.number);
        fake_run_first(event->stream);
    }
}

static inline void fake_finish(cudaStream_t stream) {
    while (!stream->queue.empty()) {
        const fake_operation &first = stream->queue.front();
        if (first.event != nullptr) fake_need(first.event, first.number);
        fake_run_first(stream);
    }
}

/* Runs an operation of some stream that is ready. False: there is none. */
static inline bool fake_step() {
    std::vector<cudaStream_t> ready;
    for (cudaStream_t s : fake_streams) {
        if (s->queue.empty()) continue;
        const fake_operation &first = s->queue.front();
        if (first.event == nullptr || first.event->done >= first.number) ready.push_back(s);
    }
    if (!ready.empty()) fake_run_first(ready[fake_random() % ready.size()]);
    return !ready.empty();
}

static inline cudaError_t fake_call() {
    while (fake_random() % 100 < (uint64_t)fake_eager && fake_step()) continue;
    return fake_fail_at >= 0 && fake_fail_at-- == 0 ? cudaErrorUnknown : cudaSuccess;
}

static inline void fake_launch(cudaStream_t stream, std::function<void()> kernel) {
    stream->queue.push_back({nullptr, 0, kernel});
}

/* --- memory --- */

static inline cudaError_t fake_allocate(void **memory, size_t bytes) {
    if (fake_call() != cudaSuccess) return cudaErrorMemoryAllocation;
    *memory = malloc(bytes);
    fake_memory[(uintptr_t)*memory] = bytes;
    return cudaSuccess;
}

static inline cudaError_t fake_free(void *memory) {
    if (memory == nullptr) return cudaSuccess;
    if (fake_memory.erase((uintptr_t)memory) == 0 || !fake_is_idle()) abort();
    free(memory);
    return cudaSuccess;
}

static inline bool fake_is_pageable(const void *p) {
    auto next = fake_memory.upper_bound((uintptr_t)p);
    if (next == fake_memory.begin()) return true;
    --next;
    return (uintptr_t)p >= next->first + next->second;
}

static inline cudaError_t cudaMalloc(void **memory, size_t bytes) {
    return fake_allocate(memory, bytes);
}
static inline cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned) {
    return fake_allocate(memory, bytes);
}
static inline cudaError_t cudaFree(void *memory) { return fake_free(memory); }
static inline cudaError_t cudaFreeHost(void *memory) { return fake_free(memory); }

static inline void fake_copy_rows(char *to, size_t to_pitch, const char *from, size_t from_pitch,
                                  size_t width, size_t height) {
    for (size_t i = 0; i < height; i++) memcpy(to + i * to_pitch, from + i * from_pitch, width);
}

/* Pageable memory has been read, or written, when the call returns. */
static inline cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                                            size_t from_pitch, size_t width, size_t height,
                                            cudaMemcpyKind, cudaStream_t stream) {
    if (fake_call() != cudaSuccess) return cudaErrorUnknown;
    char *target = (char *)to;
    const char *source = (const char *)from;
    std::vector<char> copy;
    if (fake_is_pageable(from)) {
        copy.resize(width * height);
        fake_copy_rows(copy.data(), width, source, from_pitch, width, height);
    }
    fake_launch(stream, [=] {
        bool kept = !copy.empty();
        fake_copy_rows(target, to_pitch, kept ? copy.data() : source, kept ? width : from_pitch,
                       width, height);
    });
    if (fake_is_pageable(to)) fake_finish(stream);
    return cudaSuccess;
}

static inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                                          cudaMemcpyKind kind, cudaStream_t stream) {
    return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream);
}

/* --- streams and events --- */

static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
    if (fake_call() != cudaSuccess) return cudaErrorMemoryAllocation;
    *stream = new fake_stream;
    fake_streams.insert(*stream);
    return cudaSuccess;
}

static inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    fake_streams.erase(stream);
    delete stream;
    return cudaSuccess;
}

static inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    if (fake_call() != cudaSuccess) return cudaErrorUnknown;
    fake_finish(stream);
    return cudaSuccess;
}

static inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
    if (fake_call() != cudaSuccess) return cudaErrorMemoryAllocation;
    *event = new fake_event;
    fake_events.insert(*event);
    return cudaSuccess;
}

static inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
    fake_events.erase(event);
    delete event;
    return cudaSuccess;
}

static inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    if (fake_call() != cudaSuccess) return cudaErrorUnknown;
    long number = ++event->recorded;
    event->stream = stream;
    fake_launch(stream, [=] { event->done = number; });
    return cudaSuccess;
}

static inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    if (fake_call() != cudaSuccess) return cudaErrorUnknown;
    stream->queue.push_back({event, event->recorded, [] {}});
    return cudaSuccess;
}

static inline cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    if (fake_call() != cudaSuccess) return cudaErrorUnknown;
    fake_need(event, event->recorded);
    return cudaSuccess;
}

/* As that of CUDA, it leaves cudaErrorNotReady for cudaGetLastError. */
static inline cudaError_t cudaEventQuery(cudaEvent_t event) {
    if (fake_call() != cudaSuccess) return cudaErrorUnknown;
    if (event->done == event->recorded) return cudaSuccess;
    return fake_last_error = cudaErrorNotReady;
}

static inline cudaError_t cudaGetLastError() {
    cudaError_t error = fake_last_error;
    fake_last_error = cudaSuccess;
    return error;
}

#endif
