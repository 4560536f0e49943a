#include "scan/output.h"

#include "runtime/json.h"
#include "sheet/output.h"
#include "text/lines.h"
#include "work/units.h"

#include <string.h>

/* Decimals become doubles in an array. */
int scan_output_open(scan_output *s, const running *of, int ndim, const int64_t shape[],
                     int64_t count) {
    const options *o = &of->options;
    npy_header header = {.dtype = of->scale > 0 ? BF_F64 : of->to, .ndim = ndim, .count = count};
    *s = (scan_output){.of = of};
    memcpy(header.shape, shape, (size_t)ndim * sizeof *shape);
    if (running_each(of) > 1) header.shape[header.ndim++] = running_each(of);
    if (!o->output) return EXIT_DONE;
    if (header.dtype == BF_I128)
        return fail(EXIT_DATA, o->files[0], "an array of .npy has no integers of 128 bits");
    return array_output_open(&s->output, o->output, &header);
}

typedef struct listed {
    const running *of;
    const void *results;
} listed;

static char *make_line(const void *arg, int64_t i, char *line) {
    const listed *l = arg;
    const int64_t each = running_each(l->of);
    for (int64_t k = i * each; k < (i + 1) * each; k++) {
        const bf_value v = output_element(l->of->to, l->of->scale, l->results, k);
        output_format(&v, l->of->options.hex, line);
        line += strlen(line);
        *line++ = '\t';
    }
    line[-1] = '\n';
    return line;
}

static int put_lines(const running *x, const bf_array *results) {
    const listed l = {x, results->data};
    const lines all = {make_line, &l, (size_t)running_each(x) * (BF_VALUE_TEXT + 1), NULL};
    const int code = lines_put(stdout, &all, results->shape[0], x->options.threads);
    return code == EXIT_DONE ? output_flush(stdout, "standard output") : code;
}

int scan_output_put(scan_output *s, const bf_array *results) {
    const running *x = s->of;
    const int64_t n = results->shape[0];
    double *const doubles = results->data;
    s->count += n;
    if (n == 0) return EXIT_DONE;
    if (!x->options.output) return put_lines(x, results);
    for (int64_t i = 0; i < n && x->scale > 0; i++) /* in place, where elements are no narrower */
        doubles[i] = units_double(x->to, x->scale, results->data, i);
    return array_output_write(&s->output, results->data, n * running_each(x));
}

static int tell_of_array(const scan_output *s, int64_t n) {
    const running *x = s->of;
    npy_header h = s->output.header;
    if (h.count < 0) h.shape[0] = s->count;
    json_begin(stdout, report_command_name(), x->options.files[0]);
    json_text(stdout, "dtype", output_dtype(x->dtype, x->windows ? x->roll.scale : x->scale));
    json_integer(stdout, "n", n);
    json_integers(stdout, "shape", h.shape, h.ndim);
    json_end(stdout, bf_context_device(x->context), progress_clock() - x->began);
    return output_flush(stdout, "standard output");
}

int scan_output_close(scan_output *s, int code, int64_t n) {
    if (!s->output.stream) return code;
    if (code != EXIT_DONE) {
        array_output_abandon(&s->output);
        return code;
    }
    code = array_output_close(&s->output, s->count);
    return code == EXIT_DONE && s->of->options.layout == LAYOUT_JSON ? tell_of_array(s, n) : code;
}
