/* Pictures in a terminal: half blocks in colour, or characters. */
#ifndef BITFOLD_CLI_JULIA_TERMINAL_H
#define BITFOLD_CLI_JULIA_TERMINAL_H

#include "julia/options.h"

/* Makes the picture as large as the terminal that standard output leads to allows (80 x 40
 * characters where it leads to none), and as high, beside its width, as it was. */
void julia_terminal_fit(bf_julia_params *params);

/* Draws it on standard output. Returns an exit code. */
int julia_terminal_draw(const julia_request *r, const uint16_t *counts);

#endif
