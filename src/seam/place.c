/* Where a call runs: the decision as pure functions, then the context that follows it. */
#include "seam/place.h"

#include "seam/host.h"

#include <unistd.h>

/* ---- the decision ---------------------------------------------------------------------------- */

bf_machine bf_usual_machine(int threads, bool vectors) {
    return (bf_machine){.threads = threads,
                        .thread_rate = vectors ? 40000 : 8000,
                        .memory_rate = 150000,
                        .open_time = 300000000,
                        .launch_time = 10000,
                        .pinned_rate = 55600,
                        .pageable_rate = 10000,
                        .gpu_rate = 4200000};
}

/* What of a thread's reading rate is left when it does this work on what it reads, in percent. */
static int reduce_share(bf_kind kind) {
    switch (kind) {
    case BF_KIND_MOMENTS:
    case BF_KIND_DESCRIPTION: return 40;
    case BF_KIND_FACTORS: return 10;
    case BF_KIND_TREE: return 50;
    default: return 100;
    }
}

static int map_share(bf_map_op op) {
    return op == BF_MAP_DIV || op == BF_MAP_SQRT || op == BF_MAP_CAST ? 50 : 100;
}

enum { HISTOGRAM_SHARE = 10 };

static int64_t time_of(int64_t bytes, int64_t rate) {
    int64_t most = (int64_t)1 << 50; /* of which a thousandfold fits */
    return (bytes < most ? bytes : most) * 1000 / rate;
}

static int64_t cpu_time(const bf_machine *m, int share, int64_t bytes) {
    int64_t rate = m->threads * m->thread_rate * share / 100;
    return time_of(bytes, rate < m->memory_rate ? rate : m->memory_rate);
}

/* Of operands in host memory, all of which cross the bus. */
static int64_t gpu_time(const bf_machine *m, const bf_operand *operands, int n) {
    int64_t time = m->launch_time + (m->open ? 0 : m->open_time);
    for (int i = 0; i < n; i++) {
        bool pageable = operands[i].where == BF_WHERE_HOST;
        time += time_of(operands[i].bytes, pageable ? m->pageable_rate : m->pinned_rate);
        time += time_of(operands[i].bytes, m->gpu_rate);
    }
    return time;
}

/* The rates are estimates: before data are moved for it, a GPU must gain a third by them. */
static bool gpu_pays(const bf_machine *m, int share, const bf_operand *operands, int n) {
    int64_t bytes = 0;
    for (int i = 0; i < n; i++) bytes += operands[i].bytes;
    return cpu_time(m, share, bytes) / 3 * 2 > gpu_time(m, operands, n);
}

static bool any_at(const bf_operand *operands, int n, bf_where where) {
    for (int i = 0; i < n; i++)
        if (operands[i].where == where && operands[i].bytes > 0) return true;
    return false;
}

static bf_choice choose(const bf_machine *m, int share, const bf_operand *operands, int n) {
    if (any_at(operands, n, BF_WHERE_DEVICE))
        return (bf_choice){true, true, "the data are in a GPU's memory"};
    if (!m->gpu) return (bf_choice){false, true, "no GPU can be used"};
    if (any_at(operands, n, BF_WHERE_MANAGED))
        return m->open ? (bf_choice){true, false, "managed memory, and a GPU is in use"}
                       : (bf_choice){false, false, "managed memory, and no GPU is in use"};
    if (gpu_pays(m, share, operands, n))
        return (bf_choice){true, false, "host memory, but slow work: it pays to move the data"};
    return (bf_choice){false, false, "host memory: moving it to a GPU would not pay"};
}

bf_choice bf_choose_reduce(const bf_machine *machine, bf_kind kind, const bf_operand *operands,
                           int n) {
    return choose(machine, reduce_share(kind), operands, n);
}

bf_choice bf_choose_dot(const bf_machine *machine, const bf_operand *operands, int n) {
    return choose(machine, reduce_share(BF_KIND_PRODUCTS), operands, n);
}

bf_choice bf_choose_map(const bf_machine *machine, bf_map_op op, const bf_operand *operands,
                        int n) {
    return choose(machine, map_share(op), operands, n);
}

/* A picture is made, not read: its counts cross the bus once, and cost many steps. */
bf_choice bf_choose_julia(const bf_machine *machine, int iterations, const bf_operand *operands,
                          int n) {
    int share = iterations < 8 ? 50 : iterations < 400 ? 400 / iterations : 1;
    return choose(machine, share, operands, n);
}

bf_choice bf_choose_histogram(const bf_machine *machine, const bf_operand *operands, int n) {
    return choose(machine, HISTOGRAM_SHARE, operands, n);
}

/* ---- the deed -------------------------------------------------------------------------------- */

/* The memory of a call as operands; returns the GPU that the first of it is on, -1 for none. */
static int look(const bf_memory *memory, bf_operand *operands) {
    int at = -1;
    for (int i = 0; i < memory->n; i++) {
        int device;
        operands[i] = (bf_operand){bf_where_is(memory->data[i], &device), memory->bytes[i]};
        if (operands[i].where == BF_WHERE_DEVICE && at < 0) at = device;
    }
    return at;
}

/* Might a GPU be here? Tells without opening the driver. */
static bool gpu_is_likely(const bf_context *context) {
    if (context->cuda != NULL) return true;
    if (bf_backend_gpu() == NULL || context->gpu_failed) return false;
    return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

/* As if there were a GPU: whether one is likely is asked only where it would be chosen. */
static bf_machine machine_of(const bf_context *context) {
    bf_machine m = bf_usual_machine(bf_host_threads(context), bf_host_has_vectors(context));
    m.gpu = true;
    m.open = context->cuda != NULL;
    return m;
}

static bf_status use(bf_context *context, const bf_backend *backend, const char *why) {
    context->used = backend;
    context->reason = why;
    return BF_OK;
}

static bf_status follow(bf_context *context, bf_choice choice, int device) {
    if (!choice.gpu) return use(context, &bf_backend_cpu, choice.why);
    if (!choice.forced && !gpu_is_likely(context))
        return use(context, &bf_backend_cpu, "no GPU can be used");
    bf_status status = bf_backend_open_gpu(context, device < 0 ? 0 : device);
    if (status == BF_OK) return use(context, bf_backend_gpu(), choice.why);
    return choice.forced ? status : use(context, &bf_backend_cpu, "no GPU can be opened");
}

/* A GPU takes memory of any kind, the CPU only what the host can touch. */
static bf_status use_fixed(bf_context *context, const bf_memory *memory) {
    int device;
    context->used = context->fixed;
    for (int i = 0; i < memory->n && context->fixed == &bf_backend_cpu; i++)
        if (bf_where_is(memory->data[i], &device) == BF_WHERE_DEVICE)
            return bf_fail(context, BF_E_DEVICE,
                           "the data are in the memory of cuda:%d, and this context is the CPU's",
                           device);
    return BF_OK;
}

bf_status bf_place_reduce(bf_context *context, bf_reduction op, bf_kind kind,
                          const bf_memory *memory) {
    bf_operand operands[BF_MEMORY_MOST];
    if (context->fixed != NULL) return use_fixed(context, memory);
    bf_machine machine = machine_of(context);
    int device = look(memory, operands);
    bf_choice choice = op == BF_DOT ? bf_choose_dot(&machine, operands, memory->n)
                                    : bf_choose_reduce(&machine, kind, operands, memory->n);
    return follow(context, choice, device);
}

bf_status bf_place_map(bf_context *context, bf_map_op op, const bf_memory *memory) {
    bf_operand operands[BF_MEMORY_MOST];
    if (context->fixed != NULL) return use_fixed(context, memory);
    bf_machine machine = machine_of(context);
    int device = look(memory, operands);
    return follow(context, bf_choose_map(&machine, op, operands, memory->n), device);
}

bf_status bf_place_julia(bf_context *context, int iterations, const bf_memory *memory) {
    bf_operand operands[BF_MEMORY_MOST];
    if (context->fixed != NULL) return use_fixed(context, memory);
    bf_machine machine = machine_of(context);
    int device = look(memory, operands);
    return follow(context, bf_choose_julia(&machine, iterations, operands, memory->n), device);
}

bf_status bf_place_histogram(bf_context *context, const bf_memory *memory) {
    bf_operand operands[BF_MEMORY_MOST];
    if (context->fixed != NULL) return use_fixed(context, memory);
    bf_machine machine = machine_of(context);
    int device = look(memory, operands);
    return follow(context, bf_choose_histogram(&machine, operands, memory->n), device);
}

bf_status bf_place_copy(bf_context *context, const void *to, const void *from,
                        const bf_backend **by) {
    int device = -1;
    const void *on_gpu = bf_where_is(to, &device) == BF_WHERE_DEVICE     ? to
                         : bf_where_is(from, &device) == BF_WHERE_DEVICE ? from
                                                                         : NULL;
    *by = context->cuda != NULL ? bf_backend_gpu() : &bf_backend_cpu;
    if (on_gpu == NULL || context->cuda != NULL) return BF_OK;
    bf_memory memory = {.n = 1, .data = {on_gpu}, .bytes = {1}};
    if (context->fixed != NULL) return use_fixed(context, &memory);
    *by = bf_backend_gpu();
    return bf_backend_open_gpu(context, device);
}

const bf_backend *bf_place_walk(const bf_context *context, const void *p) {
    if (context->used == &bf_backend_cpu) return context->used;
    return bf_where_is(p, NULL) == BF_WHERE_HOST ? &bf_backend_cpu : context->used;
}
