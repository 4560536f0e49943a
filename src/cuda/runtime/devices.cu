/* The GPUs of this machine, from the CUDA runtime. */
#include "cuda/runtime/devices.cuh"

#include "cuda/runtime/context.cuh"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

/* Returns whether a call succeeded. An error is cleared, so that the caller's own calls do not find
 * it. */
static bool succeeded(cudaError_t error) {
    if (error != cudaSuccess) cudaGetLastError();
    return error == cudaSuccess;
}

static int read_attribute(int device, cudaDeviceAttr which) {
    int value = 0;
    return succeeded(cudaDeviceGetAttribute(&value, which, device)) ? value : 0;
}

static cudaError_t count_devices(int *count) {
    *count = 0;
    cudaError_t error = cudaGetDeviceCount(count);
    if (!succeeded(error)) *count = 0;
    return error;
}

static int device_count(void) {
    int count;
    count_devices(&count);
    return count;
}

static int driver_version(void) {
    int version = 0;
    return succeeded(cudaDriverGetVersion(&version)) ? version : 0;
}

static int runtime_version(void) {
    int version = 0;
    return succeeded(cudaRuntimeGetVersion(&version)) ? version : 0;
}

/* ---- one device ------------------------------------------------------------------------------ */

/* Returns the free memory. This opens the GPU, and the runtime keeps it open. */
static int64_t free_memory(int device) {
    int before = 0;
    size_t free_bytes = 0, total = 0;
    bool known = succeeded(cudaGetDevice(&before));
    if (succeeded(cudaSetDevice(device)) && !succeeded(cudaMemGetInfo(&free_bytes, &total)))
        free_bytes = 0;
    if (known) succeeded(cudaSetDevice(before));
    return (int64_t)free_bytes;
}

static void describe_limits(int device, bf_device_info *info) {
    info->warp = read_attribute(device, cudaDevAttrWarpSize);
    info->threads_per_block = read_attribute(device, cudaDevAttrMaxThreadsPerBlock);
    info->threads_per_multiprocessor =
        read_attribute(device, cudaDevAttrMaxThreadsPerMultiProcessor);
    info->block[0] = read_attribute(device, cudaDevAttrMaxBlockDimX);
    info->block[1] = read_attribute(device, cudaDevAttrMaxBlockDimY);
    info->block[2] = read_attribute(device, cudaDevAttrMaxBlockDimZ);
    info->grid[0] = read_attribute(device, cudaDevAttrMaxGridDimX);
    info->grid[1] = read_attribute(device, cudaDevAttrMaxGridDimY);
    info->grid[2] = read_attribute(device, cudaDevAttrMaxGridDimZ);
    info->registers_per_block = read_attribute(device, cudaDevAttrMaxRegistersPerBlock);
    info->timeout = read_attribute(device, cudaDevAttrKernelExecTimeout);
    info->pitch = read_attribute(device, cudaDevAttrMaxPitch);
    info->texture_alignment = read_attribute(device, cudaDevAttrTextureAlignment);
}

static void describe_memory(int device, bf_device_info *info) {
    info->memory_clock = read_attribute(device, cudaDevAttrMemoryClockRate);
    info->bus_width = read_attribute(device, cudaDevAttrGlobalMemoryBusWidth);
    info->bandwidth = 2e3 * info->memory_clock * info->bus_width / 8; /* two transfers a clock */
    info->l2 = read_attribute(device, cudaDevAttrL2CacheSize);
    info->constant = read_attribute(device, cudaDevAttrTotalConstantMemory);
    info->shared_per_block = read_attribute(device, cudaDevAttrMaxSharedMemoryPerBlock);
    info->shared_per_block_most = read_attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin);
    info->shared_per_multiprocessor =
        read_attribute(device, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    info->ecc = read_attribute(device, cudaDevAttrEccEnabled);
    info->memory_free = free_memory(device);
}

static bool describe_device(int device, bf_device_info *info) {
    cudaDeviceProp properties;
    if (device < 0 || device >= device_count()) return false;
    if (!succeeded(cudaGetDeviceProperties(&properties, device))) return false;
    memset(info, 0, sizeof *info);
    snprintf(info->name, sizeof info->name, "%.127s", properties.name);
    if (!succeeded(cudaDeviceGetPCIBusId(info->pci, (int)sizeof info->pci, device)))
        *info->pci = '\0';
    info->memory = (int64_t)properties.totalGlobalMem;
    info->major = read_attribute(device, cudaDevAttrComputeCapabilityMajor);
    info->minor = read_attribute(device, cudaDevAttrComputeCapabilityMinor);
    info->multiprocessors = read_attribute(device, cudaDevAttrMultiProcessorCount);
    info->clock = read_attribute(device, cudaDevAttrClockRate);
    info->copy_engines = read_attribute(device, cudaDevAttrAsyncEngineCount);
    info->integrated = read_attribute(device, cudaDevAttrIntegrated);
    describe_limits(device, info);
    describe_memory(device, info);
    return true;
}

static int can_read_peer(int device, int peer) {
    int can = 0;
    return succeeded(cudaDeviceCanAccessPeer(&can, device, peer)) ? can : 0;
}

/* ---- no device ------------------------------------------------------------------------------- */

static const char *explain_version(void) {
    static thread_local char text[160];
    int driver = driver_version(), runtime = runtime_version();
    if (driver == 0)
        return "no NVIDIA driver was found; installing one would help (in a container: starting it "
               "with --gpus all)";
    snprintf(text, sizeof text,
             "the driver is too old: it has CUDA %d.%d, this build needs %d.%d; a newer driver "
             "would help",
             driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    return text;
}

static bool is_forbidden(const char *node) {
    return access(node, F_OK) == 0 && access(node, R_OK | W_OK) != 0;
}

/* Returns why a driver shows no GPU. */
static const char *explain_hidden(void) {
    if (is_forbidden("/dev/nvidiactl") || is_forbidden("/dev/nvidia0"))
        return "no permission to use /dev/nvidia*; belonging to the group that owns it would help";
    if (getenv("CUDA_VISIBLE_DEVICES") != NULL)
        return "no GPU is visible: CUDA_VISIBLE_DEVICES leaves none; unsetting it would help";
    return "the driver sees no GPU; one in the machine (or passed through to the container) would "
           "help";
}

static const char *explain_none(void) {
    static thread_local char text[200];
    int count;
    cudaError_t error = count_devices(&count);
    if (error == cudaSuccess && count > 0) return "";
    if (error == cudaErrorInsufficientDriver) return explain_version();
    if (error == cudaSuccess || error == cudaErrorNoDevice) return explain_hidden();
    if (is_forbidden("/dev/nvidiactl")) return explain_hidden();
    snprintf(text, sizeof text, "the driver cannot be used: %s; 'nvidia-smi' may tell why",
             cudaGetErrorString(error));
    return text;
}

/* ---- events ---------------------------------------------------------------------------------- */

static bf_status wait_on_stream(bf_context *context, cudaEvent_t event) {
    int previous = bf_cuda_enter(context);
    bf_status status = bf_cuda_refuse_captured(context);
    if (status == BF_OK)
        status = bf_cuda_check(context, cudaStreamWaitEvent(context->cuda->stream, event, 0),
                               "waiting for an event");
    bf_cuda_leave(previous);
    return status;
}

static bf_status wait_for_event(bf_context *context, void *event, bool now) {
    if (!now) return wait_on_stream(context, (cudaEvent_t)event);
    return bf_cuda_check(context, cudaEventSynchronize((cudaEvent_t)event), "waiting for an event");
}

extern "C" const bf_device_backend bf_cuda_devices = {
    .count = device_count,
    .describe = describe_device,
    .peer = can_read_peer,
    .driver_version = driver_version,
    .runtime_version = runtime_version,
    .reason = explain_none,
    .wait = wait_for_event,
};
