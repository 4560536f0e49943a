/* Completion for shells, made from the tables that --help is made from. */
#ifndef BITFOLD_CLI_HELP_COMPLETION_H
#define BITFOLD_CLI_HELP_COMPLETION_H

#include "command.h"

/* Prints the script for "bash", "zsh" or "fish" that completes these commands. Returns an exit
 * code. */
int completion_write(const char *shell, const command *commands, int n);

#endif
