/* Lines of floats whose sums two doubles do not hold, by the words of the rules. A thread takes a
 * chunk of a line. Where a line has several, their words are summed first, each word by itself:
 * carried words have room for as many as there are chunks. */
#include "cuda/runtime/warp.cuh"
#include "cuda/scan/scan.cuh"

namespace {

enum { THREADS = 128, WARPS = THREADS / BF_CUDA_WARP, CHUNK = 4096 };

struct exact_params {
    bf_cuda_scan_params scan;
    const int64_t *marked; /* NULL: all lines */
    int64_t lines, chunks; /* each line has so many */
    int64_t *words;        /* what is before each chunk, word by word of its line; or NULL */
    int count;             /* words of a state */
};

__device__ __forceinline__ int64_t line_of(const exact_params &p, int64_t i) {
    return p.marked != nullptr ? p.marked[i] : i;
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

/* Calls visit(line, first, end) for a thread's chunk, if it has one. */
template <class Visit>
__device__ __forceinline__ void visit_chunk(const exact_params &p, const Visit &visit) {
    const int64_t task = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    const int64_t i = task / p.chunks, chunk = task % p.chunks, first = chunk * CHUNK;
    if (i >= p.lines) return;
    const int64_t end =
        p.chunks == 1 || p.scan.length - first < CHUNK ? p.scan.length : first + CHUNK;
    visit(i, chunk, first, end);
}

__device__ __forceinline__ uint64_t element_at(const exact_params &p, int64_t at) {
    return bf_load_bits((const char *)p.scan.elements + at * p.scan.bytes, p.scan.bytes);
}

__global__ void __launch_bounds__(THREADS) sum_chunks(const __grid_constant__ exact_params p) {
    visit_chunk(p, [&](int64_t i, int64_t chunk, int64_t first, int64_t end) {
        int64_t words[BF_DESCRIPTION_WORDS_MAX];
        bf_state_init(BF_KIND_SUM, p.scan.prefix.dtype, words);
        const int64_t line = line_of(p, i);
        for (int64_t k = first; k < end; k++)
            take(p, words, element_at(p, bf_cuda_scan_at(p.scan, line, k)));
        bf_sum_carry(BF_KIND_SUM, p.scan.prefix.dtype, words);
        for (int w = 0; w < p.count; w++) *word_at(p, i, chunk, w) = words[w];
    });
}

/* A block makes one word of all chunks of a line that of the chunks before each. */
__global__ void __launch_bounds__(THREADS) sum_words(const __grid_constant__ exact_params p) {
    int64_t *words = p.words + blockIdx.x * p.chunks;
    bf_cuda_block_sums<WARPS>(
        p.chunks, (int64_t)0, [&](int64_t k) { return words[k]; },
        [&](int64_t k, int64_t before, int64_t) { words[k] = before; });
}

__global__ void __launch_bounds__(THREADS) scan_chunks(const __grid_constant__ exact_params p) {
    visit_chunk(p, [&](int64_t i, int64_t chunk, int64_t first, int64_t end) {
        int64_t words[BF_DESCRIPTION_WORDS_MAX];
        bf_work work;
        bf_u128 result = 0;
        const bf_dtype dtype = p.scan.prefix.dtype;
        bf_state_init(BF_KIND_SUM, dtype, words);
        for (int w = 0; w < p.count && p.words != nullptr; w++) words[w] = *word_at(p, i, chunk, w);
        const int64_t line = line_of(p, i);
        for (int64_t k = first; k < end; k++) {
            const int64_t at = bf_cuda_scan_at(p.scan, line, k);
            const uint64_t bits = element_at(p, at);
            if (!p.scan.exclusive) take(p, words, bits);
            bf_sum_carry(BF_KIND_SUM, dtype, words);
            bf_prefix_result(&p.scan.prefix, words, &result, &work);
            if (p.scan.exclusive) take(p, words, bits);
            bf_store_bits((char *)p.scan.values + at * p.scan.to_bytes, p.scan.to_bytes,
                          (uint64_t)result);
        }
    });
}

} // namespace

bf_status bf_cuda_scan_exactly(bf_cuda_call *call, const bf_cuda_scan_params &scan,
                               const int64_t *marked, int64_t lines) {
    const bf_cuda *cuda = call->context->cuda;
    exact_params p = {scan,  marked,
                      lines, (scan.length + CHUNK - 1) / CHUNK,
                      NULL,  bf_sum_shape_of(BF_KIND_SUM, scan.prefix.dtype).words};
    if (lines >= BF_CUDA_SCAN_MARKS / 16) p.chunks = 1; /* they keep all threads busy */
    const bf_cuda_shape shape = {(lines * p.chunks + THREADS - 1) / THREADS, THREADS};
    cudaError_t error = cudaSuccess;
    if (p.chunks > 1) {
        const int64_t words = lines * p.chunks * p.count;
        p.words = (int64_t *)bf_cuda_call_alloc(call, (size_t)words * sizeof *p.words);
        if (p.words == NULL) return BF_E_MEMORY;
        error = bf_cuda_launch(cuda, sum_chunks, shape, p);
        const bf_cuda_shape sums = {lines * p.count, THREADS};
        if (error == cudaSuccess) error = bf_cuda_launch(cuda, sum_words, sums, p);
    }
    if (error == cudaSuccess) error = bf_cuda_launch(cuda, scan_chunks, shape, p);
    return bf_cuda_check(call->context, error, "a scan");
}
