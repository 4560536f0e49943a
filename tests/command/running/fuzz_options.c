/* Any arguments at all, one a line, for commands that take all groups of options, none, or those
 * that the first byte names: what is accepted makes sense, and what is refused has an exit code. */
#include "cli/command.h"
#include "cli/options/options.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) abort();
}

static void check_accepted(const options *o, const usage *u) {
    require(!o->help);
    require(o->threads >= 1 && o->threads <= 1024);
    require(o->input.format >= FORMAT_AUTO && o->input.format <= FORMAT_JSONL);
    require(o->input.first >= 0 && o->input.count >= -1);
    require(o->input.dtype == BF_NONE || bf_dtype_size(o->input.dtype) > 0);
    require(o->input.format != FORMAT_RAW || o->input.dtype != BF_NONE);
    require(o->rules.nan >= BF_NAN_PROPAGATE && o->rules.nan <= BF_NAN_ERROR);
    require(o->rules.ddof == 0 || o->rules.ddof == 1);
    require(o->layout >= LAYOUT_PLAIN && o->layout <= LAYOUT_JSONL);
    require(o->color >= COLOR_AUTO && o->color <= COLOR_NEVER);
    require(o->file_count >= 0 && (o->file_count > 0 || !(u->takes & TAKES_STDIN)));
    for (int i = 0; i < o->file_count; i++) require(o->files[i] != NULL);
    require(!o->save || (u->takes & TAKES_SAVE));
}

static void parse(uint64_t takes, int argc, char **argv) {
    const usage u = {"[FILE...]", "A command.", takes, "help", "bitfold fuzz", &hist_options};
    options o;
    int code = -1;
    if (options_parse(&o, argc, argv, &u, &code)) {
        require(code == EXIT_DONE);
        check_accepted(&o, &u);
    } else {
        require(code == EXIT_USAGE || code == EXIT_DEVICE || (code == EXIT_DONE && o.help));
    }
}

enum { MOST = 100 };

/* Splits a copy of the text, for getopt reorders the arguments. */
static void parse_lines(uint64_t takes, const uint8_t *data, size_t size) {
    char name[] = "fuzz", *argv[MOST + 1] = {name};
    char *text = malloc(size + 1);
    int argc = 1;
    if (!text) return;
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *at = text; at && argc < MOST; argc++) {
        argv[argc] = at;
        at = strchr(at, '\n');
        if (at) *at++ = '\0';
    }
    parse(takes, argc, argv);
    free(text);
}

/* What is said about the arguments is not to be seen. */
static void be_silent(void) {
    static FILE *null;
    if (!null) null = fopen("/dev/null", "w");
    require(null != NULL);
    stdout = stderr = null;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    FILE *const out = stdout, *const error = stderr;
    be_silent();
    parse_lines(~TAKES_HELP, data + 1, size - 1);
    parse_lines(0, data + 1, size - 1);
    parse_lines(TAKES_BIT(data[0] % 32), data + 1, size - 1);
    stdout = out;
    stderr = error;
    return 0;
}
