/* The machine's hardware, as the kernel reports it. */
#ifndef BITFOLD_CLI_MEMORY_HARDWARE_H
#define BITFOLD_CLI_MEMORY_HARDWARE_H

#include <stdbool.h>
#include <stdint.h>

enum { HARDWARE_CACHES = 8 };

typedef struct cache {
    int level;
    char type[16]; /* "data", "instruction", "unified" */
    int64_t bytes;
    int shared; /* by so many cores */
} cache;

typedef struct hardware {
    char model[128];
    char flags[8192]; /* the CPU's, each between spaces */
    int online;       /* cores */
    int allowed;      /* how many of them the affinity mask allows */
    double quota;     /* CPUs that the cgroup grants; 0: no limit */
    cache caches[HARDWARE_CACHES];
    int n_caches;
    int64_t memory, available; /* bytes */
    int64_t limit;             /* the cgroup's; 0: none */
    char huge_pages[16];       /* transparent ones: "always", "madvise", "never"; "" if unknown */
    int64_t huge_page;         /* bytes */
    int nvidia_devices;        /* on the PCI bus */
    bool nvidia_driver;        /* in the kernel */
    bool nvidia_node;          /* a device file in /dev */
    bool nvidia_library;       /* libcuda can be loaded */
} hardware;

/* The memory of this machine, or of the cgroup if that has less. */
int64_t hardware_memory(void);

/* Fills in *h; members that the kernel does not report stay 0 or "". */
void hardware_find(hardware *h);

#endif
