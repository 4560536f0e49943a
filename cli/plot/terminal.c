/* Plots in a terminal: a line for each bin, with a bar in eighths of a character. */
#include "plot/plot.h"

#include "runtime/report.h"
#include "runtime/value.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* If there are more bins than LINES, neighbours share a line. */
enum { LINES = 64, TEXT = 40 };

/* ---- the terminal ---------------------------------------------------------------------------- */

static bool is_utf8(void) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *value = "";
    for (int i = 0; i < 3 && !*value; i++) {
        const char *found = getenv(names[i]);
        if (found) value = found;
    }
    const char *charset = strchr(value, '.');
    return charset &&
           (strncasecmp(charset, ".utf8", 5) == 0 || strncasecmp(charset, ".utf-8", 6) == 0);
}

/* Can the terminal show eighths of a character? The fonts of the Linux console cannot. */
static bool has_blocks(void) {
    const char *term = getenv("TERM");
    return !term || (strcmp(term, "dumb") != 0 && strcmp(term, "linux") != 0);
}

terminal terminal_find(int fd) {
    return (terminal){terminal_width(fd), is_utf8() && has_blocks(), color_wanted(fd)};
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* The format of all edges: enough digits to tell bins apart, and one width. */
typedef struct edge_format {
    bool scientific;
    int digits; /* after the decimal point */
    int width;  /* characters of the longest edge */
} edge_format;

/* The first time that is not before an edge. */
static bf_value time_at(const plot *p, int64_t i) {
    const int64_t at = p->times ? p->times[i] : (int64_t)ceil(p->edges[i]);
    const bf_value units = {.dtype = BF_I64, .scale = p->time_scale, .as.i64 = at};
    return value_of_time(units, p->time);
}

static void edge_text(const edge_format *e, const plot *p, int64_t i, char text[TEXT]) {
    char all[BF_VALUE_TEXT];
    if (p->time) {
        const bf_value time = time_at(p, i);
        value_format(&time, all);
        snprintf(text, TEXT, "%.*s", TEXT - 1, all);
        return;
    }
    snprintf(text, TEXT, e->scientific ? "%.*e" : "%.*f", e->digits, p->edges[i] + 0.0);
}

static double least_width(const plot *p) {
    double least = INFINITY;
    for (int64_t i = 0; i < p->n; i++) {
        const double width = p->edges[i + 1] - p->edges[i];
        if (width < least) least = width;
    }
    return least;
}

/* Do so many decimals show all edges without rounding? */
static bool is_exact(const plot *p, int decimals, double width) {
    const double scale = pow(10, decimals);
    for (int64_t i = 0; i <= p->n; i++)
        if (fabs(p->edges[i] - nearbyint(p->edges[i] * scale) / scale) > 1e-6 * width) return false;
    return true;
}

/* Chooses digits that show a tenth of a bin, and up to two more if they make all edges exact. */
static edge_format edge_format_of(const plot *p) {
    const double width = least_width(p), most = fmax(fabs(p->edges[0]), fabs(p->edges[p->n]));
    edge_format e = {.digits = p->time ? 0 : (int)ceil(-log10(width / 10))};
    char text[TEXT];
    if (e.digits < 0) e.digits = 0;
    if (most >= 1e12 || e.digits > 9) {
        e.scientific = true;
        e.digits = (int)fmin(16, ceil(log10(most / width)) + 1);
    } else {
        for (int i = 0; i <= 2; i++) {
            if (!is_exact(p, e.digits + i, width)) continue;
            e.digits += i;
            break;
        }
        while (e.digits > 0 && is_exact(p, e.digits - 1, width)) e.digits--;
    }
    for (int64_t i = 0; i <= p->n; i++) {
        edge_text(&e, p, i, text);
        if ((int)strlen(text) > e.width) e.width = (int)strlen(text);
    }
    return e;
}

static void value_text(const plot *p, int64_t i, char text[TEXT]) {
    if (p->values)
        snprintf(text, TEXT, "%.6g", p->values[i]);
    else
        snprintf(text, TEXT, "%" PRId64, p->counts[i]);
}

static int value_width(const plot *p) {
    char text[TEXT];
    int width = 0;
    for (int64_t i = 0; i < p->n; i++) {
        value_text(p, i, text);
        if ((int)strlen(text) > width) width = (int)strlen(text);
    }
    return width;
}

/* ---- bars ------------------------------------------------------------------------------------ */

typedef struct canvas {
    const plot *plot;
    const terminal *terminal;
    plot_span span;
    int width; /* cells for the bars */
    int zero;  /* cells to the left of 0 */
} canvas;

/* Returns the length of a bar in eighths of a cell, at least 1 for a value other than 0. */
static int64_t eighths(const canvas *c, double value) {
    const plot_span *s = &c->span;
    const double room = 8.0 * (value < 0 ? c->zero : c->width - c->zero);
    double share = value < 0 ? value / s->least : s->most > 0 ? value / s->most : 0;
    if (c->plot->log && value > 0)
        share = log(2 * value / s->positive) / log(2 * s->most / s->positive);
    const int64_t n = isfinite(share) ? (int64_t)nearbyint(share * room) : 0;
    return n > 0 || value == 0 || !isfinite(value) ? n : 1;
}

static void repeat(FILE *f, const char *cell, int64_t n) {
    while (n-- > 0) fputs(cell, f);
}

static void positive_bar(FILE *f, const canvas *c, int64_t length) {
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    repeat(f, " ", c->zero);
    if (c->terminal->unicode) {
        repeat(f, "█", length / 8);
        fputs(parts[length % 8], f);
    } else {
        repeat(f, "#", (length + 4) / 8);
        if (length > 0 && length < 4) putc('.', f);
    }
}

/* Draws in halves of a cell: Unicode has no other fractions that fill a cell from the right. */
static void negative_bar(FILE *f, const canvas *c, int64_t length) {
    const int64_t halves = (length + 3) / 4;
    repeat(f, " ", c->zero - (halves + 1) / 2);
    if (c->terminal->unicode) {
        fputs(halves % 2 ? "▐" : "", f);
        repeat(f, "█", halves / 2);
    } else {
        repeat(f, "#", (halves + 1) / 2);
    }
}

static void put_bar(FILE *f, const canvas *c, double value) {
    const int64_t length = eighths(c, value);
    if (length == 0) return;
    fputs(c->terminal->color ? " \033[36m" : " ", f);
    if (value < 0)
        negative_bar(f, c, length);
    else
        positive_bar(f, c, length);
    if (c->terminal->color) fputs("\033[39m", f);
}

/* Labels each bar "lo - hi", or "lo" in a narrow terminal. */
static void put_bars(FILE *f, const plot *p, const terminal *t) {
    const edge_format e = edge_format_of(p);
    const int values = value_width(p);
    const bool both = 2 * e.width + values + 20 <= t->width;
    canvas c = {.plot = p, .terminal = t, .span = plot_span_of(p)};
    char lo[TEXT], hi[TEXT], value[TEXT];
    c.width = t->width - (both ? 2 * e.width + 3 : e.width) - values - 3;
    if (c.width < 1) c.width = 1;
    if (c.span.least < 0)
        c.zero = (int)ceil(c.width * (c.span.least / (c.span.least - c.span.most)));
    for (int64_t i = 0; i < p->n; i++) {
        edge_text(&e, p, i, lo);
        edge_text(&e, p, i + 1, hi);
        value_text(p, i, value);
        fprintf(f, "%*s", e.width, lo);
        if (both) fprintf(f, " %s %*s", t->unicode ? "–" : "-", e.width, hi);
        fprintf(f, "  %*s", values, value);
        put_bar(f, &c, plot_value(p, i));
        putc('\n', f);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Joins bins [from, to): adds their counts or sums, and averages densities by width. */
static void join_notes(const plot *p, int64_t from, int64_t to, bool density, double *value,
                       int64_t *count) {
    const double whole = p->edges[to] - p->edges[from];
    *value = 0;
    *count = 0;
    for (int64_t i = from; i < to; i++) {
        if (p->values)
            *value +=
                density ? p->values[i] * ((p->edges[i + 1] - p->edges[i]) / whole) : p->values[i];
        else
            *count += p->counts[i];
    }
}

/* Names the quantity that the bars show, if it is not a count. */
static void put_title(FILE *f, const plot *p, const terminal *t) {
    fprintf(f, t->color ? "\033[1m%s\033[22m" : "%s", p->title);
    if (p->values || p->log) fprintf(f, ": %s", p->y_label);
    fputs(p->log ? ", logarithmic\n\n" : "\n\n", f);
}

void plot_terminal(FILE *f, const plot *p, const terminal *t) {
    double edges[LINES + 1], values[LINES];
    int64_t counts[LINES], times[LINES + 1];
    const int64_t each = (p->n + LINES - 1) / LINES;
    plot shown = *p;
    shown.n = 0;
    for (int64_t from = 0; from < p->n; from += each) {
        const int64_t to = from + each < p->n ? from + each : p->n, i = shown.n++;
        edges[i] = p->edges[from];
        edges[i + 1] = p->edges[to];
        times[i] = p->times ? p->times[from] : 0;
        times[i + 1] = p->times ? p->times[to] : 0;
        join_notes(p, from, to, p->density, &values[i], &counts[i]);
    }
    shown.edges = edges;
    shown.times = p->times ? times : NULL;
    shown.counts = counts;
    shown.values = p->values ? values : NULL;
    if (*p->title) put_title(f, p, t);
    if (p->n > 0) put_bars(f, &shown, t);
    if (*p->note || each > 1) putc('\n', f);
    if (each > 1) fprintf(f, "%" PRId64 " bins a line%s", each, *p->note ? "; " : "\n");
    if (*p->note) fprintf(f, "%s\n", p->note);
}
