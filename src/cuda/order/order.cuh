/* Order on a GPU: what its files share.
 *
 *   call.cu     the array of a call, where kernels reach it
 *   places.cu   elements as places (rules/key/order.h), and back
 *   bytes.cu    the sort of elements of 1 byte
 *   sort.cu     sort and sort_rows: lines by place, then by line (runtime/sort/radix.cu)
 *   take.cu     elements by index
 *   top.cu      the first of each line
 *   select.cu   quantiles: of many lines by sorting, of long ones by brackets (bracket.cu)
 *   search.cu   search and is_sorted
 *   unique.cu   different keys, by groups */
#ifndef BF_CUDA_ORDER_ORDER_CUH
#define BF_CUDA_ORDER_ORDER_CUH

#include "cuda/runtime/call.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/sort/radix.cuh"

extern "C" {
#include "seam/order.h"
}

#include "rules/key/rank.h"

extern const bf_order_backend bf_cuda_order_backend;

bf_status bf_cuda_order_check(bf_context *context, cudaError_t error);

/* The alignment of elements. */
static inline int bf_cuda_order_align(bf_dtype dtype) {
    return dtype == BF_PAIR ? 8 : bf_dtype_bytes(dtype);
}

/* --- lines --- */

/* Lines whose elements follow one another: line l has elements [begin(l), begin(l + 1)) of n. */
struct bf_cuda_order_lines {
    int64_t n, count, length;
    const int64_t *offsets; /* on the GPU, count + 1, from `first` on; NULL: all have `length` */
    int64_t first;

    __device__ __forceinline__ int64_t begin(int64_t line) const {
        return offsets == NULL ? line * length : offsets[line] - first;
    }
    /* The line of element i. */
    __device__ __forceinline__ int64_t line_of(int64_t i) const {
        if (offsets == NULL)
            return n <= UINT32_MAX ? (int64_t)((uint32_t)i / (uint32_t)length) : i / length;
        return bf_cuda_count_first(count - 1,
                                   [&](int64_t line) { return offsets[line + 1] - first <= i; });
    }
};

/* The array of a call, on the GPU. */
struct bf_cuda_order_array {
    bf_dtype dtype;
    bf_order order;
    const void *values;
    bf_cuda_order_lines lines;
    bool queued;
};

/* Brings the values and offsets of a call to the GPU. */
bf_status bf_cuda_order_reach(bf_cuda_call *call, const bf_order_lines *lines,
                              bf_cuda_order_array *array);

/* --- places.cu --- */

/* The bytes of a place: 4 or 8. */
static inline int bf_cuda_place_bytes(bf_dtype dtype) { return bf_dtype_bytes(dtype) == 8 ? 8 : 4; }

/* Writes the place of each element, of key_bytes. If lined, the number of the line is above it.
 * nans (cleared; may be NULL): those of floats are noted there. */
cudaError_t bf_cuda_order_places(const bf_context *context, const bf_cuda_order_array *array,
                                 bool lined, int key_bytes, void *places, bf_cuda_nans *nans);
/* Writes the elements of n places. NaNs get the bits of those noted, which are all the same. */
cudaError_t bf_cuda_order_elements(const bf_context *context, bf_dtype dtype, bf_order order,
                                   int key_bytes, const void *places, int64_t n,
                                   const bf_cuda_nans *nans, void *elements);

/* --- bytes.cu --- */

/* Enqueues a sort of all elements, of 1 byte each, as one line. */
bf_status bf_cuda_order_sort_bytes(bf_context *context, const bf_cuda_order_array *array,
                                   void *sorted);

/* --- sort.cu, take.cu --- */

/* Enqueues a sort of the array's lines: values (may be array->values; NULL: not wanted) and index
 * (i64; NULL: not wanted). It may wait for the stream. */
bf_status bf_cuda_order_sort(bf_context *context, const bf_cuda_order_array *array, void *values,
                             int64_t *index);

/* Copies element index[i] of `bytes` each, for i < n; indices have 4 or 8 bytes. */
cudaError_t bf_cuda_order_take(const bf_context *context, int bytes, const void *from,
                               const void *index, int index_bytes, int64_t n, void *to);

/* --- the backend's functions --- */

bf_status bf_cuda_sort_lines(bf_context *context, const bf_order_lines *lines, void *sorted,
                             void *index);
bf_status bf_cuda_sort_rows(bf_context *context, const bf_order_lines *keys, int payloads,
                            void *const payload[], const int bytes[]);
bf_status bf_cuda_top(bf_context *context, const bf_order_lines *lines, int64_t k, void *values,
                      void *index);
bf_status bf_cuda_select(bf_context *context, const bf_order_lines *lines,
                         const bf_selection *selection, void *results);
bf_status bf_cuda_search(bf_context *context, bf_dtype dtype, bf_order order, const void *sorted,
                         int64_t n, const void *wanted, int64_t m, bool right, void *places);
bf_status bf_cuda_is_sorted(bf_context *context, bf_dtype dtype, bf_order order, const void *values,
                            int64_t n, bool *sorted);
bf_status bf_cuda_unique(bf_context *context, bf_dtype dtype, const void *values, int64_t n,
                         void *keys, void *counts, int64_t room, int64_t *different);
bf_status bf_cuda_take(bf_context *context, int bytes, const void *from, const void *index,
                       int64_t n, void *to);

#endif
