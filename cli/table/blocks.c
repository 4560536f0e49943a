#include "table/blocks.h"

#include "columns/table.h"
#include "memory/key.h"
#include "memory/packed.h"
#include "memory/records.h"
#include "runtime/progress.h"
#include "sheet/output.h"
#include "sheet/part.h"
#include "table/pairs.h"
#include "table/where.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Parts of the memory for results: all buffers of piles, a block of rows that are joined, the rows
 * to show, strings that are shown at once. */
enum { PILED = 8, JOINED = 12, SORTED = 4, SHOWN = 16 };

/* Piles of so few blocks are not parted again, and others so often, at most; keys of B that are
 * remembered. */
enum { BLOCKS_FEW = 4, LEVELS = 8, SEEN = 1 << 12 };

enum { ASKED = 1 << 12 /* pairs that the condition is asked of at a time */ };

/* The first column of packed rows is the row's number. */
enum { ROW_NUMBER, COLUMN };

/* A column of the rows at hand. */
typedef struct loaded {
    column_memory memory;
    rows_view view; /* strings are there even if the column is of numbers */
} loaded;

typedef struct block_side {
    piles piles[LEVELS]; /* each level's: those of a pile of the level before */
    packed packed;
    packed_column *columns;
    packed_rows rows; /* at hand */
    int64_t before;   /* rows of the pile before these */
    buffer numbers;   /* the numbers of rows */
    loaded *loaded;
    int count;
    int keys[BF_KEY_COLUMNS_MAX]; /* the columns of keys */
    units_form forms[BF_KEY_COLUMNS_MAX];
    int *shown; /* the number of each shown column; -1: none */
} block_side;

typedef struct blocks {
    join_tables *tables;
    const options *options;
    bf_context *context;
    uint64_t seed;
    block_side sides[SIDES];
    struct {
        uint64_t hash;
        int64_t row;   /* -1: none */
    } seen[SEEN];      /* keys of B among the rows at hand */
    int from;          /* the side whose blocks each meet all of the other's pile */
    enum join_how how; /* how rows of that side are joined */
    buffer met;        /* a byte for each row of its block: it has met one */
    records shown;
    part_text row;
    join_computed where;
    int64_t asked[SIDES][ASKED]; /* pairs that wait for the condition */
    int64_t asked_count;         /* how many pairs wait */
} blocks;

static int64_t share_of(const blocks *x, int share) { return x->options->memory.results / share; }

/* ---- rows on piles --------------------------------------------------------------------------- */

static void close_side(block_side *s) {
    for (int level = 0; level < LEVELS; level++) piles_close(&s->piles[level]);
    packed_close(&s->packed);
    packed_rows_close(&s->rows);
    for (int k = 0; s->loaded && k < s->count; k++) column_memory_free(&s->loaded[k].memory);
    free(s->loaded);
    free(s->columns);
    free(s->shown);
    buffer_free(&s->numbers);
    *s = (block_side){.count = 0};
}

/* Finds where keys and shown columns are: keys that are expressions are behind all columns. */
static void find_columns(blocks *x, int side) {
    const join_choice *c = &x->tables->choice;
    block_side *s = &x->sides[side];
    int derived = x->tables->sides[side].columns;
    for (int k = 0; k < c->keys; k++) {
        const int field = c->key[side][k].field;
        s->forms[k] = join_tables_form(x->tables, side, k);
        s->keys[k] = field < 0 ? derived++ : join_tables_column(x->tables, side, field, false);
        if (field < 0)
            s->columns[COLUMN + s->keys[k]] = (packed_column){
                .dtype = s->forms[k].dtype, .strings = s->forms[k].dtype == BF_NONE};
    }
    for (int i = 0; i < c->count; i++) {
        const int field = c->shown[i].fields[side];
        s->shown[i] = field < 0 ? -1 : join_tables_column(x->tables, side, field, false);
    }
}

static void open_piles(const blocks *x, piles *p) {
    static const int byte = 1;
    piles_open(p, 0, 1, &byte, share_of(x, PILED));
}

/* Prepares for the dtypes that a side has now. */
static int open_side(blocks *x, int side) {
    block_side *s = &x->sides[side];
    const rows *r = &x->tables->sides[side];
    close_side(s);
    open_piles(x, &s->piles[0]);
    s->count = r->columns + join_tables_derived(x->tables, side);
    s->columns = calloc((size_t)s->count + 1, sizeof *s->columns);
    s->loaded = calloc((size_t)s->count + 1, sizeof *s->loaded);
    s->shown = malloc((size_t)x->tables->choice.count * sizeof *s->shown + 1);
    if (!s->columns || !s->loaded || !s->shown) return fail_memory(NULL);
    s->columns[ROW_NUMBER].dtype = BF_I64;
    for (int k = 0; k < r->columns; k++)
        s->columns[COLUMN + k] =
            (packed_column){.dtype = rows_dtype(r, k), .strings = rows_has_strings(r, k)};
    find_columns(x, side);
    s->rows = (packed_rows){.of = &s->packed};
    return packed_open(&s->packed, s->columns, COLUMN + s->count) ? EXIT_DONE : fail_memory(NULL);
}

/* What numbers of one value have in common, whatever their dtypes. */
static uint64_t bits_of(const packed_column *c, int scale, int64_t row) {
    const char *at = (const char *)c->numbers + (size_t)row * bf_dtype_size(c->dtype);
    const bf_value v = output_element(c->dtype, scale, at, 0);
    const double x = bf_value_f64(&v);
    uint64_t bits;
    key_ranks(BF_F64, &x, 1, &bits);
    return bits;
}

static uint64_t hash_key(uint64_t hash, const packed_column *c, int scale, int64_t row) {
    if (c->dtype != BF_NONE) return key_mix(hash, bits_of(c, scale, row));
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

static bool same_string(const packed_column *c, int64_t row, int64_t other) {
    const int64_t *const at = c->offsets, bytes = at[row + 1] - at[row];
    return bytes == at[other + 1] - at[other] &&
           memcmp(c->bytes + at[row], c->bytes + at[other], (size_t)bytes) == 0;
}

static bool same_key(const block_side *s, int keys, int64_t row, int64_t other) {
    bool same = true;
    for (int k = 0; k < keys && same; k++) {
        const packed_column *c = &s->columns[COLUMN + s->keys[k]];
        const size_t bytes = c->dtype == BF_NONE ? 0 : bf_dtype_size(c->dtype);
        const char *numbers = c->numbers;
        if (bytes > 0)
            same =
                memcmp(numbers + (size_t)row * bytes, numbers + (size_t)other * bytes, bytes) == 0;
        else
            same = same_string(c, row, other);
    }
    return same;
}

/* A semi or an anti join asks of B only if there is a row of a key. */
static bool needs_one(const blocks *x, const block_side *s) {
    const enum join_how how = x->options->how;
    return s == &x->sides[SIDE_B] && (how == HOW_SEMI || how == HOW_ANTI);
}

/* Whether a row is not needed, because another of the rows at hand has its key. So a key of many
 * rows has few on its pile. */
static bool is_spare(blocks *x, const block_side *s, uint64_t hash, int64_t row) {
    if (!needs_one(x, s)) return false;
    const int at = key_share(hash, SEEN);
    const int64_t other = x->seen[at].row;
    if (other >= 0 && x->seen[at].hash == hash && same_key(s, x->tables->choice.keys, row, other))
        return true;
    x->seen[at].hash = hash;
    x->seen[at].row = row;
    return false;
}

/* Finds the pile of a row; false: it is not needed. Rows of equal keys go on piles of one number. A
 * key with a NULL goes with none: such rows may be on any piles, and are spread out. */
static bool find_pile(blocks *x, const block_side *s, int level, int64_t row, uint8_t *to) {
    const int keys = x->tables->choice.keys;
    uint64_t hash = key_mix(x->seed, (uint64_t)level);
    bool null = false;
    for (int k = 0; k < keys; k++) null |= is_null(&s->columns[COLUMN + s->keys[k]], row);
    if (null && !shows_lonely(x, s)) return false;
    if (null)
        hash = key_mix(hash, (uint64_t)((const int64_t *)s->columns[ROW_NUMBER].numbers)[row]);
    for (int k = 0; k < keys && !null; k++)
        hash = hash_key(hash, &s->columns[COLUMN + s->keys[k]], s->forms[k].scale, row);
    *to = (uint8_t)key_share(hash, s->piles[level].count);
    return null || !is_spare(x, s, hash, row);
}

static int add_rows(blocks *x, block_side *s, int level, int64_t n) {
    uint8_t which[PACKED_MOST];
    int64_t places[PACKED_MOST], some = 0;
    int code = EXIT_DONE;
    for (int i = 0; i < SEEN && needs_one(x, s); i++) x->seen[i].row = -1;
    for (int64_t i = 0; i < n && code == EXIT_DONE; i++) {
        places[some] = i;
        some += find_pile(x, s, level, i, &which[some]);
        if (some < PACKED_MOST && i + 1 < n) continue;
        code = packed_add(&s->packed, &s->piles[level], which, s->columns, places, some);
        some = 0;
    }
    return code;
}

static void show_column(packed_column *c, const rows_view *v) {
    c->numbers = v->numbers.data;
    c->offsets = v->strings.offsets;
    c->bytes = v->strings.bytes;
    c->valid = v->column.valid;
    c->first = v->column.first;
}

/* Computes the keys that are expressions. ROWS_RESETTLED: some have another form from now on. */
static int add_derived(blocks *x, int side, const rows_chunk *chunk) {
    block_side *s = &x->sides[side];
    const int columns = x->tables->sides[side].columns;
    int code = join_tables_compute(x->tables, side, chunk, (const int64_t *)(void *)s->numbers.at);
    for (int k = 0; k < x->tables->choice.keys && code == EXIT_DONE; k++) {
        if (s->keys[k] < columns) continue;
        show_column(&s->columns[COLUMN + s->keys[k]], &x->tables->derived[side][k].view);
        if (!units_are_same(s->forms[k], join_tables_form(x->tables, side, k)))
            code = ROWS_RESETTLED;
    }
    return code;
}

/* Puts the rows of a chunk on piles; `first` is the number of the first of them. */
static int add_chunk(blocks *x, int side, const rows_chunk *chunk, int64_t first) {
    block_side *s = &x->sides[side];
    const rows *r = &x->tables->sides[side];
    int64_t *numbers = buffer_take(&s->numbers, (size_t)chunk->n * sizeof *numbers);
    if (!numbers) return fail_memory(NULL);
    for (int64_t i = 0; i < chunk->n; i++) numbers[i] = first + i;
    s->columns[ROW_NUMBER].numbers = numbers;
    for (int k = 0; k < r->columns; k++) {
        rows_view v;
        rows_look(r, chunk, k, &v);
        show_column(&s->columns[COLUMN + k], &v);
    }
    const int code = add_derived(x, side, chunk);
    if (code != EXIT_DONE) return code;
    return add_rows(x, s, 0, chunk->n);
}

static int read_side(void *arg, int side) {
    blocks *x = arg;
    rows_chunk chunk = {.n = 1};
    int code = join_tables_parse(x->tables, side);
    if (code == EXIT_DONE) code = open_side(x, side);
    for (int64_t at = 0; code == EXIT_DONE; at += chunk.n) {
        code = rows_next(&x->tables->sides[side], 0, &chunk);
        if (code != EXIT_DONE || chunk.n == 0) break;
        code = add_chunk(x, side, &chunk, at);
    }
    return code == EXIT_DONE ? piles_end(&x->sides[side].piles[0]) : code;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void begin_pile(block_side *s, int level, int i) {
    s->rows.piles = &s->piles[level];
    s->rows.pile = i;
    s->rows.at = s->rows.n = s->before = 0;
}

/* Takes the next rows of the pile; there may be none. */
static int load_block(const blocks *x, block_side *s) {
    s->before += s->rows.n;
    const int code = packed_read(&s->rows, (size_t)share_of(x, JOINED));
    if (code != EXIT_DONE || s->rows.n == 0) return code;
    bool good = packed_numbers(&s->rows, ROW_NUMBER, &s->numbers);
    for (int k = 0; k < s->count && good; k++) {
        const packed_column *kind = &s->columns[COLUMN + k];
        good = table_unpack(&s->rows, COLUMN + k, kind->dtype, kind->strings, &s->loaded[k].memory,
                            &s->loaded[k].view);
    }
    return good ? EXIT_DONE : fail_memory(NULL);
}

/* The bytes of a pile. */
static int64_t size_of(const block_side *s, int level, int i) {
    return s->piles[level].all[i].rows;
}

static bool is_last(const block_side *s) {
    return s->rows.at == s->rows.piles->all[s->rows.pile].rows;
}

/* Puts the rows of a pile on those of the next level. */
static int part_pile(blocks *x, block_side *s, int level, int i) {
    piles *const to = &s->piles[level + 1];
    open_piles(x, to);
    begin_pile(s, level, i);
    int code = EXIT_DONE;
    while (code == EXIT_DONE && !is_last(s)) {
        code = load_block(x, s);
        s->columns[ROW_NUMBER].numbers = s->numbers.at;
        for (int k = 0; k < s->count; k++) {
            const rows_view *v = &s->loaded[k].view;
            packed_column *c = &s->columns[COLUMN + k];
            c->numbers = s->loaded[k].memory.numbers.at;
            c->offsets = v->strings.offsets;
            c->bytes = v->strings.bytes;
            c->valid = v->column.valid;
            c->first = 0;
        }
        if (code == EXIT_DONE) code = add_rows(x, s, level + 1, s->rows.n);
        progress_tick();
    }
    piles_empty(&s->piles[level], i);
    return code == EXIT_DONE ? piles_end(to) : code;
}

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
    if (x->row.lost) return fail_memory(NULL);
    return records_add(&x->shown, key, sizeof key, x->row.at, x->row.n);
}

static const rows_view *look_at(void *arg, int side, int column) {
    const blocks *x = arg;
    return &x->sides[side].loaded[column].view;
}

/* Shows the pairs that wait, if they meet the condition. */
static int show_asked(blocks *x) {
    computed_from from = {.look = look_at, .arg = x};
    int64_t *const of[SIDES] = {x->asked[SIDE_A], x->asked[SIDE_B]};
    if (x->asked_count == 0) return EXIT_DONE;
    for (int s = 0; s < SIDES; s++)
        from.numbers[s] = (const int64_t *)(const void *)x->sides[s].numbers.at;
    int code = join_where_keep(&x->where, &from, of, &x->asked_count);
    for (int64_t i = 0; i < x->asked_count && code == EXIT_DONE; i++)
        code = show_pair(x, of[SIDE_A][i], of[SIDE_B][i]);
    x->asked_count = 0;
    return code;
}

static int ask_pair(blocks *x, int64_t a, int64_t b) {
    if (!x->options->where) return show_pair(x, a, b);
    x->asked[SIDE_A][x->asked_count] = a;
    x->asked[SIDE_B][x->asked_count++] = b;
    return x->asked_count == ASKED ? show_asked(x) : EXIT_DONE;
}

/* ---- joining --------------------------------------------------------------------------------- */

/* Shows a row of the side at hand, with one of the other; -1: with none. */
static int show_row(blocks *x, int64_t row, int64_t other) {
    return x->from == SIDE_A ? ask_pair(x, row, other) : ask_pair(x, other, row);
}

/* Shows what goes with row i in the other side's block. */
static int join_row(blocks *x, const join_numbers *numbers, const row_lists *lists, int64_t i) {
    const int64_t number = numbers->of[0][i];
    const bool was_met = x->met.at[i];
    if (number < 0) return EXIT_DONE;
    const int64_t begin = lists->starts ? lists->starts[number] : number;
    const int64_t end = lists->starts ? lists->starts[number + 1] : number + 1;
    if (begin == end) return EXIT_DONE;
    x->met.at[i] = 1;
    if (x->how == HOW_ANTI) return EXIT_DONE;
    if (x->how == HOW_SEMI) return was_met ? EXIT_DONE : show_row(x, i, -1);
    int code = EXIT_DONE;
    for (int64_t k = begin; k < end && code == EXIT_DONE; k++)
        code = show_row(x, i, lists->starts ? lists->rows[k] : k);
    return code;
}

/* Joins the blocks at hand. */
static int join_blocks(blocks *x) {
    const int keys = x->tables->choice.keys;
    const block_side *const sides[SIDES] = {&x->sides[x->from], &x->sides[!x->from]};
    const int64_t n[SIDES] = {sides[0]->rows.n, sides[1]->rows.n};
    join_columns columns = {.keys = keys};
    join_numbers numbers;
    row_lists lists = {NULL, NULL};
    for (int s = 0; s < SIDES; s++)
        for (int k = 0; k < keys; k++) {
            columns.of[s][k] = &sides[s]->loaded[sides[s]->keys[k]].view.column;
            columns.scales[s][k] = sides[s]->forms[k].scale;
        }
    int code = join_numbers_make(&numbers, x->context, x->options->files[0], &columns, n);
    if (code == EXIT_DONE && !row_lists_make(&lists, &numbers)) code = fail_memory(NULL);
    for (int64_t i = 0; i < n[0] && code == EXIT_DONE; i++) code = join_row(x, &numbers, &lists, i);
    if (code == EXIT_DONE) code = show_asked(x); /* these blocks' pairs */
    row_lists_close(&lists);
    join_numbers_close(&numbers);
    return code;
}

/* Joins the block at hand with the other side's pile; one that is a single block stays at hand. */
static int join_block(blocks *x, int level, int i) {
    block_side *other = &x->sides[!x->from];
    const int64_t n = x->sides[x->from].rows.n;
    char *met = buffer_take(&x->met, (size_t)n);
    if (!met) return fail_memory(NULL);
    memset(met, 0, (size_t)n);
    const bool stays = other->rows.n > 0 && other->before == 0 && is_last(other);
    int code = stays ? join_blocks(x) : EXIT_DONE;
    if (!stays) begin_pile(other, level, i);
    bool done = stays;
    while (!done && code == EXIT_DONE && !is_last(other)) {
        code = load_block(x, other);
        if (code == EXIT_DONE) code = join_blocks(x);
        done = (x->how == HOW_SEMI || x->how == HOW_ANTI) && !memchr(met, 0, (size_t)n);
    }
    if (x->how == HOW_INNER || x->how == HOW_SEMI) return code;
    for (int64_t k = 0; k < n && code == EXIT_DONE; k++)
        if (!met[k]) code = show_row(x, k, -1);
    return code == EXIT_DONE ? show_asked(x) : code;
}

/* Joins the piles of a number, block by block. */
static int join_from(blocks *x, int level, int i, int from, enum join_how how) {
    block_side *s = &x->sides[from];
    int code = EXIT_DONE;
    x->from = from;
    x->how = how;
    for (int side = 0; side < SIDES; side++) begin_pile(&x->sides[side], level, i);
    while (code == EXIT_DONE && !is_last(s)) {
        code = load_block(x, s);
        if (code == EXIT_DONE) code = join_block(x, level, i);
        progress_tick();
    }
    return code;
}

/* The rows of B that went with none are those of another join: so nothing is kept of all rows. */
static int join_loaded(blocks *x, int level, int i) {
    const enum join_how how = x->options->how;
    int code = join_from(x, level, i, SIDE_A, how == HOW_OUTER ? HOW_LEFT : how);
    if (code == EXIT_DONE && how == HOW_OUTER) code = join_from(x, level, i, SIDE_B, HOW_ANTI);
    for (int s = 0; s < SIDES; s++) piles_empty(&x->sides[s].piles[level], i);
    return code;
}

/* Joins the piles of a number. Those of many blocks are parted again, for each block of one is
 * joined with each of the other; but not if that no longer halves the pairs: then a key is frequent
 * on both sides, and most pairs are shown. pairs: of the bytes of the piles that these were parted
 * of. */
static int join_piles(blocks *x, int level, int i, double pairs) {
    const int64_t a = size_of(&x->sides[SIDE_A], level, i),
                  b = size_of(&x->sides[SIDE_B], level, i);
    const int64_t few = BLOCKS_FEW * share_of(x, JOINED);
    const double now = (double)a * (double)b;
    if (a <= few || b <= few || now > pairs / 2 || level + 1 == LEVELS)
        return join_loaded(x, level, i);
    int code = EXIT_DONE;
    for (int s = 0; s < SIDES && code == EXIT_DONE; s++)
        code = part_pile(x, &x->sides[s], level, i);
    const int n = x->sides[SIDE_A].piles[level + 1].count;
    for (int k = 0; k < n && code == EXIT_DONE; k++) code = join_piles(x, level + 1, k, now);
    for (int s = 0; s < SIDES; s++) piles_close(&x->sides[s].piles[level + 1]);
    return code;
}

/* ---- the sheet ------------------------------------------------------------------------------- */

static int put_sheet(blocks *x, FILE *f) {
    const join_choice *c = &x->tables->choice;
    const char **names = malloc((size_t)c->count * sizeof *names + 1);
    bool *strings = malloc((size_t)c->count + 1);
    part p = {.sheet.count = 0};
    int code = names && strings ? EXIT_DONE : fail_memory(NULL);
    for (int i = 0; i < c->count && code == EXIT_DONE; i++) {
        names[i] = c->shown[i].name;
        strings[i] = true;
    }
    if (code == EXIT_DONE) code = part_open(&p, names, strings, c->count, share_of(x, SHOWN));
    for (int i = 0; i < c->count && code == EXIT_DONE; i++)
        p.columns[i].typed = join_tables_typed(x->tables);
    if (code == EXIT_DONE)
        code = part_put_records(&p, f, &x->shown, 0, NULL, x->options->files[0], x->options);
    part_close(&p);
    free(names);
    free(strings);
    return code;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void close_blocks(blocks *x) {
    for (int s = 0; s < SIDES; s++) close_side(&x->sides[s]);
    buffer_free(&x->met);
    records_close(&x->shown);
    join_computed_close(&x->where);
    free(x->row.at);
    free(x);
}

int join_in_blocks(FILE *f, join_tables *tables, bf_context *context) {
    blocks *x = calloc(1, sizeof *x); /* too large for a small stack */
    if (!x) return fail_memory(NULL);
    x->tables = tables;
    x->options = tables->options;
    x->context = context;
    if (getrandom(&x->seed, sizeof x->seed, GRND_NONBLOCK) < 0) x->seed = (uintptr_t)x;
    records_open(&x->shown, share_of(x, SORTED), 0, 1);
    int code = join_tables_read(tables, read_side, x);
    if (code == EXIT_DONE) code = join_where_open(&x->where, tables);
    const int n = code == EXIT_DONE ? x->sides[SIDE_A].piles[0].count : 0;
    for (int i = 0; i < n && code == EXIT_DONE; i++) code = join_piles(x, 0, i, INFINITY);
    progress_stop();
    if (code == EXIT_DONE) code = put_sheet(x, f);
    close_blocks(x);
    return code;
}
