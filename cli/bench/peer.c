/* A peer is a child process. Each question and each answer is a line. */
#define _GNU_SOURCE
#include "bench/bench.h"

#include "runtime/report.h"

#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void run_command(const char *command, int from_us, int to_us) {
    dup2(from_us, STDIN_FILENO);
    dup2(to_us, STDOUT_FILENO);
    signal(SIGPIPE, SIG_DFL);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

/* Both pipes close on exec, so that a peer does not inherit the pipes of another. */
static bool spawn(bench_peer *peer) {
    int down[2], up[2];
    if (pipe2(down, O_CLOEXEC) != 0) return false;
    if (pipe2(up, O_CLOEXEC) != 0) {
        close(down[0]);
        close(down[1]);
        return false;
    }
    peer->pid = fork();
    if (peer->pid == 0) run_command(peer->command, down[0], up[1]);
    close(down[0]);
    close(up[1]);
    peer->to = fdopen(down[1], "w");
    peer->from = fdopen(up[0], "r");
    return peer->pid > 0 && peer->to && peer->from;
}

/* Reads "NAME SECONDS" or "NAME -". A name is a word without characters that need quoting. */
static bool parse(const char *line, char name[NAME_SIZE], double *seconds) {
    char number[64];
    if (sscanf(line, "%31s %63s", name, number) != 2) return false;
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("._+-", *p)) return false;
    if (strcmp(number, "-") == 0) {
        *seconds = -1;
        return true;
    }
    char *end;
    *seconds = strtod(number, &end);
    return end != number && *end == '\0' && *seconds > 0 && isfinite(*seconds);
}

static void put_question(FILE *to, const bench_point *point, int passes) {
    fprintf(to, "%s %s %s %zu %d %d", point->work, point->dtype, point->data, point->count,
            point->gpu ? point->gpu->number : point->threads, passes);
    if (point->gpu) fprintf(to, " %s %d", bench_mode(point), point->buffers);
    putc('\n', to);
}

double bench_peer_ask(bench_peer *peer, const bench_point *point, int passes) {
    char *line = NULL;
    size_t size = 0;
    double seconds;
    put_question(peer->to, point, passes);
    if (fflush(peer->to) != 0 || getline(&line, &size, peer->from) < 0) {
        fail(EXIT_IO, NULL, "peer '%s' does not answer", peer->command);
        seconds = NAN;
    } else if (!parse(line, peer->name, &seconds)) {
        fail(EXIT_IO, NULL, "peer '%s' answers '%.*s', not NAME SECONDS", peer->command,
             (int)strcspn(line, "\n"), line);
        seconds = NAN;
    }
    free(line);
    return seconds;
}

int bench_peer_start(bench_peer *peer, const bench_gpu *gpu) {
    if (!spawn(peer)) return fail(EXIT_IO, NULL, "cannot start peer '%s'", peer->command);
    bench_point small = {.work = "sum",
                         .dtype = "f64",
                         .data = "uniform",
                         .count = 1000,
                         .threads = 1,
                         .gpu = gpu,
                         .buffers = 1};
    return isnan(bench_peer_ask(peer, &small, 1)) ? EXIT_IO : EXIT_DONE;
}

void bench_peer_stop(bench_peer *peer) {
    if (peer->to) fclose(peer->to);
    if (peer->from) fclose(peer->from);
    if (peer->pid > 0) waitpid(peer->pid, NULL, 0);
}
