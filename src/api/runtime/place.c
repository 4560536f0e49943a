/* Placement: the decision, and the context that follows it. */
#include "api/runtime/place.h"

#include "base/parallel.h"
#include "seam/device.h"

#include <unistd.h>

/* ---- the decision ---------------------------------------------------------------------------- */

/* The rate of copies to a GPU by so many threads: each copies 6 GB/s, and no more than eight do. */
static int64_t copy_rate(int threads) {
    enum { COPIERS = 8, EACH = 6000, MOST = 45000 };
    int64_t rate = (int64_t)(threads < COPIERS ? threads : COPIERS) * EACH;
    return rate < MOST ? rate : MOST;
}

static void set_usual_machine(bf_machine *m, int threads, bool vectors) {
    *m = (bf_machine){.threads = threads,
                      .thread_rate = vectors ? 40000 : 8000,
                      .memory_rate = 150000,
                      .open_time = 300000000,
                      .launch_time = 10000,
                      .pinned_rate = 55600,
                      .driven = 64 << 20,
                      .driven_rate = 7800,
                      .pageable_rate = threads > 1 ? copy_rate(threads) : 7800,
                      .gpu_rate = 4200000};
}

bf_machine bf_usual_machine(int threads, bool vectors) {
    bf_machine m;
    set_usual_machine(&m, threads, vectors);
    return m;
}

static int64_t time_of(int64_t bytes, int64_t rate) {
    int64_t most = (int64_t)1 << 50; /* 1000 times this fits */
    return (bytes < most ? bytes : most) * 1000 / rate;
}

static int64_t cpu_rate(const bf_machine *m, int share) {
    int64_t rate = m->threads * m->thread_rate * share / 100;
    return rate < m->memory_rate ? rate : m->memory_rate;
}

/* All operands are in host memory and cross the bus. */
static int64_t gpu_time(const bf_machine *m, const bf_operand *operands, int n) {
    int64_t time = m->launch_time + (m->open ? 0 : m->open_time);
    for (int i = 0; i < n; i++) {
        bool pageable = operands[i].where == BF_WHERE_HOST;
        int64_t bytes = operands[i].bytes, driven = bytes < m->driven ? bytes : m->driven;
        time += pageable
                    ? time_of(driven, m->driven_rate) + time_of(bytes - driven, m->pageable_rate)
                    : time_of(bytes, m->pinned_rate);
        time += time_of(bytes, m->gpu_rate);
    }
    return time;
}

/* The rates are estimates, so a GPU must save a third of the time. That of small data is less than
 * a launch takes, which needs no division to see. */
static bool gpu_pays(const bf_machine *m, int share, const bf_operand *operands, int n) {
    int64_t bytes = 0;
    for (int i = 0; i < n; i++) bytes += operands[i].bytes;
    const int64_t rate = cpu_rate(m, share), small = (int64_t)1 << 30;
    if (bytes < small && bytes * 2000 <= 3 * rate * m->launch_time) return false;
    return time_of(bytes, rate) / 3 * 2 > gpu_time(m, operands, n);
}

static bool any_at(const bf_operand *operands, int n, bf_where where) {
    for (int i = 0; i < n; i++)
        if (operands[i].where == where && operands[i].bytes > 0) return true;
    return false;
}

bf_choice bf_choose(const bf_machine *m, const bf_demand *demand, const bf_operand *operands,
                    int n) {
    bool on_gpu = any_at(operands, n, BF_WHERE_DEVICE);
    if (demand->follows) {
        if (demand->home != NULL) on_gpu = demand->home != &bf_backend_cpu;
        return (bf_choice){on_gpu, true, on_gpu ? demand->on_gpu : demand->on_host};
    }
    if (on_gpu) return (bf_choice){true, true, "the data are in a GPU's memory"};
    if (!m->gpu) return (bf_choice){false, true, "no GPU can be used"};
    if (any_at(operands, n, BF_WHERE_MANAGED))
        return m->open ? (bf_choice){true, false, "managed memory, and a GPU is in use"}
                       : (bf_choice){false, false, "managed memory, and no GPU is in use"};
    if (gpu_pays(m, demand->share, operands, n))
        return (bf_choice){true, false, "host memory, but slow work: it pays to move the data"};
    return (bf_choice){false, false, "host memory: moving it to a GPU would not pay"};
}

/* ---- the context follows --------------------------------------------------------------------- */

const bf_backend *bf_backend_open(const bf_context *context) {
    if (context->gpus != NULL) return &bf_backend_gpus;
    return context->cuda != NULL ? bf_backend_gpu() : NULL;
}

bf_status bf_backend_open_gpu(bf_context *context, int device) {
    const bf_backend *gpu = bf_backend_gpu();
    if (bf_backend_open(context) != NULL) return BF_OK;
    if (gpu == NULL) return bf_fail(context, BF_E_DEVICE, "this build has no CUDA backend");
    if (device == BF_DEVICE_ALL && gpu->devices->count() > 1)
        gpu = &bf_backend_gpus;
    else if (device == BF_DEVICE_ALL)
        device = 0;
    bf_status status = gpu->open(context, device, &BF_OPTIONS(.stream = context->stream));
    context->gpu_failed = status != BF_OK;
    context->gpu = device;
    bf_device_format(device, context->gpu_name);
    return status;
}

/* Finds where the demand's memory is. Returns the first GPU that some of it is on, or -1. */
static int look_at_memory(const bf_demand *demand, bf_operand *operands) {
    int on = -1;
    const bool asks = bf_where_has_driver();
    for (int i = 0; i < demand->n; i++) {
        int device = -1;
        const bf_memory *m = &demand->memory[i];
        operands[i] = (bf_operand){asks ? bf_where_is(m->data, &device) : BF_WHERE_HOST, m->bytes};
        if (operands[i].where == BF_WHERE_DEVICE && on < 0) on = device;
    }
    return on;
}

/* Does this machine seem to have a GPU? Does not open the driver. */
static bool gpu_is_likely(const bf_context *context) {
    if (bf_backend_open(context) != NULL) return true;
    if (bf_backend_gpu() == NULL || context->gpu_failed) return false;
    return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

/* Assumes a GPU; follow_choice checks for one only if it is chosen. */
static void set_machine(bf_machine *m, const bf_context *context) {
    set_usual_machine(m, bf_host_threads(context), context->vectors);
    m->gpu = true;
    m->open = context->cuda != NULL;
}

static bf_status use_backend(bf_context *context, const bf_backend *backend, const char *why) {
    context->used = backend;
    context->reason = why;
    return BF_OK;
}

static bf_status follow_choice(bf_context *context, bf_choice choice, int device) {
    if (!choice.gpu) return use_backend(context, &bf_backend_cpu, choice.why);
    if (!choice.forced && !gpu_is_likely(context))
        return use_backend(context, &bf_backend_cpu, "no GPU can be used");
    bf_status status = bf_backend_open_gpu(context, device < 0 ? 0 : device);
    if (status == BF_OK) return use_backend(context, bf_backend_gpu(), choice.why);
    return choice.forced ? status : use_backend(context, &bf_backend_cpu, "no GPU can be opened");
}

/* A GPU takes memory of any kind, the CPU only memory that the host can touch. */
static bf_status check_reach(bf_context *context, const bf_backend *by, const char *why,
                             const bf_memory *memory, int n) {
    int device;
    char name[BF_DEVICE_TEXT];
    if (by != &bf_backend_cpu || !bf_where_has_driver()) return BF_OK;
    for (int i = 0; i < n; i++) {
        if (bf_where_is(memory[i].data, &device) != BF_WHERE_DEVICE) continue;
        bf_device_format(device, name);
        return bf_fail(context, BF_E_DEVICE, "the data are in the memory of %s, and %s", name, why);
    }
    return BF_OK;
}

static const char cpu_context[] = "this context is the CPU's";

bf_status bf_place(bf_context *context, const bf_demand *demand) {
    bf_operand operands[BF_MEMORY_MOST];
    context->strategy.name = NULL;
    if (demand->cpu) {
        use_backend(context, &bf_backend_cpu, context->fixed == NULL ? demand->on_host : "");
        return check_reach(context, &bf_backend_cpu, demand->on_host, demand->memory, demand->n);
    }
    if (context->fixed != NULL) {
        context->used = context->fixed;
        return demand->follows
                   ? BF_OK
                   : check_reach(context, context->fixed, cpu_context, demand->memory, demand->n);
    }
    bf_machine machine;
    set_machine(&machine, context);
    int device = look_at_memory(demand, operands);
    return follow_choice(context, bf_choose(&machine, demand, operands, demand->n), device);
}

const bf_backend *bf_place_home(const bf_context *context) {
    return context->fixed != NULL ? context->fixed : &bf_backend_cpu;
}

bf_status bf_place_copy(bf_context *context, const void *to, const void *from,
                        const bf_backend **by) {
    int device = -1;
    bool on_gpu = bf_where_is(to, &device) == BF_WHERE_DEVICE ||
                  bf_where_is(from, &device) == BF_WHERE_DEVICE;
    const bf_backend *open = bf_backend_open(context);
    *by = open != NULL ? open : &bf_backend_cpu;
    if (!on_gpu || open != NULL) return BF_OK;
    const bf_memory memory[] = {{to, 1}, {from, 1}};
    if (context->fixed != NULL) return check_reach(context, context->fixed, cpu_context, memory, 2);
    *by = bf_backend_gpu();
    return bf_backend_open_gpu(context, device);
}
