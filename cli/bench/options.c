/* The command line of bench, and what it measures by default. */
#include "bench/bench.h"

#include "runtime/options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

/* Memory that could be had without swapping. */
static size_t available_memory(void) {
    unsigned long long kib = 0;
    char line[256];
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1) break;
    if (file) fclose(file);
    return (size_t)kib << 10;
}

/* 1 MiB lies in a cache and 1 GiB does not. Every peer holds a copy of the data. */
static void default_sizes(bench_options *o) {
    size_t large = o->quick ? (size_t)64 << 20 : (size_t)1 << 30;
    while (large > (size_t)4 << 20 && available_memory() / 2 < large * (size_t)(o->n_peers + 1))
        large /= 2;
    o->sizes[0] = (size_t)1 << 18;
    o->sizes[1] = (size_t)1 << 20;
    o->sizes[2] = large;
    o->n_sizes = 3;
    o->usual_sizes = true;
}

/* "64KiB", cut to whole cache lines; 0 if it is no size. */
static size_t parse_size(const char *text, char **end) {
    static const char *const units[] = {"KiB", "MiB", "GiB"};
    unsigned long long n = strtoull(text, end, 10);
    int shift = 0;
    for (int i = 0; i < 3 && *end != text && shift == 0; i++)
        if (strncmp(*end, units[i], 3) == 0) {
            shift = 10 * (i + 1);
            *end += 3;
        }
    return n <= (1ULL << 40) >> shift ? (size_t)(n << shift) & ~(size_t)63 : 0;
}

static bool parse_sizes(bench_options *o, const char *text) {
    for (o->n_sizes = 0; o->n_sizes < BENCH_LIST;) {
        char *end;
        size_t size = parse_size(text, &end);
        if (size == 0) return false;
        o->sizes[o->n_sizes++] = size;
        if (*end != ',') return *end == '\0';
        text = end + 1;
    }
    return false;
}

/* From what the start of a kernel takes to what the memory does. */
static void default_gpu_sizes(bench_options *o) {
    static const char *const usual[] = {"4KiB,64KiB,256KiB,1MiB,4MiB,16MiB,64MiB,256MiB,1GiB,4GiB",
                                        "4KiB,64KiB,1MiB,16MiB,256MiB"};
    parse_sizes(o, usual[o->quick]);
    o->usual_sizes = true;
}

static void default_threads(bench_options *o) {
    int usable = bf_usable_threads();
    o->threads[0] = 1;
    o->threads[1] = usable;
    o->n_threads = usable > 1 ? 2 : 1;
}

static bool parse_threads(bench_options *o, const char *text) {
    for (o->n_threads = 0; o->n_threads < BENCH_LIST;) {
        char *end;
        long threads = strtol(text, &end, 10);
        if (end == text || threads < 1 || threads > 1024) return false;
        o->threads[o->n_threads++] = (int)threads;
        if (*end != ',') return *end == '\0';
        text = end + 1;
    }
    return false;
}

enum {
    OPT_SIZES = 256,
    OPT_DEVICE,
    OPT_ISA,
    OPT_PEER,
    OPT_QUICK,
    OPT_COMPARE,
    OPT_FAIL_ABOVE,
    OPT_JSON
};

static const usage bench_usage = {
    "[OPTIONS] [WORK...]",
    "Measures every operation (or the WORKs named: sum, dot, min, ..., julia, table, group)\n"
    "beside plain loops that add in any order, a mere read of the memory, and peers; pictures,\n"
    "tables and groups by their pixels, keys and rows, beside peers alone. On a GPU: data in its\n"
    "memory, calls enqueued on a stream, beside peers that do the same. With --compare, also the\n"
    "change against an earlier run: in its ratio to the memory's speed, which is steadier than\n"
    "GB/s.",
    0,
    "bitfold bench --quick --sizes 1MiB -j 1 --json sum >old.json\n"
    "bitfold bench --quick --sizes 1MiB -j 1 --compare old.json --fail-above 5% sum"};

static const option_spec specs[] = {
    {OPT_DEVICE, "device", "cpu|cuda|cuda:N", "what is measured (cpu)", 0},
    {OPT_SIZES, "sizes", "LIST", "bytes to read, as in 64KiB,1GiB (1MiB,1GiB if memory allows)", 0},
    {'j', "threads", "LIST", "thread counts, on the CPU (1 and all)", 0},
    {OPT_ISA, "isa", "auto|generic|avx2|avx512|neon", "host instruction set", 0},
    {OPT_PEER, "peer", "COMMAND", "a program that does the same work in another way; repeatable",
     0},
    {OPT_QUICK, "quick", NULL, "smaller and fewer samples, for a first impression", 0},
    {OPT_COMPARE, "compare", "FILE", "show the change since FILE, which --json wrote", 0},
    {OPT_FAIL_ABOVE, "fail-above", "PERCENT", "exit code 5 if anything became slower by more", 0},
    {OPT_JSON, "json", NULL, "one object a line", 0},
    {'h', "help", NULL, "show this", 0},
};
enum { SPECS = sizeof specs / sizeof *specs };

static int refuse(const char *what, const char *value) {
    fail(EXIT_USAGE, NULL, "%s: '%s'", what, value);
    hint("see 'bitfold help bench'");
    return EXIT_USAGE;
}

/* "5%" or "5". */
static bool parse_percent(bench_options *o, const char *text) {
    char *end;
    const double percent = strtod(text, &end);
    if (end == text || !(percent >= 0 && percent <= 100)) return false;
    o->fail_above = percent / 100;
    return strcmp(end, "%") == 0 || *end == '\0';
}

static int add_peer(bench_options *o, char *command) {
    if (o->n_peers == BENCH_PEERS) return refuse("one peer too many", command);
    o->peers[o->n_peers++].command = command;
    return EXIT_DONE;
}

static int set_device(bench_options *o, char *name) {
    int *device = &o->gpu.number;
    o->device = name;
    bool one = bf_device_parse(name, device) == BF_OK && *device >= BF_DEVICE_CPU;
    return one ? EXIT_DONE : refuse("not a device that can be measured", name);
}

static int set_option(bench_options *o, int option, char *value) {
    bool good = true;
    switch (option) {
    case OPT_JSON: o->json = true; break;
    case OPT_QUICK: o->quick = true; break;
    case OPT_ISA: o->isa = value; break;
    case OPT_DEVICE: return set_device(o, value);
    case OPT_COMPARE: o->compare = value; break;
    case OPT_PEER: return add_peer(o, value);
    case OPT_SIZES: good = parse_sizes(o, value); break;
    case OPT_FAIL_ABOVE: good = parse_percent(o, value); break;
    default: good = parse_threads(o, value); break;
    }
    if (good) return EXIT_DONE;
    if (option == OPT_FAIL_ABOVE) return refuse("not a percentage", value);
    return refuse(option == OPT_SIZES ? "not a list of sizes" : "not a list of thread counts",
                  value);
}

static int unknown_option(const char *option) {
    fail(EXIT_USAGE, NULL, "unknown option: '%s'", option);
    options_guess(option, &bench_usage, specs, SPECS, "see 'bitfold help bench'");
    return EXIT_USAGE;
}

/* Of these only peers may be several. */
static bool is_lost(const char *given[SPECS], int option, const char *value) {
    int i = 0;
    while (specs[i].id != option) i++;
    return value && option != OPT_PEER && options_again(&given[i], &specs[i], value);
}

static int read_options(bench_options *o, int argc, char **argv) {
    struct option known[SPECS + 1] = {0};
    const char *given[SPECS] = {NULL};
    for (int i = 0; i < SPECS; i++)
        known[i] = (struct option){specs[i].name, specs[i].operand != NULL, NULL, specs[i].id};
    opterr = 0;
    optind = 0;
    int option;
    while ((option = getopt_long(argc, argv, ":hj:", known, NULL)) != -1) {
        if (option == 'h') {
            options_show(argv[0], &bench_usage, specs, SPECS);
            o->help = true;
            return EXIT_DONE;
        }
        if (option == '?') return unknown_option(argv[optind - 1]);
        if (option == ':') return refuse("option needs a value", argv[optind - 1]);
        if (is_lost(given, option, optarg)) return EXIT_USAGE;
        int code = set_option(o, option, optarg);
        if (code != EXIT_DONE) return code;
    }
    o->works = argv + optind;
    return EXIT_DONE;
}

int bench_parse(bench_options *o, int argc, char **argv) {
    o->fail_above = -1;
    o->gpu.number = BF_DEVICE_CPU;
    const int code = read_options(o, argc, argv);
    if (code != EXIT_DONE || o->help) return code;
    if (o->fail_above >= 0 && !o->compare) return refuse("--fail-above needs", "--compare FILE");
    if (o->n_sizes == 0 && o->gpu.number == BF_DEVICE_CPU) default_sizes(o);
    if (o->n_sizes == 0) default_gpu_sizes(o);
    if (o->n_threads == 0) default_threads(o);
    return EXIT_DONE;
}
