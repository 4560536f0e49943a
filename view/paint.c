#include "view/paint.h"

#include "view/font.h"

#include <string.h>

enum { MARGIN = 4, ADVANCE = FONT_WIDTH + 1, LINE = FONT_HEIGHT + 2 }; /* in dots */

static int width_of(int columns, int dot) { return (columns * ADVANCE + 2 * MARGIN) * dot; }

int paint_width(int dot) { return width_of(WORDS_COLUMNS, dot); }

static void paint_ground(SDL_Renderer *to, const words *w, int dot, int y) {
    int columns = 0;
    for (int i = 0; i < w->count; i++) {
        const int n = (int)strlen(w->lines[i]);
        if (n > columns) columns = n;
    }
    const SDL_Rect ground = {0, y, width_of(columns, dot), (w->count * LINE + 2 * MARGIN) * dot};
    SDL_SetRenderDrawBlendMode(to, SDL_BLENDMODE_BLEND);
    SDL_SetRenderDrawColor(to, 0, 0, 0, 176);
    SDL_RenderFillRect(to, &ground);
}

static void paint_letter(SDL_Renderer *to, char c, int dot, int x, int y) {
    SDL_Rect dots[FONT_WIDTH * FONT_HEIGHT];
    int n = 0;
    for (int i = 0; i < FONT_HEIGHT; i++)
        for (int j = 0; j < FONT_WIDTH; j++)
            if (font_dot(c, j, i)) dots[n++] = (SDL_Rect){x + j * dot, y + i * dot, dot, dot};
    if (n > 0) SDL_RenderFillRects(to, dots, n);
}

void paint_words(SDL_Renderer *to, const words *w, int dot, int *y) {
    if (w->count == 0) return;
    paint_ground(to, w, dot, *y);
    SDL_SetRenderDrawColor(to, 255, 255, 255, 255);
    *y += MARGIN * dot;
    for (int i = 0; i < w->count; i++, *y += LINE * dot)
        for (int j = 0; w->lines[i][j]; j++)
            paint_letter(to, w->lines[i][j], dot, (MARGIN + j * ADVANCE) * dot, *y);
    *y += MARGIN * dot;
}
