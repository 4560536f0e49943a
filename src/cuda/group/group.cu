/* Groups on a GPU: the backend's functions. */
#include "cuda/group/batch.cuh"
#include "cuda/runtime/pipeline.cuh"

#include <stdlib.h>

enum {
    COPIED_BYTES = 1 << 28, /* so many bytes of rows are copied at a time */
    NUMBERED_ROWS =
        1 << 24 /* rows that go through the index at a time: it has two slots for each */
};

/* --- shared functions --- */

bf_status bf_cuda_group_check(bf_context *context, cudaError_t error) {
    return bf_cuda_check(context, error, "groups on a GPU");
}

void *bf_cuda_group_scratch_of(bf_context *context, bf_cuda_groups *groups,
                               bf_cuda_group_scratch what, size_t bytes) {
    bf_cuda_buffer *buffer = &groups->scratch[what];
    return bf_cuda_buffer_grow(context, buffer, bytes, 0) == BF_OK ? buffer->memory : NULL;
}

bf_status bf_cuda_group_fetch_notes(bf_context *context, bf_cuda_groups *groups) {
    return bf_cuda_fetch_notes(context, cudaSuccess, groups->noted, "groups on a GPU");
}

/* --- create and destroy --- */

static bf_status create_groups(bf_context *context, const bf_group_kind *kind, void **groups) {
    bf_cuda_groups *g = (bf_cuda_groups *)calloc(1, sizeof *g);
    int of[BF_AGGREGATES_MAX];
    if (g == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for groups");
    g->key = kind->key;
    g->rank_bytes = bf_rank_bytes(kind->key);
    g->asked = kind->count;
    for (int i = 0; i < kind->count; i++) {
        g->wanted[i] = kind->aggregates[i];
        of[i] = i;
    }
    g->seed = g->set.seed = g->fresh.seed = bf_hash_seed_of(kind->seed);
    bf_cuda_groups_set_columns(context, g, of);
    bf_cuda_hold_pool(context->cuda);
    *groups = g;
    return BF_OK;
}

static void destroy_groups(bf_context *context, void *groups) {
    bf_cuda_groups *g = (bf_cuda_groups *)groups;
    bf_cuda_visit visit = bf_cuda_enter_idle(context);
    bf_cuda_set_destroy(context, &g->set);
    bf_cuda_set_destroy(context, &g->fresh);
    for (int i = 0; i < BF_CUDA_SCRATCHES; i++) bf_cuda_buffer_free(context, &g->scratch[i]);
    bf_cuda_buffer_free(context, &g->order);
    bf_cuda_release_pool(context->cuda);
    bf_cuda_leave_idle(context, visit);
    free(g);
}

static void clear_groups(bf_context *context, void *groups) {
    bf_cuda_groups *g = (bf_cuda_groups *)groups;
    (void)context;
    g->ordered = false;
    bf_cuda_set_empty(g, &g->set);
}

static int64_t groups_size(const void *groups) {
    return ((const bf_cuda_groups *)groups)->set.size;
}

/* --- rows in device memory --- */

/* Absorbs rows of any number of groups, by the index. */
static bf_status absorb_by_index(bf_context *context, bf_cuda_groups *g, const void *ranks,
                                 const void *const values[], int64_t n) {
    bf_cuda_group_set *set = &g->fresh;
    int64_t fresh;
    unsigned *numbers = (unsigned *)bf_cuda_group_scratch_of(context, g, BF_CUDA_SCRATCH_NUMBERS,
                                                             (size_t)n * sizeof *numbers);
    if (numbers == NULL) return BF_E_MEMORY;
    bf_status status = bf_cuda_set_claim(context, g, set, ranks, n, numbers, &fresh);
    if (status == BF_OK) status = bf_cuda_set_reserve(context, g, set, set->size + fresh);
    for (int c = 0; c < g->count && status == BF_OK; c++)
        status =
            bf_cuda_aggregate_prepare(context, &set->aggregates[c],
                                      bf_cuda_values_of(g, c, values).of, n, set->size, set->room);
    if (status == BF_OK)
        status = bf_cuda_set_settle(context, g, set, ranks, n, numbers, fresh, NULL);
    if (status != BF_OK) return status;
    cudaError_t error = bf_cuda_group_count(context, numbers, n, (int64_t *)set->counts.memory);
    for (int c = 0; c < g->count && error == cudaSuccess; c++)
        error = bf_cuda_aggregate_absorb(context, &set->aggregates[c],
                                         bf_cuda_values_of(g, c, values).of, numbers, n, set->size);
    return bf_cuda_group_check(context, error);
}

/* Absorbs rows that kernels reach into g->fresh. */
static bf_status absorb_piece(bf_context *context, bf_cuda_groups *g, const void *keys,
                              const void *const values[], int64_t n) {
    const void *ranks = bf_cuda_group_ranks(context, g, keys, n);
    bool absorbed = false;
    bf_status status = ranks != NULL ? BF_OK : BF_E_MEMORY;
    if (status == BF_OK)
        status = bf_cuda_groups_absorb_batches(context, g, ranks, values, n, &absorbed);
    for (int64_t first = 0; first < n && status == BF_OK && !absorbed; first += NUMBERED_ROWS) {
        const void *some[BF_GROUP_ARRAYS];
        int64_t count = n - first < NUMBERED_ROWS ? n - first : NUMBERED_ROWS;
        for (int i = 0; i < g->arrays; i++)
            some[i] = (const char *)values[i] + first * bf_dtype_bytes(g->dtypes[i]);
        status =
            absorb_by_index(context, g, (const char *)ranks + first * g->rank_bytes, some, count);
    }
    return status;
}

/* --- rows anywhere --- */

/* The arrays of a call: keys, then values. */
struct row_arrays {
    int count;
    const char *data[BF_GROUP_ARRAYS + 1];
    int bytes[BF_GROUP_ARRAYS + 1];   /* the size of an element */
    bool copied[BF_GROUP_ARRAYS + 1]; /* kernels do not reach it */
};

static row_arrays arrays_of(const bf_context *context, const bf_cuda_groups *g, const void *keys,
                            const void *const values[]) {
    row_arrays a = {};
    a.count = 1 + g->arrays;
    for (int i = 0; i < a.count; i++) {
        bf_dtype dtype = i == 0 ? g->key : g->dtypes[i - 1];
        a.data[i] = (const char *)(i == 0 ? keys : values[i - 1]);
        a.bytes[i] = bf_key_bytes(dtype);
        int align = dtype == BF_PAIR ? 8 : a.bytes[i];
        a.copied[i] = !bf_cuda_in_place(context, a.data[i], align);
    }
    return a;
}

/* Returns the rows that are absorbed at a time. */
static int64_t rows_of_piece(const row_arrays *a) {
    int64_t bytes = 0;
    for (int i = 0; i < a->count; i++) bytes += a->copied[i] ? a->bytes[i] : 0;
    if (bytes == 0) return BF_CUDA_PIECE_ROWS;
    return COPIED_BYTES / bytes < BF_CUDA_PIECE_ROWS ? COPIED_BYTES / bytes : BF_CUDA_PIECE_ROWS;
}

/* Sets data[i] to rows [first, first + n) of array i, where kernels reach them. */
static bf_status copy_rows(bf_context *context, bf_cuda_groups *g, const row_arrays *a,
                           int64_t first, int64_t n, const void *data[]) {
    size_t bytes = 0;
    for (int i = 0; i < a->count; i++)
        bytes += a->copied[i] ? bf_cuda_part_bytes((size_t)(n * a->bytes[i])) : 0;
    char *to = bytes > 0
                   ? (char *)bf_cuda_group_scratch_of(context, g, BF_CUDA_SCRATCH_COPIES, bytes)
                   : NULL;
    bf_status status = bytes > 0 && to == NULL ? BF_E_MEMORY : BF_OK;
    for (int i = 0; i < a->count && status == BF_OK; i++) {
        size_t size = (size_t)(n * a->bytes[i]);
        data[i] = a->data[i] + first * a->bytes[i];
        if (!a->copied[i]) continue;
        void *copy = bf_cuda_next_part(&to, size);
        status = bf_cuda_copy(context, copy, data[i], size);
        data[i] = copy;
    }
    return status;
}

/* Absorbs all rows into g->fresh, piece by piece. */
static bf_status absorb_pieces(bf_context *context, bf_cuda_groups *g, const row_arrays *a,
                               int64_t n) {
    int64_t piece = rows_of_piece(a);
    bf_status status = BF_OK;
    for (int64_t first = 0; first < n && status == BF_OK; first += piece) {
        const void *data[BF_GROUP_ARRAYS + 1];
        int64_t count = n - first < piece ? n - first : piece;
        status = copy_rows(context, g, a, first, count, data);
        if (status == BF_OK) status = absorb_piece(context, g, data[0], data + 1, count);
        if (status == BF_OK) status = bf_watch_tick(context, 0);
    }
    return status;
}

/* Merges g->fresh into the groups. */
static bf_status merge_fresh(bf_context *context, bf_cuda_groups *g) {
    g->ordered = false;
    if (g->set.size > 0) return bf_cuda_set_merge(context, g, &g->set, &g->fresh, NULL);
    bf_cuda_group_set before = g->set;
    g->set = g->fresh;
    g->fresh = before;
    return BF_OK;
}

static bf_status absorb_rows(bf_context *context, void *groups, const bf_group_job *job) {
    bf_cuda_groups *g = (bf_cuda_groups *)groups;
    const int previous = bf_cuda_enter(context);
    bf_status status = bf_cuda_groups_share(context, g, job->columns);
    bf_cuda_groups_take_arrays(g, job);
    row_arrays arrays = arrays_of(context, g, job->keys, job->values);
    bf_cuda_set_empty(g, &g->fresh);
    if (status == BF_OK) status = absorb_pieces(context, g, &arrays, job->n);
    if (status == BF_OK) /* before the groups change */
        status = bf_cuda_group_check(context, cudaStreamSynchronize(context->cuda->stream));
    if (status == BF_OK) status = merge_fresh(context, g);
    cudaError_t error = cudaStreamSynchronize(context->cuda->stream);
    bf_cuda_leave(previous);
    return status == BF_OK ? bf_cuda_group_check(context, error) : status;
}

static bf_status merge_groups(bf_context *context, void *into, const void *from) {
    bf_cuda_groups *g = (bf_cuda_groups *)into;
    const bf_cuda_groups *other = (const bf_cuda_groups *)from;
    int map[BF_AGGREGATES_MAX], previous = bf_cuda_enter(context);
    g->ordered = false;
    bf_status status = bf_cuda_groups_share(context, g, other->of);
    for (int i = 0; i < g->asked; i++) map[g->of[i]] = other->of[i];
    if (status == BF_OK) status = bf_cuda_set_merge(context, g, &g->set, &other->set, map);
    cudaError_t error = cudaStreamSynchronize(context->cuda->stream);
    bf_cuda_leave(previous);
    return status == BF_OK ? bf_cuda_group_check(context, error) : status;
}

extern const bf_group_backend bf_cuda_group_backend = {
    .create = create_groups,
    .destroy = destroy_groups,
    .clear = clear_groups,
    .size = groups_size,
    .absorb = absorb_rows,
    .merge = merge_groups,
    .list = bf_cuda_groups_list,
    .aggregate = bf_cuda_groups_aggregate,
    .words = bf_cuda_groups_words,
    .insert = bf_cuda_groups_insert,
};
