/* Rows absorbed batch by batch (batch.cuh): the choice of a plan, and the way from entries to
 * groups. */
#include "cuda/group/batch.cuh"

namespace {

enum {
    ROWS_LEAST = 1 << 14, /* rows of a call that are worth batches */
    PARTITIONS_LEAST = 256,
    PARTITION_GROUPS = 2500, /* groups of a partition, if there are partitions enough */
    FEW_EXPECTED = 450,      /* groups for a table of few, with room for some more */
    MANY_GROUPS = 1000,      /* groups for which a partition without values has a large table */
    FEW_GROUPS = 1500,       /* groups for a table of half a multiprocessor's shared memory */
    FEW_ENTRIES = 1 << 18,   /* entries for which there may well be memory, were they all groups */
    PARTITION_SPARE = 1024,  /* rows */
    BATCH_ROWS_MOST = 1 << 21, /* a lane numbers its rows with 16 bits */
    SHARED_LEAST = 160 << 10   /* bytes of shared memory of GPUs that batches suit */
};

/* --- plans --- */

__global__ void __launch_bounds__(BF_CUDA_GROUP_THREADS)
    make_even_batches(unsigned n, unsigned count, unsigned *total, bf_cuda_batch *batches) {
    for (unsigned i = threadIdx.x; i < count; i += BF_CUDA_GROUP_THREADS) {
        unsigned begin = (unsigned)((uint64_t)n * i / count),
                 end = (unsigned)((uint64_t)n * (i + 1) / count);
        batches[i] = bf_cuda_batch{begin, end, 0};
    }
    if (threadIdx.x == 0) total[0] = count;
    if (threadIdx.x == 0) total[1] = 0;
}

/* Chooses a table of half a multiprocessor's shared memory, or of all; three sevenths are for rows
 * that wait. */
void choose_table(const bf_context *context, bf_cuda_batch_plan *plan, bool large) {
    int shared = large ? context->cuda->shared - 1024 : (context->cuda->shared - 1024) / 2 - 256;
    int half = plan->rank_bytes == 4 ? BF_CUDA_HALF_THREADS_4 : BF_CUDA_HALF_THREADS_8;
    int most = large ? BF_CUDA_BATCH_THREADS : half;
    int waiting = bf_cuda_table_bytes(plan->rank_bytes, 0, 32);
    plan->threads = shared / 7 * 3 / waiting * 32;
    if (plan->threads > most) plan->threads = most;
    plan->blocks_each = large ? 1 : 2;
    plan->slots =
        (shared - bf_cuda_table_bytes(plan->rank_bytes, 0, plan->threads)) / (plan->rank_bytes + 4);
    plan->limit = large ? plan->slots / 3 * 2 : plan->slots / 8 * 5;
}

/* Chooses the batches of partitions. Partitions are counted, or have room for half as many rows
 * again as they should get. */
void choose_batches(bf_cuda_batch_plan *plan, bool counted) {
    int64_t rows = 2 * plan->n / plan->partitions + 1;
    plan->batch_rows = (unsigned)rows;
    plan->batch_most = (unsigned)(plan->partitions + plan->n / rows + 1);
    plan->capacity = plan->n;
    if (counted) return;
    plan->room = (unsigned)(3 * plan->n / (2 * plan->partitions) + PARTITION_SPARE);
    plan->capacity = (int64_t)plan->room * plan->partitions;
}

/* Chooses a table of few groups, if a batch seems to have no more. */
void choose_few(const bf_context *context, bf_cuda_batch_plan *plan, double groups) {
    plan->few = plan->rank_bytes == 4 && !plan->keeps_slots && groups <= FEW_EXPECTED;
    if (!plan->few) return;
    plan->limit = BF_CUDA_FEW_GROUPS;
    if (plan->partitions == 1) plan->batch_most = (unsigned)context->cuda->multiprocessors;
}

/* The plans that are tried, one after another, as long as tables overflow: by the guess of the last
 * call; by a sample; without tables of few groups; for as many groups as batches suit. */
enum { WAY_GUESSED, WAY_SAMPLED, WAY_AGAIN, WAY_LAST, WAYS };

/* Chooses a plan by g->guess. */
void choose_plan(const bf_context *context, const bf_cuda_groups *g, bf_cuda_batch_plan *plan,
                 int way) {
    bool last = way == WAY_LAST;
    unsigned multiprocessors = (unsigned)context->cuda->multiprocessors;
    bool large = g->guess > FEW_GROUPS;
    choose_table(context, plan, large);
    plan->partitions = 1;
    plan->batch_most = large ? multiprocessors : 2 * multiprocessors;
    if (plan->batch_most < plan->n / BATCH_ROWS_MOST)
        plan->batch_most = (unsigned)(plan->n / BATCH_ROWS_MOST);
    plan->capacity = plan->n;
    if (!last && g->guess < 0.9 * plan->limit) {
        if (way < WAY_AGAIN) choose_few(context, plan, g->guess);
        return;
    }
    plan->partitions = PARTITIONS_LEAST;
    while (plan->partitions < BF_CUDA_PARTITIONS_MOST &&
           plan->partitions * (double)PARTITION_GROUPS < g->guess)
        plan->partitions *= 2;
    if (last) plan->partitions = BF_CUDA_PARTITIONS_MOST;
    double most = plan->keeps_slots ? 2.0 * PARTITION_GROUPS : MANY_GROUPS;
    choose_table(context, plan, last || g->guess > most * plan->partitions);
    if (way < WAY_AGAIN) choose_few(context, plan, g->guess / plan->partitions);
    choose_batches(plan, last || g->uneven);
}

/* Divides memory among a plan's arrays; returns the bytes that they need. */
size_t divide(bf_cuda_batch_plan *plan, char *memory) {
    char *at = memory;
    size_t capacity = (size_t)plan->capacity, slots = (size_t)plan->slots;
    plan->batch_count = (unsigned *)bf_cuda_next_part(&at, 2 * sizeof(unsigned));
    plan->batches =
        (bf_cuda_batch *)bf_cuda_next_part(&at, plan->batch_most * sizeof(bf_cuda_batch));
    if (!plan->keeps_slots) return (size_t)(at - memory);
    plan->row_slots = (uint16_t *)bf_cuda_next_part(&at, capacity * sizeof(uint16_t));
    plan->slot_entry =
        (uint16_t *)bf_cuda_next_part(&at, plan->batch_most * slots * sizeof(uint16_t));
    return (size_t)(at - memory);
}

bf_status alloc_plan(bf_context *context, bf_cuda_groups *g, bf_cuda_batch_plan *plan) {
    int64_t entries = (int64_t)plan->batch_most * plan->limit;
    plan->entries = (unsigned)(entries < plan->n ? entries : plan->n);
    char *memory =
        (char *)bf_cuda_group_scratch_of(context, g, BF_CUDA_SCRATCH_BATCHES, divide(plan, NULL));
    if (memory == NULL) return BF_E_MEMORY;
    divide(plan, memory);
    plan->entry_ranks = bf_cuda_group_scratch_of(context, g, BF_CUDA_SCRATCH_ENTRY_RANKS,
                                                 (size_t)plan->entries * (size_t)plan->rank_bytes);
    plan->entry_counts = (int64_t *)bf_cuda_group_scratch_of(
        context, g, BF_CUDA_SCRATCH_ENTRY_COUNTS, (size_t)plan->entries * sizeof(int64_t));
    return plan->entry_ranks != NULL && plan->entry_counts != NULL ? BF_OK : BF_E_MEMORY;
}

bf_status find_groups(bf_context *context, bf_cuda_groups *g, bf_cuda_batch_plan *plan,
                      bool *overflow) {
    bf_status status = alloc_plan(context, g, plan);
    if (status != BF_OK) return status;
    if (plan->partitions > 1) {
        status = bf_cuda_groups_partition(context, g, plan);
    } else {
        make_even_batches<<<1, BF_CUDA_GROUP_THREADS, 0, context->cuda->stream>>>(
            (unsigned)plan->n, plan->batch_most, plan->batch_count, plan->batches);
        status = bf_cuda_group_check(context, cudaGetLastError());
    }
    return status == BF_OK ? bf_cuda_groups_tabulate(context, g, plan, overflow) : status;
}

/* --- from entries to groups --- */

bf_status prepare_aggregates(bf_context *context, bf_cuda_groups *g, const void *const values[],
                             int64_t n) {
    bf_cuda_group_set *set = &g->fresh;
    bf_status status = BF_OK;
    for (int c = 0; c < g->count && status == BF_OK; c++)
        status =
            bf_cuda_aggregate_guess(context, &set->aggregates[c],
                                    bf_cuda_values_of(g, c, values).of, n, set->size, set->room);
    return status;
}

/* Makes room for the entries in front, so many of those at the back, and their values. */
bf_status reserve_groups(bf_context *context, bf_cuda_groups *g, bf_cuda_batch_plan *plan,
                         const void *const values[], int64_t back) {
    bf_cuda_group_set *set = &g->fresh;
    bf_status status = bf_cuda_set_reserve(context, g, set, set->size + back + plan->front);
    return status == BF_OK ? prepare_aggregates(context, g, values, plan->n) : status;
}

/* Numbers the entries at the back by the index. If there are few, makes room for all, rather than
 * wait for the number of new ones. */
bf_status number_back(bf_context *context, bf_cuda_groups *g, bf_cuda_batch_plan *plan,
                      const void *const values[]) {
    bf_cuda_group_set *set = &g->fresh;
    const char *ranks =
        (const char *)plan->entry_ranks + (size_t)plan->back * (size_t)g->rank_bytes;
    const int64_t *counts = plan->entry_counts + plan->back;
    int64_t n = plan->entries - plan->back, fresh = 0;
    unsigned *numbers = (unsigned *)bf_cuda_group_scratch_of(context, g, BF_CUDA_SCRATCH_NUMBERS,
                                                             (size_t)n * sizeof *numbers);
    if (numbers == NULL) return BF_E_MEMORY;
    plan->numbers = numbers;
    if (n <= FEW_ENTRIES) {
        bf_status status = reserve_groups(context, g, plan, values, n);
        if (status != BF_OK) return status;
        return bf_cuda_set_insert(context, g, set, ranks, counts, n, numbers);
    }
    bf_status status = bf_cuda_set_claim(context, g, set, ranks, n, numbers, &fresh);
    if (status == BF_OK) status = reserve_groups(context, g, plan, values, fresh);
    if (status != BF_OK) return status;
    return bf_cuda_set_settle(context, g, set, ranks, n, numbers, fresh, counts);
}

void swap_buffers(bf_cuda_buffer *a, bf_cuda_buffer *b) {
    bf_cuda_buffer before = *a;
    *a = *b;
    *b = before;
}

cudaError_t copy_front(bf_context *context, bf_cuda_groups *g, const bf_cuda_batch_plan *plan) {
    bf_cuda_group_set *set = &g->fresh;
    size_t bytes = (size_t)g->rank_bytes, size = (size_t)set->size, n = plan->front;
    cudaStream_t stream = context->cuda->stream;
    cudaError_t error = cudaMemcpyAsync((char *)set->ranks.memory + size * bytes, plan->entry_ranks,
                                        n * bytes, cudaMemcpyDeviceToDevice, stream);
    if (error != cudaSuccess) return error;
    return cudaMemcpyAsync((int64_t *)set->counts.memory + size, plan->entry_counts,
                           n * sizeof(int64_t), cudaMemcpyDeviceToDevice, stream);
}

/* Appends the entries in front to the set as groups. An empty set gets their memory. */
bf_status append_front(bf_context *context, bf_cuda_groups *g, bf_cuda_batch_plan *plan) {
    bf_cuda_group_set *set = &g->fresh;
    cudaError_t error = cudaSuccess;
    plan->base = (unsigned)set->size;
    if (plan->front == 0) return BF_OK;
    if (set->size == 0) {
        swap_buffers(&set->ranks, &g->scratch[BF_CUDA_SCRATCH_ENTRY_RANKS]);
        swap_buffers(&set->counts, &g->scratch[BF_CUDA_SCRATCH_ENTRY_COUNTS]);
    } else {
        error = copy_front(context, g, plan);
    }
    for (int c = 0; c < g->count && error == cudaSuccess; c++)
        error = bf_cuda_aggregate_extend(context, &set->aggregates[c], set->size, plan->front);
    set->size += plan->front;
    set->rank_bits |= plan->rank_bits;
    set->slot_count = 0;
    return bf_cuda_group_check(context, error);
}

bf_status number_groups(bf_context *context, bf_cuda_groups *g, bf_cuda_batch_plan *plan,
                        const void *const values[]) {
    bf_status status = plan->back < plan->entries ? number_back(context, g, plan, values)
                                                  : reserve_groups(context, g, plan, values, 0);
    return status == BF_OK ? append_front(context, g, plan) : status;
}

bf_status absorb_entries(bf_context *context, bf_cuda_groups *g, bf_cuda_batch_plan *plan,
                         const void *const values[]) {
    bf_status status = number_groups(context, g, plan, values);
    for (int c = 0; c < g->count && status == BF_OK; c++)
        status = bf_cuda_batch_values(context, g, plan, &g->fresh.aggregates[c],
                                      bf_cuda_values_of(g, c, plan->values).of,
                                      bf_cuda_values_of(g, c, values).of);
    return status;
}

} // namespace

static bf_status try_way(bf_context *context, bf_cuda_groups *g, bf_cuda_batch_plan plan, int way,
                         const void *const values[], bool *overflow) {
    bf_status status = BF_OK;
    if (way == WAY_SAMPLED) status = bf_cuda_groups_sample(context, g, plan.ranks, plan.n);
    if (status != BF_OK) return status;
    choose_plan(context, g, &plan, way);
    status = find_groups(context, g, &plan, overflow);
    return status == BF_OK && !*overflow ? absorb_entries(context, g, &plan, values) : status;
}

bf_status bf_cuda_groups_absorb_batches(bf_context *context, bf_cuda_groups *g, const void *ranks,
                                        const void *const values[], int64_t n, bool *absorbed) {
    bool overflow = true;
    bf_status status = BF_OK;
    bf_cuda_batch_plan plan = {};
    uint64_t factor = g->seed.first;
    *absorbed = false;
    if (n < ROWS_LEAST || g->rank_bytes > 8 || context->cuda->shared < SHARED_LEAST) return BF_OK;
    plan.rank_bytes = g->rank_bytes;
    plan.ranks = ranks;
    plan.n = n;
    plan.keeps_slots = g->count > 0;
    plan.mixes = g->fresh.size > 0;
    for (int i = 0; i < g->arrays; i++) plan.values[i] = values[i];
    for (int way = g->guess > 0 ? WAY_GUESSED : WAY_SAMPLED;
         way < WAYS && status == BF_OK && overflow; way++) {
        plan.factor = factor | 1;
        status = try_way(context, g, plan, way, values, &overflow);
        factor = bf_hash_mix(factor);
    }
    *absorbed = status == BF_OK && !overflow;
    g->guess = *absorbed ? (double)g->fresh.size : 0;
    return status;
}
