/* completion: writes a script for bash, zsh or fish.
 *
 * Calls every command with --help, whose writer here writes completions. */
#include "help/completion.h"

#include "options/options.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const command *all;
static int all_count;

/* ---- what an operand may be ------------------------------------------------------------------ */

/* Is the word a value that a user types, such as "npy"? "N" is not, nor is "cuda:N", because shells
 * split words at colons. */
static bool is_literal(const char *word, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (!islower((unsigned char)word[i]) && !isdigit((unsigned char)word[i])) return false;
    return length > 0;
}

static void put_word(const char *word, size_t length, bool *first) {
    printf("%s%.*s", *first ? "" : " ", (int)length, word);
    *first = false;
}

/* The methods of quantiles, by number from 0; "?" behind the last. */
static const char *method_name(int i) { return bf_quantile_method_name((bf_quantile_method)i); }

/* Writes the words that an operand lists, as in "a|b|c"; for T, the dtypes. */
static void put_words(const char *operand) {
    bool first = true;
    if (strcmp(operand, "T") == 0) {
#define BF_X(id, number, name, bytes, type, ...) put_word(#name, sizeof #name - 1, &first);
        BF_DTYPE_LIST(BF_X)
#undef BF_X
        return;
    }
    if (strcmp(operand, "METHOD") == 0) {
        for (int i = 0; strcmp(method_name(i), "?") != 0; i++)
            put_word(method_name(i), strlen(method_name(i)), &first);
        return;
    }
    for (const char *at = operand; *at;) {
        const size_t n = strcspn(at, "|");
        if (is_literal(at, n)) put_word(at, n, &first);
        at += n + (at[n] == '|');
    }
}

static bool has_words(const char *operand) {
    return strcmp(operand, "T") == 0 || strcmp(operand, "METHOD") == 0 ||
           strchr(operand, '|') != NULL;
}

/* Returns the first operand of the synopsis, as in "bash|zsh|fish" or "[COMMAND]". */
static const char *first_operand(const usage *u) {
    static const char any[] = "[OPTIONS] ";
    const size_t n = sizeof any - 1;
    return strncmp(u->synopsis, any, n) == 0 ? u->synopsis + n : u->synopsis;
}

static bool first_is(const usage *u, const char *operand) {
    return strncmp(first_operand(u), operand, strlen(operand)) == 0;
}

static bool first_has_words(const usage *u) {
    return first_is(u, "[COMMAND]") || first_is(u, "OP ") ||
           islower((unsigned char)*first_operand(u));
}

static void put_first_words(const usage *u) {
    char words[128];
    bool first = true;
    if (first_is(u, "[COMMAND]")) {
        for (int i = 0; i < all_count; i++) put_word(all[i].name, strlen(all[i].name), &first);
    } else if (first_is(u, "OP ")) {
#define BF_X(id, number, name, inputs) put_word(#name, sizeof #name - 1, &first);
        BF_MAP_LIST(BF_X)
#undef BF_X
    } else {
        const char *list = first_operand(u);
        snprintf(words, sizeof words, "%.*s", (int)strcspn(list, " "), list);
        put_words(words);
    }
}

/* ---- bash ------------------------------------------------------------------------------------ */

static void bash_pattern(const option_spec *s) {
    if (s->letter) printf("-%c | ", s->letter);
    printf("--%s", s->name);
}

static void bash_command(const char *name, const usage *u, const option_spec *const specs[],
                         int n) {
    printf("    %s)\n        options='", name);
    bool first = true;
    for (int i = 0; i < n; i++) {
        printf("%s--%s", first ? "" : " ", specs[i]->name);
        first = false;
    }
    printf("'\n        case $before in\n");
    for (int i = 0; i < n; i++) {
        const option_spec *s = specs[i];
        if (!s->operand || s->optional || s->file) continue;
        printf("        ");
        bash_pattern(s);
        printf(") words='");
        if (has_words(s->operand)) put_words(s->operand);
        printf("' files= ;;\n");
    }
    if (first_has_words(u)) {
        printf("        %s) words='", name);
        put_first_words(u);
        printf("' files= ;;\n");
    }
    printf("        esac\n        ;;\n");
}

/* "-o default" leaves files to readline, which quotes them. */
static const char bash_head[] =
    "# bash completion for bitfold:  source <(bitfold completion bash)\n"
    "_bitfold() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local words='' options='' files=yes\n"
    "    if [ \"$current\" = '=' ]; then\n"
    "        current=''\n"
    "    elif [ \"$before\" = '=' ]; then\n"
    "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    COMPREPLY=()\n"
    "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
    "        words='";
static const char bash_middle[] = " --help --version' files=\n"
                                  "    fi\n"
                                  "    case ${COMP_WORDS[1]} in\n";
static const char bash_tail[] =
    "    esac\n"
    "    if [ \"$COMP_CWORD\" -gt 1 ] && [[ $current == -* ]]; then\n"
    "        words=$options files=''\n"
    "    fi\n"
    "    if [ -z \"$files\" ]; then\n"
    "        compopt +o default 2>/dev/null\n"
    "        local IFS=$' \\t\\n'\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
    "    fi\n"
    "}\n"
    "complete -o default -F _bitfold bitfold\n";

/* ---- zsh ------------------------------------------------------------------------------------- */

/* Escapes text inside a quoted specification of _arguments. */
static void zsh_text(const char *text) {
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr("[]:\\", *text))
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void zsh_action(const option_spec *s) {
    printf("%s:operand:", s->optional ? ":" : "");
    if (s->file) printf("_files");
    if (!has_words(s->operand)) return;
    printf("(");
    put_words(s->operand);
    printf(")");
}

/* Writes an option's letter or its long name. Each excludes both. */
static void zsh_option(const option_spec *s, bool letter) {
    printf(" \\\n            '(");
    if (s->letter) printf("-%c ", s->letter);
    printf("--%s)", s->name);
    if (letter)
        printf("-%c[", s->letter);
    else
        printf("--%s%s[", s->name, s->optional ? "=-" : s->operand ? "=" : "");
    zsh_text(s->help);
    putchar(']');
    if (s->operand) zsh_action(s);
    putchar('\'');
}

static void zsh_command(const char *name, const usage *u, const option_spec *const specs[], int n) {
    printf("    %s)\n        _arguments -s", name);
    for (int i = 0; i < n; i++) {
        if (specs[i]->letter) zsh_option(specs[i], true);
        zsh_option(specs[i], false);
    }
    if (first_has_words(u)) {
        printf(" \\\n            '1:operand:(");
        put_first_words(u);
        printf(")'");
    }
    printf(" \\\n            '*:file:_files'\n        ;;\n");
}

static const char zsh_head[] = "#compdef bitfold\n"
                               "# zsh completion for bitfold:  source <(bitfold completion zsh)\n"
                               "_bitfold() {\n"
                               "    local -a commands=(\n";
static const char zsh_middle[] = "    )\n"
                                 "    if ((CURRENT == 2)); then\n"
                                 "        _describe command commands\n"
                                 "        return\n"
                                 "    fi\n"
                                 "    shift words\n"
                                 "    ((CURRENT--))\n"
                                 "    case $words[1] in\n";
static const char zsh_tail[] = "    esac\n"
                               "}\n"
                               "if [[ $funcstack[1] == _bitfold ]]; then\n"
                               "    _bitfold \"$@\"\n"
                               "else\n"
                               "    compdef _bitfold bitfold\n"
                               "fi\n";

static void zsh_commands(void) {
    for (int i = 0; i < all_count; i++) {
        printf("        '%s:", all[i].name);
        zsh_text(all[i].summary);
        printf("'\n");
    }
}

/* ---- fish ------------------------------------------------------------------------------------ */

static void fish_text(const char *text) {
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\') putchar('\\');
        putchar(*text);
    }
    putchar('\'');
}

static void fish_condition(const char *name) {
    printf("complete -c bitfold -n '__fish_seen_subcommand_from %s'", name);
}

static void fish_option(const char *name, const option_spec *s) {
    fish_condition(name);
    if (s->letter) printf(" -s %c", s->letter);
    printf(" -l %s", s->name);
    if (s->file) printf(" -r -F");
    if (s->operand && !s->optional && !s->file) printf(" -x");
    if (s->operand && has_words(s->operand)) {
        printf(" -a '");
        put_words(s->operand);
        putchar('\'');
    }
    printf(" -d ");
    fish_text(s->help);
    putchar('\n');
}

static void fish_command(const char *name, const usage *u, const option_spec *const specs[],
                         int n) {
    for (int i = 0; i < n; i++) fish_option(name, specs[i]);
    fish_condition(name);
    if (!first_has_words(u) || first_is(u, "OP ")) printf(" -F");
    if (first_has_words(u)) {
        printf(" -a '");
        put_first_words(u);
        putchar('\'');
    }
    putchar('\n');
}

static void fish_commands(void) {
    for (int i = 0; i < all_count; i++) {
        printf("complete -c bitfold -n __fish_use_subcommand -a %s -d ", all[i].name);
        fish_text(all[i].summary);
        putchar('\n');
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void each_command(help_writer *writer) {
    options_on_help(writer);
    for (int i = 0; i < all_count; i++) {
        char name[32], option[] = "--help";
        snprintf(name, sizeof name, "%s", all[i].name);
        char *arguments[] = {name, option, NULL};
        all[i].run(2, arguments);
    }
}

static void write_bash(void) {
    bool first = true;
    fputs(bash_head, stdout);
    for (int i = 0; i < all_count; i++) put_word(all[i].name, strlen(all[i].name), &first);
    fputs(bash_middle, stdout);
    each_command(bash_command);
    fputs(bash_tail, stdout);
}

static void write_zsh(void) {
    fputs(zsh_head, stdout);
    zsh_commands();
    fputs(zsh_middle, stdout);
    each_command(zsh_command);
    fputs(zsh_tail, stdout);
}

static void write_fish(void) {
    puts("# fish completion for bitfold:  bitfold completion fish | source\n"
         "complete -c bitfold -f\n"
         "complete -c bitfold -n __fish_use_subcommand -l help -d 'list the commands'\n"
         "complete -c bitfold -n __fish_use_subcommand -l version -d 'show the version'");
    fish_commands();
    each_command(fish_command);
}

int completion_write(const char *shell, const command *commands, int n) {
    static const struct {
        const char *name;
        void (*write)(void);
    } shells[] = {{"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};
    all = commands;
    all_count = n;
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(shells[i].name, shell) != 0) continue;
        shells[i].write();
        return EXIT_DONE;
    }
    fail(EXIT_USAGE, NULL, "no completion for '%s'", shell);
    hint("choose bash, zsh or fish");
    return EXIT_USAGE;
}
