/* The window, by SDL2: it turns events into gestures, pictures into a texture, and words into dots.
 */
#ifndef BITFOLD_VIEW_WINDOW_H
#define BITFOLD_VIEW_WINDOW_H

#include "view/control.h"

typedef struct window window;

typedef struct window_options {
    bool wide;  /* f64 was asked for */
    bool sized; /* a size was; otherwise the window fits the screen */
    bool stats;
} window_options;

/* Opens a window that shows the picture. The context belongs to it until it is closed. NULL on
 * failure, which has been reported. */
window *window_open(const julia_request *first, const window_options *o, bf_context *context);

/* Shows it until the user quits. */
void window_run(window *w);

/* Waits for a picture that is being saved. Returns an exit code. */
int window_close(window *w);

#endif
