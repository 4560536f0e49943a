/* What groups choose among their values, as columns of a sheet. */
#ifndef BITFOLD_CLI_GROUP_CHOICES_H
#define BITFOLD_CLI_GROUP_CHOICES_H

#include "group/shown.h"

/* Takes result i of all groups, which is chosen. */
bf_status choices_take(const shown *s, int i, shown_column *c);

/* Whether result i is a text; what its field of a structured array is. */
bool choices_is_text(const numbered *x, int i);
void choices_type(const numbered *x, int i, structured_field *field);

#endif
