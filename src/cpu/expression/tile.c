/* One tile: the steps of a program, in turn. */
#include "cpu/expression/expression.h"

#include "rules/map/map.h"

/* Bytes that say which elements are not NULL. */
typedef uint8_t valid_tile[BF_TILE];

/* A worker's room. The tiles are in turn: constants, registers, columns that are not contiguous. If
 * a column may have NULLs, valid_tiles follow: of registers, of columns, of the result. */
struct bf_tiles {
    uint64_t ready;
    const bf_expression_job *job;
    const bf_isa *isa;
    bf_map_worker map;
    bf_expression_room room;
    bf_i128 harmless[3][BF_TILE]; /* inputs that cannot fail */
    valid_tile needed, chosen;
    const void *column[BF_EXPRESSION_COLUMNS];
    valid_tile *valid; /* NULL: no column may have NULLs */
    /* These belong to this tile; NULL: none is NULL. */
    const uint8_t *column_valid[BF_EXPRESSION_COLUMNS];
    const uint8_t *register_valid[BF_EXPRESSION_REGISTERS], *result_valid;
    int64_t first;     /* its first element */
    regex_t *patterns; /* the program's; NULL: there are none */
    bf_arena arena;
    bool lack;                    /* there was no memory for strings */
    size_t width;                 /* bytes of an element that a tile has room for */
    _Alignas(64) uint64_t tile[]; /* vectors of them cross no line of the cache */
};

static size_t width_of(const bf_expression_program *p) {
    return p->wide || p->spans ? sizeof(bf_i128) : sizeof(uint64_t);
}

static void *tile_at(const bf_tiles *t, size_t i) {
    return (char *)(uintptr_t)t->tile + i * BF_TILE * t->width;
}

/* Strings have no tiles. */
static bool is_contiguous(const bf_expression_column *x) {
    return x->offsets != NULL || (x->numbers.ndim == 1 && x->numbers.strides[0] == 1);
}

static size_t tiles_of(const bf_expression_job *job) {
    const bf_expression_program *p = job->program;
    int tiles = p->constants + p->registers;
    for (int c = 0; c < p->columns; c++) tiles += !is_contiguous(&job->columns[c]);
    return (size_t)tiles;
}

static bool may_be_null(const bf_expression_job *job) {
    bool some = job->program->nulls;
    for (int c = 0; c < job->program->columns; c++) some |= job->columns[c].valid != NULL;
    return some;
}

size_t bf_tiles_bytes(const bf_expression_job *job) {
    size_t valid = (size_t)job->program->registers + (size_t)job->program->columns + 1;
    size_t bytes = sizeof(bf_tiles) + tiles_of(job) * BF_TILE * width_of(job->program);
    return may_be_null(job) ? bytes + valid * sizeof(valid_tile) : bytes;
}

static bf_i128 wide_of(const bf_expression_constant *x) {
    return (bf_i128)((bf_u128)x->high << 64 | x->bits);
}

static void store_element(void *tile, int64_t i, bf_dtype dtype, bf_i128 x) {
    const int bytes = bf_number_bytes(dtype);
    if (dtype == BF_I128)
        bf_store_i128((char *)tile + i * bytes, x);
    else
        bf_store_bits((char *)tile + i * bytes, bytes, (uint64_t)x);
}

static void compile_patterns(bf_tiles *t) {
    const bf_expression_program *p = t->job->program;
    char why[BF_PATTERN_WHY];
    int made = 0;
    t->patterns = bf_alloc((size_t)p->patterns * sizeof *t->patterns);
    for (int i = 0; i < p->steps && t->patterns != NULL && !t->lack; i++) {
        if (p->step[i].op != BF_EXPRESSION_MATCH) continue;
        const char *text = p->bytes + p->string[p->step[i].in[1].number].begin;
        t->lack = !bf_pattern_compile(&t->patterns[made], text, why);
        made += !t->lack;
    }
    if (t->patterns != NULL && !t->lack) return;
    while (made > 0) regfree(&t->patterns[--made]);
    bf_free(t->patterns);
    t->patterns = NULL;
    t->lack = true;
}

void bf_tiles_free(bf_tiles *t) {
    for (int i = 0; t->patterns != NULL && i < t->job->program->patterns; i++)
        regfree(&t->patterns[i]);
    bf_free(t->patterns);
    bf_arena_free(&t->arena);
}

bool bf_tiles_lack_memory(const bf_tiles *t) { return t->lack; }

void bf_tiles_prepare(bf_tiles *t, const bf_expression_job *job, const bf_isa *isa) {
    const bf_expression_program *p = job->program;
    t->ready = 1;
    t->job = job;
    t->isa = isa;
    t->width = width_of(p);
    t->valid = may_be_null(job) ? tile_at(t, tiles_of(job)) : NULL;
    memset(t->column_valid, 0, sizeof t->column_valid);
    t->patterns = NULL;
    t->arena = (bf_arena){NULL, NULL};
    t->lack = false;
    if (p->patterns > 0) compile_patterns(t);
    for (int c = 0; c < p->constants; c++)
        for (int64_t i = 0; i < BF_TILE; i++)
            store_element(tile_at(t, (size_t)c), i, p->constant[c].dtype, wide_of(&p->constant[c]));
}

/* Finds which elements of the columns are NULL. */
static void find_nulls(bf_tiles *t, int64_t first, int64_t n) {
    const bf_expression_program *p = t->job->program;
    for (int c = 0; c < p->columns; c++) {
        const bf_expression_column *x = &t->job->columns[c];
        uint8_t *to = t->valid[p->registers + c];
        bool some = x->valid != NULL && bf_expression_expand(x->valid, x->first + first, n, to);
        t->column_valid[c] = some ? to : NULL;
    }
}

/* Finds the columns' elements [first, first + n); gathers those that are not contiguous. */
static void find_columns(bf_tiles *t, int64_t first, int64_t n) {
    const bf_expression_program *p = t->job->program;
    int next = p->constants + p->registers;
    for (int c = 0; c < p->columns; c++) {
        const bf_expression_column *x = &t->job->columns[c];
        if (x->offsets != NULL) continue;
        t->column[c] = x->numbers.data + first * x->numbers.bytes;
        if (is_contiguous(x)) continue;
        void *to = tile_at(t, (size_t)next++);
        bf_cpu_gather(NULL, &x->numbers, first, n, to);
        t->column[c] = to;
    }
    if (t->valid != NULL) find_nulls(t, first, n);
}

/* A tile of NULL, and of what is beneath. */
static const bf_i128 no_elements[BF_TILE];
static const valid_tile no_valid;

static const void *tile_of(const bf_tiles *t, bf_expression_operand x) {
    switch (x.kind) {
    case BF_EXPRESSION_COLUMN: return t->column[x.number];
    case BF_EXPRESSION_CONSTANT: return tile_at(t, (size_t)x.number);
    case BF_EXPRESSION_REGISTER: return tile_at(t, (size_t)(t->job->program->constants + x.number));
    case BF_EXPRESSION_NULL: return no_elements;
    default: return NULL;
    }
}

static const uint8_t *valid_of(const bf_tiles *t, bf_expression_operand x) {
    switch (x.kind) {
    case BF_EXPRESSION_COLUMN: return t->column_valid[x.number];
    case BF_EXPRESSION_REGISTER: return t->register_valid[x.number];
    case BF_EXPRESSION_NULL: return no_valid;
    default: return NULL;
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The strings of the tile, if they are strings. */
static bf_expression_text text_of(const bf_tiles *t, bf_expression_operand x) {
    const bf_expression_program *p = t->job->program;
    switch (x.kind) {
    case BF_EXPRESSION_STRING: {
        const bf_expression_string *s = &p->string[x.number];
        return (bf_expression_text){.bytes = p->bytes + s->begin, .size = s->size};
    }
    case BF_EXPRESSION_COLUMN: {
        const bf_expression_column *c = &t->job->columns[x.number];
        const int64_t before = t->first * (c->wide ? 8 : 4);
        const char *offsets = c->offsets != NULL ? (const char *)c->offsets + before : NULL;
        return (bf_expression_text){.offsets = offsets, .wide = c->wide, .bytes = c->bytes};
    }
    case BF_EXPRESSION_REGISTER: return (bf_expression_text){.spans = tile_of(t, x)};
    default: return (bf_expression_text){.bytes = ""};
    }
}

static int64_t run_strings(bf_tiles *t, const bf_expression_step *s, const void *const in[3],
                           void *out, int64_t n) {
    bf_expression_call call = {
        .step = s, .in = {in[0], in[1], in[2]}, .out = out, .n = n, .arena = &t->arena};
    for (int k = 0; k < s->arity; k++) call.text[k] = text_of(t, s->in[k]);
    if (s->op == BF_EXPRESSION_MATCH) call.pattern = &t->patterns[s->digits];
    const int64_t place = bf_expression_call_strings(&call, &t->room);
    t->lack = t->lack || place == -2;
    return place;
}

/* Computes a step's n elements. Returns the place of the first that fails, or -1. */
static int64_t run_step(bf_tiles *t, const bf_expression_step *s, const void *const in[3],
                        void *out, int64_t n) {
    const bf_overflow_policy overflow = t->job->program->overflow;
    if (s->work == BF_NONE) return run_strings(t, s, in, out, n);
    if (bf_expression_takes_time(s->op))
        return bf_expression_take_time(t->isa, s, in, out, n, &t->room);
    if (s->op == BF_EXPRESSION_ROUND) return bf_expression_round(s, overflow, in, out, n, &t->room);
    if (bf_expression_is_library(s->op))
        return bf_expression_ask_library(t->isa, s, in, out, n, &t->room);
    if (s->work == BF_I128) return bf_expression_operate_wide(s, overflow, in, out, n, &t->room);
    if (s->op > BF_MAP_CAST) return bf_expression_operate(t->isa, s, in, out, n, &t->room);
    bf_map_job job = {.op = (bf_map_op)s->op,
                      .overflow = overflow,
                      .arity = s->arity,
                      .refuse_zero = s->refuse_zero,
                      .work = s->work,
                      .to = s->to,
                      .from = {s->from[0], s->from[1], s->from[2]},
                      .in = {in[0], in[1], in[2]},
                      .out = out,
                      .count = n};
    bf_map_prepare(&t->map, &job, t->isa, false);
    return bf_map_block(&t->map, 0, n);
}

/* Finds the elements for which a step is needed: those whose guard is 1, and of which no input is
 * NULL. Returns NULL if all are. */
static const uint8_t *find_needed(bf_tiles *t, const bf_expression_step *s, int64_t n) {
    const uint8_t *needed = tile_of(t, s->guard);
    for (int k = 0; k < s->arity; k++) {
        const uint8_t *valid = valid_of(t, s->in[k]);
        if (valid == NULL) continue;
        bf_expression_both(needed, valid, t->needed, n);
        needed = t->needed;
    }
    return needed;
}

/* Copies input k, with a number that cannot fail in place of each element that is not needed: all
 * operations give a result of ones as divisors, and of zeros. */
static const void *guard_input(bf_tiles *t, const bf_expression_step *s, int k, const void *in,
                               const uint8_t *needed, int64_t n) {
    const int bytes = bf_number_bytes(s->from[k]);
    const int harmless = s->refuse_zero && k == 1 ? 1 : 0; /* for integers */
    memcpy(t->harmless[k], in, (size_t)(n * bytes));
    for (int64_t i = 0; i < n; i++)
        if (needed[i] == 0) store_element(t->harmless[k], i, s->from[k], harmless);
    return t->harmless[k];
}

/* Runs a step, as run_step does. If it fails, it is run again: elements that are not needed do not
 * count. A step that fails has not written to its output, which may be an input. */
static int64_t try_step(bf_tiles *t, const bf_expression_step *s, const void *const in[3],
                        void *out, int64_t n) {
    const void *x[3] = {NULL, NULL, NULL};
    int64_t place = run_step(t, s, in, out, n);
    const uint8_t *needed = place >= 0 ? find_needed(t, s, n) : NULL;
    if (needed == NULL || s->work == BF_NONE) return place;
    for (int k = 0; k < s->arity; k++) x[k] = guard_input(t, s, k, in[k], needed, n);
    return run_step(t, s, x, out, n);
}

/* ---- steps and NULLs ------------------------------------------------------------------------- */

/* Sets `to` to the results of which no input is NULL, and returns it; NULL: none is. `to` may be
 * those of an input. */
static const uint8_t *join_valid(const bf_tiles *t, const bf_expression_step *s, uint8_t *to,
                                 int64_t n) {
    const uint8_t *in[3] = {NULL, NULL, NULL};
    int some = 0;
    for (int k = 0; k < s->arity; k++) {
        in[some] = valid_of(t, s->in[k]);
        some += in[some] != NULL;
    }
    if (some == 0) return NULL;
    for (int k = some; k < 3; k++) in[k] = in[0];
    for (int64_t i = 0; i < n; i++) to[i] = in[0][i] & in[1][i] & in[2][i];
    return to;
}

static const uint8_t *choose_valid(const uint8_t *chosen, const uint8_t *x, const uint8_t *y,
                                   uint8_t *to, int64_t n) {
    if (x == NULL && y == NULL) return NULL;
    for (int64_t i = 0; i < n; i++) {
        uint8_t of_x = x != NULL ? x[i] : 1, of_y = y != NULL ? y[i] : 1;
        to[i] = chosen[i] != 0 ? of_x : of_y;
    }
    return to;
}

/* The choice, whose inputs may be its output. */
static const uint8_t *select_valid(bf_tiles *t, const bf_expression_step *s,
                                   const void *const in[3], void *out, uint8_t *to, int64_t n) {
    const bf_expression_bools condition = {in[0], valid_of(t, s->in[0])};
    const void *x[3] = {in[0], in[1], in[2]};
    if (condition.valid != NULL) {
        bf_expression_decide(BF_EXPRESSION_MET, &condition, t->chosen, NULL, n);
        x[0] = t->chosen;
    }
    const uint8_t *valid = choose_valid(x[0], valid_of(t, s->in[1]), valid_of(t, s->in[2]), to, n);
    run_step(t, s, x, out, n);
    return valid;
}

static const uint8_t *decide_valid(bf_tiles *t, const bf_expression_step *s,
                                   const void *const in[3], void *out, uint8_t *to, int64_t n) {
    const bf_expression_bools x[2] = {{in[0], valid_of(t, s->in[0])},
                                      {in[1], valid_of(t, s->in[1])}};
    bool some = s->arity == 2 && (x[0].valid != NULL || x[1].valid != NULL);
    bf_expression_decide(s->op, x, out, to, n);
    return some ? to : NULL;
}

/* Computes a step's n elements, and sets *valid to those that are not NULL, in `to`; NULL: all.
 * Returns the place of the first that fails, or -1. */
static int64_t take_step(bf_tiles *t, const bf_expression_step *s, int64_t n, void *out,
                         uint8_t *to, const uint8_t **valid) {
    const void *in[3] = {tile_of(t, s->in[0]), tile_of(t, s->in[1]), tile_of(t, s->in[2])};
    int64_t place = -1;
    if (bf_expression_is_logic(s->op)) {
        *valid = decide_valid(t, s, in, out, to, n);
    } else if (s->op == BF_EXPRESSION_SELECT) {
        *valid = select_valid(t, s, in, out, to, n);
    } else {
        place = try_step(t, s, in, out, n);
        /* A later step may fail at an earlier element. */
        if (place > 0) try_step(t, s, in, out, place);
        *valid = join_valid(t, s, to, place >= 0 ? place : n);
    }
    return place;
}

static void set_nulls(void *to, int bytes, const uint8_t *valid, int64_t n) {
    uint8_t *byte = to;
    for (int64_t i = 0; bytes == 1 && i < n; i++) byte[i] &= (uint8_t)-valid[i];
    for (int64_t i = 0; bytes > 1 && i < n; i++)
        if (valid[i] == 0) memset(byte + i * bytes, 0, (size_t)bytes);
}

/* Gives out which of n results are NULL. Returns the place of the first that must not be, or -1. */
static int64_t settle_nulls(const bf_tiles *t, int64_t first, int64_t n, void *to) {
    const uint8_t *valid = t->result_valid;
    const bf_dtype dtype = t->job->program->dtype;
    const int bytes = dtype == BF_NONE ? (int)sizeof(bf_expression_span) : bf_number_bytes(dtype);
    if (valid != NULL) set_nulls(to, bytes, valid, n);
    if (t->job->valid == NULL) {
        const uint8_t *at = valid != NULL ? memchr(valid, 0, (size_t)n) : NULL;
        return at != NULL ? at - valid : -1;
    }
    if (valid != NULL)
        memcpy(t->job->valid + first, valid, (size_t)n);
    else
        memset(t->job->valid + first, 1, (size_t)n);
    return -1;
}

int64_t bf_tiles_compute(bf_tiles *t, int64_t first, int64_t n, void *to,
                         const bf_expression_step **failed) {
    const bf_expression_program *p = t->job->program;
    int64_t place = -1;
    t->first = first;
    find_columns(t, first, n);
    bf_arena_begin(&t->arena);
    t->result_valid = NULL;
    for (int i = 0; i < p->steps && n > 0 && !t->lack; i++) {
        const bf_expression_step *s = &p->step[i];
        bool result = s->out.kind == BF_EXPRESSION_RESULT;
        void *out = result ? to : (void *)(uintptr_t)tile_of(t, s->out);
        int number = result ? p->registers + p->columns : s->out.number;
        const uint8_t **valid = result ? &t->result_valid : &t->register_valid[s->out.number];
        uint8_t *room = t->valid != NULL ? t->valid[number] : NULL;
        int64_t at = take_step(t, s, n, out, room, valid);
        if (at < 0) continue;
        *failed = s;
        place = n = at;
    }
    if (t->lack) return -1;
    int64_t null = settle_nulls(t, first, n, to);
    if (null < 0) return place;
    *failed = NULL;
    return null;
}
