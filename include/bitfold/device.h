/* Devices: their names, and the GPUs of this machine. Asking about GPUs opens the driver; only
 * bf_device_describe opens a GPU, to ask for its free memory. */
#ifndef BITFOLD_DEVICE_H
#define BITFOLD_DEVICE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A device is a number: one of these, or 0, 1, ... for that GPU. */
enum {
    BF_DEVICE_ALL = -3,  /* all GPUs (context.h); a single one is itself */
    BF_DEVICE_AUTO = -2, /* chosen call by call (context.h) */
    BF_DEVICE_CPU = -1
};

/* Reads a device's name: "auto" (or NULL), "cpu", "cuda" (the same as "cuda:0"), "cuda:N" or
 * "cuda:all". Does not ask whether this machine has it. Errors, which leave *device alone:
 * BF_E_ARGUMENT (no device has that name), BF_E_DEVICE (N is more than 9999). */
BF_API bf_status bf_device_parse(const char *name, int *device);

/* Writes the device's name, "cuda:0" for GPU 0, and "?" for a number that no device has. name has
 * room for BF_DEVICE_TEXT bytes. */
#define BF_DEVICE_TEXT 16
BF_API void bf_device_format(int device, char name[BF_DEVICE_TEXT]);

/* A GPU. Sizes are in bytes, clocks in kHz; 0 where the driver does not tell. */
typedef struct bf_device_info {
    size_t size;      /* sizeof(bf_device_info): set before the call, see bitfold.h */
    char name[128];   /* "NVIDIA H200" */
    char pci[32];     /* "0000:0a:00.0" */
    int major, minor; /* compute capability */
    int multiprocessors, clock, memory_clock, bus_width /* bits */;
    int warp, threads_per_block, threads_per_multiprocessor, copy_engines;
    int block[3], grid[3]; /* most threads of a block, most blocks of a grid, in each direction */
    int registers_per_block;
    int ecc;        /* 1: memory is error-correcting */
    int timeout;    /* 1: a kernel's time is limited */
    int integrated; /* 1: it shares the host's memory */
    int64_t memory, memory_free, l2, constant, shared_per_block, shared_per_block_most,
        shared_per_multiprocessor, pitch, texture_alignment;
    double bandwidth; /* bytes per second: the memory's peak, by its clock and width */
} bf_device_info;

/* Returns the number of GPUs that can be used; 0 if there is none, or no driver. */
BF_API int bf_device_count(void);

/* Fills *info in for GPU `device`. Errors: BF_E_ARGUMENT, BF_E_DEVICE (no such GPU). */
BF_API bf_status bf_device_describe(int device, bf_device_info *info);

/* Returns 1 if GPU `device` can read the memory of GPU `peer` directly, else 0. */
BF_API int bf_device_peer(int device, int peer);

/* Return the CUDA version of the driver, and of the runtime in this library: 1000 * major + 10 *
 * minor, or 0 if there is none. */
BF_API int bf_driver_version(void);
BF_API int bf_runtime_version(void);

/* Returns why no GPU can be used and what would help, in one line; "" if one can. Never NULL. */
BF_API const char *bf_device_reason(void);

#ifdef __cplusplus
}
#endif
#endif
