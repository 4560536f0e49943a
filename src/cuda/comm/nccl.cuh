/* The few functions of NCCL that links use, from libnccl.so.2, which is loaded when it is needed.
 */
#ifndef BF_CUDA_COMM_NCCL_CUH
#define BF_CUDA_COMM_NCCL_CUH

#include "cuda/comm/link.cuh"

/* NCCL's results and types, as its ABI has them. */
typedef int bf_nccl_result;
enum { BF_NCCL_SUCCESS = 0, BF_NCCL_CUDA_FAILED = 1, BF_NCCL_IN_PROGRESS = 7 };
enum { BF_NCCL_BYTES = 0, BF_NCCL_UINT32 = 3 };
enum { BF_NCCL_MAX = 2 };
typedef struct bf_nccl_id {
    char bytes[128];
} bf_nccl_id;
typedef struct bf_nccl_comm bf_nccl_comm;

struct bf_nccl_library {
    bf_nccl_result (*version)(int *version);
    bf_nccl_result (*make_id)(bf_nccl_id *id);
    bf_nccl_result (*join)(bf_nccl_comm **comm, int ranks, bf_nccl_id id, int rank);
    bf_nccl_result (*abort)(bf_nccl_comm *comm);
    bf_nccl_result (*destroy)(bf_nccl_comm *comm);
    bf_nccl_result (*failure)(bf_nccl_comm *comm, bf_nccl_result *result);
    const char *(*describe)(bf_nccl_result result);
    bf_nccl_result (*begin)(void);
    bf_nccl_result (*end)(void);
    bf_nccl_result (*send)(const void *from, size_t count, int type, int to, bf_nccl_comm *comm,
                           cudaStream_t stream);
    bf_nccl_result (*receive)(void *to, size_t count, int type, int from, bf_nccl_comm *comm,
                              cudaStream_t stream);
    bf_nccl_result (*allreduce)(const void *in, void *out, size_t count, int type, int operation,
                                bf_nccl_comm *comm, cudaStream_t stream);
};

/* Returns false where there is no such library. It stays loaded. */
bool bf_nccl_load(bf_nccl_library *library);

/* Returns NCCL's version, as in bf_comm_nccl_version. */
int bf_nccl_version(void);

#endif
