/* The memory of a GPU. In mode "stream" data are in its memory and calls are enqueued: the time of
 * a pass is that of many calls, up to the end of the last, divided by their number. In mode "host"
 * the host waits for the value of each pass. In mode "pageable" the data are in the host's memory:
 * each pass copies them to the GPU, and its output back.
 *
 * Below 1 MiB each pass reads the same data, which the GPU's cache holds. From there on passes read
 * copies in turn, so many that the cache has lost a copy when its turn comes again. */
#include "bench/bench.h"

#include "runtime/report.h"
#include "works/measured.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256, RESULT = 4096 };

/* Two more sizes for the sum of i32: ten and a hundred million elements, as in tutorials. */
static const size_t millions[] = {40000000, 400000000};

size_t bench_gpu_size(const bench_options *o, int number) {
    const int more = number - o->n_sizes;
    return more < 0 ? o->sizes[number] : more < 2 && o->usual_sizes ? millions[more] : 0;
}

size_t bench_gpu_aligned(size_t bytes) {
    return (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

/* Returns the number of copies: four times the cache lies between two passes over one copy. There
 * are at least two, unless the cache is small beside one. */
int bench_gpu_buffers(const bench_gpu *gpu, size_t bytes) {
    if (bytes < BENCH_COLD) return 1;
    const size_t cache = 4 * (size_t)(gpu->info.l2 > 0 ? gpu->info.l2 : 1 << 26);
    const size_t n = (cache + bytes - 1) / bytes;
    return n > 1 ? (int)n : bytes < (1 << 30) ? 2 : 1;
}

static size_t memory_for(const bench_options *o) {
    size_t most = 0;
    size_t bytes;
    for (int i = 0; (bytes = bench_gpu_size(o, i)) > 0; i++) {
        const size_t needed = bench_gpu_aligned(bytes) * (size_t)bench_gpu_buffers(&o->gpu, bytes);
        if (needed > most) most = needed;
    }
    return most;
}

/* Every peer holds a copy of the data. */
static void leave_out_what_does_not_fit(bench_options *o) {
    const bf_device_info *info = &o->gpu.info;
    const int64_t known = info->memory_free > 0 ? info->memory_free : info->memory;
    const size_t room = known > 0 ? (size_t)known / (size_t)(o->n_peers + 1) : SIZE_MAX;
    while (o->usual_sizes && o->n_sizes > 1 && memory_for(o) > room) o->n_sizes--;
}

static int open_context(bench_options *o) {
    bench_gpu *gpu = &o->gpu;
    const bf_status st = bf_context_create(&BF_OPTIONS(.device = o->device), &gpu->context);
    const char *reason = bf_device_reason();
    if (st != BF_OK && *reason) return fail(EXIT_DEVICE, NULL, "%s", reason);
    if (st == BF_E_DEVICE) return fail(EXIT_DEVICE, NULL, "there is no GPU '%s'", o->device);
    if (st != BF_OK) return fail_status(st, NULL, o->device);
    gpu->info.size = sizeof gpu->info;
    if (bf_device_describe(gpu->number, &gpu->info) != BF_OK)
        return fail(EXIT_DEVICE, NULL, "'%s' does not say what it is", o->device);
    const int driver = bf_driver_version();
    snprintf(gpu->isa, sizeof gpu->isa, "sm_%d%d", gpu->info.major, gpu->info.minor);
    snprintf(gpu->driver, sizeof gpu->driver, "%d.%d", driver / 1000, driver % 1000 / 10);
    return EXIT_DONE;
}

int bench_gpu_open(bench_options *o) {
    bench_gpu *gpu = &o->gpu;
    const int code = open_context(o);
    if (code != EXIT_DONE) return code;
    gpu->block = malloc(POINT_BLOCK);
    if (!gpu->block) return fail(EXIT_IO, NULL, "no memory for %d bytes of data", POINT_BLOCK);
    leave_out_what_does_not_fit(o);
    gpu->bytes = memory_for(o);
    void *memory = NULL, *room = NULL;
    bf_status st = bf_memory_allocate(gpu->context, gpu->bytes, &memory);
    if (st == BF_OK) st = bf_memory_allocate(gpu->context, RESULT, &room);
    gpu->memory = memory;
    gpu->result = room;
    return st == BF_OK ? EXIT_DONE : fail_status(st, gpu->context, o->device);
}

void bench_gpu_close(bench_options *o) {
    bench_gpu *gpu = &o->gpu;
    if (!gpu->context) return;
    bf_memory_free(gpu->context, gpu->result);
    bf_memory_free(gpu->context, gpu->memory);
    bf_context_destroy(gpu->context);
    free(gpu->block);
}

/* Fills all of the memory with the first POINT_BLOCK bytes of the data, over and over. */
int bench_gpu_fill(bench_gpu *gpu, const char *dtype, const char *data) {
    if (gpu->dtype && strcmp(dtype, gpu->dtype) == 0 && strcmp(data, gpu->data) == 0)
        return EXIT_DONE;
    gpu->dtype = dtype;
    gpu->data = data;
    bench_fill(dtype, data, gpu->block, POINT_BLOCK / bf_dtype_size(bf_dtype_from_name(dtype)));
    size_t done = gpu->bytes < POINT_BLOCK ? gpu->bytes : POINT_BLOCK;
    bf_status st = bf_memory_copy(gpu->context, gpu->memory, gpu->block, done);
    while (done < gpu->bytes && st == BF_OK) {
        const size_t more = done < gpu->bytes - done ? done : gpu->bytes - done;
        st = bf_memory_copy(gpu->context, gpu->memory + done, gpu->memory, more);
        done += more;
    }
    return st == BF_OK ? EXIT_DONE : fail_status(st, gpu->context, NULL);
}
