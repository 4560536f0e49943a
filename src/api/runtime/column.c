/* Columns: what a caller may give as one. */
#include "api/runtime/column.h"

#include "api/runtime/sized.h"
#include "base/where.h"
#include "rules/number/rule.h"
#include "seam/backend.h"

enum { BLOCK = 4096 }; /* offsets that are checked without a branch between them */

bf_status bf_column_read(bf_context *context, const bf_column *given, bf_dtype dtype,
                         bf_column *to) {
    *to = (bf_column){.size = sizeof *to};
    if (given == NULL || !BF_READ(to, given, first))
        return bf_fail(context, BF_E_ARGUMENT,
                       "bf_column: size is not set, or from a newer version");
    if ((to->strings == NULL) == (to->numbers == NULL))
        return bf_fail(context, BF_E_ARGUMENT, "a column has strings or numbers");
    if ((to->strings != NULL) != (dtype == BF_NONE))
        return bf_fail(context, BF_E_DTYPE, "a column of %s where %s are wanted",
                       to->strings != NULL ? "strings" : "numbers",
                       dtype == BF_NONE ? "strings" : bf_dtype_name(dtype));
    if (to->valid != NULL && to->first < 0)
        return bf_fail(context, BF_E_ARGUMENT, "the first valid bit is number %lld",
                       (long long)to->first);
    return BF_OK;
}

static int64_t offset_at(const bf_strings *s, int64_t i) {
    return s->offset == BF_I64 ? (int64_t)bf_load_bits((const char *)s->offsets + 8 * i, 8)
                               : (int32_t)bf_load_bits((const char *)s->offsets + 4 * i, 4);
}

/* Whether one of n offsets from number `first` on, which is not 0, is less than that before it. */
static bool some_decrease(const bf_strings *s, int64_t first, int64_t n) {
    int decrease = 0;
    if (s->offset == BF_I64)
        for (int64_t i = first; i < first + n; i++)
            decrease |= (int64_t)bf_load_bits((const char *)s->offsets + 8 * i, 8) <
                        (int64_t)bf_load_bits((const char *)s->offsets + 8 * i - 8, 8);
    else
        for (int64_t i = first; i < first + n; i++)
            decrease |= (int32_t)bf_load_bits((const char *)s->offsets + 4 * i, 4) <
                        (int32_t)bf_load_bits((const char *)s->offsets + 4 * i - 4, 4);
    return decrease != 0;
}

static bf_status refuse_offset(bf_context *context, const bf_strings *s, int64_t i) {
    int64_t at = offset_at(s, i);
    return bf_fail(context, BF_E_ARGUMENT, "offset %lld of the strings is %lld, %s", (long long)i,
                   (long long)at, at < 0 ? "less than 0" : "less than the one before");
}

static bf_status check_offsets(bf_context *context, const bf_strings *s) {
    if (offset_at(s, 0) < 0) return refuse_offset(context, s, 0);
    for (int64_t first = 1; first <= s->count; first += BLOCK) {
        int64_t left = s->count + 1 - first, n = left < BLOCK ? left : BLOCK, i = first;
        if (!some_decrease(s, first, n)) continue;
        while (offset_at(s, i) >= offset_at(s, i - 1)) i++;
        return refuse_offset(context, s, i);
    }
    return offset_at(s, s->count) == 0 || s->bytes != NULL
               ? BF_OK
               : bf_fail(context, BF_E_ARGUMENT, "the strings have no bytes");
}

bf_status bf_strings_read(bf_context *context, const bf_strings *given, bf_strings *to) {
    *to = (bf_strings){.size = sizeof *to};
    if (!BF_READ(to, given, bytes))
        return bf_fail(context, BF_E_ARGUMENT,
                       "bf_strings: size is not set, or from a newer version");
    if (to->offset != BF_I32 && to->offset != BF_I64)
        return bf_fail(context, BF_E_DTYPE, "offsets of strings are i32 or i64, not %s",
                       bf_dtype_name(to->offset));
    if (to->count < 0 || (to->count > 0 && to->offsets == NULL))
        return bf_fail(context, BF_E_ARGUMENT, "the strings are not well formed");
    if (to->count == 0) return BF_OK;
    if (bf_where_is(to->offsets, NULL) == BF_WHERE_DEVICE ||
        bf_where_is(to->bytes, NULL) == BF_WHERE_DEVICE)
        return bf_fail(context, BF_E_DEVICE, "strings are in host memory");
    bf_status status = check_offsets(context, to);
    if (to->bytes == NULL) to->bytes = "";
    return status;
}
