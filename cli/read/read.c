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

/* What a call asks for beside its options. */
typedef struct taker {
    const char *also;
    bitfold_read_take *take;
    void *arg;
} taker;

/* ROWS_RESETTLED: all rows come once more. */
static int give_rows(const taker *to, table *t) {
    bool end = false;
    int64_t wanted = to->take(to->arg, NULL);
    int code = table_begin(t);
    while (code == EXIT_DONE && wanted > 0 && !end) {
        loaded *l;
        code = loaded_read(&l, t, wanted, &end);
        if (code == EXIT_DONE) wanted = to->take(to->arg, &l->shown);
    }
    return code == EXIT_DONE && wanted < 0 ? ROWS_RESETTLED : code;
}

/* The table of the options, whose columns are called as its header calls them. */
static int read_table(options *o, bf_context *context, const taker *to) {
    static const char named[] = "", name_of_call[] = "reading a table";
    asked a;
    table t;
    o->by = named;
    asked_open(&a, o, context);
    a.taken = true;
    a.also = to->also;
    a.chooser.option = name_of_call;
    int code = table_make(&t, o);
    if (code == EXIT_DONE) code = table_open(&t, &a, context);
    while (code == EXIT_DONE && (code = give_rows(to, &t)) == ROWS_RESETTLED)
        code = table_again(&t);
    table_close(&t);
    asked_close(&a);
    return code;
}

static int read_files(options *o, const taker *to) {
    bf_context *context = NULL;
    condition *c = NULL;
    if (o->file_count == 0) return fail(EXIT_USAGE, NULL, "no FILE given");
    int code = context_open(&context, o);
    if (code == EXIT_DONE) code = condition_open(&c, o);
    if (code == EXIT_DONE) code = read_table(o, context, to);
    condition_close(c);
    bf_context_destroy(context);
    return code;
}

int bitfold_read(int argc, char **argv, const char *also, bitfold_read_take *take, void *arg,
                 char **message) {
    static char name[] = "read", quiet[] = "--quiet";
    char **all = malloc(((size_t)argc + 3) * sizeof *all);
    options o;
    int code = EXIT_IO;
    report_command(name);
    report_hold(true);
    if (all) {
        all[0] = name;
        all[1] = quiet;
        if (argc > 0) memcpy(all + 2, argv, (size_t)argc * sizeof *all);
        all[argc + 2] = NULL;
        if (options_parse(&o, argc + 2, all, &read_usage, &code))
            code = read_files(&o, &(taker){also, take, arg});
    }
    *message = report_take();
    free(all);
    return code;
}
