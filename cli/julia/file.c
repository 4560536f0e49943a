#include "julia/file.h"

#include "container/npy_write.h"
#include "runtime/stream.h"

#include <stdlib.h>
#include <string.h>

static int write_bytes(const outfile *f, const void *bytes, size_t size) {
    if (fwrite(bytes, 1, size, f->stream) == size) return EXIT_DONE;
    return fail(EXIT_IO, f->name, "cannot write: %s", strerror(stream_error()));
}

int julia_file_begin(julia_file *f, const char *name, enum form form,
                     const julia_request *request) {
    const bf_julia_params *params = &request->params;
    char header[NPY_WRITE_MAX];
    npy_header h = {.dtype = BF_U16, .ndim = 2, .shape = {params->height, params->width}};
    *f = (julia_file){.request = request};
    int code = outfile_open(&f->file, name);
    if (code != EXIT_DONE) return code;
    if (form != FORM_PNG) return write_bytes(&f->file, header, npy_write_header(&h, header));
    f->row = malloc((size_t)params->width * 4);
    if (!f->row) return fail_memory(name);
    f->png = julia_png_begin(f->file.stream, f->file.name, params->width, params->height);
    return f->png ? EXIT_DONE : EXIT_IO;
}

static int put_png_row(const julia_file *f, const uint16_t *counts) {
    const int64_t width = f->request->params.width;
    uint8_t *rgb = f->row;
    bf_palette_colors(f->request->palette, f->request->params.iterations, counts, width, rgb);
    for (int64_t x = 0; x < width; x++) memmove(rgb + 3 * x, rgb + 4 * x, 3);
    return julia_png_row(f->png, rgb);
}

int julia_file_rows(julia_file *f, const uint16_t *counts, int64_t rows) {
    const int64_t width = f->request->params.width;
    int code = EXIT_DONE;
    if (!f->png) return write_bytes(&f->file, counts, (size_t)(rows * width) * sizeof *counts);
    for (int64_t y = 0; y < rows && code == EXIT_DONE; y++)
        code = put_png_row(f, counts + y * width);
    return code;
}

int julia_file_end(julia_file *f, int code) {
    if (code == EXIT_DONE && f->png) code = julia_png_end(f->png);
    julia_png_drop(f->png);
    free(f->row);
    if (code == EXIT_DONE) return outfile_commit(&f->file);
    outfile_abandon(&f->file);
    return code;
}
