/* The kernels for results of few elements, each of which something proves (doubles.cuh). */
#ifndef BF_CUDA_AXIS_DOUBLES_KERNELS_CUH
#define BF_CUDA_AXIS_DOUBLES_KERNELS_CUH

#include "cuda/axis/doubles/short.cuh"
#include "cuda/axis/segments.cuh"

template <class C, class Proven> static const void *bf_cuda_axis_proven_rows(int64_t length) {
    switch (length % C::N == 0 ? length / C::N : 0) {
    case 1: return (const void *)bf_cuda_axis_doubles_short_rows<C, Proven, 1>;
    case 2: return (const void *)bf_cuda_axis_doubles_short_rows<C, Proven, 2>;
    case 4: return (const void *)bf_cuda_axis_doubles_short_rows<C, Proven, 4>;
    case 8: return (const void *)bf_cuda_axis_doubles_short_rows<C, Proven, 8>;
    default: return (const void *)bf_cuda_axis_doubles_rows<C, Proven>;
    }
}

/* Rows and columns of this length. */
template <class C, class Proven>
static void bf_cuda_axis_set_proven(int64_t length, bf_cuda_axis_kernels *k) {
    k->proven_rows = bf_cuda_axis_proven_rows<C, Proven>(length);
    k->proven_columns = (const void *)bf_cuda_axis_doubles_columns<C, Proven>;
    k->proven_width = Proven::columns;
}

template <class C, class Proven>
static void bf_cuda_axis_set_proven_segments(bf_cuda_axis_kernels *k) {
    k->proven_segments = (const void *)bf_cuda_axis_doubles_segments<C, Proven, int32_t>;
    k->proven_wide_segments = (const void *)bf_cuda_axis_doubles_segments<C, Proven, int64_t>;
}

#endif
