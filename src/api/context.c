/* Contexts: options checked, backends opened, streams. */
#include "../backend.h"
#include "../cpu/cpu.h"
#include "enter.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS_MAX = 1024 };

/* The number in "cuda:N" (0 of "cuda" alone). */
static bf_status parse_gpu(const char *name, int *device) {
    char *end;
    *device = 0;
    if (strncmp(name, "cuda", 4) != 0) return BF_E_ARGUMENT;
    if (name[4] == '\0') return BF_OK;
    if (strcmp(name + 4, ":all") == 0) return BF_E_DEVICE; /* one context, one GPU */
    if (name[4] != ':' || name[5] < '0' || name[5] > '9') return BF_E_ARGUMENT;
    long number = strtol(name + 5, &end, 10);
    if (*end != '\0') return BF_E_ARGUMENT;
    *device = (int)number;
    return number > 9999 ? BF_E_DEVICE : BF_OK;
}

/* The device that is asked for by name; all others are left to each call. */
static bf_status fix_device(bf_context *context, const char *name) {
    int device;
    if (name == NULL || strcmp(name, "auto") == 0) return BF_OK;
    context->reason = "";
    if (strcmp(name, "cpu") == 0) {
        context->fixed = &bf_backend_cpu;
        return BF_OK;
    }
    bf_status status = parse_gpu(name, &device);
    if (status == BF_OK) status = bf_backend_open_gpu(context, device);
    context->fixed = bf_backend_gpu();
    return status;
}

static bf_status check_options(const bf_options *options) {
    if (options->size != sizeof *options) return BF_E_ARGUMENT;
    return options->threads < 0 || options->threads > THREADS_MAX ? BF_E_ARGUMENT : BF_OK;
}

bf_status bf_context_create(const bf_options *options, bf_context **context) {
    bf_options defaults = BF_OPTIONS(.threads = 0);
    if (context == NULL) return BF_E_ARGUMENT;
    if (options == NULL) options = &defaults;
    bf_status status = check_options(options);
    if (status != BF_OK) return status;

    bf_context *made = calloc(1, sizeof *made);
    if (made == NULL) return BF_E_MEMORY;
    made->reason = "host memory: no call was large enough to gain from a GPU";
    status = bf_backend_cpu.open(made, options);
    if (status == BF_OK) status = fix_device(made, options->device);
    if (status != BF_OK) {
        bf_context_destroy(made);
        return status;
    }
    made->used = made->fixed != NULL ? made->fixed : &bf_backend_cpu;
    *context = made;
    return BF_OK;
}

void bf_context_destroy(bf_context *context) {
    if (context == NULL) return;
    if (context->cuda != NULL) bf_backend_gpu()->close(context);
    bf_backend_cpu.close(context);
    free(context);
}

const char *bf_context_message(const bf_context *context) {
    return context == NULL ? "" : context->message;
}

const char *bf_context_device(const bf_context *context) {
    if (context == NULL) return "";
    return context->used == &bf_backend_cpu ? context->used->name : context->gpu;
}

const char *bf_context_reason(const bf_context *context) {
    return context == NULL ? "" : context->reason;
}

const char *bf_context_isa(const bf_context *context) {
    return context == NULL ? "" : context->cpu->isa->name;
}

int bf_context_threads(const bf_context *context) {
    return context == NULL ? 0 : bf_pool_threads(context->cpu->pool);
}

static bf_status set_stream(bf_context *context, void *stream) {
    if (context->cuda == NULL)
        return bf_fail(context, BF_E_DEVICE, "a stream belongs to a GPU, and none is in use");
    return bf_backend_gpu()->set_stream(context, stream);
}

bf_status bf_context_set_stream(bf_context *context, void *stream) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, set_stream(context, stream));
}

static bf_status synchronize(bf_context *context) {
    return context->cuda == NULL ? BF_OK : bf_backend_gpu()->synchronize(context);
}

bf_status bf_context_synchronize(bf_context *context) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, synchronize(context));
}

bf_status bf_fail(bf_context *context, bf_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(context->message, sizeof context->message, format, args);
    va_end(args);
    return status;
}
