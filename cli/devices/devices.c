/* devices: the CPU, memory and GPUs of this machine, and which of them are used. */
#include "command.h"
#include "devices/gpu.h"
#include "memory/hardware.h"
#include "options/options.h"
#include "runtime/json.h"
#include "runtime/progress.h"

#include <bitfold/comm.h>
#include <string.h>

static const usage devices_usage = {
    "[OPTIONS]",
    "Shows the processor, how many threads may be used and why, caches, instruction sets, memory "
    "and GPUs. If no GPU can be used, shows why and what would help.",
    TAKES_JSON,
    "json help",
    "bitfold devices\nbitfold devices --json",
    NULL};

/* ---- instruction sets ------------------------------------------------------------------------ */

/* The CPU's flags that an instruction set needs, as /proc/cpuinfo names them. */
static const struct {
    const char *name, *flags;
} needed[] = {{"avx2", "avx2 bmi2 fma f16c"},
              {"avx512", "avx512f avx512bw avx512dq avx512vl fma f16c"}};

static bool has_flag(const hardware *h, const char *flag, size_t length) {
    char word[32];
    snprintf(word, sizeof word, " %.*s ", (int)length, flag);
    return strstr(h->flags, word) != NULL;
}

/* Writes why this machine cannot run an instruction set. */
static void why_not(const hardware *h, const char *isa, char *why, size_t size) {
    const char *flags = "";
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (strcmp(needed[i].name, isa) == 0) flags = needed[i].flags;
    size_t used = 0;
    for (const char *at = flags; *at; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        if (!has_flag(h, at, n) && used < size)
            used += (size_t)snprintf(why + used, size - used, "%s%.*s",
                                     used ? ", " : "this processor lacks ", (int)n, at);
        at += n;
    }
    if (used == 0) snprintf(why, size, "this system does not let it be used");
}

/* Returns the fastest instruction set available, which "auto" chooses. */
static const char *chosen_isa(void) {
    const char *name = "generic";
    for (int i = 0; bf_isa_name(i); i++)
        if (bf_isa_available(i)) name = bf_isa_name(i);
    return name;
}

/* ---- no GPU ---------------------------------------------------------------------------------- */

static const char *gpu_reason(const hardware *h) {
    if (h->nvidia_devices == 0 && !h->nvidia_node) return "no NVIDIA device is on the PCI bus";
    if (!h->nvidia_driver) return "an NVIDIA device is there, but its kernel driver is not loaded";
    if (!h->nvidia_node) return "the driver is loaded, but /dev/nvidiactl is not here";
    if (!h->nvidia_library) return "the driver is loaded, but libcuda.so.1 is not found";
    return "a device and its driver are there";
}

static const char *gpu_help(const hardware *h) {
    if (h->nvidia_devices == 0 && !h->nvidia_node)
        return "a GPU; in a virtual machine or container, one passed through to it";
    if (!h->nvidia_driver) return "installing the NVIDIA driver, and 'nvidia-smi' to see it work";
    if (!h->nvidia_node) return "giving the container its devices (docker run --gpus all)";
    if (!h->nvidia_library) return "the driver's user part (libcuda1, or docker run --gpus all)";
    return bf_runtime_version() > 0 ? "what 'nvidia-smi' says" : "a build of bitfold with CUDA";
}

/* ---- as text --------------------------------------------------------------------------------- */

static const char *threads_limit(const hardware *h) {
    const int usable = bf_usable_threads();
    if (h->quota > 0 && usable < h->allowed) return "the cgroup's quota";
    return h->allowed < h->online ? "the affinity mask" : "the cores online";
}

static void show_threads(const hardware *h) {
    printf("threads   %d, limited by %s\n", bf_usable_threads(), threads_limit(h));
    printf("          %d cores online, %d in the affinity mask, ", h->online, h->allowed);
    if (h->quota > 0)
        printf("cgroup quota %.4g CPUs\n", h->quota);
    else
        printf("no cgroup quota\n");
}

static void show_isas(const hardware *h) {
    for (int i = 0; bf_isa_name(i); i++) {
        const char *name = bf_isa_name(i);
        char why[256] = "available";
        if (!bf_isa_available(i)) why_not(h, name, why, sizeof why);
        if (strcmp(name, chosen_isa()) == 0) strcpy(why, "chosen: the fastest available");
        printf("%-9s %-8s %s\n", i == 0 ? "isa" : "", name, why);
    }
}

static void show_caches(const hardware *h) {
    for (int i = 0; i < h->n_caches; i++) {
        const cache *c = &h->caches[i];
        printf("%-9s L%d %-11s ", i == 0 ? "caches" : "", c->level, c->type);
        devices_put_size((double)c->bytes);
        if (c->shared > 1) printf(", shared by %d cores", c->shared);
        printf("\n");
    }
}

static void show_memory(const hardware *h) {
    printf("memory    ");
    devices_put_size((double)h->memory);
    printf(", ");
    devices_put_size((double)h->available);
    printf(" of it available; ");
    if (h->limit > 0) {
        printf("cgroup limit ");
        devices_put_size((double)h->limit);
    } else {
        printf("no cgroup limit");
    }
    printf("\n          huge pages: ");
    if (h->huge_page > 0) devices_put_size((double)h->huge_page);
    printf("%s%s\n", h->huge_page > 0 ? ", transparent ones: " : "transparent ones: ",
           *h->huge_pages ? h->huge_pages : "unknown");
}

/* ---- MPI ------------------------------------------------------------------------------------- */

#ifndef BITFOLD_MPIS
#define BITFOLD_MPIS ""
#endif

/* Whether this build has bitfold-mpi for an MPI: names have a space behind each. */
static bool has_mpi(const char *name) { return strstr(BITFOLD_MPIS, name) != NULL; }

static void show_mpis(void) {
    printf("mpi       openmpi  %s\n          mpich    %s\n",
           has_mpi("openmpi ") ? "bitfold-mpi.openmpi" : "not in this build: no mpicc.openmpi",
           has_mpi("mpich ") ? "bitfold-mpi.mpich" : "not in this build: no mpicc.mpich");
}

static void show_devices(const hardware *h) {
    printf("cpu       %s\n", h->model);
    show_threads(h);
    show_isas(h);
    show_caches(h);
    show_memory(h);
    if (bf_device_count() > 0)
        devices_show_gpus();
    else
        printf("gpu       none: %s\n          %s\n          what would help: %s\n",
               bf_device_reason(), gpu_reason(h), gpu_help(h));
    show_mpis();
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static void show_json_cpu(const hardware *h) {
    json_text(stdout, "model", h->model);
    printf(",\"threads\":%d,\"limited_by\":\"%s\",\"cores_online\":%d,\"cores_allowed\":%d,"
           "\"cgroup_cpus\":",
           bf_usable_threads(), threads_limit(h), h->online, h->allowed);
    printf(h->quota > 0 ? "%.4g" : "null", h->quota);
    printf(",\"isa\":\"%s\",\"isas\":[", chosen_isa());
    for (int i = 0; bf_isa_name(i); i++) {
        char why[256] = "";
        if (!bf_isa_available(i)) why_not(h, bf_isa_name(i), why, sizeof why);
        printf("%s{\"name\":\"%s\",\"available\":%s,\"why_not\":\"%s\"}", i ? "," : "",
               bf_isa_name(i), bf_isa_available(i) ? "true" : "false", why);
    }
    printf("],\"caches\":[");
    for (int i = 0; i < h->n_caches; i++)
        printf("%s{\"level\":%d,\"type\":\"%s\",\"bytes\":%lld,\"shared_by\":%d}", i ? "," : "",
               h->caches[i].level, h->caches[i].type, (long long)h->caches[i].bytes,
               h->caches[i].shared);
    printf("]");
}

static void show_json(const hardware *h, double began) {
    json_begin(stdout, "devices", NULL);
    json_text(stdout, "device", "cpu");
    show_json_cpu(h);
    printf(",\"memory\":%lld,\"memory_available\":%lld,\"memory_limit\":", (long long)h->memory,
           (long long)h->available);
    printf(h->limit > 0 ? "%lld" : "null", (long long)h->limit);
    printf(",\"huge_page\":%lld,\"huge_pages\":\"%s\"", (long long)h->huge_page, h->huge_pages);
    const bool gpu = bf_device_count() > 0;
    printf(",\"gpus\":");
    devices_show_gpus_json();
    printf(",\"mpis\":[%s%s%s]", has_mpi("openmpi ") ? "\"openmpi\"" : "",
           has_mpi("openmpi ") && has_mpi("mpich ") ? "," : "",
           has_mpi("mpich ") ? "\"mpich\"" : "");
    json_text(stdout, "gpu_build", bf_device_reason());
    printf(",\"gpu_why_not\":\"%s\",\"gpu_help\":\"%s\",\"nvidia_devices\":%d,"
           "\"driver_version\":%d,\"runtime_version\":%d,\"nccl_version\":%d,\"seconds\":%.6f}\n",
           gpu ? "" : gpu_reason(h), gpu ? "" : gpu_help(h), h->nvidia_devices, bf_driver_version(),
           bf_runtime_version(), gpu ? bf_comm_nccl_version() : 0, progress_clock() - began);
}

int cmd_devices(int argc, char **argv) {
    options o;
    int code;
    if (!options_parse(&o, argc, argv, &devices_usage, &code)) return code;
    if (o.file_count > 0) return fail(EXIT_USAGE, NULL, "no operand is taken: '%s'", o.files[0]);
    const double began = progress_clock();
    hardware h;
    hardware_find(&h);
    if (o.layout == LAYOUT_JSON)
        show_json(&h, began);
    else
        show_devices(&h);
    return EXIT_DONE;
}
