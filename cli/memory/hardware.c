#define _GNU_SOURCE
#include "memory/hardware.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The first line of a file, without its newline; "" if there is none. */
static bool read_line(const char *path, char *line, size_t size) {
    *line = '\0';
    FILE *f = fopen(path, "re");
    if (!f) return false;
    const bool got = fgets(line, (int)size, f) != NULL;
    fclose(f);
    line[strcspn(line, "\n")] = '\0';
    return got;
}

/* Reads the text after "KEY<spaces>:" in the first line of a file that begins so. */
static bool find_value(const char *path, const char *key, char *value, size_t size) {
    char *line = NULL;
    size_t room = 0;
    const size_t length = strlen(key);
    bool found = false;
    FILE *f = fopen(path, "re");
    while (f && !found && getline(&line, &room, f) > 0) {
        const char *rest = line + length;
        if (strncmp(line, key, length) != 0) continue;
        rest += strspn(rest, " \t");
        if (*rest++ != ':') continue;
        rest += strspn(rest, " \t");
        snprintf(value, size, "%.*s", (int)strcspn(rest, "\n"), rest);
        found = true;
    }
    if (f) fclose(f);
    free(line);
    return found;
}

/* ---- cores ----------------------------------------------------------------------------------- */

static void find_model(hardware *h) {
    struct utsname u;
    if (find_value("/proc/cpuinfo", "model name", h->model, sizeof h->model)) return;
    if (read_line("/sys/firmware/devicetree/base/model", h->model, sizeof h->model)) return;
    if (uname(&u) == 0) snprintf(h->model, sizeof h->model, "%.100s", u.machine);
}

static void find_flags(hardware *h) {
    char flags[sizeof h->flags - 2] = "";
    if (!find_value("/proc/cpuinfo", "flags", flags, sizeof flags))
        find_value("/proc/cpuinfo", "Features", flags, sizeof flags);
    snprintf(h->flags, sizeof h->flags, " %s ", flags);
}

static double find_quota(void) {
    char line[64];
    double quota = 0, period = 0;
    if (read_line("/sys/fs/cgroup/cpu.max", line, sizeof line)) {
        if (sscanf(line, "%lf %lf", &quota, &period) != 2) return 0;
    } else {
        read_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", line, sizeof line);
        quota = strtod(line, NULL);
        read_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us", line, sizeof line);
        period = strtod(line, NULL);
    }
    return quota > 0 && period > 0 ? quota / period : 0;
}

/* The system refuses a mask that is shorter than its own. */
static void find_cores(hardware *h) {
    enum { CPUS_MOST = 1 << 16 };
    const size_t size = CPU_ALLOC_SIZE(CPUS_MOST);
    cpu_set_t *set = CPU_ALLOC(CPUS_MOST);
    h->online = (int)sysconf(_SC_NPROCESSORS_ONLN);
    h->allowed = h->online;
    if (set && sched_getaffinity(0, size, set) == 0) h->allowed = CPU_COUNT_S(size, set);
    CPU_FREE(set);
    h->quota = find_quota();
}

/* ---- caches ---------------------------------------------------------------------------------- */

/* The number of CPUs in a list such as "0-3,8". */
static int count_list(const char *list) {
    int n = 0;
    while (isdigit((unsigned char)*list)) {
        char *end;
        const long first = strtol(list, &end, 10);
        const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        n += (int)(last - first + 1);
        list = *end == ',' ? end + 1 : end;
    }
    return n;
}

static bool find_cache(int index, cache *c) {
    char path[96], line[256];
    const int stem =
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/", index);
    strcpy(path + stem, "level");
    if (!read_line(path, line, sizeof line)) return false;
    c->level = atoi(line);
    strcpy(path + stem, "type");
    read_line(path, line, sizeof line);
    snprintf(c->type, sizeof c->type, "%.15s", line);
    c->type[0] = (char)tolower((unsigned char)c->type[0]);
    strcpy(path + stem, "size");
    read_line(path, line, sizeof line);
    c->bytes = strtoll(line, NULL, 10) << (strchr(line, 'M') ? 20 : strchr(line, 'K') ? 10 : 0);
    strcpy(path + stem, "shared_cpu_list");
    read_line(path, line, sizeof line);
    c->shared = count_list(line);
    return c->bytes > 0;
}

/* sysconf knows less, but also where /sys is not mounted. */
static void ask_for_caches(hardware *h) {
    static const struct {
        int name, level;
        const char *type;
    } known[] = {{_SC_LEVEL1_DCACHE_SIZE, 1, "data"},
                 {_SC_LEVEL2_CACHE_SIZE, 2, "unified"},
                 {_SC_LEVEL3_CACHE_SIZE, 3, "unified"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        cache c = {.level = known[i].level, .bytes = sysconf(known[i].name)};
        snprintf(c.type, sizeof c.type, "%s", known[i].type);
        if (c.bytes > 0) h->caches[h->n_caches++] = c;
    }
}

static void find_caches(hardware *h) {
    while (h->n_caches < HARDWARE_CACHES && find_cache(h->n_caches, &h->caches[h->n_caches]))
        h->n_caches++;
    if (h->n_caches == 0) ask_for_caches(h);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int64_t meminfo(const char *key) {
    char value[64] = "";
    find_value("/proc/meminfo", key, value, sizeof value);
    return strtoll(value, NULL, 10) * 1024;
}

/* This process's cgroup: of the hierarchy that has the controller, or of the unified one. */
static bool find_cgroup(const char *controller, char *path, size_t size) {
    char line[PATH_MAX];
    bool found = false;
    FILE *f = fopen("/proc/self/cgroup", "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        char *name = strchr(line, ':'), *at = name ? strchr(name + 1, ':') : NULL;
        if (!at) continue;
        *at++ = '\0';
        found = strcmp(name + 1, controller) == 0;
        if (found) snprintf(path, size, "%.*s", (int)strcspn(at, "\n"), at);
    }
    if (f) fclose(f);
    return found;
}

/* The least limit of the cgroup and of those that it is in. */
static int64_t least_limit(const char *root, char *group, const char *name, int64_t most) {
    int64_t least = 0;
    for (;;) {
        char path[2 * PATH_MAX], line[64];
        snprintf(path, sizeof path, "%s%s/%s", root, group, name);
        const int64_t limit = read_line(path, line, sizeof line) ? strtoll(line, NULL, 10) : 0;
        if (limit > 0 && limit < most && (least == 0 || limit < least)) least = limit;
        char *slash = strrchr(group, '/');
        if (!slash) return least;
        *slash = '\0';
    }
}

static void find_memory(hardware *h) {
    char group[PATH_MAX], line[64];
    h->memory = meminfo("MemTotal");
    h->available = meminfo("MemAvailable");
    if (find_cgroup("memory", group, sizeof group))
        h->limit = least_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes", h->memory);
    else if (find_cgroup("", group, sizeof group))
        h->limit = least_limit("/sys/fs/cgroup", group, "memory.max", h->memory);
    h->huge_page = meminfo("Hugepagesize");
    read_line("/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof line);
    const char *chosen = strchr(line, '[');
    if (chosen)
        snprintf(h->huge_pages, sizeof h->huge_pages, "%.*s", (int)strcspn(chosen + 1, "]"),
                 chosen + 1);
}

int64_t hardware_memory(void) {
    hardware h = {.memory = 0};
    find_memory(&h);
    return h.limit > 0 && h.limit < h.memory ? h.limit : h.memory;
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

static int count_nvidia_devices(void) {
    int n = 0;
    DIR *bus = opendir("/sys/bus/pci/devices");
    for (const struct dirent *d; bus && (d = readdir(bus));) {
        char path[PATH_MAX], vendor[16], class[16];
        snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/vendor", d->d_name);
        read_line(path, vendor, sizeof vendor);
        snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/class", d->d_name);
        read_line(path, class, sizeof class);
        n += strcmp(vendor, "0x10de") == 0 && strncmp(class, "0x03", 4) == 0;
    }
    if (bus) closedir(bus);
    return n;
}

static void find_gpus(hardware *h) {
    h->nvidia_devices = count_nvidia_devices();
    h->nvidia_driver = access("/proc/driver/nvidia/version", F_OK) == 0;
    h->nvidia_node = access("/dev/nvidiactl", F_OK) == 0 || access("/dev/nvhost-gpu", F_OK) == 0;
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    h->nvidia_library = library != NULL;
    if (library) dlclose(library);
}

void hardware_find(hardware *h) {
    *h = (hardware){.online = 0};
    find_model(h);
    find_flags(h);
    find_cores(h);
    find_caches(h);
    find_memory(h);
    find_gpus(h);
}
