#include "work/tagged.h"

#include "sheet/output.h"

#include <string.h>

static bool is_float(bf_dtype dtype) { return bf_dtype_kind(dtype) == 'f'; }

tagged tagged_of(const bf_value *value) { return (tagged){value->as.u64, (uint64_t)value->dtype}; }

bool tagged_wanted(bf_dtype dtype, bf_dtype to) { return !is_float(dtype) && dtype != to; }

/* The dtype of their array, while they are tagged. */
static bf_dtype array_of(bf_dtype dtype) { return dtype == BF_I128 ? BF_I192 : BF_PAIR; }

size_t tagged_bytes(bf_dtype dtype) { return dtype == BF_I128 ? sizeof(bf_value) : sizeof(tagged); }

void tagged_put(void *results, int64_t i, bf_dtype dtype, const bf_value *value) {
    const tagged pair = tagged_of(value);
    const size_t bytes = tagged_bytes(dtype);
    memcpy((char *)results + (size_t)i * bytes,
           dtype == BF_I128 ? (const void *)value : (const void *)&pair, bytes);
}

/* The dtype of a value that is an element. */
static bf_dtype value_of(bf_dtype dtype) { return dtype == BF_I128 ? BF_I192 : dtype; }

static bool all_are(const void *results, int64_t n, bf_dtype dtype) {
    bool all = true;
    for (int64_t i = 0; i < n && all; i++)
        all = output_element(array_of(dtype), 0, results, i).dtype == value_of(dtype);
    return all;
}

bf_dtype tagged_make(void *results, int64_t n, bf_dtype dtype, bf_dtype to, int scale) {
    const size_t bytes = bf_dtype_size(to);
    for (int64_t i = 0; i < n; i++) {
        const bf_value value = output_element(array_of(dtype), scale, results, i);
        const bf_value rounded = {.dtype = BF_F64, .as.f64 = bf_value_f64(&value)};
        memcpy((char *)results + (size_t)i * bytes,
               value.dtype == value_of(to) ? &value.as : &rounded.as, bytes);
    }
    return to;
}

bf_dtype tagged_settle(void *results, int64_t n, bf_dtype dtype, bf_dtype to) {
    if (n > 0 && all_are(results, n, dtype)) return tagged_make(results, n, dtype, dtype, 0);
    return is_float(dtype) ? tagged_make(results, n, dtype, to, 0) : array_of(dtype);
}
