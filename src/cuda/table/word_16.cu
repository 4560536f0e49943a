/* Tables of words of 16 bytes. */
#include "cuda/table/launchers.cuh"

extern const bf_cuda_table_launchers bf_cuda_table_launchers_16 =
    bf_cuda_launchers::make_launchers<bf_cuda_wide>();
