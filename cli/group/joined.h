/* Groups of tables that become one, as parts of one table would: those of saved states and ranks.
 */
#ifndef BITFOLD_CLI_GROUP_JOINED_H
#define BITFOLD_CLI_GROUP_JOINED_H

#include "group/numbered.h"

/* Adds the groups of `from`, whose rows are behind all others, or in each file behind others; or
 * takes their rows out. What both ask for must be the same. BF_E_STATE: keys or values have no form
 * that holds those of both, or there is nothing like it to take out. BF_E_ARGUMENT: first and last
 * values cannot be taken out. On failure both are to be closed. */
bf_status joined_merge(numbered *into, numbered *from);
bf_status joined_merge_share(numbered *into, numbered *from);
bf_status joined_retract(numbered *into, numbered *from);

/* Whether no row is in the groups. Such groups fit all that ask for the same. */
bool joined_is_empty(const numbered *x);

#endif
