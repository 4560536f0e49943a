/* verify: every operation, on every instruction set and thread count, gives the same bits. */
#include "verify/verify.h"
#include "command.h"
#include "options/operand.h"
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

/* ---- all rows -------------------------------------------------------------------------------- */

int verify_work(const machine *m, const work *w, const task *given, verdict *v) {
    task all = *given;
    all.work = w;
    all.room = calloc(1, w->room + work_bytes(&given->a) + 1);
    if (!all.room) return fail_memory(NULL);
    int code = EXIT_DONE;
    for (int i = 0; code == EXIT_DONE; i++) {
        task t = all;
        if (!w->row(&t, i)) break;
        code = verify_row(m, &t, v);
    }
    free(all.room);
    return code;
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
    uint64_t *buffer = malloc(ELEMENTS * sizeof *buffer);
    if (!buffer) return fail_memory(NULL);
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
    how.times = decimals;
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

/* Adds the way of a new context. */
static bf_status add_way(machine *m, way w, const bf_options *o) {
    const bf_status st = bf_context_create(o, &w.context);
    if (st == BF_OK) m->ways[m->count++] = w;
    return st;
}

/* Adds the way of an earlier context in parts. */
static void add_parts(machine *m, int of) {
    m->ways[m->count] = m->ways[of];
    m->ways[m->count++].parts = true;
}

/* Opens all GPUs of this machine, or the one of --device. */
static int open_gpus(machine *m, const char *device) {
    int asked;
    if (bf_device_parse(device, &asked) != BF_OK || asked == BF_DEVICE_CPU) return EXIT_DONE;
    const int first = asked < 0 ? 0 : asked;
    const int last = asked < 0 ? bf_device_count() : asked + 1;
    for (int i = first; i < last && m->gpus < VERIFY_GPUS; i++) {
        char *name = m->gpu_name[m->gpus++];
        bf_device_format(i, name);
        const way w = {.name = name, .threads = 1, .gpu = true};
        if (add_way(m, w, &BF_OPTIONS(.device = name)) != BF_OK) return fail_device(name);
        add_parts(m, m->count - 1);
    }
    return EXIT_DONE;
}

/* Opens an instruction set with every number of threads. */
static bf_status open_isa(machine *m, const char *isa) {
    const int threads[VERIFY_COUNTS] = {1, 2, 3, bf_usable_threads()}, first = m->count;
    bf_status st = BF_OK;
    for (int i = 0; i < VERIFY_COUNTS && st == BF_OK; i++) {
        const bf_options o = BF_OPTIONS(.device = "cpu", .isa = isa, .threads = threads[i]);
        if (i < 3 || threads[i] > 3) st = add_way(m, (way){.name = isa, .threads = threads[i]}, &o);
    }
    if (st == BF_OK) add_parts(m, first);
    return st;
}

static int open_machine(machine *m, const char *device) {
    bf_status st = BF_OK;
    *m = (machine){.count = 0};
    for (int i = 0; i < VERIFY_ISAS && bf_isa_name(i) && st == BF_OK; i++)
        if (bf_isa_available(i)) st = open_isa(m, bf_isa_name(i));
    return st == BF_OK ? open_gpus(m, device) : fail_status(st, NULL, NULL);
}

static void close_machine(machine *m) {
    for (int i = 0; i < m->count; i++)
        if (!m->ways[i].parts) bf_context_destroy(m->ways[i].context);
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
