/* The device's copies of bins. The last few are kept, by the bins' serial number, so a histogram
 * that absorbs array after array uploads its bins once. */
#include "cuda/histogram/histogram.cuh"
#include "cuda/runtime/workspace.cuh"

extern "C" {
#include "base/environment.h"
}

#include <math.h>
#include <stdlib.h>

/* Few bins take no more than LEAST bytes, so that their copies take the place of any other's. */
enum { CACHED = 8, LEAST = 1 << 14 };

struct bf_cuda_cached_bins {
    uint64_t serial;
    bf_cuda_count_method method;
    bf_dtype dtype;
    void *memory;
    size_t bytes;  /* bytes of memory */
    uint64_t call; /* the last call that used it */
    bf_cuda_cached_bins *next;
};

/* The copies that a workspace keeps. */
struct bin_cache {
    bf_cuda_cached_bins *first;
    uint64_t calls;
};

static void free_cache(void *part) {
    bin_cache *cache = (bin_cache *)part;
    cudaStreamCaptureMode mode = bf_cuda_relax();
    for (bf_cuda_cached_bins *b = cache->first, *next; b != NULL; b = next) {
        next = b->next;
        cudaFree(b->memory);
        free(b);
    }
    bf_cuda_restore(mode);
}

static const bf_cuda_part_kind cache_part = {sizeof(bin_cache), free_cache};

/* --- content --- */

static void write_patterns(const bf_bins *bins, bf_dtype dtype, unsigned *rows) {
    for (unsigned p = 0; p < BF_CUDA_PATTERN_ROWS; p++)
        rows[p] = (unsigned)bf_bin_of(bins, bf_bin_value(dtype, p));
}

/* Returns edge i as a T. A float is below an edge if it is below the least float at or above the
 * edge; above the last edge if it is above the greatest float at or below that. */
template <class T> static T edge_as(const bf_bins *bins, int64_t i) { return (T)bins->edges[i]; }

template <> float edge_as<float>(const bf_bins *bins, int64_t i) {
    float nearest = (float)bins->edges[i];
    bool is_last = i == bins->count;
    if (!is_last && (double)nearest < bins->edges[i]) return nextafterf(nearest, INFINITY);
    if (is_last && (double)nearest > bins->edges[i]) return nextafterf(nearest, -INFINITY);
    return nearest;
}

static void write_floats(const bf_bins *bins, float *edges) {
    for (int64_t i = 0; i <= bins->count; i++) edges[i] = edge_as<float>(bins, i);
}

/* Writes a complete binary search tree of the bounds between leaves, level by level from node 1 on
 * (the children of node i are 2 i and 2 i + 1: Eytzinger's order), so that the lanes of a warp read
 * neighbours. bound(i) is that before leaf i. */
template <class T, class Bound> static void write_nodes(int levels, const Bound &bound, T *tree) {
    for (int d = 0; d < levels; d++) {
        int64_t width = (int64_t)1 << (levels - d), nodes = (int64_t)1 << d;
        for (int64_t k = 0; k < nodes; k++) tree[nodes + k] = bound(k * width + width / 2);
    }
}

/* The leaves are bins; further ones are beyond infinity. Node 0 is the first edge; the last edge
 * comes after the last node. */
template <class T> static void write_tree(const bf_bins *bins, T *tree) {
    int levels = bf_cuda_levels(bins);
    auto bound = [&](int64_t i) { return i < bins->count ? edge_as<T>(bins, i) : (T)INFINITY; };
    write_nodes(levels, bound, tree);
    tree[0] = edge_as<T>(bins, 0);
    tree[(int64_t)1 << levels] = edge_as<T>(bins, bins->count);
}

/* Leaf i is that of the ranks that i steps are not above. The greatest rank comes to leaves for
 * which there is no step, and kernels take it back. */
static void write_steps(const bf_bins *bins, int64_t *tree) {
    int levels = bf_cuda_levels(bins);
    auto bound = [&](int64_t i) { return i <= bins->step_count ? bins->steps[i - 1] : INT64_MAX; };
    write_nodes(levels, bound, tree);
    tree[0] = tree[(int64_t)1 << levels] = 0; /* unused */
}

/* --- upload --- */

/* Returns the dtype that a copy depends on: the elements' for patterns; else that of its edges. */
static bf_dtype dtype_of(bf_cuda_count_method method, bf_dtype dtype) {
    if (method == BF_CUDA_PATTERNS) return dtype;
    if (method == BF_CUDA_SEARCH) return bf_bin_is_single(dtype) ? BF_F32 : BF_F64;
    if (method == BF_CUDA_STEPS) return BF_I64;
    return method == BF_CUDA_GUESS_F32 ? BF_F32 : BF_F64;
}

static size_t bytes_of(const bf_bins *bins, bf_cuda_count_method method, bf_dtype dtype) {
    size_t edge = (size_t)bf_dtype_bytes(dtype);
    if (method == BF_CUDA_PATTERNS) return BF_CUDA_PATTERN_ROWS * sizeof(unsigned);
    if (method == BF_CUDA_SEARCH || method == BF_CUDA_STEPS)
        return (((size_t)1 << bf_cuda_levels(bins)) + 1) * edge;
    return (size_t)(bins->count + 1) * edge;
}

static void write_bins(const bf_bins *bins, bf_cuda_count_method method, bf_dtype dtype, void *to) {
    bf_environment environment = bf_environment_enter();
    if (method == BF_CUDA_PATTERNS)
        write_patterns(bins, dtype, (unsigned *)to);
    else if (method == BF_CUDA_STEPS)
        write_steps(bins, (int64_t *)to);
    else if (method == BF_CUDA_SEARCH && dtype == BF_F32)
        write_tree(bins, (float *)to);
    else if (method == BF_CUDA_SEARCH)
        write_tree(bins, (double *)to);
    else
        write_floats(bins, (float *)to);
    bf_environment_leave(environment);
}

/* Enqueues a copy to the device on the context's stream; in a capture, on another stream, and
 * waits. Pageable memory is read before the call returns. */
static cudaError_t upload_bytes(const bf_cuda *cuda, void *to, const void *from, size_t bytes) {
    if (cuda->capture == 0)
        return cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, cuda->stream);
    cudaStream_t copying = NULL;
    cudaStreamCaptureMode mode = bf_cuda_relax();
    cudaError_t error = cudaStreamCreateWithFlags(&copying, cudaStreamNonBlocking);
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, copying);
    if (error == cudaSuccess) error = cudaStreamSynchronize(copying);
    if (copying != NULL) cudaStreamDestroy(copying);
    bf_cuda_restore(mode);
    return error;
}

static cudaError_t upload_bins(const bf_cuda *cuda, const bf_bins *bins,
                               const bf_cuda_cached_bins *held) {
    size_t bytes = bytes_of(bins, held->method, held->dtype);
    const bool are_doubles = held->method == BF_CUDA_GUESS_F64 && bins->steps == NULL;
    if (are_doubles || held->method == BF_CUDA_EDGES)
        return upload_bytes(cuda, held->memory, bins->edges, bytes);
    if (held->method == BF_CUDA_GUESS_F64)
        return upload_bytes(cuda, held->memory, bins->steps,
                            (size_t)bins->step_count * sizeof *bins->steps);
    void *made = malloc(bytes);
    if (made == NULL) return cudaErrorMemoryAllocation;
    write_bins(bins, held->method, held->dtype, made);
    cudaError_t error = upload_bytes(cuda, held->memory, made, bytes);
    free(made);
    return error;
}

/* --- the cache --- */

static bf_cuda_cached_bins *find_bins(const bin_cache *cache, uint64_t serial,
                                      bf_cuda_count_method method, bf_dtype dtype) {
    bf_cuda_cached_bins *b = cache->first;
    while (b != NULL && !(b->serial == serial && b->method == method && b->dtype == dtype))
        b = b->next;
    return b;
}

/* Returns the copy that was not used for longest, if there are many; NULL: one may be added. A
 * graph may use any of its own again. */
static bf_cuda_cached_bins *oldest_bins(const bin_cache *cache, bool graph) {
    bf_cuda_cached_bins *least = NULL;
    int held = 0;
    for (bf_cuda_cached_bins *b = cache->first; b != NULL; b = b->next, held++)
        if (least == NULL || b->call < least->call) least = b;
    return held < CACHED || graph ? NULL : least;
}

static bf_cuda_cached_bins *add_bins(bin_cache *cache) {
    bf_cuda_cached_bins *b = (bf_cuda_cached_bins *)calloc(1, sizeof *b);
    if (b == NULL) return NULL;
    b->next = cache->first;
    cache->first = b;
    return b;
}

/* Makes b's memory large enough. Work that was enqueued earlier may still read the old memory. */
static cudaError_t reserve_memory(const bf_cuda *cuda, bf_cuda_cached_bins *b, size_t bytes) {
    if (b->bytes >= bytes) return cudaSuccess;
    cudaError_t error = cudaSuccess;
    if (b->memory != NULL) { /* so there is no capture */
        error = cudaStreamSynchronize(cuda->stream);
        if (error != cudaSuccess) return error;
        cudaFree(b->memory);
        b->memory = NULL;
        b->bytes = 0;
    }
    cudaStreamCaptureMode mode = bf_cuda_relax();
    if (bytes < LEAST) bytes = LEAST;
    error = cudaMalloc(&b->memory, bytes);
    bf_cuda_restore(mode);
    if (error == cudaSuccess) b->bytes = bytes;
    return error;
}

const void *bf_cuda_bins_on_device(bf_context *context, bf_cuda_workspace *w, const bf_bins *bins,
                                   bf_cuda_count_method method, bf_dtype dtype) {
    bin_cache *cache = (bin_cache *)bf_cuda_workspace_part(context, w, &cache_part, 0);
    if (cache == NULL) return NULL;
    dtype = dtype_of(method, dtype);
    bf_cuda_cached_bins *b = find_bins(cache, bins->serial, method, dtype);
    if (b == NULL) {
        b = oldest_bins(cache, w->capture != 0);
        if (b == NULL) b = add_bins(cache);
        if (b == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for bins"), nullptr;
        b->serial = 0; /* no bins' copy, if this fails */
        b->method = method;
        b->dtype = dtype;
        cudaError_t error = reserve_memory(context->cuda, b, bytes_of(bins, method, dtype));
        if (error == cudaSuccess) error = upload_bins(context->cuda, bins, b);
        if (error != cudaSuccess) return bf_cuda_fail(context, error, "bins"), nullptr;
        b->serial = bins->serial;
    }
    b->call = ++cache->calls;
    return b->memory;
}
