/* The GPUs of this machine, as the library sees them. Asking opens the driver; only describing a
 * GPU opens the GPU itself, to ask for its free memory. */
#ifndef BITFOLD_DEVICE_H
#define BITFOLD_DEVICE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* How many GPUs can be used; 0 if there is none, or no driver. */
BF_API int bf_device_count(void);

/* Errors: BF_E_ARGUMENT, BF_E_DEVICE (no such GPU). */
BF_API bf_status bf_device_describe(int device, bf_device_info *info);

/* Can GPU `device` read the memory of GPU `peer` directly? */
BF_API int bf_device_peer(int device, int peer);

/* The CUDA versions of the driver and of the runtime in this library, as 1000 * major + 10 * minor;
 * 0: none. */
BF_API int bf_driver_version(void);
BF_API int bf_runtime_version(void);

/* Why no GPU can be used, in one line ("" if one can), and what would help. Never NULL. */
BF_API const char *bf_device_reason(void);

#ifdef __cplusplus
}
#endif
#endif
