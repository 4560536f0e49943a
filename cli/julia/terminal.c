#include "julia/terminal.h"

#include "plot/plot.h"
#include "sheet/output.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A character shows two pixels, one above the other, because it is about twice as high as wide. */
enum { USUAL_LINES = 40 };

enum colors { PLAIN, CUBE, TRUE_COLORS };

static int find_lines(int fd) {
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_row < 2) return USUAL_LINES;
    return size.ws_row - 1; /* leaves a line for the prompt */
}

void julia_terminal_fit(bf_julia_params *p) {
    const int64_t most = terminal_find(STDOUT_FILENO).width;
    const int64_t rows = 2 * find_lines(STDOUT_FILENO);
    const double high = (double)p->height / (double)p->width;
    int64_t width = (double)most * high > (double)rows ? (int64_t)((double)rows / high) : most;
    if (width < 1) width = 1;
    double height = (double)width * high;
    if (height > (double)rows) height = (double)rows;
    p->width = width;
    p->height = height < 2 ? 2 : (int64_t)height / 2 * 2;
}

static enum colors find_colors(void) {
    const terminal t = terminal_find(STDOUT_FILENO);
    const char *kind = getenv("COLORTERM"), *term = getenv("TERM");
    if (!t.color || !t.unicode) return PLAIN;
    if (kind && (strcmp(kind, "truecolor") == 0 || strcmp(kind, "24bit") == 0)) return TRUE_COLORS;
    return term && strstr(term, "256color") ? CUBE : PLAIN;
}

/* --- characters --- */

static void draw_plain(const julia_request *r, const uint16_t *counts, uint8_t *rgba) {
    static const char shades[] = " .:-=+*#%";
    const int64_t width = r->params.width;
    for (int64_t y = 0; y < r->params.height; y += 2) {
        const uint16_t *row = counts + y * width;
        bf_palette_colors(BF_PALETTE_GRAY, r->params.iterations, row, width, rgba);
        for (int64_t x = 0; x < width; x++) {
            const bool inside = row[x] >= r->params.iterations;
            putchar(inside ? '@' : shades[rgba[4 * x] * (sizeof shades - 2) / 255]);
        }
        putchar('\n');
    }
}

/* --- half blocks --- */

static int step_of(uint8_t level) { return (level * 5 + 127) / 255; }

/* Writes the escape sequence for a foreground (38) or background (48) colour. */
static void put_color(enum colors colors, int ground, const uint8_t *rgba) {
    if (colors == TRUE_COLORS)
        printf("\033[%d;2;%d;%d;%dm", ground, rgba[0], rgba[1], rgba[2]);
    else
        printf("\033[%d;5;%dm", ground,
               16 + 36 * step_of(rgba[0]) + 6 * step_of(rgba[1]) + step_of(rgba[2]));
}

/* The foreground of a character is the upper pixel, its background the lower one. */
static void draw_blocks(const julia_request *r, const uint16_t *counts, uint8_t *rgba,
                        enum colors colors) {
    const int64_t width = r->params.width;
    for (int64_t y = 0; y < r->params.height; y += 2) {
        bf_palette_colors(r->palette, r->params.iterations, counts + y * width, 2 * width, rgba);
        for (int64_t x = 0; x < width; x++) {
            const uint8_t *above = rgba + 4 * x, *below = above + 4 * width;
            if (x == 0 || memcmp(above, above - 4, 4) != 0) put_color(colors, 38, above);
            if (x == 0 || memcmp(below, below - 4, 4) != 0) put_color(colors, 48, below);
            fputs("\u2580", stdout);
        }
        puts("\033[0m");
    }
}

int julia_terminal_draw(const julia_request *r, const uint16_t *counts) {
    uint8_t *rgba = malloc((size_t)r->params.width * 8);
    const enum colors colors = find_colors();
    if (!rgba) return fail_memory(NULL);
    if (colors == PLAIN)
        draw_plain(r, counts, rgba);
    else
        draw_blocks(r, counts, rgba, colors);
    free(rgba);
    return output_flush(stdout, "standard output");
}
