/* Groups saved in pieces: pieces in the order of keys, of which each is a saved form of its own. */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#define OK(call) assert_int_equal(call, BF_OK)

enum { N = 50000, KEYS = 7001, ROOM = 1 << 22 };

typedef struct collected {
    bf_context *context;
    unsigned char *bytes; /* all pieces */
    size_t sizes[KEYS + 1], size;
    int n, most; /* most: pieces to take; then it fails */
    int64_t before;
} collected;

static int collect(void *arg, const void *bytes, size_t size, const void *key) {
    collected *c = arg;
    int64_t least;
    if (c->n == c->most) return 7;
    memcpy(&least, key, sizeof least);
    assert_true(c->n == 0 || least > c->before);
    assert_true(c->size + size <= ROOM);
    c->before = least;
    memcpy(c->bytes + c->size, bytes, size);
    c->size += size;
    c->sizes[c->n++] = size;
    return 0;
}

static bf_groups *make_groups(bf_context *context, int n) {
    static int64_t keys[N];
    static double values[N];
    const bf_aggregate aggregates[] = {{BF_SUM, BF_F64}, {BF_MAX, BF_F64}};
    bf_groups *g;
    for (int i = 0; i < n; i++) {
        keys[i] = (int64_t)i * 7919 % KEYS - KEYS / 2;
        values[i] = i % 11 == 0 ? -0.0 : ldexp(i, i % 60 - 30);
    }
    OK(bf_groups_create(
        context, &BF_GROUPS_OPTIONS(.key = BF_I64, .count = 2, .aggregates = aggregates), &g));
    const bf_array k = bf_array_of(BF_I64, keys, n), v = bf_array_of(BF_F64, values, n);
    const bf_array *const both[] = {&v, &v};
    OK(bf_groups_absorb(g, &k, both));
    return g;
}

static size_t save(bf_groups *g, unsigned char *bytes) {
    size_t size;
    OK(bf_groups_save_size(g, &size));
    assert_true(size <= ROOM);
    OK(bf_groups_save(g, bytes));
    return size;
}

/* The merge of collected pieces. */
static bf_groups *merge_pieces(const collected *c) {
    bf_groups *all = NULL, *part;
    size_t at = 0;
    for (int i = 0; i < c->n; at += c->sizes[i++]) {
        OK(bf_groups_load(c->context, c->bytes + at, c->sizes[i], &part));
        if (all == NULL) {
            all = part;
            continue;
        }
        OK(bf_groups_merge(all, part));
        bf_groups_destroy(part);
    }
    return all;
}

TEST(pieces_make_the_whole) {
    static unsigned char whole[ROOM], again[ROOM], room[ROOM];
    OWN(bf_context) *context = make_context(NULL, 2);
    OWN(bf_groups) *g = make_groups(context, N);
    const size_t size = save(g, whole);
    const int64_t pieces[] = {1, 2, 999, KEYS - 1, KEYS, INT64_MAX};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        collected c = {.context = context, .bytes = room, .most = KEYS + 1};
        const int64_t count = i == 0 ? 50 : KEYS, first = i == 0 ? KEYS - 50 : 0;
        OK(bf_groups_save_pieces(g, first, count, pieces[i], collect, &c));
        const int64_t each = pieces[i] < count ? pieces[i] : count;
        assert_int_equal(c.n, (count + each - 1) / each);
        OWN(bf_groups) *all = merge_pieces(&c);
        assert_int_equal(bf_groups_size(all), count);
        if (count == KEYS) {
            assert_int_equal(save(all, again), size);
            assert_memory_equal(again, whole, size);
        }
    }
    assert_int_equal(save(g, again), size);
    assert_memory_equal(again, whole, size);
}

TEST(a_range_is_checked_and_a_writer_may_stop) {
    static unsigned char room[ROOM];
    OWN(bf_context) *context = make_context(NULL, 1);
    OWN(bf_groups) *g = make_groups(context, 100), *none = make_groups(context, 0);
    collected c = {.context = context, .bytes = room, .most = 3};
    const struct {
        int64_t first, count, piece;
    } bad[] = {{-1, 1, 1}, {0, -1, 1}, {0, 101, 1}, {101, 0, 1}, {1, 100, 1}, {0, 1, 0}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(
            bf_groups_save_pieces(g, bad[i].first, bad[i].count, bad[i].piece, collect, &c),
            BF_E_ARGUMENT);
    OK(bf_groups_save_pieces(g, 100, 0, 1, collect, &c));
    OK(bf_groups_save_pieces(none, 0, 0, 1, collect, &c));
    assert_int_equal(c.n, 0);
    assert_int_equal(bf_groups_save_pieces(g, 0, 100, 10, collect, &c), BF_E_CANCELLED);
    assert_int_equal(c.n, 3);
}

UNIT_TESTS(group_pieces, NULL, NULL)
