/* The common parts of all saved forms: little-endian numbers, a header that begins with a magic and
 * a version, a checksum at the end. */
#ifndef BF_API_RUNTIME_SAVED_H
#define BF_API_RUNTIME_SAVED_H

#include "seam/backend.h"

enum { BF_SAVED_CRC_BYTES = 8 };

static inline void bf_saved_put(uint8_t *at, uint64_t x, int bytes) {
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(x >> 8 * i);
}

static inline uint64_t bf_saved_get(const uint8_t *at, int bytes) {
    uint64_t x = 0;
    for (int i = 0; i < bytes; i++) x |= (uint64_t)at[i] << 8 * i;
    return x;
}

/* Writes magic and version: the first 12 bytes. */
void bf_saved_begin(uint8_t *out, const char magic[8], int version);
static inline int bf_saved_version(const uint8_t *in) { return (int)bf_saved_get(in + 8, 4); }
/* Writes the checksum: the last 8 of size bytes. */
void bf_saved_end(uint8_t *out, size_t size);

/* Checks magic, version (1 to `newest`), checksum, and that there are at least header_bytes and the
 * checksum. A trailer behind them is taken off *size. Errors: BF_E_STATE. */
bf_status bf_saved_check(bf_context *context, const uint8_t *in, size_t *size, size_t header_bytes,
                         const char magic[8], int newest);

/* Returns BF_E_STATE, with why as the context's message. */
bf_status bf_saved_refuse(bf_context *context, const char *why);

#endif
