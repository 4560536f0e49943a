/* Tables of words of 4 bytes. */
#include "cuda/table/launchers.cuh"

extern const bf_cuda_table_loops bf_cuda_table_loops_4 = bf_cuda_loops::loops<uint32_t>();
