/* Tables of words of 16 bytes. */
#include "cuda/table/launchers.cuh"

extern const bf_cuda_table_loops bf_cuda_table_loops_16 = bf_cuda_loops::loops<bf_cuda_wide>();
