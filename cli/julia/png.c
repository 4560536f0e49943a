#include "julia/png.h"

#include "runtime/report.h"
#include "runtime/stream.h"

#ifdef BITFOLD_PNG

#include <dlfcn.h>
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* Pictures have flat areas, which need no filter and compress well at any level. */
enum { LEVEL = 3, SIDE_MOST = 1000000 /* libpng's default limit */ };

#define CALLS(X)                                                                                   \
    X(create_write_struct)                                                                         \
    X(create_info_struct)                                                                          \
    X(destroy_write_struct)                                                                        \
    X(get_error_ptr)                                                                               \
    X(get_io_ptr)                                                                                  \
    X(set_write_fn)                                                                                \
    X(set_IHDR)                                                                                    \
    X(set_compression_level)                                                                       \
    X(set_filter)                                                                                  \
    X(write_info)                                                                                  \
    X(write_row)                                                                                   \
    X(write_end)

static struct {
#define MEMBER(name) __typeof__(&png_##name) name;
    CALLS(MEMBER)
#undef MEMBER
} api;

struct julia_png {
    png_structp writer;
    png_infop info;
    const char *name;
    jmp_buf failed;
};

static bool find_symbol(void *library, const char *name, void *function) {
    void *const found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static const char *load_png(void) {
    static bool loaded;
    void *const library = loaded ? NULL : dlopen("libpng16.so.16", RTLD_NOW | RTLD_LOCAL);
    if (loaded) return NULL;
    if (!library) return "libpng16.so.16 is not on this machine";
    loaded = true;
#define FIND(name) loaded = loaded && find_symbol(library, "png_" #name, &api.name);
    CALLS(FIND)
#undef FIND
    return loaded ? NULL : "libpng16.so.16 lacks a function";
}

int julia_png_ready(void) {
    const char *why = load_png();
    if (!why) return EXIT_DONE;
    fail(EXIT_IO, NULL, "PNG files cannot be written here: %s", why);
    hint("the package libpng16-16 has it; -o FILE.npy writes the counts");
    return EXIT_IO;
}

/* --- what libpng calls --- */

static void on_error(png_structp writer, png_const_charp message) {
    julia_png *png = api.get_error_ptr(writer);
    if (*message) fail(EXIT_IO, png->name, "cannot write: %s", message);
    longjmp(png->failed, 1);
}

static void on_warning(png_structp writer, png_const_charp message) {
    const julia_png *png = api.get_error_ptr(writer);
    note(png->name, "%s", message);
}

static void on_write(png_structp writer, png_bytep bytes, size_t size) {
    if (fwrite(bytes, 1, size, api.get_io_ptr(writer)) != size)
        on_error(writer, strerror(stream_error()));
}

static void on_flush(png_structp writer) { (void)writer; }

/* --- a picture --- */

static bool start_png(julia_png *png, FILE *f, uint32_t width, uint32_t height) {
    if (setjmp(png->failed)) return false;
    api.set_write_fn(png->writer, f, on_write, on_flush);
    api.set_IHDR(png->writer, png->info, width, height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    api.set_compression_level(png->writer, LEVEL);
    api.set_filter(png->writer, 0, PNG_FILTER_NONE);
    api.write_info(png->writer, png->info);
    return true;
}

julia_png *julia_png_begin(FILE *f, const char *name, int64_t width, int64_t height) {
    if (width > SIDE_MOST || height > SIDE_MOST) {
        fail(EXIT_USAGE, name, "a PNG file has at most %d pixels a side", SIDE_MOST);
        return NULL;
    }
    julia_png *png = calloc(1, sizeof *png);
    if (png) {
        png->name = name;
        png->writer = api.create_write_struct(PNG_LIBPNG_VER_STRING, png, on_error, on_warning);
        if (png->writer) png->info = api.create_info_struct(png->writer);
    }
    if (png && png->info && start_png(png, f, (uint32_t)width, (uint32_t)height)) return png;
    if (!png || !png->info) fail_memory(name);
    julia_png_drop(png);
    return NULL;
}

int julia_png_row(julia_png *png, const uint8_t *rgb) {
    if (setjmp(png->failed)) return EXIT_IO;
    api.write_row(png->writer, rgb);
    return EXIT_DONE;
}

int julia_png_end(julia_png *png) {
    if (setjmp(png->failed)) return EXIT_IO;
    api.write_end(png->writer, png->info);
    return EXIT_DONE;
}

void julia_png_drop(julia_png *png) {
    if (png && png->writer) api.destroy_write_struct(&png->writer, &png->info);
    free(png);
}

#else

struct julia_png {
    int none;
};

int julia_png_ready(void) {
    fail(EXIT_IO, NULL, "PNG files cannot be written here: this build has no libpng");
    hint("-o FILE.npy writes the counts");
    return EXIT_IO;
}

julia_png *julia_png_begin(FILE *f, const char *name, int64_t width, int64_t height) {
    (void)f, (void)name, (void)width, (void)height;
    return NULL;
}
int julia_png_row(julia_png *png, const uint8_t *rgb) { return (void)png, (void)rgb, EXIT_IO; }
int julia_png_end(julia_png *png) { return (void)png, EXIT_IO; }
void julia_png_drop(julia_png *png) { (void)png; }

#endif
