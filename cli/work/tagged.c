#include "work/tagged.h"

#include "runtime/output.h"

#include <string.h>

static bool is_float(bf_dtype dtype) {
    return dtype == BF_F16 || dtype == BF_BF16 || dtype == BF_F32 || dtype == BF_F64;
}

tagged tagged_of(const bf_value *value) { return (tagged){value->as.u64, (uint64_t)value->dtype}; }

bool tagged_wanted(bf_dtype dtype, bf_dtype to) { return !is_float(dtype) && dtype != to; }

static bool all_are(const tagged *results, int64_t n, bf_dtype dtype) {
    bool all = true;
    for (int64_t i = 0; i < n && all; i++) all = results[i].dtype == (uint64_t)dtype;
    return all;
}

bf_dtype tagged_make(tagged *results, int64_t n, bf_dtype dtype, int scale) {
    const size_t bytes = bf_dtype_size(dtype);
    for (int64_t i = 0; i < n; i++) {
        const bf_value value = output_element(BF_PAIR, scale, results, i);
        const bf_value rounded = {.dtype = BF_F64, .as.f64 = bf_value_f64(&value)};
        memcpy((char *)results + (size_t)i * bytes, value.dtype == dtype ? &value.as : &rounded.as,
               bytes);
    }
    return dtype;
}

bf_dtype tagged_settle(tagged *results, int64_t n, bf_dtype dtype, bf_dtype to) {
    if (n > 0 && all_are(results, n, dtype)) return tagged_make(results, n, dtype, 0);
    return is_float(dtype) ? tagged_make(results, n, to, 0) : BF_PAIR;
}
