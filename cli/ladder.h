/* ladder: the classic teaching kernels, measured beside ours. */
#ifndef BITFOLD_CLI_LADDER_H
#define BITFOLD_CLI_LADDER_H

int cmd_ladder(int argc, char **argv);

#endif
