/* Scans: a call. */
#include "cuda/scan/scan.cuh"

#include "cuda/runtime/element.cuh"
#include "cuda/runtime/mailbox.cuh"
#include "cuda/runtime/memory.cuh"
#include "cuda/scan/rolling.cuh"

extern "C" {
#include "rules/number/dtype.h"
}

namespace {

enum {
    SHORT = 512,       /* columns no longer are a thread's */
    COLUMNS = 1 << 14, /* so many keep all threads busy, a thread a line */
    /* Tiles that a GPU's blocks hold at a time have come and gone when one is scanned, and the
     * cache still has its elements: an H200 took 1.04 times as long at 480, and 1.1 times at
     * 768. */
    LAG = 624
};

bf_cuda_scan_params params_of(const bf_scan_job *job) {
    bf_cuda_scan_params p = {};
    const bf_value *empty = job->prefix.options.empty;
    p.prefix = job->prefix;
    p.exclusive = job->exclusive;
    p.reverse = job->reverse;
    p.outer = job->outer;
    p.length = job->length;
    p.inner = job->inner;
    p.segments = job->offsets != NULL ? job->segments : 0;
    p.bytes = bf_dtype_bytes(job->prefix.dtype);
    p.to_bytes = bf_dtype_bytes(job->prefix.to);
    p.has_empty = empty != NULL;
    p.refusal = p.prefix.kind == BF_KIND_EXTREME ? BF_E_EMPTY : BF_E_OVERFLOW;
    if (empty != NULL) p.empty = bf_load_bits(&empty->as, p.to_bytes);
    p.prefix.options.empty = NULL; /* kernels cannot reach it */
    return p;
}

bf_cuda_scan_kernels find_kernels(const bf_cuda_scan_params &p, bool goes_on) {
    if (p.prefix.kind == BF_KIND_EXTREME) return bf_cuda_scan_extremes(p);
    return bf_prefix_sums_floats(&p.prefix) ? bf_cuda_scan_floats(p)
                                            : bf_cuda_scan_integers(p, goes_on);
}

/* --- memory --- */

/* Whether elements are read once their results may have been written: lines of floats may be summed
 * twice, and what comes before an element of a tile may be another's. */
bool reads_again(const bf_cuda_scan_params &p) {
    return p.exclusive || bf_prefix_sums_floats(&p.prefix);
}

bf_status reach_arrays(bf_cuda_call *call, const bf_scan_job *job, bf_cuda_scan_params *p) {
    const int64_t n = p->outer * p->length * p->inner;
    const size_t bytes = (size_t)(n * p->bytes), to_bytes = (size_t)(n * p->to_bytes);
    bf_status status = bf_cuda_call_read(call, job->elements, bytes, p->bytes, &p->elements);
    if (status == BF_OK)
        status = bf_cuda_call_write(call, job->values, to_bytes, p->to_bytes, &p->values);
    if (status != BF_OK || p->elements != p->values || !reads_again(*p)) return status;
    void *copy = bf_cuda_call_alloc(call, bytes);
    if (copy == NULL) return BF_E_MEMORY;
    p->elements = copy;
    return bf_cuda_check(call->context,
                         cudaMemcpyAsync(copy, p->values, bytes, cudaMemcpyDeviceToDevice,
                                         call->context->cuda->stream),
                         "copying what is scanned");
}

/* Makes what is 0 at first: the board, the packets of tiles, and the marks. */
bf_status make_zeros(bf_cuda_call *call, const bf_cuda_scan_kernels &k, bf_cuda_scan_params *p) {
    const int64_t tiles = p->line_tiles > 1 ? p->tiles : 0, packets = tiles * k.packets;
    const int64_t marks = bf_prefix_sums_floats(&p->prefix) ? bf_cuda_scan_lines(*p) / 32 + 1 : 0;
    const size_t bytes = sizeof *p->board +
                         (size_t)(2 * packets + tiles * k.range_packets) * sizeof *p->totals +
                         (size_t)marks * sizeof *p->marks;
    void *memory = bf_cuda_call_alloc(call, bytes);
    if (memory == NULL) return BF_E_MEMORY;
    p->board = (bf_cuda_scan_board *)memory;
    p->totals = (bf_cuda_packet *)(p->board + 1);
    p->befores = p->totals + packets;
    p->ranges = p->befores + packets;
    p->marks = (uint32_t *)(p->ranges + tiles * k.range_packets);
    return bf_cuda_check(call->context,
                         cudaMemsetAsync(memory, 0, bytes, call->context->cuda->stream), "a scan");
}

/* The states of what came before each line, or segment. */
bf_status make_starts(bf_cuda_call *call, const bf_scan_job *job, const bf_cuda_scan_kernels &k,
                      bf_cuda_scan_params *p) {
    const int64_t lines = bf_cuda_scan_lines(*p);
    const int count = bf_state_words(p->prefix.kind, p->prefix.dtype, job->starts);
    const void *words;
    bf_status status = bf_cuda_call_read(call, job->starts,
                                         (size_t)(lines * count) * sizeof *job->starts, 8, &words);
    if (status != BF_OK) return status;
    p->words = (const int64_t *)words;
    p->starts = bf_cuda_call_alloc(call, (size_t)(lines * k.start));
    if (p->starts == NULL) return BF_E_MEMORY;
    const bf_cuda *cuda = call->context->cuda;
    void *arguments[] = {p};
    return bf_cuda_check(
        call->context,
        bf_cuda_launch(cuda, k.starts,
                       {bf_cuda_blocks(cuda, lines, BF_CUDA_SCAN_THREADS), BF_CUDA_SCAN_THREADS},
                       arguments),
        "states that a scan goes on from");
}

/* --- failures of the data --- */

__global__ void __launch_bounds__(BF_CUDA_SCAN_THREADS)
    look_for_nans(const __grid_constant__ bf_cuda_scan_params p) {
    const bf_format format = bf_format_of(p.prefix.dtype);
    for (int64_t i : bf_cuda_indices<BF_CUDA_SCAN_THREADS>(p.outer * p.length * p.inner))
        if (bf_is_nan(format, bf_cuda_element::load_bits(p.elements, p.bytes, i)))
            p.board->failed = BF_E_NAN;
}

/* Looks for NaNs that are refused, of a queued call: those of others have been looked for. */
bf_status refuse_nans(bf_cuda_call *call, const bf_scan_job *job, const bf_cuda_scan_params &p) {
    const bf_cuda *cuda = call->context->cuda;
    if (!job->queued || p.prefix.options.nan != BF_NAN_ERROR || !bf_dtype_is_float(p.prefix.dtype))
        return BF_OK;
    const int64_t n = p.outer * p.length * p.inner;
    const bf_cuda_shape shape = {bf_cuda_blocks(cuda, n, BF_CUDA_SCAN_THREADS),
                                 BF_CUDA_SCAN_THREADS};
    return bf_cuda_check(call->context, bf_cuda_launch(cuda, look_for_nans, shape, p), "a scan");
}

struct scan_failure {
    bf_reduction op;
    bf_dtype to;
};

__global__ void report_scan(bf_cuda_late late, const unsigned long long *failed, bf_cuda_late *to) {
    late.status = (int64_t)*failed;
    if (late.status != BF_OK) bf_cuda_leave_late(late, to);
}

bf_status tell_scan(bf_context *context, const bf_cuda_late *late) {
    scan_failure failure;
    memcpy(&failure, late->what, sizeof failure);
    const bf_prefix prefix = {.op = failure.op, .to = failure.to};
    return bf_scan_refuse(context, (bf_status)late->status, &prefix);
}

/* --- kernels --- */

/* Makes one line of all, of which each is a segment, where that fills tiles that a line does not.
 */
void join_lines(const bf_cuda_scan_kernels &k, bf_cuda_scan_params *p) {
    const int64_t room = (p->length + k.tile - 1) / k.tile * k.tile;
    if (p->segments > 0 || p->inner > 1 || p->outer == 1 || room - p->length < p->length / 4)
        return;
    p->row = p->length;
    p->segments = p->outer;
    p->length *= p->outer;
    p->outer = 1;
}

/* Chooses tiles, unless threads take columns. */
void cut_tiles(const bf_cuda_scan_kernels &k, bf_cuda_scan_params *p) {
    const int64_t lines = p->outer * p->inner;
    if (p->inner > 1 && (p->length <= SHORT || lines >= COLUMNS)) return;
    p->line_tiles = (p->length + k.tile - 1) / k.tile;
    p->tiles = p->line_tiles * lines;
    if (p->line_tiles > 1) p->lag = p->tiles < LAG ? p->tiles : LAG;
}

bf_status launch(bf_cuda_call *call, const bf_cuda_scan_kernels &k, bf_cuda_scan_params *p) {
    const bf_cuda *cuda = call->context->cuda;
    const void *kernel = p->tiles == 0 ? k.columns : p->segments > 0 ? k.segments : k.tiles;
    /* One block chains tiles; some more scan the last of them. */
    const int64_t more = p->lag == 0 ? 0 : p->values == NULL ? 1 : 1 + p->lag;
    bf_cuda_shape shape = {p->tiles + more, BF_CUDA_SCAN_THREADS};
    void *arguments[] = {p};
    if (p->tiles == 0)
        shape.blocks = bf_cuda_blocks(cuda, p->outer * p->inner, BF_CUDA_SCAN_THREADS, 64);
    return bf_cuda_check(call->context, bf_cuda_launch(cuda, kernel, shape, arguments), "a scan");
}

/* Finds what is before each tile, and whether the magnitudes of elements tell that sums fit. */
bf_status reduce_tiles(bf_cuda_call *call, const bf_cuda_scan_kernels &k,
                       const bf_cuda_scan_params &p, bool *fit) {
    bf_cuda_scan_params reduced = p;
    struct {
        unsigned tickets;
        uint32_t large;
    } told;
    reduced.values = NULL;
    reduced.lag = p.tiles; /* none is scanned */
    bf_status status = launch(call, k, &reduced);
    if (status == BF_OK)
        status = bf_cuda_fetch_words(call->context, cudaSuccess, p.board, 1, &told, "a scan");
    *fit = p.prefix.kind == BF_KIND_SUM && p.starts == NULL &&
           32 + bf_bit_length(told.large) + bf_bit_length((uint64_t)p.length) <= 63;
    return status;
}

/* Makes sure that the data do not make a scan fail whose values are kept then: what is before each
 * tile is found first, and unless all sums fit, it is scanned without results. */
bf_status try_scan(bf_cuda_call *call, const bf_cuda_scan_kernels &k, bf_cuda_scan_params *p) {
    bool fit = false;
    bf_status status = p->lag > 0 ? reduce_tiles(call, k, *p, &fit) : BF_OK;
    p->lag = 0;
    bf_cuda_scan_params tried = *p;
    tried.values = NULL;
    if (status == BF_OK && !fit) status = launch(call, k, &tried);
    if (status == BF_OK && !fit) status = bf_cuda_scan_conclude(call, &p->board->failed, p->prefix);
    p->prefix.options.overflow = BF_OVERFLOW_WRAP; /* none has been found */
    return status;
}

/* Scans the lines that are marked. Who waits for the results anyway first learns if any is. */
bf_status scan_marked(bf_cuda_call *call, const bf_cuda_scan_params &p) {
    int64_t marked = 1;
    bf_status status = BF_OK;
    if (!call->queued)
        status =
            bf_cuda_fetch_words(call->context, cudaSuccess, &p.board->marked, 1, &marked, "a scan");
    return status == BF_OK && marked ? bf_cuda_scan_exactly(call, p) : status;
}

bf_status run(bf_context *context, const bf_scan_job *job) {
    bf_cuda_call call;
    bf_cuda_scan_params p = params_of(job);
    const bf_cuda_scan_kernels k = find_kernels(p, job->starts != NULL);
    bf_status status = bf_cuda_call_begin(&call, context, job->queued);
    join_lines(k, &p);
    cut_tiles(k, &p);
    if (status == BF_OK) status = reach_arrays(&call, job, &p);
    if (status == BF_OK) status = make_zeros(&call, k, &p);
    if (status == BF_OK && job->offsets != NULL) status = bf_cuda_scan_cut(&call, job, &p);
    if (status == BF_OK) status = refuse_nans(&call, job, p);
    if (status == BF_OK && job->starts != NULL) status = make_starts(&call, job, k, &p);
    if (status == BF_OK && job->kept) status = try_scan(&call, k, &p);
    if (status == BF_OK) status = launch(&call, k, &p);
    if (status == BF_OK && bf_prefix_sums_floats(&p.prefix)) status = scan_marked(&call, p);
    if (status == BF_OK && bf_scan_may_fail(job) && !job->kept)
        status = bf_cuda_scan_conclude(&call, &p.board->failed, p.prefix);
    return bf_cuda_call_end(&call, status);
}

} // namespace

bf_status bf_cuda_scan_conclude(bf_cuda_call *call, const unsigned long long *failed,
                                const bf_prefix &prefix) {
    bf_context *context = call->context;
    if (call->queued) {
        const scan_failure failure = {prefix.op, prefix.to};
        bf_cuda_late late = {};
        late.tell = tell_scan;
        memcpy(late.what, &failure, sizeof failure);
        return bf_cuda_check(context,
                             bf_cuda_launch(context->cuda, report_scan, {1, 1}, late, failed,
                                            &context->cuda->mailbox->memory->late),
                             "a report of what fails");
    }
    int64_t why;
    bf_status status = bf_cuda_fetch_words(context, cudaSuccess, failed, 1, &why, "a scan");
    if (status != BF_OK || why == BF_OK) return status;
    return bf_scan_refuse(context, (bf_status)why, &prefix);
}

extern const bf_scan_backend bf_cuda_scan_backend = {.run = run, .roll = bf_cuda_roll};
