/* Help made from the tables of options, and messages about mistyped options. */
#include "input/guess.h"
#include "runtime/options.h"

#include <stdio.h>
#include <string.h>

static void show_option(const option_spec *s) {
    char left[64], letter[4] = "   ";
    if (s->letter) snprintf(letter, sizeof letter, "-%c,", s->letter);
    snprintf(left, sizeof left, s->optional ? "%s --%s[=%s]" : "%s --%s %s", letter, s->name,
             s->operand ? s->operand : "");
    printf("  %-34s%s%s\n", left, strlen(left) < 34 ? "" : "\n                                    ",
           s->help);
}

static void show_example(const char *lines) {
    puts("\nexample");
    for (const char *at = lines; *at; at += strcspn(at, "\n") + (at[strcspn(at, "\n")] == '\n'))
        printf("  %.*s\n", (int)strcspn(at, "\n"), at);
}

static void show_help(const char *command, const usage *u, const option_spec *const list[], int n) {
    printf("bitfold %s%s%s\n\n%s\n\noptions\n", command, *u->synopsis ? " " : "", u->synopsis,
           u->text);
    for (int i = 0; i < n; i++) show_option(list[i]);
    if (u->example) show_example(u->example);
}

static help_writer *write_help = show_help;

void options_on_help(help_writer *writer) { write_help = writer; }

void options_show(const char *command, const usage *u, const own_options *own) {
    const option_spec *list[OPTIONS_MOST];
    const int n = options_of(u, own, list);
    write_help(command, u, list, n);
}

/* ---- slips ----------------------------------------------------------------------------------- */

bool options_again(const char **given, const option_spec *spec, const char *operand) {
    const char *before = *given;
    *given = operand;
    if (!before || strcmp(before, operand) == 0) return false;
    fail(EXIT_USAGE, NULL, "--%s is given twice: '%s' and '%s'", spec->name, before, operand);
    return true;
}

void options_guess(const char *option, const option_spec *const list[], int n,
                   const char *otherwise) {
    char word[64];
    const char *name = option + strspn(option, "-");
    snprintf(word, sizeof word, "%.*s", (int)strcspn(name, "="), name);
    guess g = guess_begin(word);
    for (int i = 0; i < n && strncmp(option, "--", 2) == 0; i++) guess_consider(&g, list[i]->name);
    guess_hint(&g, "--", otherwise);
}
