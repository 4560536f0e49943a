/* The CPU backend's table: opening and closing. */
#include "cpu.h"

#include "map.h"

#include <stdlib.h>

static bf_status open_cpu(bf_context *context, const bf_options *options) {
    const bf_isa *isa = bf_cpu_isa_find(options->isa);
    if (isa == NULL) return BF_E_ARGUMENT;
    if (!isa->available()) return BF_E_DEVICE;
    bf_cpu *cpu = malloc(sizeof *cpu);
    if (cpu == NULL) return BF_E_MEMORY;
    cpu->isa = isa;
    cpu->pool = bf_pool_create(options->threads > 0 ? options->threads : bf_usable_threads());
    if (cpu->pool == NULL) {
        free(cpu);
        return BF_E_MEMORY;
    }
    context->backend_data = cpu;
    return BF_OK;
}

static void close_cpu(bf_context *context) {
    bf_cpu *cpu = context->backend_data;
    bf_pool_destroy(cpu->pool);
    free(cpu);
}

static const char *isa_name(const bf_context *context) {
    const bf_cpu *cpu = context->backend_data;
    return cpu->isa->name;
}

static int threads(const bf_context *context) {
    const bf_cpu *cpu = context->backend_data;
    return bf_pool_threads(cpu->pool);
}

const bf_backend bf_backend_cpu = {
    .name = "cpu",
    .open = open_cpu,
    .close = close_cpu,
    .reduce = bf_cpu_reduce,
    .map = bf_cpu_map,
    .isa = isa_name,
    .threads = threads,
};
