/* A thread that computes pictures, with a context of its own. It computes the newest picture that
 * is wanted, in parts, and abandons older ones. It saves pictures too. */
#ifndef BITFOLD_VIEW_RENDERER_H
#define BITFOLD_VIEW_RENDERER_H

#include "view/picture.h"

#include <limits.h>

typedef struct renderer renderer;

/* A picture that was to be saved. */
typedef struct saving {
    julia_request request;
    char name[NAME_MAX + 1];
    double seconds; /* what its pixels took */
    int code;       /* EXIT_DONE, or the reason for its absence, which has been reported */
    bool ended;
} saving;

/* The context belongs to the thread from now until renderer_stop. `tell` is called in that thread
 * when there is something to take. Returns NULL if there is no memory or no thread. */
renderer *renderer_start(bf_context *context, void (*tell)(void *arg), void *arg);

/* Sets the picture to compute. Returns at once, as do the others except renderer_stop. */
void renderer_show(renderer *r, const bf_julia_params *params);

/* Saves this picture, whichever is shown meanwhile. False if another one is still being saved. */
bool renderer_save(renderer *r, const julia_request *request, const char *name);

/* Copies the changed rows to *mine, which is zero at first and whose counts the caller frees.
 * Copies to *saved a picture whose saving has ended. Returns EXIT_DONE, or the reason why no
 * picture can be computed any more, which has been reported. */
int renderer_take(renderer *r, picture *mine, saving *saved);

/* Waits for a picture that is being saved, takes as renderer_take does, and frees the thread's
 * memory. */
int renderer_stop(renderer *r, picture *mine, saving *saved);

#endif
