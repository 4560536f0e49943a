#include "memory/plan.h"

#include "runtime/ranks.h"
#include "runtime/report.h"

#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#define MIB ((int64_t)1024 * 1024)

/* What a thread needs: the text and numbers of a chunk, scratch memory, its stack; what two chunks
 * that wait to be used need, and code that is read later; and the least to be shared out. */
enum { THREAD_MIB = 4, WAITING = 2, CODE_MIB = 2, LEAST_MIB = 12 };

/* A line may take such a part of the memory of inputs: buffers grow twofold, and while one thread
 * has a line that is too long for the others, these have lines of their own. */
enum { LONGEST_SHARE = 4 };

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

/* What is not shared out, if there are so many threads. */
static int64_t fixed_bytes(int64_t now, int threads) {
    return now + (CODE_MIB + (int64_t)THREAD_MIB * (threads + WAITING)) * MIB;
}

/* As many threads as leave half of the limit, from 1 to `most`. */
static int find_threads(const memory_plan *plan, int64_t now, int most) {
    const int64_t room = (plan->limit / 2 - fixed_bytes(now, 0)) / (THREAD_MIB * MIB);
    return room >= most ? most : room > 1 ? (int)room : 1;
}

/* A larger limit never shares out less, though it may have one thread more: several leave half. */
static int64_t shared_bytes(const memory_plan *plan, int64_t now, int most) {
    const int64_t one = plan->limit - fixed_bytes(now, 1), half = plan->limit / 2;
    const int64_t all = plan->limit - fixed_bytes(now, most), several = all > half ? all : half;
    return one < several ? one : several;
}

static int share_out(memory_plan *plan, int *threads) {
    int64_t now, files;
    find_resident(&now, &files);
    const int64_t least = fixed_bytes(now, 1) / MIB + 1 + LEAST_MIB;
    if (plan->limit < least * MIB)
        return fail(EXIT_USAGE, NULL, "--memory is too small: at least %lld MiB are needed",
                    (long long)least);
    mallopt(M_MMAP_THRESHOLD, RETURNED);
    const int64_t shared = shared_bytes(plan, now, *threads);
    *threads = find_threads(plan, now, *threads);
    plan->input = shared / 8;
    plan->pipes = shared / 8;
    plan->results = shared / 4;
    plan->line = shared_bytes(plan, now, INT_MAX / THREAD_MIB) / 8 / LONGEST_SHARE;
    plan->library = shared - plan->input - plan->pipes - plan->results;
    return EXIT_DONE;
}

/* What ranks do depends on it, so all have that of the least room. */
int memory_plan_make(memory_plan *plan, int *threads) {
    if (plan->limit == 0) return EXIT_DONE;
    const int code = ranks_agree(share_out(plan, threads));
    if (code != EXIT_DONE) return code;
    plan->input = ranks_least(plan->input);
    plan->pipes = ranks_least(plan->pipes);
    plan->library = ranks_least(plan->library);
    plan->results = ranks_least(plan->results);
    plan->line = ranks_least(plan->line);
    return EXIT_DONE;
}

size_t memory_plan_line(const memory_plan *plan, int threads) {
    return (size_t)(plan->input / (LONGEST_SHARE * (threads + WAITING)));
}

/* What is compressed is not mapped. */
int64_t memory_plan_unpack(const memory_plan *plan) { return plan->input + plan->pipes / 2; }
