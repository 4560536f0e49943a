/* Tables of words of 8 bytes. */
#include "cuda/table/launchers.cuh"

extern const bf_cuda_table_loops bf_cuda_table_loops_8 = bf_cuda_loops::loops<uint64_t>();
