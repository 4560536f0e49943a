/* Messages of failures. */
#include "base/context.h"

#include <stdarg.h>
#include <stdio.h>

bf_status bf_fail(bf_context *context, bf_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(context->message, sizeof context->message, format, args);
    va_end(args);
    return status;
}
