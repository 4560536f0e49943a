/* Where the threads of n ranks of one process meet. */
#ifndef BF_API_COMM_MEETING_H
#define BF_API_COMM_MEETING_H

#include <bitfold/comm.h>

typedef struct bf_meeting bf_meeting;

/* Returns NULL if there is no memory. Each rank leaves once; the last one frees the meeting. Ranks
 * that wait for one that has left fail. */
bf_meeting *bf_meeting_make(int ranks);
void bf_meeting_leave(bf_meeting *meeting);
/* The carrier of this rank. */
bf_carrier bf_meeting_carrier(bf_meeting *meeting, int rank);

#endif
