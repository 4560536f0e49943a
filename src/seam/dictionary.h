/* Dictionaries: different keys of strings and numbers, and their numbers. In host memory. */
#ifndef BF_SEAM_DICTIONARY_H
#define BF_SEAM_DICTIONARY_H

#include "seam/backend.h"
#include <bitfold/dictionary.h>

/* A column of rows, checked and contiguous. */
typedef struct bf_key_data {
    bf_dtype dtype;      /* BF_NONE: strings */
    const char *values;  /* the numbers */
    const void *offsets; /* where strings begin: i64 if wide, else i32; none decreases */
    bool wide;
    const char *bytes;
    const uint8_t *valid; /* NULL: no row is NULL */
    int64_t first;        /* the first row's bit in it */
} bf_key_data;

typedef struct bf_cpu_dictionary bf_cpu_dictionary;

typedef struct bf_dictionary_backend {
    bf_cpu_dictionary *(*create)(int count, const bf_dtype columns[]); /* NULL: no memory */
    void (*destroy)(bf_cpu_dictionary *dictionary);
    int64_t (*size)(const bf_cpu_dictionary *dictionary);

    /* Writes each row's number. New keys are added, up to `most` keys in all, and on failure
     * removed; if most is 0, they get -1. Errors: BF_E_OVERFLOW (more keys; a key of 4 GiB),
     * BF_E_MEMORY, BF_E_CANCELLED, with messages. */
    bf_status (*number)(bf_context *context, bf_cpu_dictionary *dictionary, int64_t most,
                        const bf_key_data columns[], int64_t rows, int64_t *numbers);

    /* Adds the keys of another dictionary, and writes their numbers. Errors: the same. */
    bf_status (*merge)(bf_context *context, bf_cpu_dictionary *into, const bf_cpu_dictionary *from,
                       int64_t most, int64_t *numbers);

    /* Writes the place of each key in the order of all. Errors: BF_E_MEMORY, BF_E_CANCELLED. */
    bf_status (*rank)(bf_context *context, bf_cpu_dictionary *dictionary, int64_t *ranks);

    /* Returns false if the column of this key is NULL; else writes its element, or of strings sets
     * *n to the number of bytes, which it copies to `to` unless that is NULL. */
    bool (*value)(const bf_cpu_dictionary *dictionary, int64_t number, int column, void *element);
    bool (*string)(const bf_cpu_dictionary *dictionary, int64_t number, int column, char *to,
                   int64_t *n);
} bf_dictionary_backend;

#endif
