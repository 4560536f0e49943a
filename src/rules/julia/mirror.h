/* Which pixels of a rectangle are computed, and which of them mirror others (rules/julia/escape.h).
 *
 * Rows are computed but for those that a row above mirrors. The columns are those of the rectangle
 * and those that mirror them: one more, where the width is even. */
#ifndef BF_RULES_JULIA_MIRROR_H
#define BF_RULES_JULIA_MIRROR_H

#include "rules/julia/escape.h"

/* A rectangle of the picture. */
typedef struct bf_rectangle {
    int64_t x, y, columns, rows;
} bf_rectangle;

typedef struct bf_mirror {
    bf_julia_symmetry symmetry;
    bf_rectangle whole;
    int64_t twice_half_width, twice_half_height; /* where mirrored coordinates are counted from */
    int64_t x, columns;                          /* of the picture, computed */
    int64_t rows;                                /* computed: the first of the rectangle, */
    int64_t before, gap;                         /* so many, and others after a gap */
} bf_mirror;

BF_RULE int64_t bf_mirrored_column(const bf_mirror *m, int64_t x) {
    return m->symmetry == BF_JULIA_POINT ? m->twice_half_width - x : x;
}

/* The row of the picture that row number i of those computed is. */
BF_RULE int64_t bf_mirror_row(const bf_mirror *m, int64_t i) {
    return m->whole.y + i + (i < m->before ? 0 : m->gap);
}

/* The row that row y mirrors and that is not computed itself; -1: there is none. */
BF_RULE int64_t bf_mirrored_row(const bf_mirror *m, int64_t y) {
    int64_t other = m->twice_half_height - y;
    bool is_there = m->symmetry != BF_JULIA_NONE && other > y && other < m->whole.y + m->whole.rows;
    return is_there ? other : -1;
}

/* Symmetry is left alone where it takes many more columns than the rectangle has. */
BF_RULE void bf_mirror_columns(bf_mirror *m) {
    const bf_rectangle *r = &m->whole;
    int64_t end = r->x + r->columns, more = r->columns / 8 + 1;
    int64_t low = bf_mirrored_column(m, end - 1), high = bf_mirrored_column(m, r->x) + 1;
    if (low > r->x) low = r->x;
    if (high < end) high = end;
    if (low < r->x - more || high > end + more) {
        m->symmetry = BF_JULIA_NONE;
        low = r->x;
        high = end;
    }
    m->x = low;
    m->columns = high - low;
}

BF_RULE bf_mirror bf_mirror_of(const bf_julia_view *view, bf_rectangle whole) {
    bf_mirror m = {bf_julia_symmetry_of(view),
                   whole,
                   2 * view->half_width,
                   2 * view->half_height,
                   0,
                   0,
                   whole.rows,
                   whole.rows,
                   0};
    bf_mirror_columns(&m);
    int64_t last = m.twice_half_height - whole.y; /* that a row of the rectangle mirrors */
    if (last > whole.y + whole.rows - 1) last = whole.y + whole.rows - 1;
    if (m.symmetry == BF_JULIA_NONE || whole.y > view->half_height || last <= view->half_height)
        return m;
    m.before = view->half_height + 1 - whole.y;
    m.gap = last - view->half_height;
    m.rows = whole.rows - m.gap;
    return m;
}

#endif
