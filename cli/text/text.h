/* Text: rows of fields, and the numbers of some of their columns.
 *
 * A row is a line with anything but blanks on it. Its fields are separated by one character, or by
 * runs of blanks and tabs; a field may stand in double quotes, and then hold newlines, unless
 * blanks separate fields. Text is untrusted input, and these functions are pure, so that a fuzzer
 * can drive them: a text is [at, end), ends with the newline of a row (unless it is empty), holds
 * no NUL, and TEXT_SLACK bytes behind it may be read. Somewhere behind it there is a NUL. */
#ifndef BITFOLD_CLI_TEXT_TEXT_H
#define BITFOLD_CLI_TEXT_TEXT_H

#include "text/dialect.h"
#include "text/item.h"
#include "text/marks.h"
#include "text/number.h"
#include "text/strings.h"
#include "text/style.h"

#include <limits.h>

struct text_options;
struct text_error;

/* A caller that must know the first row before it can say which columns it wants. `choose` gets its
 * n fields, without their quotes, and sets lists of columns in the options, which the caller keeps.
 * False: it has filled in the error. */
typedef struct text_chooser {
    const char *option; /* the option that asks for columns */
    bool (*choose)(void *arg, char *const fields[], int n, struct text_options *options,
                   struct text_error *error);
    void *arg;
} text_chooser;

/* The columns that a condition names, with commas between; NULL: none. */
typedef struct text_condition {
    const char *numbers, *strings;
    const char *either; /* strings if a field is no number */
} text_condition;

/* Options for reading text. */
typedef struct text_options {
    const char *columns; /* numbers from 1, or names, with commas between; any name may stand
                            between backquotes; NULL: not given */
    const char *also;    /* more of them, that a command wants beside these; NULL: none */
    const char *strings; /* columns that are held as strings; NULL: none */
    const char *keys;    /* columns of numbers that are strings if a field is none; NULL: none */
    const char *either; /* columns of values that are strings if a field is no number; NULL: none */
    text_condition condition;
    const char *text;   /* keys that are strings, whatever their fields are; NULL: none */
    const char *number; /* keys that are numbers; NULL: none */
    bool any;           /* a column is one of strings if a field is no number, where no dtype is
                          asked for */
    bool apart;        /* a field of `strings` or `keys` that is one of values, too, is two columns:
                          that of the values follows */
    bool counted;      /* the numbers of `columns` are keys */
    bool mixed;        /* for JSON lines, `columns` are keys: strings, if not all are numbers */
    bool words;        /* the command takes words, too, by --by */
    bool keyed;        /* so is the only column, if none is chosen */
    const char *nulls; /* what stands for no value, with commas between; NULL: the empty field */
    bool skip_nulls;   /* numbers may be NULL: the caller knows which are */
    bool judge_nulls;  /* it does so whatever was asked for: the caller judges them */
    bool inferred;     /* keys may be values: they are rounded as these are; codes are strings */
    bool lax;          /* rows may have fewer fields than the first, which are NULL, or more */
    bool json;         /* each line holds an object */
    bool closed;       /* its keys are columns, all of which are wanted: no line has another */
    bool typed;        /* strings of JSON lines tell types apart (text/typed.h) */
    bool whole;        /* the caller wants rows as they stand, too */
    text_style style;  /* how numbers are written */
    char delimiter;    /* ' ' for blanks and tabs; '\0': as text_find_delimiter says */
    const char *option; /* the option that names columns, if it is not --column */
    bool guessed;       /* the delimiter was found, not given */
    bool all;           /* columns not given: all of the first row (join --on) */
    bool header;        /* the first row holds names; as it does if a column has a name */
    bool table;         /* the first row holds names if header was given, or if all in it look like
                           names */
    bool no_header;     /* it holds none, whatever they look like */
    bf_dtype dtype;     /* the numbers'; BF_NONE: the most exact candidate */
    size_t longest;     /* bytes of a line that memory allows; 0: no limit but that of all lines */
    size_t share;       /* what it allows to several threads at once */
    const text_chooser *chooser; /* NULL: none */
    /* These are for the bytes, before they are decoded (decode/decode.h). */
    text_dialect dialect;
    bool gaps; /* they have been: a line of one CR alone is none of the text's */
} text_options;

/* A row that is longer is no row; and the same with the options. */
#define TEXT_LONGEST ((size_t)256 * 1024 * 1024)
static inline size_t text_longest(const text_options *options) {
    return options->longest > 0 && options->longest < TEXT_LONGEST ? options->longest
                                                                   : TEXT_LONGEST;
}

typedef struct json_keys json_keys; /* text/json.h */

enum { TEXT_ANY_FIELDS = INT_MAX };

/* Says which strings of JSON lines tell types apart (text/typed.h): none; those of columns of keys
 * that are not held as numbers, too; all. */
enum text_typed { TEXT_UNTYPED, TEXT_TYPED_KEYS, TEXT_TYPED };

/* How to read the rows of one text. */
typedef struct text_layout {
    char delimiter;
    bool lone;            /* no column was chosen: rows have one field */
    bool single;          /* a table of one column: an empty line is a row */
    bool gaps;            /* an empty line may be a gap: as in the options */
    int columns;          /* how many are wanted */
    int *fields;          /* their fields, from 0, ascending; one may be there twice */
    int *listed;          /* the fields of the options' `columns`, in their order */
    int listed_count;     /* 0: there is no list */
    char **names;         /* their names; NULL: there are none */
    unsigned char *kinds; /* their kinds: bits of TEXT_NUMBERS and the others */
    unsigned char *uses;  /* what they are for: bits of TEXT_WANTED and the other */
    int counted;          /* one more than the number of the one whose numbers are keys; 0: none */
    bool mixed;           /* as in the options, of JSON lines: NULL is no number, either */
    text_nulls nulls;
    bool skip_nulls, lax;
    bool judged;        /* the caller judges NULLs, and not the condition alone */
    int digits;         /* digits of integers in units of 10^-scale: rows_options.digits */
    bool inferred;      /* keys that are none of the dtype asked for are strings, not refused */
    const char *option; /* as in the options */
    int fewest, most;   /* fields of a row: 0 and TEXT_ANY_FIELDS, or as many as the first has */
    json_keys *keys;    /* for JSON lines; NULL: it is something else */
    bool words;         /* as in the options */
    bool closed;        /* as in the options, or because no column is named */
    enum text_typed typed;
    bool whole;       /* as in the options */
    text_style style; /* how numbers are written */
    bf_dtype dtype;
} text_layout;

/* What a column holds: numbers, strings, or numbers that turn to strings where one is none, or is
 * written as a code is, or cannot be held exactly; but those that were asked for are refused then,
 * and those that are values turn only where one is none. */
enum { TEXT_NUMBERS = 1, TEXT_STRINGS_TOO = 2, TEXT_KEYS = 4, TEXT_ASKED = 8, TEXT_VALUES = 16 };

/* Whether a command wants a column, or its condition, or both. */
enum { TEXT_WANTED = 1, TEXT_CONDITION = 2 };

/* Keys of more digits are codes. */
enum { TEXT_DIGITS_MOST = 38 };

/* An error: its place in the row, a message, and a hint, which may be empty. */
typedef struct text_error {
    const char *at;
    char what[240], hint[240];
} text_error;

/* The text in an error: printable, and not all of it if it is long. */
void text_quote(char out[64], const char *at, const char *end);

/* Tab, ';', ',' or '|', whichever the first row has outside of quotes (in this order), but for the
 * decimal point. If it has none, ' '; but for a table whose first row is one field ',', or ';'
 * where numbers have commas. */
char text_find_delimiter(const char *at, const char *end, const text_style *style, bool table);

/* Whether the options ask for a table, whose first row may hold names. */
bool text_asks_for_table(const text_options *options);

/* The end of the row that p is in, outside of quotes. */
const char *text_row_end(const char *p, const char *end, char delimiter);

/* Finds the layout from the first row, which *at then points behind if it is a header. False: it is
 * refused (error->at is NULL if it is the options that are at fault, or memory). Free it in either
 * case. */
bool text_layout_find(text_layout *layout, const text_options *options, const char **at,
                      const char *end, text_error *error);
void text_layout_free(text_layout *layout);

/* Keeps n of the columns alone, by their fields, ascending, and some of them twice; `kinds` says
 * what each holds. False: there is no memory. */
bool text_layout_keep(text_layout *layout, const int fields[], const unsigned char kinds[], int n);

/* Whether a column holds the field of the one before it. */
static inline bool text_layout_repeats(const text_layout *l, int column) {
    return column > 0 && column < l->columns && l->fields[column] == l->fields[column - 1];
}

/* Whether an item of the options means a column, by its number or name. */
bool text_layout_is(const text_layout *layout, int column, text_item item);

/* What a column of this kind holds where the options say of keys that they are strings, or numbers.
 */
unsigned char text_layout_kind(const text_layout *layout, int column, const text_options *options,
                               unsigned char kind);

/* The wanted column that an item of the options means, a number or a name; -1: none. */
int text_layout_column(const text_layout *layout, const char *item);

/* Whether a field is no number at all, nor a number with a slip in it. */
bool text_looks_like_name(const char *at, const char *end);

/* The types that a column may be held as, the most exact first: i64, u64, i128 (with decimals),
 * f64, or the dtype asked for. */
enum { TEXT_CANDIDATES = 4 };
enum { CAN_I64 = 1, CAN_U64 = 2, CAN_I128 = 4, CAN_F64 = 8, CAN_ALL = 15 }; /* as bits */
int text_candidates(const text_layout *layout);
bf_dtype text_candidate(const text_layout *layout, int i);
unsigned text_candidate_form(const text_layout *layout, int i);

/* Strings as a candidate, of columns that may be: the last of all. It has no dtype. */
enum { TEXT_CAN_STRINGS = 1 << TEXT_CANDIDATES };

/* How an error begins that is about column k; empty if it is the only one. */
void text_which(char out[80], const text_layout *l, int k);

/* The candidates that a column may have. */
unsigned text_column_can(const text_layout *layout, int column);

/* The forms that a column without a dtype is held in, as bits; one with a dtype has floats in place
 * of integers. */
enum { TEXT_INTEGERS = 1, TEXT_FLOATS = 2, TEXT_STRINGS = 4 };

/* The fields of one column of some rows, in the forms wanted. With decimals, a number that is no
 * integer is one in units of 10^-scale, as the candidates i64 and i128: unless it takes more than
 * 15 digits, for then it was a double. */
typedef struct text_column {
    void *integers; /* i64 and u64 have the same bits; NULL: there are none, or they are wide */
    void *wide;     /* i128 in place of them */
    void *narrow;   /* room for integers that are not wide */
    int scale;      /* the scale of the integers; the caller sets it before room is made */
    bool is_wide;   /* they are i128; the caller sets it, too */
    int digits;     /* the layout's */
    int deepest;    /* the least scale that all of them have; above `scale`, some were not held */
    bf_time_kind time; /* the integers are times, as the caller says; BF_TIME_NONE: numbers */
    bf_time_kind seen; /* the greatest kind of time of it and all fields */
    void *floats;      /* f64, or the dtype asked for */
    unsigned can;      /* bit i: all numbers are candidate i's */
    const char *why;   /* the last number that is no such integer is none; NULL: there is none */
    bool words;        /* some field is no number */
    text_strings strings;
    bool only_strings, only_numbers, both; /* may be read the short way */
    bool exact;     /* keys of the dtype asked for: what it does not hold is refused */
    bool key;       /* no number is rounded */
    bool codes;     /* a key with a zero before another digit is no number */
    bool strict;    /* such a one is refused */
    uint8_t *valid; /* a bit for each row, 0 where it is NULL; NULL: none may be */
} text_column;

/* What the integers of a column are held in, with decimals: units of 10^-scale (of u64 always 1),
 * in 64 or in 128 bits. Threads that read rows look at them meanwhile. Of the rows so far, the
 * least integer and the greatest one; and 0. */
typedef struct text_unit {
    _Atomic unsigned char scale;
    _Atomic bool wide;
    _Atomic unsigned char time; /* a bf_time_kind; BF_TIME_ANY: all rows so far are NULL */
    text_i128 least, greatest;
} text_unit;

/* What times a column holds that is read with this unit. */
static inline bf_time_kind text_unit_time(const text_unit *u) {
    return u->time == BF_TIME_ANY ? BF_TIME_NONE : (bf_time_kind)u->time;
}

/* Whether the integers of a column that has these candidates left are those of 128 bits alone. */
static inline bool text_unit_is_wide(unsigned can) {
    return (can & (CAN_I64 | CAN_U64 | CAN_I128)) == CAN_I128;
}

/* Some rows of the column, which has the candidates `can`, have been read. Whether their numbers
 * need another unit; and takes the unit that holds them and all rows before, and leaves the
 * candidates that do. Returns whether the rows were read with another unit. */
bool text_unit_changes(const text_unit *u, unsigned can, const text_column *c);
bool text_unit_take(text_unit *u, unsigned *can, const text_column *c);

/* Notes n rows that were read with this unit. */
void text_unit_note(text_unit *u, unsigned can, const text_column *c, int64_t n);

/* Where a row stands in its text: from its first byte to behind its newline. */
typedef struct text_row {
    const char *at, *end;
} text_row;

typedef struct text_rows {
    const unsigned char *forms; /* each column's; the caller has them */
    text_column *columns;
    int count; /* how many columns there are */
    int64_t n, room;
    int64_t most;     /* rows to read now */
    bool quoted;      /* some fields are; set by the caller */
    bool special;     /* there is more to do than to read numbers */
    bool no_memory;   /* why reading failed */
    void *memory;     /* where the numbers are, but for wide ones */
    text_row *stands; /* where each row stands; NULL: the layout does not want to know */
    text_marks marks; /* the marks of a stretch of the text */
    uint64_t *seen;   /* for JSON: the stamp of the line that each column was last in */
    uint64_t stamp;
} text_rows;

/* Begins with room for no rows. False if there is no memory; free it in either case. */
bool text_rows_open(text_rows *rows, const text_layout *layout, const unsigned char *forms);
void text_rows_free(text_rows *rows);

/* Makes room for so many rows; what was there is lost. False if there is no memory. */
bool text_rows_reserve(text_rows *rows, const text_layout *layout, int64_t room);

/* The numbers of one column as candidate i; NULL if they are not held in its form. */
const void *text_rows_numbers(const text_rows *rows, const text_layout *layout, int column, int i);

/* Reads rows, as many as there are, at most `most` and what there is room for. Returns the end of
 * the last, or NULL if one is refused. */
const char *text_rows_read(text_rows *rows, const text_layout *layout, const char *at,
                           const char *end, int64_t most, text_error *error);

/* Whether the line at `at` is no row, for it is blank. */
static inline bool text_is_no_row(const text_layout *l, const char *at) {
    if (l->single && !l->gaps) return false;
    const char *const p = text_skip_blanks(at, l->delimiter);
    return *p == '\n' && (!l->single || (p == at + 1 && *at == '\r'));
}

/* Passes over lines of blanks that are no rows. */
const char *text_pass_blank_lines(const text_layout *layout, const char *at);

/* Passes over `most` rows (-1: all) without a look at their fields; *n says how many there were.
 * quoted: as in text_rows. */
const char *text_rows_skip(const text_layout *layout, bool quoted, const char *at, const char *end,
                           int64_t most, int64_t *n);

#endif
