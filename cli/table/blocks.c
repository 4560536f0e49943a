#include "table/blocks.h"

#include "memory/key.h"
#include "memory/packed.h"
#include "memory/records.h"
#include "runtime/progress.h"
#include "sheet/part.h"
#include "table/pairs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Bytes of a block of a pile, at least; and parts of the memory for results: all buffers of piles,
 * a block of rows that are joined, the rows to show, strings that are shown at once. */
enum { PILES_LEAST = 8, BLOCK_LEAST = 1 << 14, PILED = 8, JOINED = 12, SORTED = 4, SHOWN = 16 };

/* The first column of packed rows is the row's number. */
enum { ROW_NUMBER, COLUMN };

/* A column of the rows at hand. */
typedef struct loaded {
    buffer numbers, offsets, bytes, valid;
    rows_view view; /* strings are there even if the column is of numbers */
} loaded;

typedef struct block_side {
    piles piles;
    packed packed;
    packed_column *columns;
    packed_rows rows; /* at hand */
    int64_t before;   /* rows of the pile before these */
    buffer numbers;   /* of rows */
    loaded *loaded;
    int count;
    int keys[BF_KEY_COLUMNS_MAX]; /* the columns of keys, */
    int *shown;                   /* and of each shown column; -1: none */
} block_side;

typedef struct blocks {
    join_tables *tables;
    const options *options;
    bf_context *context;
    uint64_t seed;
    block_side sides[SIDES];
    buffer met_a,
        met_b; /* a byte for each row of the block of A; a bit for each of the pile of B */
    records shown;
    part_text row;
} blocks;

static int no_memory(void) { return fail_status(BF_E_MEMORY, NULL, NULL); }

static int64_t share_of(const blocks *x, int share) { return x->options->memory.results / share; }

/* ---- rows on piles --------------------------------------------------------------------------- */

static void close_side(block_side *s) {
    piles_close(&s->piles);
    packed_close(&s->packed);
    packed_rows_close(&s->rows);
    for (int k = 0; s->loaded && k < s->count; k++) {
        buffer_free(&s->loaded[k].numbers);
        buffer_free(&s->loaded[k].offsets);
        buffer_free(&s->loaded[k].bytes);
        buffer_free(&s->loaded[k].valid);
    }
    free(s->loaded);
    free(s->columns);
    free(s->shown);
    buffer_free(&s->numbers);
    *s = (block_side){.piles.fd = -1};
}

/* Finds where keys and shown columns are. */
static void find_columns(blocks *x, int side) {
    const join_choice *c = &x->tables->choice;
    block_side *s = &x->sides[side];
    for (int k = 0; k < c->keys; k++)
        s->keys[k] = join_tables_column(x->tables, side, c->key_fields[side][k]);
    for (int i = 0; i < c->count; i++) {
        const int field = c->shown[i].fields[side];
        s->shown[i] = field < 0 ? -1 : join_tables_column(x->tables, side, field);
    }
}

/* Prepares for the dtypes that a side has now. */
static int open_side(blocks *x, int side) {
    static const int byte = 1;
    block_side *s = &x->sides[side];
    const rows *r = &x->tables->sides[side];
    const int64_t memory = share_of(x, PILED), most = memory / BLOCK_LEAST;
    const int n = most < PILES_LEAST ? PILES_LEAST : most > PILES_MOST ? PILES_MOST : (int)most;
    close_side(s);
    piles_open(&s->piles, n, 1, &byte, memory);
    s->count = r->columns;
    s->columns = calloc((size_t)s->count + 1, sizeof *s->columns);
    s->loaded = calloc((size_t)s->count + 1, sizeof *s->loaded);
    s->shown = malloc((size_t)x->tables->choice.count * sizeof *s->shown + 1);
    if (!s->columns || !s->loaded || !s->shown) return no_memory();
    s->columns[ROW_NUMBER].dtype = BF_I64;
    for (int k = 0; k < s->count; k++)
        s->columns[COLUMN + k] =
            (packed_column){.dtype = rows_dtype(r, k), .strings = rows_has_strings(r, k)};
    find_columns(x, side);
    s->rows = (packed_rows){.of = &s->packed, .piles = &s->piles};
    return packed_open(&s->packed, s->columns, COLUMN + s->count) ? EXIT_DONE : no_memory();
}

/* What numbers of one value have in common, whatever their dtypes. */
static uint64_t bits_of(const packed_column *c, int64_t row) {
    const char *at = (const char *)c->numbers + (size_t)row * bf_dtype_size(c->dtype);
    uint64_t bits;
    bf_value v = {.dtype = c->dtype};
    if (c->dtype == BF_I64 || c->dtype == BF_U64) {
        memcpy(&v.as, at, sizeof v.as.u64);
        const double x = bf_value_f64(&v);
        key_ranks(BF_F64, &x, 1, &bits);
    } else {
        key_ranks(c->dtype, at, 1, &bits);
    }
    return bits;
}

static uint64_t hash_key(uint64_t hash, const packed_column *c, int64_t row) {
    if (c->dtype != BF_NONE) return key_mix(hash, bits_of(c, row));
    return key_mix_string(hash, c->bytes + c->offsets[row],
                          (size_t)(c->offsets[row + 1] - c->offsets[row]));
}

static bool is_null(const packed_column *c, int64_t row) {
    const int64_t bit = c->first + row;
    return c->valid && (c->valid[bit >> 3] >> (bit & 7) & 1) == 0;
}

/* Are rows of this side shown that go with none? */
static bool shows_lonely(const blocks *x, const block_side *s) {
    const enum join_how how = x->options->how;
    if (s == &x->sides[SIDE_B]) return how == HOW_OUTER;
    return how != HOW_INNER && how != HOW_SEMI;
}

/* Rows of equal keys go on piles of one number. A key with a NULL goes with none: such rows may be
 * on any piles, and are spread out. */
static int add_row(blocks *x, block_side *s, int64_t row) {
    const int keys = x->tables->choice.keys;
    uint64_t hash = x->seed;
    bool null = false;
    for (int k = 0; k < keys; k++) null |= is_null(&s->columns[COLUMN + s->keys[k]], row);
    if (null && !shows_lonely(x, s)) return EXIT_DONE;
    if (null)
        hash = key_mix(hash, (uint64_t)((const int64_t *)s->columns[ROW_NUMBER].numbers)[row]);
    for (int k = 0; k < keys && !null; k++)
        hash = hash_key(hash, &s->columns[COLUMN + s->keys[k]], row);
    return packed_add(&s->packed, &s->piles, key_share(hash, s->piles.count), s->columns, row);
}

/* Puts the rows of a chunk on piles; `first` is the number of the first of them. */
static int add_chunk(blocks *x, int side, const rows_chunk *chunk, int64_t first) {
    block_side *s = &x->sides[side];
    const rows *r = &x->tables->sides[side];
    int64_t *numbers = buffer_take(&s->numbers, (size_t)chunk->n * sizeof *numbers);
    if (!numbers) return no_memory();
    for (int64_t i = 0; i < chunk->n; i++) numbers[i] = first + i;
    s->columns[ROW_NUMBER].numbers = numbers;
    for (int k = 0; k < s->count; k++) {
        rows_view v;
        packed_column *c = &s->columns[COLUMN + k];
        rows_look(r, chunk, k, &v);
        c->numbers = v.numbers.data;
        c->offsets = v.strings.offsets;
        c->bytes = v.strings.bytes;
        c->valid = v.column.valid;
        c->first = v.column.first;
    }
    int code = EXIT_DONE;
    for (int64_t i = 0; i < chunk->n && code == EXIT_DONE; i++) code = add_row(x, s, i);
    return code;
}

static int read_side(void *arg, int side) {
    blocks *x = arg;
    rows_chunk chunk = {.n = 1};
    int code = open_side(x, side);
    for (int64_t at = 0; code == EXIT_DONE; at += chunk.n) {
        code = rows_next(&x->tables->sides[side], 0, &chunk);
        if (code != EXIT_DONE || chunk.n == 0) break;
        code = add_chunk(x, side, &chunk, at);
    }
    return code == EXIT_DONE ? piles_end(&x->sides[side].piles) : code;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void begin_pile(block_side *s, int i) {
    s->rows.pile = i;
    s->rows.at = s->rows.n = s->before = 0;
}

static bool load_column(block_side *s, int k) {
    loaded *c = &s->loaded[k];
    const packed_column *kind = &s->columns[COLUMN + k];
    const packed_rows *r = &s->rows;
    rows_view *v = &c->view;
    *v = (rows_view){.column.size = sizeof v->column};
    if (!packed_valid(r, COLUMN + k, &c->valid, &v->column.valid)) return false;
    if (kind->strings && !packed_strings(r, COLUMN + k, &c->offsets, &c->bytes, &v->strings))
        return false;
    if (kind->dtype == BF_NONE) {
        v->column.strings = &v->strings;
        return true;
    }
    if (!packed_numbers(r, COLUMN + k, &c->numbers)) return false;
    v->numbers = bf_array_of(kind->dtype, c->numbers.at, r->n);
    v->column.numbers = &v->numbers;
    return true;
}

/* Takes the next rows of the pile; there may be none. */
static int load_block(const blocks *x, block_side *s) {
    s->before += s->rows.n;
    const int code = packed_read(&s->rows, (size_t)share_of(x, JOINED));
    if (code != EXIT_DONE || s->rows.n == 0) return code;
    bool good = packed_numbers(&s->rows, ROW_NUMBER, &s->numbers);
    for (int k = 0; k < s->count && good; k++) good = load_column(s, k);
    return good ? EXIT_DONE : no_memory();
}

static bool is_last(const block_side *s) { return s->rows.at == s->piles.all[s->rows.pile].rows; }

/* ---- rows to show ---------------------------------------------------------------------------- */

static void put_field(part_text *t, const loaded *c, int64_t row) {
    const int64_t *offsets = c->view.strings.offsets;
    const uint8_t *valid = c->view.column.valid;
    if (valid && !text_has_bit(valid, row))
        part_put_null(t);
    else
        part_put_string(t, c->view.strings.bytes + offsets[row],
                        (size_t)(offsets[row + 1] - offsets[row]));
}

/* The fields of a row of A and of B; -1: none. */
static void make_row(blocks *x, const int64_t pair[SIDES]) {
    const join_choice *c = &x->tables->choice;
    x->row.n = 0;
    for (int i = 0; i < c->count; i++) {
        int s = c->shown[i].first;
        if (x->sides[s].shown[i] < 0 || pair[s] < 0) s = !s;
        const int k = x->sides[s].shown[i];
        if (k < 0 || pair[s] < 0)
            part_put_null(&x->row);
        else
            put_field(&x->row, &x->sides[s].loaded[k], pair[s]);
    }
}

static void put_number(char *to, uint64_t number) {
    for (int i = 0; i < 8; i++) to[i] = (char)(number >> (56 - 8 * i));
}

/* Rows are in the order of A, then of B; those of B alone are last. */
static int show_pair(blocks *x, int64_t a, int64_t b) {
    const int64_t pair[SIDES] = {a, b};
    char key[2 * sizeof(uint64_t)];
    for (int s = 0; s < SIDES; s++) {
        const int64_t *numbers = (const int64_t *)(const void *)x->sides[s].numbers.at;
        put_number(key + 8 * s, pair[s] >= 0 ? (uint64_t)numbers[pair[s]] : UINT64_MAX);
    }
    make_row(x, pair);
    if (x->row.lost) return no_memory();
    return records_add(&x->shown, key, sizeof key, x->row.at, x->row.n);
}

/* ---- joining --------------------------------------------------------------------------------- */

static bool is_met_b(const blocks *x, int64_t row) {
    return text_has_bit((const uint8_t *)x->met_b.at, x->sides[SIDE_B].before + row);
}

static void set_met_b(const blocks *x, int64_t row) {
    const int64_t bit = x->sides[SIDE_B].before + row;
    x->met_b.at[bit / 8] = (char)(x->met_b.at[bit / 8] | 1 << bit % 8);
}

/* Shows what goes with row i of A in the block of B. */
static int join_row(blocks *x, const join_numbers *numbers, const row_lists *lists, int64_t i) {
    const enum join_how how = x->options->how;
    const int64_t number = numbers->of[SIDE_A][i];
    const bool was_met = x->met_a.at[i];
    if (number < 0) return EXIT_DONE;
    const int64_t begin = lists->starts ? lists->starts[number] : number;
    const int64_t end = lists->starts ? lists->starts[number + 1] : number + 1;
    if (begin == end) return EXIT_DONE;
    x->met_a.at[i] = 1;
    if (how == HOW_ANTI) return EXIT_DONE;
    if (how == HOW_SEMI) return was_met ? EXIT_DONE : show_pair(x, i, -1);
    int code = EXIT_DONE;
    for (int64_t k = begin; k < end && code == EXIT_DONE; k++) {
        const int64_t b = lists->starts ? lists->rows[k] : k;
        if (how == HOW_OUTER) set_met_b(x, b);
        code = show_pair(x, i, b);
    }
    return code;
}

/* Joins the blocks at hand. */
static int join_blocks(blocks *x) {
    const int keys = x->tables->choice.keys;
    const int64_t n[SIDES] = {x->sides[SIDE_A].rows.n, x->sides[SIDE_B].rows.n};
    const bf_column *columns[SIDES][BF_KEY_COLUMNS_MAX];
    join_numbers numbers;
    row_lists lists = {NULL, NULL};
    for (int s = 0; s < SIDES; s++)
        for (int k = 0; k < keys; k++)
            columns[s][k] = &x->sides[s].loaded[x->sides[s].keys[k]].view.column;
    int code = join_numbers_make(&numbers, x->context, x->options->files[0], keys, columns, n);
    if (code == EXIT_DONE && !row_lists_make(&lists, &numbers)) code = no_memory();
    for (int64_t i = 0; i < n[SIDE_A] && code == EXIT_DONE; i++)
        code = join_row(x, &numbers, &lists, i);
    row_lists_close(&lists);
    join_numbers_close(&numbers);
    return code;
}

/* Joins the block of A at hand with the pile of B; one that is a single block stays at hand. */
static int join_block(blocks *x, int i) {
    block_side *b = &x->sides[SIDE_B];
    const int64_t n = x->sides[SIDE_A].rows.n;
    const enum join_how how = x->options->how;
    char *met = buffer_take(&x->met_a, (size_t)n);
    if (!met) return no_memory();
    memset(met, 0, (size_t)n);
    const bool stays = b->rows.n > 0 && b->before == 0 && is_last(b);
    int code = stays ? join_blocks(x) : EXIT_DONE;
    if (!stays) begin_pile(b, i);
    bool done = stays;
    while (!done && code == EXIT_DONE && !is_last(b)) {
        code = load_block(x, b);
        if (code == EXIT_DONE) code = join_blocks(x);
        done = (how == HOW_SEMI || how == HOW_ANTI) && !memchr(met, 0, (size_t)n);
    }
    if (how == HOW_INNER || how == HOW_SEMI) return code;
    for (int64_t k = 0; k < n && code == EXIT_DONE; k++)
        if (!met[k]) code = show_pair(x, k, -1);
    return code;
}

/* Shows the rows of B that went with none. */
static int show_rest(blocks *x, int i) {
    block_side *b = &x->sides[SIDE_B];
    int code = EXIT_DONE;
    begin_pile(b, i);
    while (code == EXIT_DONE && !is_last(b)) {
        code = load_block(x, b);
        for (int64_t k = 0; k < b->rows.n && code == EXIT_DONE; k++)
            if (!is_met_b(x, k)) code = show_pair(x, -1, k);
    }
    return code;
}

/* Joins the piles of a number. How many rows B has is known at most, by their bytes. */
static int join_piles(blocks *x, int i) {
    block_side *const a = &x->sides[SIDE_A], *const b = &x->sides[SIDE_B];
    const bool outer = x->options->how == HOW_OUTER;
    const size_t most = outer ? (size_t)b->piles.all[i].rows / b->packed.fixed / 8 + 1 : 0;
    char *met = buffer_take(&x->met_b, most);
    if (!met) return no_memory();
    memset(met, 0, most);
    int code = EXIT_DONE;
    begin_pile(a, i);
    begin_pile(b, i);
    while (code == EXIT_DONE && !is_last(a)) {
        code = load_block(x, a);
        if (code == EXIT_DONE) code = join_block(x, i);
        progress_tick();
    }
    if (code == EXIT_DONE && outer) code = show_rest(x, i);
    piles_empty(&a->piles, i);
    piles_empty(&b->piles, i);
    return code;
}

/* ---- the sheet ------------------------------------------------------------------------------- */

static int put_rows(blocks *x, part *p, FILE *f, double began) {
    const options *o = x->options;
    const sheet_subject subject = {"join", o->files[0], bf_context_device(x->context),
                                   progress_clock() - began};
    const char *row;
    size_t bytes;
    int code = records_end(&x->shown);
    while (code == EXIT_DONE && !ferror(f)) {
        code = records_next(&x->shown, &row, &bytes);
        if (code != EXIT_DONE || !row) break;
        code = part_add(p, f, row, NULL, &subject, o);
    }
    return code == EXIT_DONE ? part_end(p, f, NULL, &subject, o) : code;
}

static int put_sheet(blocks *x, FILE *f, double began) {
    const join_choice *c = &x->tables->choice;
    const char **names = malloc((size_t)c->count * sizeof *names + 1);
    bool *strings = malloc((size_t)c->count + 1);
    part p = {.sheet.count = 0};
    int code = names && strings ? EXIT_DONE : no_memory();
    for (int i = 0; i < c->count && code == EXIT_DONE; i++) {
        names[i] = c->shown[i].name;
        strings[i] = true;
    }
    if (code == EXIT_DONE) code = part_open(&p, names, strings, c->count, share_of(x, SHOWN));
    if (code == EXIT_DONE) code = put_rows(x, &p, f, began);
    part_close(&p);
    free(names);
    free(strings);
    return code;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void close_blocks(blocks *x) {
    for (int s = 0; s < SIDES; s++) close_side(&x->sides[s]);
    buffer_free(&x->met_a);
    buffer_free(&x->met_b);
    records_close(&x->shown);
    free(x->row.at);
    free(x);
}

int join_in_blocks(FILE *f, join_tables *tables, bf_context *context, double began) {
    blocks *x = calloc(1, sizeof *x); /* too large for a small stack */
    if (!x) return no_memory();
    x->tables = tables;
    x->options = tables->options;
    x->context = context;
    for (int s = 0; s < SIDES; s++) x->sides[s].piles.fd = -1;
    if (getrandom(&x->seed, sizeof x->seed, GRND_NONBLOCK) < 0) x->seed = (uintptr_t)x;
    records_open(&x->shown, share_of(x, SORTED), 0);
    int code = join_tables_read(tables, read_side, x);
    const int n = code == EXIT_DONE ? x->sides[SIDE_A].piles.count : 0;
    for (int i = 0; i < n && code == EXIT_DONE; i++) code = join_piles(x, i);
    progress_stop();
    if (code == EXIT_DONE) code = put_sheet(x, f, began);
    close_blocks(x);
    return code;
}
