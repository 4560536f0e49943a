#include "runtime/options.h"

#include "container/member.h"
#include "input/guess.h"
#include "input/source.h"
#include "memory/temporary.h"
#include "runtime/clash.h"
#include "runtime/operand.h"
#include "sheet/form.h"
#include "work/ranks.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ELEMENTS_MOST ((int64_t)1 << 62)
#define AT(member) offsetof(options, member)

static const char formats[] = "auto|npy|raw|text|jsonl", policies[] = "propagate|skip|error",
                  out_dtypes[] = "f64|f32", ddofs[] = "0|1", colors[] = "auto|always|never",
                  overflows[] = "error|wrap|saturate", sorts[] = "count|key",
                  hows[] = "inner|left|outer|semi|anti", encodings[] = "auto|utf-8|utf-16|latin-1";

/* A column, or one of two words. */
static bool read_sort(const option_spec *spec, const char *text, void *to) {
    options *o = to;
    if (*text == '\0' || strcmp(text, "-") == 0) return operand_bad(spec->name, text, "a column");
    o->sort = text;
    o->by_key = strcmp(text, "key") == 0;
    return true;
}

static bool read_minus(const option_spec *spec, const char *text, void *to) {
    options *o = to;
    if (*text == '\0') return operand_bad(spec->name, text, "a file");
    if (o->minus_count == OPTIONS_MINUS) {
        fail(EXIT_USAGE, NULL, "more than %d states to take out", OPTIONS_MINUS);
        hint("merge them first, then take out the merged state");
        return false;
    }
    o->minus[o->minus_count++] = text;
    return true;
}

static bool read_null_policy(const option_spec *spec, const char *text, void *to) {
    int choice = 0;
    if (!read_choice(spec, text, &choice)) return false;
    *(bool *)to = choice == 1;
    return true;
}

const char *options_layout(enum layout layout) {
    static const char *const names[] = {"plain", "tsv", "json", "csv", "markdown", "jsonl"};
    return names[layout];
}

static bool read_layout(const option_spec *spec, const char *text, void *to) {
    enum layout *layout = to;
    (void)text;
    if (*layout != LAYOUT_PLAIN && *layout != (enum layout)spec->value) {
        fail(EXIT_USAGE, NULL, "--%s and --%s exclude each other", options_layout(*layout),
             spec->name);
        return false;
    }
    *layout = (enum layout)spec->value;
    return true;
}

/* The options that commands share. */
static const option_spec shared[] = {
    {"format", 0, formats,
     "the format of the input (auto: .npy by its first bytes, JSON lines by a name in .jsonl or "
     ".ndjson, else text)",
     TAKES_INPUT, .read = read_choice, .at = AT(input.format)},
    {"dtype", 0, "T",
     "the dtype of raw input or text (julia: f32 or f64): bool i8 i16 i32 i64 u8 u16 u32 u64 "
     "f16 bf16 f32 f64",
     TAKES_INPUT | TAKES_JULIA, .read = read_dtype, .at = AT(input.dtype)},
    {"offset", 0, "N", "skip the first N elements", TAKES_INPUT, .read = read_number,
     .at = AT(input.first), .most = ELEMENTS_MOST},
    {"count", 0, "N", "take exactly N elements", TAKES_INPUT | TAKES_ROWS, .read = read_number,
     .at = AT(input.count), .most = ELEMENTS_MOST},
    {"column", 0, "COLUMN",
     "text: the column to read, by number from 1 or by name; of values several, with commas "
     "between",
     TAKES_INPUT, .read = read_columns, .at = AT(input.text.columns), .repeats = true},
    {"delimiter", 0, "C",
     "text: what separates fields; ' ' is blanks and tabs (tab, ';', ',' or '|', as in the first "
     "row)",
     TAKES_INPUT, .read = read_delimiter, .at = AT(input.text.delimiter)},
    {"header", 0, NULL, "text: the first row holds names", TAKES_INPUT, .read = read_flag,
     .at = AT(input.text.header)},
    {"no-header", 0, NULL, "text: the first row holds no names, even if it looks like names",
     TAKES_INPUT, .read = read_flag, .at = AT(input.text.no_header)},
    {"text", 0, "COL[,COL]",
     "keys of --by and --on that are text: 1.1 and 1.10 differ (as their fields show)",
     TAKES_BY | TAKES_KEYS | TAKES_JOIN, .read = read_text, .at = AT(input.text.text)},
    {"number", 0, "COL[,COL]",
     "keys that are numbers, whatever zeros they begin with (as their fields show)",
     TAKES_BY | TAKES_KEYS | TAKES_JOIN, .read = read_text, .at = AT(input.text.number)},
    {"null", 0, "LIST",
     "text: fields that hold no value, with commas between (the empty field; never one in quotes)",
     TAKES_INPUT, .read = read_text, .at = AT(input.text.nulls)},
    {"null-policy", 0, "error|skip",
     "text: a field without a value is refused, or left out of a value (error)", TAKES_INPUT,
     .read = read_null_policy, .at = AT(input.text.skip_nulls)},
    {"lax", 0, NULL,
     "text: a field that a row is too short for holds no value; more than the first row has are "
     "left out",
     TAKES_INPUT, .read = read_flag, .at = AT(input.text.lax)},
    {"skip-lines", 0, "N", "text: pass over N lines before it (0)", TAKES_INPUT,
     .read = read_number, .at = AT(input.text.dialect.skip), .most = ELEMENTS_MOST},
    {"comment", 0, "C", "text: a line that begins with C is none (each is one)", TAKES_INPUT,
     .read = read_sign, .at = AT(input.text.dialect.comment)},
    {"escape", 0, "C",
     "text: takes the meaning from the quote, delimiter or newline behind it, as \\ of MySQL does "
     "(nothing)",
     TAKES_INPUT, .read = read_sign, .at = AT(input.text.dialect.escape)},
    {"encoding", 0, encodings,
     "text: how its characters are written (auto: UTF-16 by its byte order mark, else UTF-8)",
     TAKES_INPUT, .read = read_choice, .at = AT(input.text.dialect.encoding)},
    {"thousands", 0, "C",
     "text: the character between groups of three digits, as in 1,234.5 (none)", TAKES_INPUT,
     .read = read_character, .at = AT(input.text.style.thousands)},
    {"decimal", 0, "C", "text: the decimal point, as in 1.234,5 (.)", TAKES_INPUT,
     .read = read_mark, .at = AT(input.text.style.decimal)},
    {"exponent", 0, "C",
     "text: a letter that begins an exponent as e does: D for Fortran's 1.5D+03 (none)",
     TAKES_INPUT, .read = read_letter, .at = AT(input.text.style.exponent)},
    {"currency", 0, NULL,
     "text: a currency sign may stand beside a number, and one in parentheses or with the minus "
     "behind it is negative",
     TAKES_INPUT, .read = read_flag, .at = AT(input.text.style.currency)},
    {"expression", 'e', "EXPR",
     "of this expression, as in '(a-b)**2': a, b, c are the FILEs in turn, other names the columns "
     "of a text",
     TAKES_EXPRESSION, .read = read_text, .at = AT(expression)},
    {"nan", 0, policies, "the result is NaN, ignores NaNs, or is refused (propagate)", TAKES_NAN,
     .read = read_choice, .at = AT(rules.nan)},
    {"out-dtype", 0, out_dtypes, "the dtype of a float result, rounded once (f64)", TAKES_ROUNDING,
     .read = read_dtype_choice, .at = AT(rules.out_dtype)},
    {"overflow", 0, overflows,
     "integers that do not fit: refuse, take modulo 2^bits, or (map) take the nearest (error)",
     TAKES_OVERFLOW, .read = read_choice, .at = AT(rules.overflow)},
    {"to", 0, "T", "the dtype to cast to", TAKES_MAP, .read = read_dtype, .at = AT(to)},
    {"axis", 0, "N[,N]",
     "reduce along these axes alone, from 0 or, from the end, -1: a value for each fibre",
     TAKES_MANY, .read = read_axes, .at = AT(axes)},
    {"offsets", 0, "FILE",
     "segments: their m + 1 offsets along the first axis: a value for each segment", TAKES_MANY,
     .read = read_text, .at = AT(offsets)},
    {"index", 0, "FILE", "the slot of each index of the first axis: a value for each slot",
     TAKES_MANY, .read = read_text, .at = AT(index)},
    {"slots", 0, "M", "the number of slots of --index", TAKES_MANY, .read = read_number,
     .at = AT(slots), .most = BF_SLOTS_MAX},
    {"empty", 0, "VALUE",
     "the min, max, argmin, argmax, median or quantile of an empty segment, slot or fibre",
     TAKES_EMPTY, .read = read_text, .at = AT(empty)},
    {"axis", 0, "N", "along this axis, from 0 or, from the end, -1: each fibre by itself",
     TAKES_SORT | TAKES_FIRST, .read = read_axes, .at = AT(axes)},
    {"offsets", 0, "FILE", "segments: their m + 1 offsets: each segment by itself", TAKES_SORT,
     .read = read_text, .at = AT(offsets)},
    {"descending", 0, NULL, "the greatest first; equal ones stay in the order of their indices",
     TAKES_SORT, .read = read_flag, .at = AT(descending)},
    {"number", 'n', "K", "show so many", TAKES_FIRST, .read = read_number, .at = AT(first),
     .least = 1, .most = ELEMENTS_MOST},
    {"least", 0, NULL, "the least ones, the least first", TAKES_FIRST, .read = read_flag,
     .at = AT(least)},
    {"percents", 'p', "LIST", "which quantiles, in percent, as in 5,50,99.9 (0,25,50,75,100)",
     TAKES_PERCENTS, .read = read_percents, .at = AT(percents)},
    {"method", 0, "METHOD", "how a quantile is found between two elements (linear)",
     TAKES_PERCENTS | TAKES_GROUPS, .read = read_method, .at = AT(method)},
    {"quantiles", 0, "LIST", "also show these quantiles, in percent, as in 5,50,99.9 (25,50,75)",
     TAKES_QUANTILES, .read = read_quantiles, .at = AT(quantiles), .optional = true},
    {"infer", 0, NULL, "show instead what each column is taken for, and which line is the cause",
     TAKES_INFER, .read = read_flag, .at = AT(infer)},
    {"ddof", 0, ddofs, "divide by n - ddof (0)", TAKES_DDOF, .read = read_choice,
     .at = AT(rules.ddof)},
    {"bins", 0, "auto|N", "the number of bins (auto: Sturges' rule, at most 64)", TAKES_BINS,
     .read = read_text, .at = AT(bins)},
    {"range", 0, "LO:HI", "the ends of the bins (the least and the greatest finite element)",
     TAKES_BINS, .read = read_text, .at = AT(range)},
    {"edges", 0, "LIST/FILE",
     "the edges of the bins, ascending: numbers separated by commas, or a file", TAKES_BINS,
     .read = read_text, .at = AT(edges)},
    {"weights", 0, "FILE", "sum weights, one for each element, instead of counting", TAKES_BINS,
     .read = read_text, .at = AT(weights)},
    {"strict", 0, NULL, "refuse NaNs and elements below or above the bins", TAKES_BINS,
     .read = read_flag, .at = AT(strict)},
    {"density", 0, NULL, "histograms: scale to an integral of 1", TAKES_PLOT, .read = read_flag,
     .at = AT(density), .incidental = true},
    {"log", 0, NULL, "plots: use a logarithmic scale", TAKES_PLOT, .read = read_flag, .at = AT(log),
     .incidental = true},
    {"title", 0, "TEXT", "plots: the title (the file's name)", TAKES_PLOT, .read = read_text,
     .at = AT(title), .incidental = true},
    {"device", 0, "auto|cpu|cuda|cuda:N|cuda:all", "where to compute (auto: where the data are)",
     TAKES_RUNNING | TAKES_DEVICE, .read = read_text, .at = AT(device), .incidental = true},
    {"threads", 'j', "N", "the number of CPU threads (as many as this process may use)",
     TAKES_RUNNING, .read = read_threads, .at = AT(threads), .incidental = true},
    {"isa", 0, "auto|generic|avx2|avx512|neon", "the CPU's instruction set (auto: the fastest)",
     TAKES_RUNNING, .read = read_text, .at = AT(isa), .incidental = true},
    {"memory", 0, "SIZE/PERCENT%",
     "take no more memory than this, as in 4G or 20%, pages of mapped files included (no limit)",
     TAKES_MEMORY, .read = read_memory, .at = AT(memory.limit), .incidental = true},
    {"spill", 0, "DIR",
     "put what memory cannot hold in a file in DIR (beside -o FILE, or in TMPDIR or /var/tmp)",
     TAKES_MEMORY, .read = read_text, .at = AT(spill), .incidental = true},
    {"by", 0, "COLUMN[,COLUMN]",
     "of a table of text: the columns whose values, names or numbers, are the key; V is another "
     "column, or an expression as in 'price*count', and =NAME behind it names the result; several "
     "have commas between",
     TAKES_BY, .read = read_text, .at = AT(by)},
    {"by", 0, "COLUMN[,COLUMN]",
     "of a table of text: show the different names or numbers in these columns", TAKES_KEYS,
     .read = read_text, .at = AT(by)},
    {"where", 0, "EXPR",
     "with --by or --on: only rows that meet this condition, as in 'price > 10'",
     TAKES_BY | TAKES_KEYS | TAKES_JOIN, .read = read_text, .at = AT(where)},
    {"sum", 0, "V", "the exact sum of each key's values", TAKES_GROUPS, .read = read_aggregate,
     .value = BF_SUM, .repeats = true},
    {"mean", 0, "V", "the mean of each key's values", TAKES_GROUPS, .read = read_aggregate,
     .value = BF_MEAN, .repeats = true},
    {"var", 0, "V", "the variance of each key's values", TAKES_GROUPS, .read = read_aggregate,
     .value = BF_VAR, .repeats = true},
    {"std", 0, "V", "the standard deviation of each key's values", TAKES_GROUPS,
     .read = read_aggregate, .value = BF_STD, .repeats = true},
    {"min", 0, "V", "the minimum of each key's values", TAKES_GROUPS, .read = read_aggregate,
     .value = BF_MIN, .repeats = true},
    {"max", 0, "V", "the maximum of each key's values", TAKES_GROUPS, .read = read_aggregate,
     .value = BF_MAX, .repeats = true},
    {"median", 0, "V", "the median of each key's values", TAKES_GROUPS, .read = read_median,
     .repeats = true},
    {"quantile", 0, "P:V",
     "the quantile of each key's values, P in percent, as in 95:x.npy; of several 5,95:x.npy",
     TAKES_GROUPS, .read = read_quantile, .repeats = true},
    {"count", 0, NULL, "also show how often each occurs", TAKES_TIMES, .read = read_flag,
     .at = AT(times)},
    {"count", 0, NULL, "the number of each key's rows", TAKES_GROUPS, .read = read_aggregate,
     .repeats = true},
    {"sort", 0, sorts, "show the most frequent first, or the least key first (count)", TAKES_TOP,
     .read = read_choice, .at = AT(by_key), .incidental = true},
    {"sort", 0, "[-]COL",
     "count and -count: the most frequent first; key: the least key first; --by: also by a column "
     "that is shown, - for the greatest first; :count: the least frequent first",
     TAKES_BY, .read = read_sort, .incidental = true},
    {"top", 'n', "TOP", "show at most TOP lines", TAKES_TOP | TAKES_BY, .read = read_number,
     .at = AT(top), .least = 1, .most = ELEMENTS_MOST, .incidental = true},
    {"on", 0, "COL[=COL]",
     "join texts on these columns, A's and B's, with commas between, and show their rows",
     TAKES_JOIN, .read = read_text, .at = AT(on)},
    {"how", 0, hows,
     "--on: rows with a partner alone, also the others of A, of both; rows of A that have one, or "
     "none (inner)",
     TAKES_JOIN, .read = read_choice, .at = AT(how)},
    {"take", 0, "COL[,COL]",
     "--on: the columns to show, a.NAME and b.NAME if both have the name (all; semi, anti: those "
     "of A)",
     TAKES_JOIN, .read = read_text, .at = AT(take)},
    {"seed", 0, "N", "the seed of the hash; no result depends on it", TAKES_SEED,
     .read = read_number, .at = AT(seed), .most = INT64_MAX},
    {"save", 0, "FILE", "save the state for 'bitfold merge'", TAKES_SAVE, .read = read_text,
     .at = AT(save)},
    {"checkpoint", 0, "FILE", "save the work in FILE, and go on from there if it is interrupted",
     TAKES_WORK, .read = read_text, .at = AT(checkpoint), .incidental = true},
    {"checkpoint-interval", 0, "SECONDS", "save it so often, as in 0.5 (5)", TAKES_WORK,
     .read = read_seconds, .at = AT(checkpoint_interval), .incidental = true},
    {"minus", 0, "FILE", "take this saved state out again; repeatable", TAKES_MINUS,
     .read = read_minus, .repeats = true},
    {"against", 0, "FILE", "compare with this saved state of the same data", TAKES_AGAINST,
     .read = read_text, .at = AT(against)},
    {"full", 0, NULL, "take all elements of FILE, not the first 1048576", TAKES_AGAINST,
     .read = read_flag, .at = AT(full)},
    {"total", 0, NULL, "also show the value of all files together", TAKES_TOTAL, .read = read_flag,
     .at = AT(total)},
    {"total", 0, NULL, "--by: also show the results of all rows, in a last line", TAKES_BY,
     .read = read_flag, .at = AT(total)},
    {"output", 'o', "FILE", "write the results to FILE", TAKES_OUTPUT | TAKES_MAP | TAKES_FRAMES,
     .read = read_text, .at = AT(output), .incidental = true},
    {"format-out", 0, "auto|text|tsv|json|csv|markdown|jsonl|npy|png|svg|pdf",
     "the form of FILE (auto: as the ending of its name tells)",
     TAKES_OUTPUT | TAKES_MAP | TAKES_FRAMES, .read = read_choice, .at = AT(form),
     .incidental = true},
    {"json", 0, NULL, "show JSON, one object on each line", TAKES_OUTPUT | TAKES_JSON,
     .read = read_layout, .at = AT(layout), .value = LAYOUT_JSON, .incidental = true},
    {"tsv", 0, NULL, "show value, tab and file, even for one file; hist: show the table",
     TAKES_OUTPUT, .read = read_layout, .at = AT(layout), .value = LAYOUT_TSV, .incidental = true},
    {"csv", 0, NULL, "show CSV, with a header of names", TAKES_SHEET, .read = read_layout,
     .at = AT(layout), .value = LAYOUT_CSV, .incidental = true},
    {"markdown", 0, NULL, "show a table of Markdown", TAKES_SHEET, .read = read_layout,
     .at = AT(layout), .value = LAYOUT_MARKDOWN, .incidental = true},
    {"jsonl", 0, NULL, "show JSON lines: each row is an object of its values alone", TAKES_SHEET,
     .read = read_layout, .at = AT(layout), .value = LAYOUT_JSONL, .incidental = true},
    {"hex", 0, NULL, "show floats in hexadecimal, as %a prints them; integers stay decimal",
     TAKES_OUTPUT, .read = read_flag, .at = AT(hex), .incidental = true},
    {"size", 0, "WxH", "the width and height of the picture in pixels (1000x1000)", TAKES_JULIA,
     .read = read_text, .at = AT(size)},
    {"c", 'c', "RE,IM", "the point c of the Julia set (-0.8,0.156)", TAKES_JULIA, .read = read_text,
     .at = AT(c)},
    {"iter", 0, "N", "the number of steps after which a pixel is inside, 1 to 65535 (200)",
     TAKES_JULIA, .read = read_text, .at = AT(iterations)},
    {"escape", 0, "R2", "an orbit escapes when re*re + im*im is more than this (1000)", TAKES_JULIA,
     .read = read_text, .at = AT(escape)},
    {"center", 0, "RE,IM", "the point in the middle of the picture (0,0)", TAKES_JULIA,
     .read = read_text, .at = AT(center)},
    {"scale", 0, "S", "half of the visible width (1.5)", TAKES_JULIA, .read = read_text,
     .at = AT(scale)},
    {"mandelbrot", 0, NULL, "draw the Mandelbrot set: c is the pixel's point", TAKES_JULIA,
     .read = read_flag, .at = AT(mandelbrot)},
    {"palette", 0, "classic|gray|fire|ocean|rainbow", "the colours (classic)", TAKES_JULIA,
     .read = read_text, .at = AT(palette)},
    {"frames", 0, "N", "make N pictures, FILE-0000.png and so on, along --c-path", TAKES_FRAMES,
     .read = read_text, .at = AT(frames)},
    {"c-path", 0, "A:B", "move c from A to B, as in -0.8,0.1:-0.7,0.2", TAKES_FRAMES,
     .read = read_text, .at = AT(c_path)},
    {"view", 0, NULL, "show the picture in a window, where you can move and zoom", TAKES_FRAMES,
     .read = read_flag, .at = AT(view)},
    {"quiet", 'q', NULL, "show only errors", 0, .read = read_flag, .at = AT(quiet),
     .incidental = true},
    {"verbose", 'v', NULL, "show the choices made, such as the device", 0, .read = read_flag,
     .at = AT(verbose), .incidental = true},
    {"stats", 0, NULL, "show how much was read, and how fast", TAKES_RUNNING, .read = read_flag,
     .at = AT(stats), .incidental = true},
    {"progress", 0, NULL, "show progress, even if not on a terminal", 0, .read = read_setting,
     .at = AT(progress), .value = PROGRESS_ON, .incidental = true},
    {"no-progress", 0, NULL, "show no progress", 0, .read = read_setting, .at = AT(progress),
     .value = PROGRESS_OFF, .incidental = true},
    {"color", 0, colors, "colour messages (auto: on a terminal, unless NO_COLOR is set)", 0,
     .read = read_choice, .at = AT(color), .incidental = true},
    {"help", 'h', NULL, "show this help", 0, .read = read_flag, .at = AT(help)},
};
enum { SHARED = sizeof shared / sizeof *shared };
_Static_assert(SHARED + OPTIONS_OWN <= OPTIONS_MOST, "there is room for every option");

/* ---- the options of a command ---------------------------------------------------------------- */

/* The options that belong to the command, then those of other commands, which are recognized so
 * that the error can say so. */
typedef struct candidates {
    const option_spec *specs[OPTIONS_MOST];
    int n, belonging;
} candidates;

static bool belongs(const option_spec *spec, const usage *u) {
    if (spec->takes & TAKES_ROWS && u->takes & (TAKES_GROUPS | TAKES_TIMES)) return false;
    return spec->takes == 0 || (spec->takes & u->takes) != 0;
}

static const option_spec *const help_option = &shared[SHARED - 1];

int options_of(const usage *u, const own_options *own, const option_spec *list[OPTIONS_MOST]) {
    int n = 0;
    for (int i = 0; own && i < own->n; i++) list[n++] = &own->specs[i];
    for (int i = 0; i < SHARED; i++)
        if (own ? &shared[i] == help_option : belongs(&shared[i], u)) list[n++] = &shared[i];
    return n;
}

static bool has_name(const candidates *c, const char *name) {
    for (int i = 0; i < c->belonging; i++)
        if (strcmp(c->specs[i]->name, name) == 0) return true;
    return false;
}

static candidates candidates_of(const usage *u, const own_options *own) {
    candidates c = {.n = 0};
    c.n = c.belonging = options_of(u, own, c.specs);
    for (int i = 0; i < SHARED && !own; i++)
        if (!belongs(&shared[i], u) && !has_name(&c, shared[i].name)) c.specs[c.n++] = &shared[i];
    return c;
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
        if (s->letter && s->operand) *at++ = ':';
    }
    longs[c->n] = (struct option){NULL, 0, NULL, 0};
    *at = '\0';
}

/* Reads the operand into the struct that the option belongs to. */
static bool read_option(options *o, const own_options *own, const option_spec *spec) {
    const bool is_own = own && spec >= own->specs && spec < own->specs + own->n;
    char *into = is_own ? own->into : (char *)o;
    return spec->read(spec, optarg, into + spec->at);
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

static int read_options(options *o, const own_options *own, int argc, char **argv, const usage *u) {
    struct option longs[OPTIONS_MOST + 1];
    char letters[2 * OPTIONS_MOST + 2];
    const char *given[OPTIONS_MOST] = {NULL};
    const candidates c = candidates_of(u, own);
    describe_options(&c, longs, letters);
    given_count = 0;
    opterr = 0;
    optind = 0; /* from the start: completion asks one command after another */
    int id;
    while ((id = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        if (id == '?' || id == ':') return parse_error(id, argv, &c);
        const int i = find_option(&c, id);
        if (i >= c.belonging)
            return option_error(argv[0], "this command has no option", c.specs[i], letter_of(id));
        if (!c.specs[i]->repeats && options_again(&given[i], c.specs[i], optarg)) return EXIT_USAGE;
        if (!read_option(o, own, c.specs[i])) return EXIT_USAGE;
        if (!note_option(c.specs[i])) return EXIT_USAGE;
    }
    return EXIT_DONE;
}

/* What a number is made of must be told apart. */
static int check_style(const text_style *s) {
    const char point = s->decimal ? s->decimal : '.';
    if (!text_style_parts(s, point)) return EXIT_DONE;
    fail(EXIT_USAGE, NULL, "'%c' cannot stand for --thousands and for the decimal point", point);
    if (!s->decimal) hint("--decimal says what the decimal point is, as in --decimal ,");
    return EXIT_USAGE;
}

/* The same of what lines and fields are made of. */
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
        (t->columns || t->delimiter || t->header || t->no_header || t->nulls || t->skip_nulls ||
         t->lax || !text_style_is_plain(&t->style) || text_dialect_is_asked_for(&t->dialect)))
        return fail(EXIT_USAGE, NULL,
                    "--column, --delimiter, --header, --no-header, --null, --null-policy, --lax, "
                    "--skip-lines, --comment, --escape, --encoding, --thousands, --decimal, "
                    "--exponent and --currency belong to text");
    if (t->header && t->no_header)
        return fail(EXIT_USAGE, NULL, "--header does not go with --no-header");
    const int code = check_dialect(t);
    return code == EXIT_DONE ? check_style(&t->style) : code;
}

static int check_isa(const char *name) {
    static const char *const others[] = {"generic", "avx2", "avx512", "neon"};
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
    return options_parse_own(o, NULL, argc, argv, u, code);
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
static bool all_have_parts(const options *o) {
    bool all = !o->weights;
    for (int i = 0; i < o->file_count && all; i++) all = has_parts(o, o->files[i]);
    for (int i = 0; i < o->aggregate_count && all; i++) all = has_parts(o, o->aggregates[i].values);
    return all && has_parts(o, o->offsets) && has_parts(o, o->index);
}

/* Whether groups keep the rows of their keys, for which no rank has those of others. */
static bool keeps_rows(const options *o) {
    bool keeps = false;
    for (int i = 0; i < o->aggregate_count; i++) keeps |= o->aggregates[i].order != ORDER_NONE;
    return keeps;
}

/* What ranks do differently from one that is alone. False: this one has nothing to do. */
static bool join_ranks(options *o, const usage *u) {
    /* Groups that are spilled are where no other rank is. */
    const bool spills = o->memory.limit != 0 && u->takes & (TAKES_TOP | TAKES_BY);
    const bool whole = o->on || o->by; /* rank 0 reads all */
    if (ranks_count() == 1) return true;
    if (!ranks_first_says(all_have_parts(o) && !spills && !keeps_rows(o) && !whole) &&
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

bool options_parse_own(options *o, const own_options *own, int argc, char **argv, const usage *u,
                       int *code) {
    *o = (options){.input.count = -1,
                   .slots = -1,
                   .rules.size = sizeof(bf_reduce_options),
                   .device = "auto",
                   .isa = "auto"};
    *code = read_options(o, own, argc, argv, u);
    if (*code == EXIT_DONE && o->help) {
        options_show(argv[0], u, own);
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
