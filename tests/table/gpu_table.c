/* Tables on a GPU: random scripts of calls, with arrays in memory of every kind, after which they
 * have to say what a table of the CPU says, to the byte. */
#include "tests/table/gpu_tables.h"

enum { MOST_ROWS = 4096, KEYS = 7, VALUES_TOO = 8, POLICIES = 6 };

static const bf_dtype kinds[VALUES_TOO] = {BF_I32, BF_U32, BF_I64,  BF_U64,
                                           BF_F32, BF_F64, BF_PAIR, BF_NONE};

static int bytes_of(bf_dtype dtype) {
    return dtype == BF_NONE ? 0 : dtype == BF_PAIR ? 16 : (int)bf_dtype_size(dtype);
}

static bool allowed(bf_duplicates policy, bf_dtype value) {
    if (policy == BF_DUPLICATES_ADD) return value >= BF_I32 && value <= BF_U64;
    bool compares = policy == BF_DUPLICATES_LEAST || policy == BF_DUPLICATES_GREATEST;
    return !compares || (value != BF_NONE && value != BF_PAIR);
}

/* n elements, out of about `spread` different ones: zeros, ones, NaNs, and any bits. */
static void make(bf_dtype dtype, char *out, int64_t n, uint64_t spread, uint64_t seed) {
    size_t bytes = (size_t)bytes_of(dtype);
    for (int64_t i = 0; i < n; i++) {
        uint64_t which = next_random(&seed) % spread, bits[2] = {0, 0};
        if (which == 1) bits[0] = bits[1] = ~(uint64_t)0;
        if (which == 2 && is_float(dtype)) bits[0] = sign_bit(dtype);
        if (which == 3 && is_float(dtype)) bits[0] = infinity_bits(dtype);
        if (which == 4 && is_float(dtype)) bits[0] = infinity_bits(dtype) + 1;
        if (which > 4) bits[0] = next_random(&which);
        if (which > 4) bits[1] = which % 3 == 0 ? 1 : next_random(&which);
        memcpy(out + (size_t)i * bytes, bits, bytes);
    }
}

/* --- arrays in any memory --- */

typedef enum place { HOST, HOST_ODD, DEVICE, DEVICE_ODD, DEVICE_STRIDED, HOST_REVERSED } place;
enum { PLACES = HOST_REVERSED + 1, ROOM_EACH = MOST_ROWS * 16 * 2 + 64 };

/* Memory for the arrays of a call: keys, values, and one more. */
static char *host_room[3], *device_room[3];

static int set_up_rooms(void **unused) {
    if (set_up(unused)) return -1;
    for (int i = 0; i < 3; i++) {
        void *memory;
        host_room[i] = malloc(ROOM_EACH);
        if (!host_room[i] || bf_memory_allocate(gpu, ROOM_EACH, &memory)) return -1;
        device_room[i] = memory;
        memset(host_room[i], 0x5a, ROOM_EACH);
        if (bf_memory_copy(gpu, memory, host_room[i], ROOM_EACH)) return -1;
    }
    return 0;
}

static int tear_down_rooms(void **unused) {
    for (int i = 0; i < 3; i++) {
        free(host_room[i]);
        bf_memory_free(gpu, device_room[i]);
    }
    return tear_down(unused);
}

/* Copies n elements between contiguous memory and a room's array. */
static void move_elements(const bf_array *a, char *elements, bool in) {
    size_t bytes = (size_t)bytes_of(a->dtype);
    for (int64_t i = 0; i < a->shape[0]; i++) {
        char *at = (char *)a->data + i * a->strides[0] * (int64_t)bytes;
        if (in)
            memcpy(at, elements + (size_t)i * bytes, bytes);
        else
            memcpy(elements + (size_t)i * bytes, at, bytes);
    }
}

/* The array as the host sees it, in a room. */
static bf_array array_in(int room, bf_dtype dtype, int64_t n, place where) {
    bf_array a = bf_array_of(dtype, host_room[room] + 16, n);
    if (where == HOST_ODD) a.data = host_room[room] + 16 + 3;
    if (where == DEVICE_ODD) a.data = host_room[room] + 16 + (bytes_of(dtype) > 4 ? 4 : 1);
    if (where == DEVICE_STRIDED) a.strides[0] = 2;
    if (where == HOST_REVERSED && n > 0) {
        a.data = host_room[room] + 16 + (n - 1) * bytes_of(dtype);
        a.strides[0] = -1;
    }
    return a;
}

static bool on_gpu(place where) {
    return where == DEVICE || where == DEVICE_ODD || where == DEVICE_STRIDED;
}

static bf_array put(int room, bf_dtype dtype, char *elements, int64_t n, place where) {
    bf_array a = array_in(room, dtype, n, where);
    move_elements(&a, elements, true);
    if (!on_gpu(where)) return a;
    assert_int_equal(bf_memory_copy(gpu, device_room[room], host_room[room], ROOM_EACH), BF_OK);
    a.data = device_room[room] + ((char *)a.data - host_room[room]);
    return a;
}

static void get(int room, bf_dtype dtype, char *elements, int64_t n, place where) {
    bf_array a = array_in(room, dtype, n, where);
    if (on_gpu(where))
        assert_int_equal(bf_memory_copy(gpu, host_room[room], device_room[room], ROOM_EACH), BF_OK);
    move_elements(&a, elements, false);
}

/* --- two tables, and calls of both --- */

typedef struct tables {
    bf_dtype key, value;
    bf_table *cpu, *gpu;
    uint64_t rng;
    int64_t most;    /* rows of a call */
    uint64_t spread; /* by which keys are spread */
    char keys[MOST_ROWS * 16], values[2][MOST_ROWS * 16], found[2][MOST_ROWS];
    int64_t counts[2][MOST_ROWS];
} tables;

static tables t; /* too large for a stack */

static place any_place(void) { return (place)(next_random(&t.rng) % PLACES); }

static int64_t any_rows(void) {
    int64_t n = 1 + (int64_t)(next_random(&t.rng) % (uint64_t)t.most);
    make(t.key, t.keys, n, t.spread, next_random(&t.rng));
    return n;
}

static void check_insert(void) {
    int64_t n = any_rows();
    place where = any_place(), values_where = any_place();
    bf_array keys = bf_array_of(t.key, t.keys, n), values;
    bf_array gpu_keys = put(0, t.key, t.keys, n, where), gpu_values;
    if (t.value != BF_NONE) {
        make(t.value, t.values[0], n, 40, next_random(&t.rng));
        values = bf_array_of(t.value, t.values[0], n);
        gpu_values = put(1, t.value, t.values[0], n, values_where);
    }
    assert_int_equal(bf_table_insert(t.cpu, &keys, t.value == BF_NONE ? NULL : &values), BF_OK);
    assert_int_equal(bf_table_insert(t.gpu, &gpu_keys, t.value == BF_NONE ? NULL : &gpu_values),
                     BF_OK);
    assert_int_equal(bf_table_size(t.gpu), bf_table_size(t.cpu));
}

static void check_erase(void) {
    int64_t n = any_rows(), erased[2];
    bf_array keys = bf_array_of(t.key, t.keys, n);
    bf_array gpu_keys = put(0, t.key, t.keys, n, any_place());
    assert_int_equal(bf_table_erase(t.cpu, &keys, &erased[0]), BF_OK);
    assert_int_equal(bf_table_erase(t.gpu, &gpu_keys, &erased[1]), BF_OK);
    assert_int_equal(erased[1], erased[0]);
    assert_int_equal(bf_table_size(t.gpu), bf_table_size(t.cpu));
}

/* What is not there keeps its value. */
static void check_find(void) {
    int64_t n = any_rows();
    place where = any_place(), found_where = any_place();
    size_t bytes = (size_t)n * (size_t)bytes_of(t.value);
    bool has = t.value != BF_NONE;
    memset(t.values, 0x77, sizeof t.values);
    memset(t.found, 0x77, sizeof t.found);
    bf_array keys = bf_array_of(t.key, t.keys, n), values = bf_array_of(t.value, t.values[0], n);
    bf_array found = bf_array_of(BF_BOOL, t.found[0], n);
    bf_array gpu_keys = put(0, t.key, t.keys, n, any_place()), gpu_values = keys;
    if (has) gpu_values = put(1, t.value, t.values[1], n, where);
    bf_array gpu_found = put(2, BF_BOOL, t.found[1], n, found_where);
    assert_int_equal(bf_table_find(t.cpu, &keys, has ? &values : NULL, &found), BF_OK);
    assert_int_equal(bf_table_find(t.gpu, &gpu_keys, has ? &gpu_values : NULL, &gpu_found), BF_OK);
    get(2, BF_BOOL, t.found[1], n, found_where);
    assert_memory_equal(t.found[1], t.found[0], (size_t)n);
    if (!has) return;
    get(1, t.value, t.values[1], n, where);
    assert_memory_equal(t.values[1], t.values[0], bytes);
}

static void check_count(void) {
    int64_t n = any_rows();
    place where = any_place();
    bf_array keys = bf_array_of(t.key, t.keys, n), counts = bf_array_of(BF_I64, t.counts[0], n);
    bf_array gpu_keys = put(0, t.key, t.keys, n, any_place());
    bf_array gpu_counts = put(2, BF_I64, (char *)t.counts[1], n, where);
    assert_int_equal(bf_table_count(t.cpu, &keys, &counts), BF_OK);
    assert_int_equal(bf_table_count(t.gpu, &gpu_keys, &gpu_counts), BF_OK);
    get(2, BF_I64, (char *)t.counts[1], n, where);
    assert_memory_equal(t.counts[1], t.counts[0], (size_t)n * 8);
}

/* As many keys as have few enough values. */
static void check_find_all(void) {
    int64_t n = any_rows(), total = 0, use = 0;
    place where = any_place();
    if (t.value == BF_NONE) return;
    bf_array keys = bf_array_of(t.key, t.keys, n), counts = bf_array_of(BF_I64, t.counts[0], n);
    assert_int_equal(bf_table_count(t.cpu, &keys, &counts), BF_OK);
    while (use < n && total + t.counts[0][use] <= MOST_ROWS) total += t.counts[0][use++];
    if (where == DEVICE_STRIDED || where == HOST_REVERSED) where = HOST;
    keys.shape[0] = use;
    bf_array values = bf_array_of(t.value, t.values[0], total);
    bf_array gpu_keys = put(0, t.key, t.keys, use, any_place());
    bf_array gpu_values = put(1, t.value, t.values[1], total, where);
    assert_int_equal(bf_table_find_all(t.cpu, &keys, &values), BF_OK);
    assert_int_equal(bf_table_find_all(t.gpu, &gpu_keys, &gpu_values), BF_OK);
    get(1, t.value, t.values[1], total, where);
    assert_memory_equal(t.values[1], t.values[0], (size_t)total * (size_t)bytes_of(t.value));
}

static void check_one(void) {
    char value[2][16] = {{0}, {0}};
    int found[2];
    any_rows();
    bool has = t.value != BF_NONE;
    make(t.value, value[0], has, 40, next_random(&t.rng));
    for (int k = 0; k < 2; k++)
        assert_int_equal(bf_table_insert_one(k ? t.gpu : t.cpu, t.keys, has ? value[0] : NULL),
                         BF_OK);
    for (int k = 0; k < 2; k++)
        assert_int_equal(
            bf_table_find_one(k ? t.gpu : t.cpu, t.keys, has ? value[k] : NULL, &found[k]), BF_OK);
    assert_true(found[0] && found[1]);
    assert_memory_equal(value[0], value[1], 16);
    if (next_random(&t.rng) % 2) return;
    for (int k = 0; k < 2; k++)
        assert_int_equal(bf_table_erase_one(k ? t.gpu : t.cpu, t.keys, &found[k]), BF_OK);
    assert_int_equal(found[1], found[0]);
}

static void check_export(void) {
    int64_t n = bf_table_size(t.cpu);
    place where = any_place();
    assert_same_tables(t.cpu, t.gpu);
    if (n > MOST_ROWS || n == 0) return;
    bf_array keys = bf_array_of(t.key, t.keys, n), gpu_keys = put(0, t.key, t.keys, n, where);
    assert_int_equal(bf_table_export(t.cpu, &keys, NULL), BF_OK);
    assert_int_equal(bf_table_export(t.gpu, &gpu_keys, NULL), BF_OK);
    get(0, t.key, t.values[0], n, where);
    assert_memory_equal(t.values[0], t.keys, (size_t)n * (size_t)bytes_of(t.key));
}

/* To the other device and back. */
static void check_copies(void) {
    bf_table *copies[3];
    assert_int_equal(bf_table_copy(cpu, t.gpu, &copies[0]), BF_OK);
    assert_int_equal(bf_table_copy(gpu, copies[0], &copies[1]), BF_OK);
    assert_int_equal(bf_table_copy(gpu, t.gpu, &copies[2]), BF_OK);
    for (int i = 0; i < 3; i++) assert_same_tables(t.cpu, copies[i]);
    bf_table_destroy(t.gpu);
    t.gpu = copies[1];
    bf_table_destroy(copies[0]);
    bf_table_destroy(copies[2]);
}

static void check_load(void) {
    size_t size;
    unsigned char *saved = saved_by(t.cpu, &size);
    bf_table *loaded;
    assert_int_equal(bf_table_load(gpu, saved, size, &loaded), BF_OK);
    bf_table_destroy(t.gpu);
    t.gpu = loaded;
    free(saved);
}

static void do_anything(void) {
    switch (next_random(&t.rng) % 14) {
    case 0:
    case 1: check_erase(); break;
    case 2: check_one(); break;
    case 3:
        if (next_random(&t.rng) % 4 != 0) break;
        bf_table_clear(t.cpu);
        bf_table_clear(t.gpu);
        break;
    case 4:
        if (next_random(&t.rng) % 4 == 0) assert_int_equal(bf_table_reserve(t.gpu, 20000), BF_OK);
        break;
    case 5: check_copies(); break;
    case 6: check_load(); break;
    case 7: check_find(); break;
    default: check_insert();
    }
}

static void check_all(void) {
    check_export();
    check_find();
    check_count();
    check_find_all();
}

static void run_script(bf_dtype key, bf_dtype value, bf_duplicates policy, uint64_t seed) {
    static const uint64_t spreads[] = {1, 7, 100, 3000, 100000};
    static const int64_t sizes[] = {1, 30, 700, MOST_ROWS};
    t.key = key;
    t.value = value;
    t.rng = seed;
    t.spread = spreads[next_random(&t.rng) % 5];
    t.most = sizes[next_random(&t.rng) % 4];
    bf_table_options o =
        BF_TABLE_OPTIONS(.key = key, .value = value, .duplicates = policy,
                         .reserve = next_random(&t.rng) % 3 == 0 ? 3000 : 0, .seed = seed % 3);
    assert_int_equal(bf_table_create(cpu, &o, &t.cpu), BF_OK);
    assert_int_equal(bf_table_create(gpu, &o, &t.gpu), BF_OK);
    check_all();
    for (int i = 0; i < (is_small() ? 5 : 9); i++) do_anything();
    check_all();
    bf_table_destroy(t.cpu);
    bf_table_destroy(t.gpu);
}

static void scripts_of_every_kind(void **unused) {
    (void)unused;
    uint64_t seed = 1;
    int scripts = is_small() ? 1 : 4;
    for (int k = 0; k < KEYS; k++)
        for (int v = 0; v < VALUES_TOO; v++)
            for (int p = 0; p < POLICIES; p++)
                for (int i = 0; i < scripts && allowed((bf_duplicates)p, kinds[v]); i++, seed++)
                    if (!is_small() || seed % 9 == 0)
                        run_script(kinds[k], kinds[v], (bf_duplicates)p, seed);
}

/* --- keys that very many rows have --- */

enum { HOT_MOST = 300000 };

static char hot_keys[HOT_MOST * 16];
static int32_t hot_values[HOT_MOST];

/* All rows have one key, or the keys are as frequent as 1, 1/2, 1/3, ... squared: half of the rows
 * have the first. */
static void make_hot_keys(bf_dtype dtype, int64_t n, bool one) {
    uint64_t rng = 11;
    size_t bytes = (size_t)bytes_of(dtype);
    for (int64_t i = 0; i < n; i++) {
        uint64_t u = next_random(&rng) % (1 << 20) + 1, which = one ? 1 : (1 << 20) / u;
        uint64_t bits[2] = {next_random(&which), which};
        memcpy(hot_keys + (size_t)i * bytes, bits, bytes);
        hot_values[i] = (int32_t)next_random(&rng);
    }
}

/* The second call finds keys there already. */
static void check_hot_keys(bf_dtype key, bf_duplicates policy, bool one, int64_t reserve) {
    int64_t n = is_small() ? HOT_MOST / 3 : HOT_MOST, parts[] = {0, n / 2, n};
    bf_table *made[2];
    bf_table_options o =
        BF_TABLE_OPTIONS(.key = key, .value = BF_I32, .duplicates = policy, .seed = 3);
    make_hot_keys(key, n, one);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(bf_table_create(k ? gpu : cpu, &o, &made[k]), BF_OK);
        if (k) assert_int_equal(bf_table_reserve(made[k], reserve), BF_OK);
        for (int i = 0; i < 2; i++) {
            bf_array keys = bf_array_of(key, hot_keys + parts[i] * bytes_of(key), n / 2);
            bf_array values = bf_array_of(BF_I32, hot_values + parts[i], n / 2);
            assert_int_equal(bf_table_insert(made[k], &keys, &values), BF_OK);
        }
    }
    assert_same_tables(made[0], made[1]);
    for (int k = 0; k < 2; k++) bf_table_destroy(made[k]);
}

/* Few regions, one pass; and more than one pass tells apart. */
static void hot_keys_of_every_width(void **unused) {
    static const bf_dtype keys[] = {BF_U32, BF_I64, BF_PAIR};
    (void)unused;
    for (int k = 0; k < 3; k++)
        for (int p = 0; p < POLICIES; p++)
            for (int one = 0; one < 2; one++) {
                if (!allowed((bf_duplicates)p, BF_I32) || (is_small() && (k != p || one))) continue;
                int64_t regions_1100 = (int64_t)3604480 * 4 / bytes_of(keys[k]);
                check_hot_keys(keys[k], (bf_duplicates)p, one, 0);
                check_hot_keys(keys[k], (bf_duplicates)p, one, regions_1100);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scripts_of_every_kind),
        cmocka_unit_test(hot_keys_of_every_width),
    };
    return RUN_ON_GPU_WITH(tests, set_up_rooms, tear_down_rooms);
}
