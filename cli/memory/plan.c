#include "memory/plan.h"

#include "runtime/report.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#define MIB ((int64_t)1024 * 1024)

/* What a thread needs: the text and numbers of a chunk, scratch memory, its stack; what two chunks
 * that wait to be used need, and code that is read later; and the least to be shared out. */
enum { THREAD_MIB = 4, WAITING = 2, CODE_MIB = 2, LEAST_MIB = 12 };

/* Freed blocks of this size go back to the system at once. */
enum { RETURNED = 256 * 1024 };

/* Bytes that are resident now, and those of files among them; 0 if the system does not say. */
static void find_resident(int64_t *all, int64_t *files) {
    char line[128] = "";
    long long pages[2] = {0, 0};
    const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, line, sizeof line - 1) > 0)
        sscanf(line, "%*d %lld %lld", &pages[0], &pages[1]);
    if (fd >= 0) close(fd);
    *all = pages[0] * sysconf(_SC_PAGESIZE);
    *files = pages[1] * sysconf(_SC_PAGESIZE);
}

int64_t memory_of_files(void) {
    int64_t all, files;
    find_resident(&all, &files);
    return files;
}

int memory_plan_threads(const memory_plan *plan, int most) {
    if (plan->limit == 0) return most;
    int64_t now, files;
    find_resident(&now, &files);
    const int64_t room = ((plan->limit / 2 - now) / MIB - CODE_MIB) / THREAD_MIB - WAITING;
    return room >= most ? most : room > 1 ? (int)room : 1;
}

int memory_plan_make(memory_plan *plan, int threads) {
    if (plan->limit == 0) return EXIT_DONE;
    int64_t now, files;
    find_resident(&now, &files);
    const int64_t fixed = now + (CODE_MIB + THREAD_MIB * (threads + WAITING)) * MIB;
    const int64_t least = (fixed / MIB + 1 + LEAST_MIB) * MIB;
    if (plan->limit < least) {
        fail(EXIT_USAGE, NULL, "--memory is too small: %d thread%s %lld MiB", threads,
             threads == 1 ? " needs" : "s need", (long long)(least / MIB));
        if (threads > 1) hint("fewer threads (-j) need less");
        return EXIT_USAGE;
    }
    mallopt(M_MMAP_THRESHOLD, RETURNED);
    const int64_t shared = plan->limit - fixed;
    plan->input = shared / 8;
    plan->pipes = shared / 8;
    plan->results = shared / 4;
    plan->library = shared - plan->input - plan->pipes - plan->results;
    return EXIT_DONE;
}

/* Buffers grow twofold. */
size_t memory_plan_line(const memory_plan *plan, int threads) {
    return (size_t)(plan->input / (2 * (threads + WAITING)));
}

/* What is compressed is not mapped. */
int64_t memory_plan_unpack(const memory_plan *plan) { return plan->input + plan->pipes / 2; }
