/* Calls that fail later: a kernel behind theirs leaves what the board says in pinned memory, where
 * the host looks when it is asked. */
#include "cuda/axis/axis.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/mailbox.cuh"

namespace {

/* The first failure since the host has looked. */
struct late_failure {
    int64_t status; /* BF_OK: there is none; the last to be written */
    bf_reduction op;
    bf_dtype to;
    bf_rows rows;  /* for a wrong place */
    int64_t at;    /* the number of the result, or the place */
    int64_t value; /* what is there */
};
static_assert(sizeof(late_failure) <= BF_CUDA_LATE_WORDS * sizeof(int64_t), "no room");

late_failure *find_memory(const bf_cuda *cuda) {
    return (late_failure *)cuda->mailbox->memory->late;
}

__device__ int64_t place_at(const bf_rows &rows, int64_t i) {
    switch (rows.places_dtype) {
    case BF_I32: return ((const int32_t *)rows.places)[i];
    case BF_U32: return ((const uint32_t *)rows.places)[i];
    default: return ((const int64_t *)rows.places)[i];
    }
}

/* wrong: the place, ~0 if all are right; NULL: there are none. */
__global__ void report_failure(late_failure failure, const unsigned long long *wrong,
                               const unsigned long long *failed, late_failure *to) {
    bf_cuda_wait_for_previous();
    volatile int64_t *status = &to->status;
    if (*status != BF_OK) return;
    if (wrong != nullptr && *wrong != ~0ull) {
        failure.status = BF_E_ARGUMENT;
        failure.at = (int64_t)*wrong;
        failure.value = place_at(failure.rows, failure.at);
    } else if (failed != nullptr && *failed != ~0ull) {
        failure.status = (int64_t)bf_cuda_axis_why(*failed);
        failure.at = (int64_t)(*failed / 4);
    } else {
        return;
    }
    const int64_t what = failure.status;
    failure.status = BF_OK;
    *to = failure;
    __threadfence_system();
    *status = what;
}

} // namespace

bf_status bf_cuda_axis_report(bf_context *context, const bf_operands *operands, const bf_rows *rows,
                              const bf_results *results, const unsigned long long *wrong,
                              const unsigned long long *failed) {
    late_failure failure = {};
    failure.op = operands->op;
    failure.to = results->to;
    if (rows != NULL) failure.rows = *rows;
    const bf_cuda_shape shape = {1, 1, 0, true, false};
    const cudaError_t error = bf_cuda_launch(context->cuda, report_failure, shape, failure, wrong,
                                             failed, find_memory(context->cuda));
    return bf_cuda_check(context, error, "a report of what fails");
}

bf_status bf_cuda_axis_failure(bf_context *context) {
    late_failure *at = find_memory(context->cuda);
    const bf_status status = (bf_status)__atomic_load_n(&at->status, __ATOMIC_ACQUIRE);
    if (status == BF_OK) return BF_OK;
    const late_failure failure = *at;
    __atomic_store_n(&at->status, BF_OK, __ATOMIC_RELEASE);
    if (status == BF_E_ARGUMENT)
        return bf_axis_wrong_place(context, &failure.rows, failure.at, failure.value);
    return bf_axis_refuse(context, status, failure.op, failure.to, failure.at);
}
