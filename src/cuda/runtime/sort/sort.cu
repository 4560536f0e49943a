/* Sorting of entries: a partition by each byte of the keys, from the lowest on. */
#include "cuda/runtime/sort/sort.cuh"

#include "cuda/runtime/memory.cuh"
#include "cuda/runtime/sort/partition.cuh"

namespace {

using namespace bf_cuda_partition;

enum { BYTE_DIGITS = 256 };

template <class W>
cudaError_t sort_bytes(const bf_cuda *cuda, const plan &p, uint32_t *counts,
                       bf_cuda_entry<W> **from, bf_cuda_entry<W> *to, uint32_t n, int bytes) {
    cudaError_t error = cudaSuccess;
    for (int byte = 0; byte < bytes && error == cudaSuccess; byte++) {
        entries<W> source = {*from};
        rank_digit<W> digit = {8 * byte};
        error = partition_entries<W>(cuda, p, source, digit, BYTE_DIGITS, n, NULL, counts, to);
        bf_cuda_entry<W> *swapped = *from;
        *from = to;
        to = swapped;
    }
    return error;
}

template <class W>
bf_status sort_entries(bf_context *context, void *first, void *other, uint32_t n, int bytes,
                       void **sorted) {
    plan p = plan_of<W>(context->cuda, n);
    uint32_t *counts = (uint32_t *)bf_cuda_alloc(context, counts_needed(p, BYTE_DIGITS) * 4);
    if (counts == NULL) return BF_E_MEMORY;
    bf_cuda_entry<W> *from = (bf_cuda_entry<W> *)first;
    cudaError_t error =
        sort_bytes<W>(context->cuda, p, counts, &from, (bf_cuda_entry<W> *)other, n, bytes);
    bf_cuda_free(context, counts);
    *sorted = from;
    return bf_cuda_check(context, error, "sorting entries");
}

} // namespace

bf_status bf_cuda_sort(bf_context *context, int word, void *entries, void *other, uint32_t n,
                       int bytes, void **sorted) {
    switch (word) {
    case 4: return sort_entries<uint32_t>(context, entries, other, n, bytes, sorted);
    case 8: return sort_entries<uint64_t>(context, entries, other, n, bytes, sorted);
    default: return sort_entries<bf_cuda_wide>(context, entries, other, n, bytes, sorted);
    }
}
