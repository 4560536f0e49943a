#include "container/unpack.h"

#include "container/crc.h"
#include "runtime/bytes.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_BYTES = 256 * 1024 };

/* Memory that an xz file may need, four times that of xz -9; and the window of a Zstandard file. */
#define XZ_MEMORY ((uint64_t)256 * 1024 * 1024)
#define ZSTD_WINDOW ((uint64_t)128 * 1024 * 1024)

/* Bytes that a decoder takes and gives. */
typedef struct flow {
    const unsigned char *in;
    size_t in_left;
    unsigned char *out;
    size_t out_left;
    bool last; /* no more bytes come in */
} flow;

/* DECODED: what has come in so far is complete; more may follow. */
enum outcome { MORE, DECODED, DAMAGED, TOO_LARGE, TOO_WIDE, NO_MEMORY };

typedef struct codec {
    unsigned char magic[6];
    size_t magic_size;
    const char *library, *missing, *hint;
    const char *symbols[6]; /* the functions, in the order of unpack.function */
    bool (*begin)(unpack *u);
    enum outcome (*decode)(unpack *u, flow *f);
    void (*end)(unpack *u);
} codec;

/* The streams of zlib and liblzma, as their binary interfaces have them. */
typedef struct zlib_stream {
    const unsigned char *next_in;
    unsigned avail_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *message;
    void *state, *allocate, *release, *opaque;
    int data_type;
    unsigned long check, reserved;
} zlib_stream;

typedef struct lzma_stream {
    const uint8_t *next_in;
    size_t avail_in;
    uint64_t total_in;
    uint8_t *next_out;
    size_t avail_out;
    uint64_t total_out;
    const void *allocator;
    void *internal, *reserved_pointers[4];
    uint64_t reserved_words[2];
    size_t reserved_sizes[2];
    int reserved_enums[2];
} lzma_stream;

typedef void function(void);

struct unpack {
    int fd;
    const codec *codec;
    function *function[6];
    union {
        zlib_stream zlib;
        lzma_stream lzma;
        void *zstd;
    } stream;
    bool begun;    /* stream is to be ended */
    bool complete; /* what has been read so far */
    bool midway;   /* in a frame of Zstandard */
    bool last;     /* all has been read from fd */
    const char *fault;
    uint64_t limit;             /* the most memory; 0: as is usual */
    int64_t left;               /* bytes that may yet be read from fd */
    bool member;                /* it is a member of a zip archive, which says what comes */
    int64_t promised;           /* bytes that are still to come */
    uint32_t crc, promised_crc; /* the checksum of what came, and that of all */
    size_t at, have;            /* bytes of input not yet decoded: [at, have) */
    unsigned char input[INPUT_BYTES];
};

/* ---- gzip ------------------------------------------------------------------------------------ */

/* Windows of 32 KiB, and a gzip header, or none. */
enum { GZIP_ONLY = 15 + 16, MEMBER = -15 };

static bool begin_inflating(unpack *u, int format) {
    int (*init)(zlib_stream *, int, const char *, int);
    memcpy(&init, &u->function[0], sizeof init);
    return init(&u->stream.zlib, format, "1", (int)sizeof u->stream.zlib) == 0;
}

static bool gzip_begin(unpack *u) { return begin_inflating(u, GZIP_ONLY); }
static bool member_begin(unpack *u) { return begin_inflating(u, MEMBER); }

static unsigned at_most(size_t n) { return n < 1u << 30 ? (unsigned)n : 1u << 30; }

/* A file may have several members, one behind another, and zeros behind the last. */
static bool gzip_goes_on(unpack *u, flow *f) {
    int (*reset)(zlib_stream *);
    memcpy(&reset, &u->function[2], sizeof reset);
    for (; f->in_left > 0 && *f->in == 0; f->in_left--) f->in++;
    return f->in_left > 0 && reset(&u->stream.zlib) == 0;
}

static enum outcome inflate_some(unpack *u, flow *f) {
    int (*inflate)(zlib_stream *, int);
    zlib_stream *z = &u->stream.zlib;
    memcpy(&inflate, &u->function[1], sizeof inflate);
    z->next_in = f->in;
    z->next_out = f->out;
    const unsigned in = z->avail_in = at_most(f->in_left);
    const unsigned out = z->avail_out = at_most(f->out_left);
    const int status = inflate(z, 0);
    f->in += in - z->avail_in;
    f->in_left -= in - z->avail_in;
    f->out += out - z->avail_out;
    f->out_left -= out - z->avail_out;
    return status == 1                   ? DECODED
           : status == 0 || status == -5 ? MORE /* -5: nothing could be done */
           : status == -4                ? NO_MEMORY
                                         : DAMAGED;
}

static enum outcome gzip_decode(unpack *u, flow *f) {
    return u->complete && !gzip_goes_on(u, f) ? DECODED : inflate_some(u, f);
}

/* What is behind the end of a member's data is passed over. */
static enum outcome member_decode(unpack *u, flow *f) {
    if (!u->complete) return inflate_some(u, f);
    f->in_left = 0;
    u->left = 0;
    return DECODED;
}

static void gzip_end(unpack *u) {
    int (*end)(zlib_stream *);
    memcpy(&end, &u->function[3], sizeof end);
    end(&u->stream.zlib);
}

/* ---- Zstandard ------------------------------------------------------------------------------- */

enum { ZSTD_WINDOW_TOO_LARGE = 16, ZSTD_NO_MEMORY = 64, ZSTD_WINDOW_LOG = 100 };

typedef struct zstd_buffer {
    const void *bytes;
    size_t size, at;
} zstd_buffer;

static bool zstd_begin(unpack *u) {
    void *(*create)(void);
    size_t (*set)(void *, int, int);
    memcpy(&create, &u->function[0], sizeof create);
    memcpy(&set, &u->function[4], sizeof set);
    const uint64_t window = u->limit && u->limit < ZSTD_WINDOW ? u->limit : ZSTD_WINDOW;
    int log = 10; /* the least that there is */
    while ((uint64_t)2 << log <= window) log++;
    u->stream.zstd = create();
    if (u->stream.zstd) set(u->stream.zstd, ZSTD_WINDOW_LOG, log);
    return u->stream.zstd != NULL;
}

/* Where there is room for a whole frame, libzstd decodes it at once, and then refuses some that it
 * takes piece by piece. So it has no room when a frame begins. */
static enum outcome zstd_decode(unpack *u, flow *f) {
    size_t (*decompress)(void *, zstd_buffer *, zstd_buffer *);
    int (*code_of)(size_t);
    memcpy(&decompress, &u->function[1], sizeof decompress);
    memcpy(&code_of, &u->function[2], sizeof code_of);
    if (u->complete && f->in_left == 0) return DECODED;
    zstd_buffer in = {f->in, f->in_left, 0}, out = {f->out, u->midway ? f->out_left : 0, 0};
    const size_t status = decompress(u->stream.zstd, &out, &in);
    u->midway = status != 0;
    const int fault = code_of(status);
    if (fault != 0)
        return fault == ZSTD_WINDOW_TOO_LARGE ? TOO_WIDE
               : fault == ZSTD_NO_MEMORY      ? NO_MEMORY
                                              : DAMAGED;
    f->in += in.at;
    f->in_left -= in.at;
    f->out += out.at;
    f->out_left -= out.at;
    return status == 0 ? DECODED : MORE;
}

static void zstd_end(unpack *u) {
    size_t (*release)(void *);
    memcpy(&release, &u->function[3], sizeof release);
    release(u->stream.zstd);
}

/* ---- xz -------------------------------------------------------------------------------------- */

enum { XZ_CONCATENATED = 8, XZ_RUN = 0, XZ_FINISH = 3 };

static bool xz_begin(unpack *u) {
    int (*decoder)(lzma_stream *, uint64_t, uint32_t);
    memcpy(&decoder, &u->function[0], sizeof decoder);
    const uint64_t most = u->limit && u->limit < XZ_MEMORY ? u->limit : XZ_MEMORY;
    return decoder(&u->stream.lzma, most, XZ_CONCATENATED) == 0;
}

static enum outcome xz_decode(unpack *u, flow *f) {
    static const enum outcome outcomes[] = {MORE,    DECODED,   DAMAGED,   DAMAGED,
                                            DAMAGED, NO_MEMORY, TOO_LARGE, DAMAGED,
                                            DAMAGED, DAMAGED,   MORE};
    int (*code)(lzma_stream *, int);
    lzma_stream *z = &u->stream.lzma;
    memcpy(&code, &u->function[1], sizeof code);
    if (u->complete) return DECODED;
    z->next_in = f->in;
    z->avail_in = f->in_left;
    z->next_out = f->out;
    z->avail_out = f->out_left;
    const int status = code(z, f->last ? XZ_FINISH : XZ_RUN);
    f->in = z->next_in;
    f->in_left = z->avail_in;
    f->out = z->next_out;
    f->out_left = z->avail_out;
    return status >= 0 && status <= 10 ? outcomes[status] : DAMAGED;
}

static void xz_end(unpack *u) {
    void (*end)(lzma_stream *);
    memcpy(&end, &u->function[2], sizeof end);
    end(&u->stream.lzma);
}

/* ---- all ------------------------------------------------------------------------------------- */

static const codec codecs[] = {{{0x1f, 0x8b, 8},
                                3,
                                "libz.so.1",
                                "compressed by gzip, and libz.so.1 is not on this machine",
                                "install zlib (on Debian and Ubuntu: zlib1g)",
                                {"inflateInit2_", "inflate", "inflateReset", "inflateEnd"},
                                gzip_begin,
                                gzip_decode,
                                gzip_end},
                               {{0x28, 0xb5, 0x2f, 0xfd},
                                4,
                                "libzstd.so.1",
                                "compressed by zstd, and libzstd.so.1 is not on this machine",
                                "install Zstandard (on Debian and Ubuntu: libzstd1)",
                                {"ZSTD_createDStream", "ZSTD_decompressStream", "ZSTD_getErrorCode",
                                 "ZSTD_freeDStream", "ZSTD_DCtx_setParameter"},
                                zstd_begin,
                                zstd_decode,
                                zstd_end},
                               {{0xfd, '7', 'z', 'X', 'Z', 0},
                                6,
                                "liblzma.so.5",
                                "compressed by xz, and liblzma.so.5 is not on this machine",
                                "install XZ Utils' library (on Debian and Ubuntu: liblzma5)",
                                {"lzma_stream_decoder", "lzma_code", "lzma_end"},
                                xz_begin,
                                xz_decode,
                                xz_end}};

static const codec member_codec = {{0},
                                   0,
                                   "libz.so.1",
                                   "compressed by deflate, and libz.so.1 is not on this machine",
                                   "install zlib (on Debian and Ubuntu: zlib1g)",
                                   {"inflateInit2_", "inflate", "inflateReset", "inflateEnd"},
                                   member_begin,
                                   member_decode,
                                   gzip_end};

static const codec *find_codec(const void *prefix, size_t length) {
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
        if (length >= codecs[i].magic_size &&
            memcmp(prefix, codecs[i].magic, codecs[i].magic_size) == 0)
            return &codecs[i];
    return NULL;
}

bool unpack_knows(const void *prefix, size_t length) { return find_codec(prefix, length) != NULL; }

/* The library stays loaded. */
static bool load_functions(unpack *u) {
    void *const library = dlopen(u->codec->library, RTLD_NOW | RTLD_LOCAL);
    for (int i = 0; library && u->codec->symbols[i]; i++) {
        void *const found = dlsym(library, u->codec->symbols[i]);
        memcpy(&u->function[i], &found, sizeof found);
        if (!found) return false;
    }
    return library != NULL;
}

static unpack *open_codec(int fd, const codec *by, unpack_error *error) {
    unpack *u = calloc(1, sizeof *u);
    *error = (unpack_error){"out of memory", NULL};
    if (!u) return NULL;
    u->fd = fd;
    u->codec = by;
    u->left = INT64_MAX;
    return u;
}

static unpack *begin_unpacking(unpack *u, unpack_error *error) {
    const bool loaded = load_functions(u);
    u->begun = loaded && u->codec->begin(u);
    if (u->begun) return u;
    if (!loaded) *error = (unpack_error){u->codec->missing, u->codec->hint};
    unpack_close(u);
    return NULL;
}

unpack *unpack_open(int fd, const void *prefix, size_t length, int64_t limit, unpack_error *error) {
    unpack *u = open_codec(fd, find_codec(prefix, length), error);
    if (!u) return NULL;
    u->limit = (uint64_t)limit;
    memcpy(u->input, prefix, length);
    u->have = length;
    return begin_unpacking(u, error);
}

unpack *unpack_open_member(int fd, int64_t packed, int64_t size, uint32_t crc,
                           unpack_error *error) {
    unpack *u = open_codec(fd, &member_codec, error);
    if (!u) return NULL;
    u->left = packed;
    u->member = true;
    u->promised = size;
    u->promised_crc = crc;
    return begin_unpacking(u, error);
}

void unpack_close(unpack *u) {
    if (u && u->begun) u->codec->end(u);
    free(u);
}

static int64_t fail_unpacking(unpack *u, const char *fault) {
    u->fault = fault;
    errno = EBADMSG;
    return -1;
}

/* Reads more input, if all of it is decoded. */
static bool refill(unpack *u) {
    if (u->at < u->have || u->last) return true;
    const int64_t most = (int64_t)sizeof u->input < u->left ? (int64_t)sizeof u->input : u->left;
    const int64_t got = bytes_read(u->fd, u->input, (size_t)most);
    if (got < 0) return false;
    u->at = 0;
    u->have = (size_t)got;
    u->left -= got;
    u->last = u->have < sizeof u->input;
    return true;
}

/* The bytes of a member are as many as were promised, and no more. */
static int64_t check_member(unpack *u, const void *bytes, int64_t got, size_t size) {
    if (got < 0 || !u->member) return got;
    u->crc = crc_add(u->crc, bytes, (size_t)got);
    u->promised -= got;
    if (u->promised > 0 && got < (int64_t)size)
        return fail_unpacking(u, "the member is shorter than the archive says");
    if (u->promised == 0 && u->crc != u->promised_crc)
        return fail_unpacking(u,
                              "the data are damaged: they have not the CRC that is in the archive");
    return got;
}

static int64_t decode(unpack *u, void *buffer, size_t size) {
    flow f = {.out = buffer, .out_left = size};
    while (f.out_left > 0) {
        if (!refill(u)) return -1;
        const size_t out_left = f.out_left, in_left = u->have - u->at;
        f.in = u->input + u->at;
        f.in_left = in_left;
        f.last = u->last;
        const enum outcome is = u->codec->decode(u, &f);
        if (is == DAMAGED) return fail_unpacking(u, "the compressed data are damaged");
        if ((is == TOO_LARGE || is == TOO_WIDE) && u->limit)
            return fail_unpacking(u, "to decompress it takes more than its share of --memory");
        if (is == TOO_LARGE)
            return fail_unpacking(u, "to decompress it takes more than 256 MiB of memory");
        if (is == TOO_WIDE)
            return fail_unpacking(u, "to decompress it takes a window of more than 128 MiB");
        if (is == NO_MEMORY) {
            errno = ENOMEM;
            return -1;
        }
        u->at = u->have - f.in_left;
        u->complete = is == DECODED;
        if (f.out_left < out_left || f.in_left < in_left || !u->last) continue;
        if (u->complete) break;
        return fail_unpacking(u, "the compressed data end too early");
    }
    return (int64_t)(size - f.out_left);
}

int64_t unpack_read(unpack *u, void *buffer, size_t size) {
    const size_t n = u->member && (int64_t)size > u->promised ? (size_t)u->promised : size;
    return check_member(u, buffer, decode(u, buffer, n), n);
}

const char *unpack_fault(const unpack *u) { return u->fault; }

static int64_t feed_read(void *of, void *buffer, size_t size) {
    return unpack_read(of, buffer, size);
}

static const char *feed_fault(const void *of) { return unpack_fault(of); }
static void feed_close(void *of) { unpack_close(of); }

feed unpack_feed(unpack *u) { return (feed){u, feed_read, feed_fault, feed_close}; }
