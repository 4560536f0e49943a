/* One step of an expression for one element. */
#ifndef BF_RULES_EXPRESSION_ELEMENT_H
#define BF_RULES_EXPRESSION_ELEMENT_H

#include "rules/expression/operation.h"
#include "rules/map/map.h"

/* The bits of a number, or NULL. */
typedef struct bf_expression_cell {
    uint64_t bits;
    bool valid; /* not NULL */
} bf_expression_cell;

/* Decides the operations AND, OR, MET, UNMET, MAYBE and ISNULL. */
BF_RULE bf_expression_cell bf_expression_decide_cell(int op, bf_expression_cell a,
                                                     bf_expression_cell b) {
    bool yes = a.valid && a.bits != 0, no = a.valid && a.bits == 0;
    bool too = b.valid && b.bits != 0, nor = b.valid && b.bits == 0;
    bf_expression_cell r = {0, true};
    switch (op) {
    case BF_EXPRESSION_AND:
        r.bits = yes && too;
        r.valid = r.bits != 0 || no || nor;
        return r;
    case BF_EXPRESSION_OR:
        r.bits = yes || too;
        r.valid = r.bits != 0 || (no && nor);
        return r;
    case BF_EXPRESSION_MET: r.bits = yes; return r;
    case BF_EXPRESSION_UNMET: r.bits = !yes; return r;
    case BF_EXPRESSION_MAYBE: r.bits = !no; return r;
    default: r.bits = !a.valid; return r;
    }
}

/* As `work`. Bools that are computed with are 0 or 1. */
BF_RULE uint64_t bf_expression_cast(bf_dtype from, bf_dtype work, uint64_t bits) {
    bool misfit = false;
    return from == work && from != BF_BOOL ? bits : bf_cast(from, work, bits, false, &misfit);
}

/* An operation of map, or FLOOR, CEIL, MOD or UNSCALE, on numbers of dtype `work`. Sets *misfit if
 * the result does not fit. */
BF_RULE uint64_t bf_expression_compute(int op, bf_dtype work, const uint64_t x[3], bool saturate,
                                       bool *misfit) {
    if (op > BF_MAP_CAST) return bf_expression_element(op, work, x[0], x[1]);
    if (op == BF_MAP_CAST) return bf_cast(work, work, x[0], saturate, misfit);
    return bf_map_element((bf_map_op)op, work, x[0], x[1], x[2], saturate, misfit);
}

#endif
