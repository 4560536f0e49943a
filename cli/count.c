/* count: the different numbers there are, and how many of each. */
#include "command.h"
#include "group_column.h"
#include "group_output.h"
#include "json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const usage count_usage = {
    "[OPTIONS] [FILE...]",
    "The different numbers of all files together, and how many there are of each: lines of "
    "number,\n"
    "tab, count, the most frequent first, and of equally many the least. '-' or no FILE is "
    "standard\n"
    "input. -0 counts as 0, and all NaNs as one number, the greatest.",
    TAKES_STDIN | TAKES_INPUT | TAKES_RUNNING | TAKES_OUTPUT | TAKES_SEED | TAKES_TOP,
    "bitfold count -n 10 x.npy"};

typedef struct count {
    const options *options;
    bf_context *context;
    output output;
    bf_dtype dtype;
    bf_groups *groups;
    int64_t bytes;
} count;

static int check_dtype(count *c, const column *col) {
    const char *name = col->source.name;
    if (c->dtype != BF_NONE && col->dtype != c->dtype)
        return fail(EXIT_DATA, name, "no counts of different dtypes: this is %s, %s is %s",
                    bf_dtype_name(col->dtype), c->options->files[0], bf_dtype_name(c->dtype));
    if (c->dtype != BF_NONE) return EXIT_DONE;
    c->dtype = col->dtype;
    const bf_groups_options wanted =
        BF_GROUPS_OPTIONS(.key = c->dtype, .seed = (uint64_t)c->options->seed);
    const bf_status st = bf_groups_create(c->context, &wanted, &c->groups);
    return st == BF_OK ? EXIT_DONE : fail_status(st, c->context, name);
}

static int count_column(count *c, column *col) {
    const void *elements;
    int64_t n = 1;
    int code = EXIT_DONE;
    while (code == EXIT_DONE && n > 0) {
        code = column_next(col, col->block, &elements, &n);
        if (code != EXIT_DONE || n == 0) break;
        const bf_array keys = bf_array_of(c->dtype, elements, n);
        const bf_status st = bf_groups_absorb(c->groups, &keys, NULL);
        if (st != BF_OK) code = fail_status(st, c->context, col->source.name);
        c->bytes += n * (int64_t)bf_dtype_size(c->dtype);
    }
    return code;
}

static int count_file(count *c, const char *name) {
    column col;
    int code = column_open(&col, name, &c->options->input);
    if (code != EXIT_DONE) return code;
    code = check_dtype(c, &col);
    if (code == EXIT_DONE) {
        progress_start(name, column_bytes(&col));
        code = count_column(c, &col);
        progress_stop();
    }
    column_close(&col);
    return code;
}

/* ---- output ---------------------------------------------------------------------------------- */

static const int64_t *sort_counts;

/* Counts descending, then keys. */
static int compare(const void *a, const void *b) {
    const int64_t i = *(const int64_t *)a, k = *(const int64_t *)b;
    if (sort_counts[i] != sort_counts[k]) return sort_counts[i] > sort_counts[k] ? -1 : 1;
    return i < k ? -1 : 1;
}

static int64_t *order_of(const group_list *list, bool by_key) {
    int64_t *order = malloc(((size_t)list->size + 1) * sizeof *order);
    for (int64_t i = 0; order && i < list->size; i++) order[i] = i;
    sort_counts = list->counts;
    if (order && !by_key) qsort(order, (size_t)list->size, sizeof *order, compare);
    return order;
}

static void put_lines(const output *out, const group_list *list, const int64_t *order, int64_t n) {
    for (int64_t i = 0; i < n && !ferror(out->stream); i++) {
        const bf_value key = group_key(list, order[i]);
        group_put(out, &key);
        fprintf(out->stream, "\t%" PRId64 "\n", list->counts[order[i]]);
    }
}

static void put_object(const count *c, const group_list *list, const int64_t *order, int64_t n,
                       const char *file, double seconds) {
    FILE *f = c->output.stream;
    group_put_head(f, list, file);
    fputs(",\"keys\":[", f);
    for (int64_t i = 0; i < n && !ferror(f); i++) {
        const bf_value key = group_key(list, order[i]);
        if (i > 0) putc(',', f);
        json_value(f, &key);
    }
    fputs("],\"counts\":[", f);
    for (int64_t i = 0; i < n && !ferror(f); i++)
        fprintf(f, "%s%" PRId64, i > 0 ? "," : "", list->counts[order[i]]);
    putc(']', f);
    group_put_end(f, bf_context_device(c->context), seconds);
}

static int put(count *c, const char *file, double began) {
    const options *o = c->options;
    group_list list = {.size = 0};
    int code = group_list_make(&list, c->groups, c->dtype, file, c->context);
    int64_t *order = code == EXIT_DONE ? order_of(&list, o->by_key) : NULL;
    if (code == EXIT_DONE && !order) code = fail_status(BF_E_MEMORY, NULL, file);
    const int64_t n = o->top > 0 && o->top < list.size ? o->top : list.size;
    const double seconds = progress_clock() - began;
    if (code == EXIT_DONE && o->layout == LAYOUT_JSON)
        put_object(c, &list, order, n, file, seconds);
    else if (code == EXIT_DONE)
        put_lines(&c->output, &list, order, n);
    free(order);
    group_list_free(&list);
    if (code == EXIT_DONE && o->stats)
        inform(file, "%" PRId64 " bytes in %.6f s: %.2f GB/s", c->bytes, seconds,
               seconds > 0 ? 1e-9 * (double)c->bytes / seconds : 0);
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int run(count *c) {
    const options *o = c->options;
    const double began = progress_clock();
    const char *file = o->file_count == 1 ? o->files[0] : "total";
    int code = group_context(o, &c->context);
    if (code == EXIT_DONE) code = output_open(&c->output, o, false);
    for (int i = 0; code == EXIT_DONE && i < o->file_count; i++) code = count_file(c, o->files[i]);
    if (code == EXIT_DONE) note_device(c->context, file);
    if (code == EXIT_DONE) code = put(c, file, began);
    return code == EXIT_DONE ? output_close(&c->output) : code;
}

int cmd_count(int argc, char **argv) {
    options o;
    int code;
    if (!options_parse(&o, argc, argv, &count_usage, &code)) return code;
    count c = {.options = &o};
    code = run(&c);
    if (code != EXIT_DONE) output_abandon(&c.output);
    bf_groups_destroy(c.groups);
    bf_context_destroy(c.context);
    return code;
}
