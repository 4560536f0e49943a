/* The loops for windows, which the compiler makes vectors of: included once by each instruction
 * set, which defines LOOPS, the name of the table.
 *
 * What sums round to is a double and its rest, whose error is known, and so between two bounds.
 * Where these are equal, the exact value rounds to them (Ziv, 1991). */
#include "cpu/scan/rolling_block.h"

#include "cpu/runtime/vector.h"

/* ---- sums ------------------------------------------------------------------------------------ */

INLINE void slide_sums(bool squares, const bf_rolling_units *u, const double *entering,
                       const double *leaving, int n, bf_rolling_sums *sums, bf_rolling_block *b) {
    bf_rolling_sums s = *sums;
    int64_t rounded = 0, lost = 0;
    for (int i = 0; i < n; i++) {
        const bf_rolling_sums in = bf_rolling_parts(squares, u, entering[i]);
        const bf_rolling_sums out =
            leaving != NULL ? bf_rolling_parts(squares, u, leaving[i]) : (bf_rolling_sums){0};
        rounded += in.rounded;
        lost |= in.lost;
        b->high[i] = in.high - out.high;
        b->low[i] = in.low - out.low;
        if (!squares) continue;
        b->squares[i] = in.squares - out.squares;
        b->cross[i] = in.cross - out.cross;
        b->rest[i] = in.rest - out.rest;
    }
    for (int i = 0; i < n; i++) {
        b->high[i] = s.high += b->high[i];
        b->low[i] = s.low += b->low[i];
        if (!squares) continue;
        b->squares[i] = s.squares += b->squares[i];
        b->cross[i] = s.cross += b->cross[i];
        b->rest[i] = s.rest += b->rest[i];
    }
    s.rounded += rounded;
    s.lost |= lost != 0;
    bf_rolling_carry(squares, u, &s);
    *sums = s;
}

static void slide(bool squares, const bf_rolling_units *u, const double *entering,
                  const double *leaving, int n, bf_rolling_sums *sums, bf_rolling_block *b) {
    if (squares)
        leaving != NULL ? slide_sums(true, u, entering, leaving, n, sums, b)
                        : slide_sums(true, u, entering, NULL, n, sums, b);
    else
        leaving != NULL ? slide_sums(false, u, entering, leaving, n, sums, b)
                        : slide_sums(false, u, entering, NULL, n, sums, b);
}

/* The sums of what is in a queue up to each of its elements. */
typedef struct prefixes {
    double high[BF_ROLLING_REACH + 1], low[BF_ROLLING_REACH + 1];
    double squares[BF_ROLLING_REACH + 1], cross[BF_ROLLING_REACH + 1], rest[BF_ROLLING_REACH + 1];
    int64_t rounded, lost;
} prefixes;

INLINE void sum_prefixes(bool squares, const bf_rolling_units *u, const bf_rolling_queue *q,
                         prefixes *p) {
    bf_rolling_sums s = {0};
    int64_t rounded = 0, lost = 0;
    p->high[0] = p->low[0] = p->squares[0] = p->cross[0] = p->rest[0] = 0;
    for (int i = 0; i < q->count; i++) {
        const bf_rolling_sums x = bf_rolling_parts(squares, u, q->numbers[i]);
        rounded += x.rounded;
        lost |= x.lost;
        p->high[i + 1] = x.high;
        p->low[i + 1] = x.low;
        if (!squares) continue;
        p->squares[i + 1] = x.squares;
        p->cross[i + 1] = x.cross;
        p->rest[i + 1] = x.rest;
    }
    for (int i = 1; i <= q->count; i++) {
        p->high[i] = s.high += p->high[i];
        p->low[i] = s.low += p->low[i];
        if (!squares) continue;
        p->squares[i] = s.squares += p->squares[i];
        p->cross[i] = s.cross += p->cross[i];
        p->rest[i] = s.rest += p->rest[i];
    }
    p->rounded = rounded;
    p->lost = lost;
}

INLINE void jump_sums(bool squares, const bf_rolling_units *u, const bf_rolling_queue *entering,
                      const bf_rolling_queue *leaving, int n, bf_rolling_sums *sums,
                      bf_rolling_block *b) {
    bf_rolling_sums s = *sums;
    prefixes in, out;
    sum_prefixes(squares, u, entering, &in);
    sum_prefixes(squares, u, leaving, &out);
    for (int i = 0; i < n; i++) {
        const int more = entering->taken[i], fewer = leaving->taken[i];
        b->high[i] = s.high + (in.high[more] - out.high[fewer]);
        b->low[i] = s.low + (in.low[more] - out.low[fewer]);
        if (!squares) continue;
        b->squares[i] = s.squares + (in.squares[more] - out.squares[fewer]);
        b->cross[i] = s.cross + (in.cross[more] - out.cross[fewer]);
        b->rest[i] = s.rest + (in.rest[more] - out.rest[fewer]);
    }
    s.high = b->high[n - 1];
    s.low = b->low[n - 1];
    if (squares) {
        s.squares = b->squares[n - 1];
        s.cross = b->cross[n - 1];
        s.rest = b->rest[n - 1];
    }
    s.rounded += in.rounded;
    s.lost |= in.lost != 0;
    bf_rolling_carry(squares, u, &s);
    *sums = s;
}

static void jump(bool squares, const bf_rolling_units *u, const bf_rolling_queue *entering,
                 const bf_rolling_queue *leaving, int n, bf_rolling_sums *sums,
                 bf_rolling_block *b) {
    if (squares)
        jump_sums(true, u, entering, leaving, n, sums, b);
    else
        jump_sums(false, u, entering, leaving, n, sums, b);
}

/* ---- numbers of two doubles ------------------------------------------------------------------ */

typedef bf_rolling_two pair;

/* x + y exactly (Knuth). */
INLINE pair add(double x, double y) {
    const double sum = x + y, of_y = sum - x, of_x = sum - of_y;
    return (pair){sum, (x - of_x) + (y - of_y)};
}

/* x / y, but for an error of 2^-52 of the low part. */
INLINE pair divide(pair x, double y) {
    const double quotient = x.high / y;
    const pair back = bf_rolling_multiply(quotient, y);
    return (pair){quotient, (((x.high - back.high) - back.low) + x.low) / y};
}

/* The square root, but for an error of 2^-103 of it. */
INLINE pair root_of(pair x) {
    const double root = __builtin_sqrt(x.high);
    const pair back = bf_rolling_multiply(root, root);
    return (pair){root, (((x.high - back.high) - back.low) + x.low) / (root + root)};
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* A bound that is rounded again must not be on the wrong side after its own rounding. */
INLINE void bound_result(bf_rolling_block *b, int i, pair x, double error, bool narrow) {
    const double margin = error + (narrow ? __builtin_fabs(x.high) * 0x1p-52 : 0);
    b->least[i] = x.high + (x.low - margin);
    b->most[i] = x.high + (x.low + margin);
}

/* Elements of window i whose rests are rounded. */
INLINE double rounded_of(const bf_rolling_making *making, const bf_rolling_block *b, int i) {
    const double most = (double)making->rounded;
    return most < b->count[i] ? most : b->count[i];
}

INLINE void bound_sum(const bf_rolling_making *making, bf_rolling_block *b, int i) {
    const pair sum = add(b->high[i], b->low[i]);
    bound_result(b, i, sum, making->element * rounded_of(making, b, i), making->narrow);
}

/* An exact sum is a multiple of the low unit: so a mean that is in the middle of no two doubles is
 * further from it than the error of the division. */
INLINE void bound_mean(const bf_rolling_making *making, bf_rolling_block *b, int i) {
    const pair mean = divide(add(b->high[i], b->low[i]), b->count[i]);
    const double error = making->element * (rounded_of(making, b, i) / b->count[i]);
    bound_result(b, i, mean, error, making->narrow);
}

/* The count times the sum of squares, less the square of the sum, but for an error of 2^-100 of the
 * first. */
INLINE pair spread_of(const bf_rolling_block *b, int i) {
    const double count = b->count[i];
    const pair sum = add(b->high[i], b->low[i]), square = bf_rolling_multiply(sum.high, sum.high);
    const pair squares = add(b->squares[i], b->cross[i]),
               scaled = bf_rolling_multiply(squares.high, count);
    const pair difference = add(scaled.high, -square.high);
    const double more = scaled.low + (squares.low + b->rest[i]) * count;
    const double less = square.low + 2 * sum.high * sum.low;
    return add(difference.high, difference.low + (more - less));
}

/* The error is more than 2^-100 of the variance: many times that of the division, and of a root,
 * for which half of it would do. */
INLINE void bound_spread(const bf_rolling_making *making, bool root, bf_rolling_block *b, int i) {
    const double count = b->count[i], divisor = count * (count - making->ddof);
    const double rounded = making->element * rounded_of(making, b, i);
    pair x = divide(spread_of(b, i), divisor);
    double error = (making->spread * count + rounded) * (count / divisor);
    if (root) {
        x = root_of(add(x.high, x.low));
        error /= x.high;
    }
    bound_result(b, i, x, error, making->narrow);
}

static void bound(const bf_rolling_making *making, bf_rolling_block *b, int n) {
    const bf_rolling_making m = *making;
    if (m.op == BF_SUM)
        for (int i = 0; i < n; i++) bound_sum(&m, b, i);
    else if (m.op == BF_MEAN)
        for (int i = 0; i < n; i++) bound_mean(&m, b, i);
    else if (m.op == BF_VAR)
        for (int i = 0; i < n; i++) bound_spread(&m, false, b, i);
    else
        for (int i = 0; i < n; i++) bound_spread(&m, true, b, i);
}

const bf_rolling_loops LOOPS = {slide, jump, bound};
