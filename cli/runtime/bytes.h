/* Bytes in bulk: reads that finish what they began, byte order, strided copies. */
#ifndef BITFOLD_CLI_RUNTIME_BYTES_H
#define BITFOLD_CLI_RUNTIME_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read until size bytes are there or the data end. The bytes read, or -1 with errno set. */
int64_t bytes_read(int fd, void *buffer, size_t size);
int64_t bytes_pread(int fd, void *buffer, size_t size, int64_t offset);

/* Writes all of them. False with errno set if that failed. */
bool bytes_write(int fd, const void *bytes, size_t size);

/* Reverses the bytes of each of n elements of 1, 2, 4 or 8 bytes. */
void bytes_swap(void *buffer, size_t n, size_t element);

/* Writes a number, the highest byte first. Returns the end. */
static inline char *bytes_put_word(char *to, uint64_t word) {
    for (int i = 0; i < 8; i++) *to++ = (char)(word >> (56 - 8 * i));
    return to;
}

/* Copies n elements that stand stride elements apart. */
void bytes_gather(void *out, const void *in, size_t n, size_t stride, size_t element);

#endif
