#include "julia/view.h"

#include "runtime/report.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Is this --view, or --vi, its shortest abbreviation? No other argument begins with --vi here. */
static bool is_view(const char *argument) { return strncmp(argument, "--vi", 4) == 0; }

static void leave_out_view(char **argv) {
    char **to = argv;
    for (; *argv; argv++)
        if (!is_view(*argv)) *to++ = *argv;
    *to = NULL;
}

/* Writes the path of bitfold-view in the folder of this program. */
static bool name_beside(char path[PATH_MAX]) {
    static const char name[] = "bitfold-view";
    const ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - sizeof name);
    if (n <= 0) return false;
    path[n] = '\0';
    char *const slash = strrchr(path, '/');
    if (slash) strcpy(slash + 1, name);
    return slash != NULL;
}

int julia_view_start(char **argv) {
    char path[PATH_MAX];
    leave_out_view(argv);
    if (name_beside(path)) execv(path, argv);
    if (errno == ENOENT) execvp("bitfold-view", argv);
    fail(EXIT_DEVICE, NULL, "cannot start bitfold-view: %s", strerror(errno));
    hint("install libsdl2-dev and build again: bitfold-view is a program of its own");
    return EXIT_DEVICE;
}
