/* Dictionaries: keys of strings and numbers, some of them NULL. Tells the numbers of all rows, the
 * order of the keys, and the keys. */
#include "works/data.h"
#include "works/works.h"

enum { ROWS = 20001, DIFFERENT = 5000, LONGEST = 23, COLUMNS = 2 };

/* The keys: strings, numbers, or both. */
static const struct {
    const char *name;
    int count;
    bf_dtype columns[COLUMNS];
} kinds[] = {{"strings", 1, {BF_NONE}}, {"numbers", 1, {BF_F64}}, {"both", 2, {BF_NONE, BF_I32}}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* The rows of all kinds. */
typedef struct table {
    int64_t offsets[ROWS + 1];
    char bytes[ROWS * LONGEST];
    double f64[ROWS];
    int32_t i32[ROWS];
    uint8_t valid[ROWS / 8 + 1];
} table;

/* Rows [first, last) of a column. */
typedef struct part {
    bf_strings strings;
    bf_array numbers;
    bf_column column;
} part;

static void take_rows(const table *t, bf_dtype dtype, int64_t first, int64_t last, part *p) {
    const bool text = dtype == BF_NONE;
    p->strings =
        (bf_strings){sizeof p->strings, last - first, BF_I64, t->offsets + first, t->bytes};
    p->numbers = bf_array_of(dtype, dtype == BF_F64 ? (void *)t->f64 : (void *)t->i32, ROWS);
    if (!text) p->numbers = work_slice(&p->numbers, first, last);
    p->column = (bf_column){sizeof p->column, text ? &p->strings : NULL, text ? NULL : &p->numbers,
                            t->valid, first};
}

static int64_t numbers[ROWS]; /* the key of each row, as its number */

static bf_status create(const task *t, work_object *o) {
    return bf_dictionary_create(t->context, kinds[t->what].count, kinds[t->what].columns,
                                &o->dictionary);
}

static bf_status absorb(task *t, work_object *o, int64_t first, int64_t last) {
    part parts[COLUMNS];
    const bf_column *columns[COLUMNS];
    const bf_array to = bf_array_of(BF_I64, numbers + first, last - first);
    for (int c = 0; c < kinds[t->what].count; c++) {
        take_rows(t->room, kinds[t->what].columns[c], first, last, &parts[c]);
        columns[c] = &parts[c].column;
    }
    return bf_dictionary_encode(o->dictionary, columns, &to);
}

/* Numbers the rows behind those of `into` as it does. */
static bf_status merge(work_object *into, work_object *from) {
    static int64_t there[ROWS];
    const bf_array renumbered = bf_array_of(BF_I64, there, bf_dictionary_size(from->dictionary));
    const bf_status st = bf_dictionary_merge(into->dictionary, from->dictionary, &renumbered);
    for (int64_t i = from->first; i < from->last && st == BF_OK; i++)
        numbers[i] = there[numbers[i]];
    into->last = from->last;
    return st;
}

static bf_status tell_column(task *t, const bf_dictionary *d, bf_dtype dtype, int column,
                             int64_t n) {
    static char bytes[ROWS * LONGEST];
    static int64_t values[ROWS + 1];
    static unsigned char valid[ROWS];
    const bf_array there = bf_array_of(BF_BOOL, valid, n);
    const bool text = dtype == BF_NONE;
    const bf_array to = bf_array_of(text ? BF_I64 : dtype, values, text ? n + 1 : n);
    const bf_status st =
        text ? bf_dictionary_strings(d, column, NULL, &to, bytes, sizeof bytes, &there)
             : bf_dictionary_values(d, column, NULL, &to, &there);
    if (st != BF_OK) return st;
    work_add(t, values, work_bytes(&to));
    work_add(t, valid, (size_t)n);
    if (text) work_add(t, bytes, (size_t)values[n]);
    return BF_OK;
}

static bf_status tell(task *t, work_object *o) {
    static int64_t ranks[ROWS];
    bf_dictionary *d = o->dictionary;
    const int64_t n = bf_dictionary_size(d);
    const bf_array order = bf_array_of(BF_I64, ranks, n);
    bf_status st = bf_dictionary_ranks(d, &order);
    work_add(t, numbers, sizeof numbers);
    work_add(t, ranks, (size_t)n * sizeof *ranks);
    for (int c = 0; c < kinds[t->what].count && st == BF_OK; c++)
        st = tell_column(t, d, kinds[t->what].columns[c], c, n);
    return st;
}

/* Strings of random bytes, from 0 to LONGEST. */
static void fill_strings(table *t) {
    static uint64_t seeds[ROWS];
    data_fill_keys(DATA_PLAIN, BF_U64, seeds, ROWS, DIFFERENT);
    for (int64_t i = 0; i < ROWS; i++) {
        const int64_t size = (int64_t)(seeds[i] % (LONGEST + 1));
        char *to = t->bytes + t->offsets[i];
        for (int64_t k = 0; k < size; k++) to[k] = (char)(seeds[i] >> k % 8 * 8);
        t->offsets[i + 1] = t->offsets[i] + size;
    }
}

static void fill_table(table *t) {
    fill_strings(t);
    data_fill_keys(DATA_SPECIAL, BF_F64, t->f64, ROWS, DIFFERENT);
    data_fill_keys(DATA_PLAIN, BF_I32, t->i32, ROWS, 3);
    data_fill(DATA_PLAIN, BF_U8, t->valid, sizeof t->valid);
    for (size_t i = 0; i < sizeof t->valid; i++) t->valid[i] |= 0x7f; /* a NULL in 16 rows */
}

static bool row(task *t, int i) {
    if (i == KINDS) return false;
    if (i == 0) fill_table(t->room);
    t->op = "keys";
    t->data = kinds[i].name;
    t->what = i;
    t->a = bf_array_of(BF_I64, NULL, ROWS); /* how many rows there are */
    return true;
}

const work work_dictionary = {
    .row = row,
    .room = sizeof(table),
    .create = create,
    .absorb = absorb,
    .merge = merge,
    .tell = tell,
};
