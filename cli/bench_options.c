/* The command line of bench, and what it measures by default. */
#include "bench.h"

#include "report.h"

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
static void default_sizes(bench_options *options) {
    size_t large = options->quick ? (size_t)64 << 20 : (size_t)1 << 30;
    while (large > (size_t)4 << 20 &&
           available_memory() / 2 < large * (size_t)(options->n_peers + 1))
        large /= 2;
    options->sizes[0] = (size_t)1 << 20;
    options->sizes[1] = large;
    options->n_sizes = 2;
}

static void default_threads(bench_options *options) {
    int usable = bf_usable_threads();
    options->threads[0] = 1;
    options->threads[1] = usable;
    options->n_threads = usable > 1 ? 2 : 1;
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

static bool parse_sizes(bench_options *options, const char *text) {
    for (options->n_sizes = 0; options->n_sizes < BENCH_LIST;) {
        char *end;
        size_t size = parse_size(text, &end);
        if (size == 0) return false;
        options->sizes[options->n_sizes++] = size;
        if (*end != ',') return *end == '\0';
        text = end + 1;
    }
    return false;
}

static bool parse_threads(bench_options *options, const char *text) {
    for (options->n_threads = 0; options->n_threads < BENCH_LIST;) {
        char *end;
        long threads = strtol(text, &end, 10);
        if (end == text || threads < 1 || threads > 1024) return false;
        options->threads[options->n_threads++] = (int)threads;
        if (*end != ',') return *end == '\0';
        text = end + 1;
    }
    return false;
}

static const char help[] =
    "bitfold bench [OPTIONS] [WORK...]\n"
    "\n"
    "Measures every operation (or the WORKs named: sum, dot, min, ...) beside plain loops that "
    "add\n"
    "in any order, beside a mere read of the memory, and beside peers.\n"
    "\n"
    "  --sizes LIST        bytes to read, as in 64KiB,1GiB (default: 1MiB,1GiB if memory allows)\n"
    "  -j, --threads LIST  thread counts (default: 1 and all)\n"
    "  --isa NAME          auto, generic, avx2, avx512 or neon\n"
    "  --peer COMMAND      a program that does the same work in another way; repeatable\n"
    "  --quick             smaller and fewer samples, for a first impression\n"
    "  --json              one object a line\n"
    "  -h, --help          show this\n";

static int refuse(const char *what, const char *value) {
    fail(EXIT_USAGE, NULL, "%s: '%s'", what, value);
    hint("see 'bitfold help bench'");
    return EXIT_USAGE;
}

static int set_option(bench_options *options, int option, char *value) {
    switch (option) {
    case 'J': options->json = true; return EXIT_DONE;
    case 'Q': options->quick = true; return EXIT_DONE;
    case 'I': options->isa = value; return EXIT_DONE;
    case 'S': return parse_sizes(options, value) ? EXIT_DONE : refuse("not a list of sizes", value);
    case 'j':
        return parse_threads(options, value) ? EXIT_DONE
                                             : refuse("not a list of thread counts", value);
    default:
        if (options->n_peers == BENCH_PEERS) return refuse("one peer too many", value);
        options->peers[options->n_peers++].command = value;
        return EXIT_DONE;
    }
}

int bench_parse(bench_options *options, int argc, char **argv) {
    static const struct option known[] = {
        {"json", no_argument, NULL, 'J'},        {"quick", no_argument, NULL, 'Q'},
        {"sizes", required_argument, NULL, 'S'}, {"threads", required_argument, NULL, 'j'},
        {"isa", required_argument, NULL, 'I'},   {"peer", required_argument, NULL, 'P'},
        {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0},
    };
    int option;
    while ((option = getopt_long(argc, argv, ":hj:", known, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            options->help = true;
            return EXIT_DONE;
        }
        if (option == '?') return refuse("unknown option", argv[optind - 1]);
        if (option == ':') return refuse("option needs a value", argv[optind - 1]);
        int code = set_option(options, option, optarg);
        if (code != EXIT_DONE) return code;
    }
    options->works = argv + optind;
    if (options->n_sizes == 0) default_sizes(options);
    if (options->n_threads == 0) default_threads(options);
    return EXIT_DONE;
}
