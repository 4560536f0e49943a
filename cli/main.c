/* bitfold: the command. Picks the command that argv[1] names. */
#include "command.h"
#include "output.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

typedef struct command {
    const char *name, *family, *summary;
    int (*run)(int argc, char **argv);
} command;

static int cmd_help(int argc, char **argv);

static const command commands[] = {
    {"sum", "values", "the exact sum", cmd_value},
    {"mean", "values", "the arithmetic mean", cmd_value},
    {"var", "values", "the variance", cmd_value},
    {"std", "values", "the standard deviation", cmd_value},
    {"sumsq", "values", "the sum of squares", cmd_value},
    {"norm", "values", "the 2-norm", cmd_value},
    {"dot", "values", "the dot product of two files", cmd_dot},
    {"min", "values", "the minimum", cmd_value},
    {"max", "values", "the maximum", cmd_value},
    {"argmin", "values", "the first index of the minimum", cmd_value},
    {"argmax", "values", "the first index of the maximum", cmd_value},
    {"merge", "parts", "combine states that --save wrote", cmd_merge},
    {"verify", "machine", "the same bits on every instruction set and thread count?", cmd_verify},
    {"bench", "machine", "the speed of this machine", cmd_bench},
    {"help", "help", "this, or 'help COMMAND'", cmd_help},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static const command *find_command(const char *name) {
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    return NULL;
}

static void show_commands(FILE *f) {
    fputs("bitfold: exact, reproducible reductions over large arrays\n\n"
          "bitfold COMMAND [OPTIONS] [FILE...]\n",
          f);
    const char *family = "";
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(family, commands[i].family) != 0) fprintf(f, "\n%s\n", commands[i].family);
        family = commands[i].family;
        fprintf(f, "  %-8s %s\n", commands[i].name, commands[i].summary);
    }
    fputs("\nbitfold help COMMAND tells a command's options; bitfold --version, the version.\n"
          "Exit codes: 0 done, 1 could not read or write, 2 bad usage, 3 data refused,\n"
          "4 device not usable, 5 a check failed.\n",
          f);
}

static int unknown_command(const char *name) {
    report_command("");
    fail(EXIT_USAGE, NULL, "unknown command: %s", name);
    hint("'bitfold help' lists the commands");
    return EXIT_USAGE;
}

static int run_command(const command *c, int argc, char **argv) {
    report_command(c->name);
    return c->run(argc, argv);
}

static int cmd_help(int argc, char **argv) {
    const command *c = argc > 1 ? find_command(argv[1]) : NULL;
    if (argc > 1 && argv[1][0] != '-' && !c) return unknown_command(argv[1]);
    if (c && c->run != cmd_help) {
        static char option[] = "--help";
        char *arguments[] = {argv[1], option, NULL};
        return run_command(c, 2, arguments);
    }
    show_commands(stdout);
    return EXIT_DONE;
}

static int dispatch(int argc, char **argv) {
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

/* Keeps files that are opened later from becoming a standard stream that is closed; what stands in
 * its place fails when it is used. */
static void fill_standard_streams(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) == -1) open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv) {
    fill_standard_streams();
    /* A closed pipe and a limit on file sizes are then errors of the write, and reported. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    const int code = dispatch(argc, argv);
    return code == EXIT_DONE ? output_flush(stdout, "standard output") : code;
}
