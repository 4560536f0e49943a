/* cumsum cumprod cummin cummax: the reduction of the numbers up to each one. rolling: that of the
 * window of each. */
#include "columns/condition.h"
#include "command.h"
#include "options/operand.h"
#include "runtime/guess.h"
#include "scan/array.h"
#include "scan/stream.h"
#include "scan/tabled.h"

#include <string.h>
#include <unistd.h>

#define OWN(member) offsetof(running_options, member)
#define AXIS                                                                                       \
    {                                                                                              \
        "axis", 0, IN_VALUES, "N",                                                                 \
            "take each line along this axis of an array; axes count from 0 or, from the end, -1",  \
            0, .read = read_axes, .at = OWN(axes)                                                  \
    }

static const option_spec prefix_specs[] = {
    {"exclusive", 0, IN_VALUES, NULL, "leave each number out of its own result", 0,
     .read = read_flag, .at = OWN(exclusive)},
    {"reverse", 0, IN_VALUES, NULL, "begin at the last number, and go to the first", 0,
     .read = read_flag, .at = OWN(reverse)},
    AXIS};
static const option_spec window_specs[] = {
    {"window", 0, IN_VALUES, "N|SPAN", "how many elements a window has; or a span of --on, as 7d",
     0, .read = read_text, .at = OWN(window_text), .least = 1, .most = ELEMENTS_MOST},
    {"on", 0, IN_VALUES, "COL", "the column of keys that windows are a span of, in their order", 0,
     .read = read_text, .at = OWN(on)},
    {"min-count", 0, IN_VALUES, "M",
     "how many that are no NaN it has at least (as many as the window, of a span 1)", 0,
     .read = read_number, .at = OWN(min_count), .most = ELEMENTS_MOST},
    {"center", 0, IN_VALUES, NULL, "an element is in the middle of its window (the last)", 0,
     .read = read_flag, .at = OWN(center)},
    {"step", 0, IN_VALUES, "K", "show the results of elements 0, K, 2 K and so on (1)", 0,
     .read = read_number, .at = OWN(step), .least = 1, .most = ELEMENTS_MOST},
    {"percents", 'p', IN_VALUES, "LIST", "the percents of quantile, from 0 to 100, as in 5,50,99.9",
     0, .read = read_percents, .at = OWN(percents)},
    AXIS};
const option_table scan_options = OPTION_TABLE(prefix_specs);
const option_table rolling_options = OPTION_TABLE(window_specs);

#define TAKES_SCAN                                                                                 \
    (TAKES_STDIN | TAKES_INPUT | TAKES_NAN | TAKES_RUNNING | TAKES_MEMORY | TAKES_MAP |            \
     TAKES_WHERE | TAKES_KEYS | TAKES_APPEND)
#define FORMS                                                                                      \
    "One a line; -o FILE.npy writes an array of one dimension, '-o -' to standard output. Of an "  \
    "array they are in C order. '-' or no FILE is standard input, of any length."
#define SYNOPSIS "[OPTIONS] [FILE]"
#define COMMON "axis column by append nan output csv threads help"
#define LINES "exclusive reverse "

static const struct {
    const char *name;
    bf_reduction op; /* 0: windows, whose op is the first operand */
    usage usage;
} commands[] = {
    {"cumsum",
     BF_SUM,
     {SYNOPSIS,
      "The sum of the numbers up to each one: the exact sum, rounded once to their dtype; integers "
      "and decimals are exact. " FORMS,
      TAKES_SCAN | TAKES_OVERFLOW, "overflow " LINES COMMON,
      "bitfold cumsum x.npy -o sums.npy\nbitfold cumsum --column weight table.csv", &scan_options}},
    {"cumprod",
     BF_PROD,
     {SYNOPSIS, "The product of the integers up to each one. " FORMS, TAKES_SCAN | TAKES_OVERFLOW,
      "overflow " LINES COMMON, "seq 20 | bitfold cumprod", &scan_options}},
    {"cummin",
     BF_MIN,
     {SYNOPSIS, "The least of the numbers up to each one; -0 is less than 0. " FORMS,
      TAKES_SCAN | TAKES_EMPTY, LINES COMMON, "bitfold cummin x.npy", &scan_options}},
    {"cummax",
     BF_MAX,
     {SYNOPSIS, "The greatest of the numbers up to each one; -0 is less than 0. " FORMS,
      TAKES_SCAN | TAKES_EMPTY, LINES COMMON, "bitfold cummax --column height table.csv",
      &scan_options}},
    {"rolling",
     0,
     {"[OPTIONS] sum|mean|var|std|skew|kurtosis|min|max|median|quantile|count|cov|corr|slope|"
      "intercept|r2 [FILE [B]]",
      "Reduces the window of each number: it and those before it, as many in all as --window says; "
      "count is of those that are no NaN. The last five are of pairs, of two FILEs or of columns "
      "(--column A,B). A window with too few has NaN.\n\n"
      "Each result is that of its window alone, exact and rounded once to f64; the least, the "
      "greatest and the median of floats keep their dtype.\n\n" FORMS,
      TAKES_SCAN | TAKES_ROUNDING | TAKES_DDOF | TAKES_METHOD,
      "window on min-count center step percents " COMMON,
      "bitfold rolling mean --window 2 y.npy\n"
      "bitfold rolling corr --window 3 --column height,weight table.csv\n"
      "seq 100 | bitfold rolling sum --window 10 --step 10",
      &rolling_options}},
};

/* ---- the command line ------------------------------------------------------------------------ */

static const struct {
    const char *name;
    bf_reduction op;
    enum window_result result;
} operations[] = {{"sum", BF_SUM, WINDOW_REDUCED},
                  {"mean", BF_MEAN, WINDOW_REDUCED},
                  {"var", BF_VAR, WINDOW_REDUCED},
                  {"std", BF_STD, WINDOW_REDUCED},
                  {"skew", BF_SKEW, WINDOW_REDUCED},
                  {"kurtosis", BF_KURTOSIS, WINDOW_REDUCED},
                  {"min", BF_MIN, WINDOW_REDUCED},
                  {"max", BF_MAX, WINDOW_REDUCED},
                  {"median", BF_SUM, WINDOW_MEDIAN},
                  {"quantile", BF_SUM, WINDOW_QUANTILE},
                  {"count", BF_SUM, WINDOW_COUNTED},
                  {"cov", BF_COV, WINDOW_REDUCED},
                  {"corr", BF_CORR, WINDOW_REDUCED},
                  {"slope", BF_SLOPE, WINDOW_REDUCED},
                  {"intercept", BF_INTERCEPT, WINDOW_REDUCED},
                  {"r2", BF_R2, WINDOW_REDUCED}};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static int refuse_operation(const char *name) {
    guess g = guess_begin(name ? name : "");
    for (int i = 0; i < OPERATIONS; i++) guess_consider(&g, operations[i].name);
    if (!name) fail(EXIT_USAGE, NULL, "no operation given");
    if (name) fail(EXIT_USAGE, NULL, "unknown operation: %s", name);
    guess_hint(&g, "",
               "it is sum, mean, var, std, skew, kurtosis, min, max, median, quantile, count, cov, "
               "corr, slope, intercept or r2");
    return EXIT_USAGE;
}

/* Takes the operation, and standard input where no FILE follows it. */
static int take_operation(running *x) {
    static char dash[] = "-", *standard_input[] = {dash, NULL};
    options *const o = &x->options;
    const char *const name = o->input.implied ? NULL : o->files[0];
    int i = 0;
    while (name && i < OPERATIONS && strcmp(operations[i].name, name) != 0) i++;
    if (!name || i == OPERATIONS) return refuse_operation(name);
    x->name = operations[i].name;
    x->op = operations[i].op;
    x->result = operations[i].result;
    o->files++;
    if (--o->file_count > 0) return EXIT_DONE;
    o->files = standard_input;
    o->file_count = 1;
    o->input.implied = true;
    return isatty(STDIN_FILENO)
               ? fail(EXIT_USAGE, NULL, "no FILE given: standard input is a terminal")
               : EXIT_DONE;
}

/* A span is read when it is known what --on holds. */
static int check_windows(running *x) {
    running_options *own = &x->own;
    if (!own->window_text) {
        fail(EXIT_USAGE, NULL, "--window is needed");
        hint("--window 7 takes each number and the six before it");
        return EXIT_USAGE;
    }
    if (!own->on && !read_number(&window_specs[0], own->window_text, &own->window)) {
        hint("a span of a key, as 7d is one of times, needs --on COL");
        return EXIT_USAGE;
    }
    if (!own->on && own->min_count > own->window)
        return fail(EXIT_USAGE, NULL, "--min-count is more than a window has");
    if (x->options.rules.ddof != 0 && x->op != BF_VAR && x->op != BF_STD && x->op != BF_SKEW &&
        x->op != BF_KURTOSIS && x->op != BF_COV)
        return fail(EXIT_USAGE, NULL, "--ddof is for var, std, skew, kurtosis and cov");
    if ((x->result == WINDOW_QUANTILE) != (own->percents.n > 0))
        return fail(EXIT_USAGE, NULL, "quantile needs -p, and nothing else has it");
    if (own->percents.n > 1 && x->options.append)
        return fail(EXIT_USAGE, NULL, "--append is of one percent, not %d", own->percents.n);
    for (int i = 0; i < own->percents.n; i++) own->percents.at[i] /= 100;
    if (x->options.method != 0 && x->result != WINDOW_QUANTILE)
        return fail(EXIT_USAGE, NULL, "--method is for quantile");
    return EXIT_DONE;
}

static int check_line(running *x) {
    const options *o = &x->options;
    int code = x->windows ? take_operation(x) : EXIT_DONE;
    if (code == EXIT_DONE && x->windows) code = check_windows(x);
    if (code != EXIT_DONE) return code;
    if (o->file_count > running_arrays(x))
        return fail(EXIT_USAGE, NULL, "%s takes %s, not %d", report_command_name(),
                    running_arrays(x) == 2 ? "two FILEs" : "one FILE", o->file_count);
    if (o->file_count > 1 && o->where)
        return fail(EXIT_USAGE, NULL, "--where needs one FILE, a table");
    if (o->rules.overflow == BF_OVERFLOW_SATURATE)
        return fail(EXIT_USAGE, NULL, "--overflow saturate is for map alone");
    if (!o->by && (o->input.text.text || o->input.text.number))
        return fail(EXIT_USAGE, NULL, "%s needs --by", o->input.text.text ? "--text" : "--number");
    code = array_wanted(x) ? array_check(x) : EXIT_DONE;
    if (code != EXIT_DONE) return code;
    return tabled_wanted(x) ? tabled_check(x) : tabled_check_absent(o);
}

int cmd_scan(int argc, char **argv) {
    int which = 0, code;
    condition *c = NULL;
    while (strcmp(commands[which].name, argv[0]) != 0) which++;
    running x = {.name = commands[which].name,
                 .op = commands[which].op,
                 .windows = commands[which].op == 0,
                 .own.min_count = -1,
                 .began = progress_clock()};
    options *const o = &x.options;
    if (!options_parse_into(o, &x.own, argc, argv, &commands[which].usage, &code)) return code;
    code = check_line(&x);
    if (code == EXIT_DONE) code = condition_open(&c, o);
    if (code == EXIT_DONE)
        code = (array_wanted(&x) ? array_run : tabled_wanted(&x) ? tabled_run : stream_run)(&x);
    condition_close(c);
    buffer_free(&x.results);
    bf_context_destroy(x.context);
    return code;
}
