/* Saved forms: sections, the checksum, trailers. */
#include "api/runtime/saved.h"

#include "rules/key/rank.h"
#include <bitfold/state.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are saved as they are");

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

/* ---- the container --------------------------------------------------------------------------- */

enum { NAME_BYTES = 12, CRC_BYTES = 8 };
static const char magic[8] = {'b', 'i', 't', 'f', 'o', 'l', 'd', '\n'};
static const uint64_t version = 1, swapped_version = (uint64_t)1 << 56;

typedef struct form_head {
    char magic[8];
    uint64_t version, bytes;
} form_head;

typedef struct section_head {
    char name[NAME_BYTES];
    uint32_t dtype;
    uint64_t count;
} section_head;

static section_head head_of(const char *name, bf_dtype dtype, int64_t count) {
    section_head head = {.dtype = (uint32_t)dtype, .count = (uint64_t)count};
    memcpy(head.name, name, strlen(name));
    return head;
}

static size_t padding_of(size_t bytes) { return -bytes & 7; }

/* ---- saving ---------------------------------------------------------------------------------- */

static void put(bf_saving *s, const void *bytes, size_t n) {
    if (s->out != NULL && n > 0) memcpy(s->out + s->bytes, bytes, n);
    s->bytes += n;
}

bf_saving bf_saving_begin(void *out, const char *kind, const int *numbers, int count) {
    bf_saving s = {out, sizeof(form_head)};
    bf_saving_put(&s, kind, BF_I32, numbers, count);
    return s;
}

size_t bf_saving_section(bf_saving *s, const char *name, bf_dtype dtype, int64_t count) {
    static const uint8_t zeros[8];
    const section_head head = head_of(name, dtype, count);
    const size_t bytes = (size_t)count * (size_t)bf_key_bytes(dtype);
    put(s, &head, sizeof head);
    const size_t offset = s->bytes;
    s->bytes += bytes;
    put(s, zeros, padding_of(bytes));
    return offset;
}

void bf_saving_put(bf_saving *s, const char *name, bf_dtype dtype, const void *elements,
                   int64_t count) {
    const size_t offset = bf_saving_section(s, name, dtype, count);
    if (s->out != NULL && count > 0)
        memcpy(s->out + offset, elements, (size_t)count * (size_t)bf_key_bytes(dtype));
}

size_t bf_saving_end(bf_saving *s) {
    form_head head = {.version = version, .bytes = s->bytes + CRC_BYTES};
    memcpy(head.magic, magic, sizeof magic);
    if (s->out != NULL) {
        memcpy(s->out, &head, sizeof head);
        const uint64_t crc = crc64(s->out, s->bytes);
        memcpy(s->out + s->bytes, &crc, sizeof crc);
    }
    return (size_t)head.bytes;
}

/* ---- loading --------------------------------------------------------------------------------- */

bf_status bf_saved_refuse(bf_context *context, const char *why) {
    return bf_fail(context, BF_E_STATE, "%s", why);
}

bf_status bf_saved_refuse_contents(bf_context *context) {
    return bf_saved_refuse(context, "impossible contents");
}

/* Begins to read a form, whose bytes become *size. Returns NULL, or why there is none. */
static const char *read_head(bf_loading *l, const void *buffer, size_t *size) {
    form_head head;
    if (*size < sizeof head + CRC_BYTES) return "not a saved state";
    memcpy(&head, buffer, sizeof head);
    if (memcmp(head.magic, magic, sizeof magic) != 0) return "not a saved state";
    if (head.version == swapped_version) return "saved in another order of bytes";
    if (head.version != version) return "saved by an unknown version";
    if (head.bytes > *size || head.bytes < sizeof head + CRC_BYTES)
        return "not the size that its header says";
    *size = (size_t)head.bytes;
    *l = (bf_loading){.in = buffer, .at = sizeof head, .end = *size - CRC_BYTES};
    return NULL;
}

static bool is_whole(const bf_loading *l) {
    uint64_t crc;
    memcpy(&crc, l->in + l->end, sizeof crc);
    return crc == crc64(l->in, l->end);
}

size_t bf_loading_section(bf_loading *l, const char *name, bf_dtype dtype, int64_t *count) {
    static const uint8_t zeros[8];
    const size_t each = (size_t)bf_key_bytes(dtype);
    section_head head;
    *count = 0;
    l->bad = l->bad || l->end - l->at < sizeof head;
    if (l->bad) return 0;
    memcpy(&head, l->in + l->at, sizeof head);
    const section_head wanted = head_of(name, dtype, (int64_t)head.count);
    const size_t offset = l->at + sizeof head, room = l->end - offset;
    l->bad = memcmp(&head, &wanted, sizeof head) != 0 || head.count > room / each;
    if (l->bad) return 0;
    const size_t bytes = (size_t)head.count * each, padding = padding_of(bytes);
    l->bad = padding > room - bytes || memcmp(l->in + offset + bytes, zeros, padding) != 0;
    if (l->bad) return 0;
    l->at = offset + bytes + padding;
    *count = (int64_t)head.count;
    return offset;
}

int64_t bf_loading_take(bf_loading *l, const char *name, bf_dtype dtype, void *elements,
                        int64_t most) {
    int64_t count;
    const size_t offset = bf_loading_section(l, name, dtype, &count);
    l->bad = l->bad || count > most;
    if (l->bad) return 0;
    if (count > 0) memcpy(elements, l->in + offset, (size_t)count * (size_t)bf_key_bytes(dtype));
    return count;
}

void bf_loading_get(bf_loading *l, const char *name, bf_dtype dtype, void *elements,
                    int64_t count) {
    const int64_t got = bf_loading_take(l, name, dtype, elements, count);
    l->bad = l->bad || got != count;
}

bool bf_loading_end(const bf_loading *l) { return !l->bad && l->at == l->end; }

bf_status bf_loading_begin(bf_loading *l, bf_context *context, const void *buffer, size_t size,
                           const char *kind, int *numbers, int count) {
    size_t bytes = size, n;
    if (buffer == NULL) return bf_fail(context, BF_E_ARGUMENT, "no buffer");
    const char *why = read_head(l, buffer, &bytes);
    if (why != NULL) return bf_saved_refuse(context, why);
    if (!is_whole(l)) return bf_saved_refuse(context, "damaged: the checksum does not match");
    if (bytes < size && bf_trailer_find(buffer, size, &n) == NULL)
        return bf_saved_refuse(context, "damaged: the bytes behind it are no trailer");
    bf_loading_get(l, kind, BF_I32, numbers, count);
    return l->bad ? bf_fail(context, BF_E_STATE, "it holds no saved %s", kind) : BF_OK;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Sets *rank to the rank of a key. Returns false if another key stands for it. */
static bool rank_of(bf_dtype dtype, const uint8_t *key, bf_u128 *rank) {
    const int bytes = bf_key_bytes(dtype);
    const uint64_t bits = bf_load_bits(key, bytes == 16 ? 8 : bytes);
    const uint64_t next = bytes == 16 ? bf_load_bits(key + 8, 8) : 0;
    if (dtype == BF_PAIR) *rank = (bf_u128)bits << 64 | next;
    if (dtype == BF_I128) *rank = bf_place_of_i128((bf_i128)((bf_u128)next << 64 | bits));
    if (bytes == 16) return true;
    *rank = bf_group_rank(dtype, bits);
    return bf_group_key(dtype, bits) == bits;
}

bool bf_saved_keys_ascend(bf_dtype dtype, const uint8_t *keys, int64_t n, bool equal) {
    bf_u128 before = 0, rank = 0;
    for (int64_t i = 0; i < n; i++, before = rank) {
        if (!rank_of(dtype, keys + i * bf_key_bytes(dtype), &rank)) return false;
        if (i > 0 && (rank < before || (rank == before && !equal))) return false;
    }
    return true;
}

/* ---- trailers -------------------------------------------------------------------------------- */

/* Lays out a trailer, a form of its own, and sets the offset of its content. */
static bf_saving lay_out_trailer(void *out, size_t n, size_t *offset) {
    bf_saving s = bf_saving_begin(out, "trailer", NULL, 0);
    *offset = bf_saving_section(&s, "content", BF_U8, (int64_t)n);
    return s;
}

size_t bf_trailer_save_size(size_t n) {
    size_t offset;
    bf_saving s = lay_out_trailer(NULL, n, &offset);
    return bf_saving_end(&s);
}

bf_status bf_trailer_save(const void *content, size_t n, void *buffer) {
    size_t offset;
    if (buffer == NULL || (content == NULL && n > 0)) return BF_E_ARGUMENT;
    lay_out_trailer(NULL, n, &offset);
    if (n > 0) memmove((uint8_t *)buffer + offset, content, n);
    bf_saving s = lay_out_trailer(buffer, n, &offset);
    bf_saving_end(&s);
    return BF_OK;
}

const void *bf_trailer_find(const void *buffer, size_t size, size_t *n) {
    bf_loading l;
    size_t form = size;
    int no_numbers;
    int64_t count;
    if (n != NULL) *n = 0;
    if (buffer == NULL || n == NULL || read_head(&l, buffer, &form) != NULL) return NULL;
    size_t rest = size - form;
    if (rest > 0 && (read_head(&l, l.in + form, &rest) != NULL || rest < size - form)) return NULL;
    bf_loading_get(&l, "trailer", BF_I32, &no_numbers, 0);
    const size_t offset = bf_loading_section(&l, "content", BF_U8, &count);
    if (!bf_loading_end(&l) || !is_whole(&l)) return NULL;
    *n = (size_t)count;
    return l.in + offset;
}
