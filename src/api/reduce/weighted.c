/* Finishes covariances and correlations with weights. */
#include "rules/reduce/weighted_pair.h"

#include "api/reduce/reduce.h"
#include "base/memory.h"
#include "rules/reduce/result.h"

bf_status bf_result_weighted(bf_context *context, bf_reduction op, bf_dtype dtype,
                             const int64_t *const words[3], const bf_reduce_options *options,
                             bf_value *value) {
    const bf_dtype out = options->out_dtype == BF_F32 ? BF_F32 : BF_F64;
    const int64_t nans = words[0][BF_SUM_NAN];
    if (options->nan == BF_NAN_ERROR && nans > 0)
        return bf_fail(context, BF_E_NAN, "%lld NaN in the data", (long long)nans);
    bf_signed *room = bf_alloc(BF_JOINT_ROOM * sizeof *room);
    if (room == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for a result");
    *value = bf_value_from_bits(
        out, bf_weighted_pair(op, dtype, words, options, bf_format_of(out), room));
    bf_free(room);
    return BF_OK;
}
