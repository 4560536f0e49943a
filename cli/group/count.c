/* count: the different numbers there are, and how many of each. */
#include "command.h"
#include "group/by.h"
#include "runtime/ranks.h"

static const usage count_usage = {
    "[OPTIONS] [FILE...]",
    "Counts how often each different number occurs in all files together: a line is a number, a "
    "tab and its count, the most frequent first. With --by COLUMN, all files are one table of "
    "text, whose "
    "rows are counted by columns of words or numbers. '-' or no FILE is standard input.\n\n"
    "Among equally frequent numbers the least comes first. -0 counts as 0, and all NaNs count as "
    "one number, the greatest.",
    TAKES_STDIN | TAKES_INPUT | TAKES_RUNNING | TAKES_MEMORY | TAKES_OUTPUT | TAKES_SHEET |
        TAKES_SEED | TAKES_BY | TAKES_INFER | TAKES_SAVE | TAKES_WORK,
    "by where sort top column total json csv output save threads memory help",
    "bitfold count -n 10 x.npy\n"
    "bitfold count --by name --where 'height > 1.6' --csv table.csv",
    NULL};

int cmd_count(int argc, char **argv) {
    options o;
    int code;
    if (!options_parse(&o, argc, argv, &count_usage, &code)) return code;
    o.input.text.words = !o.by;
    code = o.by ? EXIT_DONE : by_check_absent(&o, true);
    return ranks_agree(code == EXIT_DONE ? by_run(&o) : code);
}
