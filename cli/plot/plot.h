/* Plots of bars over bins: in a terminal, or as a figure in a file. */
#ifndef BITFOLD_CLI_PLOT_PLOT_H
#define BITFOLD_CLI_PLOT_PLOT_H

#include <bitfold.h>

#include <stdbool.h>
#include <stdio.h>

typedef struct plot {
    int64_t n;             /* bars */
    const double *edges;   /* n + 1 */
    const int64_t *counts; /* what the bars show; */
    const double *values;  /* if not NULL, these instead: finite or not, of either sign */
    bool density;          /* the values are */
    bool log;              /* the scale of the bars; values are then not negative */
    const char *title;     /* "": none */
    const char *x_label, *y_label;
    const char *note; /* what is not shown; "": nothing */
} plot;

static inline double plot_value(const plot *p, int64_t i) {
    return p->values ? p->values[i] : (double)p->counts[i];
}

/* The least positive value, 0 if there is none; the least and the greatest finite one, and 0. */
typedef struct plot_span {
    double positive, least, most;
} plot_span;

plot_span plot_span_of(const plot *p);

/* ---- terminals ------------------------------------------------------------------------------- */

typedef struct terminal {
    int width;
    bool unicode, color;
} terminal;

/* The terminal that a file descriptor leads to, as the environment tells. */
terminal terminal_find(int fd);

void plot_terminal(FILE *f, const plot *p, const terminal *t);

/* ---- figures --------------------------------------------------------------------------------- */

enum figure_format { FIGURE_PNG, FIGURE_SVG, FIGURE_PDF };

/* Whether figures can be drawn here; if not, says why and what would help. Return exit codes. */
int plot_figure_ready(void);

int plot_figure(FILE *f, const char *name, const plot *p, enum figure_format format);

#endif
