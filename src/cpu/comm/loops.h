/* The loops of sums of few terms, and their table, for the instruction set that includes this. The
 * compiler makes vectors of them. */
#include "cpu/comm/comm.h"
#include "cpu/runtime/vector.h"
#include "rules/reduce/terms.h"

#include <math.h>

static void comm_add_pair(bf_comm_block *b, const double *x, int n) {
    INDEPENDENT
    for (int i = 0; i < n; i++) {
        double s = b->s[i] + x[i];
        b->s[i] = s == s ? s : (double)NAN;
    }
}

static void comm_add(bf_comm_block *b, const double *x, int n) {
    INDEPENDENT
    for (int i = 0; i < n; i++) b->lost[i] |= !bf_terms_add(&b->s[i], &b->e[i], x[i]);
}

static void comm_add_f64(bf_comm_block *b, const double *x, int n) {
    INDEPENDENT
    for (int i = 0; i < n; i++) b->lost[i] |= !bf_terms_add_f64(&b->s[i], &b->e[i], &b->g[i], x[i]);
}

static bool comm_finish(bf_comm_block *b, int n) {
    int64_t any = 0;
    INDEPENDENT
    for (int i = 0; i < n; i++) {
        double s = b->s[i];
        b->lost[i] &= s - s == 0;
        any |= b->lost[i];
        b->s[i] = bf_terms_odd(s, b->e[i]);
    }
    return any != 0;
}

static bool comm_finish_f64(bf_comm_block *b, int n) {
    int64_t any = 0;
    INDEPENDENT
    for (int i = 0; i < n; i++) {
        double d = bf_terms_f64(b->s[i], b->e[i], b->g[i]);
        b->lost[i] |= !(d - d == 0);
        any |= b->lost[i];
        b->s[i] = d;
    }
    return any != 0;
}

static const bf_comm_loops comm_loops = {comm_add_pair, comm_add, comm_finish, comm_add_f64,
                                         comm_finish_f64};
