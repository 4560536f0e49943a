/* The file of a checkpoint: what work it belongs to, and a list of numbers and byte strings, which
 * work/work.c writes and reads in one order. They are the content of a trailer (bf_trailer_save),
 * which has the checksum.
 *
 * Every number is an int64, little-endian; a string is its length and its bytes. A file is
 * untrusted: a reader stays inside it, and notes that it read what is not there. */
#ifndef BITFOLD_CLI_WORK_CHECKPOINT_H
#define BITFOLD_CLI_WORK_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that grow as they are written; failed: there was no memory. Begins as zeros. */
typedef struct checkpoint_writer {
    unsigned char *bytes;
    size_t size, room;
    bool failed;
} checkpoint_writer;

void checkpoint_put_number(checkpoint_writer *w, int64_t number);
void checkpoint_put_bytes(checkpoint_writer *w, const void *bytes, size_t size);

/* Room for a string of `size` bytes, or for bytes of no string, to be filled in; NULL: there is no
 * memory. */
void *checkpoint_put_room(checkpoint_writer *w, size_t size);
void *checkpoint_extend(checkpoint_writer *w, size_t size);

/* The 8 bytes that the content of a checkpoint begins with. */
extern const char checkpoint_magic[];

/* Begins a file, and ends it when all is written. */
void checkpoint_begin(checkpoint_writer *w, const char *magic);
void checkpoint_end(checkpoint_writer *w);

/* What is left to read; bad: there was less than was asked for. */
typedef struct checkpoint_reader {
    const unsigned char *at, *end;
    bool bad;
} checkpoint_reader;

/* Begins to read a file. False: it is of another kind, or damaged. */
bool checkpoint_open(checkpoint_reader *r, const char *magic, const void *bytes, size_t size);

/* Return the next number, within [least, most], and the next string; 0 and NULL if it is bad. */
int64_t checkpoint_number(checkpoint_reader *r, int64_t least, int64_t most);
const void *checkpoint_bytes(checkpoint_reader *r, size_t *size);

/* Locks the path of a checkpoint, by a file beside it, so that no other process works with it; a
 * process that is killed leaves the file, but no lock. Returns 0; EWOULDBLOCK: another process has
 * it; or the errno of the failure. Unlock it once. */
int checkpoint_lock(const char *path, int *lock);
void checkpoint_unlock(const char *path, int lock);

/* Writes a file under `path`, by another that is renamed when it is on the disk. Returns 0, or the
 * errno of the failure; then a former file is as it was. */
int checkpoint_write(const char *path, const checkpoint_writer *w);

/* Reads a whole file; *bytes is the caller's to free. Returns 0 or an errno. */
int checkpoint_read(const char *path, unsigned char **bytes, size_t *size);

/* Removes the file, and one that was not finished. */
void checkpoint_remove(const char *path);

#endif
