#include "rows/encode.h"

static char *put_key(char *at, const table_column *c, int64_t i, bool descending) {
    char *const begin = at;
    const bf_column *column = &c->view.column;
    const int64_t *offsets = c->view.strings.offsets;
    const char *const bytes = c->view.strings.bytes;
    const bool string = c->form.dtype == BF_NONE;
    if (column->valid && !text_has_bit(column->valid, column->first + i)) {
        *at++ = (char)ENCODED_NULL;
        return at;
    }
    at = string ? encode_string(at, bytes + offsets[i], bytes + offsets[i + 1])
                : encode_number(at, c->form.dtype, c->view.numbers.data, i);
    if (descending) encode_reverse(begin, at, string);
    return at;
}

static size_t room_of(const table_column *c, int64_t i) {
    const int64_t *offsets = c->view.strings.offsets;
    return ENCODED_NUMBER +
           (c->form.dtype == BF_NONE ? 2 * (size_t)(offsets[i + 1] - offsets[i]) : 0);
}

const char *encode_keys(const table *t, int64_t i, buffer *to, size_t *bytes) {
    const asked *a = t->asked;
    size_t room = 0;
    for (int k = 0; k < a->keys; k++) room += room_of(&t->columns[t->key_columns[k]], i);
    char *const begin = buffer_take(to, room), *at = begin;
    if (!begin) return NULL;
    for (int k = 0; k < a->keys; k++)
        at = put_key(at, &t->columns[t->key_columns[k]], i, a->key[k].descending);
    *bytes = (size_t)(at - begin);
    return begin;
}
