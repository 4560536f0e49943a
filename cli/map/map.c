/* map: an operation on every element of files, block by block. */
#include "command.h"
#include "map/expression.h"
#include "map/operand.h"
#include "options/context.h"
#include "options/operand.h"
#include "runtime/guess.h"
#include "sheet/array.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Elements: what is written next is still in the cache; or, of a GPU, worth a launch. */
enum { BLOCK = 1 << 19, GPU_BLOCK = 1 << 23 };

static const option_spec specs[] = {
    {"to", 0, IN_VALUES, "T", "the dtype to cast to", 0, .read = read_dtype, .at = OPTION_AT(to)}};
const option_table map_options = OPTION_TABLE(specs);

static const usage map_usage = {
    "[OPTIONS] OP A [B [C]] -o OUT | -e EXPR FILE... -o OUT",
    "Applies an operation to every element and writes the .npy file OUT, '-' for standard output. "
    "A, B and C are files of one shape, '-' for standard input, or numbers. With -e, an expression "
    "of all FILEs takes the place of OP and its operands.\n\n"
    "  add sub mul div min max   of A and B; div of integers gives f64\n"
    "  fma                       A * B + C, rounded once\n"
    "  neg abs sqrt              of A\n"
    "  eq ne lt le gt ge         bools\n"
    "  cast                      A as the dtype that --to names\n\n"
    "A number takes the dtype of the files; put '--' before a negative one. A file of one element "
    "is used for every element. OUT may be an input.",
    TAKES_INPUT | TAKES_RUNNING | TAKES_MEMORY | TAKES_OVERFLOW | TAKES_MAP | TAKES_EXPRESSION,
    "output expression to overflow dtype column threads memory device help",
    "bitfold map mul x.npy 2 -o - | bitfold max\n"
    "bitfold map cast --to f32 x.npy -o x32.npy\n"
    "bitfold map -e '(a-b)**2' x.npy y.npy -o squares.npy",
    &map_options};

typedef struct task {
    const options *options;
    bf_map_op op;
    int arity;
    map_operand operands[MAP_OPERANDS];
    spool_limit limit;
    npy_header shape; /* the result's */
    bool whole;       /* every file is taken whole, so that shapes count */
    bf_context *context;
    array_output output;
    int64_t block; /* elements */
    void *results; /* a block's */
} task;

/* ---- the command line ------------------------------------------------------------------------ */

static int unknown_operation(const char *name) {
    guess g = guess_begin(name);
#define BF_X(id, number, known, inputs) guess_consider(&g, #known);
    BF_MAP_LIST(BF_X)
#undef BF_X
    fail(EXIT_USAGE, NULL, "unknown operation: %s", name);
    guess_hint(&g, "", "bitfold help map");
    return EXIT_USAGE;
}

static int check_output(const options *o) {
    if (o->output) return EXIT_DONE;
    fail(EXIT_USAGE, NULL, "no output given");
    hint("give -o FILE.npy, or -o - for standard output");
    return EXIT_USAGE;
}

static int check_expression(const options *o) {
    if (o->file_count == 0) return fail(EXIT_USAGE, NULL, "no FILE given");
    if (o->to != BF_NONE) return fail(EXIT_USAGE, NULL, "-e does not go with --to");
    return check_output(o);
}

static int check_line(const options *o, bf_map_op op) {
    if (o->file_count == 0) return fail(EXIT_USAGE, NULL, "no operation given");
    if (bf_map_arity(op) == 0) return unknown_operation(o->files[0]);
    if (o->file_count - 1 != bf_map_arity(op))
        return fail(EXIT_USAGE, NULL, "%s takes %d operands, not %d", o->files[0], bf_map_arity(op),
                    o->file_count - 1);
    const int code = check_output(o);
    if (code != EXIT_DONE) return code;
    if ((op == BF_MAP_CAST) != (o->to != BF_NONE))
        return fail(EXIT_USAGE, NULL, "cast needs --to, and nothing else has it");
    return EXIT_DONE;
}

/* ---- shapes and orders ----------------------------------------------------------------------- */

static bool is_array(const map_operand *x) { return !x->is_number; }

static bool has_one_element(const map_operand *x) {
    return x->is_number || (x->count == 1 && x->shape.count == 1);
}

static bool same_shape(const npy_header *a, const npy_header *b) {
    bool same = a->ndim == b->ndim;
    for (int d = 0; same && d < a->ndim; d++) same = a->shape[d] == b->shape[d];
    return same;
}

/* Whether x goes with the shape so far. Raw data have a length, but no shape. */
static bool fits_shape(const task *t, const map_operand *x) {
    if (x->count < 0 || t->shape.count < 0) return true;
    if (x->count != t->shape.count) return false;
    return x->rows.source.raw || !t->whole || x->count == 1 || t->shape.ndim < 0 ||
           same_shape(&x->shape, &t->shape);
}

/* Takes the shape of x, or as much as is known of it; of single elements, the longest. */
static void take_shape(task *t, const map_operand *x) {
    const int64_t count = t->shape.count < 0 ? x->count : t->shape.count;
    if (!x->rows.source.raw && (t->shape.ndim < 0 || (count == 1 && x->shape.ndim > t->shape.ndim)))
        t->shape = x->shape;
    t->shape.count = count;
}

static int resolve_shape(task *t) {
    bool all_single = true;
    t->whole = t->options->input.first == 0 && t->options->input.count < 0;
    t->shape = (npy_header){.ndim = -1, .count = -1};
    for (int i = 0; i < t->arity; i++) all_single = all_single && has_one_element(&t->operands[i]);
    for (int i = 0; i < t->arity; i++) {
        const map_operand *x = &t->operands[i];
        if (!is_array(x) || (!all_single && has_one_element(x))) continue;
        if (!fits_shape(t, x)) return fail(EXIT_DATA, x->text, "%s", bf_status_string(BF_E_SHAPE));
        take_shape(t, x);
    }
    const bool numbers_only = all_single && t->shape.count < 0;
    if (numbers_only) t->shape = (npy_header){.count = 1};
    if (t->shape.ndim < 0 || (!t->whole && !numbers_only)) {
        t->shape.ndim = 1;
        t->shape.shape[0] = t->shape.count < 0 ? 0 : t->shape.count;
        t->shape.fortran = false;
    }
    return EXIT_DONE;
}

/* Elements are taken in the files' own order if that is the same for all. */
static int prepare_operands(task *t) {
    bool all_fortran = t->whole, single[MAP_OPERANDS];
    for (int i = 0; i < t->arity; i++) {
        single[i] = has_one_element(&t->operands[i]) && t->shape.count != 1;
        if (is_array(&t->operands[i]) && !single[i])
            all_fortran = all_fortran && t->operands[i].shape.fortran;
    }
    t->shape.fortran = t->shape.fortran && all_fortran;
    for (int i = 0; i < t->arity; i++) {
        const int code = map_operand_prepare(&t->operands[i], !t->shape.fortran, single[i]);
        if (code != EXIT_DONE) return code;
    }
    return EXIT_DONE;
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

static unsigned weak_operands(const task *t) {
    unsigned weak = 0;
    for (int i = 0; i < t->arity; i++) weak |= (t->operands[i].is_number ? 1u : 0) << i;
    return weak;
}

static int refuse_dtypes(const task *t) {
    char names[64] = "";
    for (int i = 0; i < t->arity; i++) {
        if (i > 0) strcat(names, ", ");
        strcat(names, bf_dtype_name(map_operand_dtype(&t->operands[i])));
    }
    fail(EXIT_DATA, t->operands[0].is_number ? NULL : t->operands[0].text,
         "%s: there is no %s of %s", bf_status_string(BF_E_DTYPE), bf_map_name(t->op), names);
    hint("'bitfold map cast --to T' converts one of them");
    return EXIT_DATA;
}

static int resolve_dtype(task *t) {
    bf_dtype dtypes[MAP_OPERANDS];
    for (int i = 0; i < t->arity; i++) dtypes[i] = map_operand_dtype(&t->operands[i]);
    t->shape.dtype = t->options->to;
    if (t->op != BF_MAP_CAST)
        return bf_map_result_dtype(t->op, dtypes, t->arity, weak_operands(t), &t->shape.dtype) ==
                       BF_OK
                   ? EXIT_DONE
                   : refuse_dtypes(t);
    const bool wraps = t->options->rules.overflow == BF_OVERFLOW_WRAP;
    if (wraps && dtypes[0] >= BF_F16 && t->options->to < BF_F16 && t->options->to != BF_BOOL)
        return fail(EXIT_USAGE, NULL, "--overflow wrap is not for casts of floats to integers");
    return EXIT_DONE;
}

/* ---- the work -------------------------------------------------------------------------------- */

/* Data that the operation refuses are an error of the data. */
static int map_failed(const task *t, bf_status st) {
    const char *file = NULL;
    for (int i = t->arity - 1; i >= 0; i--) {
        if (!is_array(&t->operands[i])) continue;
        file = t->operands[i].text;
        const int code = source_check(&t->operands[i].rows.source);
        if (code != EXIT_DONE) return code;
    }
    if (st != BF_E_ARGUMENT && st != BF_E_OVERFLOW) return fail_status(st, t->context, file);
    return fail(EXIT_DATA, file, "%s", bf_context_message(t->context));
}

/* Takes the block that starts at `at`; all operands must agree on how many elements it has. */
static int take_block(task *t, int64_t at, int64_t *n) {
    const int64_t left = t->shape.count < 0 ? t->block : t->shape.count - at;
    const int64_t want = left < t->block ? left : t->block;
    *n = want;
    for (int i = 0, first = 1; i < t->arity; i++) {
        map_operand *x = &t->operands[i];
        const int code = map_operand_next(x, want);
        if (code != EXIT_DONE) return code;
        if (x->is_single || x->is_number) continue;
        if ((!first || t->shape.count >= 0) && x->array.shape[0] != *n)
            return fail(EXIT_DATA, x->text, "%s: it ends before the others",
                        bf_status_string(BF_E_SHAPE));
        *n = x->array.shape[0];
        first = 0;
    }
    return EXIT_DONE;
}

static int map_block(task *t, int64_t at, int64_t n) {
    const bf_array *inputs[MAP_OPERANDS];
    const bf_map_options how =
        BF_MAP_OPTIONS(.overflow = t->options->rules.overflow,
                       .weak = t->op == BF_MAP_CAST ? 0 : weak_operands(t), .index = at);
    const bf_array out = bf_array_of(t->shape.dtype, t->results, n);
    for (int i = 0; i < t->arity; i++) inputs[i] = &t->operands[i].array;
    const bf_status st = bf_map(t->context, t->op, inputs, t->arity, &how, &out);
    return st == BF_OK ? array_output_write(&t->output, t->results, n) : map_failed(t, st);
}

static int64_t block_bytes(const task *t, int64_t n) {
    int64_t bytes = 0;
    for (int i = 0; i < t->arity; i++)
        if (is_array(&t->operands[i]))
            bytes += n * (int64_t)bf_dtype_size(map_operand_dtype(&t->operands[i]));
    return bytes;
}

static int map_blocks(task *t, int64_t *count) {
    int64_t n = t->block;
    for (*count = 0; n == t->block && (t->shape.count < 0 || *count < t->shape.count);
         *count += n) {
        int code = take_block(t, *count, &n);
        if (code == EXIT_DONE && n > 0) code = map_block(t, *count, n);
        if (code != EXIT_DONE) return code;
    }
    return EXIT_DONE;
}

/* An operand must end where the others do. */
static int check_ends(task *t) {
    for (int i = 0; i < t->arity; i++) {
        map_operand *x = &t->operands[i];
        if (x->is_number) continue;
        const int code = x->is_single ? source_check(&x->rows.source) : map_operand_next(x, 1);
        if (code != EXIT_DONE) return code;
        if (!x->is_single && x->array.shape[0] != 0)
            return fail(EXIT_DATA, x->text, "%s: it goes on after the others",
                        bf_status_string(BF_E_SHAPE));
    }
    return EXIT_DONE;
}

static int open_map(task *t) {
    const options *o = t->options;
    int code = EXIT_DONE;
    spool_limit_set(&t->limit, o->memory.pipes);
    const rows_options how = {.threads = o->threads,
                              .settled = true,
                              .keep = &t->limit,
                              .memory = o->memory.input / t->arity};
    t->block = options_gpu(o->device) ? GPU_BLOCK : BLOCK;
    for (int i = 0; code == EXIT_DONE && i < t->arity; i++)
        code = map_operand_open(&t->operands[i], o->files[1 + i], &o->input, &how);
    if (code == EXIT_DONE) code = resolve_shape(t);
    if (code == EXIT_DONE) code = resolve_dtype(t);
    if (code == EXIT_DONE) code = prepare_operands(t);
    if (code != EXIT_DONE) return code;
    code = context_open(&t->context, o);
    if (code != EXIT_DONE) return code;
    t->results = malloc((size_t)t->block * 8);
    if (!t->results) return fail_memory(NULL);
    return array_output_open(&t->output, o->output, &t->shape);
}

static int run_map(task *t) {
    int64_t count;
    int code = open_map(t);
    if (code == EXIT_DONE) {
        const double began = progress_clock();
        progress_start(t->output.name, t->shape.count < 0 ? -1 : block_bytes(t, t->shape.count));
        code = map_blocks(t, &count);
        progress_stop();
        if (code == EXIT_DONE) code = check_ends(t);
        if (code == EXIT_DONE) note_device(t->context, t->output.name);
        if (code == EXIT_DONE && t->options->stats)
            inform(t->output.name, "%" PRId64 " elements in %.6f s", count,
                   progress_clock() - began);
    }
    if (code == EXIT_DONE) return array_output_close(&t->output, count);
    array_output_abandon(&t->output);
    return code;
}

int cmd_map(int argc, char **argv) {
    options o;
    int code;
    if (!options_parse(&o, argc, argv, &map_usage, &code)) return code;
    if (o.expression) {
        code = check_expression(&o);
        return code == EXIT_DONE ? map_expression(&o) : code;
    }
    const bf_map_op op = o.file_count > 0 ? bf_map_from_name(o.files[0]) : (bf_map_op)0;
    code = check_line(&o, op);
    if (code != EXIT_DONE) return code;
    task t = {.options = &o, .op = op, .arity = bf_map_arity(op)};
    code = run_map(&t);
    for (int i = 0; i < t.arity; i++) map_operand_close(&t.operands[i]);
    bf_context_destroy(t.context);
    free(t.results);
    return code;
}
