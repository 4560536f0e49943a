/* The commands, and what each of them is given.
 *
 * argv[0] is the command's own name, so that commands that differ only in the operation share one
 * function. A command prints its results on standard output and returns an exit code (report.h). */
#ifndef BITFOLD_CLI_COMMAND_H
#define BITFOLD_CLI_COMMAND_H

struct saved_showing; /* runtime/statefile.h */

typedef struct command {
    const char *name, *family, *summary;
    int (*run)(int argc, char **argv);
} command;

int cmd_value(int argc, char **argv); /* sum prod mean var std norm sumsq min max argmin argmax */
int cmd_describe(int argc, char **argv); /* the main values of each file or column */
int cmd_dot(int argc, char **argv);      /* the dot product of two files */
int cmd_map(int argc, char **argv);      /* element-wise operations */
int cmd_hist(int argc, char **argv);     /* how many elements each bin holds */
int cmd_count(int argc, char **argv);    /* the different numbers, and how many of each */
int cmd_group(int argc, char **argv);    /* what the rows of each key come to */
int cmd_join(int argc, char **argv);     /* the rows of two files that have the same number */
int cmd_merge(int argc, char **argv);    /* combines saved states */
int cmd_julia(int argc, char **argv);    /* pictures of Julia sets */
int cmd_devices(int argc, char **argv);  /* what this machine has, and what is used of it */
int cmd_verify(int argc, char **argv); /* the same bits on every instruction set and thread count */
int cmd_bench(int argc, char **argv);  /* speed on this machine */
int cmd_ladder(int argc, char **argv); /* the classic teaching kernels, measured beside ours */

/* For merge: show a saved histogram as hist does, and saved groups as count or group does. Return
 * exit codes, having reported the failure. */
int hist_show_saved(const struct saved_showing *x);
int group_show_saved(const struct saved_showing *x);

#endif
