/* Lines of floats whose sums three doubles do not hold, by the words of the rules: all lines, or
 * segments of them, that are marked. A thread takes a chunk of the rows of a column. Of a line that
 * goes on in the next chunk it sums the words first; then these are summed over all chunks, each
 * word by itself, and a difference of two such sums is what came before a chunk. The kernels read
 * whether any line is marked, so that the host need not wait for that: most often none is.
 *
 * Places of a column are counted in the order of the scan, through all of its lines. */
#include "cuda/runtime/warp.cuh"
#include "cuda/scan/scan.cuh"

namespace {

enum {
    THREADS = 128,
    WARPS = THREADS / BF_CUDA_WARP,
    CHUNK_LEAST = 256,
    CHUNK_MOST = 4096,
    BUSY = 1 << 16 /* so many chunks keep all threads busy */
};

struct exact_params {
    bf_cuda_scan_params scan;
    int64_t places; /* a column has so many */
    int64_t chunk;  /* places of a chunk */
    int64_t chunks; /* a column has so many */
    int64_t *words; /* word by word of each column, of each chunk, and then before each */
    int count;      /* words of a state */
};

/* A line, or a segment: places [first, end) of a column. number: without columns. */
struct exact_line {
    int64_t number, first, end;
};

__device__ __forceinline__ int64_t turn(const exact_params &p, int64_t place) {
    return p.scan.reverse ? p.places - 1 - place : place;
}

/* Lines, or segments that have no offsets. */
__device__ __forceinline__ int64_t length_of(const bf_cuda_scan_params &scan) {
    return scan.row > 0 ? scan.row : scan.length;
}

__device__ __forceinline__ exact_line line_of(const exact_params &p, int64_t number) {
    const bf_cuda_scan_params &scan = p.scan;
    const bool cut = scan.offsets != NULL;
    const int64_t first = cut ? bf_cuda_scan_offset(scan, number) : number * length_of(scan);
    const int64_t end = cut ? bf_cuda_scan_offset(scan, number + 1) : first + length_of(scan);
    if (scan.reverse) return {number, p.places - end, p.places - first};
    return {number, first, end};
}

/* The line that has a place. */
__device__ __forceinline__ exact_line find_line(const exact_params &p, int64_t place) {
    const int64_t row = turn(p, place);
    return line_of(p, p.scan.offsets != NULL ? bf_cuda_scan_segment(p.scan, row)
                                             : row / length_of(p.scan));
}

/* The line behind another one, which is not the last: most often its neighbour, but segments may
 * be empty. */
__device__ __forceinline__ exact_line next_line(const exact_params &p, const exact_line &line) {
    const exact_line next = line_of(p, line.number + (p.scan.reverse ? -1 : 1));
    return next.first < next.end ? next : find_line(p, line.end);
}

__device__ __forceinline__ bool is_marked(const exact_params &p, const exact_line &line,
                                          int64_t column) {
    const int64_t number = line.number * p.scan.inner + column;
    return p.scan.marks[number / 32] >> number % 32 & 1;
}

/* Calls visit(column, chunk, first, end) for a thread's chunks, of places [first, end). */
template <class Visit>
__device__ __forceinline__ void visit_chunks(const exact_params &p, const Visit &visit) {
    if (p.scan.board->marked == 0) return;
    for (int64_t task : bf_cuda_indices<THREADS>(p.scan.inner * p.chunks)) {
        const int64_t chunk = task / p.scan.inner, first = chunk * p.chunk;
        visit(task % p.scan.inner, chunk, first,
              p.places - first < p.chunk ? p.places : first + p.chunk);
    }
}

/* Word w of a chunk. */
__device__ __forceinline__ int64_t *word_at(const exact_params &p, int64_t column, int64_t chunk,
                                            int w) {
    return &p.words[(column * p.count + w) * p.chunks + chunk];
}

/* The element's number in the array. */
__device__ __forceinline__ int64_t element_at(const exact_params &p, int64_t column,
                                              int64_t place) {
    return turn(p, place) * p.scan.inner + column;
}

__device__ __forceinline__ void take(const exact_params &p, int64_t *words, int64_t at) {
    const bf_dtype dtype = p.scan.prefix.dtype;
    const bf_sum_shape shape = bf_sum_shape_of(BF_KIND_SUM, dtype);
    const char *element = (const char *)p.scan.elements + at * p.scan.bytes;
    bf_sum_take(dtype, &shape, words, bf_load_bits(element, p.scan.bytes));
}

/* Sums what a marked line that goes on behind a chunk has in it. */
__global__ void __launch_bounds__(THREADS) sum_chunks(const __grid_constant__ exact_params p) {
    visit_chunks(p, [&](int64_t column, int64_t chunk, int64_t first, int64_t end) {
        int64_t words[BF_DESCRIPTION_WORDS_MAX];
        bf_state_init(BF_KIND_SUM, p.scan.prefix.dtype, words);
        const exact_line last = find_line(p, end - 1);
        if (last.end > end && is_marked(p, last, column))
            for (int64_t k = last.first > first ? last.first : first; k < end; k++)
                take(p, words, element_at(p, column, k));
        bf_sum_carry(BF_KIND_SUM, p.scan.prefix.dtype, words);
        for (int w = 0; w < p.count; w++) *word_at(p, column, chunk, w) = words[w];
    });
}

/* A block makes one word of all chunks of a column that of the chunks before each, modulo 2^64. */
__global__ void __launch_bounds__(THREADS) sum_words(const __grid_constant__ exact_params p) {
    if (p.scan.board->marked == 0) return;
    for (int64_t i = blockIdx.x; i < p.scan.inner * p.count; i += gridDim.x) {
        int64_t *words = p.words + i * p.chunks;
        bf_cuda_block_sums<WARPS>(
            p.chunks, (uint64_t)0, [&](int64_t k) { return (uint64_t)words[k]; },
            [&](int64_t k, uint64_t before, uint64_t) { words[k] = (int64_t)before; });
    }
}

/* Sets words to what came before a place of a line in this chunk. */
__device__ __forceinline__ void begin(const exact_params &p, int64_t column, int64_t chunk,
                                      const exact_line &line, int64_t place, int64_t *words) {
    const int64_t *start = p.scan.words;
    if (start != NULL) start += (line.number * p.scan.inner + column) * p.count;
    bf_state_init(BF_KIND_SUM, p.scan.prefix.dtype, words);
    for (int w = 0; w < p.count; w++) {
        if (start != NULL) words[w] = start[w];
        if (line.first < place)
            words[w] += (int64_t)((uint64_t)*word_at(p, column, chunk, w) -
                                  (uint64_t)*word_at(p, column, line.first / p.chunk, w));
    }
    bf_sum_carry(BF_KIND_SUM, p.scan.prefix.dtype, words);
}

/* Scans places [first, end) of a line in a chunk. */
__device__ __forceinline__ void scan_part(const exact_params &p, int64_t column, int64_t chunk,
                                          const exact_line &line, int64_t first, int64_t end) {
    const bf_dtype dtype = p.scan.prefix.dtype;
    int64_t words[BF_DESCRIPTION_WORDS_MAX];
    bf_work room;
    bf_u128 result = 0;
    begin(p, column, chunk, line, first, words);
    for (int64_t k = first; k < end; k++) {
        const int64_t at = element_at(p, column, k);
        if (!p.scan.exclusive) take(p, words, at);
        bf_sum_carry(BF_KIND_SUM, dtype, words);
        bf_prefix_result(&p.scan.prefix, words, &result, &room);
        if (p.scan.exclusive) take(p, words, at);
        bf_store_bits((char *)p.scan.values + at * p.scan.to_bytes, p.scan.to_bytes,
                      (uint64_t)result);
    }
}

__global__ void __launch_bounds__(THREADS) scan_chunks(const __grid_constant__ exact_params p) {
    visit_chunks(p, [&](int64_t column, int64_t chunk, int64_t first, int64_t end) {
        exact_line line = find_line(p, first);
        for (;;) {
            const int64_t from = line.first > first ? line.first : first;
            if (is_marked(p, line, column))
                scan_part(p, column, chunk, line, from, line.end < end ? line.end : end);
            if (line.end >= end) return;
            line = next_line(p, line);
        }
    });
}

} // namespace

bf_status bf_cuda_scan_exactly(bf_cuda_call *call, const bf_cuda_scan_params &scan) {
    const bf_cuda *cuda = call->context->cuda;
    exact_params p = {scan, scan.outer * scan.length, CHUNK_LEAST};
    while (p.chunk < CHUNK_MOST && p.places / p.chunk * scan.inner > BUSY) p.chunk *= 2;
    p.chunks = (p.places + p.chunk - 1) / p.chunk;
    p.count = bf_sum_shape_of(BF_KIND_SUM, scan.prefix.dtype).words;
    const size_t bytes = (size_t)(scan.inner * p.chunks * p.count) * sizeof *p.words;
    p.words = (int64_t *)bf_cuda_call_alloc(call, bytes);
    if (p.words == NULL) return BF_E_MEMORY;
    const bf_cuda_shape shape = {bf_cuda_blocks(cuda, scan.inner * p.chunks, THREADS), THREADS};
    const bf_cuda_shape sums = {bf_cuda_blocks(cuda, scan.inner * p.count, 1), THREADS};
    cudaError_t error = bf_cuda_launch(cuda, sum_chunks, shape, p);
    if (error == cudaSuccess) error = bf_cuda_launch(cuda, sum_words, sums, p);
    if (error == cudaSuccess) error = bf_cuda_launch(cuda, scan_chunks, shape, p);
    return bf_cuda_check(call->context, error, "a scan");
}
