#include "runtime/options.h"

#include "input/guess.h"
#include "runtime/clash.h"
#include "runtime/operand.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Options without a letter. */
enum {
    OPT_FORMAT = 256,
    OPT_DTYPE,
    OPT_OFFSET,
    OPT_COUNT,
    OPT_COLUMN,
    OPT_DELIMITER,
    OPT_HEADER,
    OPT_OVERFLOW,
    OPT_TO,
    OPT_NAN,
    OPT_OUT_DTYPE,
    OPT_DDOF,
    OPT_DEVICE,
    OPT_ISA,
    OPT_SAVE,
    OPT_AGAINST,
    OPT_TOTAL,
    OPT_JSON,
    OPT_TSV,
    OPT_HEX,
    OPT_STATS,
    OPT_PROGRESS,
    OPT_NO_PROGRESS,
    OPT_COLOR,
    OPT_BINS,
    OPT_RANGE,
    OPT_EDGES,
    OPT_WEIGHTS,
    OPT_DENSITY,
    OPT_LOG,
    OPT_TITLE,
    OPT_STRICT,
    OPT_MEMORY,
    OPT_SIZE,
    OPT_ITER,
    OPT_ESCAPE,
    OPT_CENTER,
    OPT_SCALE,
    OPT_PALETTE,
    OPT_MANDELBROT,
    OPT_FRAMES,
    OPT_C_PATH,
    OPT_VIEW,
    OPT_SORT,
    OPT_SEED,
    OPT_SUM,
    OPT_MEAN,
    OPT_MIN,
    OPT_MAX,
    OPT_ROWS
};

static const char formats[] = "auto|npy|raw|text", policies[] = "propagate|skip|error",
                  out_dtypes[] = "f64|f32", ddofs[] = "0|1", colors[] = "auto|always|never",
                  overflows[] = "error|wrap|saturate", sorts[] = "count|key";

static const option_spec specs[] = {
    {OPT_FORMAT, "format", formats, "what the input is (auto: .npy by its first bytes, else text)",
     TAKES_INPUT},
    {OPT_DTYPE, "dtype", "T",
     "of raw input or text (of julia f32, f64): bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 "
     "f64",
     TAKES_INPUT | TAKES_JULIA},
    {OPT_OFFSET, "offset", "N", "skip the first N elements", TAKES_INPUT},
    {OPT_COUNT, "count", "N", "take N elements, no more and no fewer", TAKES_INPUT | TAKES_ROWS},
    {OPT_COLUMN, "column", "COLUMN", "of text: the column to read, by number from 1 or by name",
     TAKES_INPUT},
    {OPT_DELIMITER, "delimiter", "C",
     "of text: between fields; ' ' for blanks and tabs (the first row's tab, ';' or ',')",
     TAKES_INPUT},
    {OPT_HEADER, "header", NULL, "of text: the first row holds names", TAKES_INPUT},
    {OPT_NAN, "nan", policies, "what a NaN means (propagate)", TAKES_NAN},
    {OPT_OUT_DTYPE, "out-dtype", out_dtypes, "round the exact value to this, once (f64)",
     TAKES_ROUNDING},
    {OPT_OVERFLOW, "overflow", overflows,
     "integers that do not fit: refused (error), modulo 2^bits, or (map) the nearest that fits",
     TAKES_OVERFLOW},
    {OPT_TO, "to", "T", "the dtype to cast to", TAKES_MAP},
    {OPT_DDOF, "ddof", ddofs, "divide by n - ddof (0)", TAKES_DDOF},
    {OPT_BINS, "bins", "auto|N", "how many (auto: by Sturges' rule, at most 64)", TAKES_BINS},
    {OPT_RANGE, "range", "LO:HI", "of the bins (from the least to the greatest finite element)",
     TAKES_BINS},
    {OPT_EDGES, "edges", "LIST/FILE",
     "of the bins, ascending: numbers with commas between, or a file", TAKES_BINS},
    {OPT_WEIGHTS, "weights", "FILE", "sum these, one for each element, instead of counting",
     TAKES_BINS},
    {OPT_STRICT, "strict", NULL, "NaN, and elements below or above the bins, are an error",
     TAKES_BINS},
    {OPT_DENSITY, "density", NULL, "of histograms: scale to an integral of 1", TAKES_PLOT},
    {OPT_LOG, "log", NULL, "of plots: a logarithmic scale", TAKES_PLOT},
    {OPT_TITLE, "title", "TEXT", "of plots (the file's name)", TAKES_PLOT},
    {OPT_DEVICE, "device", "auto|cpu|cuda|cuda:N|cuda:all",
     "where to compute (auto: where the data are)", TAKES_RUNNING | TAKES_DEVICE},
    {'j', "threads", "N", "host threads (as many as this process may use)", TAKES_RUNNING},
    {OPT_ISA, "isa", "auto|generic|avx2|avx512|neon", "host instruction set", TAKES_RUNNING},
    {OPT_MEMORY, "memory", "SIZE",
     "what a pipe holds beyond this, as in 4GiB, goes to a temporary file (a quarter of it all)",
     TAKES_MEMORY},
    {OPT_SUM, "sum", "V", "the exact sum of each key's values", TAKES_GROUPS},
    {OPT_MEAN, "mean", "V", "their mean", TAKES_GROUPS},
    {OPT_MIN, "min", "V", "their minimum", TAKES_GROUPS},
    {OPT_MAX, "max", "V", "their maximum", TAKES_GROUPS},
    {OPT_ROWS, "count", NULL, "the number of each key's rows", TAKES_GROUPS},
    {OPT_SORT, "sort", sorts, "what comes first: the most frequent (count), or the least (key)",
     TAKES_TOP},
    {'n', "top", "TOP", "show no more than so many", TAKES_TOP},
    {OPT_SEED, "seed", "N", "of the hash: shows in no result", TAKES_SEED},
    {OPT_SAVE, "save", "FILE", "save the state, for 'bitfold merge'", TAKES_SAVE},
    {OPT_AGAINST, "against", "FILE", "compare with this saved state of the same data",
     TAKES_AGAINST},
    {OPT_TOTAL, "total", NULL, "also the value over all files together", TAKES_TOTAL},
    {'o', "output", "FILE", "write the results to FILE", TAKES_OUTPUT | TAKES_MAP | TAKES_FRAMES},
    {OPT_JSON, "json", NULL, "one JSON object a line", TAKES_OUTPUT | TAKES_JSON},
    {OPT_TSV, "tsv", NULL, "value, tab, file, for one file too; of hist, its table", TAKES_OUTPUT},
    {OPT_HEX, "hex", NULL, "floats in hexadecimal, as %a prints them; integers have every digit",
     TAKES_OUTPUT},
    {OPT_SIZE, "size", "WxH", "of the picture, in pixels (1000x1000)", TAKES_JULIA},
    {'c', "c", "RE,IM", "the point that the Julia set belongs to (-0.8,0.156)", TAKES_JULIA},
    {OPT_ITER, "iter", "N", "steps until a pixel counts as inside, at most 65535 (200)",
     TAKES_JULIA},
    {OPT_ESCAPE, "escape", "R2", "an orbit escapes when its square is more than this (1000)",
     TAKES_JULIA},
    {OPT_CENTER, "center", "RE,IM", "the point in the middle of the picture (0,0)", TAKES_JULIA},
    {OPT_SCALE, "scale", "S", "half of the width that is seen (1.5)", TAKES_JULIA},
    {OPT_MANDELBROT, "mandelbrot", NULL, "the Mandelbrot set: c is the pixel", TAKES_JULIA},
    {OPT_PALETTE, "palette", "classic|gray|fire|ocean|rainbow", "colours (classic)", TAKES_JULIA},
    {OPT_FRAMES, "frames", "N", "N pictures, FILE-0000.png and so on, while c goes along --c-path",
     TAKES_FRAMES},
    {OPT_C_PATH, "c-path", "A:B", "from c = A to c = B, as in -0.8,0.1:-0.7,0.2", TAKES_FRAMES},
    {OPT_VIEW, "view", NULL, "show it in a window, in which to move and zoom", TAKES_FRAMES},
    {'q', "quiet", NULL, "say nothing but errors", 0},
    {'v', "verbose", NULL, "say what was chosen", 0},
    {OPT_STATS, "stats", NULL, "say how much was read, and how fast", TAKES_RUNNING},
    {OPT_PROGRESS, "progress", NULL, "show progress, even if not on a terminal", 0},
    {OPT_NO_PROGRESS, "no-progress", NULL, "show none", 0},
    {OPT_COLOR, "color", colors, "colour messages (auto: on a terminal, unless NO_COLOR is set)",
     0},
    {'h', "help", NULL, "show this", 0},
};
enum { SPECS = sizeof specs / sizeof *specs };

static const option_spec *find_spec(int id) {
    for (int i = 0; i < SPECS; i++)
        if (specs[i].id == id) return &specs[i];
    return NULL;
}

/* ---- one option ------------------------------------------------------------------------------ */

#define MAX_ELEMENTS ((int64_t)1 << 62)

static bool add_aggregate(options *o, const option_spec *spec, bf_reduction op, const char *text) {
    if (text && *text == '\0') return operand_bad(spec->name, text, "a file or a column");
    if (o->aggregate_count == OPTIONS_AGGREGATES) {
        fail(EXIT_USAGE, NULL, "more than %d aggregates", OPTIONS_AGGREGATES);
        return false;
    }
    o->aggregates[o->aggregate_count++] = (struct wanted_aggregate){op, text};
    return true;
}

static bool set_operand(options *o, const option_spec *spec, const char *text) {
    int choice = 0;
    switch (spec->id) {
    case OPT_DTYPE: return operand_dtype(spec, text, &o->input.dtype);
    case OPT_TO: return operand_dtype(spec, text, &o->to);
    case OPT_OFFSET: return operand_number(spec, text, 0, MAX_ELEMENTS, &o->input.first);
    case OPT_COUNT: return operand_number(spec, text, 0, MAX_ELEMENTS, &o->input.count);
    case 'j': return operand_threads(spec, text, &o->threads);
    case OPT_DEVICE: o->device = text; return true;
    case OPT_ISA: o->isa = text; return true;
    case OPT_SUM: return add_aggregate(o, spec, BF_SUM, text);
    case OPT_MEAN: return add_aggregate(o, spec, BF_MEAN, text);
    case OPT_MIN: return add_aggregate(o, spec, BF_MIN, text);
    case OPT_MAX: return add_aggregate(o, spec, BF_MAX, text);
    case OPT_SEED: return operand_number(spec, text, 0, INT64_MAX, &o->seed);
    case 'n': return operand_number(spec, text, 1, MAX_ELEMENTS, &o->top);
    case OPT_SAVE: o->save = text; return true;
    case OPT_BINS: o->bins = text; return true;
    case OPT_RANGE: o->range = text; return true;
    case OPT_EDGES: o->edges = text; return true;
    case OPT_WEIGHTS: o->weights = text; return true;
    case OPT_TITLE: o->title = text; return true;
    case OPT_SIZE: o->size = text; return true;
    case 'c': o->c = text; return true;
    case OPT_ITER: o->iterations = text; return true;
    case OPT_ESCAPE: o->escape = text; return true;
    case OPT_CENTER: o->center = text; return true;
    case OPT_SCALE: o->scale = text; return true;
    case OPT_PALETTE: o->palette = text; return true;
    case OPT_FRAMES: o->frames = text; return true;
    case OPT_C_PATH: o->c_path = text; return true;
    case OPT_MEMORY: return operand_size(spec, text, &o->memory);
    case OPT_AGAINST: o->against = text; return true;
    case OPT_COLUMN: return operand_columns(spec, text, &o->input.text.columns);
    case OPT_DELIMITER: return operand_delimiter(spec, text, &o->input.text.delimiter);
    case 'o': o->output = text; return true;
    default: break;
    }
    if (!operand_choice(spec, text, &choice)) return false;
    switch (spec->id) {
    case OPT_FORMAT: o->input.format = (enum format)choice; break;
    case OPT_NAN: o->rules.nan = (bf_nan_policy)choice; break;
    case OPT_OUT_DTYPE: o->rules.out_dtype = choice == 0 ? BF_F64 : BF_F32; break;
    case OPT_DDOF: o->rules.ddof = choice; break;
    case OPT_SORT: o->by_key = choice == 1; break;
    case OPT_OVERFLOW: o->rules.overflow = (bf_overflow_policy)choice; break;
    default: o->color = (enum color_mode)choice; break;
    }
    return true;
}

static bool set_layout(options *o, enum layout layout) {
    if (o->layout != LAYOUT_PLAIN && o->layout != layout) {
        fail(EXIT_USAGE, NULL, "--json and --tsv exclude each other");
        return false;
    }
    o->layout = layout;
    return true;
}

static bool set_flag(options *o, int id) {
    switch (id) {
    case OPT_ROWS: return add_aggregate(o, find_spec(id), 0, NULL);
    case OPT_TOTAL: return o->total = true;
    case OPT_HEADER: return o->input.text.header = true;
    case OPT_JSON: return set_layout(o, LAYOUT_JSON);
    case OPT_TSV: return set_layout(o, LAYOUT_TSV);
    case OPT_HEX: return o->hex = true;
    case OPT_STATS: return o->stats = true;
    case OPT_DENSITY: return o->density = true;
    case OPT_LOG: return o->log = true;
    case OPT_STRICT: return o->strict = true;
    case OPT_MANDELBROT: return o->mandelbrot = true;
    case OPT_VIEW: return o->view = true;
    case OPT_PROGRESS: o->progress = PROGRESS_ON; return true;
    case OPT_NO_PROGRESS: o->progress = PROGRESS_OFF; return true;
    case 'q': return o->quiet = true;
    case 'h': return o->help = true;
    default: return o->verbose = true;
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static const char letters[] = ":c:j:n:o:qvh";

static int usage_error(const char *command, const char *what, const char *option) {
    fail(EXIT_USAGE, NULL, "%s: %s", what, option);
    hint("bitfold help %s", command);
    return EXIT_USAGE;
}

static int option_error(const char *command, const char *what, const option_spec *spec) {
    char option[64];
    snprintf(option, sizeof option, "--%s", spec->name);
    return usage_error(command, what, option);
}

static int unknown_option(const char *command, const char *option, const usage *u) {
    char help[64];
    snprintf(help, sizeof help, "bitfold help %s", command);
    fail(EXIT_USAGE, NULL, "unknown option: %s", option);
    options_guess(option, u, specs, SPECS, help);
    return EXIT_USAGE;
}

/* What getopt_long did not like: it tells by its result and by optopt. */
static int parse_error(int result, char **argv, const usage *u) {
    const option_spec *spec = find_spec(optopt);
    if (spec && result == ':') return option_error(argv[0], "an operand is missing", spec);
    if (spec) return option_error(argv[0], "no operand belongs to", spec);
    const char letter[] = {'-', (char)optopt, '\0'};
    return unknown_option(argv[0], optopt ? letter : argv[optind - 1], u);
}

/* Options that share a name belong to different commands. */
static bool is_hidden(const option_spec *spec, const usage *u) {
    const int other = spec->id == OPT_COUNT ? OPT_ROWS : spec->id == OPT_ROWS ? OPT_COUNT : 0;
    return other != 0 && !option_belongs(spec, u);
}

static int read_options(options *o, int argc, char **argv, const usage *u) {
    struct option longs[SPECS + 1] = {0};
    const char *given[SPECS] = {NULL};
    int n = 0;
    for (int i = 0; i < SPECS; i++)
        if (!is_hidden(&specs[i], u))
            longs[n++] =
                (struct option){specs[i].name, specs[i].operand != NULL, NULL, specs[i].id};
    opterr = 0;
    optind = 0; /* from the start: completion asks one command after another */
    int id;
    while ((id = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        if (id == '?' || id == ':') return parse_error(id, argv, u);
        const option_spec *spec = find_spec(id);
        if (!option_belongs(spec, u))
            return option_error(argv[0], "this command has no option", spec);
        if (!(spec->group & TAKES_GROUPS) && options_again(&given[spec - specs], spec, optarg))
            return EXIT_USAGE;
        if (spec->operand ? !set_operand(o, spec, optarg) : !set_flag(o, id)) return EXIT_USAGE;
    }
    return EXIT_DONE;
}

/* Options that need or exclude each other. */
static int check_options(const options *o) {
    if (o->input.format == FORMAT_RAW && o->input.dtype == BF_NONE) {
        fail(EXIT_USAGE, NULL, "--format raw needs --dtype");
        hint("such as --dtype f64: raw data do not say what they are");
        return EXIT_USAGE;
    }
    if (o->input.format == FORMAT_NPY && o->input.dtype != BF_NONE) {
        fail(EXIT_USAGE, NULL, "--dtype belongs to --format raw and to text");
        hint("a .npy file says its own dtype");
        return EXIT_USAGE;
    }
    const text_options *t = &o->input.text;
    if ((o->input.format == FORMAT_NPY || o->input.format == FORMAT_RAW) &&
        (t->columns || t->delimiter || t->header))
        return fail(EXIT_USAGE, NULL, "--column, --delimiter and --header belong to text");
    return EXIT_DONE;
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
    return bf_device_parse(name, &device) == BF_OK && device >= 0;
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
    return device >= 0 && device < bf_device_count() ? EXIT_DONE : fail_device(name);
}

static int take_files(options *o, int argc, char **argv, const usage *u) {
    static char dash[] = "-", *standard_input[] = {dash, NULL};
    o->files = argv + optind;
    o->file_count = argc - optind;
    if (o->file_count > 0 || !(u->takes & TAKES_STDIN)) return EXIT_DONE;
    o->files = standard_input;
    o->file_count = 1;
    if (isatty(STDIN_FILENO))
        return usage_error(argv[0], "no FILE given", "standard input is a terminal");
    return EXIT_DONE;
}

bool options_parse(options *o, int argc, char **argv, const usage *u, int *code) {
    *o = (options){.input.count = -1,
                   .rules.size = sizeof(bf_reduce_options),
                   .device = "auto",
                   .isa = "auto"};
    *code = read_options(o, argc, argv, u);
    if (*code == EXIT_DONE && o->help) {
        options_show(argv[0], u, specs, SPECS);
        return false;
    }
    report_style(o->color, o->quiet, o->verbose);
    if (*code == EXIT_DONE) *code = take_files(o, argc, argv, u);
    if (*code == EXIT_DONE) *code = check_options(o);
    if (*code == EXIT_DONE) *code = clash_check(o, u);
    if (*code == EXIT_DONE) *code = check_device(o->device);
    if (*code == EXIT_DONE) *code = check_isa(o->isa);
    if (o->threads == 0) o->threads = bf_usable_threads();
    progress_setup(o->quiet ? PROGRESS_OFF : o->progress);
    return *code == EXIT_DONE;
}
