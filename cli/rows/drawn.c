/* sample shuffle: whole rows at random. */
#include "command.h"
#include "options/operand.h"
#include "rows/whole.h"

#include <string.h>

static const option_spec specs[] = {
    {"seed", 0, IN_KEYS, "N", "draws other rows, the same on every machine (0)", TAKES_ROWS,
     .read = read_number, .at = OPTION_AT(seed), .most = INT64_MAX},
};
const option_table drawn_options = OPTION_TABLE(specs);

#define TAKES_DRAWN                                                                                \
    (TAKES_STDIN | TAKES_INPUT | TAKES_RUNNING | TAKES_MEMORY | TAKES_OUTPUT | TAKES_SHEET |       \
     TAKES_ROWS | TAKES_LIMIT)
#define TABLE                                                                                      \
    " All files are one table of text; a header stays the first line. Which rows are drawn "       \
    "depends on --seed and on how many rows there are alone. '-' or no FILE is standard input."
#define COMMON "seed take where json csv output threads memory help"

static const usage usages[] = {
    {"-n K [OPTIONS] [FILE...]",
     "Shows K rows at random, whole and in their order: each K of the rows are as likely." TABLE,
     TAKES_DRAWN, "top " COMMON,
     "bitfold sample -n 2 table.csv\nbitfold sample -n 2 --seed 7 --where 'height > 1' table.csv",
     &drawn_options},
    {"[OPTIONS] [FILE...]",
     "Shows all rows, whole, in a random order; with -n K the first K of them." TABLE, TAKES_DRAWN,
     "top " COMMON, "bitfold shuffle --seed 7 table.csv -o shuffled.csv", &drawn_options},
};

int cmd_drawn(int argc, char **argv) {
    options o;
    int code;
    const whole_kind kind = strcmp(argv[0], "sample") == 0 ? WHOLE_SAMPLE : WHOLE_SHUFFLE;
    if (!options_parse(&o, argc, argv, &usages[kind == WHOLE_SHUFFLE], &code)) return code;
    return whole_run(&o, kind);
}
