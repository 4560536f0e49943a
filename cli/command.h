/* The commands, and what each of them is given.
 *
 * argv[0] is the command's own name, so that commands that differ only in the operation share one
 * function. A command prints its results on standard output and returns an exit code (report.h). */
#ifndef BITFOLD_CLI_COMMAND_H
#define BITFOLD_CLI_COMMAND_H

int cmd_value(int argc, char **argv);  /* sum mean var std norm sumsq min max argmin argmax */
int cmd_dot(int argc, char **argv);    /* the dot product of two files */
int cmd_merge(int argc, char **argv);  /* combines saved states */
int cmd_verify(int argc, char **argv); /* the same bits on every instruction set and thread count */
int cmd_bench(int argc, char **argv);  /* speed on this machine */

#endif
