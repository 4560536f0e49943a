/* One tile: the steps of a program, in turn. */
#include "cpu/expression/expression.h"

#include "rules/map/map.h"

/* A worker's room. The tiles are in turn: constants, registers, columns that are not contiguous. */
struct bf_tiles {
    uint64_t ready;
    const bf_expression_job *job;
    const bf_isa *isa;
    bf_map_worker map;
    bf_expression_room room;
    uint64_t harmless[3][BF_TILE]; /* inputs that cannot fail */
    const void *column[BF_EXPRESSION_COLUMNS];
    uint64_t tile[][BF_TILE];
};

static bool is_contiguous(const bf_strided *x) { return x->ndim == 1 && x->strides[0] == 1; }

size_t bf_tiles_bytes(const bf_expression_job *job) {
    const bf_expression_program *p = job->program;
    int tiles = p->constants + p->registers;
    for (int c = 0; c < p->columns; c++) tiles += !is_contiguous(&job->columns[c]);
    return sizeof(bf_tiles) + (size_t)tiles * BF_TILE * sizeof(uint64_t);
}

static void fill_elements(void *tile, int bytes, uint64_t bits) {
    for (int64_t i = 0; i < BF_TILE; i++) bf_store_bits((char *)tile + i * bytes, bytes, bits);
}

void bf_tiles_prepare(bf_tiles *t, const bf_expression_job *job, const bf_isa *isa) {
    const bf_expression_program *p = job->program;
    t->ready = 1;
    t->job = job;
    t->isa = isa;
    for (int c = 0; c < p->constants; c++)
        fill_elements(t->tile[c], bf_dtype_bytes(p->constant[c].dtype), p->constant[c].bits);
}

/* Finds the columns' elements [first, first + n); gathers those that are not contiguous. */
static void find_columns(bf_tiles *t, int64_t first, int64_t n) {
    const bf_expression_program *p = t->job->program;
    int next = p->constants + p->registers;
    for (int c = 0; c < p->columns; c++) {
        const bf_strided *x = &t->job->columns[c];
        t->column[c] = x->data + first * x->bytes;
        if (is_contiguous(x)) continue;
        bf_cpu_gather(NULL, x, first, n, t->tile[next]);
        t->column[c] = t->tile[next++];
    }
}

static const void *tile_of(const bf_tiles *t, bf_expression_operand x) {
    switch (x.kind) {
    case BF_EXPRESSION_COLUMN: return t->column[x.number];
    case BF_EXPRESSION_CONSTANT: return t->tile[x.number];
    case BF_EXPRESSION_REGISTER: return t->tile[t->job->program->constants + x.number];
    default: return NULL;
    }
}

/* Computes a step's n elements. Returns the place of the first that fails, or -1. */
static int64_t run_step(bf_tiles *t, const bf_expression_step *s, const void *const in[3],
                        void *out, int64_t n) {
    if (s->op > BF_MAP_CAST) return bf_expression_operate(t->isa, s, in, out, n, &t->room);
    bf_map_job job = {.op = (bf_map_op)s->op,
                      .overflow = t->job->program->overflow,
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

/* Copies input k, with a number that cannot fail in place of each element whose guard is 0: all
 * operations give a result of ones as divisors, and of zeros. */
static const void *guard_input(bf_tiles *t, const bf_expression_step *s, int k, const void *in,
                               int64_t n) {
    const char *guard = tile_of(t, s->guard), *from = in;
    int bytes = bf_dtype_bytes(s->from[k]);
    bool misfit = false;
    uint64_t harmless =
        s->refuse_zero && k == 1 ? bf_cast(BF_I64, s->from[k], 1, false, &misfit) : 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = guard[i] != 0 ? bf_load_bits(from + i * bytes, bytes) : harmless;
        bf_store_bits((char *)t->harmless[k] + i * bytes, bytes, bits);
    }
    return t->harmless[k];
}

/* The same as run_step, for a step that failed: elements whose guard is 0 do not count. */
static int64_t run_guarded(bf_tiles *t, const bf_expression_step *s, const void *const in[3],
                           void *out, int64_t n) {
    const void *x[3] = {NULL, NULL, NULL};
    for (int k = 0; k < s->arity; k++) x[k] = guard_input(t, s, k, in[k], n);
    return run_step(t, s, x, out, n);
}

/* A step that fails has not written to its output, which may be an input. */
static int64_t try_step(bf_tiles *t, const bf_expression_step *s, const void *const in[3],
                        void *out, int64_t n) {
    int64_t place = run_step(t, s, in, out, n);
    bool guarded = s->guard.kind != BF_EXPRESSION_NOTHING;
    return place >= 0 && guarded ? run_guarded(t, s, in, out, n) : place;
}

int64_t bf_tiles_compute(bf_tiles *t, int64_t first, int64_t n, void *to,
                         const bf_expression_step **failed) {
    const bf_expression_program *p = t->job->program;
    int64_t place = -1;
    find_columns(t, first, n);
    for (int i = 0; i < p->steps && n > 0; i++) {
        const bf_expression_step *s = &p->step[i];
        const void *in[3] = {tile_of(t, s->in[0]), tile_of(t, s->in[1]), tile_of(t, s->in[2])};
        void *out =
            s->out.kind == BF_EXPRESSION_RESULT ? to : (void *)(uintptr_t)tile_of(t, s->out);
        int64_t at = try_step(t, s, in, out, n);
        if (at < 0) continue;
        /* A later step may fail at an earlier element. */
        *failed = s;
        place = n = at;
        if (n > 0) try_step(t, s, in, out, n);
    }
    return place;
}
