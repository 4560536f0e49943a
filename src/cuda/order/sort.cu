/* Sorting. Elements become places, unsigned numbers in the order of the values, and these are
 * sorted by radix. Of many lines each place has the number of its line above it, if both fit 64
 * bits; else elements are sorted by place first, and then by line.
 *
 * Places alone are sorted, and become elements again, unless positions are wanted or NaNs of
 * different bits have to keep them: then the elements are taken by their positions. Elements of 4
 * and 8 bytes become places as the sort reads them; others are written as places before. */
#include "cuda/order/places.cuh"
#include "cuda/runtime/mailbox.cuh"
#include "cuda/runtime/memory.cuh"

namespace {

enum {
    SORT_THREADS = 256,
    LONG_LINE = 1 << 20, /* elements of a line that is sorted by itself */
    TAKEN_MOST = 1 << 20 /* floats whose NaNs an enqueued sort does not ask for */
};

/* --- kernels --- */

/* Numbers in the whole array become positions in their lines. */
template <class V>
__global__ void __launch_bounds__(SORT_THREADS)
    write_index(const bf_cuda_order_lines lines, const V *numbers, int64_t *index) {
    for (const int64_t i : bf_cuda_indices<SORT_THREADS>(lines.n))
        index[i] = (int64_t)numbers[i] - (lines.count == 1 ? 0 : lines.begin(lines.line_of(i)));
}

template <class V, class K>
__global__ void __launch_bounds__(SORT_THREADS)
    write_lines(const bf_cuda_order_lines lines, const V *numbers, K *keys) {
    for (const int64_t i : bf_cuda_indices<SORT_THREADS>(lines.n))
        keys[i] = (K)lines.line_of((int64_t)numbers[i]);
}

/* Writes a word of each pair as a place: of pair numbers[i], or i. */
template <class V>
__global__ void __launch_bounds__(SORT_THREADS)
    write_words(const uint64_t *pairs, int word, bool descending, const V *numbers, int64_t n,
                uint64_t *places) {
    for (const int64_t i : bf_cuda_indices<SORT_THREADS>(n)) {
        const int64_t from = numbers == NULL ? i : (int64_t)numbers[i];
        const uint64_t mine = pairs[2 * from + word];
        places[i] = descending ? ~mine : mine;
    }
}

/* --- a sort --- */

enum { PLACES, NUMBERS, NANS, LINES, TAKEN, ALLOCATED };

struct sorting {
    bf_context *context;
    const bf_cuda_order_array *array;
    void *values;   /* wanted, or NULL */
    int64_t *index; /* wanted, or NULL */
    void *memory[ALLOCATED];
    int number_bytes; /* the size of positions in the whole array: 4 or 8 */
};

void *alloc(sorting *s, int i, size_t bytes) {
    return s->memory[i] = bf_cuda_alloc(s->context, bytes);
}

bool alloc_numbers(sorting *s) {
    return alloc(s, NUMBERS, (size_t)s->array->lines.n * (size_t)s->number_bytes) != NULL;
}

/* A sort of keys of `bytes` each by bits [0, high), and of the numbers with them; at first these
 * are the positions. */
bf_cuda_radix numbers_sort(const sorting *s, int bytes, const void *keys, void *sorted, int high,
                           bool positions) {
    bf_cuda_radix r = {};
    r.n = s->array->lines.n;
    r.bits = high;
    r.key_bytes = bytes;
    r.keys = keys;
    r.sorted = sorted;
    r.moved = s->memory[NUMBERS];
    r.values = positions ? NULL : r.moved;
    r.value_bytes = r.moved == NULL ? 0 : s->number_bytes;
    return r;
}

bf_status sort_numbers(sorting *s, int bytes, const void *keys, void *sorted, int high,
                       bool positions) {
    const bf_cuda_radix r = numbers_sort(s, bytes, keys, sorted, high, positions);
    return bf_cuda_radix_sort(s->context, &r, NULL);
}

/* Brings the numbers into the order of their lines; those of a line stay in theirs. */
bf_status sort_by_line(sorting *s) {
    const bf_cuda_order_lines &lines = s->array->lines;
    const int bytes = lines.count <= UINT32_MAX ? 4 : 8;
    const unsigned blocks = bf_cuda_blocks(s->context->cuda, lines.n, SORT_THREADS);
    cudaStream_t stream = s->context->cuda->stream;
    void *keys = alloc(s, LINES, (size_t)lines.n * (size_t)bytes), *numbers = s->memory[NUMBERS];
    if (keys == NULL) return BF_E_MEMORY;
    if (s->number_bytes == 4)
        write_lines<<<blocks, SORT_THREADS, 0, stream>>>(lines, (const uint32_t *)numbers,
                                                         (uint32_t *)keys);
    else if (bytes == 4)
        write_lines<<<blocks, SORT_THREADS, 0, stream>>>(lines, (const uint64_t *)numbers,
                                                         (uint32_t *)keys);
    else
        write_lines<<<blocks, SORT_THREADS, 0, stream>>>(lines, (const uint64_t *)numbers,
                                                         (uint64_t *)keys);
    bf_status status = bf_cuda_order_check(s->context, cudaGetLastError());
    if (status != BF_OK) return status;
    return sort_numbers(s, bytes, keys, NULL, bf_bit_length((uint64_t)lines.count - 1), false);
}

/* Takes the values by their numbers. */
bf_status take_values(sorting *s) {
    const int bytes = bf_key_bytes(s->array->dtype);
    const size_t all = (size_t)(s->array->lines.n * bytes);
    const bool again = s->values == s->array->values;
    void *to = again ? alloc(s, TAKEN, all) : s->values;
    if (to == NULL) return BF_E_MEMORY;
    cudaError_t error = bf_cuda_order_take(s->context, bytes, s->array->values, s->memory[NUMBERS],
                                           s->number_bytes, s->array->lines.n, to);
    if (error == cudaSuccess && again)
        error =
            cudaMemcpyAsync(s->values, to, all, cudaMemcpyDeviceToDevice, s->context->cuda->stream);
    return bf_cuda_order_check(s->context, error);
}

bf_status finish_index(sorting *s) {
    const bf_cuda_order_lines &lines = s->array->lines;
    const unsigned blocks = bf_cuda_blocks(s->context->cuda, lines.n, SORT_THREADS);
    cudaStream_t stream = s->context->cuda->stream;
    if (s->number_bytes == 4)
        write_index<<<blocks, SORT_THREADS, 0, stream>>>(
            lines, (const uint32_t *)s->memory[NUMBERS], s->index);
    else
        write_index<<<blocks, SORT_THREADS, 0, stream>>>(
            lines, (const uint64_t *)s->memory[NUMBERS], s->index);
    return bf_cuda_order_check(s->context, cudaGetLastError());
}

/* Writes one word of the pairs as places. */
bf_status write_pair_word(sorting *s, int word, bool by_numbers) {
    const int64_t n = s->array->lines.n;
    const unsigned blocks = bf_cuda_blocks(s->context->cuda, n, SORT_THREADS);
    const bool descending = s->array->order != BF_ASCENDING;
    const uint64_t *pairs = (const uint64_t *)s->array->values;
    uint64_t *places = (uint64_t *)s->memory[PLACES];
    const void *numbers = by_numbers ? s->memory[NUMBERS] : NULL;
    cudaStream_t stream = s->context->cuda->stream;
    if (s->number_bytes == 4)
        write_words<<<blocks, SORT_THREADS, 0, stream>>>(pairs, word, descending,
                                                         (const uint32_t *)numbers, n, places);
    else
        write_words<<<blocks, SORT_THREADS, 0, stream>>>(pairs, word, descending,
                                                         (const uint64_t *)numbers, n, places);
    return bf_cuda_order_check(s->context, cudaGetLastError());
}

bf_status sort_pairs(sorting *s) {
    if (alloc(s, PLACES, (size_t)s->array->lines.n * 8) == NULL || !alloc_numbers(s))
        return BF_E_MEMORY;
    bf_status status = BF_OK;
    for (int word = 1; word >= 0 && status == BF_OK; word--) {
        status = write_pair_word(s, word, word == 0);
        if (status == BF_OK)
            status = sort_numbers(s, 8, s->memory[PLACES], s->memory[PLACES], 64, word == 1);
    }
    if (status == BF_OK && s->array->lines.count > 1) status = sort_by_line(s);
    return status;
}

/* Whether values are taken by their numbers, whatever NaNs there are: of few floats that takes less
 * time than to wait for their bits, and in a capture nothing is waited for. */
bool is_taken(const sorting *s) {
    const bf_cuda_order_array *a = s->array;
    const bool is_captured = s->context->cuda->capture != 0;
    return a->queued && bf_dtype_is_float(a->dtype) && (is_captured || a->lines.n <= TAKEN_MOST);
}

/* Sets *same to whether NaNs are to be told apart by their positions only: all have the same bits.
 * Waits. */
bf_status compare_nans(sorting *s, bool *same) {
    bf_cuda_nans nans;
    bf_status status =
        bf_cuda_fetch_words(s->context, cudaSuccess, s->memory[NANS], 2, &nans, "order on a GPU");
    *same = status != BF_OK || (nans.bits & nans.others) == 0;
    return status;
}

/* Writes the places, and sets *same: sorted places tell the values. */
bf_status write_places(sorting *s, bool lined, int bytes, bool *same) {
    const bf_cuda_order_array *a = s->array;
    cudaStream_t stream = s->context->cuda->stream;
    if (alloc(s, PLACES, (size_t)a->lines.n * (size_t)bytes) == NULL ||
        alloc(s, NANS, sizeof(bf_cuda_nans)) == NULL)
        return BF_E_MEMORY;
    cudaError_t error = cudaMemsetAsync(s->memory[NANS], 0, sizeof(bf_cuda_nans), stream);
    if (error == cudaSuccess)
        error = bf_cuda_order_places(s->context, a, lined, bytes, s->memory[PLACES],
                                     (bf_cuda_nans *)s->memory[NANS]);
    bf_status status = bf_cuda_order_check(s->context, error);
    if (is_taken(s))
        *same = false;
    else if (status == BF_OK && bf_dtype_is_float(a->dtype) && s->values != NULL)
        status = compare_nans(s, same);
    return status;
}

/* Sorts elements of 4 or 8 bytes, which become places as they are sorted. */
bf_status sort_coded(sorting *s) {
    const bf_cuda_order_array *a = s->array;
    const int bytes = bf_dtype_bytes(a->dtype);
    const bool lined = a->lines.count > 1, apart = lined || is_taken(s);
    void *sorted = apart ? NULL : s->values;
    bool mixed = false;
    if ((s->index != NULL || apart) && !alloc_numbers(s)) return BF_E_MEMORY;
    bf_cuda_radix r = numbers_sort(s, bytes, a->values, sorted, 8 * bytes, true);
    r.coding = bf_cuda_coding_of(a->dtype, a->order);
    bf_status status = bf_cuda_radix_sort(s->context, &r, &mixed);
    if (status == BF_OK && mixed) {
        if (s->memory[NUMBERS] == NULL && !alloc_numbers(s)) return BF_E_MEMORY;
        r = numbers_sort(s, bytes, a->values, NULL, 8 * bytes, true);
        r.coding = bf_cuda_coding_of(a->dtype, a->order);
        status = bf_cuda_radix_sort(s->context, &r, NULL);
    }
    if (status == BF_OK && lined) status = sort_by_line(s);
    return status == BF_OK && s->values != NULL && (mixed || apart) ? take_values(s) : status;
}

/* Sorts elements after their places, of 4 bytes, or of 8 if the line is above. */
bf_status sort_written(sorting *s, int line_bits) {
    const bf_cuda_order_array *a = s->array;
    const int bits = 8 * bf_dtype_bytes(a->dtype);
    const bool lined = line_bits > 0;
    const int bytes = lined ? 8 : 4;
    bool same = true;
    bf_status status = write_places(s, lined, bytes, &same);
    if (status != BF_OK) return status;
    const bool by_places = s->values != NULL && same;
    if ((s->index != NULL || !by_places) && !alloc_numbers(s)) return BF_E_MEMORY;
    void *places = s->memory[PLACES];
    status = sort_numbers(s, bytes, places, places, bits + line_bits, true);
    if (status != BF_OK || s->values == NULL) return status;
    if (!by_places) return take_values(s);
    return bf_cuda_order_check(
        s->context,
        bf_cuda_order_elements(s->context, a->dtype, a->order, bytes, places, a->lines.n,
                               (const bf_cuda_nans *)s->memory[NANS], s->values));
}

bf_status sort_elements(sorting *s) {
    const bf_cuda_order_array *a = s->array;
    const int bytes = bf_dtype_bytes(a->dtype), bits = 8 * bytes;
    const int line_bits = a->lines.count > 1 ? bf_bit_length((uint64_t)a->lines.count - 1) : 0;
    if (bytes == 1 && line_bits == 0 && s->index == NULL)
        return bf_cuda_order_sort_bytes(s->context, a, s->values);
    if (bytes >= 4 && (line_bits == 0 || bits + line_bits > 64)) return sort_coded(s);
    return sort_written(s, line_bits);
}

bf_status sort_at_once(bf_context *context, const bf_cuda_order_array *array, void *values,
                       int64_t *index) {
    const bool pairs = array->dtype == BF_PAIR;
    sorting s = {context, array, values, index, {}, array->lines.n <= UINT32_MAX ? 4 : 8};
    bf_status status = pairs ? sort_pairs(&s) : sort_elements(&s);
    if (status == BF_OK && pairs && values != NULL) status = take_values(&s);
    if (status == BF_OK && index != NULL) status = finish_index(&s);
    for (void *m : s.memory) bf_cuda_free(context, m);
    return status;
}

bf_status sort_line_by_line(bf_context *context, const bf_cuda_order_array *array, char *values,
                            int64_t *index) {
    const int64_t length = array->lines.length;
    const int bytes = bf_key_bytes(array->dtype);
    bf_cuda_order_array line = *array;
    bf_status status = BF_OK;
    line.lines.n = length;
    line.lines.count = 1;
    for (int64_t l = 0; l < array->lines.count && status == BF_OK; l++) {
        line.values = (const char *)array->values + l * length * bytes;
        status = sort_at_once(context, &line, values == NULL ? NULL : values + l * length * bytes,
                              index == NULL ? NULL : index + l * length);
        if (status == BF_OK && !array->queued) status = bf_watch_tick(context, 0);
    }
    return status;
}

} // namespace

bf_status bf_cuda_order_sort(bf_context *context, const bf_cuda_order_array *array, void *values,
                             int64_t *index) {
    const bf_cuda_order_lines &lines = array->lines;
    if (lines.n == 0) return BF_OK;
    if (lines.count > 1 && lines.offsets == NULL && lines.length >= LONG_LINE)
        return sort_line_by_line(context, array, (char *)values, index);
    return sort_at_once(context, array, values, index);
}

bf_status bf_cuda_sort_lines(bf_context *context, const bf_order_lines *lines, void *sorted,
                             void *index) {
    const int bytes = bf_key_bytes(lines->dtype);
    bf_cuda_call call;
    bf_cuda_order_array array = {};
    void *values = NULL, *positions = NULL;
    bf_status status = bf_cuda_call_begin(&call, context, lines->queued);
    if (status == BF_OK) status = bf_cuda_order_reach(&call, lines, &array);
    const int64_t first = array.lines.first, n = array.lines.n;
    if (status == BF_OK && sorted != NULL)
        status = bf_cuda_call_write(&call, (char *)sorted + first * bytes, (size_t)(n * bytes),
                                    bf_cuda_order_align(lines->dtype), &values);
    if (status == BF_OK && index != NULL)
        status = bf_cuda_call_write(&call, (char *)index + first * 8, (size_t)n * 8, 8, &positions);
    if (status == BF_OK) status = bf_cuda_order_sort(context, &array, values, (int64_t *)positions);
    return bf_cuda_call_end(&call, status);
}

/* --- rows --- */

namespace {

/* Sorts the keys, and with them the only payload, of 4 or 8 bytes, if places tell the keys: else
 * sets *done to false. */
bf_status sort_two(sorting *s, void *keys, void *payload, int payload_bytes, bool *done) {
    const bf_cuda_order_array *a = s->array;
    const bool coded = bf_dtype_bytes(a->dtype) >= 4;
    const int bytes = bf_cuda_place_bytes(a->dtype);
    bool same = true, mixed = false;
    bf_status status = coded ? BF_OK : write_places(s, false, bytes, &same);
    *done = same;
    if (status != BF_OK || !same) return status;
    void *places = coded ? keys : s->memory[PLACES];
    bf_cuda_radix r = {};
    r.n = a->lines.n;
    r.bits = 8 * bf_dtype_bytes(a->dtype);
    r.key_bytes = bytes;
    r.keys = r.sorted = places;
    r.value_bytes = payload_bytes;
    r.values = r.moved = payload;
    if (coded) r.coding = bf_cuda_coding_of(a->dtype, a->order);
    status = bf_cuda_radix_sort(s->context, &r, &mixed);
    *done = !mixed;
    if (status != BF_OK || coded) return status;
    return bf_cuda_order_check(s->context,
                               bf_cuda_order_elements(s->context, a->dtype, a->order, bytes, places,
                                                      a->lines.n,
                                                      (const bf_cuda_nans *)s->memory[NANS], keys));
}

/* Moves elements [0, n) of an array to the order of an index. */
bf_status move_elements(bf_context *context, int bytes, const int64_t *index, int64_t n,
                        void *elements, void *scratch) {
    const size_t all = (size_t)n * (size_t)bytes;
    cudaError_t error =
        cudaMemcpyAsync(scratch, elements, all, cudaMemcpyDeviceToDevice, context->cuda->stream);
    if (error == cudaSuccess)
        error = bf_cuda_order_take(context, bytes, scratch, index, 8, n, elements);
    return bf_cuda_order_check(context, error);
}

bf_status sort_rows(bf_cuda_call *call, const bf_cuda_order_array *array, void *keys, int payloads,
                    void *const payload[], const int bytes[]) {
    bf_context *context = call->context;
    const int64_t n = array->lines.n;
    if (payloads == 0) return bf_cuda_order_sort(context, array, keys, NULL);
    if (payloads == 1 && (bytes[0] == 4 || bytes[0] == 8) && array->dtype != BF_PAIR) {
        bool done = false;
        sorting s = {context, array, keys, NULL, {}, 4};
        bf_status status = sort_two(&s, keys, payload[0], bytes[0], &done);
        for (void *m : s.memory) bf_cuda_free(context, m);
        if (status != BF_OK || done) return status;
    }
    int64_t *index = (int64_t *)bf_cuda_call_alloc(call, (size_t)n * 8);
    void *scratch = bf_cuda_call_alloc(call, (size_t)n * 16);
    if (index == NULL || scratch == NULL) return BF_E_MEMORY;
    bf_status status = bf_cuda_order_sort(context, array, keys, index);
    for (int i = 0; i < payloads && status == BF_OK; i++)
        status = move_elements(context, bytes[i], index, n, payload[i], scratch);
    return status;
}

enum { PAYLOADS_MOST = 64 };

} // namespace

bf_status bf_cuda_sort_rows(bf_context *context, const bf_order_lines *keys, int payloads,
                            void *const payload[], const int bytes[]) {
    const size_t n = (size_t)keys->length;
    const int key_bytes = bf_key_bytes(keys->dtype);
    bf_cuda_call call;
    bf_cuda_order_array array = {};
    void *near_keys = NULL, *near[PAYLOADS_MOST] = {};
    bf_status status = bf_cuda_call_begin(&call, context);
    if (status == BF_OK)
        status = bf_cuda_call_update(&call, (void *)keys->values, n * (size_t)key_bytes,
                                     bf_cuda_order_align(keys->dtype), &near_keys);
    for (int i = 0; i < payloads && status == BF_OK; i++)
        status = bf_cuda_call_update(&call, payload[i], n * (size_t)bytes[i],
                                     bytes[i] > 8 ? 8 : bytes[i], &near[i]);
    array.dtype = keys->dtype;
    array.order = keys->order;
    array.values = near_keys;
    array.lines.n = array.lines.length = keys->length;
    array.lines.count = 1;
    if (status == BF_OK) status = sort_rows(&call, &array, near_keys, payloads, near, bytes);
    return bf_cuda_call_end(&call, status);
}
