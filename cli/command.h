/* The commands.
 *
 * argv[0] is the command's own name, so that commands that differ only in the operation share one
 * function. A command prints its results on standard output and returns an exit code (report.h). */
#ifndef BITFOLD_CLI_COMMAND_H
#define BITFOLD_CLI_COMMAND_H

struct saved_showing; /* work/statefile.h */
struct option_table;  /* options/options.h */

/* Says which of several ranks run a command: the first alone, all, or none: it is refused. */
enum command_ranks { BY_FIRST, BY_ALL, BY_NONE };

typedef struct command {
    const char *name, *family, *summary;
    int (*run)(int argc, char **argv);
    enum command_ranks ranks;
} command;

/* Runs the command that argv[1] names. Returns the exit code of the process, which is the same on
 * all ranks. */
int run_bitfold(int argc, char **argv);

int cmd_value(int argc, char **argv);    /* the reductions */
int cmd_describe(int argc, char **argv); /* cmd_value calls it for describe */
int cmd_pairs(int argc, char **argv);    /* fit; cmd_value calls it for dot cov corr */
int cmd_order(int argc, char **argv);    /* sort argsort median quantile top unique */
int cmd_drawn(int argc, char **argv);    /* sample shuffle */
int cmd_scan(int argc, char **argv);     /* cumsum cumprod cummin cummax rolling */
int cmd_map(int argc, char **argv);      /* element-wise operations */
int cmd_hist(int argc, char **argv);     /* the number of elements in each bin */
int cmd_count(int argc, char **argv);    /* the different numbers, and how often each occurs */
int cmd_group(int argc, char **argv);    /* aggregates of the rows of each key */
int cmd_join(int argc, char **argv);     /* the pairs of rows of two files with the same number */
int cmd_merge(int argc, char **argv);    /* combines saved states */
int cmd_julia(int argc, char **argv);    /* pictures of Julia sets */
int cmd_devices(int argc, char **argv);  /* the processor, memory and GPUs of this machine */
int cmd_verify(int argc, char **argv);   /* checks that every way to compute gives the same bits */
int cmd_bench(int argc, char **argv);    /* measures the speed of this machine */
int cmd_ladder(int argc, char **argv);   /* measures teaching kernels beside the library */

/* The options that each has beside the shared ones. */
extern const struct option_table describe_options, group_options, hist_options, join_options,
    map_options, merge_options, order_options, drawn_options, rolling_options, verify_options;

/* For merge: show a saved histogram as hist does, and saved groups as count or group does. Return
 * exit codes, having reported the failure. */
int hist_show_saved(const struct saved_showing *x);
int group_show_saved(const struct saved_showing *x);

#endif
