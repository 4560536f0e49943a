/* group: the number of rows of each key, and aggregates of their values. */
#include "command.h"
#include "group/by.h"
#include "options/operand.h"
#include "runtime/ranks.h"

#define AGGREGATE(op) .read = read_aggregate, .value = op, .repeats = true
#define PAIRS(op) .read = read_pairs, .value = op, .repeats = true
#define ORDER_OF(what) .read = read_order_of, .value = what, .repeats = true

static const option_spec specs[] = {
    {"sum", 0, IN_VALUES, "V", "the exact sum of each key's values", 0, AGGREGATE(BF_SUM)},
    {"mean", 0, IN_VALUES, "V", "the mean of each key's values", 0, AGGREGATE(BF_MEAN)},
    {"var", 0, IN_VALUES, "V", "the variance of each key's values", 0, AGGREGATE(BF_VAR)},
    {"std", 0, IN_VALUES, "V", "the standard deviation of each key's values", 0, AGGREGATE(BF_STD)},
    {"skew", 0, IN_VALUES, "V", "the skewness of each key's values", 0, AGGREGATE(BF_SKEW)},
    {"kurtosis", 0, IN_VALUES, "V", "the excess kurtosis of each key's values", 0,
     AGGREGATE(BF_KURTOSIS)},
    {"corr", 0, IN_VALUES, "X:Y", "the correlation of each key's values of X and Y", 0,
     PAIRS(BF_CORR)},
    {"cov", 0, IN_VALUES, "X:Y", "the covariance of each key's values of X and Y", 0,
     PAIRS(BF_COV)},
    {"slope", 0, IN_VALUES, "X:Y", "the slope of the line that fits each key's Y to X best", 0,
     PAIRS(BF_SLOPE)},
    {"intercept", 0, IN_VALUES, "X:Y", "where that line meets X = 0", 0, PAIRS(BF_INTERCEPT)},
    {"r2", 0, IN_VALUES, "X:Y", "the share of Y's variance that the line explains", 0,
     PAIRS(BF_R2)},
    {"wmean", 0, IN_VALUES, "X:W", "the mean of each key's X with weights W", 0, PAIRS(BF_WMEAN)},
    {"wvar", 0, IN_VALUES, "X:W", "the variance of each key's X with weights W", 0, PAIRS(BF_WVAR)},
    {"wstd", 0, IN_VALUES, "X:W", "the standard deviation of each key's X with weights W", 0,
     PAIRS(BF_WSTD)},
    {"min", 0, IN_VALUES, "V", "the minimum of each key's values", 0, AGGREGATE(BF_MIN)},
    {"max", 0, IN_VALUES, "V", "the maximum of each key's values", 0, AGGREGATE(BF_MAX)},
    {"median", 0, IN_VALUES, "V", "the median of each key's values", 0, ORDER_OF(ORDER_MEDIAN_OF)},
    {"quantile", 0, IN_VALUES, "P:V",
     "the quantile of each key's values, P in percent, as in 95:x.npy; of several 5,95:x.npy", 0,
     .read = read_quantile, .repeats = true},
    {"share", 0, IN_VALUES, "V", "the sum of each key's values, divided by that of all", 0,
     ORDER_OF(SHARE_OF_SUM)},
    {"distinct", 0, IN_VALUES, "V", "how many different values each key has", 0,
     ORDER_OF(ORDER_DISTINCT_OF)},
    {"mode", 0, IN_VALUES, "V",
     "each key's most frequent value, the least of equally frequent ones", 0,
     ORDER_OF(ORDER_MODE_OF)},
    {"first", 0, IN_VALUES, "V", "the value of each key's first row that has one", 0,
     ORDER_OF(ORDER_FIRST_OF)},
    {"last", 0, IN_VALUES, "V", "the value of each key's last row that has one", 0,
     ORDER_OF(ORDER_LAST_OF)},
    {"count", 0, IN_VALUES, NULL, "the number of each key's rows", 0, .read = read_aggregate,
     .repeats = true},
};
const option_table group_options = OPTION_TABLE(specs);

static const usage group_usage = {
    "[OPTIONS] [KEYS]",
    "Aggregates the rows of each key: a line is a key and its aggregates, in the order in which "
    "they are asked for. With --by COLUMN, the KEYS are one table of text; its rows are grouped "
    "by columns of words or numbers, and V is a column or an expression, as in 'price*count'. '-' "
    "or no KEYS "
    "is standard input.\n\n"
    "The lines are in the order of the keys. Without --by, V is a file, or a column of KEYS if "
    "that "
    "is text; its first value belongs to the first key, and so on. If a file and a column have the "
    "same name, './price' means the file and ':price' the column. Several V have commas between; "
    "=NAME behind a V of --by names the result, and a V that ends with *, as in 'v*', is all "
    "columns of such names. X:Y is a pair of V: where one of the two is skipped, so is the "
    "other.\n\n"
    "Sums are exact in any order of rows. Medians and quantiles (by NumPy's methods) need all "
    "rows, "
    "in memory or, beyond --memory, in files; --save writes all of them.",
    TAKES_STDIN | TAKES_INPUT | TAKES_NAN | TAKES_ROUNDING | TAKES_DDOF | TAKES_RUNNING |
        TAKES_MEMORY | TAKES_OUTPUT | TAKES_SHEET | TAKES_SEED | TAKES_METHOD | TAKES_BY |
        TAKES_INFER | TAKES_SAVE | TAKES_WORK,
    "by where sum mean min max median count total sort top json csv output memory help",
    "bitfold group x.npy --sum x.npy --count\n"
    "bitfold group --by name --mean height,weight --csv table.csv\n"
    "bitfold group --by name --corr height:weight --count --csv table.csv\n"
    "bitfold group --by name --sum 'weight/height**2=bmi' --sort -bmi table.csv",
    &group_options};

static int check_asked(const options *o) {
    if (o->aggregate_count > 0) return EXIT_DONE;
    fail(EXIT_USAGE, NULL, "nothing is asked for");
    hint("ask for --sum V, --mean V, --min V, --max V, --median V, --quantile P:V or --count");
    return EXIT_USAGE;
}

static int check_line(const options *o) {
    if (!o->by && o->file_count != 1)
        return fail(EXIT_USAGE, NULL, "one file of keys is needed, not %d", o->file_count);
    const int code = check_asked(o);
    return code == EXIT_DONE && !o->by ? by_check_absent(o, false) : code;
}

int cmd_group(int argc, char **argv) {
    options o;
    int code;
    if (!options_parse(&o, argc, argv, &group_usage, &code)) return code;
    code = check_line(&o);
    return ranks_agree(code == EXIT_DONE ? by_run(&o) : code);
}
