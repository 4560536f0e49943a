/* A GPU as a machine for ladders: memory, a clock, and the limit. */
#include "ladder/cuda/timer.cuh"

/* The library uses the rungs' stream, so the same clock measures it. */
static const char *open_context(ladder_task *task, int device) {
    char name[BF_DEVICE_TEXT];
    bf_device_format(device, name);
    bf_options options = {};
    options.size = sizeof options;
    options.device = name;
    bf_status status = bf_context_create(&options, &task->context);
    if (status == BF_OK) status = bf_context_set_stream(task->context, task->stream);
    return status == BF_OK ? NULL : bf_status_string(status);
}

static const char *open_gpu(ladder_task *task, int device) {
    cudaStream_t stream = NULL;
    cudaError_t error = cudaSetDevice(device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&task->processors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess) error = cudaStreamCreate(&stream);
    task->stream = stream;
    return error == cudaSuccess ? open_context(task, device) : why(error);
}

static void close_gpu(ladder_task *task) {
    bf_context_destroy(task->context);
    if (task->stream) cudaStreamDestroy(stream_of(task));
}

static void *allocate(size_t bytes) {
    void *memory = NULL;
    if (cudaMalloc(&memory, bytes) == cudaSuccess) return memory;
    cudaGetLastError(); /* reported by the NULL; clears the error before the next launch */
    return NULL;
}

static void *allocate_managed(size_t bytes) {
    void *memory = NULL;
    if (cudaMallocManaged(&memory, bytes) == cudaSuccess) return memory;
    cudaGetLastError();
    return NULL;
}

static void release(void *memory, bool) { cudaFree(memory); }

static const char *copy(void *to, const void *from, size_t bytes) {
    return why(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
}

static const char *fill(void *memory, int byte, size_t bytes) {
    const cudaError_t error = cudaMemset(memory, byte, bytes);
    return why(error == cudaSuccess ? cudaDeviceSynchronize() : error);
}

static const char *time_runs(const ladder_rung *rung, const ladder_task *task, int repeats,
                             double *seconds) {
    timer t;
    const char *problem = NULL;
    t.begin(stream_of(task));
    for (int i = 0; i < repeats && !problem; i++) problem = rung->run(task);
    t.end(stream_of(task));
    const char *late = t.seconds(seconds); /* waits, even for work that was cut short */
    return problem ? problem : late;
}

/* ---- the limit: 16 bytes a load, four loads on their way ------------------------------------- */

static __device__ __forceinline__ unsigned all_of(uint4 q) { return q.x | q.y | q.z | q.w; }

/* The compiler drops loads whose values are not used; the store hardly ever happens. */
static __global__ void read_only(const uint4 *in, int64_t quads, unsigned *hardly_ever) {
    const int64_t step = grid_threads();
    int64_t i = grid_thread();
    unsigned seen = 0;
    for (; i + 3 * step < quads; i += 4 * step) {
        const uint4 q0 = in[i], q1 = in[i + step], q2 = in[i + 2 * step], q3 = in[i + 3 * step];
        seen ^= (all_of(q0) ^ all_of(q1)) + (all_of(q2) ^ all_of(q3));
    }
    for (; i < quads; i += step) seen ^= all_of(in[i]);
    if (seen == 0x9e3779b9) *hardly_ever = seen;
}

static const char *launch_read(const ladder_task *t, unsigned blocks, int threads) {
    read_only<<<blocks, threads, 0, stream_of(t)>>>(static_cast<const uint4 *>(t->a), t->n / 16,
                                                    static_cast<unsigned *>(t->partial));
    return launched();
}

static const char *run_short(const ladder_task *t) {
    return launch_read(t, blocks_for(t->n / 64, 512), 512);
}

static const char *run_long(const ladder_task *t) {
    return launch_read(t, 2 * t->processors, 1024);
}

const ladder_rung ladder_gpu_limit[] = {
    {"short", "four loads a thread", run_short, 0},
    {"long", "two blocks a multiprocessor", run_long, 0},
    {NULL, NULL, NULL, 0},
};

const ladder_machine ladder_gpu = {
    {ladder_gpu_limit, ladder_gpu_numbers, ladder_gpu_reduce, ladder_gpu_scan, ladder_gpu_add,
     ladder_gpu_dot, ladder_gpu_constant, ladder_gpu_atomics, ladder_gpu_histogram,
     ladder_gpu_julia, ladder_gpu_build, ladder_gpu_find},
    open_gpu,
    close_gpu,
    allocate,
    allocate_managed,
    release,
    copy,
    fill,
    time_runs,
};
