#include "input/tape.h"

#include "runtime/bytes.h"

#include <errno.h>
#include <string.h>

enum { DECODE_CHUNK = 128 * 1024 };

void tape_open(tape *t, int fd, spool_limit *limit) {
    *t = (tape){.fd = fd, .keeps = limit != NULL};
    spool_open(&t->spool, limit);
}

void tape_close(tape *t) {
    decode_close(t->decode);
    t->decode = NULL;
    if (t->feed.of) t->feed.close(t->feed.of);
    t->feed.of = NULL;
    spool_close(&t->spool);
}

void tape_feed(tape *t, const feed *from, spool_limit *limit) {
    const int fd = t->fd;
    tape_close(t);
    tape_open(t, fd, limit);
    t->feed = *from;
}

/* Bytes as they were before they are decoded. */
static int64_t read_packed(void *arg, void *buffer, size_t size) {
    const tape *t = arg;
    return t->feed.of ? t->feed.read(t->feed.of, buffer, size) : bytes_read(t->fd, buffer, size);
}

bool tape_decode(tape *t, const text_options *options, const void *prefix, size_t length,
                 bool ended, spool_limit *limit) {
    const decode_input from = {read_packed, t, prefix, length, ended};
    const feed packed = t->feed;
    const int fd = t->fd;
    t->feed.of = NULL;
    tape_close(t);
    tape_open(t, fd, limit);
    t->feed = packed;
    t->decode = decode_open(options, &from, DECODE_CHUNK);
    return t->decode != NULL;
}

int64_t tape_lines_more(const tape *t, int64_t offset) {
    return t->decode ? decode_lines_more(t->decode, offset) : 0;
}

/* Gives bytes that the spool holds. */
static int64_t read_spool(tape *t, void *buffer, size_t size) {
    const int64_t left = t->spool.size - t->at;
    const size_t n = left < (int64_t)size ? (size_t)left : size;
    const void *bytes = spool_read(&t->spool, t->at, buffer, n);
    if (!bytes) {
        t->spool_error = errno;
        return -1;
    }
    if (bytes != buffer) memcpy(buffer, bytes, n);
    return (int64_t)n;
}

/* Gives bytes of the stream itself. */
static int64_t read_stream(tape *t, void *buffer, size_t size) {
    if (t->ended) return 0;
    const int64_t got =
        t->decode ? decode_read(t->decode, buffer, size) : read_packed(t, buffer, size);
    t->ended = got >= 0 && got < (int64_t)size;
    if (got < 0 || !t->keeps) return got;
    if (!spool_write(&t->spool, buffer, (size_t)got)) {
        t->spool_error = errno;
        return -1;
    }
    if (got < (int64_t)size) spool_end(&t->spool);
    return got;
}

int64_t tape_read(tape *t, void *buffer, size_t size) {
    int64_t n = 0;
    if (t->at < t->spool.size) n = read_spool(t, buffer, size);
    if (n >= 0 && n < (int64_t)size) {
        if (!t->keeps) spool_close(&t->spool);
        const int64_t got = read_stream(t, (char *)buffer + n, size - (size_t)n);
        n = got < 0 ? -1 : n + got;
    }
    if (n == 0 && size > 0 && t->at == 0 && t->empty) *t->empty = true;
    if (n > 0) t->at += n;
    return n;
}

void tape_rewind(tape *t, int64_t at) { t->at = at; }

void tape_forget(tape *t) { t->keeps = false; }
