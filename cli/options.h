/* The options that commands share: one table, from which both parsing and help are made. */
#ifndef BITFOLD_CLI_OPTIONS_H
#define BITFOLD_CLI_OPTIONS_H

#include "io/source.h"
#include "progress.h"
#include "report.h"

#include <stdbool.h>

/* Groups of options; a command says which of them it takes. The rest every command takes. */
enum option_group {
    TAKES_INPUT = 1,    /* --format --dtype --offset --count */
    TAKES_NAN = 2,      /* --nan */
    TAKES_ROUNDING = 4, /* --out-dtype */
    TAKES_DDOF = 8,     /* --ddof */
    TAKES_RUNNING = 16, /* --device --isa --threads */
    TAKES_SAVE = 32,    /* --save */
    TAKES_TOTAL = 64,   /* --total */
    TAKES_OUTPUT = 128, /* -o --json --tsv --hex */
    TAKES_JSON = 256,   /* --json alone */
    TAKES_STDIN = 512   /* no FILE is standard input */
};

enum layout { LAYOUT_PLAIN, LAYOUT_TSV, LAYOUT_JSON };

typedef struct options {
    input input;
    bf_reduce_options rules;
    const char *device, *isa;
    int threads;
    const char *save, *output; /* NULL: not given */
    bool total, hex, stats, quiet, verbose, help;
    enum layout layout;
    enum progress_mode progress;
    enum color_mode color;
    char **files;
    int file_count;
} options;

/* A command, as --help tells it. */
typedef struct usage {
    const char *synopsis; /* what follows the command's name */
    const char *text;     /* what it does, in a few lines */
    unsigned takes;       /* option groups */
} usage;

/* Reads the command line. False: stop at once and return *code (help was shown, or an error). */
bool options_parse(options *o, int argc, char **argv, const usage *u, int *code);

#endif
