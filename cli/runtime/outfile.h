/* Files that are written: beside their final name first, and renamed when complete.
 *
 * A reader never sees half a file. An error, or a signal that can be caught, leaves nothing behind
 * and a former file as it was. */
#ifndef BITFOLD_CLI_RUNTIME_OUTFILE_H
#define BITFOLD_CLI_RUNTIME_OUTFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct outfile {
    FILE *stream;
    const char *name;      /* as the user gave it */
    char path[PATH_MAX];   /* where it goes, links followed */
    char beside[PATH_MAX]; /* where it is until then; "" if it is written in place */
} outfile;

/* Opens name for writing. Devices and FIFOs are written in place. "-" is refused: where it may be
 * standard output, nobody asks for a file. At most 8 are open at a time. Returns an exit code,
 * having reported the failure; so does commit. */
int outfile_open(outfile *f, const char *name);

/* Completes the file and gives it its name. */
int outfile_commit(outfile *f);

/* While a path is guarded, a signal that ends the command removes its file. */
void outfile_guard(const char *path);
void outfile_unguard(const char *path);

/* Removes the files that are not complete, and ends the process by a signal. */
void outfile_end_process(int number);

/* Drops the file, if it is open. */
void outfile_abandon(outfile *f);

/* Follows the links that a name leads along, to a file that need not be there yet. False with errno
 * set: there are more than MAX_LINKS, or the way cannot be looked at. */
enum { MAX_LINKS = 40 };
bool outfile_follow(const char *name, char path[PATH_MAX]);

/* Returns the length of the path's directory, with its last slash; 0: there is none. */
size_t outfile_directory(const char *path);

#endif
