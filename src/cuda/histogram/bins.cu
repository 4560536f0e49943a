/* The device's copies of bins. The last few stay, known by the bins' serial number: a histogram
 * that absorbs array after array uploads once. */
#include "cuda/histogram/histogram.cuh"
#include "cuda/runtime/workspace.cuh"

extern "C" {
#include "seam/environment.h"
}

#include <math.h>
#include <stdlib.h>

enum { HELD = 8 };

struct bf_cuda_held_bins {
    uint64_t serial;
    bf_cuda_finding finding;
    bf_dtype dtype;
    void *memory;
    size_t bytes;  /* that memory has */
    uint64_t call; /* the last that used it */
    bf_cuda_held_bins *next;
};

/* What a workspace keeps. */
struct bin_cache {
    bf_cuda_held_bins *first;
    uint64_t calls;
};

static void free_cache(void *part) {
    bin_cache *cache = (bin_cache *)part;
    cudaStreamCaptureMode mode = bf_cuda_relax();
    for (bf_cuda_held_bins *b = cache->first, *next; b != NULL; b = next) {
        next = b->next;
        cudaFree(b->memory);
        free(b);
    }
    bf_cuda_restore(mode);
}

static const bf_cuda_part_kind cache_part = {sizeof(bin_cache), free_cache};

/* --- what is uploaded --- */

static void write_patterns(const bf_bins *bins, bf_dtype dtype, unsigned *rows) {
    for (unsigned p = 0; p < BF_CUDA_PATTERN_ROWS; p++)
        rows[p] = (unsigned)bf_bin_of(bins, bf_bin_value(dtype, p));
}

/* Edge i as a T. A float is less than an edge if it is less than the least float from the edge on;
 * it is greater than the last edge if it is greater than the greatest float up to it. */
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

/* A complete binary search tree of the edges between bins, level by level from node 1 on (the
 * children of node i are 2 i and 2 i + 1: Eytzinger's order), so that the lanes of a warp look at
 * neighbours; infinite where there are no more. Node 0 is the first edge, that behind the last. */
template <class T> static void write_tree(const bf_bins *bins, T *tree) {
    int levels = bf_cuda_levels(bins->count);
    for (int d = 0; d < levels; d++) {
        int64_t width = (int64_t)1 << (levels - d), nodes = (int64_t)1 << d;
        for (int64_t k = 0; k < nodes; k++) {
            int64_t edge = k * width + width / 2;
            tree[nodes + k] = edge < bins->count ? edge_as<T>(bins, edge) : (T)INFINITY;
        }
    }
    tree[0] = edge_as<T>(bins, 0);
    tree[(int64_t)1 << levels] = edge_as<T>(bins, bins->count);
}

/* --- how it is held --- */

/* Trees and patterns are of the dtype; of edges, only whether they are floats matters. */
static bf_dtype dtype_of(bf_cuda_finding finding, bf_dtype dtype) {
    if (finding == BF_CUDA_PATTERNS) return dtype;
    if (finding == BF_CUDA_SEARCH) return bf_bin_is_single(dtype) ? BF_F32 : BF_F64;
    return finding == BF_CUDA_GUESS_F32 ? BF_F32 : BF_F64;
}

static size_t bytes_of(const bf_bins *bins, bf_cuda_finding finding, bf_dtype dtype) {
    size_t edge = (size_t)bf_dtype_bytes(dtype);
    if (finding == BF_CUDA_PATTERNS) return BF_CUDA_PATTERN_ROWS * sizeof(unsigned);
    if (finding == BF_CUDA_SEARCH) return (((size_t)1 << bf_cuda_levels(bins->count)) + 1) * edge;
    return (size_t)(bins->count + 1) * edge;
}

static void write_bins(const bf_bins *bins, bf_cuda_finding finding, bf_dtype dtype, void *to) {
    bf_environment environment = bf_environment_enter();
    if (finding == BF_CUDA_PATTERNS)
        write_patterns(bins, dtype, (unsigned *)to);
    else if (finding == BF_CUDA_SEARCH && dtype == BF_F32)
        write_tree(bins, (float *)to);
    else if (finding == BF_CUDA_SEARCH)
        write_tree(bins, (double *)to);
    else
        write_floats(bins, (float *)to);
    bf_environment_leave(environment);
}

/* A copy enqueued on the context's stream; in a capture on one of its own, and waited for. Pageable
 * memory is read before the call returns. */
static cudaError_t copy_up(const bf_cuda *cuda, void *to, const void *from, size_t bytes) {
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

static cudaError_t upload(const bf_cuda *cuda, const bf_bins *bins, const bf_cuda_held_bins *held) {
    size_t bytes = bytes_of(bins, held->finding, held->dtype);
    if (held->finding == BF_CUDA_GUESS_F64) return copy_up(cuda, held->memory, bins->edges, bytes);
    void *made = malloc(bytes);
    if (made == NULL) return cudaErrorMemoryAllocation;
    write_bins(bins, held->finding, held->dtype, made);
    cudaError_t error = copy_up(cuda, held->memory, made, bytes);
    free(made);
    return error;
}

/* --- what is held --- */

static bf_cuda_held_bins *find_bins(const bin_cache *cache, uint64_t serial,
                                    bf_cuda_finding finding, bf_dtype dtype) {
    bf_cuda_held_bins *b = cache->first;
    while (b != NULL && !(b->serial == serial && b->finding == finding && b->dtype == dtype))
        b = b->next;
    return b;
}

/* The one that was not used for longest, where there are many; NULL: one may be added. A graph may
 * use any of its own again. */
static bf_cuda_held_bins *oldest_bins(const bin_cache *cache, bool graph) {
    bf_cuda_held_bins *least = NULL;
    int held = 0;
    for (bf_cuda_held_bins *b = cache->first; b != NULL; b = b->next, held++)
        if (least == NULL || b->call < least->call) least = b;
    return held < HELD || graph ? NULL : least;
}

static bf_cuda_held_bins *add_bins(bin_cache *cache) {
    bf_cuda_held_bins *b = (bf_cuda_held_bins *)calloc(1, sizeof *b);
    if (b == NULL) return NULL;
    b->next = cache->first;
    cache->first = b;
    return b;
}

/* Work that was enqueued earlier may still look at what is freed. */
static cudaError_t make_room(const bf_cuda *cuda, bf_cuda_held_bins *b, size_t bytes) {
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
    error = cudaMalloc(&b->memory, bytes);
    bf_cuda_restore(mode);
    if (error == cudaSuccess) b->bytes = bytes;
    return error;
}

const void *bf_cuda_bins_on_device(bf_context *context, bf_cuda_workspace *w, const bf_bins *bins,
                                   bf_cuda_finding finding, bf_dtype dtype) {
    bin_cache *cache = (bin_cache *)bf_cuda_workspace_part(context, w, &cache_part, 0);
    if (cache == NULL) return NULL;
    dtype = dtype_of(finding, dtype);
    bf_cuda_held_bins *b = find_bins(cache, bins->serial, finding, dtype);
    if (b == NULL) {
        b = oldest_bins(cache, w->capture != 0);
        if (b == NULL) b = add_bins(cache);
        if (b == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for bins"), nullptr;
        b->serial = 0; /* nobody's, if this fails */
        b->finding = finding;
        b->dtype = dtype;
        cudaError_t error = make_room(context->cuda, b, bytes_of(bins, finding, dtype));
        if (error == cudaSuccess) error = upload(context->cuda, bins, b);
        if (error != cudaSuccess) return bf_cuda_fail(context, error, "bins"), nullptr;
        b->serial = bins->serial;
    }
    b->call = ++cache->calls;
    return b->memory;
}
