#include "sheet/array.h"

#include "memory/temporary.h"
#include "runtime/bytes.h"
#include "runtime/report.h"
#include "runtime/stream.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int cannot_write(const array_output *out, int error) {
    return fail(EXIT_IO, out->name, "cannot write: %s", strerror(error));
}

static int put_bytes(const array_output *out, FILE *to, const void *bytes, size_t size) {
    return fwrite(bytes, 1, size, to) == size ? EXIT_DONE : cannot_write(out, stream_error());
}

static int put_header(const array_output *out, FILE *to) {
    char bytes[NPY_WRITE_MAX];
    return put_bytes(out, to, bytes, npy_write_header(&out->header, bytes));
}

int array_output_open(array_output *out, const char *name, const npy_header *header) {
    *out = (array_output){.header = *header, .counted = header->count >= 0, .name = name};
    out->standard = strcmp(name, "-") == 0;
    if (out->standard) {
        out->name = "standard output";
        out->stream = stdout;
        if (stream_at_terminal()) {
            fail(EXIT_USAGE, NULL, "a .npy file does not belong on a terminal");
            hint("-o FILE writes it to a file");
            return EXIT_USAGE;
        }
    } else {
        const int code = outfile_open(&out->file, name);
        if (code != EXIT_DONE) return code;
        out->stream = out->file.stream;
    }
    if (!out->counted &&
        (out->standard || !*out->file.beside)) { /* no way back to the header: by way of a file */
        out->final = out->stream;
        out->temporary = temporary_open();
        out->stream = out->temporary < 0 ? NULL : stream_open(out->temporary);
        if (!out->stream) return cannot_write(out, errno);
    }
    return EXIT_DONE;
}

/* Only now, so that a refusal of the first elements leaves standard output empty. */
static int start_output(array_output *out) {
    if (out->started || out->final) return EXIT_DONE;
    out->started = true;
    return put_header(out, out->stream);
}

int array_output_write(array_output *out, const void *elements, int64_t n) {
    const int code = start_output(out);
    if (code != EXIT_DONE) return code;
    return put_bytes(out, out->stream, elements, (size_t)n * bf_dtype_size(out->header.dtype));
}

/* Copies the elements from the temporary file to the output, behind its header. */
static int forward_output(array_output *out) {
    char buffer[1 << 14];
    const int error = stream_flush(out->stream);
    int code = error == 0 ? put_header(out, out->final) : cannot_write(out, error);
    for (int64_t at = 0, n = 1; code == EXIT_DONE && n > 0; at += n) {
        n = bytes_pread(out->temporary, buffer, sizeof buffer, at);
        if (n > 0) code = put_bytes(out, out->final, buffer, (size_t)n);
        if (n < 0) code = cannot_write(out, errno);
    }
    return code;
}

static int count_elements(array_output *out, int64_t count) {
    out->header.shape[0] = count;
    if (out->final) return forward_output(out);
    if (fseeko(out->stream, 0, SEEK_SET) != 0) return cannot_write(out, stream_error());
    return put_header(out, out->stream);
}

int array_output_close(array_output *out, int64_t count) {
    int code = start_output(out);
    if (code == EXIT_DONE && !out->counted) code = count_elements(out, count);
    if (code == EXIT_DONE && out->standard) {
        const int error = stream_flush(stdout);
        if (error != 0) code = cannot_write(out, error);
    }
    if (code == EXIT_DONE && !out->standard) code = outfile_commit(&out->file);
    array_output_abandon(out);
    return code;
}

void array_output_abandon(array_output *out) {
    if (out->final) {
        if (out->stream) fclose(out->stream);
        out->stream = out->final;
        out->final = NULL;
    }
    if (!out->standard) outfile_abandon(&out->file);
}
