#include "read/read.h"

#include "columns/condition.h"
#include "options/context.h"
#include "options/options.h"
#include "read/loaded.h"
#include "runtime/report.h"

#include <stdlib.h>
#include <string.h>

static const usage read_usage = {"[OPTIONS] FILE...",
                                 "Reads the columns of a table of text.",
                                 TAKES_INPUT | TAKES_RUNNING | TAKES_MEMORY | TAKES_KEYS |
                                     TAKES_WHERE,
                                 "column where help",
                                 "",
                                 NULL};

/* The table of the options, whose columns are called as its header calls them. */
static int read_table(options *o, bf_context *context, loaded *l) {
    static const char named[] = "", name_of_call[] = "reading a table";
    asked a;
    table t;
    o->by = named;
    asked_open(&a, o, context);
    a.taken = true;
    a.chooser.option = name_of_call;
    int code = table_make(&t, o);
    if (code == EXIT_DONE) code = table_open(&t, &a, context);
    if (code == EXIT_DONE) code = loaded_read(l, &t);
    table_close(&t);
    asked_close(&a);
    return code;
}

static int read_files(options *o, loaded *l) {
    bf_context *context = NULL;
    condition *c = NULL;
    if (o->file_count == 0) return fail(EXIT_USAGE, NULL, "no FILE given");
    int code = context_open(&context, o);
    if (code == EXIT_DONE) code = condition_open(&c, o);
    if (code == EXIT_DONE) code = read_table(o, context, l);
    condition_close(c);
    bf_context_destroy(context);
    return code;
}

int bitfold_read(int argc, char **argv, bitfold_read_table **out, char **message) {
    static char name[] = "read", quiet[] = "--quiet";
    char **all = malloc(((size_t)argc + 3) * sizeof *all);
    loaded *l = calloc(1, sizeof *l);
    options o;
    int code = EXIT_IO;
    report_command(name);
    report_hold(true);
    if (all && l) {
        all[0] = name;
        all[1] = quiet;
        if (argc > 0) memcpy(all + 2, argv, (size_t)argc * sizeof *all);
        all[argc + 2] = NULL;
        if (options_parse(&o, argc + 2, all, &read_usage, &code)) code = read_files(&o, l);
    }
    *out = code == EXIT_DONE ? &l->shown : NULL;
    *message = report_take();
    if (code != EXIT_DONE && l) {
        loaded_free(l);
        free(l);
    }
    free(all);
    return code;
}

void bitfold_read_free(bitfold_read_table *read) {
    loaded *l = (loaded *)read; /* `shown` is its first member */
    if (!l) return;
    loaded_free(l);
    free(l);
}
