/* Rows taken unit by unit (batch.cuh): how, and from entries to groups. */
#include "cuda/group/batch.cuh"

namespace {

enum {
    THREADS = BF_CUDA_GROUP_THREADS,
    ROWS_LEAST = 1 << 14, /* of a call that is worth it */
    PARTS_LEAST = 256,
    PART_GROUPS = 2500,       /* of a part, if there are parts enough */
    FEW_EXPECTED = 450,       /* for a table of few groups, so that there may be some more */
    MANY_GROUPS = 1000,       /* for which a part without values has a large table */
    FEW_GROUPS = 1500,        /* for a table of half a multiprocessor's shared memory */
    FEW_ENTRIES = 1 << 18,    /* for which there may well be memory, were they all groups */
    PART_SPARE = 1024,        /* rows */
    UNIT_ROWS_MOST = 1 << 21, /* they have numbers of 16 bits for each lane */
    SHARED_LEAST = 160 << 10  /* bytes of shared memory of GPUs that this is for */
};

/* --- plans --- */

__global__ void __launch_bounds__(THREADS)
    make_even_units(unsigned n, unsigned count, unsigned *total, bf_cuda_unit *units) {
    for (unsigned i = threadIdx.x; i < count; i += THREADS) {
        unsigned begin = (unsigned)((uint64_t)n * i / count),
                 end = (unsigned)((uint64_t)n * (i + 1) / count);
        units[i] = bf_cuda_unit{begin, end, 0};
    }
    if (threadIdx.x == 0) total[0] = count;
    if (threadIdx.x == 0) total[1] = 0;
}

/* A table of half a multiprocessor's shared memory, or of all; three sevenths are for rows that
 * wait. */
void choose_table(const bf_context *context, bf_cuda_unit_plan *plan, bool large) {
    int shared = large ? context->cuda->shared - 1024 : (context->cuda->shared - 1024) / 2 - 256;
    int half = plan->rank_bytes == 4 ? BF_CUDA_HALF_THREADS_4 : BF_CUDA_HALF_THREADS_8;
    int most = large ? BF_CUDA_UNIT_THREADS : half;
    int waiting = bf_cuda_table_bytes(plan->rank_bytes, 0, 32);
    plan->threads = shared / 7 * 3 / waiting * 32;
    if (plan->threads > most) plan->threads = most;
    plan->blocks_each = large ? 1 : 2;
    plan->slots =
        (shared - bf_cuda_table_bytes(plan->rank_bytes, 0, plan->threads)) / (plan->rank_bytes + 4);
    plan->limit = large ? plan->slots / 3 * 2 : plan->slots / 8 * 5;
}

/* Parts of units that are counted, or have room for half as many rows again as they should get. */
void choose_units(bf_cuda_unit_plan *plan, bool counted) {
    int64_t rows = 2 * plan->n / plan->parts + 1;
    plan->unit_rows = (unsigned)rows;
    plan->units = (unsigned)(plan->parts + plan->n / rows + 1);
    plan->places = plan->n;
    if (counted) return;
    plan->room = (unsigned)(3 * plan->n / (2 * plan->parts) + PART_SPARE);
    plan->places = (int64_t)plan->room * plan->parts;
}

/* A table of few groups, if these are all that a unit seems to have. */
void choose_few(const bf_context *context, bf_cuda_unit_plan *plan, double groups) {
    plan->few = plan->rank_bytes == 4 && !plan->keeps_slots && groups <= FEW_EXPECTED;
    if (!plan->few) return;
    plan->limit = BF_CUDA_FEW_GROUPS;
    if (plan->parts == 1) plan->units = (unsigned)context->cuda->multiprocessors;
}

/* What is tried, one after the other, as long as tables overflow. */
enum { WAY_GUESSED, WAY_SAMPLED, WAY_AGAIN, WAY_LAST, WAYS };

/* By g->guess. Again: with no table of few groups. Last: for as many groups as this can be a way
 * for at all. */
void choose_plan(const bf_context *context, const bf_cuda_groups *g, bf_cuda_unit_plan *plan,
                 int way) {
    bool last = way == WAY_LAST;
    unsigned multiprocessors = (unsigned)context->cuda->multiprocessors;
    bool large = g->guess > FEW_GROUPS;
    choose_table(context, plan, large);
    plan->parts = 1;
    plan->units = large ? multiprocessors : 2 * multiprocessors;
    if (plan->units < plan->n / UNIT_ROWS_MOST) plan->units = (unsigned)(plan->n / UNIT_ROWS_MOST);
    plan->places = plan->n;
    if (!last && g->guess < 0.9 * plan->limit) {
        if (way < WAY_AGAIN) choose_few(context, plan, g->guess);
        return;
    }
    plan->parts = PARTS_LEAST;
    while (plan->parts < BF_CUDA_PARTS_MOST && plan->parts * (double)PART_GROUPS < g->guess)
        plan->parts *= 2;
    if (last) plan->parts = BF_CUDA_PARTS_MOST;
    double most = plan->keeps_slots ? 2.0 * PART_GROUPS : MANY_GROUPS;
    choose_table(context, plan, last || g->guess > most * plan->parts);
    if (way < WAY_AGAIN) choose_few(context, plan, g->guess / plan->parts);
    choose_units(plan, last || g->uneven);
}

/* Places in scratch, one behind the other. */
struct layout {
    char *memory;
    size_t used;

    void *take(size_t bytes) {
        void *at = memory + used;
        used += (bytes + 255) & ~(size_t)255;
        return at;
    }
};

void lay_out(bf_cuda_unit_plan *plan, layout *at) {
    size_t places = (size_t)plan->places, slots = (size_t)plan->slots;
    plan->unit_count = (unsigned *)at->take(2 * sizeof(unsigned));
    plan->unit = (bf_cuda_unit *)at->take(plan->units * sizeof(bf_cuda_unit));
    if (!plan->keeps_slots) return;
    plan->row_slots = (uint16_t *)at->take(places * sizeof(uint16_t));
    plan->slot_entry = (uint16_t *)at->take(plan->units * slots * sizeof(uint16_t));
}

bf_status make_memory(bf_context *context, bf_cuda_groups *g, bf_cuda_unit_plan *plan) {
    int64_t entries = (int64_t)plan->units * plan->limit;
    plan->entries = (unsigned)(entries < plan->n ? entries : plan->n);
    layout at = {};
    lay_out(plan, &at);
    at.memory = (char *)bf_cuda_group_scratch_of(context, g, BF_CUDA_SCRATCH_UNITS, at.used);
    at.used = 0;
    if (at.memory == NULL) return BF_E_MEMORY;
    lay_out(plan, &at);
    plan->entry_ranks = bf_cuda_group_scratch_of(context, g, BF_CUDA_SCRATCH_ENTRY_RANKS,
                                                 (size_t)plan->entries * (size_t)plan->rank_bytes);
    plan->entry_counts = (int64_t *)bf_cuda_group_scratch_of(
        context, g, BF_CUDA_SCRATCH_ENTRY_COUNTS, (size_t)plan->entries * sizeof(int64_t));
    return plan->entry_ranks != NULL && plan->entry_counts != NULL ? BF_OK : BF_E_MEMORY;
}

bf_status find_groups(bf_context *context, bf_cuda_groups *g, bf_cuda_unit_plan *plan,
                      bool *overflow) {
    bf_status status = make_memory(context, g, plan);
    if (status != BF_OK) return status;
    if (plan->parts > 1) {
        status = bf_cuda_groups_part(context, g, plan);
    } else {
        make_even_units<<<1, THREADS, 0, context->cuda->stream>>>((unsigned)plan->n, plan->units,
                                                                  plan->unit_count, plan->unit);
        status = bf_cuda_group_check(context, cudaGetLastError());
    }
    return status == BF_OK ? bf_cuda_groups_tabulate(context, g, plan, overflow) : status;
}

/* --- from entries to groups --- */

bf_status prepare_columns(bf_context *context, bf_cuda_groups *g, const void *const values[],
                          int64_t n) {
    bf_cuda_group_set *set = &g->fresh;
    bf_status status = BF_OK;
    for (int c = 0; c < g->columns && status == BF_OK; c++)
        status =
            bf_cuda_column_guess(context, g, &set->columns[c], values[c], n, set->size, set->room);
    return status;
}

/* Room for the groups: those in front, and so many from the back. */
bf_status make_groups(bf_context *context, bf_cuda_groups *g, bf_cuda_unit_plan *plan,
                      const void *const values[], int64_t back) {
    bf_cuda_group_set *set = &g->fresh;
    bf_status status = bf_cuda_set_reserve(context, g, set, set->size + back + plan->front);
    return status == BF_OK ? prepare_columns(context, g, values, plan->n) : status;
}

/* The entries at the back are numbered as any rows; few of them without waiting for how many are
 * new. */
bf_status number_back(bf_context *context, bf_cuda_groups *g, bf_cuda_unit_plan *plan,
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
        bf_status status = make_groups(context, g, plan, values, n);
        if (status != BF_OK) return status;
        return bf_cuda_set_enter(context, g, set, ranks, counts, n, numbers);
    }
    bf_status status = bf_cuda_set_claim(context, g, set, ranks, n, numbers, &fresh);
    if (status == BF_OK) status = make_groups(context, g, plan, values, fresh);
    if (status != BF_OK) return status;
    return bf_cuda_set_settle(context, g, set, ranks, n, numbers, fresh, counts);
}

void swap(bf_cuda_buffer *a, bf_cuda_buffer *b) {
    bf_cuda_buffer before = *a;
    *a = *b;
    *b = before;
}

cudaError_t copy_front(bf_context *context, bf_cuda_groups *g, const bf_cuda_unit_plan *plan) {
    bf_cuda_group_set *set = &g->fresh;
    size_t bytes = (size_t)g->rank_bytes, size = (size_t)set->size, n = plan->front;
    cudaStream_t stream = context->cuda->stream;
    cudaError_t error = cudaMemcpyAsync((char *)set->ranks.memory + size * bytes, plan->entry_ranks,
                                        n * bytes, cudaMemcpyDeviceToDevice, stream);
    if (error != cudaSuccess) return error;
    return cudaMemcpyAsync((int64_t *)set->counts.memory + size, plan->entry_counts,
                           n * sizeof(int64_t), cudaMemcpyDeviceToDevice, stream);
}

/* The entries in front are groups of their own, behind those of the set; where it has none, their
 * memory becomes its own. */
bf_status append_front(bf_context *context, bf_cuda_groups *g, bf_cuda_unit_plan *plan) {
    bf_cuda_group_set *set = &g->fresh;
    cudaError_t error = cudaSuccess;
    plan->base = (unsigned)set->size;
    if (plan->front == 0) return BF_OK;
    if (set->size == 0) {
        swap(&set->ranks, &g->scratch[BF_CUDA_SCRATCH_ENTRY_RANKS]);
        swap(&set->counts, &g->scratch[BF_CUDA_SCRATCH_ENTRY_COUNTS]);
    } else {
        error = copy_front(context, g, plan);
    }
    for (int c = 0; c < g->columns && error == cudaSuccess; c++)
        error = bf_cuda_column_extend(context, &set->columns[c], set->size, plan->front);
    set->size += plan->front;
    set->places = 0;
    return bf_cuda_group_check(context, error);
}

bf_status number_groups(bf_context *context, bf_cuda_groups *g, bf_cuda_unit_plan *plan,
                        const void *const values[]) {
    bf_status status = plan->back < plan->entries ? number_back(context, g, plan, values)
                                                  : make_groups(context, g, plan, values, 0);
    return status == BF_OK ? append_front(context, g, plan) : status;
}

bf_status take_entries(bf_context *context, bf_cuda_groups *g, bf_cuda_unit_plan *plan,
                       const void *const values[]) {
    bf_status status = number_groups(context, g, plan, values);
    for (int c = 0; c < g->columns && status == BF_OK; c++)
        status =
            bf_cuda_unit_values(context, g, plan, &g->fresh.columns[c], plan->values[c], values[c]);
    return status;
}

} // namespace

static bf_status try_way(bf_context *context, bf_cuda_groups *g, bf_cuda_unit_plan plan, int way,
                         const void *const values[], bool *overflow) {
    bf_status status = BF_OK;
    if (way == WAY_SAMPLED) status = bf_cuda_groups_sample(context, g, plan.ranks, plan.n);
    if (status != BF_OK) return status;
    choose_plan(context, g, &plan, way);
    status = find_groups(context, g, &plan, overflow);
    return status == BF_OK && !*overflow ? take_entries(context, g, &plan, values) : status;
}

bf_status bf_cuda_groups_take_units(bf_context *context, bf_cuda_groups *g, const void *ranks,
                                    const void *const values[], int64_t n, bool *taken) {
    bool overflow = true;
    bf_status status = BF_OK;
    bf_cuda_unit_plan plan = {};
    uint64_t factor = g->seed.first;
    *taken = false;
    if (n < ROWS_LEAST || g->rank_bytes > 8 || context->cuda->shared < SHARED_LEAST) return BF_OK;
    plan.rank_bytes = g->rank_bytes;
    plan.ranks = ranks;
    plan.n = n;
    plan.keeps_slots = g->columns > 0;
    plan.mixes = g->fresh.size > 0;
    for (int c = 0; c < g->columns; c++) plan.values[c] = values[c];
    for (int way = g->guess > 0 ? WAY_GUESSED : WAY_SAMPLED;
         way < WAYS && status == BF_OK && overflow; way++) {
        plan.factor = factor | 1;
        status = try_way(context, g, plan, way, values, &overflow);
        factor = bf_hash_mix(factor);
    }
    *taken = status == BF_OK && !overflow;
    g->guess = *taken ? (double)g->fresh.size : 0;
    return status;
}
