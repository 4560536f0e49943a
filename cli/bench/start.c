/* Start-up: the time of a command with ten elements to add. */
#define _GNU_SOURCE
#include "bench/bench.h"

#include "runtime/json.h"
#include "runtime/progress.h"
#include "runtime/report.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_ROUNDS = 64, HEADER = 128, COUNT = 10 };

extern char **environ;

/* Writes a .npy file of ten elements under a temporary name. */
static bool write_file(char *path) {
    struct {
        char header[HEADER];
        double x[COUNT];
    } npy;
    static const char text[] = "\x93NUMPY\x01\x00\x76\x00"
                               "{'descr': '<f8', 'fortran_order': False, 'shape': (10,), }";
    memset(npy.header, ' ', HEADER);
    memcpy(npy.header, text, sizeof text - 1);
    npy.header[HEADER - 1] = '\n';
    for (int i = 0; i < COUNT; i++) npy.x[i] = 0.1 * i;
    int fd = mkstemp(path);
    if (fd < 0) return false;
    bool good = write(fd, &npy, sizeof npy) == sizeof npy;
    return close(fd) == 0 && good;
}

/* Returns the seconds from fork to exit of `bitfold sum PATH`; negative if it failed. */
static double run_command_once(char *path, const posix_spawn_file_actions_t *actions) {
    char *argv[] = {(char *)"bitfold", (char *)"sum", path, NULL};
    pid_t pid;
    int status;
    double start = progress_clock();
    if (posix_spawn(&pid, "/proc/self/exe", actions, NULL, argv, environ) != 0 ||
        waitpid(pid, &status, 0) != pid || status != 0)
        return -1;
    return progress_clock() - start;
}

static double median_run(char *path, int rounds) {
    double samples[MAX_ROUNDS];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    double median =
        run_command_once(path, &actions); /* the first one reads the program from disk */
    for (int i = 0; i < rounds && median > 0; i++)
        if ((samples[i] = run_command_once(path, &actions)) <= 0) median = -1;
    posix_spawn_file_actions_destroy(&actions);
    return median > 0 ? bench_median(samples, rounds) : -1;
}

static void print_object(double seconds) {
    json_begin(stdout, "bench", NULL);
    json_text(stdout, "work", "start");
    json_text(stdout, "dtype", "f64");
    json_integer(stdout, "n", COUNT);
    json_text(stdout, "device", "cpu");
    json_real(stdout, "seconds", 6, seconds);
    puts("}");
}

int bench_start_up(bool json, int rounds) {
    char path[] = "/tmp/bitfold-XXXXXX";
    double seconds = write_file(path) ? median_run(path, rounds) : -1;
    unlink(path);
    if (seconds <= 0)
        return fail(EXIT_IO, NULL, "cannot run 'bitfold sum' on a file of ten elements");
    if (json)
        print_object(seconds);
    else
        printf("'bitfold sum' of ten elements, from start to exit: %.2f ms\n", seconds * 1e3);
    return EXIT_DONE;
}
