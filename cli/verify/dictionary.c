/* verify: keys of strings and numbers, some of them NULL. Compares dictionaries by a checksum of
 * the numbers of all rows, of the order of the keys, and of the keys. */
#include "verify/data.h"
#include "verify/verify.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 20001, DIFFERENT = 5000, LONGEST = 23, PIECES = 3, COLUMNS = 2 };

/* The keys: strings, numbers, or both. */
static const struct {
    const char *name;
    int count;
    bf_dtype columns[COLUMNS];
} kinds[] = {{"strings", 1, {BF_NONE}}, {"numbers", 1, {BF_F64}}, {"both", 2, {BF_NONE, BF_I32}}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* The rows of all kinds. */
typedef struct table {
    int kind;
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
    if (!text) p->numbers = verify_slice(&p->numbers, first, last);
    p->column = (bf_column){sizeof p->column, text ? &p->strings : NULL, text ? NULL : &p->numbers,
                            t->valid, first};
}

static bf_status encode(bf_dictionary *d, const table *t, int64_t first, int64_t last,
                        int64_t *numbers) {
    part parts[COLUMNS];
    const bf_column *columns[COLUMNS];
    const bf_array to = bf_array_of(BF_I64, numbers + first, last - first);
    for (int c = 0; c < kinds[t->kind].count; c++) {
        take_rows(t, kinds[t->kind].columns[c], first, last, &parts[c]);
        columns[c] = &parts[c].column;
    }
    return bf_dictionary_encode(d, columns, &to);
}

static bf_status tell_column(const bf_dictionary *d, bf_dtype dtype, int column, int64_t n,
                             uint64_t *sum) {
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
    *sum = verify_checksum(*sum, values, (size_t)to.shape[0] * data_size(to.dtype));
    *sum = verify_checksum(*sum, valid, (size_t)n);
    if (text) *sum = verify_checksum(*sum, bytes, (size_t)values[n]);
    return BF_OK;
}

static outcome tell(bf_dictionary *d, const table *t, const int64_t *numbers) {
    static int64_t ranks[ROWS];
    const int64_t n = bf_dictionary_size(d);
    const bf_array order = bf_array_of(BF_I64, ranks, n);
    outcome r = {.status = bf_dictionary_ranks(d, &order), .value.dtype = BF_U64};
    uint64_t sum = verify_checksum(0, numbers, ROWS * sizeof *numbers);
    sum = verify_checksum(sum, ranks, (size_t)n * sizeof *ranks);
    for (int c = 0; c < kinds[t->kind].count && r.status == BF_OK; c++)
        r.status = tell_column(d, kinds[t->kind].columns[c], c, n, &sum);
    r.value.as.u64 = sum;
    return r;
}

static bf_status create(bf_context *context, const table *t, bf_dictionary **d) {
    return bf_dictionary_create(context, kinds[t->kind].count, kinds[t->kind].columns, d);
}

static outcome in_one_pass(bf_context *context, const subject *s) {
    static int64_t numbers[ROWS];
    const table *t = s->about;
    bf_dictionary *d = NULL;
    outcome r = {.status = create(context, t, &d)};
    if (r.status == BF_OK) r.status = encode(d, t, 0, ROWS, numbers);
    if (r.status == BF_OK) r = tell(d, t, numbers);
    bf_dictionary_destroy(d);
    return r;
}

/* Encodes rows [first, last) by a dictionary of their own, which is merged into `into`. */
static bf_status encode_apart(bf_context *context, bf_dictionary *into, const table *t,
                              int64_t first, int64_t last, int64_t *numbers) {
    static int64_t there[ROWS];
    bf_dictionary *d = NULL;
    bf_status st = create(context, t, &d);
    if (st == BF_OK) st = encode(d, t, first, last, numbers);
    const bf_array renumbered = bf_array_of(BF_I64, there, st == BF_OK ? bf_dictionary_size(d) : 0);
    if (st == BF_OK) st = bf_dictionary_merge(into, d, &renumbered);
    for (int64_t i = first; i < last && st == BF_OK; i++) numbers[i] = there[numbers[i]];
    bf_dictionary_destroy(d);
    return st;
}

static outcome in_parts(bf_context *context, const subject *s) {
    static int64_t numbers[ROWS];
    const int64_t cuts[] = {0, ROWS / 7, ROWS - ROWS / 3, ROWS};
    const table *t = s->about;
    bf_dictionary *d = NULL;
    outcome r = {.status = create(context, t, &d)};
    for (int i = 0; i < PIECES && r.status == BF_OK; i++)
        r.status = encode_apart(context, d, t, cuts[i], cuts[i + 1], numbers);
    if (r.status == BF_OK) r = tell(d, t, numbers);
    bf_dictionary_destroy(d);
    return r;
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

int verify_dictionaries(const machine *m, verdict *v) {
    table *t = calloc(1, sizeof *t);
    if (!t) return fail_status(BF_E_MEMORY, NULL, NULL);
    fill_strings(t);
    data_fill_keys(DATA_SPECIAL, BF_F64, t->f64, ROWS, DIFFERENT);
    data_fill_keys(DATA_PLAIN, BF_I32, t->i32, ROWS, 3);
    data_fill(DATA_PLAIN, BF_U8, t->valid, sizeof t->valid);
    for (size_t i = 0; i < sizeof t->valid; i++) t->valid[i] |= 0x7f; /* a NULL in 16 rows */
    const subject s = {
        .op = "keys", .a = {.dtype = BF_I64}, .about = t, .whole = in_one_pass, .parts = in_parts};
    int code = EXIT_DONE;
    for (t->kind = 0; t->kind < KINDS && code == EXIT_DONE; t->kind++) {
        subject of_kind = s;
        of_kind.data = kinds[t->kind].name;
        code = verify_row(m, &of_kind, v);
    }
    free(t);
    return code;
}
