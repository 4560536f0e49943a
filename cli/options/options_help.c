/* Help made from the tables of options, and messages about mistyped options. */
#include "options/options.h"
#include "runtime/guess.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 80, INDENT = 30 };

/* ---- text ------------------------------------------------------------------------------------ */

/* Prints n characters from the margin on, where the line is already. A line that is too long, or a
 * line break of the text, becomes one at a blank. */
static void put_wrapped(const char *text, size_t n, int margin) {
    const char *const end = text + n;
    int at = margin;
    while (text < end) {
        const int word = (int)strcspn(text, " \n");
        if (at > margin && at + 1 + word > WIDTH) {
            printf("\n%*s", margin, "");
            at = margin;
        }
        at += printf("%s%.*s", at > margin ? " " : "", word, text);
        text += word;
        text += strspn(text, " \n");
    }
    putchar('\n');
}

/* One paragraph, or all with empty lines between. */
static void put_text(const char *text, bool all) {
    const char *const end = strstr(text, "\n\n");
    const size_t n = end ? (size_t)(end - text) : strlen(text);
    if (*text == ' ')
        printf("%.*s\n", (int)n, text);
    else
        put_wrapped(text, n, 0);
    if (!all || !end) return;
    putchar('\n');
    put_text(end + 2, all);
}

/* The first line, which may also break behind a word of a list, as in "a|b|c". */
static void put_synopsis(const char *command, const char *text) {
    int at = printf("bitfold %s%s", command, *text ? " " : "");
    while (*text) {
        int word = (int)strcspn(text, " |");
        word += text[word] != '\0';
        if (at + word > WIDTH) at = printf("\n%8s", "") - 1;
        at += printf("%.*s", word, text);
        text += word;
    }
    puts("\n");
}

static void put_lines(const char *lines) {
    for (const char *at = lines; *at; at += strcspn(at, "\n") + (at[strcspn(at, "\n")] == '\n'))
        printf("  %.*s\n", (int)strcspn(at, "\n"), at);
}

/* ---- options --------------------------------------------------------------------------------- */

static void put_option(const option_spec *s) {
    char letter[4] = "   ";
    if (s->letter) snprintf(letter, sizeof letter, "-%c,", s->letter);
    const int left = printf(s->optional ? "  %s --%s[=%s]" : "  %s --%s %s", letter, s->name,
                            s->operand ? s->operand : "");
    printf(left < INDENT ? "%*s" : "\n%*s", left < INDENT ? INDENT - left : INDENT, "");
    put_wrapped(s->help, strlen(s->help), INDENT);
}

/* The names are those that the command has: a test shows the help of every command. */
static void put_common(const char *names, const option_spec *const list[]) {
    puts("\noptions");
    while (*names) {
        const size_t n = strcspn(names, " ");
        int i = 0;
        while (strncmp(list[i]->name, names, n) != 0 || list[i]->name[n] != '\0') i++;
        put_option(list[i]);
        names += n + strspn(names + n, " ");
    }
}

static void put_section(enum option_section section, const option_spec *const list[], int n) {
    static const char *const titles[] = {"input", "text", "keys", "values", "running", "output"};
    bool begun = false;
    for (int i = 0; i < n; i++) {
        if (list[i]->section != section) continue;
        if (!begun) printf("\n%s\n", titles[section]);
        begun = true;
        put_option(list[i]);
    }
}

/* ---- a command ------------------------------------------------------------------------------- */

static help_writer *write_instead;

void options_on_help(help_writer *writer) { write_instead = writer; }

static void show_help(const char *command, const usage *u, enum help help,
                      const option_spec *const list[], int n) {
    const bool all = help == HELP_ALL;
    put_synopsis(command, u->synopsis);
    put_text(u->text, all);
    if (!all) put_common(u->common, list);
    if (!all) puts("\nDefaults are in parentheses. --help=all lists every option.");
    for (int i = IN_INPUT; all && i <= IN_OUTPUT; i++) put_section((enum option_section)i, list, n);
    puts("\nexamples");
    put_lines(u->examples);
}

void options_show(const char *command, const usage *u, enum help help) {
    const option_spec *list[OPTIONS_MOST];
    const int n = options_of(u, list);
    if (write_instead)
        write_instead(command, u, list, n);
    else
        show_help(command, u, help, list, n);
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
