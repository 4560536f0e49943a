/* Devices: their names, and questions to the backend of GPUs. */
#include "seam/device.h"

#include "api/runtime/sized.h"
#include "seam/backend.h"

#include <stdio.h>

/* ---- names ----------------------------------------------------------------------------------- */

enum { NUMBER_MOST = 9999 };

/* Reads the digits of "cuda:N". */
static bf_status parse_number(const char *text, int *number) {
    size_t digits = strspn(text, "0123456789");
    *number = 0;
    if (digits == 0 || text[digits] != '\0') return BF_E_ARGUMENT;
    for (; *text != '\0'; text++) {
        *number = 10 * *number + (*text - '0');
        if (*number > NUMBER_MOST) return BF_E_DEVICE;
    }
    return BF_OK;
}

bf_status bf_device_parse(const char *name, int *device) {
    int found = 0;
    bf_status status = BF_OK;
    if (device == NULL) return BF_E_ARGUMENT;
    if (name == NULL || strcmp(name, "auto") == 0)
        found = BF_DEVICE_AUTO;
    else if (strcmp(name, "cpu") == 0)
        found = BF_DEVICE_CPU;
    else if (strcmp(name, "cuda:all") == 0)
        found = BF_DEVICE_ALL;
    else if (strncmp(name, "cuda:", 5) == 0)
        status = parse_number(name + 5, &found);
    else if (strcmp(name, "cuda") != 0)
        status = BF_E_ARGUMENT;
    if (status == BF_OK) *device = found;
    return status;
}

void bf_device_format(int device, char name[BF_DEVICE_TEXT]) {
    if (name == NULL) return;
    if (device >= 0)
        snprintf(name, BF_DEVICE_TEXT, "cuda:%d", device);
    else
        strcpy(name, device == BF_DEVICE_CPU    ? "cpu"
                     : device == BF_DEVICE_AUTO ? "auto"
                     : device == BF_DEVICE_ALL  ? "cuda:all"
                                                : "?");
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

/* Returns NULL if this build has no backend of GPUs. */
static const bf_device_backend *gpu_backend(void) {
    const bf_backend *gpu = bf_backend_gpu();
    return gpu == NULL ? NULL : gpu->devices;
}

int bf_device_count(void) { return gpu_backend() == NULL ? 0 : gpu_backend()->count(); }

bf_status bf_device_describe(int device, bf_device_info *info) {
    bf_device_info found;
    if (info == NULL || !bf_sized_fits(info, BF_SIZE_TO(bf_device_info, bandwidth)))
        return BF_E_ARGUMENT;
    if (gpu_backend() == NULL || !gpu_backend()->describe(device, &found)) return BF_E_DEVICE;
    BF_WRITE(info, &found, bandwidth);
    return BF_OK;
}

int bf_device_peer(int device, int peer) {
    return gpu_backend() == NULL ? 0 : gpu_backend()->peer(device, peer);
}

int bf_driver_version(void) { return gpu_backend() == NULL ? 0 : gpu_backend()->driver_version(); }

int bf_runtime_version(void) {
    return gpu_backend() == NULL ? 0 : gpu_backend()->runtime_version();
}

const char *bf_device_reason(void) {
    return gpu_backend() == NULL
               ? "this build has no CUDA backend; built with the CUDA toolkit, bitfold has one"
               : gpu_backend()->reason();
}
