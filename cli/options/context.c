#include "options/context.h"

#include "memory/temporary.h"

static int open_context(bf_context **context, const options *o, int64_t memory, const char *spill) {
    const bf_options wanted = BF_OPTIONS(.device = o->device, .isa = o->isa, .threads = o->threads,
                                         .memory = memory, .spill = spill);
    const bf_status st = bf_context_create(&wanted, context);
    if (st == BF_E_DEVICE && options_gpu(o->device)) return fail_device(o->device);
    return st == BF_OK ? EXIT_DONE : fail_status(st, NULL, NULL);
}

int context_open(bf_context **context, const options *o) {
    return open_context(context, o, o->memory.library, NULL);
}

int context_open_spilling(bf_context **context, const options *o, int64_t memory) {
    return open_context(context, o, memory, temporary_directory());
}

int context_failed(const bf_context *context, bf_status st, const char *file) {
    if (st != BF_E_IO) return fail_status(st, context, file);
    fail(EXIT_IO, NULL, "%s", bf_context_message(context));
    temporary_hint();
    return EXIT_IO;
}

rows_options context_reading(const options *o, spool_limit *keep, int inputs) {
    return (rows_options){.threads = o->threads,
                          .settled = true,
                          .digits = BF_SCALE_MOST_I128,
                          .keep = keep,
                          .memory = o->memory.input / inputs};
}
