/* Functions of strings. Those whose results are no parts of their inputs write them to the arena.
 */
#define _GNU_SOURCE /* memmem */
#include "cpu/expression/reader.h"

#include "rules/expression/string.h"

/* A function of the strings x and y; as bf_expression_call_strings. */
typedef int64_t text_loop(const bf_expression_call *c, const bf_expression_reader *x,
                          const bf_expression_reader *y);

/* ---- to numbers ------------------------------------------------------------------------------ */

static int64_t count_characters(bf_expression_span s) {
    const char *const end = s.at + s.size;
    int64_t count = 0;
    for (; s.at < end; count++)
        s.at += (unsigned char)*s.at < 128 ? 1 : bf_expression_character(s.at, end);
    return count;
}

static bool contains(bf_expression_span s, bf_expression_span part) {
    return part.size == 0 || (part.size <= s.size &&
                              memmem(s.at, (size_t)s.size, part.at, (size_t)part.size) != NULL);
}

static bool is_same(const char *at, bf_expression_span part) {
    return part.size == 0 || memcmp(at, part.at, (size_t)part.size) == 0;
}

static bool starts(bf_expression_span s, bf_expression_span part) {
    return part.size <= s.size && is_same(s.at, part);
}

static bool ends(bf_expression_span s, bf_expression_span part) {
    return part.size <= s.size && is_same(s.at + s.size - part.size, part);
}

static int64_t length_loop(const bf_expression_call *c, const bf_expression_reader *x,
                           const bf_expression_reader *y) {
    int64_t *out = c->out;
    (void)y;
    for (int64_t i = 0; i < c->n; i++) out[i] = count_characters(bf_expression_read(x, i));
    return -1;
}

#define TEST_LOOP(name)                                                                            \
    static int64_t name##_loop(const bf_expression_call *c, const bf_expression_reader *x,         \
                               const bf_expression_reader *y) {                                    \
        uint8_t *out = c->out;                                                                     \
        for (int64_t i = 0; i < c->n; i++)                                                         \
            out[i] = name(bf_expression_read(x, i), bf_expression_read(y, i));                     \
        return -1;                                                                                 \
    }
TEST_LOOP(contains)
TEST_LOOP(starts)
TEST_LOOP(ends)
#undef TEST_LOOP

static int64_t match_loop(const bf_expression_call *c, const bf_expression_reader *x,
                          const bf_expression_reader *y) {
    uint8_t *out = c->out;
    int64_t place = -1;
    (void)y;
    void *const before = bf_pattern_enter();
    for (int64_t i = 0; i < c->n && place == -1; i++) {
        const bf_expression_span s = bf_expression_read(x, i);
        const bf_pattern_answer answer =
            bf_pattern_match(c->pattern, s.size > 0 ? s.at : "", s.size);
        if (answer == BF_PATTERN_LONG) place = i;
        if (answer == BF_PATTERN_NO_MEMORY) place = -2;
        out[i] = answer == BF_PATTERN_YES;
    }
    bf_pattern_leave(before);
    return place;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static bf_expression_span trim(bf_expression_span s) {
    for (; s.size > 0 && bf_expression_is_space(s.at[s.size - 1]); s.size--) {
    }
    for (; s.size > 0 && bf_expression_is_space(*s.at); s.size--) s.at++;
    return s;
}

/* Moves behind so many characters, or to the end. */
static const char *skip(const char *at, const char *end, int64_t characters) {
    for (; characters > 0 && at < end; characters--) at += bf_expression_character(at, end);
    return at;
}

/* The characters of which the numbers, from 1, are at least `from` and below from + n. */
static bf_expression_span substr(bf_expression_span s, int64_t from, int64_t n) {
    const char *const end = s.at + s.size;
    int64_t behind;
    if (__builtin_add_overflow(from, n, &behind)) behind = n < 0 ? INT64_MIN : INT64_MAX;
    if (from < 1) from = 1;
    if (behind <= from) return (bf_expression_span){s.at, 0};
    const char *const begin = skip(s.at, end, from - 1);
    return (bf_expression_span){begin, skip(begin, end, behind - from) - begin};
}

static int64_t trim_loop(const bf_expression_call *c, const bf_expression_reader *x,
                         const bf_expression_reader *y) {
    bf_expression_span *out = c->out;
    (void)y;
    for (int64_t i = 0; i < c->n; i++) out[i] = trim(bf_expression_read(x, i));
    return -1;
}

/* An integer of input k, or what 64 bits hold nearest to it. */
static int64_t integer_at(const bf_expression_call *c, int k, int64_t i) {
    const char *const in = c->in[k];
    if (c->step->from[k] != BF_I128) return (int64_t)bf_load_bits(in + 8 * i, 8);
    const bf_i128 x = bf_load_i128(in + 16 * i);
    return x < INT64_MIN ? INT64_MIN : x > INT64_MAX ? INT64_MAX : (int64_t)x;
}

static int64_t substr_loop(const bf_expression_call *c, const bf_expression_reader *x,
                           const bf_expression_reader *y) {
    bf_expression_span *out = c->out;
    (void)y;
    for (int64_t i = 0; i < c->n; i++)
        out[i] = substr(bf_expression_read(x, i), integer_at(c, 1, i), integer_at(c, 2, i));
    return -1;
}

/* The strings as they are. */
static int64_t copy_loop(const bf_expression_call *c, const bf_expression_reader *x,
                         const bf_expression_reader *y) {
    bf_expression_span *out = c->out;
    (void)y;
    for (int64_t i = 0; i < c->n; i++) out[i] = bf_expression_read(x, i);
    return -1;
}

static int64_t select_loop(const bf_expression_call *c, const bf_expression_reader *x,
                           const bf_expression_reader *y) {
    const uint8_t *chosen = c->in[0];
    bf_expression_span *out = c->out;
    for (int64_t i = 0; i < c->n; i++) out[i] = bf_expression_read(chosen[i] != 0 ? x : y, i);
    return -1;
}

/* ---- new bytes ------------------------------------------------------------------------------- */

static int64_t size_of(const bf_expression_reader *x, int64_t n) {
    int64_t size = 0;
    for (int64_t i = 0; i < n; i++) size += bf_expression_read(x, i).size;
    return size;
}

static int64_t change(const bf_expression_call *c, const bf_expression_reader *x,
                      char (*letter)(char)) {
    bf_expression_span *out = c->out;
    char *to = bf_arena_take(c->arena, (size_t)size_of(x, c->n));
    if (to == NULL) return -2;
    for (int64_t i = 0; i < c->n; i++) {
        const bf_expression_span s = bf_expression_read(x, i);
        for (int64_t k = 0; k < s.size; k++) to[k] = letter(s.at[k]);
        out[i] = (bf_expression_span){to, s.size};
        to += s.size;
    }
    return -1;
}

static int64_t lower_loop(const bf_expression_call *c, const bf_expression_reader *x,
                          const bf_expression_reader *y) {
    (void)y;
    return change(c, x, bf_expression_lower);
}

static int64_t upper_loop(const bf_expression_call *c, const bf_expression_reader *x,
                          const bf_expression_reader *y) {
    (void)y;
    return change(c, x, bf_expression_upper);
}

static char *append(char *to, bf_expression_span s) {
    if (s.size > 0) memcpy(to, s.at, (size_t)s.size);
    return to + s.size;
}

static int64_t concat_loop(const bf_expression_call *c, const bf_expression_reader *x,
                           const bf_expression_reader *y) {
    bf_expression_span *out = c->out;
    char *to = bf_arena_take(c->arena, (size_t)(size_of(x, c->n) + size_of(y, c->n)));
    if (to == NULL) return -2;
    for (int64_t i = 0; i < c->n; i++) {
        char *const begin = to;
        to = append(to, bf_expression_read(x, i));
        to = append(to, bf_expression_read(y, i));
        out[i] = (bf_expression_span){begin, to - begin};
    }
    return -1;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static text_loop *const loops[] = {
    [BF_EXPRESSION_LENGTH - BF_EXPRESSION_LENGTH] = length_loop,
    [BF_EXPRESSION_CONTAINS - BF_EXPRESSION_LENGTH] = contains_loop,
    [BF_EXPRESSION_STARTS - BF_EXPRESSION_LENGTH] = starts_loop,
    [BF_EXPRESSION_ENDS - BF_EXPRESSION_LENGTH] = ends_loop,
    [BF_EXPRESSION_MATCH - BF_EXPRESSION_LENGTH] = match_loop,
    [BF_EXPRESSION_SUBSTR - BF_EXPRESSION_LENGTH] = substr_loop,
    [BF_EXPRESSION_TRIM - BF_EXPRESSION_LENGTH] = trim_loop,
    [BF_EXPRESSION_LOWER - BF_EXPRESSION_LENGTH] = lower_loop,
    [BF_EXPRESSION_UPPER - BF_EXPRESSION_LENGTH] = upper_loop,
    [BF_EXPRESSION_CONCAT - BF_EXPRESSION_LENGTH] = concat_loop,
};

int64_t bf_expression_call_strings(const bf_expression_call *c, bf_expression_room *room) {
    const int op = c->step->op, first = op == BF_EXPRESSION_SELECT ? 1 : 0;
    bf_expression_reader in[2];
    if (op < BF_MAP_CAST) {
        bf_expression_compare(c, room);
        return -1;
    }
    for (int k = 0; k < 2; k++) bf_expression_open(&c->text[first + k], &in[k], room->in[k], c->n);
    if (op == BF_MAP_CAST) return copy_loop(c, &in[0], &in[1]);
    if (op == BF_EXPRESSION_SELECT) return select_loop(c, &in[0], &in[1]);
    return loops[op - BF_EXPRESSION_LENGTH](c, &in[0], &in[1]);
}
