#define _GNU_SOURCE /* F_SETPIPE_SZ */
#include "input/source.h"

#include "container/container.h"
#include "container/unpack.h"
#include "memory/plan.h"
#include "memory/temporary.h"
#include "runtime/bytes.h"
#include "runtime/report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of a piece of text: its lines and their numbers stay in the second-level cache. */
enum { TEXT_PIECE = 256 * 1024 };

size_t source_element(const source *s) { return bf_dtype_size(s->layout.dtype); }

/* ---- opening --------------------------------------------------------------------------------- */

/* The system's own files hold more than they say (/proc), or less (/sys): they are read to their
 * end. */
static bool has_its_size(int fd, off_t size) {
    char last;
    return size > 0 && pread(fd, &last, 1, size - 1) == 1;
}

static int open_file(source *s, const char *file, struct stat *st) {
    if (strcmp(file, "-") == 0) {
        s->fd = STDIN_FILENO;
    } else {
        s->fd = open(file, O_RDONLY | O_CLOEXEC);
        s->owned = s->fd >= 0;
    }
    if (s->fd < 0 || fstat(s->fd, st) != 0)
        return fail(EXIT_IO, s->name, "cannot open: %s", strerror(errno));
    if (S_ISDIR(st->st_mode)) return fail(EXIT_IO, s->name, "cannot read: it is a directory");
    s->file = S_ISREG(st->st_mode) && has_its_size(s->fd, st->st_size);
    s->stream = !s->file;
    if (s->stream) {
        fcntl(s->fd, F_SETPIPE_SZ, 1 << 20); /* fewer, larger reads; as it is, if refused */
        tape_open(&s->tape, s->fd, s->keep);
        return EXIT_DONE;
    }
    const off_t at = lseek(s->fd, 0, SEEK_CUR); /* standard input may have been read from */
    s->start = at > 0 ? at : 0;
    return EXIT_DONE;
}

/* Reads size bytes at an offset from the start; of a stream, the next ones. */
static int64_t read_bytes(source *s, int64_t offset, void *buffer, size_t size) {
    return s->stream ? tape_read(&s->tape, buffer, size)
                     : bytes_pread(s->fd, buffer, size, s->start + offset);
}

static bool ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static int refuse_format(const source *s, int64_t size) {
    if (size == 0) return fail(EXIT_DATA, s->name, "not a .npy file: it is empty");
    fail(EXIT_DATA, s->name, "not a .npy file: it does not begin with \\x93NUMPY");
    if (s->kind == MEMBER_ZIP)
        hint("only arrays of zip archives are read; unzip -p gives other members to a pipe");
    return EXIT_DATA;
}

/* Whether the options, or the first bytes, say that this is text. */
static bool is_text(const source *s, const input *in, const void *prefix, int64_t length) {
    if (in->format != FORMAT_AUTO) return in->format == FORMAT_TEXT || in->format == FORMAT_JSONL;
    return !npy_has_magic(prefix, (size_t)length) && !ends_with(s->name, ".npy");
}

static int refuse_header(const source *s, const npy_error *error) {
    fail(EXIT_DATA, s->name, "%s", error->what);
    if (error->hint) hint("%s", error->hint);
    return EXIT_DATA;
}

static int parse_header(source *s, const unsigned char *prefix, size_t have, size_t size) {
    unsigned char *bytes = malloc(size);
    if (!bytes) return fail(EXIT_IO, s->name, "out of memory");
    memcpy(bytes, prefix, have < size ? have : size);
    const int64_t more = have < size ? read_bytes(s, (int64_t)have, bytes + have, size - have) : 0;
    const int error = errno;
    npy_error refused = {.hint = NULL};
    int code = EXIT_DONE;
    if (more < 0)
        code = source_failed(s, more, error);
    else if (!npy_parse(bytes, have + (size_t)more, &s->layout, &refused))
        code = refuse_header(s, &refused);
    free(bytes);
    return code;
}

static int read_header(source *s, const unsigned char *prefix, int64_t got) {
    if (!npy_has_magic(prefix, (size_t)got)) return refuse_format(s, got);
    npy_error refused = {.hint = NULL};
    const size_t size = npy_header_size(prefix, (size_t)got, &refused);
    if (size == 0) return refuse_header(s, &refused);
    return parse_header(s, prefix, (size_t)got, size);
}

/* A regular file must hold what its header promises; bytes behind that are ignored, as in NumPy. A
 * member has no others, whose CRC would be right. */
static int check_size(source *s, int64_t file_size) {
    const int64_t data = s->layout.count * (int64_t)source_element(s);
    const int64_t held = s->kind ? s->member.size : file_size - s->start;
    s->start += (int64_t)s->layout.size;
    s->size = data;
    if (s->kind == MEMBER_ZIP && held - (int64_t)s->layout.size > data)
        return fail(EXIT_DATA, s->name,
                    "longer than its header says: %" PRId64 " bytes of data, not %" PRId64,
                    held - (int64_t)s->layout.size, data);
    if ((s->stream && !s->kind) || held - (int64_t)s->layout.size >= data) return EXIT_DONE;
    return fail(EXIT_DATA, s->name,
                "shorter than its header says: %" PRId64 " bytes of data, not %" PRId64,
                held - (int64_t)s->layout.size, data);
}

static int layout_raw(source *s, const input *in, int64_t file_size) {
    const int64_t element = (int64_t)bf_dtype_size(in->dtype);
    const int64_t bytes = file_size > s->start ? file_size - s->start : 0;
    s->raw = true;
    s->layout = (npy_header){.dtype = in->dtype, .ndim = 1, .count = -1};
    if (s->stream) return EXIT_DONE;
    if (bytes % element != 0)
        return fail(EXIT_DATA, s->name, "not a whole number of elements: %" PRId64 " bytes of %s",
                    bytes, bf_dtype_name(in->dtype));
    s->layout.count = s->layout.shape[0] = bytes / element;
    s->size = bytes;
    return EXIT_DONE;
}

static int refuse_selection(const source *s, int64_t holds, const input *in) {
    if (in->count < 0)
        return fail(EXIT_DATA, s->name,
                    "--offset is past the end: it holds %" PRId64 " elements, not %" PRId64, holds,
                    in->first);
    return fail(EXIT_DATA, s->name,
                "too short: it holds %" PRId64 " elements, not %" PRId64 " from %" PRId64 " on",
                holds, in->count, in->first);
}

static int select_elements(source *s, const input *in) {
    const int64_t holds = s->layout.count;
    s->first = in->first;
    s->count = in->count;
    if (holds < 0) return EXIT_DONE;
    if (in->first > holds || in->count > holds - in->first) return refuse_selection(s, holds, in);
    if (in->count < 0) s->count = holds - in->first;
    s->part = s->count != holds;
    return EXIT_DONE;
}

static int became_shorter(const source *s) {
    return fail(EXIT_IO, s->name, "cannot read: the file became shorter meanwhile");
}

/* An archive says what the CRC of a member is. It is looked at where all of the member is wanted,
 * before: a read of what is in the page cache then, or will be. */
static int check_member(const source *s) {
    const int right = s->member.has_crc && !s->part ? member_check(&s->member, s->fd) : 1;
    if (right < 0) return became_shorter(s);
    return right ? EXIT_DONE
                 : fail(EXIT_DATA, s->name,
                        "the data are damaged: they have not the CRC that is in the archive");
}

/* Puts a file in memory. What cannot be mapped (some file systems, a limit on memory) is read as a
 * stream instead. */
static int map_file(source *s) {
    static const unsigned char nothing[1];
    if (s->size == 0) {
        s->data = nothing;
    } else if (mapping_open(&s->map, s->fd, s->start, (size_t)s->size)) {
        s->data = s->map.data;
    } else {
        s->stream = true;
        tape_open(&s->tape, s->fd, s->keep);
        if (lseek(s->fd, (off_t)s->start, SEEK_SET) < 0)
            return fail(EXIT_IO, s->name, "cannot read: %s", strerror(errno));
    }
    return EXIT_DONE;
}

/* ---- text ------------------------------------------------------------------------------------ */

static int read_failed(const source *s, int error) {
    int64_t line;
    char place[PATH_MAX + 32];
    const char *const fault = s->tape.decode ? decode_fault(s->tape.decode, &line) : NULL;
    if (fault && line > 0) {
        snprintf(place, sizeof place, "%s:%" PRId64, s->name, line);
        return fail(EXIT_DATA, place, "%s", fault);
    }
    if (fault) return fail(EXIT_DATA, s->name, "%s", fault);
    const feed *f = &s->tape.feed;
    if (f->of && f->fault(f->of)) return fail(EXIT_DATA, s->name, "%s", f->fault(f->of));
    return fail(EXIT_IO, s->name, "cannot read: %s", strerror(error));
}

int source_text_failed(const source *s, text_status st, const text_refusal *refusal) {
    const int error = errno;
    if (s->tape.spool_error) return temporary_failed(s->tape.spool_error);
    if (st == TEXT_SHORTER) return became_shorter(s);
    const int code = source_check(s);
    if (code != EXIT_DONE) return code;
    if (st == TEXT_NO_MEMORY) return fail_memory(s->name);
    if (st == TEXT_FAILED) return read_failed(s, error);
    char place[PATH_MAX + 32];
    if (refusal->error.at)
        snprintf(place, sizeof place, "%s:%" PRId64, s->name, refusal->line);
    else
        snprintf(place, sizeof place, "%s", s->name);
    fail(EXIT_DATA, place, "%s", refusal->error.what);
    if (s->text->object)
        hint("--format jsonl reads JSON lines");
    else if (refusal->error.hint[0])
        hint("%s", refusal->error.hint);
    return EXIT_DATA;
}

/* Whether a text is JSON lines: as the options or, if they do not say, its name tells. */
static bool is_json(const char *name, const input *in) {
    static const char *const ends[] = {".jsonl", ".ndjson"}, *const more[] = {"", ".gz", ".zst",
                                                                              ".xz"};
    bool json = in->format == FORMAT_JSONL;
    for (int i = 0; i < 8 && in->format == FORMAT_AUTO && !json; i++) {
        char end[16];
        snprintf(end, sizeof end, "%s%s", ends[i / 4], more[i % 4]);
        json = ends_with(name, end);
    }
    return json;
}

/* An option that JSON lines have not. */
static int refuse_json_options(const source *s, const text_options *t) {
    const char *option = t->delimiter        ? "--delimiter"
                         : t->nulls          ? "--null"
                         : t->lax            ? "--lax"
                         : t->no_header      ? "--no-header"
                         : t->dialect.escape ? "--escape"
                                             : NULL;
    if (!option) return EXIT_DONE;
    return fail(EXIT_USAGE, s->name, "%s is not for JSON lines, whose keys and nulls say it",
                option);
}

/* The first bytes of a text. */
typedef struct lead {
    char *bytes;
    size_t n;
    bool ended; /* these are all */
} lead;

/* Reads more of them. A file is read by its offsets: a stream goes on. Returns the bytes that there
 * are now, -1 if that failed. */
static int64_t read_lead(source *s, lead *l, size_t want) {
    char *const bytes = realloc(l->bytes, want);
    if (!bytes) {
        errno = ENOMEM;
        return -1;
    }
    l->bytes = bytes;
    const int64_t got = read_bytes(s, (int64_t)l->n, bytes + l->n, want - l->n);
    if (got > 0) l->n += (size_t)got;
    l->ended = l->n < want;
    return got < 0 ? got : (int64_t)l->n;
}

/* Whether the text must be decoded, by as many of its bytes as that takes. Returns the same as
 * read_lead. */
static int64_t judge_lead(source *s, const text_options *options, lead *l, decode_need *need) {
    *need = DECODE_UNKNOWN;
    for (size_t want = DECODE_ENOUGH; *need == DECODE_UNKNOWN && l->n < DECODE_MOST; want *= 2) {
        const int64_t got = read_lead(s, l, want);
        if (got < 0) return got;
        *need = decode_needs(options, l->bytes, l->n, l->ended);
    }
    return (int64_t)l->n;
}

/* What is decoded is a stream. */
static int decode_source(source *s, text_options *options, const lead *l) {
    if (s->file) {
        tape_open(&s->tape, s->fd, s->keep);
        if (lseek(s->fd, (off_t)(s->start + (int64_t)l->n), SEEK_SET) < 0)
            return fail(EXIT_IO, s->name, "cannot read: %s", strerror(errno));
    }
    s->file = false;
    s->stream = true;
    s->start = 0;
    if (!tape_decode(&s->tape, options, l->bytes, l->n, l->ended, s->keep))
        return fail_memory(s->name);
    options->gaps = true;
    options->guessed = !options->delimiter;
    options->delimiter = decode_delimiter(s->tape.decode);
    return options->delimiter ? EXIT_DONE : source_failed(s, -1, errno);
}

static int open_lead(source *s, text_options *options, const lead *l, int64_t file_size) {
    text_refusal refusal = {.line = 0};
    s->layout = (npy_header){.ndim = 1, .count = -1};
    s->size = file_size > s->start ? file_size - s->start : 0;
    if (s->file) tape_open(&s->tape, s->fd, s->keep);
    s->text = calloc(1, sizeof *s->text);
    if (!s->text) return fail_memory(s->name);
    const text_status st =
        s->file && s->size > 0
            ? text_open_file(s->text, options, s->fd, s->start, s->size, TEXT_PIECE, &refusal)
            : text_open_stream(s->text, options, &s->tape, l->bytes, s->tape.decode ? 0 : l->n,
                               TEXT_PIECE, &refusal);
    return st == TEXT_OK ? EXIT_DONE : source_text_failed(s, st, &refusal);
}

static int open_text(source *s, const input *in, const void *prefix, size_t length,
                     int64_t file_size) {
    text_options options = in->text;
    lead l = {.bytes = malloc(DECODE_ENOUGH), .n = length};
    decode_need need;
    options.dtype = in->dtype;
    options.json = is_json(s->name, in);
    int code = EXIT_DONE;
    if (options.json) code = refuse_json_options(s, &options);
    if (code == EXIT_DONE && !l.bytes) code = fail_memory(s->name);
    if (code == EXIT_DONE) memcpy(l.bytes, prefix, length);
    if (code == EXIT_DONE && judge_lead(s, &options, &l, &need) < 0)
        code = source_failed(s, -1, errno);
    if (code == EXIT_DONE && need == DECODE_IS_NEEDED) code = decode_source(s, &options, &l);
    if (code == EXIT_DONE) code = open_lead(s, &options, &l, file_size);
    free(l.bytes);
    return code;
}

int source_check_rows(const source *s, const text_selection *left, int64_t n) {
    if (left->skip > 0)
        return fail(EXIT_DATA, s->name,
                    "--offset is past the end: it holds %" PRId64 " elements, not %" PRId64,
                    s->first - left->skip, s->first);
    if (left->left > 0)
        return fail(EXIT_DATA, s->name,
                    "too short: it holds %" PRId64 " elements from %" PRId64 " on, not %" PRId64, n,
                    s->first, s->count);
    return EXIT_DONE;
}

static bool names_columns(const text_options *t) { return t->columns || t->strings || t->keys; }

static const char *array_of(const source *s) {
    return s->kind == MEMBER_HDF5 ? "an HDF5 dataset" : "a .npy file";
}

/* An expression of columns. */
static int refuse_columns(const source *s, const char *option) {
    fail(EXIT_USAGE, s->name, "%s names columns of text, and this is %s", option, array_of(s));
    hint("arrays are named a, b, c and so on, in the order of the files");
    return EXIT_USAGE;
}

/* --dtype bf16 says what two bytes are that NumPy has no name for, or that are integers to it. */
static int name_elements(source *s, const input *in) {
    const bool two = s->layout.unnamed || s->layout.dtype == BF_U16;
    if (two && in->dtype == BF_BF16)
        s->layout.dtype = BF_BF16;
    else if (s->layout.unnamed) {
        fail(EXIT_DATA, s->name, "structured and void dtypes are not supported: V2");
        hint("--dtype bf16, if these are bfloat16 numbers");
        return EXIT_DATA;
    }
    return EXIT_DONE;
}

/* An option that only text has. */
static int refuse_text_options(const source *s, const input *in) {
    const text_options *t = &in->text;
    const bool skips = t->skip_nulls && !s->layout.time, /* NaT is NULL */
        dtype = in->dtype != BF_NONE && in->dtype != s->layout.dtype;
    const char *option = t->chooser            ? t->chooser->option
                         : t->all              ? "--on"
                         : names_columns(t)    ? t->option ? t->option : "--column"
                         : t->delimiter        ? "--delimiter"
                         : t->header           ? "--header"
                         : t->no_header        ? "--no-header"
                         : t->nulls            ? "--null"
                         : skips               ? "--null-policy"
                         : t->lax              ? "--lax"
                         : t->dialect.encoding ? "--encoding"
                         : t->dialect.skip > 0 ? "--skip-lines"
                         : t->dialect.comment  ? "--comment"
                         : t->dialect.escape   ? "--escape"
                         : t->style.thousands  ? "--thousands"
                         : t->style.decimal    ? "--decimal"
                         : t->style.exponent   ? "--exponent"
                         : t->style.currency   ? "--currency"
                         : dtype               ? "--dtype"
                                               : NULL;
    if (!option) return EXIT_DONE;
    if (option == t->option) return refuse_columns(s, option);
    fail(EXIT_USAGE, s->name, "%s is for text%s: this is %s", option,
         strcmp(option, "--dtype") == 0 ? " and raw data" : "", array_of(s));
    if (t->all) hint("without --on, join finds the rows of arrays that hold the same number");
    return EXIT_USAGE;
}

/* Reads the first bytes: of an array no more than its header has at least, of all else a head. */
static int64_t read_head(source *s, unsigned char head[CONTAINER_HEAD]) {
    const int64_t got = read_bytes(s, 0, head, NPY_PREFIX);
    if (got < NPY_PREFIX || npy_has_magic(head, (size_t)got)) return got;
    const int64_t more = read_bytes(s, got, head + got, CONTAINER_HEAD - (size_t)got);
    return more < 0 ? more : got + more;
}

/* Whether the file at hand begins with a text that must be decoded. */
static bool is_decoded(source *s, const input *in) {
    text_options options = in->text;
    lead l = {.bytes = NULL};
    decode_need need;
    unsigned char prefix[NPY_PREFIX];
    const int64_t got = read_bytes(s, 0, prefix, sizeof prefix);
    options.json = is_json(s->name, in);
    const bool is = got >= 0 && !member_kind_of(prefix, (size_t)got) &&
                    is_text(s, in, prefix, got) && judge_lead(s, &options, &l, &need) >= 0 &&
                    need == DECODE_IS_NEEDED;
    free(l.bytes);
    return is;
}

bool source_reads_on(const char *name, const input *in) {
    struct stat st;
    if (in->format == FORMAT_RAW || !member_stat(name, &st) || !S_ISREG(st.st_mode)) return false;
    if (member_is_packed(name)) return true;
    source s = {.name = name, .fd = open(name, O_RDONLY | O_CLOEXEC)};
    const bool is = s.fd >= 0 && is_decoded(&s, in);
    if (s.fd >= 0) close(s.fd);
    return is;
}

/* Reads from a feed, which is a stream, from now on. */
static void take_feed(source *s, const feed *from) {
    if (s->file) tape_open(&s->tape, s->fd, s->keep);
    s->file = false;
    s->stream = true;
    s->start = 0;
    tape_feed(&s->tape, from, s->keep);
}

/* What is compressed is a stream, whose first bytes have been read. */
static int unpack_source(source *s, const input *in, unsigned char head[CONTAINER_HEAD],
                         int64_t *got) {
    unpack_error error;
    if (s->file && lseek(s->fd, (off_t)(s->start + *got), SEEK_SET) < 0)
        return fail(EXIT_IO, s->name, "cannot read: %s", strerror(errno));
    unpack *u = unpack_open(s->fd, head, (size_t)*got, in->unpack, &error);
    if (!u) {
        fail(EXIT_IO, s->name, "%s", error.what);
        if (error.hint) hint("%s", error.hint);
        return EXIT_IO;
    }
    const feed from = unpack_feed(u);
    take_feed(s, &from);
    *got = read_head(s, head);
    return *got < 0 ? source_failed(s, *got, errno) : EXIT_DONE;
}

/* The layout of an array, whose first bytes have been read. */
static int open_array(source *s, const input *in, const unsigned char *prefix, int64_t got,
                      int64_t file_size) {
    int code = s->member.headless ? EXIT_DONE : read_header(s, prefix, got);
    if (code == EXIT_DONE) code = name_elements(s, in);
    if (code == EXIT_DONE) code = check_size(s, file_size);
    return code == EXIT_DONE ? refuse_text_options(s, in) : code;
}

static int refuse_container(const source *s, const void *head, int64_t got) {
    return container_refuse(s->name, s->tape.feed.of ? NULL : s->name, head, (size_t)got);
}

static int refuse_member(const source *s, int code, const listing_refusal *refused) {
    fail(code, s->name, "%s", refused->what);
    if (*refused->hint) hint("%s", refused->hint);
    return code;
}

/* An array in a file of several. */
static int open_member(source *s, const input *in, const member_name *name, unsigned char *head,
                       int64_t got, enum member_kind kind) {
    listing_refusal refused;
    member *m = &s->member;
    if (!s->file) return refuse_container(s, head, got);
    const int code = member_open(m, kind, s->fd, s->start, name, in->unpack, &refused);
    if (code == MEMBER_OTHER) return refuse_container(s, head, got);
    if (code != EXIT_DONE) return refuse_member(s, code, &refused);
    s->kind = kind;
    s->start = m->at;
    if (m->feed.of) take_feed(s, &m->feed);
    if (m->headless)
        s->layout = m->layout;
    else if ((got = read_bytes(s, 0, head, NPY_PREFIX)) < 0)
        return source_failed(s, got, errno);
    return open_array(s, in, head, got, m->at + m->size);
}

/* Recognizes the format by the first bytes. */
static int recognize_format(source *s, const input *in, const member_name *name,
                            int64_t file_size) {
    unsigned char head[CONTAINER_HEAD];
    int64_t got = read_head(s, head);
    if (got < 0) return source_failed(s, got, errno);
    if (unpack_knows(head, (size_t)got)) {
        const int unpacked = unpack_source(s, in, head, &got);
        if (unpacked != EXIT_DONE) return unpacked;
    }
    const enum member_kind kind = member_kind_of(head, (size_t)got);
    if (kind) return open_member(s, in, name, head, got, kind);
    if (container_knows(head, (size_t)got)) return refuse_container(s, head, got);
    if (is_text(s, in, head, got)) return open_text(s, in, head, (size_t)got, file_size);
    return open_array(s, in, head, got, file_size);
}

static bool found_nothing;

bool source_found_nothing(void) { return found_nothing; }

int source_open(source *s, const char *name, const input *in, spool_limit *keep) {
    *s = (source){.name = name, .fd = -1, .keep = keep};
    struct stat st;
    member_name split;
    member_split(&split, name);
    const bool inside = split.member && in->format != FORMAT_RAW;
    int code = open_file(s, inside ? split.file : name, &st);
    if (code == EXIT_DONE && in->implied) {
        found_nothing = s->file && s->start >= st.st_size;
        s->tape.empty = &found_nothing;
    }
    if (code == EXIT_DONE)
        code = in->format == FORMAT_RAW ? layout_raw(s, in, st.st_size)
                                        : recognize_format(s, in, &split, st.st_size);
    if (code == EXIT_DONE) code = select_elements(s, in);
    if (code != EXIT_DONE) source_close(s);
    return code;
}

void source_close(source *s) {
    if (s->owned) close(s->fd);
    if (s->text) text_close(s->text);
    free(s->text);
    mapping_close(&s->map);
    free(s->whole);
    tape_close(&s->tape);
    *s = (source){.name = s->name, .fd = -1};
}

/* ---- preparing ------------------------------------------------------------------------------- */

/* Copies a stream to a temporary file, up to the end of the array, and maps that. */
static int map_stream(source *s) {
    static unsigned char some[1 << 16];
    const int fd = temporary_open();
    int64_t got = 1, at = 0;
    for (; fd >= 0 && at < s->size && got > 0; at += got > 0 ? got : 0) {
        const int64_t left = s->size - at,
                      n = left < (int64_t)sizeof some ? left : (int64_t)sizeof some;
        got = tape_read(&s->tape, some, (size_t)n);
        if (got > 0 && !temporary_write(fd, some, (size_t)got)) got = -2;
    }
    int code = EXIT_DONE;
    if (fd < 0 || got == -2)
        code = temporary_failed(errno);
    else if (at < s->size)
        code = source_failed(s, got < 0 ? got : at, errno);
    else if (!mapping_open(&s->map, fd, 0, (size_t)s->size))
        code = fail(EXIT_IO, s->name, "cannot read: %s", strerror(errno));
    if (fd >= 0) close(fd);
    s->stream = false;
    s->data = s->map.data;
    return code;
}

/* Takes a stream into memory, up to the end of the array. */
static int load_stream(source *s) {
    if (s->memory > 0 && s->size > s->memory) return map_stream(s);
    s->whole = malloc((size_t)s->size);
    if (!s->whole) {
        fail(EXIT_IO, s->name, "out of memory: %zu bytes", (size_t)s->size);
        hint("this needs an array in Fortran order whole: as a file it need not be in memory");
        return EXIT_IO;
    }
    const int64_t got = tape_read(&s->tape, s->whole, (size_t)s->size);
    if (got != s->size) return source_failed(s, got, errno);
    s->stream = false;
    s->data = s->whole;
    return EXIT_DONE;
}

int source_skip(source *s, int64_t n) {
    static unsigned char scrap[1 << 16];
    const int64_t element = (int64_t)source_element(s), step = (int64_t)sizeof scrap / element;
    for (int64_t left = n; left > 0;) {
        const int64_t some = left < step ? left : step;
        const int64_t got = tape_read(&s->tape, scrap, (size_t)(some * element));
        if (got < 0) return source_failed(s, got, errno);
        left -= got / element;
        if (got < some * element)
            return fail(EXIT_DATA, s->name,
                        "--offset is past the end: it holds %" PRId64 " elements, not %" PRId64,
                        s->first - left, s->first);
    }
    return EXIT_DONE;
}

static int prepare_stream(source *s) {
    const int code = s->reorder ? load_stream(s) : source_skip(s, s->first);
    s->tape_start = s->tape.at;
    return code;
}

int source_prepare(source *s, bool ordered) {
    if (s->text) return EXIT_DONE;
    s->reorder = s->layout.fortran && (ordered || s->part);
    int code = s->stream ? EXIT_DONE : check_member(s);
    if (code == EXIT_DONE && !s->stream) code = map_file(s);
    return code == EXIT_DONE && s->stream ? prepare_stream(s) : code;
}

void source_rewind(source *s) {
    if (s->text && !s->text->file) text_rewind(s->text);
    if (!s->text && s->stream) tape_rewind(&s->tape, s->tape_start);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Copies n elements of a Fortran-order array that follow each other in C order. */
static void gather_some(const source *s, int64_t first, int64_t n, unsigned char *out) {
    const npy_header *h = &s->layout;
    const size_t element = source_element(s);
    const int last = h->ndim - 1;
    int64_t index[NPY_MAX_DIMS], stride[NPY_MAX_DIMS], step = 1;
    for (int d = 0; d <= last; step *= h->shape[d++]) stride[d] = step;
    for (int d = last; d >= 0; first /= h->shape[d--]) index[d] = first % h->shape[d];
    while (n > 0) {
        int64_t at = 0;
        for (int d = 0; d <= last; d++) at += index[d] * stride[d];
        const int64_t left = h->shape[last] - index[last], run = n < left ? n : left;
        bytes_gather(out, s->data + (size_t)at * element, (size_t)run, (size_t)stride[last],
                     element);
        out += (size_t)run * element;
        n -= run;
        index[last] += run;
        for (int d = last; d > 0 && index[d] == h->shape[d]; d--) {
            index[d] = 0;
            index[d - 1]++;
        }
    }
}

/* Elements that may each bring a stretch of pages of their own into the resident set. */
enum { GATHERED = 128 };

/* Gathers elements one by one. Takes the file's pages out of the resident set when there are too
 * many. */
static void gather_elements(const source *s, int64_t first, int64_t n, unsigned char *out) {
    const int64_t step = s->memory > 0 ? GATHERED : n;
    for (int64_t at = 0; at < n; at += step) {
        const int64_t some = n - at < step ? n - at : step;
        gather_some(s, first + at, some, out + (size_t)at * source_element(s));
        if (s->memory > 0 && memory_of_files() > s->memory) mapping_drop(&s->map, 0, s->size);
    }
}

/* A stream of unknown length may end within an element: errno is then ENODATA. */
static int64_t read_stream(source *s, int64_t n, void *buffer) {
    const int64_t element = (int64_t)source_element(s);
    const int64_t bytes = tape_read(&s->tape, buffer, (size_t)(n * element));
    if (bytes > 0 && bytes % element != 0 && s->count < 0) {
        errno = ENODATA;
        return -1;
    }
    return bytes < 0 ? -1 : bytes / element;
}

/* Makes times of elements in the file's unit: seconds of days, hours and minutes; NaT stays. False,
 * with errno set: 64 bits do not hold one. */
static bool take_times(const source *s, int64_t n, void *elements) {
    int64_t *const x = elements;
    errno = ERANGE;
    for (int64_t i = 0; i < n; i++)
        if (x[i] != SOURCE_NAT && __builtin_mul_overflow(x[i], s->layout.seconds, &x[i]))
            return false;
    return true;
}

const void *source_view(source *s, int64_t index, int64_t n, void *buffer, int64_t *got) {
    const size_t element = source_element(s);
    *got = n;
    if (!s->data)
        *got = read_stream(s, n, buffer);
    else if (s->reorder)
        gather_elements(s, s->first + index, n, buffer);
    else if (s->layout.swap || s->layout.time)
        memcpy(buffer, s->data + (size_t)(s->first + index) * element, (size_t)n * element);
    else
        return s->data + (size_t)(s->first + index) * element;
    if (s->layout.swap && *got > 0) bytes_swap(buffer, (size_t)*got, element);
    if (s->layout.time && *got > 0 && !take_times(s, *got, buffer)) *got = -1;
    return buffer;
}

int source_copy(const source *s, int64_t index, int64_t n, void *to) {
    const int64_t element = (int64_t)source_element(s);
    const int64_t got =
        bytes_pread(s->fd, to, (size_t)(n * element), s->start + (s->first + index) * element);
    if (got < 0) return fail(EXIT_IO, s->name, "cannot read: %s", strerror(errno));
    if (s->layout.swap) bytes_swap(to, (size_t)n, (size_t)element);
    if (s->layout.time && got == n * element && !take_times(s, n, to))
        return source_failed(s, -1, errno);
    return got < n * element ? became_shorter(s) : source_check(s);
}

void source_drop(const source *s, int64_t index, int64_t n) {
    const int64_t element = (int64_t)source_element(s), first = (s->first + index) * element;
    if (s->memory > 0 && !s->reorder) mapping_drop(&s->map, first, first + n * element);
}

int source_failed(const source *s, int64_t got, int error) {
    if (s->tape.spool_error) return temporary_failed(s->tape.spool_error);
    if (got < 0 && error == ENODATA)
        return fail(EXIT_DATA, s->name, "not a whole number of elements of %s",
                    bf_dtype_name(s->layout.dtype));
    if (got < 0 && s->layout.time && error == ERANGE)
        return fail(EXIT_DATA, s->name, "64 bits do not hold the seconds of a time");
    if (got < 0) return read_failed(s, error);
    const int code = source_check(s); /* it refuses a file that cannot be mapped */
    if (code != EXIT_DONE) return code;
    if (s->raw) return fail(EXIT_DATA, s->name, "too short: it ends before --count elements");
    return fail(EXIT_DATA, s->name, "shorter than its header says");
}

/* A page that is cut through reads as zeros from there on, without a signal: so ask the file. */
int source_check(const source *s) {
    struct stat st;
    if (!s->file) return EXIT_DONE;
    if (fstat(s->fd, &st) != 0) return fail(EXIT_IO, s->name, "cannot read: %s", strerror(errno));
    if (st.st_size - s->start < s->size) return became_shorter(s);
    if (mapping_lost(&s->map)) return fail(EXIT_IO, s->name, "cannot read: %s", strerror(EIO));
    return EXIT_DONE;
}
