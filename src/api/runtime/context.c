/* Contexts: check options, open backends, set streams. */
#include "api/runtime/enter.h"
#include "api/runtime/place.h"
#include "api/runtime/sized.h"
#include "base/parallel.h"
#include "seam/backend.h"

#include <stdio.h>
#include <stdlib.h>

enum { THREADS_MAX = 1024 };

static bf_status read_device(bf_context *context, const char *name, int *device) {
    bf_status status = bf_device_parse(name, device);
    if (status == BF_E_ARGUMENT)
        return bf_fail(context, status,
                       "no device has the name '%.32s': it is auto, cpu, cuda, cuda:N (cuda:0 is "
                       "the first GPU) or cuda:all",
                       name);
    return status == BF_OK ? BF_OK : bf_fail(context, status, "there is no GPU %.32s", name);
}

/* Opens a device that is asked for by name. BF_DEVICE_AUTO is decided call by call. */
static bf_status fix_device(bf_context *context, int device) {
    if (device == BF_DEVICE_AUTO) return BF_OK;
    context->reason = "";
    if (device < 0 && context->stream != NULL)
        return bf_fail(context, BF_E_ARGUMENT, "a stream belongs to one GPU, not to device '%s'",
                       device == BF_DEVICE_CPU ? "cpu" : "cuda:all");
    bf_status status = device == BF_DEVICE_CPU ? BF_OK : bf_backend_open_gpu(context, device);
    context->fixed = device == BF_DEVICE_CPU ? &bf_backend_cpu : bf_backend_open(context);
    return status;
}

static bf_status read_options(bf_context *context, const bf_options *given, bf_options *options) {
    if (given != NULL && !BF_READ(options, given, threads))
        return bf_fail(context, BF_E_ARGUMENT,
                       "bf_options: size is not set, or from a newer version");
    if (options->memory < 0)
        return bf_fail(context, BF_E_ARGUMENT, "a limit of %lld bytes of memory",
                       (long long)options->memory);
    if (options->threads >= 0 && options->threads <= THREADS_MAX) return BF_OK;
    return bf_fail(context, BF_E_ARGUMENT, "%d threads: 1 to %d are possible, or 0 for all",
                   options->threads, THREADS_MAX);
}

/* Sets up a context of all zeros. On failure the context has a message. */
static bf_status open_context(bf_context *context, const bf_options *given) {
    bf_options options = BF_OPTIONS(.threads = 0);
    int device = BF_DEVICE_AUTO;
    context->reason = "host memory: no call was large enough to gain from a GPU";
    bf_status status = read_options(context, given, &options);
    context->stream = options.stream;
    context->budget.limit = options.memory;
    if (options.spill != NULL && (context->spill = strdup(options.spill)) == NULL)
        return bf_fail(context, BF_E_MEMORY, "no memory for a context");
    if (status == BF_OK) status = bf_backend_cpu.open(context, BF_DEVICE_CPU, &options);
    if (status == BF_OK) status = read_device(context, options.device, &device);
    if (status == BF_OK) status = fix_device(context, device);
    context->used = context->fixed != NULL ? context->fixed : &bf_backend_cpu;
    return status;
}

bf_status bf_context_create(const bf_options *options, bf_context **context) {
    if (context == NULL) return BF_E_ARGUMENT;
    bf_context *made = calloc(1, sizeof *made);
    if (made == NULL) return BF_E_MEMORY;
    bf_status status = open_context(made, options);
    if (status == BF_OK)
        *context = made;
    else
        bf_context_destroy(made);
    return status;
}

void bf_context_create_message(const bf_options *options, char text[BF_MESSAGE_TEXT]) {
    if (text == NULL) return;
    bf_context *made = calloc(1, sizeof *made);
    bf_status status = made == NULL ? BF_E_MEMORY : open_context(made, options);
    const char *why = made != NULL && *made->message ? made->message : bf_status_string(status);
    snprintf(text, BF_MESSAGE_TEXT, "%s", status == BF_OK ? "" : why);
    bf_context_destroy(made);
}

void bf_context_destroy(bf_context *context) {
    if (context == NULL) return;
    const bf_backend *gpu = bf_backend_open(context);
    if (gpu != NULL) gpu->close(context);
    bf_backend_cpu.close(context);
    free(context->spill);
    free(context);
}

const char *bf_context_message(const bf_context *context) {
    return context == NULL ? "" : context->message;
}

const char *bf_context_device(const bf_context *context) {
    if (context == NULL) return "";
    return context->used == &bf_backend_cpu ? context->used->name : context->gpu_name;
}

const char *bf_context_reason(const bf_context *context) {
    return context == NULL ? "" : context->reason;
}

const char *bf_context_strategy(bf_context *context) {
    if (context == NULL || context->strategy.name == NULL) return "";
    const bf_strategy *s = &context->strategy;
    snprintf(context->strategy_text, sizeof context->strategy_text,
             "%s: %lld results of %lld; %lld tiles of %lld columns, %lld lanes, %lld pieces",
             s->name, (long long)s->results, (long long)s->length, (long long)s->tiles,
             (long long)s->columns, (long long)s->lanes, (long long)s->pieces);
    return context->strategy_text;
}

const char *bf_context_isa(const bf_context *context) {
    return context == NULL ? "" : context->isa;
}

int bf_context_threads(const bf_context *context) {
    return context == NULL ? 0 : bf_host_threads(context);
}

static bf_status change_stream(bf_context *context, void *stream) {
    const bf_backend *gpu = bf_backend_open(context);
    if (gpu == NULL)
        return bf_fail(context, BF_E_DEVICE, "a stream belongs to a GPU, and none is in use");
    return gpu->set_stream(context, stream);
}

bf_status bf_context_set_stream(bf_context *context, void *stream) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, change_stream(context, stream));
}

static bf_status leave_stream(bf_context *context) {
    const bf_backend *gpu = bf_backend_open(context);
    if (gpu == NULL)
        return bf_fail(context, BF_E_DEVICE, "a stream belongs to a GPU, and none is in use");
    gpu->leave_stream(context);
    return BF_OK;
}

bf_status bf_context_leave_stream(bf_context *context) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, leave_stream(context));
}

static bf_status synchronize_context(bf_context *context) {
    const bf_backend *gpu = bf_backend_open(context);
    return gpu == NULL ? BF_OK : gpu->synchronize(context);
}

bf_status bf_context_synchronize(bf_context *context) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, synchronize_context(context));
}

static bf_status find_failure(bf_context *context) {
    const bf_backend *gpu = bf_backend_open(context);
    return gpu == NULL ? BF_OK : gpu->failure(context);
}

bf_status bf_context_failure(bf_context *context) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, find_failure(context));
}

bf_status bf_leave_budget(bf_context *context, bf_status status) {
    const bf_budget *b = &context->budget;
    const long long wanted = __atomic_load_n(&b->wanted, __ATOMIC_RELAXED);
    bf_budget_leave(&context->budget);
    if (status != BF_E_MEMORY || wanted == 0) return status;
    return bf_fail(context, status, "%lld bytes wanted, %lld of the limit of %lld are in use",
                   wanted, (long long)__atomic_load_n(&b->held, __ATOMIC_RELAXED),
                   (long long)b->limit);
}
