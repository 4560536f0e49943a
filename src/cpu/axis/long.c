/* Few long lines: workers take pieces of them into words of their own, which are merged. Merging is
 * exact, so nothing depends on who took which piece. Products of floats, which are ordered, have a
 * loop of their own if they are contiguous. */
#include "cpu/axis/axis.h"

enum {
    LONG_BYTES = 1 << 22, /* lines of so many bytes are worth more than one worker */
    PIECE_BYTES = 1 << 20
};

typedef struct long_job {
    bf_axis_job *job;
    const bf_lines *lines;
} long_job;

static int64_t bytes_of(const bf_axis_job *job, const bf_lines *lines) {
    return lines->lines * bf_dtype_bytes(job->operands->dtype);
}

static bool is_contiguous(const bf_lines *x) {
    return x->lines == 1 && x->ndim == 1 && x->row == NULL && x->strides[0][0] == 1;
}

bool bf_lines_are_long(const bf_axis_job *job, const bf_lines *lines) {
    bool parts = job->operands->kind != BF_KIND_PRODUCT_TREE || is_contiguous(lines);
    return parts && lines->length >= LONG_BYTES / bytes_of(job, lines);
}

static bf_status take_piece(void *arg, int worker, int64_t first, int64_t n) {
    long_job *j = arg;
    bf_taker *t = bf_taker_of(j->job, worker);
    if (t->began != j->lines) bf_taker_begin(j->job, t, j->lines->lines);
    t->began = j->lines;
    bf_taker_take(j->job, t, j->lines, first, n);
    return BF_OK;
}

/* Merges the workers' words and writes the results. */
static void write_lines(long_job *j, int workers, int64_t number, int64_t step) {
    const bf_operands *o = j->job->operands;
    int64_t words[BF_LINE_WORDS];
    for (int l = 0; l < j->lines->lines; l++) {
        bf_state_init(o->kind, o->dtype, words);
        for (int w = 0; w < workers; w++) {
            bf_taker *t = bf_taker_of(j->job, w);
            if (t->began == j->lines)
                bf_state_merge_words(o->kind, o->dtype, words, bf_taker_words(j->job, t, l));
        }
        if (j->job->keep != NULL)
            j->job->keep(j->job, words, number + l * step);
        else
            bf_axis_write(j->job, words, number + l * step);
    }
    for (int w = 0; w < workers; w++) bf_taker_of(j->job, w)->began = NULL;
}

static bf_status reduce_product_tree(bf_axis_job *job, int workers, const bf_lines *lines,
                                     int64_t number) {
    const bf_operands *o = job->operands;
    const bf_job part = {.op = o->op,
                         .kind = o->kind,
                         .dtype = o->dtype,
                         .a = lines->data[0],
                         .count = lines->length};
    int64_t words[BF_LINE_WORDS];
    bf_state_init(o->kind, o->dtype, words);
    bf_status status = bf_product_tree_absorb(job->context, workers, &part, words);
    if (status == BF_OK) bf_axis_write(job, words, number);
    return status;
}

bf_status bf_reduce_long(bf_axis_job *job, int workers, const bf_lines *lines, int64_t number,
                         int64_t step) {
    long_job j = {job, lines};
    if (job->operands->kind == BF_KIND_PRODUCT_TREE)
        return reduce_product_tree(job, workers, lines, number);
    int64_t bytes = bytes_of(job, lines), piece = PIECE_BYTES / bytes;
    bf_status status =
        job->keep != NULL ? bf_parallel(job->context, workers, lines->length, piece, take_piece, &j)
                          : bf_parallel_watched(job->context, workers, lines->length, piece,
                                                lines->length * bytes, take_piece, &j);
    if (status == BF_OK) write_lines(&j, workers, number, step);
    return status;
}
