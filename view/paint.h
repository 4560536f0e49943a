/* Draws words over a picture. */
#ifndef BITFOLD_VIEW_PAINT_H
#define BITFOLD_VIEW_PAINT_H

#include "view/words.h"

#include <SDL.h>

/* Draws lines of text from row *y on, each dot of a letter as dot x dot pixels. Sets *y to their
 * end. */
void paint_words(SDL_Renderer *to, const words *w, int dot, int *y);

/* How wide lines may become. */
int paint_width(int dot);

#endif
