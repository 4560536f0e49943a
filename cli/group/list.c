#include "group/list.h"

#include "memory/large.h"
#include "runtime/json.h"
#include "runtime/output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int list_make(list *l, const group_subject *s) {
    bf_groups_options kind = {.size = sizeof kind};
    const int64_t n = bf_groups_size(s->groups);
    bf_groups_describe(s->groups, &kind);
    *l = (list){.key = kind.key, .scale = s->scale, .size = n};
    l->keys = large_alloc(((size_t)n + 1) * bf_dtype_size(l->key));
    l->counts = large_alloc(((size_t)n + 1) * sizeof *l->counts);
    if (!l->keys || !l->counts) return fail_status(BF_E_MEMORY, NULL, s->file);
    const bf_array keys = bf_array_of(l->key, l->keys, n),
                   counts = bf_array_of(BF_I64, l->counts, n);
    const bf_status st = bf_groups_list(s->groups, &keys, &counts);
    return st == BF_OK ? EXIT_DONE : fail_status(st, s->context, s->file);
}

void list_free(list *l) {
    free(l->keys);
    free(l->counts);
}

bf_value list_key(const list *l, int64_t i) { return output_element(l->key, l->scale, l->keys, i); }

bf_value list_count(const list *l, int64_t i) {
    return (bf_value){.dtype = BF_I64, .as.i64 = l->counts[i]};
}

sheet_column list_key_column(const list *l, const group_subject *s) {
    return (sheet_column){
        .name = s->key ? s->key : "key", .dtype = l->key, .scale = l->scale, .array = l->keys};
}

sheet_subject list_sheet_subject(const group_subject *s) {
    return (sheet_subject){report_command_name(), s->file, bf_context_device(s->context),
                           s->seconds};
}

void list_put_head(FILE *f, bf_dtype key, const group_subject *s, int64_t rows, int64_t groups) {
    fprintf(f, "{\"schema\":1,\"command\":\"%s\",\"file\":", report_command_name());
    json_string(f, s->file);
    fprintf(f, ",\"dtype\":\"%s\",\"n\":%" PRId64 ",\"groups\":%" PRId64 ",\"keys\":[",
            output_dtype(key, s->scale), rows, groups);
}

void list_put_keys(FILE *f, const list *l, const int64_t *order, int64_t n, int64_t before) {
    for (int64_t i = 0; i < n && !ferror(f); i++) {
        const bf_value key = list_key(l, order ? order[i] : i);
        if (before + i > 0) putc(',', f);
        json_value(f, &key);
    }
}
