/* Expressions: parse, compute, absorb. */
#include "api/expression/expression.h"

#include "api/reduce/state.h"
#include "api/runtime/array.h"
#include "api/runtime/column.h"
#include "api/runtime/enter.h"
#include "api/runtime/place.h"
#include "api/runtime/sized.h"
#include "base/memory.h"

/* ---- parse ----------------------------------------------------------------------------------- */

static bool takes_scale(bf_dtype dtype, int scale) {
    return scale == 0 || ((dtype == BF_I64 || dtype == BF_I128) && bf_scale_valid(dtype, scale));
}

static bool takes_time(bf_dtype dtype, int scale, int time) {
    const bool integer = dtype == BF_I64 || dtype == BF_I128;
    return time == BF_TIME_NONE || (integer && scale <= BF_TIME_SCALE_MOST && time <= BF_TIME_ANY);
}

static bf_status check_columns(bf_context *context, const bf_expression_source *s) {
    if (s->text == NULL) return bf_fail(context, BF_E_ARGUMENT, "no text");
    if (s->count < 0 || s->count > INT32_MAX / 64)
        return bf_fail(context, BF_E_ARGUMENT, "%d columns are not possible", s->count);
    if (s->count > 0 && (s->names == NULL || s->dtypes == NULL))
        return bf_fail(context, BF_E_ARGUMENT, "no columns");
    for (int i = 0; i < s->count; i++) {
        if (s->names[i] == NULL) return bf_fail(context, BF_E_ARGUMENT, "column %d: no name", i);
        if (s->dtypes[i] != BF_NONE && bf_number_bytes(s->dtypes[i]) == 0)
            return bf_fail(context, BF_E_DTYPE, "no array has dtype number %d", (int)s->dtypes[i]);
        const int scale = s->scales != NULL ? s->scales[i] : 0;
        if (!takes_scale(s->dtypes[i], scale))
            return bf_fail(context, BF_E_ARGUMENT, "column %d: %s takes no scale of %d", i,
                           bf_dtype_name(s->dtypes[i]), scale);
        if (s->times != NULL && !takes_time(s->dtypes[i], scale, s->times[i]))
            return bf_fail(context, BF_E_ARGUMENT,
                           "column %d: %s of scale %d is no time of kind %d", i,
                           bf_dtype_name(s->dtypes[i]), scale, s->times[i]);
    }
    return BF_OK;
}

static bf_expression *make_expression(bf_context *context, int count) {
    bf_expression *e = bf_calloc(1, sizeof *e + (size_t)count * sizeof *e->number);
    if (e == NULL) return NULL;
    e->context = context;
    e->count = count;
    e->program = bf_calloc(1, sizeof *e->program);
    if (e->program != NULL) return e;
    bf_free(e);
    return NULL;
}

static bf_status parse_expression(bf_context *context, bf_expression_source *source,
                                  const bf_expression_options *given, int *position,
                                  bf_expression **expression) {
    bf_expression_options options = BF_EXPRESSION_OPTIONS(.overflow = BF_OVERFLOW_ERROR);
    int place = 0;
    if (expression == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the expression");
    if (given != NULL && !BF_READ(&options, given, overflow))
        return bf_fail(context, BF_E_ARGUMENT,
                       "bf_expression_options: size is not set, or from a newer version");
    if ((unsigned)options.overflow > BF_OVERFLOW_SATURATE)
        return bf_fail(context, BF_E_ARGUMENT, "unknown overflow policy %d", (int)options.overflow);
    source->scales = options.scales;
    source->times = options.times;
    source->rounded = options.rounded != 0;
    source->wide = options.wide != 0;
    bf_status status = check_columns(context, source);
    if (status != BF_OK) return status;
    bf_expression *made = make_expression(context, source->count);
    if (made == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for an expression");
    made->program->overflow = options.overflow;
    status = bf_expression_compile(context, source, &bf_expression_steps, NULL, made->program,
                                   made->number, &place);
    if (status == BF_OK)
        *expression = made;
    else
        bf_expression_destroy(made);
    if (status != BF_OK && position != NULL) *position = place;
    return status;
}

bf_status bf_expression_parse(bf_context *context, const char *text, const char *const names[],
                              const bf_dtype dtypes[], int count,
                              const bf_expression_options *options, int *position,
                              bf_expression **expression) {
    bf_expression_source source = {.text = text, .names = names, .dtypes = dtypes, .count = count};
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, parse_expression(context, &source, options, position, expression));
}

void bf_expression_destroy(bf_expression *expression) {
    if (expression == NULL) return;
    bf_free(expression->strings.offsets);
    bf_free(expression->strings.bytes);
    bf_free(expression->program->bytes);
    bf_free(expression->program);
    bf_free(expression);
}

/* ---- what it is ------------------------------------------------------------------------------ */

bf_dtype bf_expression_dtype(const bf_expression *expression) {
    return expression != NULL ? expression->program->dtype : BF_NONE;
}

int bf_expression_scale(const bf_expression *expression) {
    return expression != NULL ? expression->program->scale : 0;
}

bf_time_kind bf_expression_time(const bf_expression *expression) {
    return expression != NULL ? expression->program->time : BF_TIME_NONE;
}

int bf_expression_uses(const bf_expression *expression, int column) {
    if (expression == NULL || column < 0 || column >= expression->count) return 0;
    return expression->number[column] >= 0;
}

int bf_expression_is_string(const bf_expression *expression) {
    return expression != NULL && expression->program->dtype == BF_NONE;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Its elements; -1: it is not well formed. */
static int64_t count_of(const bf_array *array) {
    return array == NULL ? -1 : bf_array_elements(array, bf_number_bytes(array->dtype));
}

/* The array, of n elements, has this shape. */
static bf_strided strided_of(const bf_array *array, int64_t n) {
    bf_strided x = {.data = array->data, .bytes = bf_number_bytes(array->dtype), .ndim = 1};
    x.shape[0] = n;
    x.strides[0] = 1;
    if (bf_array_is_contiguous(array)) return x;
    x.ndim = array->ndim;
    memcpy(x.shape, array->shape, sizeof x.shape);
    memcpy(x.strides, array->strides, sizeof x.strides);
    return x;
}

static bf_status check_column(bf_context *context, const bf_expression *e, int i,
                              const bf_array *column, const bf_array *like) {
    bf_dtype dtype = e->program->column[e->number[i]];
    if (dtype == BF_NONE)
        return bf_fail(context, BF_E_DTYPE, "column %d holds strings, and was given as an array",
                       i);
    if (count_of(column) < 0)
        return bf_fail(context, BF_E_ARGUMENT, "column %d is not well formed", i);
    if (column->dtype != dtype)
        return bf_fail(context, BF_E_DTYPE, "column %d is %s, and was %s when it was parsed for", i,
                       bf_dtype_name(column->dtype), bf_dtype_name(dtype));
    if (!bf_same_shape(column, like))
        return bf_fail(context, BF_E_SHAPE, "column %d has another shape", i);
    return BF_OK;
}

/* What is given for column i: an array, or a column whose array it is. */
typedef struct inputs {
    const bf_array *const *arrays;
    const bf_column *const *columns; /* NULL: arrays */
} inputs;

static const bf_array *array_of(const inputs *g, int i) {
    if (g->columns == NULL) return g->arrays[i];
    return g->columns[i] != NULL ? g->columns[i]->numbers : NULL;
}

static bf_status place_array(bf_context *context, const bf_expression *e, int i,
                             const bf_array *array, const bf_array *like,
                             bf_expression_column *to) {
    bf_status status = check_column(context, e, i, array, like);
    if (status == BF_OK) to->numbers = strided_of(array, count_of(like));
    return status;
}

static bf_status place_strings(bf_context *context, int i, const bf_strings *given,
                               const bf_array *like, bf_expression_column *to) {
    bf_strings s;
    bf_status status = bf_strings_read(context, given, &s);
    if (status != BF_OK) return status;
    if (s.count != count_of(like))
        return bf_fail(context, BF_E_SHAPE, "column %d has another length", i);
    to->offsets = s.offsets;
    to->wide = s.offset == BF_I64;
    to->bytes = s.bytes;
    return BF_OK;
}

static bf_status place_column(bf_context *context, const bf_expression *e, int i,
                              const bf_column *given, const bf_array *like,
                              bf_expression_column *to) {
    bf_column x;
    bf_status status = bf_column_read(context, given, e->program->column[e->number[i]], &x);
    if (status != BF_OK) return status;
    to->valid = x.valid;
    to->first = x.first;
    return x.strings != NULL ? place_strings(context, i, x.strings, like, to)
                             : place_array(context, e, i, x.numbers, like, to);
}

/* Sets the job's columns, of the shape of `like`. */
static bf_status place_columns(bf_context *context, const bf_expression *e, const inputs *g,
                               const bf_array *like, bf_expression_column *to) {
    for (int i = 0; i < e->count; i++) {
        if (e->number[i] < 0) continue;
        bf_expression_column *x = &to[e->number[i]];
        bf_status status = g->columns != NULL ? place_column(context, e, i, g->columns[i], like, x)
                                              : place_array(context, e, i, g->arrays[i], like, x);
        if (status != BF_OK) return status;
    }
    return BF_OK;
}

/* Begins a job for columns of the shape of `like`. The columns are the caller's to free. */
static bf_status begin_job(bf_context *context, const bf_expression *e, const inputs *g,
                           const bf_array *like, bf_expression_job *job) {
    const bf_expression_program *p = e->program;
    *job = (bf_expression_job){.program = p, .count = count_of(like)};
    bf_expression_column *made = bf_calloc((size_t)p->columns + 1, sizeof *made);
    if (made == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for an expression");
    job->columns = made;
    return place_columns(context, e, g, like, made);
}

static void end_job(const bf_expression_job *job) { bf_free((void *)(uintptr_t)job->columns); }

static int64_t bytes_of(const bf_expression_job *job) {
    int64_t bytes = 0;
    for (int c = 0; c < job->program->columns; c++) bytes += job->columns[c].numbers.bytes;
    return bf_bytes_of(job->count, bytes);
}

/* ---- place ----------------------------------------------------------------------------------- */

static bool is_on_gpu(const void *data) { return bf_where_is(data, NULL) == BF_WHERE_DEVICE; }

/* Returns data of the job that are in a GPU's memory; NULL: none are. */
static const void *find_on_gpu(const bf_expression_job *job) {
    for (int c = 0; c < job->program->columns; c++)
        if (is_on_gpu(job->columns[c].numbers.data)) return job->columns[c].numbers.data;
    return is_on_gpu(job->out.data) ? job->out.data : NULL;
}

static bf_status place_on_cpu(bf_context *context, const char *own, const void *on_gpu) {
    context->used = &bf_backend_cpu;
    if (context->fixed != &bf_backend_cpu)
        context->reason = "expressions of host memory are computed by the CPU";
    if (on_gpu == NULL) return BF_OK;
    return bf_fail(context, BF_E_DEVICE, "the CPU alone %s, and an array is in a GPU's memory",
                   own);
}

/* Computing costs less than a copy to a GPU, so the data stay where they are. */
static bf_status place_job(bf_context *context, const bf_expression_job *job) {
    const void *on_gpu = find_on_gpu(job);
    const char *own = job->program->own;
    if (own != NULL || on_gpu == NULL) return place_on_cpu(context, own, on_gpu);
    const bf_memory memory = {on_gpu, 1};
    return bf_place(context, &(bf_demand){.n = 1, .memory = &memory});
}

/* ---- compute --------------------------------------------------------------------------------- */

static bf_status check_out(bf_context *context, const bf_expression *e, const bf_array *out) {
    if (bf_expression_is_string(e))
        return bf_fail(context, BF_E_DTYPE, "the results are strings, and no array holds them");
    if (count_of(out) < 0) return bf_fail(context, BF_E_ARGUMENT, "the output is not well formed");
    if (out->dtype != e->program->dtype)
        return bf_fail(context, BF_E_DTYPE, "the result is %s, the output %s",
                       bf_dtype_name(e->program->dtype), bf_dtype_name(out->dtype));
    if (bf_array_overlaps_itself(out))
        return bf_fail(context, BF_E_ARGUMENT, "the output's elements overlap each other");
    return BF_OK;
}

static bool is_same(const bf_array *a, const bf_array *b) {
    bool same = a->data == b->data && bf_dtype_size(a->dtype) == bf_dtype_size(b->dtype);
    for (int d = 0; same && d < a->ndim; d++)
        same = a->shape[d] <= 1 || a->strides[d] == b->strides[d];
    return same;
}

static bf_status check_overlap(bf_context *context, const bf_expression *e, const inputs *g,
                               const bf_array *out) {
    for (int i = 0; i < e->count; i++) {
        const bf_array *x = e->number[i] >= 0 ? array_of(g, i) : NULL;
        if (x != NULL && bf_arrays_overlap(x, out) && !is_same(x, out))
            return bf_fail(context, BF_E_ARGUMENT,
                           "column %d overlaps the output, but is not the same", i);
    }
    return BF_OK;
}

static bf_status eval_job(bf_context *context, const bf_expression_job *job) {
    bf_status status = bf_watch_begin(context, bytes_of(job));
    if (status == BF_OK) status = context->used->expression->eval(context, job);
    return bf_watch_end(context, status);
}

static bf_status eval_expression(bf_context *context, const bf_expression *e, const inputs *g,
                                 const bf_array *out, uint8_t *valid) {
    bf_expression_job job;
    if (g->arrays == NULL && g->columns == NULL && e->count > 0)
        return bf_fail(context, BF_E_ARGUMENT, "no columns");
    bf_status status = check_out(context, e, out);
    if (status != BF_OK) return status;
    if (g->columns != NULL && out->ndim != 1)
        return bf_fail(context, BF_E_SHAPE, "columns have one dimension, not %d", out->ndim);
    status = begin_job(context, e, g, out, &job);
    if (status == BF_OK && job.count > 0) status = check_overlap(context, e, g, out);
    if (status == BF_OK && job.count > 0) {
        job.out = strided_of(out, job.count);
        job.valid = valid;
        status = place_job(context, &job);
        if (status == BF_OK) status = eval_job(context, &job);
    }
    end_job(&job);
    return status;
}

bf_status bf_expression_eval(bf_expression *expression, const bf_array *const columns[],
                             const bf_array *out) {
    if (expression == NULL || !bf_enter(expression->context)) return BF_E_ARGUMENT;
    bf_context *context = expression->context;
    const inputs g = {.arrays = columns};
    return bf_leave(context, eval_expression(context, expression, &g, out, NULL));
}

bf_status bf_expression_eval_columns(bf_expression *expression, const bf_column *const columns[],
                                     const bf_array *out, uint8_t *valid) {
    if (expression == NULL || !bf_enter(expression->context)) return BF_E_ARGUMENT;
    bf_context *context = expression->context;
    const inputs g = {.columns = columns};
    return bf_leave(context, eval_expression(context, expression, &g, out, valid));
}

/* ---- strings --------------------------------------------------------------------------------- */

static bf_status compute_strings(bf_context *context, bf_expression *e,
                                 const bf_expression_job *job) {
    bf_status status = place_on_cpu(context, "makes strings", find_on_gpu(job));
    if (status == BF_OK) status = bf_watch_begin(context, bytes_of(job));
    if (status != BF_OK) return status;
    status = context->used->expression->eval_strings(context, job, &e->strings);
    return bf_watch_end(context, status);
}

static bf_status eval_strings(bf_context *context, bf_expression *e, const inputs *g, int64_t n,
                              bf_strings *out, uint8_t *valid) {
    const bf_array like = bf_array_of(BF_U8, e, n);
    bf_expression_job job;
    if (out == NULL || n < 0) return bf_fail(context, BF_E_ARGUMENT, "no place for the strings");
    if (!bf_expression_is_string(e))
        return bf_fail(context, BF_E_DTYPE, "the results are %s, and no strings",
                       bf_dtype_name(e->program->dtype));
    if (g->columns == NULL && e->count > 0) return bf_fail(context, BF_E_ARGUMENT, "no columns");
    bf_free(e->strings.offsets);
    bf_free(e->strings.bytes);
    e->strings = (bf_expression_strings){NULL, NULL};
    bf_status status = begin_job(context, e, g, &like, &job);
    job.valid = valid;
    if (status == BF_OK) status = compute_strings(context, e, &job);
    end_job(&job);
    if (status != BF_OK) return status;
    *out = (bf_strings){sizeof *out, n, BF_I64, e->strings.offsets, e->strings.bytes};
    return BF_OK;
}

bf_status bf_expression_eval_strings(bf_expression *expression, const bf_column *const columns[],
                                     int64_t n, bf_strings *out, uint8_t *valid) {
    if (expression == NULL || !bf_enter(expression->context)) return BF_E_ARGUMENT;
    bf_context *context = expression->context;
    const inputs g = {.columns = columns};
    return bf_leave(context, eval_strings(context, expression, &g, n, out, valid));
}

/* ---- absorb ---------------------------------------------------------------------------------- */

/* Returns the array that has the shape of the results; NULL: they are one. */
static const bf_array *shape_of(const bf_expression *e, const bf_array *const columns[]) {
    const bf_array *given = NULL;
    for (int i = 0; i < e->count; i++) {
        if (e->number[i] >= 0) return columns[i];
        if (given == NULL) given = columns[i];
    }
    return given;
}

static bf_status check_state(const bf_state *s, const bf_expression *e) {
    if (bf_expression_is_string(e))
        return bf_fail(s->context, BF_E_DTYPE,
                       "the results are strings, and no reduction takes them");
    if (bf_takes_pairs(s->op))
        return bf_fail(s->context, BF_E_ARGUMENT, "%s takes two arrays", bf_reduction_name(s->op));
    if (s->dtype != e->program->dtype)
        return bf_fail(s->context, BF_E_DTYPE, "%s results in a reduction of %s",
                       bf_dtype_name(e->program->dtype), bf_dtype_name(s->dtype));
    if (s->scale != e->program->scale)
        return bf_fail(s->context, BF_E_ARGUMENT, "results of scale %d in a reduction of scale %d",
                       e->program->scale, s->scale);
    return BF_OK;
}

static bf_status absorb_job(bf_state *s, bf_expression_job *job) {
    bf_context *context = s->context;
    const int64_t *next = bf_state_next(s);
    int64_t *kept, before = next != NULL ? *next : s->words[0];
    if (job->count > BF_COUNT_MAX - before)
        return bf_fail(context, BF_E_OVERFLOW, "more than 2^62 elements");
    if (job->count == 0) return BF_OK;
    job->index = before;
    bf_job to = {.op = s->op, .kind = s->kind, .dtype = s->dtype, .every_zero = s->lasting};
    to.index = next != NULL ? *next : 0;
    bf_status status = place_job(context, job);
    if (status == BF_OK) status = bf_state_keep(s, &kept);
    if (status != BF_OK) return status;
    status = bf_watch_begin(context, bytes_of(job));
    if (status == BF_OK) status = context->used->expression->absorb(context, job, &to, s->words);
    status = bf_watch_end(context, status);
    bf_state_settle(s, kept, status);
    return status;
}

static bf_status absorb_expression(bf_state *s, const bf_expression *e,
                                   const bf_array *const columns[]) {
    const bf_array one = {.data = s, .dtype = BF_U8}, *like = &one;
    bf_expression_job job;
    if (e == NULL) return bf_fail(s->context, BF_E_ARGUMENT, "no expression");
    if (columns == NULL && e->count > 0) return bf_fail(s->context, BF_E_ARGUMENT, "no columns");
    bf_status status = check_state(s, e);
    if (status != BF_OK) return status;
    if (e->count > 0 && shape_of(e, columns) != NULL) like = shape_of(e, columns);
    if (count_of(like) < 0)
        return bf_fail(s->context, BF_E_ARGUMENT, "a column is not well formed");
    const inputs g = {.arrays = columns};
    status = begin_job(s->context, e, &g, like, &job);
    if (status == BF_OK) status = absorb_job(s, &job);
    end_job(&job);
    return status;
}

bf_status bf_state_absorb_expression(bf_state *state, const bf_expression *expression,
                                     const bf_array *const columns[]) {
    if (state == NULL || !bf_enter(state->context)) return BF_E_ARGUMENT;
    return bf_leave(state->context, absorb_expression(state, expression, columns));
}
