/* Many states of joint kinds as groups. */
#include "cuda/axis/joint/joint.cuh"

#include "cuda/axis/index/index.cuh"
#include "cuda/axis/joint/states.cuh"
#include "cuda/runtime/pipeline.cuh"

#include <stdlib.h>

extern "C" {
#include "seam/group.h"
}

namespace {

enum { STATES_THREADS = 256 };

bf_status check(bf_context *context, cudaError_t error) {
    return bf_cuda_check(context, error, "states of pairs and powers");
}

const bf_group_backend *by() { return bf_backend_cuda.group; }

int64_t groups_of(const bf_cuda_joint_states *s) { return by()->size(s->groups); }

/* The numbers of the groups are listed anew when they are needed. */
void forget_keys(bf_cuda_joint_states *s) {
    free(s->keys);
    s->keys = NULL;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Elements [begin, end) of the rows, and the number of the state of the first column of slot 0. */
struct numbering {
    bf_rows rows;
    int64_t begin, end, first;
};

__device__ uint64_t place_at(const bf_rows &rows, int64_t i) {
    const int bytes = bf_dtype_bytes(rows.places_dtype);
    const uint64_t bits = bf_cuda_element::load_bits(rows.places, bytes, i);
    return rows.places_dtype == BF_I32 ? (uint64_t)(int64_t)(int32_t)bits : bits;
}

/* The last slot that begins at this row or before. */
__device__ int64_t slot_by_offsets(const bf_rows &rows, int64_t row) {
    int64_t low = 0, high = rows.slots;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if ((int64_t)place_at(rows, middle) <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Sets the number of each element's state. *wrong: the first row whose index is no slot. */
__global__ void __launch_bounds__(STATES_THREADS)
    number_elements(const __grid_constant__ numbering q, uint32_t *numbers,
                    unsigned long long *wrong) {
    const bf_rows &rows = q.rows;
    for (const int64_t i : bf_cuda_indices<STATES_THREADS>(q.end - q.begin)) {
        const int64_t row = (q.begin + i) / rows.width, column = (q.begin + i) % rows.width;
        int64_t slot = 0;
        if (rows.by == BF_ROWS_BY_LENGTH) {
            slot = row / rows.length;
        } else if (rows.by == BF_ROWS_BY_OFFSETS) {
            slot = slot_by_offsets(rows, row);
        } else {
            const uint64_t place = place_at(rows, row);
            if (place >= (uint64_t)rows.slots)
                atomicMin(wrong, (unsigned long long)row);
            else
                slot = (int64_t)place;
        }
        numbers[i] = (uint32_t)(q.first + slot * rows.width + column);
    }
}

/* Slots end where the last offset says; rows before the first are of none. */
__global__ void find_ends(bf_rows rows, int64_t *ends) {
    ends[threadIdx.x] = (int64_t)place_at(rows, threadIdx.x == 0 ? 0 : rows.slots) * rows.width;
}

/* Checks offsets, and leaves out the elements of no slot. Scratch: two words. */
bf_status cut_by_offsets(bf_context *context, numbering *q, bf_cuda_index_params *p,
                         int64_t *scratch) {
    int64_t ends[2];
    bf_status status = bf_cuda_index_check(context, &q->rows, p->board);
    if (status == BF_OK) status = bf_cuda_index_settle(context, p, &q->rows, 0, NULL);
    if (status != BF_OK) return status;
    find_ends<<<1, 2, 0, context->cuda->stream>>>(q->rows, scratch);
    status = bf_cuda_fetch_words(context, cudaGetLastError(), scratch, 2, ends, "offsets");
    q->begin = ends[0];
    q->end = ends[1];
    return status;
}

bf_status absorb_numbered(bf_context *context, bf_cuda_joint_states *s, const numbering &q,
                          const void *a, const void *b, bf_cuda_index_params *p) {
    const int64_t n = q.end - q.begin, at = q.begin * bf_dtype_bytes(s->dtype);
    if (n == 0) return BF_OK;
    uint32_t *numbers = (uint32_t *)bf_cuda_alloc(context, (size_t)n * sizeof *numbers);
    if (numbers == NULL) return BF_E_MEMORY;
    number_elements<<<bf_cuda_blocks(context->cuda, n, STATES_THREADS), STATES_THREADS, 0,
                      context->cuda->stream>>>(q, numbers, &p->board->wrong);
    bf_status status = check(context, cudaGetLastError());
    if (status == BF_OK) status = bf_cuda_index_settle(context, p, &q.rows, 0, NULL);
    bf_group_job job = {};
    job.n = n;
    job.keys = numbers;
    for (const void *values : {a, b})
        if (values != NULL) {
            job.values[job.arrays] = (const char *)values + at;
            job.dtypes[job.arrays++] = s->dtype;
        }
    job.of[0][1] = job.arrays - 1;
    if (status == BF_OK) status = by()->absorb(context, s->groups, &job);
    bf_cuda_free(context, numbers);
    return status;
}

/* ---- one result for each state --------------------------------------------------------------- */

/* What groups have becomes what states have: an element of `bytes` each. */
__global__ void __launch_bounds__(STATES_THREADS)
    scatter(const uint32_t *keys, const void *from, int bytes, int64_t n, void *to) {
    for (const int64_t i : bf_cuda_indices<STATES_THREADS>(n))
        bf_cuda_element::store_bits(to, bytes, keys[i], bf_cuda_element::load_bits(from, bytes, i));
}

__global__ void __launch_bounds__(STATES_THREADS)
    fill(void *to, int bytes, int64_t n, uint64_t bits) {
    for (const int64_t i : bf_cuda_indices<STATES_THREADS>(n))
        bf_cuda_element::store_bits(to, bytes, i, bits);
}

/* Memory for the groups' numbers, what they have, and what all states have. */
struct columns {
    uint32_t *keys;
    char *of_groups, *of_states;
};

/* Calls list(columns), which sets the first two, and copies what states have to `to`: of states
 * without a group, `empty`. */
template <class List>
bf_status copy_column(bf_context *context, const bf_cuda_joint_states *s, int bytes, uint64_t empty,
                      void *to, const List &list) {
    const int64_t n = groups_of(s);
    cudaStream_t stream = context->cuda->stream;
    size_t part[] = {(size_t)n * sizeof(uint32_t), (size_t)n * (size_t)bytes,
                     (size_t)s->count * (size_t)bytes};
    size_t all = 0;
    for (size_t each : part) all += bf_cuda_part_bytes(each);
    void *memory = bf_cuda_alloc(context, all);
    if (memory == NULL) return BF_E_MEMORY;
    char *next = (char *)memory;
    columns c = {};
    c.keys = (uint32_t *)bf_cuda_next_part(&next, part[0]);
    c.of_groups = (char *)bf_cuda_next_part(&next, part[1]);
    c.of_states = (char *)bf_cuda_next_part(&next, part[2]);
    bf_status status = n > 0 ? list(c) : BF_OK;
    if (status == BF_OK) {
        fill<<<bf_cuda_blocks(context->cuda, s->count, STATES_THREADS), STATES_THREADS, 0,
               stream>>>(c.of_states, bytes, s->count, empty);
        if (n > 0)
            scatter<<<bf_cuda_blocks(context->cuda, n, STATES_THREADS), STATES_THREADS, 0,
                      stream>>>(c.keys, c.of_groups, bytes, n, c.of_states);
        status = check(context, cudaGetLastError());
    }
    if (status == BF_OK) status = bf_cuda_copy(context, to, c.of_states, part[2]);
    if (status == BF_OK) status = bf_cuda_wait(context, cudaSuccess, "states on a GPU");
    bf_cuda_free(context, memory);
    return status;
}

/* The result of a state that has no element. */
uint64_t empty_result(const bf_cuda_joint_states *s, bf_reduction op, const bf_results *results) {
    static const int64_t words[BF_PARTS_WORDS_MAX] = {0};
    return bf_joint_result(bf_kind_of(op, s->dtype), op, s->dtype, words, results->options,
                           bf_format_of(results->to));
}

/* ---- words ----------------------------------------------------------------------------------- */

bf_status list_keys(bf_context *context, bf_cuda_joint_states *s) {
    const int64_t n = groups_of(s);
    if (s->keys != NULL || n == 0) return BF_OK;
    s->keys = (uint32_t *)malloc((size_t)n * sizeof *s->keys);
    if (s->keys == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for words");
    const bf_status status = by()->list(context, s->groups, s->keys, NULL);
    if (status != BF_OK) forget_keys(s);
    return status;
}

/* How many groups have numbers below this. */
int64_t count_below(const bf_cuda_joint_states *s, int64_t number) {
    int64_t low = 0, high = groups_of(s);
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (s->keys[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

} // namespace

/* ---- the functions --------------------------------------------------------------------------- */

bf_status bf_cuda_joint_states_open(bf_context *context, bf_cuda_joint_states *s) {
    const bf_aggregate aggregate = {s->op, s->dtype};
    const bf_group_kind kind = {BF_U32, 1, &aggregate, 0};
    return by()->create(context, &kind, &s->groups);
}

void bf_cuda_joint_states_close(bf_context *context, bf_cuda_joint_states *s) {
    forget_keys(s);
    if (s->groups != NULL) by()->destroy(context, s->groups);
    s->groups = NULL;
}

void bf_cuda_joint_states_clear(bf_context *context, bf_cuda_joint_states *s) {
    forget_keys(s);
    by()->clear(context, s->groups);
}

bf_status bf_cuda_joint_states_absorb(bf_context *context, bf_cuda_joint_states *s, int64_t first,
                                      const void *a, const void *b, const bf_rows *rows) {
    const bool placed = rows->by != BF_ROWS_BY_LENGTH, index = rows->by == BF_ROWS_BY_INDEX;
    numbering q = {*rows, 0, rows->count * rows->width, first};
    void *copy = NULL;
    bf_status status = BF_OK;
    bf_cuda_index_params p = {};
    p.board = bf_cuda_index_board_make(context);
    int64_t *scratch = (int64_t *)bf_cuda_alloc(context, 2 * sizeof *scratch);
    if (p.board == NULL || scratch == NULL) status = BF_E_MEMORY;
    if (status == BF_OK && placed)
        status = bf_cuda_axis_reach(context, rows->places, index ? rows->count : rows->slots + 1,
                                    bf_dtype_bytes(rows->places_dtype), &copy, &q.rows.places);
    if (status == BF_OK && placed && !index) status = cut_by_offsets(context, &q, &p, scratch);
    forget_keys(s);
    if (status == BF_OK) status = absorb_numbered(context, s, q, a, b, &p);
    bf_cuda_free(context, copy);
    bf_cuda_free(context, scratch);
    bf_cuda_free(context, p.board);
    return status;
}

bf_status bf_cuda_joint_states_merge(bf_context *context, bf_cuda_joint_states *into,
                                     const bf_cuda_joint_states *from) {
    forget_keys(into);
    return by()->merge(context, into->groups, from->groups);
}

bf_status bf_cuda_joint_states_result(bf_context *context, const bf_cuda_joint_states *s,
                                      bf_reduction op, const bf_results *results) {
    const bf_status status =
        copy_column(context, s, bf_dtype_bytes(results->to), empty_result(s, op, results),
                    results->values, [&](const columns &c) {
                        const bf_status listed = by()->list(context, s->groups, c.keys, NULL);
                        return listed == BF_OK
                                   ? by()->aggregate(context, s->groups, 0, op, results->options,
                                                     results->to, c.of_groups, NULL)
                                   : listed;
                    });
    if (status != BF_OK || results->fits == NULL) return status;
    return copy_column(context, s, 1, 1, results->fits, [&](const columns &c) {
        const bf_status listed = by()->list(context, s->groups, c.keys, NULL);
        return listed == BF_OK
                   ? check(context, cudaMemsetAsync(c.of_groups, 1, (size_t)groups_of(s),
                                                    context->cuda->stream))
                   : listed;
    });
}

bf_status bf_cuda_joint_states_counts(bf_context *context, const bf_cuda_joint_states *s,
                                      void *counts) {
    return copy_column(context, s, 8, 0, counts, [&](const columns &c) {
        return by()->list(context, s->groups, c.keys, c.of_groups);
    });
}

/* The words of the groups are read to the front, and then moved to their states from the last on.
 */
bf_status bf_cuda_joint_states_words(bf_context *context, bf_cuda_joint_states *s, int64_t first,
                                     int64_t n, int64_t *words) {
    const size_t each = (size_t)bf_states_words(s->op, s->dtype);
    bf_status status = list_keys(context, s);
    if (status != BF_OK) return status;
    const int64_t begin = count_below(s, first), end = count_below(s, first + n);
    if (end > begin) status = by()->words(context, s->groups, 0, begin, end - begin, words);
    int64_t left = end - begin;
    for (int64_t i = n - 1; i >= 0 && status == BF_OK; i--) {
        int64_t *to = words + (size_t)i * each;
        if (left > 0 && s->keys[begin + left - 1] == first + i)
            memmove(to, words + (size_t)--left * each, each * sizeof *to);
        else
            memset(to, 0, each * sizeof *to);
    }
    return status;
}

bf_status bf_cuda_joint_states_add_words(bf_context *context, bf_cuda_joint_states *s,
                                         int64_t first, int64_t n, const int64_t *words) {
    const size_t each = (size_t)bf_states_words(s->op, s->dtype), most = (size_t)n;
    uint32_t *keys = (uint32_t *)malloc(most * sizeof *keys);
    int64_t *counts = (int64_t *)malloc(most * sizeof *counts);
    int64_t *some = (int64_t *)malloc(most * each * sizeof *some);
    bf_status status = BF_OK;
    size_t m = 0;
    if (keys == NULL || counts == NULL || some == NULL)
        status = bf_fail(context, BF_E_MEMORY, "no memory for words");
    for (size_t i = 0; i < most && status == BF_OK; i++) {
        if (words[i * each + BF_SUM_COUNT] == 0) continue;
        keys[m] = (uint32_t)first + (uint32_t)i;
        counts[m] = words[i * each + BF_SUM_COUNT];
        memcpy(some + m++ * each, words + i * each, each * sizeof *some);
    }
    forget_keys(s);
    if (status == BF_OK && m > 0)
        status = by()->insert(context, s->groups, keys, counts, &some, (int64_t)m);
    free(some);
    free(counts);
    free(keys);
    return status;
}
