/* The window, a program of its own: the command needs no library of windows. */
#ifndef BITFOLD_CLI_JULIA_VIEW_H
#define BITFOLD_CLI_JULIA_VIEW_H

/* Replaces this process by bitfold-view, with the options of 'bitfold julia'. Returns an exit code
 * only on failure. */
int julia_view_start(char **argv);

#endif
