#include "outfile.h"

#include "report.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- signals --------------------------------------------------------------------------------- */

enum { MAX_OPEN = 8 };
static const char *volatile pending[MAX_OPEN]; /* files to remove if a signal ends the command */
static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { ENDING = sizeof ending / sizeof *ending };

/* Only what a signal handler may do: unlink, and die of the same signal. */
static void on_ending(int number) {
    for (int i = 0; i < MAX_OPEN; i++)
        if (pending[i]) unlink(pending[i]);
    signal(number, SIG_DFL);
    raise(number);
}

static void catch_signals(void) {
    struct sigaction action = {.sa_handler = on_ending}, old;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < ENDING; i++)
        if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(ending[i], &action, NULL);
}

static void hold_signals(bool hold) {
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < ENDING; i++) sigaddset(&set, ending[i]);
    sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

/* Replaces `from` in the list: NULL finds a free place. */
static void set_pending(const char *from, const char *to) {
    for (int i = 0; i < MAX_OPEN; i++) {
        if (pending[i] == from) {
            pending[i] = to;
            return;
        }
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static int cannot_write(const outfile *f, int error) {
    return fail(EXIT_IO, f->name, "cannot write: %s", strerror(error));
}

/* Where the name leads: a link's target, or the name itself where there is nothing yet. */
static bool resolve(outfile *f) {
    if (realpath(f->name, f->path)) return true;
    if (errno != ENOENT || strlen(f->name) >= sizeof f->path) return false;
    strcpy(f->path, f->name);
    return true;
}

/* The file gets the mode of the one that it replaces, or that of any new file. */
static int create_beside(outfile *f, const struct stat *old) {
    snprintf(f->beside, sizeof f->beside, "%s.XXXXXX", f->path);
    hold_signals(true);
    const int fd = mkstemp(f->beside);
    if (fd >= 0) set_pending(NULL, f->beside);
    hold_signals(false);
    if (fd < 0) return -1;
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, old ? old->st_mode & 0777 : 0666 & ~mask);
    return fd;
}

int outfile_open(outfile *f, const char *name) {
    *f = (outfile){.name = name};
    if (!resolve(f)) return cannot_write(f, errno);
    catch_signals();
    struct stat st;
    const bool exists = stat(f->path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode)) return cannot_write(f, EISDIR);
    if (exists && !S_ISREG(st.st_mode))
        f->stream = fopen(f->path, "w");
    else {
        const int fd = create_beside(f, exists ? &st : NULL);
        f->stream = fd < 0 ? NULL : fdopen(fd, "w");
    }
    return f->stream ? EXIT_DONE : cannot_write(f, errno);
}

static int complete(outfile *f) {
    int error = 0;
    if (fflush(f->stream) != 0 || ferror(f->stream)) error = errno ? errno : EIO;
    if (fclose(f->stream) != 0 && error == 0) error = errno;
    f->stream = NULL;
    return error;
}

int outfile_commit(outfile *f) {
    errno = 0;
    int error = complete(f);
    if (error == 0 && *f->beside && rename(f->beside, f->path) != 0) error = errno;
    if (error == 0) {
        set_pending(f->beside, NULL);
        *f->beside = '\0';
        return EXIT_DONE;
    }
    cannot_write(f, error);
    outfile_abandon(f);
    return EXIT_IO;
}

void outfile_abandon(outfile *f) {
    if (f->stream) fclose(f->stream);
    f->stream = NULL;
    if (*f->beside) {
        unlink(f->beside);
        set_pending(f->beside, NULL);
        *f->beside = '\0';
    }
}
