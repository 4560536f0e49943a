/* Places of elements, by dtype. */
#ifndef BF_CUDA_ORDER_PLACES_CUH
#define BF_CUDA_ORDER_PLACES_CUH

#include "cuda/order/order.cuh"

#include "cuda/runtime/element.cuh"
#include "cuda/runtime/entry.cuh"
#include "cuda/runtime/sort/coding.cuh"

/* Calls f with a dtype as a type: decltype(d)::value is the constant. Elements of the dtype itself
 * differ from those of this one only in the masks of their coding. */
template <bf_dtype D> struct bf_cuda_dtype { static constexpr bf_dtype value = D; };

template <class F> static auto bf_cuda_by_dtype(bf_dtype dtype, F f) {
    switch (dtype) {
    case BF_BOOL: return f(bf_cuda_dtype<BF_BOOL>());
    case BF_I8:
    case BF_U8: return f(bf_cuda_dtype<BF_U8>());
    case BF_I16:
    case BF_U16: return f(bf_cuda_dtype<BF_U16>());
    case BF_I32:
    case BF_U32: return f(bf_cuda_dtype<BF_U32>());
    case BF_F16:
    case BF_BF16: return f(bf_cuda_dtype<BF_F16>());
    case BF_F32: return f(bf_cuda_dtype<BF_F32>());
    case BF_F64: return f(bf_cuda_dtype<BF_F64>());
    default: return f(bf_cuda_dtype<BF_U64>());
    }
}

/* The unsigned number of an element's bytes. */
template <int bytes> struct bf_cuda_bits_of;
template <> struct bf_cuda_bits_of<1> { typedef uint8_t type; };
template <> struct bf_cuda_bits_of<2> { typedef uint16_t type; };
template <> struct bf_cuda_bits_of<4> { typedef uint32_t type; };
template <> struct bf_cuda_bits_of<8> { typedef uint64_t type; };
template <bf_dtype D>
using bf_cuda_bits_type = typename bf_cuda_bits_of<sizeof(bf_cuda_element::stored_of<D>)>::type;

/* The type of a place. */
template <bf_dtype D>
using bf_cuda_place_type =
    typename bf_cuda_bits_of<sizeof(bf_cuda_element::stored_of<D>) == 8 ? 8 : 4>::type;

template <bf_dtype D>
static __device__ __forceinline__ bf_cuda_place_type<D>
bf_cuda_place_of(const bf_cuda_coding &coding, bf_cuda_bits_type<D> element) {
    if (bf_cuda_element::is_float(D)) return bf_cuda_encode_float(coding, element);
    if (D == BF_BOOL) element = element != 0;
    return (bf_cuda_bits_type<D>)(element ^ (bf_cuda_bits_type<D>)coding.flip);
}

template <bf_dtype D>
static __device__ __forceinline__ bool bf_cuda_is_nan(const bf_cuda_coding &coding,
                                                      bf_cuda_bits_type<D> element) {
    return bf_cuda_element::is_float(D) && bf_cuda_codes_nan(coding, element);
}

#endif
