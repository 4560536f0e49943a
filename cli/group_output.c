#include "group_output.h"

#include "json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int group_context(const options *o, bf_context **context) {
    const bf_options wanted = BF_OPTIONS(.device = o->device, .isa = o->isa, .threads = o->threads);
    const bf_status st = bf_context_create(&wanted, context);
    if (st == BF_E_DEVICE && options_gpu(o->device)) return fail_device(o->device);
    return st == BF_OK ? EXIT_DONE : fail_status(st, NULL, NULL);
}

int group_list_make(group_list *list, bf_groups *groups, bf_dtype key, const char *file,
                    const bf_context *context) {
    const int64_t n = bf_groups_size(groups);
    *list = (group_list){.key = key, .size = n, .rows = bf_groups_rows(groups)};
    list->keys = calloc((size_t)n + 1, bf_dtype_size(key));
    list->counts = calloc((size_t)n + 1, sizeof *list->counts);
    if (!list->keys || !list->counts) return fail_status(BF_E_MEMORY, NULL, file);
    const bf_array keys = bf_array_of(key, list->keys, n),
                   counts = bf_array_of(BF_I64, list->counts, n);
    const bf_status st = bf_groups_list(groups, &keys, &counts);
    return st == BF_OK ? EXIT_DONE : fail_status(st, context, file);
}

void group_list_free(group_list *list) {
    free(list->keys);
    free(list->counts);
    *list = (group_list){.size = 0};
}

/* An element as a value: integers are widened. */
bf_value group_key(const group_list *list, int64_t i) {
    const size_t bytes = bf_dtype_size(list->key);
    const char *at = list->keys + (size_t)i * bytes;
    bf_value v = {.dtype = list->key};
    memcpy(&v.as, at, bytes);
    switch (list->key) {
    case BF_I8: v.as.i64 = (int8_t)v.as.u64; break;
    case BF_I16: v.as.i64 = (int16_t)v.as.u64; break;
    case BF_I32: v.as.i64 = (int32_t)v.as.u64; break;
    default: break;
    }
    return v;
}

bf_value group_count(const group_list *list, int64_t i) {
    return (bf_value){.dtype = BF_I64, .as.i64 = list->counts[i]};
}

void group_put(const output *out, const bf_value *value) {
    char text[BF_VALUE_TEXT];
    if (out->hex)
        bf_value_format_hex(value, text);
    else
        bf_value_format(value, text);
    fputs(text, out->stream);
}

void group_put_head(FILE *f, const group_list *list, const char *file) {
    fprintf(f, "{\"schema\":1,\"command\":\"%s\",\"file\":", report_command_name());
    json_string(f, file);
    fprintf(f, ",\"dtype\":\"%s\",\"n\":%" PRId64 ",\"groups\":%" PRId64, bf_dtype_name(list->key),
            list->rows, list->size);
}

void group_put_end(FILE *f, const char *device, double seconds) {
    fprintf(f, ",\"device\":\"%s\",\"seconds\":%.6f}\n", device, seconds);
}
