/* Loads NCCL. */
#include "cuda/comm/nccl.cuh"

#include <dlfcn.h>

bool bf_nccl_load(bf_nccl_library *library) {
    const struct {
        const char *name;
        void *function; /* points to a pointer to a function of the library */
    } all[] = {{"ncclGetVersion", &library->version},
               {"ncclGetUniqueId", &library->make_id},
               {"ncclCommInitRank", &library->join},
               {"ncclCommAbort", &library->abort},
               {"ncclCommDestroy", &library->destroy},
               {"ncclCommGetAsyncError", &library->failure},
               {"ncclGetErrorString", &library->describe},
               {"ncclGroupStart", &library->begin},
               {"ncclGroupEnd", &library->end},
               {"ncclSend", &library->send},
               {"ncclRecv", &library->receive},
               {"ncclAllReduce", &library->allreduce}};
    void *handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return false;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        void *function = dlsym(handle, all[i].name);
        if (function == NULL) return false;
        memcpy(all[i].function, &function, sizeof function);
    }
    return true;
}

int bf_nccl_version(void) {
    bf_nccl_library library;
    int version = 0;
    if (!bf_nccl_load(&library) || library.version(&version) != BF_NCCL_SUCCESS) return 0;
    return version;
}
