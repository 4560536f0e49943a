/* A crew: threads that make the chunks of an input ahead of the one who uses them. */
#ifndef BITFOLD_CLI_INPUT_CREW_H
#define BITFOLD_CLI_INPUT_CREW_H

#include "input/chunk.h"

typedef struct crew crew;

/* At most so many threads make chunks, the caller's among them. NULL: there is no memory. */
crew *crew_open(const chunk_plan *plan, int threads);
void crew_close(crew *w);

/* The next chunk, in the order of the input, valid until the next call; NULL at the end. Shows the
 * progress while it waits. The calling thread makes chunks too, but for a stream, which may keep
 * it waiting. */
chunk *crew_next(crew *w);

/* The threads that make chunks. */
int crew_threads(const crew *w);

#endif
