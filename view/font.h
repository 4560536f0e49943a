/* The letters of the window: ASCII, drawn dot by dot. */
#ifndef BITFOLD_VIEW_FONT_H
#define BITFOLD_VIEW_FONT_H

#include <stdbool.h>

/* A character has 5 x 8 dots, of which the last row is for what hangs below the line. */
enum { FONT_WIDTH = 5, FONT_HEIGHT = 8 };

/* Is this dot of the character dark? Other characters look like '?'. */
bool font_dot(char c, int x, int y);

#endif
