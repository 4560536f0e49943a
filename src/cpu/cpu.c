/* The CPU backend's table: opening and closing. */
#include "cpu/runtime/context.h"

#include "cpu/axis/axis.h"
#include "cpu/comm/comm.h"
#include "cpu/dictionary/dictionary.h"
#include "cpu/expression/expression.h"
#include "cpu/group/group.h"
#include "cpu/histogram/histogram.h"
#include "cpu/julia/julia.h"
#include "cpu/map/map.h"
#include "cpu/order/order.h"
#include "cpu/reduce/reduce.h"
#include "cpu/scan/rolling.h"
#include "cpu/scan/scan.h"
#include "cpu/table/table.h"

#include <stdio.h>
#include <stdlib.h>

static bf_status unknown_isa(bf_context *context, const char *name) {
    char known[80] = "auto";
    for (int i = 0; bf_cpu_isa(i) != NULL; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, ", %s", bf_cpu_isa(i)->name);
    }
    return bf_fail(context, BF_E_ARGUMENT, "no instruction set has the name '%.32s': there are %s",
                   name, known);
}

static bf_status open_cpu(bf_context *context, int device, const bf_options *options) {
    (void)device;
    const bf_isa *isa = bf_cpu_isa_find(options->isa);
    if (isa == NULL) return unknown_isa(context, options->isa);
    if (!isa->available())
        return bf_fail(context, BF_E_DEVICE, "this machine lacks the instruction set %s",
                       isa->name);
    bf_cpu *cpu = malloc(sizeof *cpu);
    if (cpu == NULL) return BF_E_MEMORY;
    *cpu = (bf_cpu){.isa = isa};
    context->pool = bf_pool_create(options->threads > 0 ? options->threads : bf_usable_threads(),
                                   context->budget.limit > 0 ? &context->budget : NULL);
    if (context->pool == NULL) {
        free(cpu);
        return BF_E_MEMORY;
    }
    context->cpu = cpu;
    context->isa = isa->name;
    context->vectors = isa != &bf_isa_generic;
    return BF_OK;
}

static void close_cpu(bf_context *context) {
    bf_cpu *cpu = context->cpu;
    if (cpu == NULL) return;
    bf_pool_destroy(context->pool);
    free(cpu->scratch);
    free(cpu->rooms);
    free(cpu);
}

static const bf_memory_backend memory_backend = {
    .gather = bf_cpu_gather,
    .scatter = bf_cpu_scatter,
    .scratch = bf_cpu_scratch,
    .scratch_bytes = BF_CPU_SCRATCH,
    .allocate = bf_cpu_allocate,
    .release = bf_cpu_release,
    .copy = bf_cpu_copy,
};
static const bf_reduce_backend reduce_backend = {
    .absorb = bf_cpu_reduce, .at_once = bf_cpu_reduce_short, .comoments = bf_cpu_comoments};
static const bf_map_backend map_backend = {.run = bf_cpu_map};
static const bf_histogram_backend histogram_backend = {.count = bf_cpu_histogram};
static const bf_julia_backend julia_backend = {.count = bf_cpu_julia};
static const bf_scan_backend scan_backend = {.run = bf_cpu_scan, .roll = bf_cpu_roll};
static const bf_comm_backend comm_backend = {.add = bf_cpu_comm_add};

const bf_backend bf_backend_cpu = {
    .name = "cpu",
    .open = open_cpu,
    .close = close_cpu,
    .memory = &memory_backend,
    .reduce = &reduce_backend,
    .map = &map_backend,
    .histogram = &histogram_backend,
    .table = &bf_cpu_tables,
    .group = &bf_cpu_groups_backend,
    .axis = &bf_cpu_axis_backend,
    .order = &bf_cpu_order_backend,
    .scan = &scan_backend,
    .julia = &julia_backend,
    .expression = &bf_cpu_expression_backend,
    .dictionary = &bf_cpu_dictionaries,
    .comm = &comm_backend,
};
