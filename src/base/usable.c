/* The threads that this process may use. */
#define _GNU_SOURCE
#include <bitfold/context.h>

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

/* Reads numbers from a file of one line; returns how many of the two there were. */
static int read_two(const char *path, long long *a, long long *b) {
    FILE *f = fopen(path, "re");
    if (f == NULL) return 0;
    int n = fscanf(f, "%lld %lld", a, b);
    fclose(f);
    return n < 0 ? 0 : n;
}

/* Returns the CPUs that the cgroup's quota allows, rounded up; 0 if there is no limit. Inside a
 * container, whose cgroup is the root of what it sees. */
static int quota_threads(void) {
    long long quota = 0, period = 0, unused;
    if (read_two("/sys/fs/cgroup/cpu.max", &quota, &period) != 2 &&
        (read_two("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", &quota, &unused) < 1 ||
         read_two("/sys/fs/cgroup/cpu/cpu.cfs_period_us", &period, &unused) < 1))
        return 0;
    if (quota <= 0 || period <= 0) return 0;
    return (int)((quota + period - 1) / period);
}

/* Returns the CPUs that this thread may run on; 0 if the system does not tell. It refuses a mask
 * with fewer bits than the machine may have CPUs. */
static int affine_threads(void) {
    for (size_t cpus = 1024; cpus <= (size_t)1 << 20; cpus *= 2) {
        size_t size = CPU_ALLOC_SIZE(cpus);
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (set == NULL) return 0;
        int error = sched_getaffinity(0, size, set) == 0 ? 0 : errno;
        int threads = error == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (error != EINVAL) return threads;
    }
    return 0;
}

int bf_usable_threads(void) {
    long usable = affine_threads();
    if (usable == 0) usable = sysconf(_SC_NPROCESSORS_ONLN);
    int quota = quota_threads();
    if (quota > 0 && quota < usable) usable = quota;
    if (usable < 1) usable = 1;
    return usable < 1024 ? (int)usable : 1024;
}
