/* group --by, count --by and unique --by: a table of text, by the values of some of its columns. */
#ifndef BITFOLD_CLI_GROUP_BY_H
#define BITFOLD_CLI_GROUP_BY_H

#include "input/rows.h"
#include "options/options.h"
#include "sheet/output.h"
#include "work/statefile.h"

/* Runs the command; returns its exit code. */
int by_run(options *o);

/* Reports options that only --by has, where it is not given. ordered: the command knows an order by
 * count or key, and shows the first lines, without it. */
int by_check_absent(const options *o, bool ordered);

/* Numbers that unique reads without --by. Those of JSON lines may turn out to be others, which --by
 * can tell apart: it then takes the rows over. The command opens them, for text_options that say
 * `mixed`. NULL: there is no memory, as was reported. */
typedef struct by by;
by *by_open(const options *o);
rows *by_rows(by *x);
void by_close(by *x);

/* After ROWS_STRINGS: makes of the rows what --by would. Returns an exit code. */
int by_take(by *x, bf_context *context, output *out, double began);

/* ---- saved groups, for merge ----------------------------------------------------------------- */

/* Loads the groups that --save wrote. NULL: *code says what was reported. */
by *by_load(const options *o, bf_context *context, const char *name, const statefile *saved,
            int *code);

/* Adds the groups of `from`, or takes their rows out. BF_E_STATE: they do not go together. */
bf_status by_merge(by *into, by *from);
bf_status by_retract(by *into, by *from);

/* Whether no row is in the groups. */
bool by_is_empty(const by *x);

int by_show(by *x, output *out, const char *file, double began);
int by_save(by *x, outfile *to, const trailer *rules);

#endif
