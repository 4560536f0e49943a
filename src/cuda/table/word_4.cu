/* Tables of words of 4 bytes. */
#include "cuda/table/launchers.cuh"

extern const bf_cuda_table_launchers bf_cuda_table_launchers_4 =
    bf_cuda_launchers::make_launchers<uint32_t>();
