/* verify: every operation, on every instruction set and thread count, gives the same bits. */
#include "verify/verify.h"
#include "command.h"
#include "runtime/operand.h"
#include "runtime/progress.h"
#include "runtime/report.h"
#include "works/data.h"

#include <inttypes.h>
#include <stdlib.h>

static const option_spec specs[] = {
    {"against", 0, IN_INPUT, "FILE", "compare with this saved state of the same data", 0,
     .read = read_text, .at = OPTION_AT(against), .file = FILE_READ},
    {"full", 0, IN_INPUT, NULL, "take all elements of FILE, not the first 1048576", 0,
     .read = read_flag, .at = OPTION_AT(full)},
};
const option_table verify_options = OPTION_TABLE(specs);

static const usage verify_usage = {
    "[OPTIONS] [FILE]",
    "Runs every operation on every instruction set of this machine, with several thread counts, "
    "and "
    "on its GPUs, in one pass and in parts. The data are generated, or those of FILE. Shows the "
    "bits side by side, then PASS, or FAIL with exit code 5, and whether CPU and GPU agree.\n\n"
    "Data are generated in every dtype, and always for pictures, tables, groups, joins and keys of "
    "strings. There are 1, 2, 3 and all threads. Of a FILE without --count, --full or --against it "
    "takes the first 1048576 elements. Many values are shown as a checksum.\n\n"
    "--against runs only the operation of a saved state, on the data of that state, and compares "
    "the results with it. These data are the operands: two files for dot, all files of a total in "
    "turn, the weights of a histogram last, the keys of groups and then the values of each "
    "aggregate.",
    TAKES_INPUT | TAKES_JSON | TAKES_DEVICE,
    "against full format dtype count device json help",
    "bitfold verify y.npy | tail -n 2\n"
    "bitfold sum --save x.bfs x.npy\n"
    "bitfold verify --against x.bfs x.npy",
    &verify_options};

enum { ELEMENTS = 65537, MOST = 1 << 20 };

/* ---- one way of computing -------------------------------------------------------------------- */

/* All members begin where the union does. */
size_t verify_value_size(bf_dtype dtype) {
    switch (dtype) {
    case BF_I192: return sizeof(uint64_t[3]);
    case BF_F16:
    case BF_BF16:
    case BF_F32: return bf_dtype_size(dtype);
    default: return sizeof(uint64_t);
    }
}

bool verify_same(const outcome *a, const outcome *b) {
    if (a->status != BF_OK || b->status != BF_OK) return a->status == b->status;
    return a->value.dtype == b->value.dtype &&
           memcmp(&a->value.as, &b->value.as, verify_value_size(a->value.dtype)) == 0;
}

void verify_text(const outcome *r, char text[BF_VALUE_TEXT]) {
    if (r->status == BF_OK)
        output_format(&r->value, true, text);
    else
        snprintf(text, BF_VALUE_TEXT, "(%s)", bf_status_string(r->status));
}

/* Is the state compared instead of the value? A description has many values, and a product is soon
 * 0 or infinite. */
static bool tells_by_state(bf_reduction op) { return op == BF_DESCRIBE || op == BF_PROD; }

outcome verify_saved_checksum(const void *bytes, size_t size) {
    const unsigned char *last = (const unsigned char *)bytes + size - 8;
    outcome r = {.value.dtype = BF_U64};
    for (size_t i = 0; i < 8; i++) r.value.as.u64 |= (uint64_t)last[i] << 8 * i;
    return r;
}

static outcome state_checksum(const bf_state *state) {
    const size_t size = bf_state_save_size(state);
    void *bytes = malloc(size);
    if (!bytes) return (outcome){.status = BF_E_MEMORY};
    bf_state_save(state, bytes);
    const outcome r = verify_saved_checksum(bytes, size);
    free(bytes);
    return r;
}

outcome verify_result(const bf_state *state, const bf_reduce_options *rules) {
    bf_state_info info = {.size = sizeof info};
    outcome r = {.status = BF_OK};
    bf_state_describe(state, &info);
    if (tells_by_state(info.op)) return state_checksum(state);
    r.status = bf_state_result(state, rules, &r.value);
    return r;
}

static outcome state_in_one_pass(bf_context *context, const subject *s) {
    bf_state *state = NULL;
    outcome r = {.status = bf_state_create(context, s->reduction, s->a.dtype, &state)};
    if (r.status == BF_OK) r.status = bf_state_absorb(state, &s->a);
    if (r.status == BF_OK) r = verify_result(state, NULL);
    bf_state_destroy(state);
    return r;
}

bf_array verify_slice(const bf_array *a, int64_t first, int64_t last) {
    const char *data = a->data;
    return bf_array_of(a->dtype, data ? data + (size_t)first * data_size(a->dtype) : NULL,
                       last - first);
}

/* The contexts of open_gpus. The device of a context is the one of its last call, which may have
 * been the CPU's. */
static const bf_context *for_gpus[VERIFY_GPUS];

static bool is_for_gpu(const bf_context *context) {
    for (int i = 0; i < VERIFY_GPUS; i++)
        if (for_gpus[i] == context) return true;
    return false;
}

bf_status verify_move(bf_context *context, const bf_array *from, bf_array *to) {
    const size_t bytes = (size_t)from->shape[0] * data_size(from->dtype);
    *to = *from;
    if (!is_for_gpu(context)) return BF_OK;
    void *memory;
    const bf_status st = bf_memory_allocate(context, bytes, &memory);
    if (st != BF_OK) return st;
    to->data = memory;
    return bytes > 0 ? bf_memory_copy(context, memory, from->data, bytes) : BF_OK;
}

void verify_unmove(bf_context *context, const bf_array *from, bf_array *to) {
    if (to->data != from->data) bf_memory_free(context, to->data);
}

bf_status verify_return(bf_context *context, const bf_array *from, const bf_array *to) {
    const size_t bytes = (size_t)from->shape[0] * data_size(from->dtype);
    if (to->data == from->data || bytes == 0) return BF_OK;
    return bf_memory_copy(context, from->data, to->data, bytes);
}

static outcome reduce_whole(bf_context *context, const subject *s) {
    const bf_reduce_options rules = BF_REDUCE_OPTIONS(.nan = s->nan);
    outcome r = {.status = BF_OK};
    if (tells_by_state(s->reduction)) return state_in_one_pass(context, s);
    r.status = s->reduction == BF_DOT ? bf_dot(context, &s->a, &s->b, &rules, &r.value)
                                      : bf_reduce(context, s->reduction, &s->a, &rules, &r.value);
    return r;
}

/* Absorbs arrays in the memory of the device. */
static outcome in_one_pass(bf_context *context, const subject *s) {
    subject moved = *s;
    outcome r = {.status = verify_move(context, &s->a, &moved.a)};
    if (r.status == BF_OK) r.status = verify_move(context, &s->b, &moved.b);
    if (r.status == BF_OK) r = reduce_whole(context, &moved);
    verify_unmove(context, &s->a, &moved.a);
    verify_unmove(context, &s->b, &moved.b);
    return r;
}

static bf_status absorb_part(bf_state *state, const subject *s, int64_t first, int64_t last) {
    const bf_array a = verify_slice(&s->a, first, last);
    const bf_array b = verify_slice(&s->b, first, last);
    if (s->reduction == BF_DOT) return bf_state_absorb_pair(state, &a, &b);
    const bf_status st = reduce_is_ordered(s->reduction) ? bf_state_seek(state, first) : BF_OK;
    return st == BF_OK ? bf_state_absorb(state, &a) : st;
}

/* Absorbs three parts from the host's memory. Merges the third into the second, then the second
 * into the first. */
static outcome in_parts(bf_context *context, const subject *s) {
    const int64_t n = s->a.shape[0], cuts[] = {0, n / 7, n - n / 3, n};
    const bf_reduce_options rules = BF_REDUCE_OPTIONS(.nan = s->nan);
    bf_state *parts[3] = {NULL, NULL, NULL};
    outcome r = {.status = BF_OK};
    for (int i = 0; i < 3 && r.status == BF_OK; i++) {
        r.status = bf_state_create(context, s->reduction, s->a.dtype, &parts[i]);
        if (r.status == BF_OK) r.status = absorb_part(parts[i], s, cuts[i], cuts[i + 1]);
    }
    if (r.status == BF_OK) r.status = bf_state_merge(parts[1], parts[2]);
    if (r.status == BF_OK) r.status = bf_state_merge(parts[0], parts[1]);
    if (r.status == BF_OK) r = verify_result(parts[0], &rules);
    for (int i = 0; i < 3; i++) bf_state_destroy(parts[i]);
    return r;
}

/* ---- every operation ------------------------------------------------------------------------- */

static const bf_reduction operations[] = {
#define BF_X(id, number, name, state, result, text) BF_##id,
    BF_REDUCTION_LIST(BF_X)
#undef BF_X
};

/* Verifies every operation on n elements. dot pairs the first half with the second. */
static int do_data(const machine *m, const char *name, bf_dtype dtype, const void *data, int64_t n,
                   bf_nan_policy nan, verdict *v) {
    const bf_array all = bf_array_of(dtype, data, n);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        const bf_reduction op = operations[i];
        subject s = {.op = bf_reduction_name(op), .data = name, .reduction = op, .a = all};
        s.nan = nan;
        s.whole = in_one_pass;
        s.parts = in_parts;
        s.sum_is_1 = op == BF_SUM && strcmp(name, data_names[DATA_WIDE]) == 0;
        s.b = verify_slice(&all, 0, op == BF_DOT ? n / 2 : 0);
        if (op == BF_DOT) s.a = verify_slice(&all, n - n / 2, n);
        const int code = verify_row(m, &s, v);
        if (code != EXIT_DONE) return code;
    }
    int code = verify_axes(m, name, &all, nan, v);
    if (code == EXIT_DONE) code = verify_orders(m, name, &all, nan, v);
    if (code != EXIT_DONE || nan != BF_NAN_PROPAGATE) return code;
    code = verify_histograms(m, name, &all, v);
    if (code == EXIT_DONE) code = verify_maps(m, name, &all, v);
    return code == EXIT_DONE ? verify_expressions(m, name, &all, v) : code;
}

/* ---- all rows -------------------------------------------------------------------------------- */

typedef struct showing {
    const machine *machine;
    verdict *verdict;
} showing;

static int show_row(const task *t, void *to) {
    const showing *s = to;
    return verify_row(s->machine, t, s->verdict);
}

int verify_work(const machine *m, const work *w, const task *given, verdict *v) {
    task t = *given;
    t.work = w;
    return w->rows(&t, show_row, &(showing){m, v});
}

static int do_works(const machine *m, const work *const *works, const task *given, verdict *v) {
    int code = EXIT_DONE;
    for (; *works && code == EXIT_DONE; works++) code = verify_work(m, *works, given, v);
    return code;
}

/* Verifies every operation on the elements of an array. */
static int do_data(const machine *m, const char *name, const bf_array *a, bf_nan_policy nan,
                   verdict *v) {
    return do_works(m, works_on_data, &(task){.data = name, .a = *a, .nan = nan}, v);
}

static int do_dtype(const machine *m, bf_dtype dtype, void *buffer, verdict *v) {
    const bf_array all = bf_array_of(dtype, buffer, ELEMENTS);
    int code = EXIT_DONE;
    for (int k = 0; k < (data_is_float(dtype) ? DATA_KINDS : 1) && code == EXIT_DONE; k++) {
        data_fill((enum data_kind)k, dtype, buffer, ELEMENTS);
        code = do_data(m, data_names[k], &all, BF_NAN_PROPAGATE, v);
        if (k == DATA_SPECIAL && code == EXIT_DONE)
            code = do_data(m, "special, skip", &all, BF_NAN_SKIP, v);
    }
    return code;
}

static int do_dtypes(const machine *m, verdict *v) {
    static const bf_dtype dtypes[] = {
#define BF_X(id, number, name, bytes, type, ...) BF_##id,
        BF_DTYPE_LIST(BF_X)
#undef BF_X
    };
    uint64_t *buffer = malloc(ELEMENTS * sizeof *buffer);
    if (!buffer) return fail_status(BF_E_MEMORY, NULL, NULL);
    int code = EXIT_DONE;
    for (const bf_dtype *d = data_dtypes; *d && code == EXIT_DONE; d++)
        code = do_dtype(m, *d, buffer, v);
    free(buffer);
    return code;
}

static int do_generated(const machine *m, verdict *v) {
    const int code = do_dtypes(m, v);
    return code == EXIT_DONE ? do_works(m, works_of_own, &(task){.kinds = 0}, v) : code;
}

int verify_open(rows *r, const char *name, const input *in, bool decimals, spool_limit *limit) {
    rows_options how = {.threads = 1, .settled = true, .ordered = true, .keep = limit};
    how.digits = decimals ? BF_SCALE_MOST_I128 : 0;
    const int code = rows_open_column(r, name, in, &how);
    if (code == EXIT_DONE) progress_start(name, rows_bytes(r));
    if (code != EXIT_DONE || r->source.text || r->source.count >= 0) return code;
    rows_close(r);
    return fail(EXIT_DATA, name, "verify needs a file, or a stream with --count");
}

static int do_elements(const machine *m, const bf_array *a, verdict *v) {
    int code = do_data(m, "file", a, BF_NAN_PROPAGATE, v);
    if (code == EXIT_DONE && data_is_float(a->dtype))
        code = do_data(m, "file, skip", a, BF_NAN_SKIP, v);
    return code;
}

/* All rows, of an array or (NULL) of generated data. They are gone through twice, at first to know
 * how much there is to do. */
static int do_with_progress(const machine *m, const char *name, const bf_array *a, verdict *v) {
    int code = EXIT_DONE;
    for (int pass = 0; pass < 2 && code == EXIT_DONE; pass++) {
        v->planning = pass == 0;
        if (pass == 1) progress_start(name, v->planned);
        code = a ? do_elements(m, a, v) : do_generated(m, v);
    }
    progress_stop();
    return code;
}

/* All ways together take some microseconds an element, so of a long file the start is taken. */
static bf_array bound(const options *o, const bf_array *all) {
    const int64_t n = all->shape[0];
    if (o->full || o->input.count >= 0 || n <= MOST) return *all;
    inform(o->files[0], "takes the first %d of %" PRId64 " elements; with --full, all", MOST, n);
    return work_slice(all, 0, MOST);
}

static int do_file(const machine *m, const options *o, verdict *v) {
    rows r;
    bf_array all;
    spool_limit limit;
    spool_limit_set(&limit, 0);
    int code = verify_open(&r, o->files[0], &o->input, false, &limit);
    if (code != EXIT_DONE) return code;
    code = rows_load(&r, &all);
    if (code == EXIT_DONE) {
        const bf_array some = bound(o, &all);
        code = do_with_progress(m, o->files[0], &some, v);
    }
    if (code == EXIT_DONE) code = source_check(&r.source);
    rows_close(&r);
    return code;
}

/* ---- the machine ----------------------------------------------------------------------------- */

/* Opens all GPUs of this machine, or the one of --device. */
static int open_gpus(machine *m, const char *device) {
    int asked;
    if (bf_device_parse(device, &asked) != BF_OK || asked == BF_DEVICE_CPU) return EXIT_DONE;
    const int first = asked < 0 ? 0 : asked;
    const int last = asked < 0 ? bf_device_count() : asked + 1;
    for (int i = first; i < last && m->gpus < VERIFY_GPUS; i++) {
        char *name = m->gpu_name[m->gpus];
        bf_device_format(i, name);
        if (bf_context_create(&BF_OPTIONS(.device = name), &m->gpu[m->gpus]) != BF_OK)
            return fail_device(name);
        m->gpus++;
    }
    return EXIT_DONE;
}

static int open_machine(machine *m, const char *device) {
    const int wanted[VERIFY_COUNTS] = {1, 2, 3, bf_usable_threads()};
    *m = (machine){.isas = 0};
    for (int i = 0; i < VERIFY_COUNTS; i++)
        if (i < 3 || wanted[i] > 3) m->threads[m->counts++] = wanted[i];
    for (int i = 0; bf_isa_name(i) && m->isas < VERIFY_ISAS; i++)
        if (bf_isa_available(i)) m->isa[m->isas++] = bf_isa_name(i);
    for (int i = 0; i < m->isas * m->counts; i++) {
        const int isa = i / m->counts, count = i % m->counts;
        const bf_options o =
            BF_OPTIONS(.device = "cpu", .isa = m->isa[isa], .threads = m->threads[count]);
        const bf_status st = bf_context_create(&o, &m->context[isa][count]);
        if (st != BF_OK) return fail_status(st, NULL, NULL);
    }
    return open_gpus(m, device);
}

static void close_machine(machine *m) {
    for (int i = 0; i < m->isas; i++)
        for (int j = 0; j < m->counts; j++) bf_context_destroy(m->context[i][j]);
    for (int i = 0; i < m->gpus; i++) bf_context_destroy(m->gpu[i]);
}

static int do_operations(const machine *m, const options *o, verdict *v) {
    if (o->layout != LAYOUT_JSON && !o->quiet) verify_head(m);
    return o->file_count ? do_file(m, o, v) : do_with_progress(m, "generated data", NULL, v);
}

int cmd_verify(int argc, char **argv) {
    options o;
    int code;
    if (!options_parse(&o, argc, argv, &verify_usage, &code)) return code;
    if (o.file_count > 1 && !o.against)
        return fail(EXIT_USAGE, NULL, "one file at most, not %d", o.file_count);
    machine m;
    verdict v = {.options = &o, .began = progress_clock()};
    code = open_machine(&m, o.device);
    if (code == EXIT_DONE)
        code = o.against ? verify_against(&m, &o, &v) : do_operations(&m, &o, &v);
    if (code == EXIT_DONE) code = verify_conclude(&m, &v);
    close_machine(&m);
    return code;
}
