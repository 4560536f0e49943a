/* Loads NCCL. */
#include "cuda/comm/nccl.cuh"

#include <dlfcn.h>
#include <pthread.h>

static bf_nccl_library library;
static bool loaded;

static void load_library(void) {
    const struct {
        const char *name;
        void *function; /* of the library: a pointer to a function */
    } all[] = {{"ncclGetVersion", &library.version},
               {"ncclGetUniqueId", &library.make_id},
               {"ncclCommInitRank", &library.join},
               {"ncclCommAbort", &library.abort},
               {"ncclCommDestroy", &library.destroy},
               {"ncclCommGetAsyncError", &library.failure},
               {"ncclGetErrorString", &library.describe},
               {"ncclGroupStart", &library.begin},
               {"ncclGroupEnd", &library.end},
               {"ncclSend", &library.send},
               {"ncclRecv", &library.receive},
               {"ncclAllReduce", &library.allreduce}};
    void *handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        void *function = dlsym(handle, all[i].name);
        if (function == NULL) return;
        memcpy(all[i].function, &function, sizeof function);
    }
    loaded = true;
}

const bf_nccl_library *bf_nccl_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_library);
    return loaded ? &library : NULL;
}
