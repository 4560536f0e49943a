/* Memory of a context's device, and copies between memory of any kind. */
#include <bitfold/memory.h>

#include "api/runtime/enter.h"
#include "api/runtime/place.h"
#include "seam/memory.h"

static bf_status allocate_memory(bf_context *context, size_t bytes, void **memory) {
    if (memory == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the pointer");
    void *made = bf_place_home(context)->memory->allocate(context, bytes > 0 ? bytes : 1);
    if (made == NULL) return BF_E_MEMORY;
    *memory = made;
    return BF_OK;
}

bf_status bf_memory_allocate(bf_context *context, size_t bytes, void **memory) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, allocate_memory(context, bytes, memory));
}

void bf_memory_free(bf_context *context, void *memory) {
    if (context == NULL || memory == NULL) return;
    bf_place_home(context)->memory->release(context, memory);
}

static bf_status copy_memory(bf_context *context, void *to, const void *from, size_t bytes) {
    if (bytes == 0) return BF_OK;
    if (to == NULL || from == NULL) return bf_fail(context, BF_E_ARGUMENT, "no memory");
    const bf_backend *by;
    bf_status status = bf_place_copy(context, to, from, &by);
    return status == BF_OK ? by->memory->copy(context, to, from, bytes) : status;
}

bf_status bf_memory_copy(bf_context *context, void *to, const void *from, size_t bytes) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, copy_memory(context, to, from, bytes));
}
