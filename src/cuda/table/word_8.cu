/* Tables of words of 8 bytes. */
#include "cuda/table/launchers.cuh"

extern const bf_cuda_table_launchers bf_cuda_table_launchers_8 =
    bf_cuda_launchers::make_launchers<uint64_t>();
