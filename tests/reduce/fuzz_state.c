/* A saved state is untrusted input: whatever the bytes, bf_state_load refuses them or gives a state
 * that works, and that saves to the same bytes. */
#include "tests/support/saved.h"

FUZZ_SAVED(bf_state)

static void take_results(bf_state *s) {
    for (int i = 0; i < 12; i++) {
        char text[BF_VALUE_TEXT];
        bf_reduce_options o = BF_REDUCE_OPTIONS(.nan = (bf_nan_policy)(i % 3), .ddof = i / 3 % 2);
        if (i >= 6) o.out_dtype = BF_F32;
        bf_value v;
        bf_description d = {.size = sizeof d};
        (void)bf_state_description(s, &o, &d);
        if (bf_state_result(s, &o, &v) != BF_OK) continue;
        bf_value_format(&v, text);
        require(strlen(text) < sizeof text);
        bf_value_format_hex(&v, text);
        require(strlen(text) < sizeof text);
    }
}

/* Words come back; any others are refused, or are a state's; and merging them harms nothing. */
static void use_words(bf_state *s, const bf_state_info *info, const uint8_t *data, size_t size) {
    bf_words_info words_info = {.size = sizeof words_info};
    require(bf_state_words_info(s, &words_info) == BF_OK);
    size_t count = (size_t)words_info.count, bytes = count * sizeof(int64_t);
    int64_t *words = calloc(2 * count, sizeof *words), *other = words + count;
    require(words != NULL && bf_state_get_words(s, words) == BF_OK);
    memcpy(other, words, bytes);
    require(bf_state_set_words(s, words, words_info.count, 1) == BF_OK);
    bf_words_merge(info->op, info->dtype, words, other);
    bf_status status = bf_state_set_words(s, words, words_info.count, 1);
    require(status == BF_OK || status == BF_E_STATE);
    memcpy(other, data + size % 7, size - 7 < bytes ? size - 7 : bytes);
    bf_words_merge(info->op, info->dtype, words, other);
    for (int64_t parts = 1; parts <= words_info.parts && parts < 1 << 30; parts *= 3) {
        status = bf_state_set_words(s, other, words_info.count, parts);
        require(status == BF_OK || status == BF_E_STATE);
    }
    free(words);
}

static void use(bf_context *context, bf_state *s, const uint8_t *data, size_t size) {
    double elements[6] = {1, 2, 3}; /* they have at most 16 bytes each */
    bf_state_info info = {.size = sizeof info};
    take_results(s);
    bf_state_describe(s, &info);
    use_words(s, &info, data, size);
    bf_array a = bf_array_of(info.dtype, elements, 3);
    bf_status status = bf_reduction_arrays(info.op) == 2 ? bf_state_absorb_pair(s, &a, &a)
                                                         : bf_state_absorb(s, &a);
    require(status == BF_OK || status == BF_E_OVERFLOW);
    status = bf_state_merge(s, s);
    require(status == BF_OK || status == BF_E_OVERFLOW || status == BF_E_STATE);
    status = bf_state_retract(s, s);
    require(status == BF_OK || status == BF_E_ARGUMENT);
    status = bf_state_append(s, s);
    require(status == BF_OK || status == BF_E_OVERFLOW || status == BF_E_STATE);
    take_results(s);
    save_and_load(context, s);
}
