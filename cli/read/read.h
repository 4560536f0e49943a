/* The reader of tables as a library, libbitfold-read, for programs that want columns in memory.
 * It says nothing on standard error and leaves signals alone. One call runs at a time: it keeps
 * what the command keeps of its command line. */
#ifndef BITFOLD_CLI_READ_READ_H
#define BITFOLD_CLI_READ_READ_H

#include <bitfold.h>

typedef struct bitfold_read_column {
    const char *name;
    bf_dtype dtype;         /* i64, u64, i128, f64; BF_NONE: it is of strings */
    int scale;              /* integers are in units of 10^-scale */
    bf_time_kind time;      /* they are seconds since 1970, of scale 0, 3, 6 or 9; dates are days */
    int64_t nulls;          /* rows that are NULL: their number is any, their string empty */
    const void *numbers;    /* NULL: it is of strings */
    const int64_t *offsets; /* where strings begin in `bytes`, one more than rows */
    const char *bytes;
    int utf8;             /* every string is UTF-8 */
    const uint8_t *valid; /* bit i is 0 where row i is NULL; NULL: no row is */
} bitfold_read_column;

typedef struct bitfold_read_table {
    int64_t rows;
    int count;
    bitfold_read_column *columns;
} bitfold_read_table;

/* Takes rows of a table, which are the taker's to free. NULL: they come from the first on, and
 * those that were taken do not count. Returns how many are wanted together next, at least; 0: no
 * more; -1: all of them, from the first on. */
typedef int64_t bitfold_read_take(void *arg, bitfold_read_table *rows);

/* Reads a table as the options of a command line say, of which argv[0] is no part: those of input,
 * threads and memory, --where, --text and --number; --column names columns, else all are taken.
 * also: such a list of columns that are taken, too, where there are some of these names; NULL:
 * none. Several files are one table. Calls take(arg, NULL) before the first rows, and with some at
 * least once, even if there are none; again from the first on where later rows show that a column
 * is something else than it seemed. Returns an exit code of the command, 0 if all went well. If
 * not, *message is what the command would say on standard error, the caller's to free; NULL: there
 * is no memory. */
BF_API int bitfold_read(int argc, char **argv, const char *also, bitfold_read_take *take, void *arg,
                        char **message);
BF_API void bitfold_read_free(bitfold_read_table *read);

/* Writes n strings, which are views of Arrow's into its buffers of data, as offsets, n + 1 of them,
 * and bytes one behind another (NULL: the offsets alone, of which the last says how much room is
 * needed). What is NULL has a view, too. */
BF_API void bitfold_read_views(int64_t n, const void *views, const void *const buffers[],
                               int64_t *offsets, char *bytes);

/* Writes n integers with 128 bits each. */
BF_API void bitfold_read_widen(const int64_t *narrow, int64_t n, void *wide);

/* Writes the elements, of `size` bytes each, that are at these n places, and 0 where a place is -1.
 */
BF_API void bitfold_read_pick(const void *from, size_t size, const int64_t *places, int64_t n,
                              void *to);

/* Releases of Arrow's structures, for callers who make these; their private_data point to an owner,
 * which lives until it is released. Children are released first. */
typedef struct bitfold_read_owner {
    void (*release)(void *owner);
    void *owner;
} bitfold_read_owner;

struct ArrowSchema;
struct ArrowArray;
struct ArrowArrayStream;
BF_API void bitfold_read_release_schema(struct ArrowSchema *schema);
BF_API void bitfold_read_release_array(struct ArrowArray *array);
BF_API void bitfold_read_release_stream(struct ArrowArrayStream *stream);

#endif
