/* Saved forms: one container for objects of every kind, all little-endian.
 *
 *   0  "bitfold" and a newline     16  bytes of the form (u64)
 *   8  version (u64), 1            24  sections
 *                                      CRC-64/XZ of all before (u64)
 *
 * A section has a name (12 characters, the last ones zeros), a dtype (u32) and a number of elements
 * (u64), then the elements, and zeros up to a multiple of 8 bytes. The first section is named after
 * the kind of object, and has the numbers (BF_I32) that describe it. The others have a fixed order.
 * The functions give offsets in the form: those of the elements of sections. */
#ifndef BF_API_RUNTIME_SAVED_H
#define BF_API_RUNTIME_SAVED_H

#include "seam/backend.h"

/* A form that is written, or only counted (out is NULL). */
typedef struct bf_saving {
    uint8_t *out;
    size_t bytes;
} bf_saving;

bf_saving bf_saving_begin(void *out, const char *kind, const int *numbers, int count);
/* Adds a section, and returns the offset where the caller puts its elements. */
size_t bf_saving_section(bf_saving *saving, const char *name, bf_dtype dtype, int64_t count);
/* Adds a section with these elements. */
void bf_saving_put(bf_saving *saving, const char *name, bf_dtype dtype, const void *elements,
                   int64_t count);
/* Completes the form, and returns its bytes. */
size_t bf_saving_end(bf_saving *saving);

/* A form that is read. Its checksum is right; its sections are those that are asked for if `bad`
 * stays false. */
typedef struct bf_loading {
    const uint8_t *in;
    size_t at, end;
    bool bad;
} bf_loading;

/* Checks the container and reads the numbers, which are `count`. A trailer behind the form is
 * passed over. Errors: BF_E_STATE. */
bf_status bf_loading_begin(bf_loading *loading, bf_context *context, const void *buffer,
                           size_t size, const char *kind, int *numbers, int count);
/* Returns the offset of the next section, and sets *count to the number of its elements (0: bad).
 */
size_t bf_loading_section(bf_loading *loading, const char *name, bf_dtype dtype, int64_t *count);
/* Copies the elements of the next section, which are `most` or less, and returns their number; the
 * other, those of one that has `count`. */
int64_t bf_loading_take(bf_loading *loading, const char *name, bf_dtype dtype, void *elements,
                        int64_t most);
void bf_loading_get(bf_loading *loading, const char *name, bf_dtype dtype, void *elements,
                    int64_t count);
/* Were all sections right, and are there no others? */
bool bf_loading_end(const bf_loading *loading);

/* Are n keys of a form in ascending order, or equal if they may be, and is each the one that stands
 * for all equal ones? */
bool bf_saved_keys_ascend(bf_dtype dtype, const uint8_t *keys, int64_t n, bool equal);

/* Return BF_E_STATE, with why as the context's message. */
bf_status bf_saved_refuse(bf_context *context, const char *why);
bf_status bf_saved_refuse_contents(bf_context *context);

#endif
