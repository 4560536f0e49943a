#include "options/clash.h"

#include "container/member.h"
#include "runtime/outfile.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file that exists, by its inode; or one that does not yet, by its directory's and its name. */
typedef struct place {
    bool known;
    dev_t device;
    ino_t inode;
    char name[NAME_MAX + 1]; /* "": it exists */
} place;

static place place_of(const struct stat *st) {
    return (place){.known = !S_ISCHR(st->st_mode) && !S_ISSOCK(st->st_mode),
                   .device = st->st_dev,
                   .inode = st->st_ino};
}

static place place_of_stream(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 ? place_of(&st) : (place){.known = false};
}

static place place_of_input(const char *name) {
    struct stat st;
    if (strcmp(name, "-") == 0) return place_of_stream(STDIN_FILENO);
    return member_stat(name, &st) ? place_of(&st) : (place){.known = false};
}

static place place_of_output(const char *name) {
    struct stat st;
    char path[PATH_MAX];
    if (stat(name, &st) == 0) return place_of(&st);
    if (errno != ENOENT || !outfile_follow(name, path)) return (place){.known = false};
    const size_t directory = outfile_directory(path);
    const char *last = path + directory;
    if (strlen(last) > NAME_MAX) return (place){.known = false};
    char parent[PATH_MAX] = ".";
    if (directory > 0) memcpy(parent, path, directory);
    if (directory > 0) parent[directory] = '\0';
    if (stat(parent, &st) != 0) return (place){.known = false};
    place p = place_of(&st);
    strcpy(p.name, last);
    return p;
}

static bool is_same_place(const place *a, const place *b) {
    return a->known && b->known && a->device == b->device && a->inode == b->inode &&
           strcmp(a->name, b->name) == 0;
}

typedef struct target {
    const option_spec *spec; /* NULL: standard output */
    const char *name;
    place place;
} target;

enum { TARGETS = 4 }; /* there are three options that name a file to write, and standard output */

/* The option that names it, as it is mostly written. */
static const char *option_of(const target *t, char name[32]) {
    if (!t->spec) return "standard output";
    if (t->spec->letter)
        snprintf(name, 32, "-%c", t->spec->letter);
    else
        snprintf(name, 32, "--%s", t->spec->name);
    return name;
}

/* The inputs that were looked at, and the outputs that none of them may be. */
typedef struct inputs {
    const usage *usage;
    const target *targets;
    int targets_count, standard;
} inputs;

/* Standard input under any name. A regular file is opened anew by a name in /dev, so that it has
 * all of it. */
static bool is_standard(const char *name) {
    static const char *const names[] = {"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"};
    struct stat st;
    bool is = false;
    for (int i = 0; i < 3; i++) is = is || strcmp(name, names[i]) == 0;
    return strcmp(name, "-") == 0 || (is && fstat(STDIN_FILENO, &st) == 0 && !S_ISREG(st.st_mode));
}

/* map may write its result over an input: it is renamed when all is read. */
static int check_input(inputs *in, const char *name) {
    if (!name) return EXIT_DONE;
    const place read = place_of_input(name);
    in->standard += is_standard(name);
    if (in->standard > 1) return fail(EXIT_USAGE, NULL, "standard input is given more than once");
    for (int i = 0; i < in->targets_count; i++) {
        if (!is_same_place(&in->targets[i].place, &read)) continue;
        if (in->usage->takes & TAKES_MAP && in->targets[i].spec) continue;
        char option[32];
        fail(EXIT_USAGE, name, "%s would write to this input", option_of(&in->targets[i], option));
        hint("give the output a name of its own");
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

/* The values of all aggregates: of pairs, the others stand behind them. */
static const char *values_at(const options *o, int i) {
    const struct wanted_aggregate *w = &o->aggregates[i / 2];
    return i % 2 ? w->second : w->values;
}

/* Whether there are the same values before, which are read once. */
static bool is_shared(const options *o, int at) {
    const char *name = values_at(o, at);
    bool is = false;
    for (int i = 0; name && i < at; i++)
        is = is || (values_at(o, i) && strcmp(values_at(o, i), name) == 0);
    return is;
}

static int check_inputs(inputs *in, const options *o) {
    int code = EXIT_DONE;
    const uint64_t takes = in->usage->takes;
    const bool operation = takes & TAKES_MAP && !(takes & TAKES_STDIN) && !o->expression;
    const int first = operation; /* the first operand is no file */
    int given_count;
    const given_option *const given = options_given(&given_count);
    for (int i = first; code == EXIT_DONE && i < o->file_count; i++)
        code = check_input(in, o->files[i]);
    for (int i = 0; code == EXIT_DONE && i < 2 * o->aggregate_count; i++)
        if (!is_shared(o, i)) code = check_input(in, values_at(o, i));
    for (int i = 0; code == EXIT_DONE && i < given_count; i++)
        if (given[i].spec->file == FILE_READ) code = check_input(in, given[i].operand);
    return code;
}

static int list_targets(const options *o, target targets[TARGETS]) {
    int n = 0, given_count;
    const given_option *const given = options_given(&given_count);
    const bool standard = !o->output || strcmp(o->output, "-") == 0;
    if (standard) targets[n++] = (target){NULL, NULL, place_of_stream(STDOUT_FILENO)};
    for (int i = 0; i < given_count && n < TARGETS; i++) {
        const given_option *g = &given[i];
        if (g->spec->file != FILE_WRITTEN) continue;
        if (standard && g->spec->at == OPTION_AT(output)) continue;
        targets[n++] = (target){g->spec, g->operand, place_of_output(g->operand)};
    }
    return n;
}

static int check_targets(const target targets[], int n) {
    char a[32], b[32];
    for (int i = 1; i < n; i++)
        for (int k = 0; k < i; k++)
            if (is_same_place(&targets[k].place, &targets[i].place))
                return fail(EXIT_USAGE, targets[i].name, "%s and %s are the same file",
                            option_of(&targets[i], a), option_of(&targets[k], b));
    return EXIT_DONE;
}

int clash_check(const options *o, const usage *u) {
    target targets[TARGETS];
    const int n = list_targets(o, targets), code = check_targets(targets, n);
    inputs in = {.usage = u, .targets = targets, .targets_count = n};
    if (code != EXIT_DONE || !(u->takes & (TAKES_INPUT | TAKES_SAVE))) return code;
    return check_inputs(&in, o);
}
