#include "plot/figure/axes.h"

#include "plot/figure/text.h"
#include "plot/ticks.h"
#include "plot/times.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lengths and sizes of text, in points. */
#define TICK 3.5
#define GAP 3.0
#define SMALL 8.0 /* text */
#define MEDIUM 9.0
#define LARGE 10.5
#define LINE 0.6

/* If there are more bars than this, neighbours share one, which is as high as the highest. */
enum { MAX_BARS = 2000, MAX_MARKS = 400 };

/* A tick with its label; "": none. */
typedef struct mark {
    double at;
    char label[TICK_TEXT];
} mark;

typedef struct axis {
    double lo, hi;     /* the range of values */
    double begin, end; /* its ends in the figure */
    bool log;
    mark marks[MAX_MARKS];
    int n;
    char common[TICK_TEXT];
} axis;

typedef struct figure {
    const cairo_api *api;
    cairo_t *cr;
    const plot *plot;
    double left, right, top, bottom; /* the sides of the area of the bars */
    axis x, y;
} figure;

/* ---- axes ------------------------------------------------------------------------------------ */

/* Computes in long double, because the width of a range of doubles may overflow. */
static double place_axes(const axis *a, double value) {
    const long double lo = a->log ? log10l(a->lo) : a->lo, hi = a->log ? log10l(a->hi) : a->hi,
                      x = a->log ? log10l(value) : value;
    return a->begin + (double)((x - lo) / (hi - lo)) * (a->end - a->begin);
}

static void add_mark(axis *a, double at, const char *label) {
    if (a->n == MAX_MARKS) return;
    mark *m = &a->marks[a->n++];
    m->at = at;
    snprintf(m->label, sizeof m->label, "%s", label);
}

static void mark_linear(axis *a, int most) {
    char label[TICK_TEXT];
    const ticks t = ticks_of(a->lo, a->hi, most);
    a->n = 0;
    ticks_common(&t, a->common);
    for (int i = 0; i < t.n; i++) {
        ticks_label(&t, i, label);
        add_mark(a, ticks_at(&t, i), label);
    }
}

static void mark_times(axis *a, const plot *p, int most) {
    const time_axis x = {a->lo, a->hi, p->time, p->time_scale};
    const time_ticks t = time_ticks_of(&x, most);
    a->n = 0;
    snprintf(a->common, sizeof a->common, "%s", t.common);
    for (int i = 0; i < t.n; i++) add_mark(a, (double)t.at[i], t.label[i]);
}

static void mark_decade(axis *a, int power, bool plain, bool label, bool minor) {
    char text[TICK_TEXT] = "";
    if (label && plain)
        snprintf(text, sizeof text, "%.0f", pow(10, power));
    else if (label)
        snprintf(text, sizeof text, "10^%s%d", power < 0 ? "\u2212" : "", abs(power));
    for (int digit = 1; digit < (minor ? 10 : 2); digit++) {
        const double at = digit * pow(10, power);
        if (at >= a->lo && at <= a->hi) add_mark(a, at, digit == 1 ? text : "");
    }
}

/* Marks each decade; if there are many, every second or third of them, and so on. */
static void mark_log(axis *a) {
    const int first = (int)floor(log10(a->lo)), last = (int)floor(log10(a->hi));
    const int each = (last - first) / 8 + 1;
    const bool plain = first >= -1 && last <= 3;
    if (ceil(log10(a->lo)) >= last) {
        mark_linear(a, 6);
        return;
    }
    for (int power = first; power <= last; power++)
        mark_decade(a, power, plain, power % each == 0, each <= 2);
}

/* Finds the ends of the y axis, with some space above the highest bar. */
static void find_y(axis *a, const plot *p) {
    const plot_span s = plot_span_of(p);
    a->log = p->log && s.positive > 0;
    if (a->log) {
        const double decade = pow(10, floor(log10(s.positive)));
        a->lo = decade < s.positive ? decade : s.positive / 2;
        a->hi = s.most * pow(s.most / a->lo, 0.06);
        mark_log(a);
    } else {
        a->lo = 1.06 * s.least;
        a->hi = s.most > s.least ? 1.06 * s.most : 1;
        if (!isfinite(a->lo)) a->lo = s.least;
        if (!isfinite(a->hi)) a->hi = s.most;
        /* Counts are integers, so are their ticks. */
        const bool few = !p->values && a->hi < 6;
        mark_linear(a, few ? (int)fmax(2, 1 + floor(a->hi)) : 7);
    }
}

/* Whether an axis from lo to hi should begin at 0, so that it has a label there. */
static bool is_near_zero(double lo, double hi) { return lo > 0 && lo < hi / 20; }

static double widest_label(const figure *f, const axis *a) {
    double widest = 0;
    for (int i = 0; i < a->n; i++)
        widest = fmax(widest, text_width(f->api, f->cr, a->marks[i].label, MEDIUM));
    return widest;
}

/* How far the last label of the x axis would be out of the figure, if it were below its tick. */
static double beyond(const figure *f) {
    const mark *last = &f->x.marks[f->x.n - 1];
    const double half = text_width(f->api, f->cr, last->label, MEDIUM) / 2;
    return fmax(0, place_axes(&f->x, last->at) + half - f->right - 5 * GAP);
}

/* Chooses as many ticks as leave space between their labels. */
static void find_x(figure *f) {
    axis *a = &f->x;
    bool fits = false;
    a->lo = f->plot->edges[0];
    a->hi = f->plot->edges[f->plot->n];
    if (!f->plot->time && is_near_zero(a->lo, a->hi)) a->lo = 0;
    if (!f->plot->time && is_near_zero(-a->hi, -a->lo)) a->hi = 0;
    for (int most = 9; most >= 2 && !fits; most--) {
        if (f->plot->time)
            mark_times(a, f->plot, most);
        else
            mark_linear(a, most);
        fits = a->n < 2 || place_axes(a, a->marks[1].at) - place_axes(a, a->marks[0].at) >
                               widest_label(f, a) + 3 * GAP + beyond(f);
    }
}

/* ---- drawing --------------------------------------------------------------------------------- */

static void line(const figure *f, double x0, double y0, double x1, double y1, double width) {
    f->api->move_to(f->cr, x0, y0);
    f->api->line_to(f->cr, x1, y1);
    f->api->set_line_width(f->cr, width);
    f->api->stroke(f->cr);
}

static void ink(const figure *f) { f->api->set_source_rgb(f->cr, 0.13, 0.13, 0.13); }

typedef struct bar {
    double x0, x1, y;
} bar;

/* Joins bars [from, to). */
static bar join_bars(const figure *f, int64_t from, int64_t to) {
    double value = plot_value(f->plot, from);
    for (int64_t i = from + 1; i < to; i++) {
        const double next = plot_value(f->plot, i);
        if (fabs(next) > fabs(value) || isnan(value)) value = next;
    }
    bar b = {place_axes(&f->x, f->plot->edges[from]), place_axes(&f->x, f->plot->edges[to]),
             f->bottom};
    if (!isfinite(value)) value = 0;
    if (!f->y.log)
        b.y = place_axes(&f->y, value);
    else if (value > 0)
        b.y = place_axes(&f->y, value);
    return b;
}

/* Traces all bars as one path, so that no gap shows between neighbours. */
static void outline(const figure *f, double base) {
    const plot *p = f->plot;
    const int64_t each = (p->n + MAX_BARS - 1) / MAX_BARS;
    f->api->move_to(f->cr, place_axes(&f->x, p->edges[0]), base);
    for (int64_t i = 0; i < p->n; i += each) {
        const bar b = join_bars(f, i, i + each < p->n ? i + each : p->n);
        f->api->line_to(f->cr, b.x0, b.y);
        f->api->line_to(f->cr, b.x1, b.y);
    }
    f->api->line_to(f->cr, place_axes(&f->x, p->edges[p->n]), base);
    f->api->close_path(f->cr);
}

static double narrowest(const figure *f) {
    double least = INFINITY;
    for (int64_t i = 0; i < f->plot->n; i++)
        least = fmin(least, place_axes(&f->x, f->plot->edges[i + 1]) -
                                place_axes(&f->x, f->plot->edges[i]));
    return least;
}

/* Draws lines between bars that are wide enough. */
static void separate(const figure *f, double base) {
    for (int64_t i = 1; i < f->plot->n; i++) {
        const bar a = join_bars(f, i - 1, i), b = join_bars(f, i, i + 1);
        const bool same_side = (a.y < base) == (b.y < base);
        const double end = fabs(a.y - base) < fabs(b.y - base) ? a.y : b.y;
        if (same_side) line(f, b.x0, base, b.x0, end, 0.35);
    }
}

static void draw_bars(const figure *f) {
    const double base = f->y.log ? f->bottom : place_axes(&f->y, 0), width = narrowest(f);
    outline(f, base);
    f->api->set_source_rgb(f->cr, 0.66, 0.77, 0.88);
    f->api->fill_preserve(f->cr);
    f->api->set_source_rgb(f->cr, 0.16, 0.33, 0.53);
    f->api->set_line_width(f->cr, fmax(0.2, fmin(LINE, width / 2)));
    f->api->stroke(f->cr);
    f->api->set_source_rgb(f->cr, 0.45, 0.60, 0.77);
    if (width >= 3) separate(f, base);
    ink(f);
    if (!f->y.log && f->y.lo < 0) line(f, f->left, base, f->right, base, LINE);
}

static void draw_x(const figure *f) {
    const axis *a = &f->x;
    line(f, f->left, f->bottom, f->right, f->bottom, LINE);
    for (int i = 0; i < a->n; i++) {
        const double x = place_axes(a, a->marks[i].at);
        line(f, x, f->bottom, x, f->bottom + TICK, LINE);
        text_draw(f->api, f->cr, a->marks[i].label, MEDIUM, x - (i + 1 < a->n ? 0 : beyond(f)),
                  f->bottom + TICK + GAP + 0.75 * MEDIUM, TEXT_CENTER);
    }
    const double base = f->bottom + TICK + 3 * GAP + 2 * MEDIUM;
    text_draw(f->api, f->cr, f->plot->x_label, LARGE, (f->left + f->right) / 2, base, TEXT_CENTER);
    text_draw(f->api, f->cr, a->common, MEDIUM, f->right, base, TEXT_RIGHT);
}

static void draw_y(const figure *f) {
    const axis *a = &f->y;
    line(f, f->left, f->bottom, f->left, f->top, LINE);
    for (int i = 0; i < a->n; i++) {
        const mark *m = &a->marks[i];
        const double y = place_axes(a, m->at);
        line(f, f->left - (*m->label ? TICK : TICK / 2), y, f->left, y,
             *m->label ? LINE : LINE / 2);
        text_draw(f->api, f->cr, m->label, MEDIUM, f->left - TICK - GAP, y + 0.35 * MEDIUM,
                  TEXT_RIGHT);
    }
    text_draw(f->api, f->cr, a->common, MEDIUM, f->left, f->top - 2 * GAP, TEXT_LEFT);
    f->api->save(f->cr);
    f->api->translate(f->cr, f->left - TICK - 3 * GAP - widest_label(f, a),
                      (f->top + f->bottom) / 2);
    f->api->rotate(f->cr, -M_PI / 2);
    text_draw(f->api, f->cr, f->plot->y_label, LARGE, 0, 0, TEXT_CENTER);
    f->api->restore(f->cr);
}

/* Cuts a title that is too long at the end of a character. */
static void draw_title(const figure *f, double width) {
    char title[512];
    snprintf(title, sizeof title, "%s", f->plot->title);
    size_t n = strlen(title);
    while (n > 0 && text_width(f->api, f->cr, title, LARGE) > width - 4 * LARGE) {
        do n--;
        while (n > 0 && ((unsigned char)title[n] & 0xc0) == 0x80);
        snprintf(title + n, sizeof title - n, "…");
    }
    text_draw(f->api, f->cr, title, LARGE, width / 2, 2 * LARGE, TEXT_CENTER);
    f->api->set_source_rgb(f->cr, 0.4, 0.4, 0.4);
    text_draw(f->api, f->cr, f->plot->note, SMALL, width / 2,
              (*title ? 2 * LARGE : 0) + 1.7 * SMALL, TEXT_CENTER);
}

/* Leaves space for the texts, and gives the rest to the bars. */
static void lay_out(figure *f, double width, double height) {
    const plot *p = f->plot;
    find_y(&f->y, p);
    f->left = 4 * GAP + LARGE + widest_label(f, &f->y) + TICK + GAP;
    f->right = width - 6 * GAP;
    f->top = 5 * GAP + (*p->title ? 1.6 * LARGE : 0) + (*p->note ? 1.5 * SMALL : 0) +
             (*f->y.common ? MEDIUM : 0);
    f->bottom = height - TICK - 6 * GAP - 2 * MEDIUM;
    f->y.begin = f->bottom;
    f->y.end = f->top;
    const double pad = 0.02 * (f->right - f->left);
    f->x.begin = f->left + pad;
    f->x.end = f->right - pad;
    find_x(f);
}

void figure_draw(const cairo_api *api, cairo_t *cr, const plot *p, double width, double height) {
    figure *f = calloc(1, sizeof *f);
    if (!f) return;
    *f = (figure){.api = api, .cr = cr, .plot = p};
    api->select_font_face(cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    api->set_line_join(cr, CAIRO_LINE_JOIN_MITER);
    lay_out(f, width, height);
    draw_bars(f);
    ink(f);
    draw_x(f);
    draw_y(f);
    draw_title(f, width);
    free(f);
}
