/* The options that commands share: one table, from which both parsing and help are made. */
#ifndef BITFOLD_CLI_OPTIONS_OPTIONS_H
#define BITFOLD_CLI_OPTIONS_OPTIONS_H

#include "input/source.h"
#include "memory/plan.h"
#include "runtime/progress.h"
#include "runtime/report.h"

#include <stdbool.h>

/* Groups of options; a command says which of them it takes. The rest every command takes. */
#define TAKES_BIT(n) (UINT64_C(1) << (n))
#define TAKES_INPUT TAKES_BIT(0)       /* how to read arrays and text */
#define TAKES_NAN TAKES_BIT(1)         /* --nan */
#define TAKES_ROUNDING TAKES_BIT(2)    /* --out-dtype */
#define TAKES_DDOF TAKES_BIT(3)        /* --ddof */
#define TAKES_RUNNING TAKES_BIT(4)     /* --device --isa --threads --stats */
#define TAKES_SAVE TAKES_BIT(5)        /* --save */
#define TAKES_TOTAL TAKES_BIT(6)       /* --total */
#define TAKES_OUTPUT TAKES_BIT(7)      /* -o --json --tsv --hex */
#define TAKES_JSON TAKES_BIT(8)        /* --json alone */
#define TAKES_STDIN TAKES_BIT(9)       /* no FILE is standard input */
#define TAKES_SORT TAKES_BIT(10)       /* what sort and argsort have */
#define TAKES_FIRST TAKES_BIT(11)      /* what top has */
#define TAKES_METHOD TAKES_BIT(12)     /* --method */
#define TAKES_WORK TAKES_BIT(13)       /* --checkpoint --checkpoint-interval */
#define TAKES_OVERFLOW TAKES_BIT(14)   /* --overflow */
#define TAKES_MAP TAKES_BIT(15)        /* -o, which may be an input */
#define TAKES_DEVICE TAKES_BIT(16)     /* --device alone */
#define TAKES_PLOT TAKES_BIT(17)       /* --density --log --title */
#define TAKES_MEMORY TAKES_BIT(18)     /* --memory --spill */
#define TAKES_SEED TAKES_BIT(19)       /* --seed */
#define TAKES_TOP TAKES_BIT(20)        /* --sort -n */
#define TAKES_FRAMES TAKES_BIT(21)     /* -o, which may be several pictures */
#define TAKES_MANY TAKES_BIT(22)       /* --axis --offsets --index --slots */
#define TAKES_EMPTY TAKES_BIT(23)      /* --empty */
#define TAKES_EXPRESSION TAKES_BIT(24) /* -e */
#define TAKES_SHEET TAKES_BIT(25)      /* --csv --markdown --jsonl */
#define TAKES_INFER TAKES_BIT(26)      /* --infer */
#define TAKES_JOIN TAKES_BIT(27)       /* what texts that are joined have */
#define TAKES_BY TAKES_BIT(28)         /* --by --where --total -n; --sort by column */
#define TAKES_KEYS TAKES_BIT(29)       /* --by alone */
#define TAKES_ARRAY TAKES_BIT(30)      /* -o FILE.npy */
#define TAKES_HELP TAKES_BIT(31)       /* --help is the only one of the shared ones */
#define TAKES_ROWS TAKES_BIT(32)       /* --where --take, of whole rows */
#define TAKES_ORDERED TAKES_BIT(33)    /* --by --text --number, of their order */
#define TAKES_WHERE TAKES_BIT(35)      /* --where alone */
#define TAKES_LIMIT TAKES_BIT(34)      /* -n alone */
#define TAKES_APPEND TAKES_BIT(36)     /* --append, and with it what a table is written as */
#define TAKES_WEIGHTS TAKES_BIT(37)    /* --weights --aweights */

enum help { HELP_NONE, HELP_SHORT, HELP_ALL };

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
#define ELEMENTS_MOST ((int64_t)1 << 62)

/* An aggregate that group shall compute: a reduction, or what depends on the order of values. */
struct wanted_aggregate {
    const char *option; /* its name */
    bf_reduction op;
    const char *values; /* the name of its values; NULL: the number of rows */
    const char *second; /* the name of the others of pairs; else NULL */
    bool pairs;
    enum wanted_order {
        ORDER_NONE,
        ORDER_MEDIAN_OF,
        ORDER_QUANTILE_OF,
        SHARE_OF_SUM, /* it depends on no order, as a reduction */
        ORDER_FIRST_OF,
        ORDER_LAST_OF,
        ORDER_MODE_OF,
        ORDER_DISTINCT_OF
    } order;
    double percent; /* a quantile's */
};

/* Says which rows a join on keys shows. */
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
    bool total, hex, stats, quiet, verbose, density, log, strict, mandelbrot, view;
    enum help help;
    bool full;  /* verify: all elements */
    bool all;   /* describe: skew and kurtosis, too */
    bool infer; /* show dtypes and their causes, not values */
    enum layout layout;
    enum form form; /* options/form.h */
    enum progress_mode progress;
    enum color_mode color;
    int64_t seed, top;                                  /* top 0: not given */
    int by_key;                                         /* --sort: 0 count, 1 key */
    const char *on, *take, *sort, *by, *where, *append; /* NULL: not given */
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

/* The sections of --help=all. */
enum option_section { IN_INPUT, IN_TEXT, IN_KEYS, IN_VALUES, IN_RUNNING, IN_OUTPUT };

/* An operand that names a file, which is read or written. */
enum option_file { FILE_NONE, FILE_READ, FILE_WRITTEN };

/* An option, as parsing, help and completion know it. */
typedef struct option_spec option_spec;

/* Reads an operand (of an option without one: NULL) into a member of a struct. False: it is wrong,
 * which has been reported. options/operand.h has the usual ones. */
typedef bool option_reader(const option_spec *spec, const char *operand, void *member);

struct option_spec {
    const char *name;
    char letter; /* '\0': none */
    enum option_section section;
    const char *operand; /* NULL: none; "a|b|c": one of these; T: a dtype */
    const char *help;
    uint64_t takes; /* the groups that it belongs to; 0: every command has it */
    option_reader *read;
    size_t at;             /* offset of the member that it sets */
    int value;             /* what it sets it to, where there is no operand */
    int64_t least, most;   /* the limits of a number */
    enum option_file file; /* what the operand names */
    bool repeats;          /* given twice, it counts twice */
    bool optional;         /* its operand may be left out: --name, or --name=operand */
    bool decides;          /* a checkpoint depends on it, as on all outside of running and output */
};

/* The options of a command, or of a family of commands, beside the shared ones. */
typedef struct option_table {
    const option_spec *specs;
    int n;
} option_table;
#define OPTION_AT(member) offsetof(options, member)
#define OPTION_TABLE(specs)                                                                        \
    { specs, sizeof(specs) / sizeof *(specs) }

/* A command, as --help tells it. Text is wrapped; an empty line begins a paragraph, and one that
 * begins with a blank stays as it is. */
typedef struct usage {
    const char *synopsis;    /* what follows the command's name */
    const char *text;        /* what it does; --help shows the first paragraph, --help=all all */
    uint64_t takes;          /* option groups */
    const char *common;      /* the names of the options that --help shows, with blanks between */
    const char *examples;    /* shell commands, one a line; the tests run them */
    const option_table *own; /* stand for shared ones of the same names; NULL: none */
} usage;

/* Lists the options that a command has: its own, then those that are shared. Returns how many. */
enum { OPTIONS_MOST = 144 };
int options_of(const usage *u, const option_spec *list[OPTIONS_MOST]);

/* The tables of all commands, so that an option of another command is known to be one. They stay
 * the caller's. */
void options_know(const option_table *const tables[], int n);

/* Handles --help of a command: prints its usage and options, unless options_on_help set another. */
typedef void help_writer(const char *command, const usage *u, const option_spec *const list[],
                         int n);
void options_on_help(help_writer *writer);
void options_show(const char *command, const usage *u, enum help help);

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

/* Reads a command's own options, too, into a struct of its own. */
bool options_parse_into(options *o, void *into, int argc, char **argv, const usage *u, int *code);

#endif
