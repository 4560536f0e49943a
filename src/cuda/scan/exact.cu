/* Lines of floats whose sums two doubles do not hold, by the words of the rules. A thread takes a
 * chunk of a line. Where a line has several, their words are summed first, each word by itself:
 * carried words have room for as many as there are chunks. The kernels read how many lines are
 * marked, so that the host need not wait for that: most often none is. */
#include "cuda/runtime/warp.cuh"
#include "cuda/scan/scan.cuh"

namespace {

enum {
    THREADS = 128,
    WARPS = THREADS / BF_CUDA_WARP,
    CHUNK = 4096,
    BUSY = 1 << 16 /* so many lines keep all threads busy: each is one chunk */
};

struct exact_params {
    bf_cuda_scan_params scan;
    int64_t chunks; /* a line has so many */
    int64_t *words; /* what is before each chunk, word by word of its line; NULL: there is one */
    int count;      /* words of a state */
};

/* What there is to do: so many lines, in so many chunks each. */
struct exact_work {
    int64_t lines, chunks;
    bool listed; /* else all lines */
};

__device__ __forceinline__ exact_work find_work(const exact_params &p) {
    const int64_t marked = (int64_t)p.scan.board->marked;
    const bool listed = marked <= BF_CUDA_SCAN_MARKS;
    return {listed ? marked : p.scan.outer * p.scan.inner, marked < BUSY ? p.chunks : 1, listed};
}

__device__ __forceinline__ void take(const exact_params &p, int64_t *words, uint64_t bits) {
    const bf_dtype dtype = p.scan.prefix.dtype;
    const bf_sum_shape shape = bf_sum_shape_of(BF_KIND_SUM, dtype);
    bf_sum_take(dtype, &shape, words, bits);
}

/* Word w of a chunk. */
__device__ __forceinline__ int64_t *word_at(const exact_params &p, int64_t i, int64_t chunk,
                                            int w) {
    return &p.words[(i * p.count + w) * p.chunks + chunk];
}

/* Calls visit(i, line, chunk, first, end) for a thread's chunks, of marked line number i. */
template <class Visit>
__device__ __forceinline__ void visit_chunks(const exact_params &p, const exact_work &work,
                                             const Visit &visit) {
    for (int64_t task : bf_cuda_indices<THREADS>(work.lines * work.chunks)) {
        const int64_t i = task / work.chunks, chunk = task % work.chunks, first = chunk * CHUNK;
        const bool last = work.chunks == 1 || p.scan.length - first < CHUNK;
        visit(i, work.listed ? p.scan.marked[i] : i, chunk, first,
              last ? p.scan.length : first + CHUNK);
    }
}

__device__ __forceinline__ uint64_t element_at(const exact_params &p, int64_t at) {
    return bf_load_bits((const char *)p.scan.elements + at * p.scan.bytes, p.scan.bytes);
}

__global__ void __launch_bounds__(THREADS) sum_chunks(const __grid_constant__ exact_params p) {
    const exact_work work = find_work(p);
    if (work.chunks == 1) return;
    visit_chunks(p, work, [&](int64_t i, int64_t line, int64_t chunk, int64_t first, int64_t end) {
        int64_t words[BF_DESCRIPTION_WORDS_MAX];
        bf_state_init(BF_KIND_SUM, p.scan.prefix.dtype, words);
        for (int64_t k = first; k < end; k++)
            take(p, words, element_at(p, bf_cuda_scan_at(p.scan, line, k)));
        bf_sum_carry(BF_KIND_SUM, p.scan.prefix.dtype, words);
        for (int w = 0; w < p.count; w++) *word_at(p, i, chunk, w) = words[w];
    });
}

/* A block makes one word of all chunks of a line that of the chunks before each. */
__global__ void __launch_bounds__(THREADS) sum_words(const __grid_constant__ exact_params p) {
    const exact_work work = find_work(p);
    if (work.chunks == 1) return;
    for (int64_t i = blockIdx.x; i < work.lines * p.count; i += gridDim.x) {
        int64_t *words = p.words + i * p.chunks;
        bf_cuda_block_sums<WARPS>(
            p.chunks, (int64_t)0, [&](int64_t k) { return words[k]; },
            [&](int64_t k, int64_t before, int64_t) { words[k] = before; });
    }
}

__global__ void __launch_bounds__(THREADS) scan_chunks(const __grid_constant__ exact_params p) {
    const exact_work work = find_work(p);
    visit_chunks(p, work, [&](int64_t i, int64_t line, int64_t chunk, int64_t first, int64_t end) {
        int64_t words[BF_DESCRIPTION_WORDS_MAX];
        bf_work room;
        bf_u128 result = 0;
        const bf_dtype dtype = p.scan.prefix.dtype;
        bf_state_init(BF_KIND_SUM, dtype, words);
        for (int w = 0; w < p.count && work.chunks > 1; w++) words[w] = *word_at(p, i, chunk, w);
        for (int64_t k = first; k < end; k++) {
            const int64_t at = bf_cuda_scan_at(p.scan, line, k);
            const uint64_t bits = element_at(p, at);
            if (!p.scan.exclusive) take(p, words, bits);
            bf_sum_carry(BF_KIND_SUM, dtype, words);
            bf_prefix_result(&p.scan.prefix, words, &result, &room);
            if (p.scan.exclusive) take(p, words, bits);
            bf_store_bits((char *)p.scan.values + at * p.scan.to_bytes, p.scan.to_bytes,
                          (uint64_t)result);
        }
    });
}

} // namespace

bf_status bf_cuda_scan_exactly(bf_cuda_call *call, const bf_cuda_scan_params &scan) {
    const bf_cuda *cuda = call->context->cuda;
    const int64_t lines = scan.outer * scan.inner, chunks = (scan.length + CHUNK - 1) / CHUNK;
    const int64_t cut = lines < BUSY ? lines : BUSY; /* the most lines that have several chunks */
    exact_params p = {scan, chunks, NULL, bf_sum_shape_of(BF_KIND_SUM, scan.prefix.dtype).words};
    const bf_cuda_shape shape = {bf_cuda_blocks(cuda, lines * chunks, THREADS), THREADS};
    cudaError_t error = cudaSuccess;
    if (chunks > 1) {
        const size_t bytes = (size_t)(cut * chunks * p.count) * sizeof *p.words;
        p.words = (int64_t *)bf_cuda_call_alloc(call, bytes);
        if (p.words == NULL) return BF_E_MEMORY;
        error = bf_cuda_launch(cuda, sum_chunks, shape, p);
        const bf_cuda_shape sums = {bf_cuda_blocks(cuda, cut * p.count, 1), THREADS};
        if (error == cudaSuccess) error = bf_cuda_launch(cuda, sum_words, sums, p);
    }
    if (error == cudaSuccess) error = bf_cuda_launch(cuda, scan_chunks, shape, p);
    return bf_cuda_check(call->context, error, "a scan");
}
