/* Sums of integers over the memory of peers. */
#include "cuda/comm/peers_kernel.cuh"

bf_peers_kernel *bf_peers_kernel_integer(bf_dtype dtype) {
    using bf_peers::add_ranks;
    switch (dtype) {
    case BF_I8: return add_ranks<BF_I8>;
    case BF_I16: return add_ranks<BF_I16>;
    case BF_I32: return add_ranks<BF_I32>;
    case BF_I64: return add_ranks<BF_I64>;
    case BF_U8: return add_ranks<BF_U8>;
    case BF_U16: return add_ranks<BF_U16>;
    case BF_U32: return add_ranks<BF_U32>;
    default: return add_ranks<BF_U64>;
    }
}
