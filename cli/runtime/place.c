#include "runtime/place.h"

#include <string.h>

enum { SHOWN = 30 /* bytes of a text, before and behind a place in it */ };

int place_refuse(const bf_context *context, bf_status status, const char *option, const char *text,
                 int position) {
    if (position < 0) return fail_status(status, context, NULL);
    const int code = status == BF_E_ARGUMENT ? EXIT_USAGE : EXIT_DATA;
    fail(code, NULL, "%s: %s", option, bf_context_message(context));
    const int before = position < SHOWN ? position : SHOWN;
    const char *behind = text + position;
    hint("%s%.*s <here>%s%.*s%s", before < position ? "..." : "", before, behind - before,
         *behind ? " " : "", SHOWN, behind, strlen(behind) > SHOWN ? "..." : "");
    return code;
}
