/* The saved form of a table's groups: what is asked, and what there is. It is of a file that --save
 * writes, of a checkpoint, and what ranks send. */
#ifndef BITFOLD_CLI_GROUP_SAVED_H
#define BITFOLD_CLI_GROUP_SAVED_H

#include "group/numbered.h"
#include "work/checkpoint.h"

/* Writes what is asked, or the groups: all rows that were taken are absorbed first. */
void saved_put_question(checkpoint_writer *to, const numbered *x);
int saved_put_groups(checkpoint_writer *to, numbered *x);

/* Reads what is asked into asked and a table of no files, whose memory they own. False: it is
 * damaged, or there is no memory. */
bool saved_take_question(checkpoint_reader *from, asked *a, table *t);

/* Reads groups of a table in place of those of x, whose table is begun. */
bool saved_take_groups(checkpoint_reader *from, numbered *x);

/* Writes, or reads, the wholes of which groups have shares, which a checkpoint has beside them. */
int saved_put_whole(checkpoint_writer *to, numbered *x);
bool saved_take_whole(checkpoint_reader *from, numbered *x);

#endif
