/* Pictures in a terminal: half blocks in colour, or characters. */
#ifndef BITFOLD_CLI_JULIA_TERMINAL_H
#define BITFOLD_CLI_JULIA_TERMINAL_H

#include "julia/options.h"

/* Fits the picture to the terminal of standard output (without one, to 80 x 40 characters), and
 * keeps the ratio of its sides. */
void julia_terminal_fit(bf_julia_params *params);

/* Draws the picture on standard output. Returns an exit code. */
int julia_terminal_draw(const julia_request *r, const uint16_t *counts);

#endif
