/* Operands of options: each function reads one, or says what is wrong with it and is false. */
#ifndef BITFOLD_CLI_RUNTIME_OPERAND_H
#define BITFOLD_CLI_RUNTIME_OPERAND_H

#include "runtime/options.h"

/* Says that text is not what was expected. False. */
bool operand_bad(const char *name, const char *text, const char *expected);

/* The place of text in the list "a|b|c" that the option takes. */
bool operand_choice(const option_spec *spec, const char *text, int *choice);
bool operand_number(const option_spec *spec, const char *text, int64_t least, int64_t most,
                    int64_t *out);
bool operand_dtype(const option_spec *spec, const char *text, bf_dtype *out);
bool operand_columns(const option_spec *spec, const char *text, const char **out);
/* One character; a tab also as \t. */
bool operand_delimiter(const option_spec *spec, const char *text, char *out);
/* Bytes, maybe with KiB, MiB, GiB or TiB behind the number. */
bool operand_size(const option_spec *spec, const char *text, int64_t *out);
bool operand_threads(const option_spec *spec, const char *text, int *threads);

#endif
