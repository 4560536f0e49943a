/* The letters of the window: ASCII, drawn from dots. */
#ifndef BITFOLD_VIEW_FONT_H
#define BITFOLD_VIEW_FONT_H

#include <stdbool.h>

/* A character has 5 x 8 dots; the last row is for parts below the line. */
enum { FONT_WIDTH = 5, FONT_HEIGHT = 8 };

/* Returns whether this dot of the character is dark. Characters other than ASCII look like '?'. */
bool font_dot(char c, int x, int y);

#endif
