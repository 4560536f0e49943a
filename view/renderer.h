/* A thread that computes pictures, with a context of its own: the newest one that is asked for, in
 * parts, and leaves off the others. It saves pictures too. */
#ifndef BITFOLD_VIEW_RENDERER_H
#define BITFOLD_VIEW_RENDERER_H

#include "view/picture.h"

#include <limits.h>

typedef struct renderer renderer;

/* A picture that was to be saved. */
typedef struct saving {
    julia_request request;
    char name[NAME_MAX + 1];
    double seconds; /* that its pixels took */
    int code;       /* EXIT_DONE, or why it is not there; that has been reported */
    bool ended;
} saving;

/* The context is the thread's from now on, until renderer_stop. `tell` is called in that thread
 * when there is something to take. NULL: no memory, or no thread. */
renderer *renderer_start(bf_context *context, void (*tell)(void *arg), void *arg);

/* What is to be computed. Returns at once, as do the others but for renderer_stop. */
void renderer_show(renderer *r, const bf_julia_params *params);

/* Saves this picture, whatever is to be shown meanwhile. False: another one is still being saved.
 */
bool renderer_save(renderer *r, const julia_request *request, const char *name);

/* Copies what has changed to *mine, which is zero at first and whose counts the caller frees; and
 * to *saved a picture that was to be saved, if it has ended. Returns EXIT_DONE, or why no picture
 * can be computed any more, which has been reported. */
int renderer_take(renderer *r, picture *mine, saving *saved);

/* Waits for a picture that is being saved, and takes as renderer_take does. Frees what the thread
 * has. */
int renderer_stop(renderer *r, picture *mine, saving *saved);

#endif
