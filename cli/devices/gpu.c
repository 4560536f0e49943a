#include "devices/gpu.h"

#include "runtime/json.h"

#include <bitfold.h>
#include <bitfold/comm.h>
#include <stdio.h>

void devices_put_size(double bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    for (; unit < 4 && bytes >= 1024; unit++) bytes /= 1024;
    printf("%.*f %s", bytes == (double)(int64_t)bytes ? 0 : 1, bytes, units[unit]);
}

/* Prints "before SIZE after". */
static void put_gpu(const char *before, int64_t bytes, const char *after) {
    printf("%s", before);
    devices_put_size((double)bytes);
    printf("%s", after);
}

/* ---- as text --------------------------------------------------------------------------------- */

static const char indent[] = "          ";

static void show_memory(const bf_device_info *d) {
    put_gpu(indent, d->memory, " of memory, ");
    put_gpu("", d->memory_free, " free; ");
    printf("%d bits at %d MHz: %.0f GB/s at most; ECC %s\n", d->bus_width, d->memory_clock / 1000,
           1e-9 * d->bandwidth, d->ecc ? "on" : "off");
    put_gpu(indent, d->l2, " of L2 cache, ");
    put_gpu("", d->constant, " of constant memory\n");
    put_gpu(indent, d->shared_per_block, " of shared memory a block, ");
    put_gpu("", d->shared_per_block_most, " if asked for, ");
    put_gpu("", d->shared_per_multiprocessor, " a multiprocessor\n");
    put_gpu(indent, d->pitch, " of pitch at most; ");
    printf("textures aligned to %lld bytes\n", (long long)d->texture_alignment);
}

static void show_limits(const bf_device_info *d) {
    printf("%swarps of %d threads; %d threads a block (%d x %d x %d), %d a multiprocessor\n",
           indent, d->warp, d->threads_per_block, d->block[0], d->block[1], d->block[2],
           d->threads_per_multiprocessor);
    printf("%s%d registers a block; grids of %d x %d x %d blocks\n", indent, d->registers_per_block,
           d->grid[0], d->grid[1], d->grid[2]);
    printf("%s%d copy engines: copies %s kernels; a kernel's time is %s\n", indent, d->copy_engines,
           d->copy_engines > 0 ? "overlap with" : "wait for",
           d->timeout ? "limited" : "not limited");
}

static void show_peers(int device, int count) {
    int peers = 0;
    char name[BF_DEVICE_TEXT];
    for (int peer = 0; peer < count; peer++) {
        if (peer == device || !bf_device_peer(device, peer)) continue;
        bf_device_format(peer, name);
        printf("%s%s", peers++ ? ", " : "          reads directly the memory of ", name);
    }
    if (count > 1) printf("%s\n", peers ? "" : "          reads directly no other GPU's memory");
}

static void show_one(int device, int count) {
    bf_device_info d = {.size = sizeof d};
    char name[BF_DEVICE_TEXT];
    bf_device_format(device, name);
    printf("%-9s %s: ", device == 0 ? "gpu" : "", name);
    if (bf_device_describe(device, &d) != BF_OK) {
        puts("it cannot be asked");
        return;
    }
    printf("%s at %s, compute capability %d.%d\n", d.name, d.pci, d.major, d.minor);
    printf("%s%d multiprocessors at up to %d MHz%s\n", indent, d.multiprocessors, d.clock / 1000,
           d.integrated ? "; shares the host's memory" : "");
    show_memory(&d);
    show_limits(&d);
    show_peers(device, count);
}

void devices_show_gpus(void) {
    const int count = bf_device_count();
    const int driver = bf_driver_version(), runtime = bf_runtime_version();
    const int nccl = bf_comm_nccl_version();
    for (int i = 0; i < count; i++) show_one(i, count);
    printf("cuda      %d.%d of the driver, %d.%d of this build\n", driver / 1000,
           driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    if (nccl > 0)
        printf("nccl      %d.%d.%d\n", nccl / 10000, nccl % 10000 / 100, nccl % 100);
    else
        printf("nccl      none: libnccl.so.2 is not found\n");
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static void show_json_numbers(const bf_device_info *d) {
    const struct {
        const char *key;
        int64_t value;
    } all[] = {{"multiprocessors", d->multiprocessors},
               {"clock_khz", d->clock},
               {"memory_clock_khz", d->memory_clock},
               {"bus_width", d->bus_width},
               {"memory", d->memory},
               {"memory_free", d->memory_free},
               {"l2", d->l2},
               {"constant", d->constant},
               {"shared_per_block", d->shared_per_block},
               {"shared_per_block_most", d->shared_per_block_most},
               {"shared_per_multiprocessor", d->shared_per_multiprocessor},
               {"registers_per_block", d->registers_per_block},
               {"warp", d->warp},
               {"threads_per_block", d->threads_per_block},
               {"threads_per_multiprocessor", d->threads_per_multiprocessor},
               {"copy_engines", d->copy_engines},
               {"pitch", d->pitch},
               {"texture_alignment", d->texture_alignment}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        json_integer(stdout, all[i].key, all[i].value);
    printf(",\"block\":[%d,%d,%d],\"grid\":[%d,%d,%d],\"bandwidth\":%.0f", d->block[0], d->block[1],
           d->block[2], d->grid[0], d->grid[1], d->grid[2], d->bandwidth);
}

static const char *truth(int x) { return x ? "true" : "false"; }

static void show_json_one(int device, int count) {
    bf_device_info d = {.size = sizeof d};
    char name[BF_DEVICE_TEXT];
    bf_device_format(device, name);
    printf("%s{\"device\":\"%s\"", device ? "," : "", name);
    if (bf_device_describe(device, &d) == BF_OK) {
        json_text(stdout, "name", d.name);
        printf(",\"pci\":\"%s\",\"compute\":\"%d.%d\"", d.pci, d.major, d.minor);
        show_json_numbers(&d);
        printf(",\"ecc\":%s,\"timeout\":%s,\"integrated\":%s,\"peers\":[", truth(d.ecc),
               truth(d.timeout), truth(d.integrated));
        for (int peer = 0, n = 0; peer < count; peer++) {
            if (peer == device || !bf_device_peer(device, peer)) continue;
            bf_device_format(peer, name);
            printf("%s\"%s\"", n++ ? "," : "", name);
        }
        printf("]");
    }
    printf("}");
}

void devices_show_gpus_json(void) {
    const int count = bf_device_count();
    printf("[");
    for (int i = 0; i < count; i++) show_json_one(i, count);
    printf("]");
}
