/* The command line of bench, and its defaults. */
#include "bench/bench.h"

#include "memory/hardware.h"
#include "options/operand.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Chooses 1 MiB, which lies in a cache, and 1 GiB if memory allows. Every peer holds a copy of the
 * data. */
static void default_sizes(bench_options *o) {
    size_t large = o->quick ? (size_t)64 << 20 : (size_t)1 << 30;
    hardware h;
    hardware_find(&h);
    while (large > (size_t)4 << 20 && (size_t)h.available / 2 < large * (size_t)(o->n_peers + 1))
        large /= 2;
    o->sizes[0] = (size_t)1 << 18;
    o->sizes[1] = (size_t)1 << 20;
    o->sizes[2] = large;
    o->n_sizes = 3;
    o->usual_sizes = true;
}

/* Reads a size as in "64KiB", and rounds it down to whole cache lines. Returns 0 if it is no size.
 */
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

/* Reads a list with commas between, of which `one` reads item i. Returns how many there are; 0 if
 * it is no list. */
static int parse_list(bench_options *o, const char *text,
                      bool (*one)(bench_options *o, int i, const char *text, char **end)) {
    char *end;
    for (int n = 0; n < BENCH_LIST && one(o, n, text, &end); text = end + 1) {
        n++;
        if (*end != ',') return *end == '\0' ? n : 0;
    }
    return 0;
}

static bool one_size(bench_options *o, int i, const char *text, char **end) {
    o->sizes[i] = parse_size(text, end);
    return o->sizes[i] > 0;
}

static bool one_count(bench_options *o, int i, const char *text, char **end) {
    const long threads = strtol(text, end, 10);
    o->threads[i] = (int)threads;
    return *end != text && threads >= 1 && threads <= 1024;
}

/* Chooses sizes from one that takes as long as a launch to one that is limited by memory. */
static void default_gpu_sizes(bench_options *o) {
    static const char *const usual[] = {"4KiB,64KiB,256KiB,1MiB,4MiB,16MiB,64MiB,256MiB,1GiB,4GiB",
                                        "4KiB,64KiB,1MiB,16MiB,256MiB"};
    o->n_sizes = parse_list(o, usual[o->quick], one_size);
    o->usual_sizes = true;
}

static void default_threads(bench_options *o) {
    int usable = bf_usable_threads();
    o->threads[0] = 1;
    o->threads[1] = usable;
    o->n_threads = usable > 1 ? 2 : 1;
}

static bool refuse_option(const char *what, const char *value) {
    fail(EXIT_USAGE, NULL, "%s: '%s'", what, value);
    hint("see 'bitfold help bench'");
    return false;
}

/* ---- readers of operands, into the whole struct ---------------------------------------------- */

static bool read_sizes(const option_spec *spec, const char *text, void *to) {
    bench_options *o = to;
    (void)spec;
    o->n_sizes = parse_list(o, text, one_size);
    return o->n_sizes > 0 || refuse_option("not a list of sizes", text);
}

static bool read_thread_list(const option_spec *spec, const char *text, void *to) {
    bench_options *o = to;
    (void)spec;
    o->n_threads = parse_list(o, text, one_count);
    return o->n_threads > 0 || refuse_option("not a list of thread counts", text);
}

/* Reads "5%" or "5". */
static bool read_percent(const option_spec *spec, const char *text, void *to) {
    bench_options *o = to;
    char *end;
    const double percent = strtod(text, &end);
    (void)spec;
    if (end == text || !(percent >= 0 && percent <= 100) || (strcmp(end, "%") != 0 && *end))
        return refuse_option("not a percentage", text);
    o->fail_above = percent / 100;
    return true;
}

static bool read_peer(const option_spec *spec, const char *text, void *to) {
    bench_options *o = to;
    (void)spec;
    if (o->n_peers == BENCH_PEERS) return refuse_option("one peer too many", text);
    o->peers[o->n_peers++].command = text;
    return true;
}

static bool read_device(const option_spec *spec, const char *text, void *to) {
    bench_options *o = to;
    (void)spec;
    int *number = &o->gpu.number;
    o->device = text;
    return (bf_device_parse(text, number) == BF_OK && *number >= BF_DEVICE_CPU) ||
           refuse_option("not a device that can be measured", text);
}

/* ---- the options ----------------------------------------------------------------------------- */

#define AT(member) offsetof(bench_options, member)

static const option_spec specs[] = {
    {"compare", 0, IN_INPUT, "FILE", "show the change since FILE, which --json wrote", 0,
     .read = read_text, .at = AT(compare), .file = FILE_READ},
    {"sizes", 0, IN_RUNNING, "LIST",
     "the bytes to read, as in 64KiB,1GiB (1MiB,1GiB if memory allows)", 0, .read = read_sizes},
    {"threads", 'j', IN_RUNNING, "LIST", "the thread counts, on the CPU (1 and all)", 0,
     .read = read_thread_list},
    {"device", 0, IN_RUNNING, "cpu|cuda|cuda:N", "the device to measure (cpu)", 0,
     .read = read_device},
    {"isa", 0, IN_RUNNING, "auto|all|generic|vector|avx2|avx512",
     "the CPU's instruction set (auto: the fastest; all: each that it has)", 0, .read = read_text,
     .at = AT(isa)},
    {"peer", 0, IN_RUNNING, "COMMAND",
     "a program that does the same work in another way; repeatable", 0, .read = read_peer,
     .repeats = true},
    {"quick", 0, IN_RUNNING, NULL, "smaller and fewer samples, for a first impression", 0,
     .read = read_flag, .at = AT(quick)},
    {"small", 0, IN_RUNNING, NULL, "time calls on few f64, in ns, on one thread", 0,
     .read = read_flag, .at = AT(small)},
    {"fail-above", 0, IN_OUTPUT, "PERCENT", "exit with 5 if anything became slower by more", 0,
     .read = read_percent},
    {"why", 0, IN_OUTPUT, NULL, "show the strategy that fitted the work, if it has several", 0,
     .read = read_flag, .at = AT(why)},
    {"json", 0, IN_OUTPUT, NULL, "show JSON, one object on each line", 0, .read = read_flag,
     .at = AT(json)},
};
static const option_table own = OPTION_TABLE(specs);

static const usage bench_usage = {
    "[OPTIONS] [WORK...]",
    "Measures every operation, or the WORKs named (sum, dot, min, ..., expression, julia, table, "
    "group, axis, order, scan, rolling), beside plain loops that add in any order, a mere read of "
    "the memory, and "
    "peers. --compare also shows the change since an earlier run, as the change of the ratio to "
    "the memory's speed, which is steadier than GB/s.\n\n"
    "Expressions are summed, or written (c=...), and are also beside dot. Pictures, tables, "
    "groups, axes, order, scans and windows are measured in pixels, keys, rows and elements, "
    "beside "
    "peers alone. On a GPU "
    "the data are in its memory and calls are enqueued on a stream; peers do the same.",
    TAKES_HELP,
    "sizes threads device isa peer small quick compare fail-above json help",
    "bitfold bench --quick --sizes 1MiB -j 1 --json sum >old.json\n"
    "bitfold bench --quick --sizes 1MiB -j 1 --compare old.json --fail-above 5% sum",
    &own};

/* --small chooses what these options choose. */
static bool is_small_alone(const bench_options *o) {
    const bool alone = o->n_sizes == 0 && o->n_threads == 0 && o->n_peers == 0 && !o->compare;
    if (alone && !bench_is_gpu(o)) return true;
    fail(EXIT_USAGE, NULL, "--small has sizes of its own, one thread of the CPU, and no peers");
    hint("leave out --sizes, --threads, --peer, --compare and --device");
    return false;
}

static bool take_defaults(bench_options *o) {
    if (o->fail_above >= 0 && !o->compare)
        return refuse_option("--fail-above needs", "--compare FILE");
    if (o->small && !is_small_alone(o)) return false;
    if (o->small) o->threads[0] = o->n_threads = 1;
    if (o->n_sizes == 0 && o->gpu.number == BF_DEVICE_CPU) default_sizes(o);
    if (o->n_sizes == 0) default_gpu_sizes(o);
    if (o->n_threads == 0) default_threads(o);
    return true;
}

bool bench_parse(bench_options *o, int argc, char **argv, int *code) {
    options given;
    o->fail_above = -1;
    o->gpu.number = BF_DEVICE_CPU;
    if (!options_parse_into(&given, o, argc, argv, &bench_usage, code)) return false;
    o->works = given.files;
    if (take_defaults(o)) return true;
    *code = EXIT_USAGE;
    return false;
}
