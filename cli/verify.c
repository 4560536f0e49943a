/* verify: every operation, on every instruction set and thread count, gives the same bits. */
#include "verify.h"
#include "command.h"
#include "engine.h"
#include "json.h"
#include "output.h"
#include "verify_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const usage verify_usage = {
    "[OPTIONS] [FILE]",
    "Runs every operation on generated data of every dtype (or on FILE) on every instruction set\n"
    "of this machine, with 1, 2, 3 and all threads, in one pass and in merged parts. Shows the\n"
    "bits side by side, then PASS, or FAIL with exit code 5. With --against, does so for the one\n"
    "operation of a saved state, and compares with it: FILE is what the state was made of (two\n"
    "files for dot, in turn all files of a total).",
    TAKES_INPUT | TAKES_JSON | TAKES_AGAINST,
    "bitfold sum --save x.bfs x.npy\n"
    "bitfold verify --against x.bfs x.npy"};

enum { ELEMENTS = 65537 };

/* What one row is about. */
typedef struct subject {
    bf_reduction op;
    const char *data; /* the data's name */
    bf_array a, b;    /* b is for BF_DOT */
    bf_nan_policy nan;
    bool sum_is_1;
} subject;

/* ---- one way of computing -------------------------------------------------------------------- */

/* Bytes of the member that holds the value; all members begin where the union does. */
static size_t member_size(bf_dtype dtype) {
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
           memcmp(&a->value.as, &b->value.as, member_size(a->value.dtype)) == 0;
}

void verify_text(const outcome *r, char text[BF_VALUE_TEXT]) {
    if (r->status == BF_OK)
        bf_value_format_hex(&r->value, text);
    else
        snprintf(text, BF_VALUE_TEXT, "(%s)", bf_status_string(r->status));
}

/* A description is many values, and a product is soon 0 or infinite: the state tells more. */
static bool tells_by_state(bf_reduction op) { return op == BF_DESCRIBE || op == BF_PROD; }

static bf_status checksum(const bf_state *state, bf_value *value) {
    const size_t size = bf_state_save_size(state);
    unsigned char *bytes = malloc(size);
    if (!bytes) return BF_E_MEMORY;
    bf_state_save(state, bytes);
    *value = (bf_value){.dtype = BF_U64};
    for (size_t i = 0; i < 8; i++) value->as.u64 |= (uint64_t)bytes[size - 8 + i] << 8 * i;
    free(bytes);
    return BF_OK;
}

outcome verify_result(const bf_state *state, const bf_reduce_options *rules) {
    bf_state_info info;
    outcome r = {.status = BF_OK};
    bf_state_describe(state, &info);
    r.status = tells_by_state(info.op) ? checksum(state, &r.value)
                                       : bf_state_result(state, rules, &r.value);
    return r;
}

static outcome state_in_one_pass(bf_context *context, const subject *s) {
    bf_state *state = NULL;
    outcome r = {.status = bf_state_create(context, s->op, s->a.dtype, &state)};
    if (r.status == BF_OK) r.status = bf_state_absorb(state, &s->a);
    if (r.status == BF_OK) r = verify_result(state, NULL);
    bf_state_destroy(state);
    return r;
}

static outcome in_one_pass(bf_context *context, const subject *s) {
    const bf_reduce_options rules = BF_REDUCE_OPTIONS(.nan = s->nan);
    outcome r = {.status = BF_OK};
    if (tells_by_state(s->op)) return state_in_one_pass(context, s);
    r.status = s->op == BF_DOT ? bf_dot(context, &s->a, &s->b, &rules, &r.value)
                               : bf_reduce(context, s->op, &s->a, &rules, &r.value);
    return r;
}

/* Elements [first, last) of a. */
static bf_array slice(const bf_array *a, int64_t first, int64_t last) {
    const char *data = a->data;
    return bf_array_of(a->dtype, data ? data + (size_t)first * bf_dtype_size(a->dtype) : NULL,
                       last - first);
}

static bf_status absorb_part(bf_state *state, const subject *s, int64_t first, int64_t last) {
    const bf_array a = slice(&s->a, first, last), b = slice(&s->b, first, last);
    if (s->op == BF_DOT) return bf_state_absorb_pair(state, &a, &b);
    const bf_status st = engine_is_ordered(s->op) ? bf_state_seek(state, first) : BF_OK;
    return st == BF_OK ? bf_state_absorb(state, &a) : st;
}

/* Three parts; the second takes in the third, the first both. */
static outcome in_parts(bf_context *context, const subject *s) {
    const int64_t n = s->a.shape[0], cuts[] = {0, n / 7, n - n / 3, n};
    const bf_reduce_options rules = BF_REDUCE_OPTIONS(.nan = s->nan);
    bf_state *parts[3] = {NULL, NULL, NULL};
    outcome r = {.status = BF_OK};
    for (int i = 0; i < 3 && r.status == BF_OK; i++) {
        r.status = bf_state_create(context, s->op, s->a.dtype, &parts[i]);
        if (r.status == BF_OK) r.status = absorb_part(parts[i], s, cuts[i], cuts[i + 1]);
    }
    if (r.status == BF_OK) r.status = bf_state_merge(parts[1], parts[2]);
    if (r.status == BF_OK) r.status = bf_state_merge(parts[0], parts[1]);
    if (r.status == BF_OK) r = verify_result(parts[0], &rules);
    for (int i = 0; i < 3; i++) bf_state_destroy(parts[i]);
    return r;
}

/* ---- one row --------------------------------------------------------------------------------- */

/* What a subject gives on every ISA: with each thread count, and last in parts. */
typedef struct row {
    outcome results[VERIFY_ISAS][VERIFY_COUNTS + 1];
    bool agree, right;
    bool no_memory; /* for one of them: nothing is proven then */
} row;

static void compute_row(const machine *m, const subject *s, row *r) {
    r->agree = true;
    r->no_memory = false;
    for (int i = 0; i < m->isas; i++) {
        for (int j = 0; j < m->counts; j++) r->results[i][j] = in_one_pass(m->context[i][j], s);
        r->results[i][m->counts] = in_parts(m->context[i][0], s);
        for (int j = 0; j <= m->counts; j++) {
            r->agree = r->agree && verify_same(&r->results[0][0], &r->results[i][j]);
            r->no_memory = r->no_memory || r->results[i][j].status == BF_E_MEMORY;
        }
    }
    const outcome *first = &r->results[0][0];
    r->right = !(s->sum_is_1 && s->op == BF_SUM) ||
               (first->status == BF_OK && bf_value_f64(&first->value) == 1);
}

/* Which results differ from the first. */
static void show_differences(const machine *m, const row *r) {
    char text[BF_VALUE_TEXT];
    for (int i = 0; i < m->isas; i++) {
        for (int j = 0; j <= m->counts; j++) {
            if (verify_same(&r->results[0][0], &r->results[i][j])) continue;
            verify_text(&r->results[i][j], text);
            if (j < m->counts)
                printf("  differs: %s, threads %d: %s\n", m->isa[i], m->threads[j], text);
            else
                printf("  differs: %s, in parts: %s\n", m->isa[i], text);
        }
    }
    if (!r->right) printf("  wrong: the exact sum is 1\n");
}

static void show_row(const machine *m, const subject *s, const row *r) {
    printf("%-8s %-4s %-13s", bf_reduction_name(s->op), bf_dtype_name(s->a.dtype), s->data);
    for (int i = 0; i < m->isas; i++) {
        char text[BF_VALUE_TEXT];
        verify_text(&r->results[i][0], text);
        printf(" %-24s", text);
    }
    printf(" %s\n", r->agree && r->right ? "ok" : "FAIL");
    show_differences(m, r);
}

static void show_row_json(const machine *m, const subject *s, const row *r, double seconds) {
    printf("{\"schema\":1,\"command\":\"verify\",\"op\":\"%s\",\"dtype\":\"%s\",\"data\":",
           bf_reduction_name(s->op), bf_dtype_name(s->a.dtype));
    json_string(stdout, s->data);
    printf(",\"ok\":%s,\"bits\":{", r->agree && r->right ? "true" : "false");
    for (int i = 0; i < m->isas; i++) {
        char text[BF_VALUE_TEXT];
        verify_text(&r->results[i][0], text);
        printf("%s\"%s\":\"%s\"", i ? "," : "", m->isa[i], text);
    }
    printf("},\"device\":\"cpu\",\"seconds\":%.6f}\n", seconds);
}

static int do_row(const machine *m, const subject *s, verdict *v) {
    row r;
    const double began = progress_clock();
    compute_row(m, s, &r);
    if (r.no_memory) return fail_status(BF_E_MEMORY, NULL, NULL);
    v->rows++;
    v->failures += !(r.agree && r.right);
    if (v->options->layout == LAYOUT_JSON)
        show_row_json(m, s, &r, progress_clock() - began);
    else if (!v->options->quiet)
        show_row(m, s, &r);
    return output_flush(stdout, "standard output");
}

static const bf_reduction operations[] = {
#define BF_X(id, number, name) BF_##id,
    BF_REDUCTION_LIST(BF_X)
#undef BF_X
};

/* Every operation on n elements. dot pairs the first half with the second. */
static int do_data(const machine *m, const char *name, bf_dtype dtype, const void *data, int64_t n,
                   bf_nan_policy nan, verdict *v) {
    const bf_array all = bf_array_of(dtype, data, n);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        const bf_reduction op = operations[i];
        subject s = {.op = op, .data = name, .a = all, .b = all, .nan = nan};
        s.sum_is_1 = strcmp(name, data_names[DATA_WIDE]) == 0;
        if (op == BF_DOT) {
            s.a = slice(&all, 0, n / 2);
            s.b = slice(&all, n / 2, n / 2 * 2);
        }
        const int code = do_row(m, &s, v);
        if (code != EXIT_DONE) return code;
    }
    return EXIT_DONE;
}

/* ---- all rows -------------------------------------------------------------------------------- */

static int do_dtype(const machine *m, bf_dtype dtype, void *buffer, verdict *v) {
    int code = EXIT_DONE;
    for (int k = 0; k < (data_is_float(dtype) ? DATA_KINDS : 1) && code == EXIT_DONE; k++) {
        data_fill((enum data_kind)k, dtype, buffer, ELEMENTS);
        code = do_data(m, data_names[k], dtype, buffer, ELEMENTS, BF_NAN_PROPAGATE, v);
        if (k == DATA_SPECIAL && code == EXIT_DONE)
            code = do_data(m, "special, skip", dtype, buffer, ELEMENTS, BF_NAN_SKIP, v);
    }
    return code;
}

static int do_generated(const machine *m, verdict *v) {
    static const bf_dtype dtypes[] = {
#define BF_X(id, number, name, bytes, type) BF_##id,
        BF_DTYPE_LIST(BF_X)
#undef BF_X
    };
    uint64_t *buffer = malloc(ELEMENTS * sizeof *buffer);
    if (!buffer) return fail_status(BF_E_MEMORY, NULL, NULL);
    int code = EXIT_DONE;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes && code == EXIT_DONE; i++)
        code = do_dtype(m, dtypes[i], buffer, v);
    free(buffer);
    return code;
}

int verify_load(source *s, void **buffer, const void **data) {
    if (s->count < 0)
        return fail(EXIT_DATA, s->name, "verify needs a file, or a stream with --count");
    int code = source_prepare(s, true);
    if (code != EXIT_DONE) return code;
    *buffer = malloc((size_t)s->count * source_element(s) + 1);
    if (!*buffer) return fail_status(BF_E_MEMORY, NULL, s->name);
    int64_t got;
    *data = source_view(s, 0, s->count, *buffer, &got);
    return got == s->count ? EXIT_DONE : source_failed(s, got, errno);
}

static int do_file(const machine *m, const options *o, verdict *v) {
    source s;
    void *buffer = NULL;
    const void *data = NULL;
    int code = source_open(&s, o->files[0], &o->input);
    if (code != EXIT_DONE) return code;
    code = verify_load(&s, &buffer, &data);
    if (code == EXIT_DONE)
        code = do_data(m, "file", s.layout.dtype, data, s.count, BF_NAN_PROPAGATE, v);
    if (code == EXIT_DONE && data_is_float(s.layout.dtype))
        code = do_data(m, "file, skip", s.layout.dtype, data, s.count, BF_NAN_SKIP, v);
    if (code == EXIT_DONE) code = source_check(&s);
    free(buffer);
    source_close(&s);
    return code;
}

/* ---- the machine ----------------------------------------------------------------------------- */

static int open_machine(machine *m) {
    const int wanted[VERIFY_COUNTS] = {1, 2, 3, bf_usable_threads()};
    *m = (machine){.isas = 0};
    for (int i = 0; i < VERIFY_COUNTS; i++)
        if (i < 3 || wanted[i] > 3) m->threads[m->counts++] = wanted[i];
    for (int i = 0; bf_isa_name(i) && m->isas < VERIFY_ISAS; i++)
        if (bf_isa_available(i)) m->isa[m->isas++] = bf_isa_name(i);
    for (int i = 0; i < m->isas * m->counts; i++) {
        const int isa = i / m->counts, count = i % m->counts;
        const bf_options o = BF_OPTIONS(.isa = m->isa[isa], .threads = m->threads[count]);
        const bf_status st = bf_context_create(&o, &m->context[isa][count]);
        if (st != BF_OK) return fail_status(st, NULL, NULL);
    }
    return EXIT_DONE;
}

static void close_machine(machine *m) {
    for (int i = 0; i < m->isas; i++)
        for (int j = 0; j < m->counts; j++) bf_context_destroy(m->context[i][j]);
}

static void show_head(const machine *m) {
    printf("%-8s %-4s %-13s", "op", "type", "data");
    for (int i = 0; i < m->isas; i++) printf(" %-24s", m->isa[i]);
    printf("\n");
}

static int do_operations(const machine *m, const options *o, verdict *v) {
    if (o->layout != LAYOUT_JSON && !o->quiet) show_head(m);
    return o->file_count ? do_file(m, o, v) : do_generated(m, v);
}

static int conclude(const verdict *v) {
    const char *word = v->failures ? "FAIL" : "PASS";
    if (v->options->layout == LAYOUT_JSON)
        printf("{\"schema\":1,\"command\":\"verify\",\"result\":\"%s\",\"rows\":%d,\"failures\":%d,"
               "\"device\":\"cpu\",\"seconds\":%.6f}\n",
               word, v->rows, v->failures, progress_clock() - v->began);
    else if (color_wanted(STDOUT_FILENO))
        printf("\033[1;%dm%s\033[0m: %d rows, %d failures\n", v->failures ? 31 : 32, word, v->rows,
               v->failures);
    else
        printf("%s: %d rows, %d failures\n", word, v->rows, v->failures);
    const int code = output_flush(stdout, "standard output");
    return code == EXIT_DONE && v->failures ? EXIT_CHECK : code;
}

int cmd_verify(int argc, char **argv) {
    options o;
    int code;
    if (!options_parse(&o, argc, argv, &verify_usage, &code)) return code;
    if (o.file_count > 1 && !o.against)
        return fail(EXIT_USAGE, NULL, "one file at most, not %d", o.file_count);
    machine m;
    verdict v = {.options = &o, .began = progress_clock()};
    code = open_machine(&m);
    if (code == EXIT_DONE)
        code = o.against ? verify_against(&m, &o, &v) : do_operations(&m, &o, &v);
    close_machine(&m);
    return code == EXIT_DONE ? conclude(&v) : code;
}
