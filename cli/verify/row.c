/* verify: computes a task in every way and shows the results as a row; the verdict on all rows. */
#include "runtime/json.h"
#include "runtime/progress.h"
#include "sheet/output.h"
#include "verify/verify.h"

#include <string.h>
#include <unistd.h>

/* The results of a task: on every ISA with each thread count, and last in parts; on every GPU in
 * one pass, and in parts. */
typedef struct row {
    outcome results[VERIFY_ISAS][VERIFY_COUNTS + 1];
    outcome gpu[VERIFY_GPUS][2];
    bool agree, gpu_agrees, right;
    bool no_memory; /* some result could not be computed, so the row proves nothing */
} row;

bool verify_same(const outcome *a, const outcome *b) {
    if (a->status != BF_OK || b->status != BF_OK) return a->status == b->status;
    return a->value.dtype == b->value.dtype &&
           memcmp(&a->value.as, &b->value.as, work_value_size(a->value.dtype)) == 0;
}

void verify_text(const outcome *r, char text[BF_VALUE_TEXT]) {
    if (r->status == BF_OK)
        output_format(&r->value, true, text);
    else
        snprintf(text, BF_VALUE_TEXT, "(%s)", bf_status_string(r->status));
}

static bool fits_column(row *r, const outcome *x) {
    r->no_memory = r->no_memory || x->status == BF_E_MEMORY;
    return verify_same(&r->results[0][0], x);
}

/* A row whose calls all fail alike proves nothing, unless the data themselves are refused. */
static bool is_proof(bf_status status) {
    return status == BF_OK || status == BF_E_OVERFLOW || status == BF_E_NAN || status == BF_E_EMPTY;
}

static bool is_right(const task *t, const outcome *r) {
    if (!is_proof(r->status)) return false;
    return !t->sum_is_1 || (r->status == BF_OK && bf_value_f64(&r->value) == 1);
}

/* Bytes that one way to compute takes, and how many ways there are. */
static int64_t bytes_of(const task *t) { return (int64_t)(work_bytes(&t->a) + work_bytes(&t->b)); }

static int ways_of(const machine *m) { return m->isas * (m->counts + 1) + m->gpus * 2; }

static outcome compute(const task *t, bf_context *context, bool gpu, bool parts) {
    const outcome r = work_compute(t, context, gpu, parts);
    progress_add(bytes_of(t));
    progress_tick();
    return r;
}

static void compute_all(const machine *m, const task *t, row *r) {
    *r = (row){.agree = true, .gpu_agrees = true};
    for (int i = 0; i < m->isas; i++) {
        for (int j = 0; j < m->counts; j++)
            r->results[i][j] = compute(t, m->context[i][j], false, false);
        r->results[i][m->counts] = compute(t, m->context[i][0], false, true);
        for (int j = 0; j <= m->counts; j++) r->agree &= fits_column(r, &r->results[i][j]);
    }
    for (int i = 0; i < m->gpus; i++)
        for (int parts = 0; parts < 2; parts++) {
            r->gpu[i][parts] = compute(t, m->gpu[i], true, parts);
            r->gpu_agrees &= fits_column(r, &r->gpu[i][parts]);
        }
    r->right = is_right(t, &r->results[0][0]);
}

static bool is_good(const row *r) { return r->agree && r->gpu_agrees && r->right; }

/* ---- showing a row --------------------------------------------------------------------------- */

/* Returns the name of column i: instruction sets come first, then GPUs. */
static const char *column_name(const machine *m, int i) {
    return i < m->isas ? m->isa[i] : m->gpu_name[i - m->isas];
}

static const outcome *column(const machine *m, const row *r, int i) {
    return i < m->isas ? &r->results[i][0] : &r->gpu[i - m->isas][0];
}

void verify_head(const machine *m) {
    printf("%-8s %-4s %-13s", "op", "type", "data");
    for (int i = 0; i < m->isas + m->gpus; i++) printf(" %-24s", column_name(m, i));
    printf("\n");
}

/* Shows a result that differs from the first. threads: how many computed it; 0 if it was computed
 * in parts, -1 if on a GPU in one pass. */
static void show_difference(const row *r, const outcome *x, const char *where, int threads) {
    char text[BF_VALUE_TEXT];
    if (verify_same(&r->results[0][0], x)) return;
    verify_text(x, text);
    if (threads > 0)
        printf("  differs: %s, threads %d: %s\n", where, threads, text);
    else
        printf("  differs: %s, in %s: %s\n", where, threads == 0 ? "parts" : "one pass", text);
}

static void show_differences(const machine *m, const row *r) {
    for (int i = 0; i < m->isas; i++)
        for (int j = 0; j <= m->counts; j++)
            show_difference(r, &r->results[i][j], m->isa[i], j < m->counts ? m->threads[j] : 0);
    for (int i = 0; i < m->gpus; i++)
        for (int j = 0; j < 2; j++) show_difference(r, &r->gpu[i][j], m->gpu_name[i], j - 1);
    if (!is_proof(r->results[0][0].status))
        printf("  wrong: there is no result to compare\n");
    else if (!r->right)
        printf("  wrong: the exact sum is 1\n");
}

static void show_row(const machine *m, const task *t, const row *r) {
    char text[BF_VALUE_TEXT];
    printf("%-8s %-4s %-13s", t->op, bf_dtype_name(t->a.dtype), t->data);
    for (int i = 0; i < m->isas + m->gpus; i++) {
        verify_text(column(m, r, i), text);
        printf(" %-24s", text);
    }
    printf(" %s\n", is_good(r) ? "ok" : "FAIL");
    show_differences(m, r);
}

static const char *device_of(const machine *m) { return m->gpus > 0 ? m->gpu_name[0] : "cpu"; }

static void show_json(const machine *m, const task *t, const row *r, double seconds) {
    char text[BF_VALUE_TEXT];
    json_begin(stdout, "verify", NULL);
    json_text(stdout, "op", t->op);
    json_text(stdout, "dtype", bf_dtype_name(t->a.dtype));
    json_text(stdout, "data", t->data);
    json_truth(stdout, "ok", is_good(r));
    printf(",\"bits\":{");
    for (int i = 0; i < m->isas + m->gpus; i++) {
        verify_text(column(m, r, i), text);
        printf("%s\"%s\":\"%s\"", i ? "," : "", column_name(m, i), text);
    }
    putchar('}');
    json_end(stdout, device_of(m), seconds);
}

int verify_row(const machine *m, const task *t, verdict *v) {
    row r;
    const double began = progress_clock();
    if (v->planning) {
        v->planned += bytes_of(t) * ways_of(m);
        return EXIT_DONE;
    }
    compute_all(m, t, &r);
    progress_clear();
    if (r.no_memory) return fail_status(BF_E_MEMORY, NULL, NULL);
    v->rows++;
    v->failures += !is_good(&r);
    v->gpu_failures += !r.gpu_agrees;
    if (v->options->layout == LAYOUT_JSON)
        show_json(m, t, &r, progress_clock() - began);
    else if (!v->options->quiet)
        show_row(m, t, &r);
    return output_flush(stdout, "standard output");
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static const char *no_gpu(const verdict *v) {
    int device;
    bool cpu = bf_device_parse(v->options->device, &device) == BF_OK && device == BF_DEVICE_CPU;
    return cpu ? "none was asked for" : bf_device_reason();
}

static void conclude_json(const machine *m, const verdict *v, const char *word) {
    json_begin(stdout, "verify", NULL);
    json_text(stdout, "result", word);
    json_integer(stdout, "rows", v->rows);
    json_integer(stdout, "failures", v->failures);
    json_integer(stdout, "gpus", m->gpus);
    if (m->gpus == 0) printf(",\"gpu\":null");
    if (m->gpus > 0) json_text(stdout, "gpu", v->gpu_failures ? "differs" : "agrees");
    json_text(stdout, "gpu_why_not", m->gpus > 0 ? "" : no_gpu(v));
    json_end(stdout, device_of(m), progress_clock() - v->began);
}

static void conclude_text(const machine *m, const verdict *v, const char *word) {
    if (m->gpus == 0 && !v->options->quiet) printf("no GPU to compare with: %s\n", no_gpu(v));
    if (color_wanted(STDOUT_FILENO))
        printf("\033[1;%dm%s\033[0m: %d rows, %d failures\n", v->failures ? 31 : 32, word, v->rows,
               v->failures);
    else
        printf("%s: %d rows, %d failures\n", word, v->rows, v->failures);
    if (m->gpus > 0) printf("CPU and GPU %s\n", v->gpu_failures ? "differ" : "agree");
}

int verify_conclude(const machine *m, const verdict *v) {
    const char *word = v->failures ? "FAIL" : "PASS";
    if (v->options->layout == LAYOUT_JSON)
        conclude_json(m, v, word);
    else
        conclude_text(m, v, word);
    const int code = output_flush(stdout, "standard output");
    return code == EXIT_DONE && v->failures ? EXIT_CHECK : code;
}
