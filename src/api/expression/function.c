#include "api/expression/function.h"

#include "api/expression/build.h"
#include "rules/map/map.h"

const bf_expression_function bf_expression_functions[] = {
    {"abs", BF_MAP_ABS, "n"},
    {"sqrt", BF_MAP_SQRT, "n"},
    {"floor", BF_EXPRESSION_FLOOR, "n"},
    {"ceil", BF_EXPRESSION_CEIL, "n"},
    {"min", BF_MAP_MIN, "nn"},
    {"max", BF_MAP_MAX, "nn"},
    {"fma", BF_MAP_FMA, "nnn"},
    {"isnan", BF_EXPRESSION_ISNAN, "n"},
    {"isnull", BF_EXPRESSION_ISNULL, "a"},
    {"year", BF_EXPRESSION_YEAR, "n"},
    {"month", BF_EXPRESSION_MONTH, "n"},
    {"day", BF_EXPRESSION_DAY, "n"},
    {"hour", BF_EXPRESSION_HOUR, "n"},
    {"minute", BF_EXPRESSION_MINUTE, "n"},
    {"second", BF_EXPRESSION_SECOND, "n"},
    {"weekday", BF_EXPRESSION_WEEKDAY, "n"},
    {"date", BF_EXPRESSION_TO_DAY, "n"},
    {"trunc", BF_EXPRESSION_TRUNC, "ns"},
    {0},
};

const char *bf_expression_takes(int op) {
    for (const bf_expression_function *f = bf_expression_functions; f->name != NULL; f++)
        if (f->op == op) return f->takes;
    if (op == BF_EXPRESSION_SELECT) return "nll";
    return op <= BF_MAP_CAST && bf_map_is_comparison((bf_map_op)op) ? "ll" : "nn";
}
