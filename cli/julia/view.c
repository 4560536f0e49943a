#include "julia/view.h"

#include "runtime/report.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --view, which may be shortened to --vi; no other option begins so, and no operand is left that
 * does. */
static bool is_view(const char *argument) { return strncmp(argument, "--vi", 4) == 0; }

static void leave_out_view(char **argv) {
    char **to = argv;
    for (; *argv; argv++)
        if (!is_view(*argv)) *to++ = *argv;
    *to = NULL;
}

/* Beside this program, as it is built and installed. */
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
    hint("it is a program of its own, built where SDL2 is (libsdl2-dev)");
    return EXIT_DEVICE;
}
