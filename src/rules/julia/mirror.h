/* The mirror of a rectangle says which pixels are computed, and which ones mirror others
 * (rules/julia/escape.h).
 *
 * A row is computed unless a row above mirrors it. The computed columns are those of the rectangle
 * and those that mirror them: one more, if the width is even. */
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
    int64_t twice_half_width, twice_half_height; /* the sum of a coordinate and its mirror image */
    int64_t x, columns;                          /* the first computed column, and how many */
    int64_t rows;        /* how many rows are computed: `before` at the start of the rectangle */
    int64_t before, gap; /* the other rows begin `gap` rows later */
} bf_mirror;

BF_RULE int64_t bf_mirrored_column(const bf_mirror *m, int64_t x) {
    return m->symmetry == BF_JULIA_POINT ? m->twice_half_width - x : x;
}

/* The row of the picture that is computed as number i. */
BF_RULE int64_t bf_mirror_row(const bf_mirror *m, int64_t i) {
    return m->whole.y + i + (i < m->before ? 0 : m->gap);
}

/* The row that mirrors row y and is not computed itself; -1 if there is none. */
BF_RULE int64_t bf_mirrored_row(const bf_mirror *m, int64_t y) {
    int64_t other = m->twice_half_height - y;
    bool is_there = m->symmetry != BF_JULIA_NONE && other > y && other < m->whole.y + m->whole.rows;
    return is_there ? other : -1;
}

/* Does not use symmetry if it needs many more columns than the rectangle has. */
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
    int64_t last = m.twice_half_height - whole.y; /* the last row that a row of the rectangle
                                                     mirrors */
    if (last > whole.y + whole.rows - 1) last = whole.y + whole.rows - 1;
    if (m.symmetry == BF_JULIA_NONE || whole.y > view->half_height || last <= view->half_height)
        return m;
    m.before = view->half_height + 1 - whole.y;
    m.gap = last - view->half_height;
    m.rows = whole.rows - m.gap;
    return m;
}

#endif
