#define _GNU_SOURCE /* mkostemp */
#include "runtime/outfile.h"

#include "runtime/report.h"
#include "runtime/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- signals --------------------------------------------------------------------------------- */

enum { MAX_OPEN = 8 };
static const char *volatile pending[MAX_OPEN]; /* files to remove if a signal ends the command */

/* The signals that end a process unless it catches them. */
static void find_ending(sigset_t *set) {
    static const int others[] = {SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU,
                                 SIGCONT, SIGCHLD, SIGURG,  SIGWINCH};
    sigfillset(set);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) sigdelset(set, others[i]);
}

/* Calls only what is safe in a signal handler. */
void outfile_end_process(int number) {
    for (int i = 0; i < MAX_OPEN; i++)
        if (pending[i]) unlink(pending[i]);
    signal(number, SIG_DFL);
    raise(number);
}

static void catch_signals(const sigset_t *ending) {
    struct sigaction action = {.sa_handler = outfile_end_process}, old;
    sigemptyset(&action.sa_mask);
    for (int i = 1; i <= SIGRTMAX; i++)
        if (sigismember(ending, i) == 1 && sigaction(i, NULL, &old) == 0 &&
            old.sa_handler == SIG_DFL)
            sigaction(i, &action, NULL);
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

void outfile_guard(const char *path) {
    sigset_t ending;
    find_ending(&ending);
    catch_signals(&ending);
    set_pending(NULL, path);
}

void outfile_unguard(const char *path) { set_pending(path, NULL); }

/* ---- files ----------------------------------------------------------------------------------- */

static int cannot_write(const outfile *f, int error) {
    return fail(EXIT_IO, f->name, "cannot write: %s", strerror(error));
}

size_t outfile_directory(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash + 1 - path) : 0;
}

bool outfile_follow(const char *name, char path[PATH_MAX]) {
    char target[PATH_MAX];
    size_t at = 0, length = strlen(name);
    for (int links = 0; links <= MAX_LINKS; links++, name = target) {
        if (at + length >= PATH_MAX) {
            errno = ENAMETOOLONG;
            return false;
        }
        memcpy(path + at, name, length);
        path[at + length] = '\0';
        const ssize_t n = readlink(path, target, sizeof target);
        if (n < 0) return errno == EINVAL || errno == ENOENT; /* no link, or nothing yet */
        length = (size_t)n;
        at = *target == '/' ? 0 : outfile_directory(path);
    }
    errno = ELOOP;
    return false;
}

/* Makes the file that is renamed in the end. Its name is short, however long the final one is, and
 * its mode that of the file that it replaces, or of any new file. Returns -1 with errno set if it
 * fails. */
static int create_beside(outfile *f, const struct stat *old, const sigset_t *ending) {
    const int directory = (int)outfile_directory(f->path);
    const int length =
        snprintf(f->beside, sizeof f->beside, "%.*s.bitfold-XXXXXX", directory, f->path);
    if (length >= (int)sizeof f->beside) {
        *f->beside = '\0';
        errno = ENAMETOOLONG;
        return -1;
    }
    sigset_t before;
    sigprocmask(SIG_BLOCK, ending, &before);
    const int fd = mkostemp(f->beside, O_CLOEXEC);
    if (fd >= 0)
        set_pending(NULL, f->beside);
    else
        *f->beside = '\0';
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (fd < 0) return -1;
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, old ? old->st_mode & 0777 : 0666 & ~mask);
    return fd;
}

static int open_for_writing(outfile *f) {
    struct stat st;
    sigset_t ending;
    const bool exists = stat(f->name, &st) == 0;
    if (!exists && (errno != ENOENT || *f->name == '\0')) return -1;
    if (exists && S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return -1;
    }
    find_ending(&ending);
    catch_signals(&ending);
    if (exists && !S_ISREG(st.st_mode)) return open(f->name, O_WRONLY | O_CLOEXEC);
    return outfile_follow(f->name, f->path) ? create_beside(f, exists ? &st : NULL, &ending) : -1;
}

int outfile_open(outfile *f, const char *name) {
    *f = (outfile){.name = name};
    if (strcmp(name, "-") == 0) {
        fail(EXIT_USAGE, NULL, "standard output does not take this: '-' is not a file");
        hint("./- is the file of that name");
        return EXIT_USAGE;
    }
    const int fd = open_for_writing(f);
    if (fd >= 0) f->stream = stream_open(fd);
    if (f->stream) return EXIT_DONE;
    cannot_write(f, errno);
    if (fd >= 0) close(fd);
    outfile_abandon(f);
    return EXIT_IO;
}

int outfile_commit(outfile *f) {
    int error = stream_close(f->stream);
    f->stream = NULL;
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
