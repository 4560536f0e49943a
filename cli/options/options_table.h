/* The options that several commands share. */
#ifndef BITFOLD_CLI_OPTIONS_OPTIONS_TABLE_H
#define BITFOLD_CLI_OPTIONS_OPTIONS_TABLE_H

#include "options/options.h"

extern const option_table options_shared;
extern const option_spec *const options_help;

#endif
