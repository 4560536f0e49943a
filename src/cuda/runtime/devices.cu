/* The GPUs of this machine, as the CUDA runtime tells of them. */
#include "cuda/runtime/devices.cuh"

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

/* A failed question leaves no error behind for the caller's own calls to find. */
static bool asked(cudaError_t error) {
    if (error != cudaSuccess) cudaGetLastError();
    return error == cudaSuccess;
}

static int attribute(int device, cudaDeviceAttr which) {
    int value = 0;
    return asked(cudaDeviceGetAttribute(&value, which, device)) ? value : 0;
}

static cudaError_t count_devices(int *count) {
    *count = 0;
    cudaError_t error = cudaGetDeviceCount(count);
    if (!asked(error)) *count = 0;
    return error;
}

static int device_count(void) {
    int count;
    count_devices(&count);
    return count;
}

static int driver_version(void) {
    int version = 0;
    return asked(cudaDriverGetVersion(&version)) ? version : 0;
}

static int runtime_version(void) {
    int version = 0;
    return asked(cudaRuntimeGetVersion(&version)) ? version : 0;
}

/* ---- one of them ----------------------------------------------------------------------------- */

/* Only a GPU that is open tells; it stays open, as the runtime keeps it. */
static int64_t free_memory(int device) {
    int before = 0;
    size_t free_bytes = 0, total = 0;
    bool known = asked(cudaGetDevice(&before));
    if (asked(cudaSetDevice(device)) && !asked(cudaMemGetInfo(&free_bytes, &total))) free_bytes = 0;
    if (known) asked(cudaSetDevice(before));
    return (int64_t)free_bytes;
}

static void describe_limits(int device, bf_device_info *info) {
    info->warp = attribute(device, cudaDevAttrWarpSize);
    info->threads_per_block = attribute(device, cudaDevAttrMaxThreadsPerBlock);
    info->threads_per_multiprocessor = attribute(device, cudaDevAttrMaxThreadsPerMultiProcessor);
    info->block[0] = attribute(device, cudaDevAttrMaxBlockDimX);
    info->block[1] = attribute(device, cudaDevAttrMaxBlockDimY);
    info->block[2] = attribute(device, cudaDevAttrMaxBlockDimZ);
    info->grid[0] = attribute(device, cudaDevAttrMaxGridDimX);
    info->grid[1] = attribute(device, cudaDevAttrMaxGridDimY);
    info->grid[2] = attribute(device, cudaDevAttrMaxGridDimZ);
    info->registers_per_block = attribute(device, cudaDevAttrMaxRegistersPerBlock);
    info->timeout = attribute(device, cudaDevAttrKernelExecTimeout);
    info->pitch = attribute(device, cudaDevAttrMaxPitch);
    info->texture_alignment = attribute(device, cudaDevAttrTextureAlignment);
}

static void describe_memory(int device, bf_device_info *info) {
    info->memory_clock = attribute(device, cudaDevAttrMemoryClockRate);
    info->bus_width = attribute(device, cudaDevAttrGlobalMemoryBusWidth);
    info->bandwidth = 2e3 * info->memory_clock * info->bus_width / 8; /* two transfers a clock */
    info->l2 = attribute(device, cudaDevAttrL2CacheSize);
    info->constant = attribute(device, cudaDevAttrTotalConstantMemory);
    info->shared_per_block = attribute(device, cudaDevAttrMaxSharedMemoryPerBlock);
    info->shared_per_block_most = attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin);
    info->shared_per_multiprocessor =
        attribute(device, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    info->ecc = attribute(device, cudaDevAttrEccEnabled);
    info->memory_free = free_memory(device);
}

static bool describe_device(int device, bf_device_info *info) {
    cudaDeviceProp properties;
    if (device < 0 || device >= device_count()) return false;
    if (!asked(cudaGetDeviceProperties(&properties, device))) return false;
    memset(info, 0, sizeof *info);
    snprintf(info->name, sizeof info->name, "%.127s", properties.name);
    if (!asked(cudaDeviceGetPCIBusId(info->pci, (int)sizeof info->pci, device))) *info->pci = '\0';
    info->memory = (int64_t)properties.totalGlobalMem;
    info->major = attribute(device, cudaDevAttrComputeCapabilityMajor);
    info->minor = attribute(device, cudaDevAttrComputeCapabilityMinor);
    info->multiprocessors = attribute(device, cudaDevAttrMultiProcessorCount);
    info->clock = attribute(device, cudaDevAttrClockRate);
    info->copy_engines = attribute(device, cudaDevAttrAsyncEngineCount);
    info->integrated = attribute(device, cudaDevAttrIntegrated);
    describe_limits(device, info);
    describe_memory(device, info);
    return true;
}

static int can_read_peer(int device, int peer) {
    int can = 0;
    return asked(cudaDeviceCanAccessPeer(&can, device, peer)) ? can : 0;
}

/* ---- none of them ---------------------------------------------------------------------------- */

static const char *version_reason(void) {
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

/* The driver is there, but shows no GPU. */
static const char *hidden_reason(void) {
    if (is_forbidden("/dev/nvidiactl") || is_forbidden("/dev/nvidia0"))
        return "no permission to use /dev/nvidia*; belonging to the group that owns it would help";
    if (getenv("CUDA_VISIBLE_DEVICES") != NULL)
        return "no GPU is visible: CUDA_VISIBLE_DEVICES leaves none; unsetting it would help";
    return "the driver sees no GPU; one in the machine (or passed through to the container) would "
           "help";
}

static const char *why_none(void) {
    static thread_local char text[200];
    int count;
    cudaError_t error = count_devices(&count);
    if (error == cudaSuccess && count > 0) return "";
    if (error == cudaErrorInsufficientDriver) return version_reason();
    if (error == cudaSuccess || error == cudaErrorNoDevice) return hidden_reason();
    if (is_forbidden("/dev/nvidiactl")) return hidden_reason();
    snprintf(text, sizeof text, "the driver cannot be used: %s; 'nvidia-smi' may tell why",
             cudaGetErrorString(error));
    return text;
}

extern "C" const bf_device_backend bf_cuda_devices = {
    .count = device_count,
    .describe = describe_device,
    .peer = can_read_peer,
    .driver_version = driver_version,
    .runtime_version = runtime_version,
    .reason = why_none,
};
