/* The range of an array's finite elements: its minimum and maximum. If one of them is infinite, a
 * second pass leaves infinities out. */
#include "api/histogram/histogram.h"

#include "api/reduce/reduce.h"
#include "api/runtime/array.h"
#include "base/environment.h"
#include "rules/reduce/extreme.h"
#include "seam/memory.h"
#include "seam/reduce.h"

enum {
    CACHED = 1 << 20, /* bytes, for each thread */
    ROOM = 1 << 16
};

/* ---- without infinities ---------------------------------------------------------------------- */

typedef struct finite_pass {
    bf_dtype dtype;
    bool any;
    int64_t least, greatest; /* keys (order.h) */
    char *room;              /* ROOM bytes of host memory, for elements copied from a GPU */
} finite_pass;

static void scan_elements(finite_pass *pass, const char *data, int64_t n) {
    bf_format f = bf_format_of(pass->dtype);
    int bytes = bf_dtype_bytes(pass->dtype);
    for (int64_t i = 0; i < n; i++) {
        uint64_t x = bf_load_bits(data + i * bytes, bytes);
        if (bf_is_nan(f, x) || bf_is_inf(f, x)) continue;
        int64_t key = bf_order_rank(pass->dtype, x);
        if (!pass->any || key < pass->least) pass->least = key;
        if (!pass->any || key > pass->greatest) pass->greatest = key;
        pass->any = true;
    }
}

static bf_status scan_piece(bf_context *context, void *arg, const void *const data[2],
                            int64_t count) {
    finite_pass *pass = arg;
    if (context->used == &bf_backend_cpu) {
        scan_elements(pass, data[0], count);
        return BF_OK;
    }
    bf_status status = BF_OK;
    int64_t bytes = bf_dtype_bytes(pass->dtype), n = ROOM / bytes;
    for (int64_t at = 0; at < count && status == BF_OK; at += n) {
        if (n > count - at) n = count - at;
        status = context->used->memory->copy(
            context, pass->room, (const char *)data[0] + at * bytes, (size_t)(n * bytes));
        if (status == BF_OK) scan_elements(pass, pass->room, n);
    }
    return status;
}

static bf_status leave_out_infinities(bf_context *context, const bf_array *array, int64_t count,
                                      bf_extent *extent) {
    finite_pass pass = {.dtype = array->dtype,
                        .room = bf_backend_cpu.memory->allocate(context, ROOM)};
    if (pass.room == NULL) return BF_E_MEMORY;
    bf_status status = bf_array_walk(context, &array, 1, count, true, scan_piece, &pass);
    bf_backend_cpu.memory->release(context, pass.room);
    if (status != BF_OK) return status;
    extent->empty = !pass.any;
    extent->lo = extent->hi = 0;
    if (!pass.any) return BF_OK;
    extent->lo = bf_bin_value(pass.dtype, bf_order_bits(pass.dtype, pass.least));
    extent->hi = bf_bin_value(pass.dtype, bf_order_bits(pass.dtype, pass.greatest));
    return BF_OK;
}

/* ---- minimum and maximum --------------------------------------------------------------------- */

typedef struct extremes_pass {
    bf_job least, greatest;
    int64_t least_words[BF_EXTREME_WORDS], greatest_words[BF_EXTREME_WORDS];
} extremes_pass;

static bf_status absorb_block(bf_context *context, bf_job *job, const char *data, int64_t count,
                              int64_t *words) {
    job->a = data;
    job->count = count;
    return context->used->reduce->absorb(context, job, words);
}

/* Absorbs a piece into the minimum and the maximum. On the CPU it goes block by block, so that the
 * second of the two finds the block in cache. */
static bf_status absorb_extremes(bf_context *context, void *arg, const void *const data[2],
                                 int64_t count) {
    extremes_pass *pass = arg;
    const char *at = data[0];
    bf_status status = BF_OK;
    int64_t bytes = bf_dtype_bytes(pass->least.dtype), n = count;
    if (context->used == &bf_backend_cpu) n = bf_context_threads(context) * CACHED / bytes;
    for (int64_t left = count; left > 0 && status == BF_OK; left -= n, at += n * bytes) {
        if (n > left) n = left;
        status = absorb_block(context, &pass->least, at, n, pass->least_words);
        if (status == BF_OK)
            status = absorb_block(context, &pass->greatest, at, n, pass->greatest_words);
    }
    return status;
}

/* Returns the extreme, leaving NaNs out; 0 if there is none. */
static double value_of(const bf_job *job, const int64_t *words) {
    int64_t key = words[BF_EXTREME_RANK];
    if (words[BF_EXTREME_INDEX] < 0) return 0;
    if (bf_is_greatest(job->op)) key = ~key;
    return bf_bin_value(job->dtype, bf_order_bits(job->dtype, key));
}

static bf_status find_extremes(bf_context *context, const bf_array *array, int64_t count,
                               bf_extent *extent) {
    extremes_pass pass = {.least = {.op = BF_MIN, .kind = BF_KIND_EXTREME, .dtype = array->dtype}};
    pass.greatest = pass.least;
    pass.greatest.op = BF_MAX;
    bf_extreme_init(pass.least_words);
    bf_extreme_init(pass.greatest_words);
    bf_status status = bf_reduce_place(context, BF_KIND_EXTREME, &array, 1, count);
    if (status == BF_OK)
        status = bf_array_walk(context, &array, 1, count, true, absorb_extremes, &pass);
    extent->numbers = pass.least_words[BF_EXTREME_COUNT] - pass.least_words[BF_EXTREME_NAN];
    extent->empty = extent->numbers == 0;
    extent->lo = value_of(&pass.least, pass.least_words);
    extent->hi = value_of(&pass.greatest, pass.greatest_words);
    return status;
}

static bool is_finite(double x) { return x - x == 0; }

bf_status bf_array_extent(bf_context *context, const bf_array *array, bf_extent *extent) {
    int64_t count = bf_array_count(array);
    *extent = (bf_extent){.empty = true};
    if (count == 0) return BF_OK;
    bf_environment environment = bf_environment_enter();
    bf_status status = find_extremes(context, array, count, extent);
    if (status == BF_OK && !(is_finite(extent->lo) && is_finite(extent->hi)))
        status = leave_out_infinities(context, array, count, extent);
    bf_environment_leave(environment);
    return status;
}
