/* A call for joint kinds: batches of results. */
#include "cuda/axis/joint/joint.cuh"

#include "cuda/axis/strategies.cuh"
#include "cuda/runtime/memory.cuh"
#include "cuda/runtime/workspace.cuh"

namespace {

enum {
    BATCH = 1 << 17,
    BATCH_DIRECT = 1 << 22,
    LEAST_PIECE = 1 << 11,
    LEAST_PIECE_ACROSS = 1 << 8,
    FEW = 64, /* elements of a fibre that a lane takes alone, where fibres are many */
    MANY = 1 << 15
};

const bf_cuda_part_kind scratch_part = {}, words_part = {};

/* The levels of all parts of a kind, in windows with the most. */
int most_levels(const bf_parts &parts) {
    int levels = 0;
    for (int i = 0; i < parts.count; i++)
        levels += bf_cuda_joint::window_levels_of(parts.part[i].a + parts.part[i].b,
                                                  bf_cuda_joint::VARIANTS - 1);
    return levels;
}

/* The results of a batch: whole slots. */
int64_t batch_of(const bf_cuda_joint_params &q) {
    const bf_cuda_axis_layout &at = q.axis.at;
    const int64_t most = q.direct ? BATCH_DIRECT : BATCH;
    return bf_cuda_least(at.results, bf_cuda_most(1, most / at.width) * at.width);
}

/* The most units of a batch. */
int64_t units_of(const bf_cuda_joint_params &q) {
    const bf_cuda_axis_layout &at = q.axis.at;
    const int64_t batch = batch_of(q);
    const int64_t elements = at.offsets != NULL ? at.rows * at.width : batch * at.length;
    return batch + elements / BF_CUDA_JOINT_GIANT + 1;
}

/* Divides memory, or, of NULL, returns its bytes. */
size_t divide(bf_cuda_joint_params *q, char *memory) {
    const int64_t batch = batch_of(*q);
    char *next = memory;
    const auto part = [&](int64_t n, size_t each) {
        return bf_cuda_next_part(&next, (size_t)n * each);
    };
    q->board = (bf_cuda_joint_board *)part(1, sizeof *q->board);
    q->marks = (unsigned *)part(batch / 32 + 1, sizeof *q->marks);
    q->sums = (bf_cuda_joint::level_sum *)part(batch * q->levels, sizeof *q->sums);
    q->units = (bf_cuda_joint_unit *)part(units_of(*q), sizeof *q->units);
    q->shorts = (int64_t *)part(batch, sizeof *q->shorts);
    q->numbers =
        (bf_signed *)part(q->blocks * BF_CUDA_JOINT_PENDING * BF_JOINT_ROOM, sizeof *q->numbers);
    return (size_t)(next - memory);
}

/* Divides fibres, so that all multiprocessors have some. */
void set_pieces(const bf_cuda *cuda, bf_cuda_joint_params *q) {
    const bf_cuda_axis_layout &at = q->axis.at;
    const int64_t threads =
        (int64_t)cuda->multiprocessors * bf_cuda_joint::HELD * bf_cuda_joint::THREADS;
    const int64_t lanes = q->axis.along ? BF_CUDA_WARP : 1;
    const int64_t most = bf_cuda_joint::FOLDS_MOST * bf_cuda_joint::ROWS * lanes;
    const int64_t wanted = bf_cuda_ratio(8 * threads, batch_of(*q) * lanes);
    const int64_t least = q->axis.along ? LEAST_PIECE : LEAST_PIECE_ACROSS;
    q->piece = bf_cuda_least(bf_cuda_most(bf_cuda_ratio(at.length, wanted), least), most);
    q->pieces = bf_cuda_ratio(at.length, q->piece);
}

cudaError_t clear(const bf_cuda *cuda, void *memory, size_t bytes, int with = 0) {
    return cudaMemsetAsync(memory, with, bytes, cuda->stream);
}

cudaError_t enqueue_batch(const bf_cuda *cuda, const bf_cuda_joint_params &q) {
    const bool windows = bf_cuda_joint::has_doubles(q.axis.dtype);
    const int64_t n = q.end - q.first;
    const size_t counters = offsetof(bf_cuda_joint_board, units);
    cudaError_t error = clear(cuda, (char *)q.board + counters, sizeof *q.board - counters);
    if (error == cudaSuccess)
        error = clear(cuda, q.marks, (size_t)(n / 32 + 1) * sizeof *q.marks, windows ? 0 : 0xff);
    if (error == cudaSuccess && windows && !q.direct)
        error = clear(cuda, q.sums, (size_t)(n * q.levels) * sizeof *q.sums);
    if (error == cudaSuccess && windows) error = bf_cuda_joint_launch_windows(cuda, q);
    if (error == cudaSuccess && windows && !q.direct) error = bf_cuda_joint_launch_proof(cuda, q);
    return error == cudaSuccess ? bf_cuda_joint_launch_limbs(cuda, q) : error;
}

cudaError_t enqueue_all(const bf_cuda *cuda, bf_cuda_joint_params *q) {
    const bf_cuda_axis_layout &at = q->axis.at;
    cudaError_t error = cudaSuccess;
    if (bf_cuda_joint::has_doubles(q->axis.dtype)) error = bf_cuda_joint_launch_choice(cuda, *q);
    for (q->first = 0; q->first < at.results && error == cudaSuccess; q->first = q->end) {
        q->end = bf_cuda_least(q->first + batch_of(*q), at.results);
        error = enqueue_batch(cuda, *q);
    }
    return error;
}

} // namespace

bf_status bf_cuda_axis_enqueue_joint(bf_context *context, const bf_cuda_axis_params &p) {
    bf_cuda *cuda = context->cuda;
    const bf_parts parts = bf_parts_of(p.kind, p.dtype);
    bf_cuda_joint_params q = {};
    q.axis = p;
    q.axis.along = bf_cuda_axis_is_along(p.at) && !(p.at.length <= FEW && p.at.results >= MANY);
    q.direct = bf_cuda_joint::has_doubles(p.dtype) && p.at.offsets == NULL && !q.axis.along &&
               p.at.length <= LEAST_PIECE_ACROSS;
    q.levels = q.direct ? 0 : most_levels(parts);
    q.blocks =
        bf_cuda_least((int64_t)BF_CUDA_JOINT_LIMBS_BLOCKS * cuda->multiprocessors, units_of(q));
    if (p.at.offsets == NULL) set_pieces(cuda, &q);
    bf_cuda_workspace *workspace = bf_cuda_workspace_of(context);
    if (workspace == NULL) return BF_E_MEMORY;
    const int64_t words =
        (BF_CUDA_JOINT_SLOTS + q.blocks * BF_CUDA_JOINT_PENDING) * bf_cuda_joint_words(parts);
    q.words = (int64_t *)bf_cuda_workspace_part(context, workspace, &words_part,
                                                (size_t)words * sizeof *q.words);
    void *memory = bf_cuda_workspace_part(context, workspace, &scratch_part, divide(&q, NULL));
    if (q.words == NULL || memory == NULL) return BF_E_MEMORY;
    (void)divide(&q, (char *)memory);
    return bf_cuda_check(context, enqueue_all(cuda, &q), "sums of powers and of pairs");
}
