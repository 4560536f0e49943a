/* Decides which GPU does a call, and runs all of them at the same time. */
#include "gpus/runtime/context.h"

#include "base/parallel.h"
#include "base/where.h"
#include "seam/memory.h"

#include <stdlib.h>

/* A GPU of its own saves the time that copying so many bytes takes, and costs some microseconds. */
#define LEAST_BYTES ((int64_t)4 << 20)
/* Threads aside stay awake so long, for the next call of a program that makes many. */
#define AWAKE_NS ((int64_t)300000)

/* ---- opening and closing --------------------------------------------------------------------- */

/* Opens a GPU with `threads` of the host's. */
static bf_status open_gpu(bf_gpus *all, int device, int threads) {
    bf_gpu *gpu = &all->gpu[device];
    gpu->all = all;
    gpu->context = calloc(1, sizeof *gpu->context);
    if (gpu->context == NULL) return BF_E_MEMORY;
    gpu->context->fixed = gpu->context->used = all->by;
    gpu->context->reason = "";
    gpu->context->gpu = device;
    const bf_options own = BF_OPTIONS(.isa = all->context->isa, .threads = threads);
    bf_status status = bf_backend_cpu.open(gpu->context, BF_DEVICE_CPU, &own);
    gpu->cpu = gpu->context->cpu;
    gpu->pool = gpu->context->pool;
    if (status == BF_OK && all->by != &bf_backend_cpu)
        status = all->by->open(gpu->context, device, &own);
    return status;
}

bf_status bf_gpus_open(bf_context *context, const bf_backend *by, int count) {
    int threads = bf_host_threads(context);
    bf_gpus *all = calloc(1, sizeof *all + (size_t)count * sizeof *all->gpu);
    if (all == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for a context");
    *all = (bf_gpus){.by = by, .context = context, .count = count, .least = LEAST_BYTES};
    context->gpus = all;
    bf_status status = BF_OK;
    for (int i = 0; i < count && status == BF_OK; i++) {
        int share = threads / count + (i < threads % count);
        status = open_gpu(all, i, share > 0 ? share : 1);
        if (status != BF_OK && all->gpu[i].context != NULL)
            memcpy(context->message, all->gpu[i].context->message, sizeof context->message);
    }
    if (status != BF_OK) bf_gpus_close(context);
    return status;
}

static void close_gpu(const bf_gpus *all, const bf_gpu *gpu) {
    bf_aside_close(gpu->aside);
    if (gpu->context == NULL) return;
    if (gpu->scratch != NULL) all->by->memory->release(gpu->context, gpu->scratch);
    if (all->by != &bf_backend_cpu) all->by->close(gpu->context);
    bf_backend_cpu.close(gpu->context);
    free(gpu->context);
}

void bf_gpus_close(bf_context *context) {
    bf_gpus *all = context->gpus;
    if (all == NULL) return;
    for (int i = 0; i < all->count; i++) close_gpu(all, &all->gpu[i]);
    free(all);
    context->gpus = NULL;
}

/* ---- sharing out ----------------------------------------------------------------------------- */

/* Returns the GPU whose own memory this is, or -1. */
static int gpu_of(const bf_gpus *all, const void *memory) {
    int device;
    if (bf_where_is(memory, &device) != BF_WHERE_DEVICE) return -1;
    return device < all->count ? device : -1;
}

int bf_gpus_find(const bf_context *context, const void *const memory[], int n) {
    int gpu = -1;
    for (int i = 0; i < n && gpu < 0; i++)
        if (memory[i] != NULL) gpu = gpu_of(context->gpus, memory[i]);
    return gpu;
}

int bf_gpus_worth(const bf_context *context, int64_t bytes) {
    const bf_gpus *all = context->gpus;
    int64_t worth = bytes / all->least;
    return worth < 1 ? 1 : worth < all->count ? (int)worth : all->count;
}

int64_t bf_gpus_share(int64_t n, int parts, int i) { return n / parts * i + n % parts * i / parts; }

int64_t bf_gpus_cut(int64_t n, int parts, int i, int64_t index) {
    enum { GRAIN = 4096 };
    if (i == parts) return n;
    int64_t cut = bf_gpus_share(n, parts, i), over = (index + cut) % GRAIN;
    return cut > over ? cut - over : 0;
}

/* ---- one GPU --------------------------------------------------------------------------------- */

/* Keeps the first failure of what was enqueued. */
static void keep_failure(bf_gpus *all, const bf_gpu *gpu, bf_status status) {
    if (status == BF_OK || all->late != BF_OK) return;
    all->late = status;
    memcpy(all->late_message, gpu->context->message, sizeof all->late_message);
}

static void wait_for_gpu(bf_gpus *all, bf_gpu *gpu) {
    keep_failure(all, gpu, all->by->synchronize(gpu->context));
    gpu->busy = false;
}

/* Waits for what is enqueued on GPUs other than `but`. */
static void wait_for_others(bf_gpus *all, int but) {
    for (int i = 0; i < all->count; i++)
        if (i != but && all->gpu[i].busy) wait_for_gpu(all, &all->gpu[i]);
}

static bool are_its_own(const bf_gpus *all, int gpu, const void *const memory[], int n) {
    for (int i = 0; i < n; i++)
        if (memory[i] != NULL && gpu_of(all, memory[i]) != gpu) return false;
    return true;
}

static bool others_are_busy(const bf_gpus *all, int gpu) {
    bool busy = false;
    for (int i = 0; i < all->count; i++) busy |= i != gpu && all->gpu[i].busy;
    return busy;
}

bf_context *bf_gpus_enter(bf_context *context, int gpu, const void *const memory[], int n) {
    bf_gpus *all = context->gpus;
    bf_context *one = all->gpu[gpu].context;
    if (others_are_busy(all, gpu) && !are_its_own(all, gpu, memory, n)) wait_for_others(all, gpu);
    bf_device_format(gpu, context->gpu_name);
    one->cpu = context->cpu;
    one->pool = context->pool;
    one->watched = context->watched;
    return one;
}

bf_status bf_gpus_leave(bf_context *context, int gpu, bf_status status) {
    bf_gpu *g = &context->gpus->gpu[gpu];
    g->context->cpu = g->cpu;
    g->context->pool = g->pool;
    context->watched = g->context->watched;
    if (status != BF_OK) memcpy(context->message, g->context->message, sizeof context->message);
    return status;
}

/* ---- all GPUs -------------------------------------------------------------------------------- */

/* Asks the context's watch, on the thread that made the call. */
static bf_status ask_watch(bf_gpus *all) {
    int64_t told = all->told;
    for (int i = 0; i < all->count; i++) told += atomic_load(&all->gpu[i].told);
    bf_watch_tell(all->context, told);
    bf_status status = bf_watch_tick(all->context, 0);
    if (status != BF_OK) atomic_store(&all->cancelled, true);
    return status;
}

/* The watch of a GPU's context: keeps the bytes, and hands the answer on. */
static int tick_part(void *arg, int64_t bytes) {
    bf_gpu *gpu = arg;
    bf_gpus *all = gpu->all;
    atomic_store(&gpu->told, bytes);
    if (gpu == all->gpu && !atomic_load(&all->cancelled)) (void)ask_watch(all);
    return atomic_load(&all->cancelled);
}

static void prepare_gpu(bf_gpu *gpu, bf_gpus_work *work, void *arg) {
    gpu->work = work;
    gpu->arg = arg;
    atomic_store(&gpu->told, 0);
    gpu->context->watched = (bf_watched){.end = INT64_MAX};
    if (!bf_is_watched(gpu->all->context)) return;
    gpu->context->watched.watch =
        (bf_watch){.size = sizeof(bf_watch), .tick = tick_part, .arg = gpu};
}

static void do_work(void *arg) {
    bf_gpu *gpu = arg;
    gpu->status = gpu->work(gpu->arg, gpu->context, (int)(gpu - gpu->all->gpu));
}

/* Has the GPU's thread begin its part; where there is none, the part is done now. */
static void start_gpu(bf_gpu *gpu) {
    if (gpu->aside == NULL) gpu->aside = bf_aside_open(AWAKE_NS);
    if (gpu->aside != NULL)
        bf_aside_start(gpu->aside, do_work, gpu);
    else
        do_work(gpu);
}

static void await_gpu(bf_gpus *all, const bf_gpu *gpu) {
    while (gpu->aside != NULL && !bf_aside_wait(gpu->aside, bf_watch_wait(all->context)))
        if (!atomic_load(&all->cancelled)) (void)ask_watch(all);
}

bf_status bf_gpus_run(bf_context *context, int gpus, bf_gpus_work *work, void *arg) {
    bf_gpus *all = context->gpus;
    wait_for_others(all, -1);
    all->told = context->watched.bytes;
    atomic_store(&all->cancelled, false);
    bf_device_format(gpus > 1 ? BF_DEVICE_ALL : 0, context->gpu_name);
    for (int i = 0; i < gpus; i++) prepare_gpu(&all->gpu[i], work, arg);
    for (int i = 1; i < gpus; i++) start_gpu(&all->gpu[i]);
    do_work(&all->gpu[0]);
    for (int i = 1; i < gpus; i++) await_gpu(all, &all->gpu[i]);
    if (atomic_load(&all->cancelled)) return BF_E_CANCELLED; /* with the watch's message */
    for (int i = 0; i < gpus; i++) {
        if (all->gpu[i].status == BF_OK) continue;
        memcpy(context->message, all->gpu[i].context->message, sizeof context->message);
        return all->gpu[i].status;
    }
    return BF_OK;
}

static bf_status report_failure(bf_context *context) {
    bf_gpus *all = context->gpus;
    bf_status status = all->late;
    all->late = BF_OK;
    if (status != BF_OK) memcpy(context->message, all->late_message, sizeof context->message);
    return status;
}

bf_status bf_gpus_synchronize(bf_context *context) {
    wait_for_others(context->gpus, -1);
    return report_failure(context);
}

bf_status bf_gpus_failure(bf_context *context) {
    bf_gpus *all = context->gpus;
    for (int i = 0; i < all->count && all->late == BF_OK; i++)
        if (all->gpu[i].busy)
            keep_failure(all, &all->gpu[i], all->by->failure(all->gpu[i].context));
    return report_failure(context);
}
