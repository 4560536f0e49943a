/* The data of the ladder, made and checked piece by piece, so that the host needs no copy. */
#include "ladder/data.h"

#include "ladder/julia.h"
#include "ladder/table.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { PIECE = 1 << 16 };

typedef union piece {
    int32_t i32[PIECE];
    uint32_t u32[PIECE];
    float f32[PIECE];
    int64_t i64[PIECE];
    uint8_t u8[PIECE];
} piece;

static int64_t piece_count(int64_t n, int64_t first) {
    return n - first < PIECE ? n - first : PIECE;
}

/* A bijection: Chris Wellons' lowbias32. */
static uint32_t hash(uint32_t i) {
    i = (i ^ i >> 16) * 0x7feb352dU;
    i = (i ^ i >> 15) * 0x846ca68bU;
    return i ^ i >> 16;
}

uint32_t ladder_key(int64_t i) { return hash((uint32_t)i); }

uint32_t ladder_row_of(int64_t i, int64_t n) {
    return (uint32_t)((uint64_t)hash(~(uint32_t)i) * (uint64_t)n >> 32);
}

static int32_t odd(int64_t i) { return (int32_t)(hash((uint32_t)i) | 1); }
static float factor(int64_t i) { return (float)(hash((uint32_t)i) >> 8) * 0x1p-24F; }
static float other(int64_t i) { return (float)(hash(~(uint32_t)i) >> 8) * 0x1p-24F; }

/* Element i of bytes of a kind. */
static uint8_t byte_at(enum ladder_data data, int64_t i) {
    if (data == LADDER_SAME) return 77;
    const uint32_t h = hash((uint32_t)i);
    return (uint8_t)(data == LADDER_SKEWED ? (h & 0xff) >> (h >> 8 & 7) : h);
}

static size_t bytes_of(enum ladder_data data) { return data >= LADDER_UNIFORM ? 1 : 4; }

static void make_floats(float *x, float (*value)(int64_t), int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; i++) x[i] = value(first + i);
}

static void make_lookups(uint32_t *x, int64_t n, int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; i++) *x++ = ladder_key(ladder_row_of(i, n));
}

static void make_words(uint32_t *x, enum ladder_data data, int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; i++)
        *x++ = data == LADDER_KEYS ? ladder_key(i) : (uint32_t)i;
}

static void make(enum ladder_data data, piece *p, int64_t n, int64_t first, int64_t count) {
    if (data == LADDER_INTS)
        for (int64_t i = 0; i < count; i++) p->i32[i] = odd(first + i);
    else if (data == LADDER_KEYS || data == LADDER_ROWS)
        make_words(p->u32, data, first, count);
    else if (data == LADDER_LOOKUPS)
        make_lookups(p->u32, n, first, count);
    else if (data >= LADDER_UNIFORM)
        for (int64_t i = 0; i < count; i++) p->u8[i] = byte_at(data, first + i);
    else
        make_floats(p->f32, data == LADDER_FACTORS ? factor : other, first, count);
}

const char *ladder_fill(const ladder_machine *machine, enum ladder_data data, void *to, int64_t n) {
    static piece p;
    const char *problem = NULL;
    for (int64_t first = 0; first < n && !problem; first += PIECE) {
        const int64_t count = piece_count(n, first);
        make(data, &p, n, first, count);
        const size_t bytes = bytes_of(data);
        problem = machine->copy((char *)to + first * (int64_t)bytes, &p, (size_t)count * bytes);
    }
    return problem;
}

/* ---- the right answers ----------------------------------------------------------------------- */

static int64_t fold(bf_reduction op, int64_t n) {
    uint64_t sum = 0, product = 1;
    int32_t most = INT_MIN, least = INT_MAX;
    for (int64_t i = 0; i < n; i++) {
        const int32_t x = odd(i);
        sum += (uint64_t)x;
        product *= (uint64_t)x;
        most = x > most ? x : most;
        least = x < least ? x : least;
    }
    if (op == BF_SUM) return (int64_t)sum;
    if (op == BF_PROD) return (int64_t)product;
    return op == BF_MAX ? most : least;
}

static bf_status absorb_pairs(bf_state *state, int64_t n) {
    static piece a, b;
    bf_status status = BF_OK;
    for (int64_t first = 0; first < n && status == BF_OK; first += PIECE) {
        const int64_t count = piece_count(n, first);
        make(LADDER_FACTORS, &a, n, first, count);
        make(LADDER_OTHERS, &b, n, first, count);
        const bf_array left = bf_array_of(BF_F32, a.f32, count);
        const bf_array right = bf_array_of(BF_F32, b.f32, count);
        status = bf_state_absorb_pair(state, &left, &right);
    }
    return status;
}

/* One exact state gives both roundings. */
static bf_status exact_dot(bf_context *context, int64_t n, ladder_answer *answer) {
    const bf_reduce_options to_f32 = BF_REDUCE_OPTIONS(.out_dtype = BF_F32);
    bf_state *state;
    bf_value f64, f32;
    bf_status status = bf_state_create(context, BF_DOT, BF_F32, &state);
    if (status != BF_OK) return status;
    status = absorb_pairs(state, n);
    if (status == BF_OK) status = bf_state_result(state, NULL, &f64);
    if (status == BF_OK) status = bf_state_result(state, &to_f32, &f32);
    if (status == BF_OK) {
        answer->exact = f64.as.f64;
        answer->rounded = f32.as.f32;
    }
    bf_state_destroy(state);
    return status;
}

static const char *solve_dot(int64_t n, ladder_answer *answer) {
    bf_context *context;
    bf_status status = bf_context_create(&BF_OPTIONS(.device = "cpu"), &context);
    if (status != BF_OK) return bf_status_string(status);
    status = exact_dot(context, n, answer);
    bf_context_destroy(context);
    return status == BF_OK ? NULL : bf_status_string(status);
}

const char *ladder_solve(enum ladder_work work, bf_reduction op, int64_t n, ladder_answer *answer) {
    *answer = (ladder_answer){.integer = n};
    if (work == LADDER_NUMBERS) answer->integer = 2 + 7;
    if (work == LADDER_REDUCE) answer->integer = fold(op, n);
    return work == LADDER_DOT ? solve_dot(n, answer) : NULL;
}

/* ---- the judgement --------------------------------------------------------------------------- */

static double ulps(float x, double exact) {
    const float at = fabsf((float)exact);
    return fabs((double)x - exact) / (double)(nextafterf(at, INFINITY) - at);
}

/* The tutorials' ints are right modulo 2^32; ours are right. */
static bool is_integer(const ladder_rung *rung, const void *result, int64_t expected) {
    bf_value value;
    int32_t low;
    int64_t whole;
    memcpy(&value, result, sizeof value);
    memcpy(&low, result, sizeof low);
    if (!(rung->is & LADDER_OURS)) return (uint32_t)low == (uint32_t)expected;
    return bf_value_i64(&value, &whole) == BF_OK && whole == expected;
}

/* The tutorials' floats are right to six digits; ours are the exact value, rounded once. */
static void judge_float(const ladder_rung *rung, const void *result, const ladder_answer *answer,
                        ladder_row *row) {
    bf_value value;
    float x;
    memcpy(&value, result, sizeof value);
    memcpy(&x, result, sizeof x);
    const bool ours = rung->is & LADDER_OURS;
    if (ours) x = value.as.f32;
    row->ulp = ulps(x, answer->exact);
    row->good = ours ? value.dtype == BF_F32 && x == answer->rounded
                     : fabs((double)x - answer->exact) <= 1e-6 * fabs(answer->exact);
}

/* The exact sum of two of these floats is a double. */
static void judge_sums(const float *sums, int64_t first, int64_t count, ladder_row *row) {
    for (int64_t i = 0; i < count; i++) {
        const double exact = (double)factor(first + i) + (double)other(first + i);
        if (sums[i] != (float)exact) row->good = false;
        if ((double)sums[i] == exact) continue;
        const double error = ulps(sums[i], exact);
        if (!(error <= row->ulp)) row->ulp = error;
    }
}

static void judge_table(const uint32_t *values, int64_t first, int64_t count, ladder_row *row) {
    static const uint32_t table[LADDER_TABLE_SIZE] = {LADDER_TABLE};
    for (int64_t i = 0; i < count; i++) {
        uint32_t expected = 0;
        for (int k = 0; k < LADDER_TABLE_SIZE; k++)
            expected += (table[k] ^ (uint32_t)(first + i)) * table[k];
        if (values[i] != expected) row->good = false;
    }
}

/* *sum is that of all elements before `first`. */
static void judge_prefixes(const int64_t *sums, int64_t first, int64_t count, int64_t *sum,
                           ladder_row *row) {
    for (int64_t i = 0; i < count; i++) {
        *sum += odd(first + i);
        if (sums[i] != *sum) row->good = false;
    }
}

static const char *judge_elements(const ladder_machine *machine, enum ladder_work work,
                                  const ladder_task *task, ladder_row *row) {
    static piece p;
    const int bytes = work == LADDER_SCAN ? 8 : 4;
    int64_t sum = 0;
    row->good = true;
    if (work == LADDER_ADD) row->ulp = 0;
    for (int64_t first = 0; first < task->n; first += PIECE) {
        const int64_t count = piece_count(task->n, first);
        const char *problem =
            machine->copy(&p, (const char *)task->out + first * bytes, (size_t)(count * bytes));
        if (problem) return problem;
        if (work == LADDER_ADD)
            judge_sums(p.f32, first, count, row);
        else if (work == LADDER_SCAN)
            judge_prefixes(p.i64, first, count, &sum, row);
        else
            judge_table(p.u32, first, count, row);
    }
    return NULL;
}

/* Reads the bytes again: each decrements its counter, and all must end at zero. */
static void judge_histogram(const ladder_rung *rung, const void *result, enum ladder_data data,
                            int64_t n, ladder_row *row) {
    int64_t counts[LADDER_VALUES];
    uint32_t plain[LADDER_VALUES];
    memcpy(counts, result, sizeof counts);
    memcpy(plain, result, sizeof plain);
    for (int v = 0; v < LADDER_VALUES && !(rung->is & LADDER_OURS); v++) counts[v] = plain[v];
    for (int64_t i = 0; i < n; i++) counts[byte_at(data, i)]--;
    row->good = true;
    for (int v = 0; v < LADDER_VALUES; v++) row->good = row->good && counts[v] == 0;
}

/* Checks some rows, about a million pixels in all, because orbits take time. */
static const char *judge_picture(const ladder_machine *machine, const ladder_task *task,
                                 ladder_row *row) {
    static uint16_t counts[1 << 18];
    static const ladder_picture picture = LADDER_PICTURE;
    const int side = ladder_side(task->n);
    const int64_t every = (int64_t)side * side / (1 << 20) + 1;
    const char *problem = NULL;
    row->good = true;
    for (int64_t y = 0; y < side && !problem; y += every) {
        const float im = ladder_coordinate(&picture, side, (int)y);
        problem = machine->copy(counts, (const uint16_t *)task->out + y * side, (size_t)side * 2);
        for (int x = 0; x < side && !problem; x++)
            if (counts[x] != ladder_escape(&picture, ladder_coordinate(&picture, side, x), im))
                row->good = false;
    }
    return problem;
}

static void judge_counter(const ladder_rung *rung, const void *result, int64_t n, ladder_row *row) {
    uint32_t counter;
    memcpy(&counter, result, sizeof counter);
    row->lost = (int64_t)(uint32_t)((uint32_t)n - counter);
    row->good = rung->is & LADDER_LOSES || row->lost == 0;
}

const char *ladder_check(const ladder_machine *machine, enum ladder_work work,
                         const ladder_rung *rung, const ladder_task *task,
                         const ladder_answer *answer, const void *result, ladder_row *row) {
    switch (work) {
    case LADDER_DOT: judge_float(rung, result, answer, row); break;
    case LADDER_ATOMICS: judge_counter(rung, result, task->n, row); break;
    case LADDER_JULIA: return judge_picture(machine, task, row);
    case LADDER_BUILD: return ladder_check_table(machine, rung, task, row);
    case LADDER_FIND: return ladder_check_found(machine, task, true, row);
    case LADDER_HISTOGRAM: judge_histogram(rung, result, answer->data, task->n, row); break;
    case LADDER_SCAN:
    case LADDER_ADD:
    case LADDER_CONSTANT: return judge_elements(machine, work, task, row);
    default: row->good = is_integer(rung, result, answer->integer); break;
    }
    return NULL;
}
