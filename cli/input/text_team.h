/* The threads that read one text, each with a reader of its own. */
#ifndef BITFOLD_CLI_INPUT_TEXT_TEAM_H
#define BITFOLD_CLI_INPUT_TEXT_TEAM_H

#include "input/source.h"

typedef struct text_team {
    const source *source; /* NULL: it is not open */
    int threads;
    text_reader *readers; /* one for each; of a file, of no part of it yet */
} text_team;

/* At most so many threads, and one where more would gain nothing, or the rows selected are to be
 * counted. ordered: rows of a stream must come in their order. Close it in either case. Returns an
 * exit code, having reported the failure; so does text_team_check. */
int text_team_open(text_team *team, const source *s, int threads, bool ordered);
void text_team_close(text_team *team);

/* Calls work(arg, i) for each i below team->threads, each on a thread of its own, and shows the
 * progress until all have returned. */
void text_team_run(const text_team *team, void (*work)(void *arg, int i), void *arg);

/* Reports the failure of a reader: that which comes first in the text. */
int text_team_check(const text_team *team);

#endif
