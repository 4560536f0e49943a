/* Calls that fail later: a kernel behind theirs leaves what the board says where the host looks
 * when it is asked (mailbox.cuh). */
#include "cuda/axis/axis.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/mailbox.cuh"

namespace {

struct axis_failure {
    bf_reduction op;
    bf_dtype to;
    bf_rows rows;  /* for a wrong place */
    int64_t at;    /* the number of the result, or the place */
    int64_t value; /* what is there */
};
static_assert(sizeof(axis_failure) <= BF_CUDA_LATE_WORDS * sizeof(int64_t), "no room");

__device__ int64_t place_at(const bf_rows &rows, int64_t i) {
    switch (rows.places_dtype) {
    case BF_I32: return ((const int32_t *)rows.places)[i];
    case BF_U32: return ((const uint32_t *)rows.places)[i];
    default: return ((const int64_t *)rows.places)[i];
    }
}

/* wrong: the place, ~0 if all are right; NULL: there are none. */
__global__ void report_failure(bf_cuda_late late, axis_failure failure,
                               const unsigned long long *wrong, const unsigned long long *failed,
                               bf_cuda_late *to) {
    bf_cuda_wait_for_previous();
    if (wrong != nullptr && *wrong != ~0ull) {
        late.status = BF_E_ARGUMENT;
        failure.at = (int64_t)*wrong;
        failure.value = place_at(failure.rows, failure.at);
    } else if (failed != nullptr && *failed != ~0ull) {
        late.status = (int64_t)bf_cuda_axis_why(*failed);
        failure.at = (int64_t)(*failed / 4);
    } else {
        return;
    }
    memcpy(late.what, &failure, sizeof failure);
    bf_cuda_leave_late(late, to);
}

bf_status tell(bf_context *context, const bf_cuda_late *late) {
    axis_failure failure;
    memcpy(&failure, late->what, sizeof failure);
    if (late->status == BF_E_ARGUMENT)
        return bf_axis_wrong_place(context, &failure.rows, failure.at, failure.value);
    return bf_axis_refuse(context, (bf_status)late->status, failure.op, failure.to, failure.at);
}

} // namespace

bf_status bf_cuda_axis_report(bf_context *context, const bf_operands *operands, const bf_rows *rows,
                              const bf_results *results, const unsigned long long *wrong,
                              const unsigned long long *failed) {
    bf_cuda_late late = {};
    axis_failure failure = {};
    late.tell = tell;
    failure.op = operands->op;
    failure.to = results->to;
    if (rows != NULL) failure.rows = *rows;
    const bf_cuda_shape shape = {1, 1, 0, true, false};
    const cudaError_t error = bf_cuda_launch(context->cuda, report_failure, shape, late, failure,
                                             wrong, failed, &context->cuda->mailbox->memory->late);
    return bf_cuda_check(context, error, "a report of what fails");
}
