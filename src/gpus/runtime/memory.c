#include "gpus/runtime/memory.h"

#include "gpus/runtime/context.h"

enum { SCRATCH_BYTES = 1 << 26 };

static const bf_memory_backend *memory_of(const bf_context *context) {
    return context->gpus->by->memory;
}

/* Returns the GPU of the first pointer that is to one's memory, or the first GPU. */
static int choose_gpu(const bf_context *context, const void *const memory[], int n) {
    int gpu = bf_gpus_find(context, memory, n);
    return gpu < 0 ? 0 : gpu;
}

static void *get_scratch(bf_context *context, const void *near) {
    int number = choose_gpu(context, &near, 1);
    bf_gpu *gpu = &context->gpus->gpu[number];
    if (gpu->scratch != NULL) return gpu->scratch;
    bf_context *one = bf_gpus_enter(context, number, NULL, 0);
    gpu->scratch = memory_of(context)->allocate(one, SCRATCH_BYTES);
    bf_gpus_leave(context, number, gpu->scratch != NULL ? BF_OK : BF_E_MEMORY);
    return gpu->scratch;
}

static void *allocate_memory(bf_context *context, size_t bytes) {
    bf_context *one = bf_gpus_enter(context, 0, NULL, 0);
    void *memory = memory_of(context)->allocate(one, bytes);
    bf_gpus_leave(context, 0, memory != NULL ? BF_OK : BF_E_MEMORY);
    return memory;
}

/* May run while another thread uses the context (bf_memory_free). */
static void release_memory(bf_context *context, void *memory) {
    memory_of(context)->release(context->gpus->gpu[0].context, memory);
}

static bf_status copy_memory(bf_context *context, void *to, const void *from, size_t bytes) {
    const void *memory[] = {to, from};
    int gpu = choose_gpu(context, memory, 2);
    bf_context *one = bf_gpus_enter(context, gpu, memory, 2);
    return bf_gpus_leave(context, gpu, memory_of(context)->copy(one, to, from, bytes));
}

/* ---- strides ----------------------------------------------------------------------------------
 */

/* Elements at strides, and as many contiguous ones. Kernels reach no memory of another GPU: if both
 * are on different ones, elements go through scratch beside the strided ones. */
typedef struct strided_copy {
    bf_context *context;
    const bf_strided *strided;
    char *flat;
    bool gather; /* else scatter */
} strided_copy;

static bf_status copy_directly(const strided_copy *c, int64_t first, int64_t count, void *flat) {
    const bf_memory_backend *by = memory_of(c->context);
    const void *memory[] = {c->strided->data, flat};
    int gpu = choose_gpu(c->context, memory, 2);
    bf_context *one = bf_gpus_enter(c->context, gpu, memory, 2);
    bf_status status = c->gather ? by->gather(one, c->strided, first, count, flat)
                                 : by->scatter(one, c->strided, first, count, flat);
    return bf_gpus_leave(c->context, gpu, status);
}

static bf_status copy_through_scratch(const strided_copy *c, int64_t first, int64_t count) {
    bf_status status = BF_OK;
    int64_t room = SCRATCH_BYTES / c->strided->bytes;
    void *scratch = get_scratch(c->context, c->strided->data);
    if (scratch == NULL) return BF_E_MEMORY;
    for (int64_t at = 0; at < count && status == BF_OK; at += room) {
        int64_t n = count - at < room ? count - at : room;
        char *flat = c->flat + at * c->strided->bytes;
        size_t bytes = (size_t)(n * c->strided->bytes);
        if (!c->gather) status = copy_memory(c->context, scratch, flat, bytes);
        if (status == BF_OK) status = copy_directly(c, first + at, n, scratch);
        if (status == BF_OK && c->gather) status = copy_memory(c->context, flat, scratch, bytes);
    }
    return status;
}

static bf_status copy_strided(const strided_copy *c, int64_t first, int64_t count) {
    const void *strided = c->strided->data, *flat = c->flat;
    int a = bf_gpus_find(c->context, &strided, 1), b = bf_gpus_find(c->context, &flat, 1);
    return a >= 0 && b >= 0 && a != b ? copy_through_scratch(c, first, count)
                                      : copy_directly(c, first, count, c->flat);
}

static bf_status gather_elements(bf_context *context, const bf_strided *from, int64_t first,
                                 int64_t count, void *to) {
    const strided_copy c = {context, from, to, true};
    return copy_strided(&c, first, count);
}

static bf_status scatter_elements(bf_context *context, const bf_strided *to, int64_t first,
                                  int64_t count, const void *from) {
    const strided_copy c = {context, to, (char *)(uintptr_t)from, false};
    return copy_strided(&c, first, count);
}

const bf_memory_backend bf_gpus_memory_backend = {
    .gather = gather_elements,
    .scatter = scatter_elements,
    .scratch = get_scratch,
    .scratch_bytes = SCRATCH_BYTES,
    .allocate = allocate_memory,
    .release = release_memory,
    .copy = copy_memory,
};
