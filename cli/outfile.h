/* Files that are written: beside their final name first, and renamed when complete.
 *
 * A reader never sees half a file. Whatever ends the command early, an error or a signal, leaves
 * nothing behind and a former file as it was. */
#ifndef BITFOLD_CLI_OUTFILE_H
#define BITFOLD_CLI_OUTFILE_H

#include <limits.h>
#include <stdio.h>

typedef struct outfile {
    FILE *stream;
    const char *name;          /* as the user gave it */
    char path[PATH_MAX];       /* where it goes, links followed */
    char beside[PATH_MAX + 8]; /* where it is until then; "" if it is written in place */
} outfile;

/* Opens name for writing. Devices and FIFOs are written in place. At most 8 are open at a time.
 * Returns an exit code, having reported the failure; so does commit. */
int outfile_open(outfile *f, const char *name);

/* Completes the file and gives it its name. */
int outfile_commit(outfile *f);

/* Drops the file, if it is open. */
void outfile_abandon(outfile *f);

#endif
