/* Structs that can grow. Each begins with its size in the caller's headers. A smaller one comes
 * from an older caller: the members that it lacks have their defaults, or are not written. A larger
 * one comes from a newer caller: the part that this library does not know must be zero, and is
 * written as zeros.
 *
 * A new member goes to the end. It begins where the struct ended before, not in its padding. */
#ifndef BF_API_RUNTIME_SIZED_H
#define BF_API_RUNTIME_SIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The size of a struct's first version. member was its last. */
#define BF_SIZE_TO(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

enum { BF_SIZE_MOST = 4096 }; /* a larger size was never set */

static inline bool bf_sized_fits(const void *sized, size_t least) {
    size_t size;
    memcpy(&size, sized, sizeof size);
    return size >= least && size <= BF_SIZE_MOST;
}

/* Reads the caller's struct over one of `known` bytes that holds the defaults. Returns false if its
 * size is not valid, or a part that this library does not know is not zero. */
static inline bool bf_sized_read(void *to, size_t known, size_t least, const void *from) {
    size_t size;
    if (!bf_sized_fits(from, least)) return false;
    memcpy(&size, from, sizeof size);
    for (size_t i = known; i < size; i++)
        if (((const char *)from)[i] != 0) return false;
    if (size >= known)
        memcpy(to, from, known); /* a constant */
    else
        memcpy(to, from, size);
    memcpy(to, &known, sizeof known);
    return true;
}

/* Writes a struct of `known` bytes to the caller's, whose size is set. Returns false if that is not
 * valid. */
static inline bool bf_sized_write(void *to, size_t known, size_t least, const void *from) {
    size_t size;
    if (!bf_sized_fits(to, least)) return false;
    memcpy(&size, to, sizeof size);
    memcpy(to, from, size < known ? size : known);
    if (size > known) memset((char *)to + known, 0, size - known);
    memcpy(to, &size, sizeof size);
    return true;
}

#define BF_READ(to, from, last)                                                                    \
    bf_sized_read(to, sizeof *(to), BF_SIZE_TO(__typeof__(*(to)), last), from)
#define BF_WRITE(to, from, last)                                                                   \
    bf_sized_write(to, sizeof *(from), BF_SIZE_TO(__typeof__(*(from)), last), from)

#endif
