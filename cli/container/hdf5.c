#include "container/hdf5.h"

#include "container/hdf5_library.h"
#include "runtime/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that are read at once, unless a row of chunks has more; and what may be taken without
 * --memory. */
#define BLOCK_BYTES ((int64_t)16 * 1024 * 1024)
#define MEMORY ((int64_t)1024 * 1024 * 1024)

typedef struct reader {
    hdf5_id file, dataset, space, type; /* type: of elements in memory */
    int dims;
    hdf5_size shape[HDF5_MAX_DIMS], chunk[HDF5_MAX_DIMS];
    /* A block is some indices of one axis, with all of the axes behind it. */
    int axis;
    hdf5_size at[HDF5_MAX_DIMS]; /* where the next one begins */
    hdf5_size unit;              /* elements of one index */
    hdf5_size most;              /* indices of a block */
    size_t element;
    int64_t left; /* elements behind the present block */
    unsigned char *block;
    size_t used, have; /* bytes of it */
    char fault[256];
} reader;

/* ---- failures -------------------------------------------------------------------------------- */

static int refuse(listing_refusal *r, int code, const char *format, ...) PRINTF_LIKE(3, 4);
static int refuse(listing_refusal *r, int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(r->what, sizeof r->what, format, args);
    va_end(args);
    *r->hint = '\0';
    return r->code = code;
}

static int take_cause(unsigned n, const hdf5_cause *cause, void *what) {
    if (n == 0) snprintf(what, 160, "%s", cause->what ? cause->what : "");
    return 0;
}

/* Why the last call failed, in the library's words. */
static void find_cause(const hdf5_library *h, char cause[160]) {
    strcpy(cause, "no reason is given");
    h->walk_causes(HDF5_DEFAULT, 0, take_cause, cause);
}

static int refuse_by_library(const hdf5_library *h, listing_refusal *r) {
    char cause[160];
    find_cause(h, cause);
    return refuse(r, EXIT_DATA, "HDF5's library cannot read it: %s", cause);
}

/* ---- types ----------------------------------------------------------------------------------- */

/* Floats: where the sign, the exponent and the mantissa are. */
static const struct {
    size_t size, exponent, exponent_bits;
    bf_dtype dtype;
} floats[] = {{2, 10, 5, BF_F16}, {2, 7, 8, BF_BF16}, {4, 23, 8, BF_F32}, {8, 52, 11, BF_F64}};

static bf_dtype float_of(const hdf5_library *h, hdf5_id type) {
    size_t sign, exponent, exponent_bits, mantissa, mantissa_bits;
    const size_t size = h->size_of(type);
    if (h->fields_of(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) < 0)
        return BF_NONE;
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        if (size == floats[i].size && sign == 8 * size - 1 && exponent == floats[i].exponent &&
            exponent_bits == floats[i].exponent_bits && mantissa == 0 && mantissa_bits == exponent)
            return floats[i].dtype;
    return BF_NONE;
}

static bf_dtype integer_of(const hdf5_library *h, hdf5_id type) {
    const size_t size = h->size_of(type);
    const char kind = h->sign_of(type) == 1 ? 'i' : 'u';
    for (int d = 1; bf_dtype_size((bf_dtype)d) > 0; d++)
        if (bf_dtype_kind((bf_dtype)d) == kind && bf_dtype_size((bf_dtype)d) == size &&
            h->precision_of(type) == 8 * size)
            return (bf_dtype)d;
    return BF_NONE;
}

/* h5py keeps bools as an enumeration of one byte. */
static bool is_bool(const hdf5_library *h, hdf5_id type) {
    signed char no = -1, yes = -1;
    return h->size_of(type) == 1 && h->value_of(type, "FALSE", &no) >= 0 && no == 0 &&
           h->value_of(type, "TRUE", &yes) >= 0 && yes == 1;
}

static bf_dtype dtype_of(const hdf5_library *h, hdf5_id type) {
    const int class = h->class_of(type);
    if (class == HDF5_ENUM) return is_bool(h, type) ? BF_BOOL : BF_NONE;
    const int order = h->order_of(type);
    if (order != HDF5_LITTLE && order != HDF5_BIG) return BF_NONE;
    return class == HDF5_INTEGER ? integer_of(h, type)
           : class == HDF5_FLOAT ? float_of(h, type)
                                 : BF_NONE;
}

static int refuse_type(const hdf5_library *h, hdf5_id type, listing_refusal *r) {
    static const char *const what[] = {"integers of another width",
                                       "floats of another format",
                                       "times",
                                       "strings",
                                       "bit fields",
                                       "opaque bytes",
                                       "compounds (structs, or complex numbers)",
                                       "references",
                                       "enumerations",
                                       "rows of different lengths",
                                       "arrays",
                                       "complex numbers"};
    const int class = h->class_of(type), n = sizeof what / sizeof *what;
    return refuse(r, EXIT_DATA, "the elements are %s, which are not read",
                  class >= 0 && class < n ? what[class] : "of another kind");
}

/* ---- finding --------------------------------------------------------------------------------- */

/* Groups within groups, and objects that are looked at. */
enum { DEPTH = 32, OBJECTS = 10000 };

typedef struct search {
    const hdf5_library *h;
    listing *found;
    char path[LISTING_NAME];
} search;

/* Where objects are in the file, so that none is listed twice: links may go round in circles. The
 * library's lock is theirs, too. */
static uint64_t seen[OBJECTS];
static int seen_count;

static bool is_new(const hdf5_library *h, hdf5_id object) {
    uint64_t at;
    bool new = seen_count < OBJECTS && h->address_of(&at, object, ".", 0, -1) >= 0;
    for (int i = 0; i < seen_count && new; i++) new = seen[i] != at;
    if (new) seen[seen_count++] = at;
    return new;
}

static bool holds_numbers(const hdf5_library *h, hdf5_id dataset) {
    const hdf5_id type = h->type_of(dataset);
    const bool numbers = type >= 0 && dtype_of(h, type) != BF_NONE;
    if (type >= 0) h->close_type(type);
    return numbers;
}

static void list_group(search *s, hdf5_id group, size_t length, int depth);

static void list_object(search *s, hdf5_id object, size_t length, int depth) {
    const int kind = s->h->kind(object);
    if (!is_new(s->h, object)) return;
    if (kind == HDF5_DATASET && holds_numbers(s->h, object)) listing_add(s->found, s->path, length);
    if (kind == HDF5_GROUP && depth < DEPTH) list_group(s, object, length, depth + 1);
}

static void list_link(search *s, hdf5_id group, hdf5_size i, size_t length, int depth) {
    char *const name = s->path + length + 1;
    const size_t room = sizeof s->path - length - 1;
    const ssize_t n = s->h->name_of(group, ".", 0, 0, i, name, room, HDF5_DEFAULT);
    if (n <= 0 || (size_t)n >= room) return;
    s->path[length] = '/';
    const hdf5_id object = s->h->open_object(group, name, HDF5_DEFAULT);
    if (object < 0) return;
    list_object(s, object, length + 1 + (size_t)n, depth);
    s->h->close_object(object);
}

static void list_group(search *s, hdf5_id group, size_t length, int depth) {
    hdf5_group about;
    if (s->h->describe_group(group, &about) < 0) return;
    for (hdf5_size i = 0; i < about.links && seen_count < OBJECTS; i++) {
        list_link(s, group, i, length, depth);
        s->path[length] = '\0';
    }
}

static void list_datasets(const hdf5_library *h, hdf5_id file, listing *found) {
    search s = {.h = h, .found = found};
    const hdf5_id root = h->open_object(file, "/", HDF5_DEFAULT);
    seen_count = 0;
    if (root < 0) return;
    list_object(&s, root, 0, 0);
    h->close_object(root);
}

/* Opens the dataset, or the only one. */
static int find_dataset(const hdf5_library *h, reader *r, const char *file, const char *path,
                        listing_refusal *refused) {
    listing found = {.n = 0};
    if (!path || (r->dataset = h->open_object(r->file, path, HDF5_DEFAULT)) < 0) {
        list_datasets(h, r->file, &found);
        if (path || found.n != 1) return listing_refuse(&found, refused, file, "dataset", path);
        r->dataset = h->open_object(r->file, found.first, HDF5_DEFAULT);
    }
    if (r->dataset < 0) return refuse_by_library(h, refused);
    if (h->kind(r->dataset) == HDF5_DATASET) return EXIT_DONE;
    list_datasets(h, r->file, &found);
    return listing_refuse(&found, refused, file, "dataset", path);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int take_type(const hdf5_library *h, reader *r, npy_header *layout,
                     listing_refusal *refused) {
    const hdf5_id type = h->type_of(r->dataset);
    if (type < 0) return refuse_by_library(h, refused);
    layout->dtype = dtype_of(h, type);
    const bool big = h->order_of(type) == HDF5_BIG;
    const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    int code = EXIT_DONE;
    if (layout->dtype == BF_NONE) {
        code = refuse_type(h, type, refused);
    } else {
        r->element = bf_dtype_size(layout->dtype);
        layout->swap = r->element > 1 && big == little;
        r->type = h->copy_type(type);
        if (r->element > 1) h->set_order(r->type, little ? HDF5_LITTLE : HDF5_BIG);
    }
    h->close_type(type);
    return code;
}

static int take_shape(const hdf5_library *h, reader *r, npy_header *layout,
                      listing_refusal *refused) {
    npy_error error;
    r->space = h->space_of(r->dataset);
    if (r->space < 0) return refuse_by_library(h, refused);
    if (h->space_kind(r->space) == HDF5_NULL)
        return refuse(refused, EXIT_DATA, "the dataset has no elements and no shape");
    layout->ndim = r->dims = h->dims(r->space);
    if (r->dims < 0 || r->dims > HDF5_MAX_DIMS || h->shape(r->space, r->shape, NULL) < 0)
        return refuse_by_library(h, refused);
    for (int d = 0; d < r->dims; d++) {
        if (r->shape[d] > INT64_MAX) return refuse(refused, EXIT_DATA, "the size overflows");
        layout->shape[d] = (int64_t)r->shape[d];
    }
    if (!npy_measure(layout, &error)) return refuse(refused, EXIT_DATA, "%s", error.what);
    r->left = layout->count;
    return EXIT_DONE;
}

/* Chooses the blocks. */
static int plan_blocks(reader *r, int64_t limit, listing_refusal *refused) {
    const hdf5_size memory = (hdf5_size)(limit > 0 ? limit : MEMORY);
    hdf5_size chunk = r->element;
    for (int d = 0; d < r->dims; d++)
        if (r->chunk[d] && __builtin_mul_overflow(chunk, r->chunk[d], &chunk)) chunk = UINT64_MAX;
    /* A chunk is there twice, compressed and not. */
    if (chunk > memory / 4)
        return refuse(refused, EXIT_DATA,
                      "cannot read chunks of %" PRIu64 " bytes: that takes more than %s", chunk,
                      limit > 0 ? "its share of --memory" : "1 GiB of memory");
    const hdf5_size most = memory / 2;
    r->unit = 1;
    if (r->left == 0) return EXIT_DONE;
    for (r->axis = r->dims - 1; r->axis > 0; r->unit *= r->shape[r->axis--])
        if (r->shape[r->axis] > most / r->element / r->unit) break;
    if (r->axis < 0) r->axis = 0;
    const hdf5_size index = r->unit * r->element;
    const hdf5_size row = r->chunk[r->axis] > most / index ? most : r->chunk[r->axis] * index;
    hdf5_size block = row > (hdf5_size)BLOCK_BYTES ? row : (hdf5_size)BLOCK_BYTES;
    if (block > most) block = most;
    r->most = block / index;
    if (r->most == 0) r->most = 1;
    const hdf5_size all = r->dims > 0 ? r->shape[r->axis] : 1;
    if (r->most > all) r->most = all;
    r->block = malloc((size_t)(r->most * index));
    return r->block ? EXIT_DONE : refuse(refused, EXIT_IO, "out of memory");
}

/* Finds where the elements are, if they lie in the file one after another; and the chunks. */
static int take_layout(const hdf5_library *h, reader *r, int64_t *at, listing_refusal *refused) {
    const hdf5_id properties = h->properties_of(r->dataset);
    if (properties < 0) return refuse_by_library(h, refused);
    const int layout = h->layout_of(properties);
    const bool chunked = layout == HDF5_CHUNKED;
    const bool good = !chunked || h->chunk_of(properties, r->dims, r->chunk) == r->dims;
    const uint64_t offset = layout == HDF5_CONTIGUOUS && h->filters_of(properties) == 0
                                ? h->offset_of(r->dataset)
                                : UINT64_MAX;
    *at = offset <= INT64_MAX ? (int64_t)offset : -1;
    h->close_properties(properties);
    return good ? EXIT_DONE : refuse_by_library(h, refused);
}

static void close_ids(const hdf5_library *h, reader *r) {
    if (r->space >= 0) h->close_space(r->space);
    if (r->type >= 0) h->close_type(r->type);
    if (r->dataset >= 0) h->close_object(r->dataset);
    if (r->file >= 0) h->close_file(r->file);
}

static void close_reader(void *of) {
    reader *r = of;
    const hdf5_library *h = hdf5_enter();
    close_ids(h, r);
    hdf5_leave();
    free(r->block);
    free(r);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Moves to the block behind one of n indices. */
static void advance(reader *r, hdf5_size n) {
    if (r->dims > 0) r->at[r->axis] += n;
    for (int d = r->axis; d > 0 && r->at[d] >= r->shape[d]; d--) {
        r->at[d] = 0;
        r->at[d - 1]++;
    }
}

/* The indices of the next block: whole chunks, if there is one. */
static hdf5_size next_block(const reader *r) {
    if (r->dims == 0) return 1;
    const hdf5_size at = r->at[r->axis], chunk = r->chunk[r->axis];
    const hdf5_size left = r->shape[r->axis] - at;
    if (left <= r->most) return left;
    const hdf5_size end = chunk ? (at + r->most) / chunk * chunk : 0;
    return end > at ? end - at : r->most;
}

/* The shapes in the file and in memory are the same: so the library copies rows, not elements. */
static bool read_elements(const hdf5_library *h, reader *r, hdf5_size n) {
    hdf5_size count[HDF5_MAX_DIMS] = {1};
    for (int d = 0; d < r->dims; d++) count[d] = d < r->axis ? 1 : d == r->axis ? n : r->shape[d];
    const hdf5_id space = h->make_space(r->dims, count, NULL);
    const bool good = space >= 0 &&
                      (r->dims == 0 || h->select(r->space, 0, r->at, NULL, count, NULL) >= 0) &&
                      h->read(r->dataset, r->type, space, r->space, HDF5_DEFAULT, r->block) >= 0;
    if (space >= 0) h->close_space(space);
    return good;
}

static bool read_block(reader *r) {
    char cause[160];
    const hdf5_size n = next_block(r);
    const hdf5_library *h = hdf5_enter();
    const bool good = read_elements(h, r, n);
    if (!good) find_cause(h, cause);
    hdf5_leave();
    if (!good) {
        snprintf(r->fault, sizeof r->fault, "HDF5's library cannot read it: %s", cause);
        errno = EBADMSG;
        return false;
    }
    advance(r, n);
    r->left -= (int64_t)(n * r->unit);
    r->used = 0;
    r->have = (size_t)(n * r->unit) * r->element;
    return true;
}

static int64_t read_bytes(void *of, void *buffer, size_t size) {
    reader *r = of;
    size_t got = 0;
    while (got < size && (r->used < r->have || r->left > 0)) {
        if (r->used == r->have && !read_block(r)) return -1;
        const size_t left = r->have - r->used, n = left < size - got ? left : size - got;
        memcpy((char *)buffer + got, r->block + r->used, n);
        r->used += n;
        got += n;
    }
    return (int64_t)got;
}

static const char *find_fault(const void *of) {
    const reader *r = of;
    return *r->fault ? r->fault : NULL;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int open_dataset(const hdf5_library *h, reader *r, hdf5_dataset *d, const char *file,
                        const char *path, listing_refusal *refused) {
    *r = (reader){.file =
                      h->open_file(strcmp(file, "-") == 0 ? "/dev/stdin" : file, 0, HDF5_DEFAULT),
                  .dataset = -1,
                  .space = -1,
                  .type = -1};
    if (r->file < 0) return refuse_by_library(h, refused);
    int code = find_dataset(h, r, file, path, refused);
    if (code == EXIT_DONE) code = take_type(h, r, &d->layout, refused);
    if (code == EXIT_DONE) code = take_shape(h, r, &d->layout, refused);
    if (code == EXIT_DONE) code = take_layout(h, r, &d->at, refused);
    return code;
}

static int refuse_library(listing_refusal *refused) {
    refuse(refused, EXIT_DATA, "an HDF5 file, and libhdf5 is not on this machine");
    snprintf(refused->hint, sizeof refused->hint,
             "install HDF5's library (on Debian and Ubuntu: libhdf5-103-1 or libhdf5-310)");
    return refused->code;
}

int hdf5_open(hdf5_dataset *d, const char *file, const char *path, int64_t limit,
              listing_refusal *refused) {
    *d = (hdf5_dataset){.at = -1};
    const hdf5_library *h = hdf5_enter();
    if (!h) return refuse_library(refused);
    reader *r = malloc(sizeof *r);
    int code =
        r ? open_dataset(h, r, d, file, path, refused) : refuse(refused, EXIT_IO, "out of memory");
    if (code == EXIT_DONE && d->at < 0) code = plan_blocks(r, limit, refused);
    const bool fed = code == EXIT_DONE && d->at < 0;
    if (r && !fed) close_ids(h, r);
    hdf5_leave();
    if (fed) {
        d->layout.swap = false;
        d->feed = (feed){r, read_bytes, find_fault, close_reader};
    } else {
        free(r);
    }
    return code;
}
