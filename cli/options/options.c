#include "options/options.h"

#include "container/member.h"
#include "input/source.h"
#include "memory/temporary.h"
#include "options/clash.h"
#include "options/form.h"
#include "options/operand.h"
#include "options/options_table.h"
#include "runtime/guess.h"
#include "runtime/ranks.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *options_layout(enum layout layout) {
    static const char *const names[] = {"plain", "tsv", "json", "csv", "markdown", "jsonl"};
    return names[layout];
}

/* ---- the options of a command ---------------------------------------------------------------- */

/* The options that belong to the command, then those of other commands, which are recognized so
 * that the error can say so. */
typedef struct candidates {
    const option_spec *specs[OPTIONS_MOST];
    int n, belonging;
} candidates;

static const option_table *const *known_tables;
static int known_count;

void options_know(const option_table *const tables[], int n) {
    known_tables = tables;
    known_count = n;
}

/* The first of a name is taken. */
static void add_option(candidates *c, const option_spec *spec) {
    bool is_new = c->n < OPTIONS_MOST;
    for (int i = 0; i < c->n && is_new; i++) is_new = strcmp(c->specs[i]->name, spec->name) != 0;
    if (is_new) c->specs[c->n++] = spec;
}

static bool belongs(const option_spec *spec, const usage *u) {
    return spec->takes == 0 || (spec->takes & u->takes) != 0;
}

/* table NULL: there is none. */
static void add_belonging(candidates *c, const option_table *table, const usage *u) {
    for (int i = 0; table && i < table->n; i++)
        if (belongs(&table->specs[i], u)) add_option(c, &table->specs[i]);
}

static void add_all(candidates *c, const option_table *table) {
    for (int i = 0; table && i < table->n; i++) add_option(c, &table->specs[i]);
}

/* A command that shares --help alone knows no other options. */
static candidates candidates_of(const usage *u) {
    const bool alone = u->takes & TAKES_HELP;
    candidates c = {.n = 0};
    add_belonging(&c, u->own, u);
    if (!alone) add_belonging(&c, &options_shared, u);
    add_option(&c, options_help);
    c.belonging = c.n;
    if (alone) return c;
    add_all(&c, u->own);
    add_all(&c, &options_shared);
    for (int i = 0; i < known_count; i++) add_all(&c, known_tables[i]);
    return c;
}

int options_of(const usage *u, const option_spec *list[OPTIONS_MOST]) {
    const candidates c = candidates_of(u);
    memcpy(list, c.specs, sizeof c.specs);
    return c.belonging;
}

/* ---- the command line ------------------------------------------------------------------------ */

static int usage_error(const char *command, const char *what, const char *option) {
    fail(EXIT_USAGE, NULL, "%s: %s", what, option);
    hint("see 'bitfold help %s'", command);
    return EXIT_USAGE;
}

/* letter: by which the option was given; 0: by its name. */
static int option_error(const char *command, const char *what, const option_spec *spec,
                        int letter) {
    char option[64];
    if (letter)
        snprintf(option, sizeof option, "-%c", letter);
    else
        snprintf(option, sizeof option, "--%s", spec->name);
    return usage_error(command, what, option);
}

/* An option of other commands. Where group has an option of the command's name, it has --by. */
static int foreign_option(const char *command, const candidates *c, const option_spec *spec,
                          int letter) {
    bool grouped = false;
    for (int i = c->belonging; i < c->n; i++)
        grouped = grouped || strcmp(c->specs[i]->name, command) == 0;
    if (!grouped || strcmp(spec->name, "by") != 0)
        return option_error(command, "this command has no option", spec, letter);
    fail(EXIT_USAGE, NULL, "this command has no option: --by");
    hint("'bitfold group --by KEYS --%s V' has it for each key", command);
    return EXIT_USAGE;
}

static int unknown_option(const char *command, const char *option, const candidates *c) {
    char help[64];
    snprintf(help, sizeof help, "bitfold help %s", command);
    fail(EXIT_USAGE, NULL, "unknown option: %s", option);
    options_guess(option, c->specs, c->belonging, help);
    return EXIT_USAGE;
}

/* getopt's number of option i, beyond all letters. */
enum { NUMBERS = 256 };

static int letter_of(int id) { return id < NUMBERS ? id : 0; }

/* Returns the index of the option with this letter or number, or -1. */
static int find_option(const candidates *c, int id) {
    if (id >= NUMBERS) return id - NUMBERS;
    for (int i = 0; i < c->n; i++)
        if (id != 0 && c->specs[i]->letter == id) return i;
    return -1;
}

/* Reports an error of getopt_long, which its result and optopt describe. */
static int parse_error(int result, char **argv, const candidates *c) {
    const int i = find_option(c, optopt);
    if (i >= 0)
        return option_error(argv[0],
                            result == ':' ? "an operand is missing" : "no operand belongs to",
                            c->specs[i], letter_of(optopt));
    const char letter[] = {'-', (char)optopt, '\0'};
    return unknown_option(argv[0], optopt ? letter : argv[optind - 1], c);
}

/* The options as getopt_long takes them. */
static void describe_options(const candidates *c, struct option longs[OPTIONS_MOST + 1],
                             char letters[2 * OPTIONS_MOST + 2]) {
    char *at = letters;
    *at++ = ':';
    for (int i = 0; i < c->n; i++) {
        const option_spec *s = c->specs[i];
        const int has = s->optional  ? optional_argument
                        : s->operand ? required_argument
                                     : no_argument;
        longs[i] = (struct option){s->name, has, NULL, NUMBERS + i};
        if (s->letter) *at++ = s->letter;
        if (s->letter && has == required_argument) *at++ = ':';
    }
    longs[c->n] = (struct option){NULL, 0, NULL, 0};
    *at = '\0';
}

/* Reads the operand into the struct that the option belongs to. */
static bool read_option(options *o, void *into, const option_table *own, const option_spec *spec) {
    const bool is_own = own && spec >= own->specs && spec < own->specs + own->n;
    return spec->read(spec, optarg, (char *)(is_own ? into : o) + spec->at);
}

/* The options given; far more than there are to give. */
enum { GIVEN_MOST = 1024 };
static given_option all_given[GIVEN_MOST];
static int given_count;

const given_option *options_given(int *n) {
    *n = given_count;
    return all_given;
}

static bool note_option(const option_spec *spec) {
    if (given_count == GIVEN_MOST) fail(EXIT_USAGE, NULL, "more than %d options", GIVEN_MOST);
    if (given_count == GIVEN_MOST) return false;
    all_given[given_count++] = (given_option){spec, optarg};
    return true;
}

static int read_options(options *o, void *into, int argc, char **argv, const usage *u) {
    struct option longs[OPTIONS_MOST + 1];
    char letters[2 * OPTIONS_MOST + 2];
    const char *given[OPTIONS_MOST] = {NULL};
    const candidates c = candidates_of(u);
    describe_options(&c, longs, letters);
    given_count = 0;
    opterr = 0;
    optind = 0; /* from the start: completion asks one command after another */
    int id;
    while ((id = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        if (id == '?' || id == ':') return parse_error(id, argv, &c);
        const int i = find_option(&c, id);
        if (i >= c.belonging) return foreign_option(argv[0], &c, c.specs[i], letter_of(id));
        const bool again = given[i] != NULL; /* with the same operand, unless it repeats */
        if (!c.specs[i]->repeats && options_again(&given[i], c.specs[i], optarg)) return EXIT_USAGE;
        if (!read_option(o, into, u->own, c.specs[i])) return EXIT_USAGE;
        if (!again && !note_option(c.specs[i])) return EXIT_USAGE;
    }
    return EXIT_DONE;
}

/* What a number is made of must be told apart. */
static int check_style(const text_style *s) {
    const char point = s->decimal ? s->decimal : '.';
    if (!text_style_parts(s, point)) return EXIT_DONE;
    fail(EXIT_USAGE, NULL, "'%c' cannot stand for --thousands and for the decimal point", point);
    if (!s->decimal) hint("--decimal , makes a comma the decimal point");
    return EXIT_USAGE;
}

/* Checks what lines and fields are made of. */
static int check_dialect(const text_options *t) {
    const char escape = t->dialect.escape, comment = t->dialect.comment;
    if (escape && (escape == t->delimiter || escape == comment))
        return fail(EXIT_USAGE, NULL, "'%c' cannot stand for --escape and for %s", escape,
                    escape == comment ? "--comment" : "--delimiter");
    if (comment && comment == t->delimiter)
        return fail(EXIT_USAGE, NULL, "'%c' cannot stand for --comment and for --delimiter",
                    comment);
    return EXIT_DONE;
}

/* Options that need or exclude each other. */
static int check_options(const options *o) {
    if (o->input.format == FORMAT_RAW && o->input.dtype == BF_NONE) {
        fail(EXIT_USAGE, NULL, "--format raw needs --dtype");
        hint("name the dtype, as in --dtype f64: raw data do not hold it");
        return EXIT_USAGE;
    }
    if (o->input.format == FORMAT_NPY && o->input.dtype != BF_NONE) {
        fail(EXIT_USAGE, NULL, "--dtype belongs to --format raw and to text");
        hint("a .npy file holds its own dtype");
        return EXIT_USAGE;
    }
    if (o->checkpoint_interval > 0 && !o->checkpoint)
        return fail(EXIT_USAGE, NULL, "--checkpoint-interval needs --checkpoint");
    const text_options *t = &o->input.text;
    if ((o->input.format == FORMAT_NPY || o->input.format == FORMAT_RAW) &&
        (t->columns || t->delimiter || t->header || t->no_header || t->nulls || t->lax ||
         !text_style_is_plain(&t->style) || text_dialect_is_asked_for(&t->dialect)))
        return fail(EXIT_USAGE, NULL,
                    "--column, --delimiter, --header, --no-header, --null, --lax, "
                    "--skip-lines, --comment, --escape, --encoding, --thousands, --decimal, "
                    "--exponent and --currency belong to text");
    if (t->header && t->no_header)
        return fail(EXIT_USAGE, NULL, "--header does not go with --no-header");
    const int code = check_dialect(t);
    return code == EXIT_DONE ? check_style(&t->style) : code;
}

static int check_isa(const char *name) {
    static const char *const others[] = {"avx2", "avx512"};
    if (strcmp(name, "auto") == 0) return EXIT_DONE;
    for (int i = 0; bf_isa_name(i); i++) {
        if (strcmp(name, bf_isa_name(i)) != 0) continue;
        return bf_isa_available(i) ? EXIT_DONE
                                   : fail(EXIT_DEVICE, NULL, "this machine lacks --isa %s", name);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i]) == 0)
            return fail(EXIT_DEVICE, NULL, "this build for another machine lacks --isa %s", name);
    return fail(EXIT_USAGE, NULL, "unknown instruction set: %s", name);
}

bool options_gpu(const char *name) {
    int device;
    return bf_device_parse(name, &device) == BF_OK && (device >= 0 || device == BF_DEVICE_ALL);
}

int64_t options_slab(const options *o) {
    if (o->checkpoint) return (int64_t)16 * 1024 * 1024; /* one may be saved after each */
    return options_gpu(o->device) ? (int64_t)1024 * 1024 * 1024 : 0;
}

static int unknown_device(const char *name) {
    fail(EXIT_USAGE, NULL, "unknown device: %s", name);
    hint("--device is auto, cpu, cuda, cuda:N (cuda:0 is the first GPU) or cuda:all");
    return EXIT_USAGE;
}

static int check_device(const char *name) {
    int device;
    if (bf_device_parse(name, &device) != BF_OK) return unknown_device(name);
    if (device == BF_DEVICE_AUTO || device == BF_DEVICE_CPU) return EXIT_DONE;
    const int least = device == BF_DEVICE_ALL ? 0 : device; /* a GPU that there must be */
    return least < bf_device_count() ? EXIT_DONE : fail_device(name);
}

static int take_files(options *o, int argc, char **argv, const usage *u) {
    static char dash[] = "-", *standard_input[] = {dash, NULL};
    o->files = argv + optind;
    o->file_count = argc - optind;
    if (o->file_count > 0 || !(u->takes & TAKES_STDIN)) return EXIT_DONE;
    o->files = standard_input;
    o->file_count = 1;
    o->input.implied = true;
    if (isatty(STDIN_FILENO))
        return usage_error(argv[0], "no FILE given", "standard input is a terminal");
    return EXIT_DONE;
}

bool options_parse(options *o, int argc, char **argv, const usage *u, int *code) {
    return options_parse_into(o, o, argc, argv, u, code);
}

/* The share of this rank in the cores and GPUs of its machine. */
static void find_share(options *o) {
    static char device[32];
    int sharing, before;
    const int gpus = bf_device_count();
    ranks_neighbours(&sharing, &before);
    if (o->threads == 0) o->threads = (bf_usable_threads() + sharing - 1) / sharing;
    if (strcmp(o->device, "cuda") != 0 || gpus == 0) return;
    snprintf(device, sizeof device, "cuda:%d", before % gpus);
    o->device = device;
}

/* name NULL: none is asked for. */
static bool has_parts(const options *o, const char *name) {
    struct stat st;
    if (!name) return true;
    if (strcmp(name, "-") == 0) return false;
    if (!member_stat(name, &st)) return true;
    return S_ISREG(st.st_mode) && st.st_size > 0 && !source_reads_on(name, &o->input);
}

/* Files that every rank can read a part of; standard input, pipes and what is compressed or decoded
 * only one can. */
static bool all_have_parts(const options *o, const usage *u) {
    bool all = u->takes & TAKES_WEIGHTS ? has_parts(o, o->weights) : !o->weights;
    for (int i = 0; i < o->file_count && all; i++) all = has_parts(o, o->files[i]);
    for (int i = 0; i < o->aggregate_count && all; i++)
        all = has_parts(o, o->aggregates[i].values) && has_parts(o, o->aggregates[i].second);
    return all && has_parts(o, o->offsets) && has_parts(o, o->index);
}

/* Whether groups keep the rows of their keys, for which no rank has those of others. */
static bool keeps_rows(const options *o) {
    bool keeps = false;
    for (int i = 0; i < o->aggregate_count; i++)
        keeps |= o->aggregates[i].order == ORDER_MEDIAN_OF ||
                 o->aggregates[i].order == ORDER_QUANTILE_OF;
    return keeps;
}

/* What ranks do differently from one that is alone. False: this one has nothing to do. */
static bool join_ranks(options *o, const usage *u) {
    /* Groups that are spilled are where no other rank is. */
    const bool spills = o->memory.limit != 0 && (o->by || u->takes & (TAKES_TOP | TAKES_BY));
    /* Rank 0 reads all: of files one by one, ranks do not wait for each other to count rows. */
    const bool some = o->input.first > 0 || o->input.count >= 0;
    const bool several = u->takes & TAKES_BY && o->file_count > 1;
    const bool binned = o->by && u->takes & TAKES_PLOT;
    const bool rows = o->by && (o->infer || u->takes & TAKES_ROWS);
    const bool whole = o->on || binned || rows || (some && (o->by || several));
    if (ranks_count() == 1) return true;
    if (!ranks_first_says(all_have_parts(o, u) && !spills && !keeps_rows(o) && !whole) &&
        !ranks_alone())
        return false;
    if (ranks_count() > 1) find_share(o);
    if (ranks_rank() == 0) return true;
    if (o->output) o->output = "/dev/null";
    if (o->form > FORM_JSONL) o->form = FORM_TEXT;
    if (o->save) o->save = "/dev/null";
    o->progress = PROGRESS_OFF;
    report_style(o->color, true, false);
    return true;
}

bool options_parse_into(options *o, void *into, int argc, char **argv, const usage *u, int *code) {
    *o = (options){.input.count = -1,
                   .slots = -1,
                   .rules.size = sizeof(bf_reduce_options),
                   .device = "auto",
                   .isa = "auto"};
    *code = read_options(o, into, argc, argv, u);
    if (*code == EXIT_DONE && o->help) {
        options_show(argv[0], u, o->help);
        return false;
    }
    report_style(o->color, o->quiet, o->verbose);
    if (*code == EXIT_DONE) *code = take_files(o, argc, argv, u);
    if (*code == EXIT_DONE) *code = aggregates_list(o);
    if (*code == EXIT_DONE) *code = check_options(o);
    if (*code == EXIT_DONE) *code = clash_check(o, u);
    if (*code == EXIT_DONE) *code = form_settle(o, u);
    if (*code == EXIT_DONE) *code = check_device(o->device);
    if (*code == EXIT_DONE) *code = check_isa(o->isa);
    *code = ranks_agree(*code);
    if (*code == EXIT_DONE && !join_ranks(o, u)) return false;
    if (o->threads == 0) o->threads = bf_usable_threads();
    if (o->checkpoint_interval == 0) o->checkpoint_interval = 5;
    if (*code == EXIT_DONE) *code = memory_plan_make(&o->memory, &o->threads);
    o->input.text.longest = (size_t)o->memory.line;
    o->input.text.share = memory_plan_line(&o->memory, o->threads);
    o->input.unpack = memory_plan_unpack(&o->memory);
    temporary_place(o->spill, o->output);
    *code = ranks_agree(*code);
    progress_setup(o->quiet ? PROGRESS_OFF : o->progress);
    return *code == EXIT_DONE;
}
