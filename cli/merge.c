/* merge: saved states become one. */
#include "command.h"
#include "hist_output.h"
#include "statefile.h"
#include "task.h"

#include <stdlib.h>

static const usage merge_usage = {
    "[OPTIONS] STATE...",
    "Combines states that --save wrote, in any order, and gives the value of all their data, to\n"
    "the same bits as one pass over them; of histograms, what hist shows. With --save, the "
    "combined\n"
    "state can be merged again.",
    TAKES_STDIN | TAKES_NAN | TAKES_ROUNDING | TAKES_DDOF | TAKES_PLOT | TAKES_SAVE | TAKES_OUTPUT |
        TAKES_DEVICE,
    "bitfold sum --save x.bfs x.npy\n"
    "bitfold sum --save y.bfs y.npy\n"
    "bitfold merge x.bfs y.bfs"};

typedef struct part {
    const char *file;
    bf_state *state;         /* one of a value, */
    bf_histogram *histogram; /* or this */
    bf_state_info info;
} part;

/* By the index that each part ends at: ordered states merge in this order, others in any. */
static int by_place(const void *a, const void *b) {
    const int64_t x = ((const part *)a)->info.next, y = ((const part *)b)->info.next;
    return (x > y) - (x < y);
}

static int check_part(const part *first, const part *p) {
    if ((first->state == NULL) != (p->state == NULL))
        return fail(EXIT_DATA, p->file, "states do not match: one of this and %s is a histogram",
                    first->file);
    if (!p->state || (p->info.op == first->info.op && p->info.dtype == first->info.dtype))
        return EXIT_DONE;
    return fail(EXIT_DATA, p->file, "states do not match: this is of %s %s, %s of %s %s",
                bf_reduction_name(p->info.op), bf_dtype_name(p->info.dtype), first->file,
                bf_reduction_name(first->info.op), bf_dtype_name(first->info.dtype));
}

static void tell_part(const part *p) {
    bf_histogram_info info;
    if (p->histogram) {
        bf_histogram_describe(p->histogram, &info);
        note(p->file, "a histogram of %s: %lld elements in %lld bins", bf_dtype_name(info.dtype),
             (long long)info.count, (long long)info.bins);
        return;
    }
    note(p->file, "a state of %s %s: %lld elements", bf_reduction_name(p->info.op),
         bf_dtype_name(p->info.dtype), (long long)p->info.count);
}

static int load_parts(task *t, part *parts) {
    const options *o = t->options;
    for (int i = 0; i < o->file_count; i++) {
        part *p = &parts[i];
        p->file = o->files[i];
        int code = statefile_load(engine_context(&t->engine), p->file, &p->state, &p->histogram);
        if (code != EXIT_DONE) return code;
        if (p->state) bf_state_describe(p->state, &p->info);
        tell_part(p);
        code = check_part(&parts[0], p);
        if (code != EXIT_DONE) return code;
    }
    return EXIT_DONE;
}

/* Merges all parts into the first. */
static int merge_parts(task *t, part *parts, int n) {
    if (parts[0].state) qsort(parts, (size_t)n, sizeof *parts, by_place);
    for (int i = 1; i < n; i++) {
        const bf_status st = parts[0].state
                                 ? bf_state_merge(parts[0].state, parts[i].state)
                                 : bf_histogram_merge(parts[0].histogram, parts[i].histogram);
        if (st == BF_OK) continue;
        fail_status(st, engine_context(&t->engine), parts[i].file);
        if (parts[0].histogram) hint("parts have the same bins by --bins and --range, or --edges");
        return EXIT_DATA;
    }
    return EXIT_DONE;
}

static int emit_histogram(task *t, const part *first, const result *r) {
    const options *o = t->options;
    const hist_subject subject = {.file = r->file, .device = r->device, .seconds = r->seconds};
    enum hist_form form;
    int code = hist_form_of(o, &form);
    if (code == EXIT_DONE) code = hist_put(&t->output, o, form, first->histogram, &subject);
    if (code == EXIT_DONE && o->save) code = statefile_save_histogram(&t->save, first->histogram);
    return code;
}

static int emit(task *t, const part *first, result r) {
    const options *o = t->options;
    r.device = bf_context_device(engine_context(&t->engine));
    if (first->histogram) return emit_histogram(t, first, &r);
    if (o->density || o->log || o->title)
        return fail(EXIT_USAGE, NULL, "--density, --log and --title belong to histograms");
    return task_emit(t, first->state, r, 0);
}

static int run_merge(task *t, part *parts) {
    const options *o = t->options;
    const double began = progress_clock();
    int code = load_parts(t, parts);
    if (code == EXIT_DONE) code = merge_parts(t, parts, o->file_count);
    result r = {.file = o->file_count == 1 ? o->files[0] : "total"};
    r.seconds = progress_clock() - began;
    return code == EXIT_DONE ? emit(t, &parts[0], r) : code;
}

int cmd_merge(int argc, char **argv) {
    options o;
    int code;
    if (!options_parse(&o, argc, argv, &merge_usage, &code)) return code;
    task t;
    code = task_open(&t, &o, false);
    part *parts = calloc((size_t)o.file_count, sizeof *parts);
    if (code == EXIT_DONE && !parts)
        code = task_close(&t, fail_status(BF_E_MEMORY, NULL, NULL), NULL);
    if (code == EXIT_DONE) {
        code = run_merge(&t, parts);
        code = task_close(&t, code, parts[0].state);
    }
    for (int i = 0; parts && i < o.file_count; i++) {
        bf_state_destroy(parts[i].state);
        bf_histogram_destroy(parts[i].histogram);
    }
    free(parts);
    engine_close(&t.engine);
    return code;
}
