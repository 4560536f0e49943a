#include "table/where.h"

int join_where_open(join_computed *w, const join_tables *t) {
    *w = (join_computed){.tables = t};
    if (!t->options->where) return EXIT_DONE;
    const int code = join_computed_open(w, t, "--where", &t->choice.condition);
    return code == EXIT_DONE ? formula_check_condition(&w->formula) : code;
}

int join_where_keep(join_computed *w, const computed_from *from, int64_t *const of[SIDES],
                    int64_t *n) {
    formula_results met;
    const int code = join_computed_results(w, from, of, *n, &met);
    if (code != EXIT_DONE) return code;
    const uint8_t *const is = met.numbers.data;
    int64_t kept = 0;
    for (int64_t i = 0; i < *n; i++) {
        of[SIDE_A][kept] = of[SIDE_A][i];
        if (of[SIDE_B]) of[SIDE_B][kept] = of[SIDE_B][i];
        kept += is[i];
    }
    *n = kept;
    return EXIT_DONE;
}
