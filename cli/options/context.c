#include "options/context.h"

int context_open(bf_context **context, const options *o) {
    const bf_options wanted = BF_OPTIONS(.device = o->device, .isa = o->isa, .threads = o->threads,
                                         .memory = o->memory.library);
    const bf_status st = bf_context_create(&wanted, context);
    if (st == BF_E_DEVICE && options_gpu(o->device)) return fail_device(o->device);
    return st == BF_OK ? EXIT_DONE : fail_status(st, NULL, NULL);
}
