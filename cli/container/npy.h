/* The .npy header, versions 1 to 3: what np.load takes, for the dtypes that bitfold has.
 *
 * A header is untrusted input. Both functions are pure: they look at the bytes given and nothing
 * else, so that a fuzzer can drive them. */
#ifndef BITFOLD_CLI_CONTAINER_NPY_H
#define BITFOLD_CLI_CONTAINER_NPY_H

#include <bitfold.h>

#include <stdbool.h>

#define NPY_MAX_DIMS 64              /* as NumPy 2 */
#define NPY_MAX_HEADER (1024 * 1024) /* NumPy itself writes some 128 bytes */
#define NPY_PREFIX 12                /* bytes that are enough for npy_header_size() */

typedef struct npy_header {
    size_t size; /* the size of the header: where the data begin */
    bf_dtype dtype;
    bf_time_kind time;  /* they are times, of i64: dates, or in units of 10^-scale seconds */
    int scale, seconds; /* when read: each unit is so many seconds, if it is not less than one */
    bool unnamed;       /* 2 bytes without a name, as NumPy keeps bf16; dtype is that */
    bool swap;          /* the data are of the other byte order than this machine */
    bool fortran;       /* first index fastest; false where the order makes no difference */
    int ndim;
    int64_t shape[NPY_MAX_DIMS];
    int64_t count; /* elements; their bytes fit an int64_t */
} npy_header;

/* Why a header was refused: "what is wrong: detail", and what may help, or NULL. */
typedef struct npy_error {
    char what[160];
    const char *hint;
} npy_error;

bool npy_has_magic(const void *bytes, size_t length);

/* The size of the whole header, from its first NPY_PREFIX bytes (or all, of a shorter file). 0 if
 * it is refused. */
size_t npy_header_size(const void *bytes, size_t length, npy_error *error);

/* Reads the header at the start of bytes. False if it is refused, or not there in full. */
bool npy_parse(const void *bytes, size_t length, npy_header *header, npy_error *error);

/* Finds, for a header with a shape, the number of elements, and whether their order in memory makes
 * a difference. False if the size overflows. */
bool npy_measure(npy_header *header, npy_error *error);

#endif
