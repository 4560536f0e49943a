/* Groups and joins on a GPU: what they save is what the CPU's groups save, to the byte, whatever
 * the dtypes, the keys, the place of the rows, the chunks and the merges. */
#include "tests/support/both.h"
#include "tests/support/groups.h"

#include <cuda_runtime_api.h>
#include <time.h>

#define assert_cuda(call) assert_string_equal(cudaGetErrorString(call), "no error")

enum { OPS = 8, KEYS = DTYPE_COUNT + 1 };

static const bf_reduction ops[OPS] = {BF_SUM,   BF_MEAN, BF_VAR, BF_STD,
                                      BF_SUMSQ, BF_NORM, BF_MIN, BF_MAX};

static bf_dtype key_dtype(int i) { return i < DTYPE_COUNT ? all_dtypes[i] : BF_PAIR; }
static size_t bytes_of(bf_dtype dtype) { return dtype == BF_PAIR ? 16 : bf_dtype_size(dtype); }

/* ---- rows ------------------------------------------------------------------------------------ */

/* Keys lie in front, values SECOND bytes behind; an aggregate's dtype is what they are read as. */
typedef struct rows {
    bf_dtype key;
    int64_t n;
    int offset; /* how far the keys are shifted, in bytes */
    int count;
    bf_aggregate aggregates[OPS];
    uint64_t seed;
} rows;

typedef enum place { HOST, DEVICE, STRIDED, PLACES } place;

static bf_groups *groups_on(bf_context *context, const rows *r) {
    bf_groups *g = NULL;
    bf_groups_options o = BF_GROUPS_OPTIONS(.key = r->key, .count = r->count,
                                            .aggregates = r->aggregates, .seed = r->seed);
    assert_int_equal(bf_groups_create(context, &o, &g), BF_OK);
    return g;
}

static void to_device(const rows *r) {
    size_t widest = 1, keys = (size_t)r->n * bytes_of(r->key) + (size_t)r->offset;
    for (int i = 0; i < r->count; i++)
        if (bf_dtype_size(r->aggregates[i].dtype) > widest)
            widest = bf_dtype_size(r->aggregates[i].dtype);
    if (r->n == 0) return;
    assert_int_equal(bf_memory_copy(gpu, on_device, on_host, keys), BF_OK);
    assert_int_equal(
        bf_memory_copy(gpu, on_device + SECOND, on_host + SECOND, (size_t)r->n * widest), BF_OK);
}

/* Rows [first, first + n), or of a strided array every second one of these. */
static bf_array rows_at(bf_dtype dtype, char *data, int64_t first, int64_t n, place where) {
    bf_array a = bf_array_of(dtype, data + (size_t)first * bytes_of(dtype), n);
    if (where == STRIDED) {
        a.shape[0] = (n + 1) / 2;
        a.strides[0] = 2;
    }
    return a;
}

static bf_status absorb(bf_groups *g, const rows *r, char *memory, int64_t first, int64_t n,
                        place where) {
    bf_array keys = rows_at(r->key, memory + r->offset, first, n, where), values[OPS];
    const bf_array *pointers[OPS];
    for (int i = 0; i < r->count; i++) {
        values[i] = rows_at(r->aggregates[i].dtype, memory + SECOND, first, n, where);
        pointers[i] = &values[i];
    }
    return bf_groups_absorb(g, &keys, pointers);
}

static void absorb_both(bf_groups *found, bf_groups *expected, const rows *r, int64_t first,
                        int64_t n, place where) {
    place on_cpu = where == STRIDED ? STRIDED : HOST;
    assert_int_equal(absorb(found, r, where == HOST ? on_host : on_device, first, n, where), BF_OK);
    assert_int_equal(absorb(expected, r, on_host, first, n, on_cpu), BF_OK);
}

/* ---- comparison ------------------------------------------------------------------------------ */

static void assert_same(const char *what, const rows *r, bf_groups *found, bf_groups *expected) {
    assert_same_groups(what, r->key, r->count > 0 ? r->aggregates[0].dtype : BF_NONE, r->n, found,
                       expected);
}

static bool same_value(const bf_value *a, const bf_value *b) {
    return a->dtype == b->dtype && memcmp(a->as.i192, b->as.i192, sizeof a->as.i192) == 0;
}

/* Results of `found` as arrays: on the host, or on the GPU, misaligned and maybe strided. */
typedef struct result_arrays {
    size_t n, bytes, step;
    char *host, *memory; /* room_of them each; memory: where they are put, may be host */
    bf_array values, fits;
} result_arrays;

static size_t room_of(const result_arrays *a) { return a->n * a->step * 9 + 1; }

static result_arrays arrays_for(bf_groups *g, bf_dtype dtype, place where) {
    result_arrays a = {.n = (size_t)bf_groups_size(g), .bytes = bf_dtype_size(dtype)};
    a.step = where == STRIDED ? 2 : 1;
    void *device;
    a.host = a.memory = calloc(1, room_of(&a));
    if (where != HOST) {
        assert_int_equal(bf_memory_allocate(gpu, room_of(&a), &device), BF_OK);
        assert_int_equal(bf_memory_copy(gpu, device, a.host, room_of(&a)), BF_OK);
        a.memory = device;
    }
    a.values = bf_array_of(dtype, a.memory + 1, (int64_t)a.n);
    a.fits = bf_array_of(BF_BOOL, a.memory + 1 + a.n * a.step * a.bytes, (int64_t)a.n);
    a.values.strides[0] = a.fits.strides[0] = (int64_t)a.step;
    return a;
}

static void fetch_arrays(result_arrays *a) {
    if (a->memory == a->host) return;
    assert_int_equal(bf_memory_copy(gpu, a->host, a->memory, room_of(a)), BF_OK);
    bf_memory_free(gpu, a->memory);
}

static void assert_same_arrays(bf_groups *found, bf_groups *expected, int which,
                               const bf_reduce_options *o, place where) {
    bf_dtype dtype = bf_groups_aggregate_dtype(expected, which, o);
    assert_int_equal(bf_groups_aggregate_dtype(found, which, o), dtype);
    result_arrays a = arrays_for(found, dtype, where), b = arrays_for(expected, dtype, HOST);
    bf_status status = bf_groups_aggregate(expected, which, o, &b.values, NULL);
    assert_int_equal(bf_groups_aggregate(found, which, o, &a.values, NULL), status);
    if (status != BF_OK) assert_string_equal(bf_context_message(gpu), bf_context_message(cpu));
    status = bf_groups_aggregate(expected, which, o, &b.values, &b.fits);
    assert_int_equal(bf_groups_aggregate(found, which, o, &a.values, &a.fits), status);
    fetch_arrays(&a);
    for (size_t i = 0; i < a.n; i++) {
        size_t at = 1 + i * a.step * a.bytes, fits = 1 + a.n * a.step * a.bytes + i * a.step;
        assert_memory_equal(a.host + at, b.host + 1 + i * b.bytes, a.bytes);
        assert_int_equal(a.host[fits], b.host[1 + b.n * b.bytes + i]);
        if (a.step == 2) assert_int_equal(a.host[fits + 1], 0);
    }
    free(a.host);
    free(b.host);
}

static void assert_same_results(bf_groups *found, bf_groups *expected, const rows *r) {
    size_t n = (size_t)bf_groups_size(expected);
    bf_value *a = calloc(n + 1, sizeof *a), *b = calloc(n + 1, sizeof *b);
    for (int i = 0; i < r->count; i++) {
        for (int nan = BF_NAN_PROPAGATE; nan <= (is_small() ? 0 : BF_NAN_ERROR); nan++) {
            bf_reduce_options o = BF_REDUCE_OPTIONS(.nan = (bf_nan_policy)nan);
            bf_status status = bf_groups_result(expected, i, &o, b);
            assert_int_equal(bf_groups_result(found, i, &o, a), status);
            for (size_t k = 0; k < n && status == BF_OK; k++) assert_true(same_value(a + k, b + k));
            assert_same_arrays(found, expected, i, &o, (place)((i + nan) % PLACES));
        }
        bf_reduce_options single = BF_REDUCE_OPTIONS(.ddof = 1, .overflow = BF_OVERFLOW_WRAP);
        if (r->aggregates[i].op < BF_MIN) single.out_dtype = BF_F32;
        assert_same_arrays(found, expected, i, &single, (place)(i % PLACES));
    }
    free(a);
    free(b);
}

/* All rows at once on both. */
static void check(const rows *r, place where) {
    bf_groups *found = groups_on(gpu, r), *expected = groups_on(cpu, r);
    if (where != HOST) to_device(r);
    absorb_both(found, expected, r, 0, r->n, where);
    assert_same("at once", r, found, expected);
    assert_same_results(found, expected, r);
    bf_groups_destroy(found);
    bf_groups_destroy(expected);
}

/* ---- data ------------------------------------------------------------------------------------ */

static void put_key(const rows *r, int64_t i, uint64_t bits) {
    uint64_t pair[2] = {bits & 3, bits};
    char *at = on_host + r->offset + (size_t)i * bytes_of(r->key);
    if (r->key == BF_PAIR)
        memcpy(at, pair, sizeof pair);
    else
        store_bits(at, bytes_of(r->key), bits);
}

/* Keys out of `spread` random ones; of floats some are zeros and NaNs of all kinds. */
static void random_keys(const rows *r, int64_t spread, uint64_t seed) {
    for (int64_t i = 0; i < r->n; i++) {
        uint64_t which = next_random(&seed) % (uint64_t)spread, bits = which * 0x9e3779b97f4a7c15u;
        if (r->key != BF_PAIR && is_float(r->key) && which % 64 == 5) {
            uint64_t inf = infinity_bits(r->key), other[] = {0, inf, inf + 1 + (uint64_t)(i % 3)};
            bits = other[i % 3] | (i & 8 ? sign_bit(r->key) : 0);
        }
        put_key(r, i, bits);
    }
}

static rows rows_of(bf_dtype key, bf_dtype value, int64_t n) {
    rows r = {.key = key, .n = n, .count = OPS};
    for (int i = 0; i < OPS; i++) r.aggregates[i] = (bf_aggregate){ops[i], value};
    return r;
}

static void random_values(const rows *r, int kind, uint64_t seed) {
    bf_dtype dtype = r->aggregates[0].dtype;
    fill(dtype, on_host + SECOND, r->n, (data_kind)kind, seed);
    if (kind % 2 == 0) sprinkle(dtype, on_host + SECOND, r->n, 100, seed);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void every_dtype_of_keys_and_values(void **unused) {
    (void)unused;
    static const int64_t sizes[] = {0, 1, 33, 1000, 20011, 300007};
    int most = is_small() ? 4 : 6, step = is_small() ? 11 : 1;
    for (int k = 0; k < KEYS; k++)
        for (int v = k % step; v < DTYPE_COUNT; v += step) {
            int s = (k + v) % most;
            rows r = rows_of(key_dtype(k), all_dtypes[v], sizes[s]);
            r.offset = (k + 2 * v) % 3 * (int)(bytes_of(r.key) & 7);
            random_keys(&r, (v + 1) * (s > 3 ? 900 : 3), (uint64_t)(k + v));
            random_values(&r, (k + v) % KIND_COUNT, (uint64_t)v);
            check(&r, (place)((k + v) % PLACES));
        }
}

static void every_place_and_alignment(void **unused) {
    (void)unused;
    for (int where = 0; where < PLACES; where++)
        for (int offset = 0; offset < 9; offset += is_small() ? 3 : 1) {
            rows r = rows_of(BF_U32, BF_F64, 5000);
            r.offset = offset;
            random_keys(&r, 100, (uint64_t)offset);
            random_values(&r, KIND_CANCEL, (uint64_t)offset);
            check(&r, (place)where);
        }
}

/* From one group to as many as rows, of values of every kind; few and many limbs. */
static void every_number_of_groups(void **unused) {
    (void)unused;
    static const bf_dtype values[] = {BF_F32, BF_F64, BF_I64, BF_U8, BF_BF16};
    static const bf_dtype keys[] = {BF_U32, BF_I64, BF_F32, BF_PAIR};
    int64_t n = is_small() ? 20000 : 1 << 20;
    int turn = 0;
    for (int64_t groups = 1; groups <= 4 * n; groups *= is_small() ? 64 : 4, turn++) {
        rows r = rows_of(keys[turn % 4], values[turn % 5], n);
        r.count = 3;
        r.aggregates[1].op = BF_VAR;
        r.aggregates[2].op = BF_MAX;
        random_keys(&r, groups, (uint64_t)groups);
        random_values(&r, turn % KIND_COUNT, (uint64_t)groups);
        check(&r, DEVICE);
        rows u = r;
        u.key = BF_U32;
        random_keys(&u, groups, (uint64_t)groups);
        check(&u, DEVICE);
    }
}

static uint64_t zipf(uint64_t *seed, uint64_t most) {
    double u = (double)(next_random(seed) >> 11) * 0x1p-53;
    return (uint64_t)exp(u * log((double)most));
}

static void hostile_keys(void **unused) {
    (void)unused;
    static const bf_dtype keys[] = {BF_U32, BF_U64, BF_PAIR, BF_F32, BF_I16};
    int64_t n = is_small() ? 17000 : 700001;
    for (int d = 0; d < 5; d += is_small() ? 3 : 1)
        for (int how = 0; how < 9; how += is_small() ? 3 : 1) {
            uint64_t seed = (uint64_t)how;
            rows r = rows_of(keys[d], BF_F32, n);
            r.count = 1;
            for (int64_t i = 0; i < n; i++) {
                uint64_t x = (uint64_t)i, key = x;
                if (how == 0) key = 5;
                if (how == 2) key = x << 12;
                if (how == 3) key = x << 40 | x << 20;
                if (how == 4) key = ~(x & 7);
                if (how == 5) key = zipf(&seed, 1 << 20);
                if (how == 6) key = x % 10 ? ~(uint64_t)0 : x;
                if (how == 7) key = x * 0x9e3779b97f4a7c15u >> 3;
                if (how == 8) key = x < 1000 ? x : 1000 + x / 5000; /* runs */
                put_key(&r, i, key);
            }
            random_values(&r, KIND_FULL, seed);
            check(&r, DEVICE);
        }
}

static uint64_t unshift(uint64_t x, int by) {
    uint64_t y = x;
    for (int i = 0; i < 64; i += by) y = x ^ y >> by;
    return y;
}

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t inverse(uint64_t a) {
    uint64_t x = a;
    for (int i = 0; i < 6; i++) x *= 2 - a * x;
    return x;
}

/* Keys whose hashes under seed 0 are neighbours; and such as crowd under a multiplication. */
static void keys_chosen_against_the_seed_take_no_longer(void **unused) {
    (void)unused;
    uint64_t first = mix(0x9e3779b97f4a7c15u), second = mix(0x3c6ef372fe94f82au);
    int64_t n = is_small() ? 17000 : 1 << 20;
    for (int how = 0; how < 3; how++) {
        rows r = {.key = how == 0 ? BF_U64 : BF_U32, .n = n};
        for (int64_t i = 0; i < n; i++) {
            uint64_t x = unshift((uint64_t)i + (0xabcdefull << 40), 31);
            x = unshift(x * inverse(0x94d049bb133111ebu), 27) ^ second;
            x = unshift(x * inverse(0xbf58476d1ce4e5b9u), 30) ^ first;
            if (how > 0)
                x = (uint32_t)i % (how == 1 ? 3000 : 60000) *
                    inverse((first | 1) * (how == 1 ? 1 : 0x9e3779b97f4a7c15u));
            put_key(&r, i, x);
        }
        struct timespec began, ended;
        to_device(&r);
        bf_groups *found = groups_on(gpu, &r), *expected = groups_on(cpu, &r);
        clock_gettime(CLOCK_MONOTONIC, &began);
        assert_int_equal(absorb(found, &r, on_device, 0, n, DEVICE), BF_OK);
        clock_gettime(CLOCK_MONOTONIC, &ended);
        assert_int_equal(absorb(expected, &r, on_host, 0, n, HOST), BF_OK);
        assert_same("chosen", &r, found, expected);
        if (!is_small()) assert_true(ended.tv_sec - began.tv_sec < 2);
        bf_groups_destroy(found);
        bf_groups_destroy(expected);
    }
}

/* Chunks into several groups, then merges of all of these, also over devices. */
static void chunks_and_merges(void **unused) {
    (void)unused;
    static const bf_dtype keys[] = {BF_U32, BF_PAIR, BF_F64, BF_BOOL};
    int64_t n = is_small() ? 3000 : 200000;
    for (int turn = 0; turn < (is_small() ? 2 : 12); turn++) {
        uint64_t seed = (uint64_t)turn;
        rows r = rows_of(keys[turn % 4], all_dtypes[(3 * turn + 12) % DTYPE_COUNT], n);
        random_keys(&r, turn % 3 ? 50 : 100000, seed);
        random_values(&r, turn % KIND_COUNT, seed);
        to_device(&r);
        bf_groups *whole = groups_on(cpu, &r), *on_cpu = groups_on(cpu, &r), *parts[3];
        for (int i = 0; i < 3; i++) {
            r.seed = (uint64_t)i;
            parts[i] = groups_on(gpu, &r);
        }
        r.seed = 0;
        for (int64_t at = 0, some; at < n; at += some) {
            some = 1 + (int64_t)(next_random(&seed) % (uint64_t)(n / 5));
            if (some > n - at) some = n - at;
            bool device = next_random(&seed) % 2;
            assert_int_equal(absorb(parts[next_random(&seed) % 3], &r, device ? on_device : on_host,
                                    at, some, HOST),
                             BF_OK);
        }
        assert_int_equal(absorb(whole, &r, on_host, 0, n, HOST), BF_OK);
        assert_int_equal(bf_groups_merge(parts[0], parts[1]), BF_OK);
        assert_int_equal(bf_groups_merge(on_cpu, parts[2]), BF_OK);
        assert_int_equal(bf_groups_merge(parts[0], on_cpu), BF_OK);
        assert_same("merged", &r, parts[0], whole);
        assert_int_equal(bf_groups_merge(parts[0], parts[0]), BF_OK);
        assert_int_equal(bf_groups_merge(whole, whole), BF_OK);
        assert_same("merged with themselves", &r, parts[0], whole);
        bf_groups_clear(parts[0]);
        bf_groups_clear(whole);
        absorb_both(parts[0], whole, &r, n / 2, n / 3, DEVICE);
        assert_same("cleared", &r, parts[0], whole);
        for (int i = 0; i < 3; i++) bf_groups_destroy(parts[i]);
        bf_groups_destroy(whole);
        bf_groups_destroy(on_cpu);
    }
}

static void loaded_groups_go_on(void **unused) {
    (void)unused;
    rows r = rows_of(BF_I32, BF_F64, is_small() ? 999 : 100000);
    random_keys(&r, 5000, 1);
    random_values(&r, KIND_FULL, 2);
    bf_groups *saved = groups_on(cpu, &r), *loaded;
    size_t size;
    assert_int_equal(absorb(saved, &r, on_host, 0, r.n, HOST), BF_OK);
    unsigned char *bytes = save_groups(saved, &size);
    assert_int_equal(bf_groups_load(gpu, bytes, size, &loaded), BF_OK);
    assert_same("loaded", &r, loaded, saved);
    to_device(&r);
    absorb_both(loaded, saved, &r, 0, r.n, DEVICE);
    assert_same("loaded, and more", &r, loaded, saved);
    free(bytes);
    bf_groups_destroy(saved);
    bf_groups_destroy(loaded);
}

/* Lists go to arrays in any memory, of any strides. */
static void lists_go_anywhere(void **unused) {
    (void)unused;
    rows r = {.key = BF_I16, .n = 5000};
    random_keys(&r, 700, 3);
    to_device(&r);
    bf_groups *g = groups_on(gpu, &r);
    assert_int_equal(absorb(g, &r, on_device, 0, r.n, DEVICE), BF_OK);
    int64_t n = bf_groups_size(g), counts[700], other_counts[1400];
    int16_t keys[700], other_keys[1400];
    bf_array to_keys = bf_array_of(BF_I16, keys, n), to_counts = bf_array_of(BF_I64, counts, n);
    assert_int_equal(bf_groups_list(g, &to_keys, &to_counts), BF_OK);
    to_keys = bf_array_of(BF_I16, on_device, n);
    to_counts = bf_array_of(BF_I64, on_device + SECOND, n);
    to_keys.strides[0] = to_counts.strides[0] = 2;
    assert_int_equal(bf_groups_list(g, &to_keys, &to_counts), BF_OK);
    assert_int_equal(bf_memory_copy(gpu, other_keys, on_device, 4 * (size_t)n), BF_OK);
    assert_int_equal(bf_memory_copy(gpu, other_counts, on_device + SECOND, 16 * (size_t)n), BF_OK);
    for (int64_t i = 0; i < n; i++) {
        assert_int_equal(other_keys[2 * i], keys[i]);
        assert_int_equal(other_counts[2 * i], counts[i]);
    }
    bf_groups_destroy(g);
}

/* Where no device is named, groups are where their first rows are. */
static void groups_follow_their_first_rows(void **unused) {
    (void)unused;
    bf_context *any;
    rows r = rows_of(BF_U32, BF_F32, 1000);
    random_keys(&r, 10, 1);
    random_values(&r, KIND_NARROW, 1);
    to_device(&r);
    assert_int_equal(bf_context_create(&BF_OPTIONS(.threads = 1), &any), BF_OK);
    bf_groups *a = groups_on(any, &r), *b = groups_on(any, &r), *expected = groups_on(cpu, &r);
    assert_int_equal(absorb(a, &r, on_device, 0, r.n, DEVICE), BF_OK);
    assert_string_equal(bf_context_device(any), "cuda:0");
    assert_int_equal(absorb(b, &r, on_host, 0, r.n, HOST), BF_OK);
    assert_string_equal(bf_context_device(any), "cpu");
    assert_int_equal(absorb(b, &r, on_device, 0, r.n, DEVICE), BF_E_DEVICE);
    assert_int_equal(absorb(expected, &r, on_host, 0, r.n, HOST), BF_OK);
    assert_same("on the GPU", &r, a, expected);
    assert_same("on the CPU", &r, b, expected);
    assert_int_equal(absorb(a, &r, on_host, 0, r.n, HOST), BF_OK);
    assert_int_equal(bf_groups_merge(b, expected), BF_OK);
    assert_same("of both", &r, a, b);
    bf_groups_destroy(a);
    bf_groups_destroy(b);
    bf_groups_destroy(expected);
    bf_context_destroy(any);
}

/* All of the GPU's memory but so many bytes. */
static void *hog(size_t left) {
    size_t room, total;
    void *memory = NULL;
    assert_cuda(cudaMemGetInfo(&room, &total));
    while (room > left && cudaMalloc(&memory, room - left) != cudaSuccess) {
        cudaGetLastError();
        room -= 1 << 20;
    }
    return memory;
}

static void running_out_of_memory_changes_nothing(void **unused) {
    (void)unused;
    leave_out_if_small();
    rows r = rows_of(BF_U64, BF_F64, 1 << 20);
    random_keys(&r, 1 << 30, 5);
    random_values(&r, KIND_FULL, 6);
    to_device(&r);
    int failures = 0;
    for (size_t left = 0; left < (size_t)1 << 31; left = left ? 2 * left : 1 << 22) {
        bf_groups *g = groups_on(gpu, &r), *expected = groups_on(cpu, &r);
        absorb_both(g, expected, &r, 0, 1000, DEVICE);
        void *memory = hog(left);
        bf_status status = absorb(g, &r, on_device, 1000, r.n - 1000, DEVICE);
        assert_cuda(cudaFree(memory));
        if (status == BF_OK) {
            assert_int_equal(absorb(expected, &r, on_host, 1000, r.n - 1000, HOST), BF_OK);
        } else {
            assert_int_equal(status, BF_E_MEMORY);
            failures++;
        }
        assert_same("short of memory", &r, g, expected);
        absorb_both(g, expected, &r, 500, 5000, DEVICE);
        assert_same("afterwards", &r, g, expected);
        bf_groups_destroy(g);
        bf_groups_destroy(expected);
    }
    assert_true(failures > 2);
}

/* ---- joins ----------------------------------------------------------------------------------- */

static void check_join(const rows *a, int64_t m, bool device) {
    char *from = device ? on_device : on_host;
    bf_array x = bf_array_of(a->key, on_host, a->n), y = x;
    y.data = on_host + (size_t)(a->n - m) * bytes_of(a->key);
    y.shape[0] = m;
    bf_array u = x, v = y;
    u.data = from;
    v.data = from + ((char *)y.data - on_host);
    bf_pairs *expected, *found;
    assert_int_equal(bf_join(cpu, &x, &y, 1, &expected), BF_OK);
    assert_int_equal(bf_join(gpu, &u, &v, 1, &found), BF_OK);
    assert_int_equal(bf_pairs_size(found), bf_pairs_size(expected));
    size_t bytes = (size_t)bf_pairs_size(found) * sizeof(int64_t);
    assert_memory_equal(bf_pairs_a(found), bf_pairs_a(expected), bytes);
    assert_memory_equal(bf_pairs_b(found), bf_pairs_b(expected), bytes);
    bf_pairs_destroy(expected);
    bf_pairs_destroy(found);
}

static void joins_are_the_cpu_s(void **unused) {
    (void)unused;
    for (int k = 0; k < KEYS; k++)
        for (int device = 0; device < 2; device++) {
            rows r = {.key = key_dtype(k), .n = is_small() ? 300 : 3000};
            random_keys(&r, 500, (uint64_t)k);
            to_device(&r);
            check_join(&r, 150, device);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dtype_of_keys_and_values),
        cmocka_unit_test(every_place_and_alignment),
        cmocka_unit_test(every_number_of_groups),
        cmocka_unit_test(hostile_keys),
        cmocka_unit_test(keys_chosen_against_the_seed_take_no_longer),
        cmocka_unit_test(chunks_and_merges),
        cmocka_unit_test(loaded_groups_go_on),
        cmocka_unit_test(lists_go_anywhere),
        cmocka_unit_test(groups_follow_their_first_rows),
        cmocka_unit_test(running_out_of_memory_changes_nothing),
        cmocka_unit_test(joins_are_the_cpu_s),
    };
    return RUN_ON_GPU(tests);
}
