#include "options/options_table.h"

#include "options/operand.h"

#include <string.h>

/* ---- readers of operands that only these options have ---------------------------------------- */

/* A column, or one of two words. */
static bool read_sort(const option_spec *spec, const char *text, void *to) {
    options *o = to;
    if (*text == '\0' || strcmp(text, "-") == 0) return operand_bad(spec->name, text, "a column");
    o->sort = text;
    o->by_key = strcmp(text, "key") == 0;
    return true;
}

static bool read_null_policy(const option_spec *spec, const char *text, void *to) {
    int choice = 0;
    if (!read_choice(spec, text, &choice)) return false;
    *(bool *)to = choice == 1;
    return true;
}

/* The value says what the weights tell. */
static bool read_weights(const option_spec *spec, const char *text, void *to) {
    options *o = to;
    if (o->weights) {
        fail(EXIT_USAGE, NULL, "--weights and --aweights exclude each other");
        return false;
    }
    o->weights = text;
    o->rules.weights = (bf_weights)spec->value;
    return true;
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

static bool read_help(const option_spec *spec, const char *text, void *to) {
    if (text && strcmp(text, "all") != 0) return operand_bad(spec->name, text, "all");
    *(enum help *)to = text ? HELP_ALL : HELP_SHORT;
    return true;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const option_spec shared[] = {
    /* input */
    {"format", 0, IN_INPUT, "auto|npy|raw|text|jsonl",
     "the format of the input (auto: .npy by its first bytes, JSON lines by a name in .jsonl or "
     ".ndjson, else text)",
     TAKES_INPUT, .read = read_choice, .at = OPTION_AT(input.format)},
    {"dtype", 0, IN_INPUT, "T",
#define BF_X(id, number, name, ...) " " #name
     "the dtype of raw input or of text:" BF_DTYPE_LIST(BF_X),
#undef BF_X
     TAKES_INPUT, .read = read_dtype, .at = OPTION_AT(input.dtype)},
    {"offset", 0, IN_INPUT, "N", "skip the first N elements", TAKES_INPUT, .read = read_number,
     .at = OPTION_AT(input.first), .most = ELEMENTS_MOST},
    {"count", 0, IN_INPUT, "N", "take exactly N elements", TAKES_INPUT, .read = read_number,
     .at = OPTION_AT(input.count), .most = ELEMENTS_MOST},

    /* text */
    {"column", 0, IN_TEXT, "COLUMN",
     "the column to read, by number from 1 or by name; of values several, with commas between",
     TAKES_INPUT, .read = read_columns, .at = OPTION_AT(input.text.columns), .repeats = true},
    {"delimiter", 0, IN_TEXT, "C",
     "what separates fields; ' ' is blanks and tabs (a tab, ';', ',' or '|', as in the first row)",
     TAKES_INPUT, .read = read_delimiter, .at = OPTION_AT(input.text.delimiter)},
    {"header", 0, IN_TEXT, NULL, "the first row holds names", TAKES_INPUT, .read = read_flag,
     .at = OPTION_AT(input.text.header)},
    {"no-header", 0, IN_TEXT, NULL, "the first row holds no names, even if it looks like names",
     TAKES_INPUT, .read = read_flag, .at = OPTION_AT(input.text.no_header)},
    {"null", 0, IN_TEXT, "LIST",
     "fields that hold no value, with commas between (the empty field; never one in quotes)",
     TAKES_INPUT, .read = read_text, .at = OPTION_AT(input.text.nulls)},
    {"null-policy", 0, IN_TEXT, "error|skip",
     "a field without a value is refused, or left out of a value (error)", TAKES_INPUT,
     .read = read_null_policy, .at = OPTION_AT(input.text.skip_nulls)},
    {"lax", 0, IN_TEXT, NULL,
     "a field that a row is too short for holds no value; fields beyond those of the first row are "
     "left out",
     TAKES_INPUT, .read = read_flag, .at = OPTION_AT(input.text.lax)},
    {"skip-lines", 0, IN_TEXT, "N", "pass over the first N lines (0)", TAKES_INPUT,
     .read = read_number, .at = OPTION_AT(input.text.dialect.skip), .most = ELEMENTS_MOST},
    {"comment", 0, IN_TEXT, "C", "pass over lines that begin with C (none)", TAKES_INPUT,
     .read = read_sign, .at = OPTION_AT(input.text.dialect.comment)},
    {"escape", 0, IN_TEXT, "C",
     "C takes the meaning from the quote, delimiter or newline behind it, as \\ of MySQL does "
     "(none)",
     TAKES_INPUT, .read = read_sign, .at = OPTION_AT(input.text.dialect.escape)},
    {"encoding", 0, IN_TEXT, "auto|utf-8|utf-16|latin-1",
     "the encoding of characters (auto: UTF-16 by its byte order mark, else UTF-8)", TAKES_INPUT,
     .read = read_choice, .at = OPTION_AT(input.text.dialect.encoding)},
    {"thousands", 0, IN_TEXT, "C",
     "the character between groups of three digits, as in 1,234.5 (none)", TAKES_INPUT,
     .read = read_character, .at = OPTION_AT(input.text.style.thousands)},
    {"decimal", 0, IN_TEXT, "C", "the decimal point, as in 1.234,5 (.)", TAKES_INPUT,
     .read = read_mark, .at = OPTION_AT(input.text.style.decimal)},
    {"exponent", 0, IN_TEXT, "C",
     "a letter that begins an exponent as e does: D for Fortran's 1.5D+03 (none)", TAKES_INPUT,
     .read = read_letter, .at = OPTION_AT(input.text.style.exponent)},
    {"currency", 0, IN_TEXT, NULL,
     "a currency sign may stand beside a number; a number in parentheses or with the minus behind "
     "it is negative",
     TAKES_INPUT, .read = read_flag, .at = OPTION_AT(input.text.style.currency)},
    {"infer", 0, IN_TEXT, NULL,
     "show instead what each column is taken for, and which line is the cause", TAKES_INFER,
     .read = read_flag, .at = OPTION_AT(infer)},

    /* keys */
    {"by", 0, IN_KEYS, "COL[,COL]",
     "FILE is a table of text, and the key is in these columns, by name or by number",
     TAKES_BY | TAKES_KEYS, .read = read_text, .at = OPTION_AT(by)},
    {"by", 0, IN_KEYS, "[-]COL[,[-]COL]",
     "FILE is a table of text, whose whole rows are in the order of these columns, by name or by "
     "number; -COL: the greatest first",
     TAKES_ORDERED, .read = read_text, .at = OPTION_AT(by)},
    {"where", 0, IN_KEYS, "EXPR",
     "take only rows of a table that meet this condition, as in 'price > 10'",
     TAKES_BY | TAKES_WHERE | TAKES_JOIN | TAKES_ROWS, .read = read_text, .at = OPTION_AT(where)},
    {"text", 0, IN_KEYS, "COL[,COL]",
     "keys of --by and --on that are text: 1.1 and 1.10 differ (as their fields show)",
     TAKES_BY | TAKES_KEYS | TAKES_JOIN | TAKES_ORDERED, .read = read_text,
     .at = OPTION_AT(input.text.text)},
    {"number", 0, IN_KEYS, "COL[,COL]",
     "keys of --by and --on that are numbers, even if they begin with zeros (as their fields show)",
     TAKES_BY | TAKES_KEYS | TAKES_JOIN | TAKES_ORDERED, .read = read_text,
     .at = OPTION_AT(input.text.number)},
    {"seed", 0, IN_KEYS, "N", "the seed of the hash; no result depends on it", TAKES_SEED,
     .read = read_number, .at = OPTION_AT(seed), .most = INT64_MAX},

    /* values */
    {"expression", 'e', IN_VALUES, "EXPR",
     "take this expression, as in '(a-b)**2': a, b, c are the FILEs in turn, other names the "
     "columns of a text",
     TAKES_EXPRESSION, .read = read_text, .at = OPTION_AT(expression)},
    {"nan", 0, IN_VALUES, "propagate|skip|error",
     "a NaN makes the result NaN, is left out, or is refused (propagate)", TAKES_NAN,
     .read = read_choice, .at = OPTION_AT(rules.nan)},
    {"out-dtype", 0, IN_VALUES, "f64|f32", "the dtype of a float result, rounded once (f64)",
     TAKES_ROUNDING, .read = read_dtype_choice, .at = OPTION_AT(rules.out_dtype)},
    {"ddof", 0, IN_VALUES, "0|1",
     "divide by n - ddof; skew and kurtosis: 1 takes their bias out (0)", TAKES_DDOF,
     .read = read_choice, .at = OPTION_AT(rules.ddof)},
    {"weights", 0, IN_VALUES, "V",
     "how often each number counts, by a file or a column of the table: NumPy's fweights",
     TAKES_WEIGHTS, .read = read_weights, .value = BF_WEIGHTS_FREQUENCY, .file = FILE_READ},
    {"aweights", 0, IN_VALUES, "V",
     "how much it counts instead, which differs for --ddof 1: NumPy's aweights", TAKES_WEIGHTS,
     .read = read_weights, .value = BF_WEIGHTS_RELIABILITY, .file = FILE_READ},
    {"overflow", 0, IN_VALUES, "error|wrap|saturate",
     "refuse integers that do not fit, take them modulo 2^bits, or (map) take the nearest (error)",
     TAKES_OVERFLOW, .read = read_choice, .at = OPTION_AT(rules.overflow)},
    {"axis", 0, IN_VALUES, "N[,N]",
     "a value for each fibre along these axes, which count from 0 or, from the end, -1", TAKES_MANY,
     .read = read_axes, .at = OPTION_AT(axes)},
    {"offsets", 0, IN_VALUES, "FILE",
     "a value for each segment; FILE has their m + 1 offsets along the first axis", TAKES_MANY,
     .read = read_text, .at = OPTION_AT(offsets), .file = FILE_READ},
    {"index", 0, IN_VALUES, "FILE",
     "a value for each slot; FILE has the slot of each index of the first axis", TAKES_MANY,
     .read = read_text, .at = OPTION_AT(index), .file = FILE_READ},
    {"slots", 0, IN_VALUES, "M", "the number of slots of --index", TAKES_MANY, .read = read_number,
     .at = OPTION_AT(slots), .most = BF_SLOTS_MAX},
    {"empty", 0, IN_VALUES, "VALUE",
     "the min, max, argmin, argmax, median or quantile of an empty segment, slot, fibre or prefix",
     TAKES_EMPTY, .read = read_text, .at = OPTION_AT(empty)},
    {"method", 0, IN_VALUES, "METHOD", "how a quantile is found between two elements (linear)",
     TAKES_METHOD, .read = read_method, .at = OPTION_AT(method)},
    {"total", 0, IN_VALUES, NULL, "also show the value of all files together", TAKES_TOTAL,
     .read = read_flag, .at = OPTION_AT(total)},
    {"total", 0, IN_VALUES, NULL, "with --by: also show the results of all rows, in a last line",
     TAKES_BY, .read = read_flag, .at = OPTION_AT(total)},

    /* running */
    {"threads", 'j', IN_RUNNING, "N", "the number of CPU threads (as many as this process may use)",
     TAKES_RUNNING, .read = read_threads, .at = OPTION_AT(threads)},
    {"device", 0, IN_RUNNING, "auto|cpu|cuda|cuda:N|cuda:all",
     "where to compute (auto: where the data are)", TAKES_RUNNING | TAKES_DEVICE, .read = read_text,
     .at = OPTION_AT(device)},
    {"isa", 0, IN_RUNNING, "auto|generic|vector|avx2|avx512",
     "the CPU's instruction set (auto: the fastest)", TAKES_RUNNING, .read = read_text,
     .at = OPTION_AT(isa)},
    {"memory", 0, IN_RUNNING, "SIZE/PERCENT%",
     "take no more memory than this, as in 4G or 20%, pages of mapped files included (no limit)",
     TAKES_MEMORY, .read = read_memory, .at = OPTION_AT(memory.limit)},
    {"spill", 0, IN_RUNNING, "DIR",
     "put what memory cannot hold in a file in DIR (beside -o FILE, or in TMPDIR or /var/tmp)",
     TAKES_MEMORY, .read = read_text, .at = OPTION_AT(spill)},
    {"checkpoint", 0, IN_RUNNING, "FILE",
     "save the work in FILE, and go on from there if it is interrupted", TAKES_WORK,
     .read = read_text, .at = OPTION_AT(checkpoint), .file = FILE_WRITTEN},
    {"checkpoint-interval", 0, IN_RUNNING, "SECONDS", "save it so often, as in 0.5 (5)", TAKES_WORK,
     .read = read_seconds, .at = OPTION_AT(checkpoint_interval)},
    {"progress", 0, IN_RUNNING, NULL, "show progress, even if not on a terminal", 0,
     .read = read_setting, .at = OPTION_AT(progress), .value = PROGRESS_ON},
    {"no-progress", 0, IN_RUNNING, NULL, "show no progress", 0, .read = read_setting,
     .at = OPTION_AT(progress), .value = PROGRESS_OFF},
    {"stats", 0, IN_RUNNING, NULL, "show how much was read, and how fast", TAKES_RUNNING,
     .read = read_flag, .at = OPTION_AT(stats)},
    {"verbose", 'v', IN_RUNNING, NULL, "show the choices made, such as the device", 0,
     .read = read_flag, .at = OPTION_AT(verbose)},
    {"quiet", 'q', IN_RUNNING, NULL, "show only errors", 0, .read = read_flag,
     .at = OPTION_AT(quiet)},
    {"color", 0, IN_RUNNING, "auto|always|never",
     "colour messages (auto: on a terminal, unless NO_COLOR is set)", 0, .read = read_choice,
     .at = OPTION_AT(color)},

    /* output */
    {"sort", 0, IN_OUTPUT, "count|key",
     "show the most frequent key first, or the least key first (count)", TAKES_TOP,
     .read = read_choice, .at = OPTION_AT(by_key)},
    {"sort", 0, IN_OUTPUT, "[-]COL",
     "the order of lines: by count, the most frequent first, by key, or with --by by a column that "
     "is shown; -COL: the greatest first",
     TAKES_BY, .read = read_sort},
    {"top", 'n', IN_OUTPUT, "TOP", "show at most TOP lines", TAKES_TOP | TAKES_BY | TAKES_LIMIT,
     .read = read_number, .at = OPTION_AT(top), .least = 1, .most = ELEMENTS_MOST},
    {"density", 0, IN_OUTPUT, NULL, "scale a histogram to an integral of 1", TAKES_PLOT,
     .read = read_flag, .at = OPTION_AT(density)},
    {"log", 0, IN_OUTPUT, NULL, "draw plots on a logarithmic scale", TAKES_PLOT, .read = read_flag,
     .at = OPTION_AT(log)},
    {"title", 0, IN_OUTPUT, "TEXT", "the title of plots (the file's name)", TAKES_PLOT,
     .read = read_text, .at = OPTION_AT(title)},
    {"take", 0, IN_OUTPUT, "COL[,COL]",
     "show these columns of whole rows, in this order (rows as they stand in FILE)", TAKES_ROWS,
     .read = read_text, .at = OPTION_AT(take)},
    {"append", 0, IN_OUTPUT, "NAME",
     "show the whole table, with the results as one more column of this name", TAKES_APPEND,
     .read = read_text, .at = OPTION_AT(append)},
    {"output", 'o', IN_OUTPUT, "FILE", "write the results to FILE, in the form that its name tells",
     TAKES_OUTPUT | TAKES_MAP | TAKES_FRAMES, .read = read_text, .at = OPTION_AT(output),
     .file = FILE_WRITTEN},
    {"format-out", 0, IN_OUTPUT, "auto|text|tsv|json|csv|markdown|jsonl|npy|png|svg|pdf",
     "the form of FILE (auto: as the ending of its name tells)",
     TAKES_OUTPUT | TAKES_MAP | TAKES_FRAMES, .read = read_choice, .at = OPTION_AT(form)},
    {"csv", 0, IN_OUTPUT, NULL, "show CSV, with a header of names", TAKES_SHEET | TAKES_APPEND,
     .read = read_layout, .at = OPTION_AT(layout), .value = LAYOUT_CSV},
    {"tsv", 0, IN_OUTPUT, NULL, "show TSV, with a header of names", TAKES_APPEND,
     .read = read_layout, .at = OPTION_AT(layout), .value = LAYOUT_TSV},
    {"json", 0, IN_OUTPUT, NULL, "show JSON, one object on each line; a row is one",
     TAKES_OUTPUT | TAKES_JSON | TAKES_APPEND, .read = read_layout, .at = OPTION_AT(layout),
     .value = LAYOUT_JSON},
    {"jsonl", 0, IN_OUTPUT, NULL, "show JSON lines: each row is an object by names of columns",
     TAKES_SHEET | TAKES_APPEND, .read = read_layout, .at = OPTION_AT(layout),
     .value = LAYOUT_JSONL},
    {"markdown", 0, IN_OUTPUT, NULL, "show a table of Markdown", TAKES_SHEET | TAKES_APPEND,
     .read = read_layout, .at = OPTION_AT(layout), .value = LAYOUT_MARKDOWN},
    {"tsv", 0, IN_OUTPUT, NULL, "show value, tab and file, even for one file; hist: show the table",
     TAKES_OUTPUT, .read = read_layout, .at = OPTION_AT(layout), .value = LAYOUT_TSV},
    {"hex", 0, IN_OUTPUT, NULL, "show floats in hexadecimal, as %a of C prints them",
     TAKES_OUTPUT | TAKES_APPEND, .read = read_flag, .at = OPTION_AT(hex)},
    {"save", 0, IN_OUTPUT, "FILE", "save the state for 'bitfold merge'", TAKES_SAVE,
     .read = read_text, .at = OPTION_AT(save), .file = FILE_WRITTEN, .decides = true},

    /* the last */
    {"help", 'h', IN_RUNNING, "all", "show the usual options, or all of them", 0, .read = read_help,
     .at = OPTION_AT(help), .optional = true},
};

const option_table options_shared = OPTION_TABLE(shared);
const option_spec *const options_help = &shared[sizeof shared / sizeof *shared - 1];
