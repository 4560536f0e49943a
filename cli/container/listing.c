#include "container/listing.h"

#include "runtime/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Control characters stay out of messages. */
static void make_plain(char *text) {
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
}

static void append(listing *l, const char *name, size_t length) {
    static const char more[] = ", ...";
    const size_t have = strlen(l->text);
    const char *const between = have > 0 ? ", " : "";
    if (l->full) return;
    l->full = have + length + 2 * sizeof more > sizeof l->text;
    if (l->full)
        strcpy(l->text + have, have > 0 ? more : more + 2);
    else
        snprintf(l->text + have, sizeof l->text - have, "%s%.*s", between, (int)length, name);
    make_plain(l->text);
}

void listing_add(listing *l, const char *name, size_t length) {
    if (l->n++ == 0) snprintf(l->first, sizeof l->first, "%.*s", (int)length, name);
    append(l, name, length);
}

int listing_refuse(const listing *l, listing_refusal *r, const char *name, const char *things,
                   const char *wanted) {
    r->code = EXIT_DATA;
    *r->hint = '\0';
    if (l->n == 0)
        snprintf(r->what, sizeof r->what, "it holds no %ss", things);
    else if (wanted)
        snprintf(r->what, sizeof r->what, "it holds no %s %.200s: there are %s", things, wanted,
                 l->text);
    else
        snprintf(r->what, sizeof r->what, "it holds %" PRId64 " %ss: %s", l->n, things, l->text);
    if (l->n > 0 && !wanted)
        snprintf(r->hint, sizeof r->hint, "name one of them: bitfold %s %.200s:%s",
                 report_command_name(), name, l->first);
    make_plain(r->hint);
    return r->code;
}
