/* Plots of bars over bins: in a terminal, or as a figure in a file. */
#ifndef BITFOLD_CLI_PLOT_PLOT_H
#define BITFOLD_CLI_PLOT_PLOT_H

#include <bitfold.h>

#include <stdbool.h>
#include <stdio.h>

typedef struct plot {
    int64_t n;           /* number of bars */
    const double *edges; /* n + 1 edges of the bars */
    bf_time_kind time;   /* the edges are times, in units of 10^-time_scale seconds */
    int time_scale;
    const int64_t *times;  /* the edges that are times, where doubles do not hold them; or NULL */
    const int64_t *counts; /* the length of each bar, unless there are values */
    const double *values;  /* NULL, or lengths of either sign, finite or not */
    bool density;          /* the values are densities */
    bool log;              /* the scale is logarithmic, and no value is negative */
    const char *title;     /* "": none */
    const char *x_label, *y_label;
    const char *note; /* names what the plot leaves out; "": nothing */
} plot;

static inline double plot_value(const plot *p, int64_t i) {
    return p->values ? p->values[i] : (double)p->counts[i];
}

/* positive: the least positive value, or 0. least and most: the range of the finite values and 0.
 */
typedef struct plot_span {
    double positive, least, most;
} plot_span;

plot_span plot_span_of(const plot *p);

/* ---- terminals ------------------------------------------------------------------------------- */

typedef struct terminal {
    int width;
    bool unicode, color;
} terminal;

/* Returns what the environment says of the terminal behind a file descriptor. */
terminal terminal_find(int fd);

void plot_terminal(FILE *f, const plot *p, const terminal *t);

/* ---- figures --------------------------------------------------------------------------------- */

enum figure_format { FIGURE_PNG, FIGURE_SVG, FIGURE_PDF };

/* Returns EXIT_DONE if figures can be drawn here. Otherwise reports why not and what would help,
 * and returns an exit code, as plot_figure does. */
int plot_figure_ready(void);

/* Draws n plots, one or more, side by side and below each other. */
int plot_figure(FILE *f, const char *name, const plot *plots, int n, enum figure_format format);

#endif
