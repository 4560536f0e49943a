/* Contexts: options checked, backend opened. */
#include "../backend.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS_MAX = 1024 };

bf_status bf_context_create(const bf_options *options, bf_context **context) {
    bf_options defaults = BF_OPTIONS(.threads = 0);
    if (context == NULL) return BF_E_ARGUMENT;
    if (options == NULL) options = &defaults;
    if (options->size != sizeof *options) return BF_E_ARGUMENT;
    if (options->threads < 0 || options->threads > THREADS_MAX) return BF_E_ARGUMENT;
    const bf_backend *backend = bf_backend_find(options->device);
    if (backend == NULL)
        return strncmp(options->device, "cuda", 4) == 0 ? BF_E_DEVICE : BF_E_ARGUMENT;

    bf_context *made = calloc(1, sizeof *made);
    if (made == NULL) return BF_E_MEMORY;
    made->backend = backend;
    bf_status status = backend->open(made, options);
    if (status == BF_OK)
        *context = made;
    else
        free(made);
    return status;
}

void bf_context_destroy(bf_context *context) {
    if (context == NULL) return;
    context->backend->close(context);
    free(context->scratch);
    free(context);
}

const char *bf_context_message(const bf_context *context) { return context->message; }
const char *bf_context_device(const bf_context *context) { return context->backend->name; }
const char *bf_context_isa(const bf_context *context) { return context->backend->isa(context); }
int bf_context_threads(const bf_context *context) { return context->backend->threads(context); }

bf_status bf_fail(bf_context *context, bf_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(context->message, sizeof context->message, format, args);
    va_end(args);
    return status;
}
