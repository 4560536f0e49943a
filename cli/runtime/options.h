/* The options that commands share: one table, from which both parsing and help are made. */
#ifndef BITFOLD_CLI_RUNTIME_OPTIONS_H
#define BITFOLD_CLI_RUNTIME_OPTIONS_H

#include "input/source.h"
#include "memory/plan.h"
#include "runtime/progress.h"
#include "runtime/report.h"

#include <stdbool.h>

/* Groups of options; a command says which of them it takes. The rest every command takes. */
enum option_group {
    TAKES_INPUT = 1,          /* --format --dtype --offset --count --column --delimiter --header */
    TAKES_NAN = 2,            /* --nan */
    TAKES_ROUNDING = 4,       /* --out-dtype */
    TAKES_DDOF = 8,           /* --ddof */
    TAKES_RUNNING = 16,       /* --device --isa --threads --stats */
    TAKES_SAVE = 32,          /* --save */
    TAKES_TOTAL = 64,         /* --total */
    TAKES_OUTPUT = 128,       /* -o --json --tsv --hex */
    TAKES_JSON = 256,         /* --json alone */
    TAKES_STDIN = 512,        /* no FILE is standard input */
    TAKES_SORT = 1 << 10,     /* --descending --axis --offsets */
    TAKES_FIRST = 1 << 11,    /* -n --least --axis */
    TAKES_PERCENTS = 1 << 12, /* -p --method */
    TAKES_TIMES = 1 << 13,    /* --count, in place of --count N */
    TAKES_WORK = 1 << 14,     /* --checkpoint --checkpoint-interval */
    TAKES_MINUS = 1 << 15,    /* --minus */
    TAKES_AGAINST = 1 << 16,  /* --against --full */
    TAKES_OVERFLOW = 1 << 17, /* --overflow */
    TAKES_MAP = 1 << 18,      /* --to -o */
    TAKES_DEVICE = 1 << 19,   /* --device alone */
    TAKES_BINS = 1 << 20,     /* --bins --range --edges --weights --strict */
    TAKES_PLOT = 1 << 21,     /* --density --log --title */
    TAKES_MEMORY = 1 << 22,   /* --memory --spill */
    TAKES_JULIA = 1 << 23,    /* what a picture is */
    TAKES_SEED = 1 << 24,     /* --seed */
    TAKES_TOP = 1 << 25,      /* --sort -n */
    TAKES_ROWS = 1 << 27,     /* --count N: with TAKES_INPUT, unless TAKES_GROUPS or TAKES_TIMES */
    TAKES_GROUPS = 1 << 26,   /* --sum --mean --min --max --median --quantile --method --count */
    TAKES_FRAMES = 1 << 28,   /* -o --frames --c-path --view */
    TAKES_MANY = 1 << 29,     /* --axis --offsets --index --slots */
    TAKES_EMPTY = 1 << 30     /* --empty */
};
/* These fit no enum. */
#define TAKES_QUANTILES (UINT64_C(1) << 31)  /* --quantiles */
#define TAKES_EXPRESSION (UINT64_C(1) << 32) /* -e */
#define TAKES_SHEET (UINT64_C(1) << 33)      /* --csv --markdown */
#define TAKES_INFER (UINT64_C(1) << 34)      /* --infer */
#define TAKES_JOIN (UINT64_C(1) << 35)       /* --on --how --take */
#define TAKES_BY (UINT64_C(1) << 36)         /* --by --where --total -n; --sort by column */
#define TAKES_KEYS (UINT64_C(1) << 37)       /* --by --where alone */

#define TAKES_ARRAY (UINT64_C(1) << 38) /* -o FILE.npy */

enum layout { LAYOUT_PLAIN, LAYOUT_TSV, LAYOUT_JSON, LAYOUT_CSV, LAYOUT_MARKDOWN, LAYOUT_JSONL };

/* What -o writes: first the layouts, in their order. */
enum form {
    FORM_AUTO, /* as the name's ending tells; in the end: nothing is written to a file */
    FORM_TEXT,
    FORM_TSV,
    FORM_JSON,
    FORM_CSV,
    FORM_MARKDOWN,
    FORM_JSONL,
    FORM_NPY,
    FORM_PNG,
    FORM_SVG,
    FORM_PDF
};

enum { OPTIONS_AGGREGATES = 64, OPTIONS_MINUS = 128 };

/* An aggregate that group shall compute: a reduction, or what depends on the order of values. */
struct wanted_aggregate {
    const char *option; /* its name */
    bf_reduction op;
    const char *values; /* whose; NULL: the number of rows */
    enum wanted_order { ORDER_NONE, ORDER_MEDIAN_OF, ORDER_QUANTILE_OF } order;
    double percent; /* of a quantile */
};

/* Which rows a join on keys shows. */
enum join_how { HOW_INNER, HOW_LEFT, HOW_OUTER, HOW_SEMI, HOW_ANTI };

/* The axes that are reduced, as they were given; n 0: none were. */
struct wanted_axes {
    int n, at[BF_MAX_DIMS];
};

/* The percents of quantiles; n 0: none were given. The list lives until the next command line is
 * read. */
struct wanted_percents {
    int n;
    double *at;
};

typedef struct options {
    input input;
    bf_reduce_options rules;
    bf_dtype to; /* BF_NONE: not given */
    const char *device, *isa;
    int threads;
    const char *save, *output, *against, *checkpoint;   /* NULL: not given */
    const char *bins, *range, *edges, *weights, *title; /* NULL: not given */
    const char *size, *c, *iterations, *escape, *center, *scale, *palette, *frames, *c_path;
    memory_plan memory;
    double checkpoint_interval; /* seconds */
    const char *spill;          /* a directory; NULL: not given */
    bool total, hex, stats, quiet, verbose, help, density, log, strict, mandelbrot, view;
    bool full;  /* verify: all elements */
    bool infer; /* show dtypes and their causes, not values */
    enum layout layout;
    enum form form; /* sheet/form.h */
    enum progress_mode progress;
    enum color_mode color;
    int64_t seed, top;                         /* top 0: not given */
    int by_key;                                /* --sort: 0 count, 1 key */
    const char *on, *take, *sort, *by, *where; /* NULL: not given */
    bool distinct; /* --by: the keys in order, with counts if --count asks for them */
    enum join_how how;
    struct wanted_aggregate aggregates[OPTIONS_AGGREGATES];
    int aggregate_count;
    const char *minus[OPTIONS_MINUS]; /* states to take out */
    int minus_count;
    struct wanted_axes axes;
    const char *expression;              /* NULL: not given */
    const char *offsets, *index, *empty; /* NULL: not given */
    int64_t slots;                       /* -1: not given */
    bool descending, least, times;       /* times: how often each occurs */
    int64_t first;                       /* how many; 0: not given */
    struct wanted_percents percents, quantiles;
    bf_quantile_method method;
    char **files;
    int file_count;
} options;

/* An option, as parsing, help and completion know it. */
typedef struct option_spec option_spec;

/* Reads an operand (of an option without one: NULL) into a member of a struct. False: it is wrong,
 * which has been reported. runtime/operand.h has the usual ones. */
typedef bool option_reader(const option_spec *spec, const char *operand, void *member);

struct option_spec {
    const char *name;
    char letter;         /* '\0': none */
    const char *operand; /* NULL: none; "a|b|c": one of these; FILE: a file; T: a dtype */
    const char *help;
    uint64_t takes; /* the groups that it belongs to; 0: every command has it */
    option_reader *read;
    size_t at;           /* offset of the member that it sets */
    int value;           /* what it sets it to, where there is no operand */
    int64_t least, most; /* of a number */
    bool repeats;        /* given twice, it counts twice */
    bool optional;       /* its operand may be left out: --name, or --name=operand */
    bool incidental;     /* says how to run or what to show: a checkpoint does not depend on it */
};

/* A command, as --help tells it. */
typedef struct usage {
    const char *synopsis; /* what follows the command's name */
    const char *text;     /* what it does, in a few lines */
    uint64_t takes;       /* option groups */
    const char *example;  /* shell commands, one a line; the tests run them */
} usage;

/* The options of a command that shares none but --help. */
typedef struct own_options {
    const option_spec *specs;
    int n;      /* at most OPTIONS_OWN */
    void *into; /* the struct that they are read into */
} own_options;

/* Lists the options that a command has, in the order of its help; own may be NULL. Returns how
 * many. */
enum { OPTIONS_MOST = 144, OPTIONS_OWN = 32 };
int options_of(const usage *u, const own_options *own, const option_spec *list[OPTIONS_MOST]);

/* Handles --help of a command: prints its usage and options, unless options_on_help set another. */
typedef void help_writer(const char *command, const usage *u, const option_spec *const list[],
                         int n);
void options_on_help(help_writer *writer);
void options_show(const char *command, const usage *u, const own_options *own);

/* Reports an option that was given before with another operand: the first would be lost. given is
 * where this option's operand is remembered, NULL at first. */
bool options_again(const char **given, const option_spec *spec, const char *operand);

/* The hint for an unknown option such as "--colum=2": the one of the list that was probably meant,
 * or else what `otherwise` says. */
void options_guess(const char *option, const option_spec *const list[], int n,
                   const char *otherwise);

/* An option as it was given. */
typedef struct given_option {
    const option_spec *spec;
    const char *operand; /* NULL: none */
} given_option;

/* Returns the options of the command line, in its order, and how many there are. */
const given_option *options_given(int *n);

/* The option that asks for this layout, as in "csv". */
const char *options_layout(enum layout layout);

/* Is this operand of --device a GPU, or all of them: "cuda", "cuda:N" or "cuda:all"? */
bool options_gpu(const char *device);

/* Bytes of an array in a file that are best taken at once; 0: the usual. On a GPU, more. */
int64_t options_slab(const options *o);

/* Reads the command line. False: stop at once and return *code (help was shown, or an error). */
bool options_parse(options *o, int argc, char **argv, const usage *u, int *code);

/* The same for a command with options of its own. */
bool options_parse_own(options *o, const own_options *own, int argc, char **argv, const usage *u,
                       int *code);

#endif
