/* The action of each key and of each move of the mouse. */
#ifndef BITFOLD_VIEW_CONTROL_H
#define BITFOLD_VIEW_CONTROL_H

#include "view/view.h"

/* Keys are characters, or these. */
enum { KEY_LEFT = 256, KEY_RIGHT, KEY_UP, KEY_DOWN, KEY_ESCAPE = 27 };

typedef enum gesture_kind {
    GESTURE_KEY,   /* key */
    GESTURE_POINT, /* the pointer is now at (x, y), in pixels */
    GESTURE_DRAG,  /* it came there with its button down */
    GESTURE_WHEEL, /* the wheel turned by y notches, away from the user if positive */
    GESTURE_SIZE   /* the window has x by y pixels now */
} gesture_kind;

typedef struct gesture {
    gesture_kind kind;
    int key;
    double x, y;
} gesture;

typedef struct control {
    view view;
    double x, y; /* where the pointer is */
    bool information, help;
} control;

/* What is to be done after a gesture. */
enum { DO_REDRAW = 1, DO_RECOLOR = 2, DO_RENDER = 4, DO_SAVE = 8, DO_QUIT = 16 };

void control_start(control *c, const julia_request *first, bool wide);

/* Returns DO_... together. */
unsigned control_take(control *c, const gesture *in);

#endif
