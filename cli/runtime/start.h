/* What a process does before it runs a command. */
#ifndef BITFOLD_CLI_RUNTIME_START_H
#define BITFOLD_CLI_RUNTIME_START_H

/* Makes the standard streams and signals such that every failure of a write is reported. */
void start_process(void);

#endif
