/* The list of commands. Picks the one that argv[1] names. */
#include "command.h"
#include "help/completion.h"
#include "input/source.h"
#include "julia/options.h"
#include "options/options.h"
#include "runtime/guess.h"
#include "runtime/ranks.h"
#include "sheet/output.h"

#include <bitfold/types.h>
#include <string.h>

static int cmd_help(int argc, char **argv);
static int cmd_completion(int argc, char **argv);

static const command all[] = {
#define BF_X(id, number, name, state, result, text) {#name, "reduce", text, cmd_value, BY_ALL},
    BF_REDUCTION_LIST(BF_X)
#undef BF_X
        {"fit", "reduce", "the line that fits pairs best: its slope, intercept and r2", cmd_pairs,
         BY_ALL},
    {"median", "order", "the median", cmd_order, BY_ALL},
    {"quantile", "order", "quantiles, by any of NumPy's methods", cmd_order, BY_ALL},
    {"top", "order", "the greatest or the least numbers, and their indices", cmd_order, BY_ALL},
    {"sort", "order", "the numbers in order", cmd_order, BY_ALL},
    {"argsort", "order", "the indices that put the numbers in order", cmd_order, BY_ALL},
    {"unique", "order", "the different numbers or keys, in order", cmd_order, BY_ALL},
    {"sample", "order", "rows of a table at random", cmd_drawn, BY_NONE},
    {"shuffle", "order", "the rows of a table in a random order", cmd_drawn, BY_NONE},
    {"cumsum", "running", "the sum of the numbers up to each one", cmd_scan, BY_NONE},
    {"cumprod", "running", "the product of the integers up to each one", cmd_scan, BY_NONE},
    {"cummin", "running", "the least of the numbers up to each one", cmd_scan, BY_NONE},
    {"cummax", "running", "the greatest of the numbers up to each one", cmd_scan, BY_NONE},
    {"rolling", "running", "the sum, mean, least ... of the window of each number", cmd_scan,
     BY_NONE},
    {"count", "groups and tables", "how often each number or key occurs", cmd_count, BY_ALL},
    {"group", "groups and tables", "sums, means, extremes and counts for each key", cmd_group,
     BY_ALL},
    {"join", "groups and tables", "the rows of two files that have the same number or key",
     cmd_join, BY_ALL},
    {"hist", "groups and tables", "the number of elements in each bin, as a plot or a table",
     cmd_hist, BY_ALL},
    {"map", "arrays", "element-wise operations", cmd_map, BY_NONE},
    {"julia", "pictures", "Julia sets and the Mandelbrot set", cmd_julia, BY_NONE},
    {"merge", "saved states", "combine saved states, or take one out of others", cmd_merge,
     BY_FIRST},
    {"devices", "this machine", "the processor, memory and GPUs of this machine", cmd_devices,
     BY_FIRST},
    {"verify", "this machine", "check that every way to compute gives the same bits", cmd_verify,
     BY_NONE},
    {"bench", "this machine", "measure the speed of this machine", cmd_bench, BY_NONE},
    {"ladder", "this machine", "measure teaching kernels, step by step, beside bitfold's own",
     cmd_ladder, BY_NONE},
    {"help", "help", "this list, or the help of a command", cmd_help, BY_FIRST},
    {"completion", "help", "a script that completes commands in bash, zsh or fish", cmd_completion,
     BY_FIRST},
};
enum { ALL = sizeof all / sizeof *all };

/* All but the reductions that fit shows, and mean, var and std with weights. */
static command commands[ALL];
static int command_count;

static void list_commands(void) {
    command_count = 0;
    for (int i = 0; i < ALL; i++) {
        const bf_reduction op = bf_reduction_from_name(all[i].name);
        if (op < BF_SLOPE || op > BF_WSTD) commands[command_count++] = all[i];
    }
}

static const option_table *const tables[] = {&describe_options, &order_options, &map_options,
                                             &hist_options,     &group_options, &join_options,
                                             &merge_options,    &drawn_options, &rolling_options,
                                             &julia_options,    &verify_options};

static const command *find_command(const char *name) {
    for (int i = 0; i < command_count; i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    return NULL;
}

static void show_commands(FILE *f) {
    fputs("bitfold: exact, reproducible reductions over large arrays\n\n"
          "bitfold COMMAND [OPTIONS] [FILE...]\n",
          f);
    const char *family = "";
    for (int i = 0; i < command_count; i++) {
        if (strcmp(family, commands[i].family) != 0) fprintf(f, "\n%s\n", commands[i].family);
        family = commands[i].family;
        fprintf(f, "  %-10s %s\n", commands[i].name, commands[i].summary);
    }
    fputs("\n'bitfold help COMMAND' shows the usual options of a command,\n"
          "'bitfold COMMAND --help=all' shows all of them, 'man bitfold' says more,\n"
          "'bitfold --version' shows the version.\n\n"
          "Exit codes: 0 done, 1 could not read or write, 2 bad usage, 3 data refused,\n"
          "4 device not usable, 5 a check failed.\n",
          f);
}

static int unknown_command(const char *name) {
    report_command("");
    fail(EXIT_USAGE, NULL, "unknown command: %s", name);
    guess g = guess_begin(name);
    for (int i = 0; i < command_count; i++) guess_consider(&g, commands[i].name);
    guess_hint(&g, "bitfold ", "'bitfold help' lists the commands");
    return EXIT_USAGE;
}

/* Over ranks, some commands are run by all of them, most by the first alone. */
static int run_command(const command *c, int argc, char **argv) {
    report_command(c->name);
    if (c->ranks == BY_NONE && ranks_count() > 1) {
        fail(EXIT_USAGE, NULL, "this command does not run over ranks");
        hint("run 'bitfold %s'", c->name);
        return EXIT_USAGE;
    }
    if (c->ranks == BY_FIRST && !ranks_alone()) return EXIT_DONE;
    return c->run(argc, argv);
}

static const usage help_usage = {"[COMMAND]",
                                 "Lists the commands, or describes one and its usual options.",
                                 TAKES_HELP,
                                 "help",
                                 "bitfold help\nbitfold help sum",
                                 NULL};

static int cmd_help(int argc, char **argv) {
    if (argc == 2 && strncmp(argv[1], "--help", 6) == 0) {
        options o;
        int code;
        options_parse(&o, argc, argv, &help_usage, &code);
        return code;
    }
    const command *c = argc > 1 ? find_command(argv[1]) : NULL;
    if (argc > 1 && argv[1][0] != '-' && !c) return unknown_command(argv[1]);
    if (c) {
        static char option[] = "--help";
        char *arguments[] = {argv[1], option, NULL};
        return run_command(c, 2, arguments);
    }
    show_commands(stdout);
    return EXIT_DONE;
}

static const usage completion_usage = {
    "bash|zsh|fish",
    "Prints a script that completes bitfold's commands, options and files in that shell. For one "
    "session, run 'source <(bitfold completion bash)'. For all sessions, save the script in the "
    "folder where the shell looks for completions.",
    0,
    "help",
    "bitfold completion bash >bitfold.bash",
    NULL};

static int cmd_completion(int argc, char **argv) {
    options o;
    int code;
    if (!options_parse(&o, argc, argv, &completion_usage, &code)) return code;
    if (o.file_count != 1) return fail(EXIT_USAGE, NULL, "one shell is needed: bash, zsh or fish");
    return completion_write(o.files[0], commands, command_count);
}

static int dispatch(int argc, char **argv) {
    if (argc < 2 && !ranks_alone()) return EXIT_DONE;
    if (argc < 2) {
        show_commands(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return cmd_help(1, argv);
    if (strcmp(argv[1], "--version") == 0) {
        printf("bitfold %s\n", bf_version());
        return EXIT_DONE;
    }
    const command *c = find_command(argv[1]);
    return c ? run_command(c, argc - 1, argv + 1) : unknown_command(argv[1]);
}

int run_bitfold(int argc, char **argv) {
    list_commands();
    options_know(tables, sizeof tables / sizeof *tables);
    const int code = dispatch(argc, argv);
    if (code == EXIT_DONE && source_found_nothing()) inform("standard input", "empty input");
    return ranks_end(code == EXIT_DONE ? output_flush(stdout, "standard output") : code);
}
