/* The beginning and the end of all saved forms, and the checks of both. */
#include "api/runtime/saved.h"
#include <bitfold/state.h>

/* CRC-64/XZ (ECMA-182's polynomial, reflected): finds every burst of errors up to 64 bits. */
#define POLYNOMIAL 0xc96c5795d7870f42u

enum { SLICES = 8, LONG = 1 << 12 /* bytes that are worth the tables */ };

/* Fills the tables: slices[k][i] is what 8 * (k + 1) steps make of byte i. */
static void fill_slices(uint64_t slices[SLICES][256]) {
    for (int i = 0; i < 256; i++) {
        uint64_t crc = (uint64_t)i;
        for (int step = 0; step < 8; step++) crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        slices[0][i] = crc;
    }
    for (int k = 1; k < SLICES; k++)
        for (int i = 0; i < 256; i++)
            slices[k][i] = slices[k - 1][i] >> 8 ^ slices[0][slices[k - 1][i] & 255];
}

/* Takes whole words, eight bytes at a time (Intel's slicing-by-8). */
static uint64_t take_words(uint64_t crc, const uint8_t *bytes, size_t words) {
    uint64_t slices[SLICES][256];
    fill_slices(slices);
    for (size_t i = 0; i < words; i++) {
        uint64_t x, next = 0;
        memcpy(&x, bytes + 8 * i, 8);
        x ^= crc;
        for (int k = 0; k < SLICES; k++) next ^= slices[SLICES - 1 - k][x >> 8 * k & 255];
        crc = next;
    }
    return crc;
}

/* Half a byte at a time: table[i] is what four steps make of i. */
static uint64_t take_bytes(uint64_t crc, const uint8_t *bytes, size_t size) {
    static const uint64_t table[16] = {
        0x0000000000000000u, 0x7d9ba13851336649u, 0xfb374270a266cc92u, 0x86ace348f355aadbu,
        0x64b62bcaebc387a1u, 0x192d8af2baf0e1e8u, 0x9f8169ba49a54b33u, 0xe21ac88218962d7au,
        0xc96c5795d7870f42u, 0xb4f7f6ad86b4690bu, 0x325b15e575e1c3d0u, 0x4fc0b4dd24d2a599u,
        0xadda7c5f3c4488e3u, 0xd041dd676d77eeaau, 0x56ed3e2f9e224471u, 0x2b769f17cf112238u};
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return crc;
}

static uint64_t crc64(const uint8_t *bytes, size_t size) {
    size_t words = size < LONG ? 0 : size / 8;
    uint64_t crc = ~(uint64_t)0;
    if (words > 0) crc = take_words(crc, bytes, words);
    return ~take_bytes(crc, bytes + 8 * words, size - 8 * words);
}

void bf_saved_begin(uint8_t *out, const char magic[8], int version) {
    memcpy(out, magic, 8);
    bf_saved_put(out + 8, (uint64_t)version, 4);
}

void bf_saved_end(uint8_t *out, size_t size) {
    size -= BF_SAVED_CRC_BYTES;
    bf_saved_put(out + size, crc64(out, size), BF_SAVED_CRC_BYTES);
}

/* ---- trailers ---------------------------------------------------------------------------------
 */

/* The content, its bytes (u64), CRC-64/XZ of all before (u64), a magic. */
enum { TRAILER_BYTES = 24 };
static const char trailer_magic[8] = {'b', 'f', 't', 'r', 'a', 'i', 'l', '\n'};

size_t bf_trailer_save_size(size_t n) { return n + TRAILER_BYTES; }

bf_status bf_trailer_save(const void *content, size_t n, void *buffer) {
    uint8_t *out = buffer;
    if (buffer == NULL || (content == NULL && n > 0)) return BF_E_ARGUMENT;
    if (n > 0) memcpy(out, content, n);
    bf_saved_put(out + n, n, 8);
    bf_saved_end(out, n + 8 + BF_SAVED_CRC_BYTES);
    memcpy(out + n + 8 + BF_SAVED_CRC_BYTES, trailer_magic, sizeof trailer_magic);
    return BF_OK;
}

const void *bf_trailer_find(const void *buffer, size_t size, size_t *n) {
    if (n != NULL) *n = 0;
    if (buffer == NULL || n == NULL || size < TRAILER_BYTES) return NULL;
    const uint8_t *end = (const uint8_t *)buffer + size;
    if (memcmp(end - 8, trailer_magic, 8) != 0) return NULL;
    const uint64_t bytes = bf_saved_get(end - TRAILER_BYTES, 8);
    if (bytes > size - TRAILER_BYTES) return NULL;
    const uint8_t *content = end - TRAILER_BYTES - bytes;
    if (bf_saved_get(end - 16, BF_SAVED_CRC_BYTES) != crc64(content, (size_t)bytes + 8))
        return NULL;
    *n = (size_t)bytes;
    return content;
}

/* The bytes of a saved form without its trailer. */
static size_t size_without_trailer(const uint8_t *in, size_t size) {
    size_t n;
    return bf_trailer_find(in, size, &n) ? size - bf_trailer_save_size(n) : size;
}

/* ---- checks -----------------------------------------------------------------------------------
 */

bf_status bf_saved_refuse(bf_context *context, const char *why) {
    return bf_fail(context, BF_E_STATE, "%s", why);
}

bf_status bf_saved_check(bf_context *context, const uint8_t *in, size_t *all, size_t header_bytes,
                         const char magic[8], int newest) {
    size_t size = *all = size_without_trailer(in, *all);
    if (size < header_bytes + BF_SAVED_CRC_BYTES || memcmp(in, magic, 8) != 0)
        return bf_saved_refuse(context, "not a saved state");
    uint64_t version = bf_saved_get(in + 8, 4);
    if (version < 1 || version > (uint64_t)newest)
        return bf_saved_refuse(context, "saved by an unknown version");
    size -= BF_SAVED_CRC_BYTES;
    return bf_saved_get(in + size, BF_SAVED_CRC_BYTES) == crc64(in, size)
               ? BF_OK
               : bf_saved_refuse(context, "damaged: the checksum does not match");
}
