/* verify: computes a task in every way and shows the results as a row; the verdict on all rows. */
#include "runtime/json.h"
#include "runtime/progress.h"
#include "sheet/output.h"
#include "verify/verify.h"

#include <string.h>
#include <unistd.h>

/* The results of a task in every way. */
typedef struct row {
    outcome results[VERIFY_WAYS];
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

/* A row whose calls all fail alike proves nothing, unless the data themselves are refused. */
static bool is_proof(bf_status status) {
    return status == BF_OK || status == BF_E_OVERFLOW || status == BF_E_NAN || status == BF_E_EMPTY;
}

static bool is_right(const task *t, const outcome *r) {
    if (!is_proof(r->status)) return false;
    return !t->sum_is_1 || (r->status == BF_OK && bf_value_f64(&r->value) == 1);
}

/* Bytes that one way to compute takes. */
static int64_t bytes_of(const task *t) { return (int64_t)(work_bytes(&t->a) + work_bytes(&t->b)); }

static void compute_all(const machine *m, const task *t, row *r) {
    *r = (row){.agree = true, .gpu_agrees = true};
    for (int i = 0; i < m->count; i++) {
        const way *w = &m->ways[i];
        r->results[i] = work_compute(t, w->context, w->gpu, w->parts);
        r->no_memory |= r->results[i].status == BF_E_MEMORY;
        *(w->gpu ? &r->gpu_agrees : &r->agree) &= verify_same(&r->results[0], &r->results[i]);
        progress_add(bytes_of(t));
        progress_tick();
    }
    r->right = is_right(t, &r->results[0]);
}

static bool is_good(const row *r) { return r->agree && r->gpu_agrees && r->right; }

/* ---- showing a row --------------------------------------------------------------------------- */

/* The first way of each name has a column. */
static bool has_column(const machine *m, int i) {
    return i == 0 || m->ways[i].name != m->ways[i - 1].name;
}

void verify_head(const machine *m) {
    printf("%-8s %-4s %-13s", "op", "type", "data");
    for (int i = 0; i < m->count; i++)
        if (has_column(m, i)) printf(" %-24s", m->ways[i].name);
    printf("\n");
}

/* Shows a result that differs from the first. */
static void show_difference(const row *r, const outcome *x, const way *w) {
    char text[BF_VALUE_TEXT];
    if (verify_same(&r->results[0], x)) return;
    verify_text(x, text);
    if (w->gpu || w->parts)
        printf("  differs: %s, in %s: %s\n", w->name, w->parts ? "parts" : "one pass", text);
    else
        printf("  differs: %s, threads %d: %s\n", w->name, w->threads, text);
}

static void show_row(const machine *m, const task *t, const row *r) {
    char text[BF_VALUE_TEXT];
    printf("%-8s %-4s %-13s", t->op, bf_dtype_name(t->a.dtype), t->data);
    for (int i = 0; i < m->count; i++) {
        verify_text(&r->results[i], text);
        if (has_column(m, i)) printf(" %-24s", text);
    }
    printf(" %s\n", is_good(r) ? "ok" : "FAIL");
    for (int i = 0; i < m->count; i++) show_difference(r, &r->results[i], &m->ways[i]);
    if (!is_proof(r->results[0].status))
        printf("  wrong: there is no result to compare\n");
    else if (!r->right)
        printf("  wrong: the exact sum is 1\n");
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
    for (int i = 0; i < m->count; i++) {
        verify_text(&r->results[i], text);
        if (has_column(m, i)) printf("%s\"%s\":\"%s\"", i ? "," : "", m->ways[i].name, text);
    }
    putchar('}');
    json_end(stdout, device_of(m), seconds);
}

int verify_row(const machine *m, const task *t, verdict *v) {
    row r;
    const double began = progress_clock();
    if (v->planning) {
        v->planned += bytes_of(t) * m->count;
        return EXIT_DONE;
    }
    compute_all(m, t, &r);
    progress_clear();
    if (r.no_memory) return fail_memory(NULL);
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
