/* Columns without windows: sums of integers, and extremes of any dtype, whose ranks are integers.
 */
#include "cpu/axis/integers.h"

#include "cpu/axis/columns.h"
#include "rules/reduce/element.h"
#include "rules/reduce/totals.h"

bool bf_can_take_integers(const bf_axis_job *job) {
    const bf_axis_loops *loops = job->context->cpu->isa->axis;
    const bf_operands *o = job->operands;
    if (loops == NULL) return false;
    if (o->kind == BF_KIND_EXTREME)
        return !bf_is_indexed(o->op) && loops->extremes[o->dtype] != NULL;
    return o->kind == BF_KIND_SUM && loops->sums[o->dtype] != NULL;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Writes sums of low[c] and 2^32 times high[c]. What a sum is above its low 32 bits tells whether
 * it fits. */
static void write_integers(bf_axis_job *job, const int64_t *low, const int64_t *high, int64_t n,
                           int64_t number, int64_t step) {
    const bf_results *r = job->results;
    for (int64_t c = 0; c < n; c++, number += step) {
        const int64_t above = high[c] + (low[c] >> 32);
        const uint64_t bits = (uint64_t)low[c] + ((uint64_t)high[c] << 32);
        const bool fits = r->to == BF_I64 ? above == (int32_t)above : above == (uint32_t)above;
        if (fits && r->fits == NULL)
            bf_store_bits((char *)r->values + 8 * number, 8, bits);
        else
            bf_axis_write_bits(job, bits, fits, number);
    }
}

static void write_float(bf_axis_job *job, bf_i128 sum, int64_t n, int64_t number) {
    bf_format to = bf_format_of(job->results->to);
    bool negative;
    bf_leading x = bf_leading_of_i128(sum, 0, &negative);
    if (x.bits != 0 && bf_is_mean(job->operands->op)) x = bf_leading_divide(x, (uint64_t)n);
    bf_axis_write_bits(job, x.bits == 0 ? 0 : bf_leading_round(to, negative, x), true, number);
}

static void reduce_sums(bf_axis_job *job, bf_taker *taker, const bf_columns *x, int64_t number,
                        int64_t step) {
    int64_t *low = taker->more, *high = low + BF_COLUMNS_MOST;
    memset(low, 0, (size_t)x->columns * sizeof *low);
    memset(high, 0, (size_t)x->columns * sizeof *high);
    taker->reducer.isa->axis->sums[job->operands->dtype](x, low, high);
    if (!bf_dtype_is_float(job->results->to)) {
        write_integers(job, low, high, x->columns, number, step);
        return;
    }
    for (int64_t c = 0; c < x->columns; c++)
        write_float(job, low[c] + (bf_i128)high[c] * ((bf_i128)1 << 32), x->rows,
                    number + c * step);
}

/* ---- extremes -------------------------------------------------------------------------------- */

/* Takes a column as a line. */
static void take_line(bf_axis_job *job, bf_taker *taker, const bf_columns *x, int64_t column,
                      int64_t number) {
    int64_t bytes = bf_dtype_bytes(job->operands->dtype);
    bf_lines line = {.lines = 1, .length = x->rows, .ndim = 1, .shape = {x->rows}};
    line.data[0] = x->a + column * bytes;
    line.strides[0][0] = x->a_step / bytes;
    bf_taker_begin(job, taker, 1);
    bf_taker_take(job, taker, &line, 0, x->rows);
    bf_axis_write(job, bf_taker_words(job, taker, 0), number);
}

/* The rank of a float's bits, as the loops give it. */
static int64_t rank_at(const void *ranks, int64_t i, int bytes) {
    return bf_sign_extend(bf_load_bits((const char *)ranks + i * bytes, bytes), 8 * bytes);
}

static void reduce_extremes(bf_axis_job *job, bf_taker *taker, const bf_columns *x, int64_t number,
                            int64_t step) {
    bf_dtype dtype = job->operands->dtype;
    int bytes = bf_dtype_bytes(dtype);
    char *least = taker->more, *greatest = least + BF_COLUMNS_MOST * sizeof(int64_t);
    const char *wanted = bf_is_greatest(job->operands->op) ? greatest : least;
    bool is_float = bf_dtype_is_float(dtype);
    bf_format f = bf_format_of(dtype);
    taker->reducer.isa->axis->extremes[dtype](x, least, greatest);
    for (int64_t c = 0; c < x->columns; c++) {
        int64_t inf = is_float ? (int64_t)bf_format_inf(f) : 0;
        bool nan =
            is_float && (rank_at(greatest, c, bytes) > inf || rank_at(least, c, bytes) < ~inf);
        if (nan) {
            take_line(job, taker, x, c, number + c * step);
            continue;
        }
        uint64_t bits = is_float ? bf_order_bits(dtype, rank_at(wanted, c, bytes))
                                 : bf_load_bits(wanted + c * bytes, bytes);
        bf_axis_write_bits(job, bits, true, number + c * step);
    }
}

void bf_reduce_integers(bf_axis_job *job, bf_taker *taker, const bf_columns *x, int64_t number,
                        int64_t step) {
    if (job->operands->kind == BF_KIND_EXTREME)
        reduce_extremes(job, taker, x, number, step);
    else
        reduce_sums(job, taker, x, number, step);
}
