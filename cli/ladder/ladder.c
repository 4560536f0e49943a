/* ladder: reads options, chooses the device, and prints rungs as a table or as JSON. The rungs
 * themselves are in ladder/. */

#include "ladder/ladder.h"
#include "command.h"
#include "options/operand.h"
#include "runtime/json.h"
#include "sheet/output.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    ladder_options ladder;
    const char *topic, *asked; /* the topic, and the operand of --device */
    char device[BF_DEVICE_TEXT];
    bool json;
} request;

/* Data that the printer keeps between rows. */
typedef struct printer {
    const request *request;
    int failures;
    int code; /* the exit code of writing */
} printer;

/* ---- options --------------------------------------------------------------------------------- */

static int refuse_option(const char *what, const char *value) {
    fail(EXIT_USAGE, NULL, "%s: '%s'", what, value);
    hint("see 'bitfold help ladder'");
    return EXIT_USAGE;
}

static bool parse_size(const char *text, int64_t *size) {
    static const char *const units[] = {"", "Ki", "Mi", "Gi"};
    char *end;
    if (*text < '0' || *text > '9') return false;
    const unsigned long long n = strtoull(text, &end, 10);
    for (int i = 0; i < 4; i++) {
        if (strcmp(end, units[i]) != 0) continue;
        *size = (int64_t)(n << 10 * i);
        return n > 0 && n <= (1ULL << 36) >> 10 * i;
    }
    return false;
}

static bool read_elements(const option_spec *spec, const char *text, void *to) {
    (void)spec;
    return parse_size(text, to) || refuse_option("not a size", text) == EXIT_DONE;
}

#define AT(member) offsetof(request, member)

static const option_spec specs[] = {
    {"size", 0, IN_RUNNING, "N", "the number of elements, as in 10000000 or 64Ki (several sizes)",
     0, .read = read_elements, .at = AT(ladder.size)},
    {"device", 0, IN_RUNNING, "auto|cpu|cuda|cuda:N",
     "the device that runs the rungs (auto: a GPU if there is one)", 0, .read = read_text,
     .at = AT(asked)},
    {"quick", 0, IN_RUNNING, NULL, "smaller and fewer samples, for a first impression", 0,
     .read = read_flag, .at = AT(ladder.quick)},
    {"json", 0, IN_OUTPUT, NULL, "show JSON, one object on each line", 0, .read = read_flag,
     .at = AT(json)},
};
static const option_table own = OPTION_TABLE(specs);

static const usage ladder_usage = {
    "reduce|scan|add|dot|constant|atomics|histogram|julia|table",
    "Runs the classic teaching kernels beside bitfold's own, one technique a rung, and shows what "
    "each step gains. Without a GPU, the CPU's counterparts run. Without an operand, lists the "
    "ladders.\n\n"
    "For each rung it shows the time of a call, the share of the limit (the speed of reading as "
    "many bytes, measured in the same run), how many times as fast as the first rung it is, and a "
    "check of its result: integers modulo 2^32, floats to 6 digits, tables key by key, bitfold's "
    "own to the last bit.",
    TAKES_HELP,
    "size device quick json help",
    "bitfold ladder\nbitfold ladder reduce --quick --device cpu",
    &own};

static bool is_topic(const char *name) {
    const char *summary, *known;
    for (int i = 0; (known = ladder_topic(i, &summary)); i++)
        if (strcmp(known, name) == 0) return true;
    return false;
}

/* Reads the topic, if there is one. */
static int read_topic(request *r, const options *o) {
    if (o->file_count > 1) return refuse_option("one ladder at a time", o->files[1]);
    r->topic = o->files[0];
    return !r->topic || is_topic(r->topic) ? EXIT_DONE : refuse_option("no such ladder", r->topic);
}

/* ---- where ----------------------------------------------------------------------------------- */

static int no_gpu(const request *r) {
    const char *reason = bf_device_reason();
    if (*reason == '\0') reason = "there is no such GPU";
    fail(EXIT_DEVICE, NULL, "cannot use --device %s: %s", r->asked, reason);
    hint("--device cpu runs the CPU's rungs");
    return EXIT_DEVICE;
}

static void use_cpu(request *r) {
    r->ladder.machine = &ladder_cpu;
    r->ladder.device = BF_DEVICE_CPU;
    bf_device_format(BF_DEVICE_CPU, r->device);
}

static int use_gpu(request *r, int number) {
    if (number >= bf_device_count()) return no_gpu(r);
#ifdef BITFOLD_CUDA
    r->ladder.machine = &ladder_gpu;
#endif
    r->ladder.device = number;
    bf_device_format(number, r->device);
    return EXIT_DONE;
}

static int find_device(request *r) {
    int device;
    const bf_status status = bf_device_parse(r->asked, &device);
    if (status == BF_E_DEVICE) return no_gpu(r);
    if (status != BF_OK || device == BF_DEVICE_ALL)
        return refuse_option("unknown device", r->asked);
    if (device == BF_DEVICE_CPU) return use_cpu(r), EXIT_DONE;
    if (device >= 0) return use_gpu(r, device);
    if (bf_device_count() > 0) return use_gpu(r, 0);
    inform(NULL, "no GPU, so these are the CPU's rungs: %s", bf_device_reason());
    return use_cpu(r), EXIT_DONE;
}

/* ---- what is printed ------------------------------------------------------------------------- */

static void print_head(const request *r) {
    bf_device_info gpu = {.size = sizeof gpu};
    if (r->ladder.device == BF_DEVICE_CPU)
        printf("The CPU's rungs, on %d %s. Times are medians of a call.\n", bf_usable_threads(),
               bf_usable_threads() == 1 ? "thread" : "threads");
    else if (bf_device_describe(r->ladder.device, &gpu) == BF_OK)
        printf("%s: %s. Times are medians of a call in a stream, by CUDA events.\n", r->device,
               gpu.name);
    puts("The limit is the speed of reading as many bytes, and nothing else, measured in the same "
         "way. It is\nmeasured, not a bound: calls of some microseconds, and data in a cache, can "
         "be "
         "above 100%.\nThe same memory is used again and again: what fits a cache stays in it.");
}

static void print_title(const ladder_row *row) {
    printf("\n%s: %s", row->topic, row->work);
    if (row->n > 1) printf(", %" PRId64 " elements (%s)", row->n, row->dtype);
    if (row->limit > 0) printf("; limit %.1f GB/s", row->limit * 1e-9);
    printf("\n%-15s %-62s %10s %8s %6s %8s  %s\n", "rung", "technique", "us", "GB/s", "limit",
           "times", "check");
}

static void print_check(const ladder_row *row) {
    if (row->problem)
        printf("FAIL: %s", row->problem);
    else if (row->lost >= 0)
        printf("%s, %" PRId64 " lost", row->good ? "ok" : "FAIL", row->lost);
    else
        fputs(row->good ? "ok" : "FAIL", stdout);
    if (!row->problem && row->ulp >= 0) printf(" %.3g ulp", row->ulp);
    if (row->good && row->probes >= 0) printf(", %.1f entries a lookup", row->probes);
    putchar('\n');
}

static void print_row(const ladder_row *row) {
    const double speed = row->seconds > 0 ? row->bytes / row->seconds : 0;
    char rate[32] = "-", share[32] = "-";
    if (speed > 0) snprintf(rate, sizeof rate, "%.1f", speed * 1e-9);
    if (row->limit > 0) snprintf(share, sizeof share, "%.0f%%", 100 * speed / row->limit);
    if (row->first) print_title(row);
    printf("%-15s %-62s %10.2f %8s %6s %8.2f  ", row->rung, row->technique, row->seconds * 1e6,
           rate, share, row->times);
    print_check(row);
}

static void print_object(const request *r, const ladder_row *row) {
    json_begin(stdout, "ladder", NULL);
    json_text(stdout, "ladder", row->topic);
    json_text(stdout, "work", row->work);
    json_text(stdout, "dtype", row->dtype);
    json_integer(stdout, "n", row->n);
    json_text(stdout, "rung", row->rung);
    json_text(stdout, "technique", row->technique);
    json_text(stdout, "device", r->device);
    json_real(stdout, "seconds", 6, row->seconds);
    if (row->bytes > 0 && row->seconds > 0)
        json_real(stdout, "gbps", 5, row->bytes / row->seconds * 1e-9);
    if (row->limit > 0 && row->seconds > 0) {
        json_real(stdout, "limit_gbps", 5, row->limit * 1e-9);
        json_real(stdout, "share", 4, row->bytes / row->seconds / row->limit);
    }
    json_real(stdout, "times", 4, row->times);
    json_text(stdout, "check", row->good ? "ok" : "FAIL");
    if (row->ulp >= 0 && !row->problem)
        printf(row->ulp <= 1e300 ? ",\"ulp\":%.4g" : ",\"ulp\":\"%g\"", row->ulp);
    if (row->lost >= 0) json_integer(stdout, "lost", row->lost);
    if (row->good && row->probes >= 0) json_real(stdout, "probes", 6, row->probes);
    json_text(stdout, "problem", row->problem);
    puts("}");
}

static void emit_row(const ladder_row *row, void *argument) {
    printer *p = argument;
    if (p->request->json)
        print_object(p->request, row);
    else
        print_row(row);
    p->failures += !row->good;
    if (p->code == EXIT_DONE) p->code = output_flush(stdout, "standard output");
}

static void list_topics(void) {
    const char *summary, *name;
    for (int i = 0; (name = ladder_topic(i, &summary)); i++) printf("%-10s %s\n", name, summary);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int climb_ladder(const request *r) {
    printer p = {.request = r};
    bool opened;
    if (!r->json) print_head(r);
    const char *problem = ladder_climb(&r->ladder, r->topic, emit_row, &p, &opened);
    if (problem) return fail(opened ? EXIT_IO : EXIT_DEVICE, NULL, "%s: %s", r->device, problem);
    if (p.code != EXIT_DONE) return p.code;
    if (p.failures > 0)
        return fail(EXIT_CHECK, NULL, "rungs that failed their check: %d", p.failures);
    return EXIT_DONE;
}

int cmd_ladder(int argc, char **argv) {
    request r = {.asked = "auto"};
    options o;
    int code;
    if (!options_parse_into(&o, &r, argc, argv, &ladder_usage, &code)) return code;
    code = read_topic(&r, &o);
    if (code != EXIT_DONE) return code;
    if (!r.topic) {
        list_topics();
        return EXIT_DONE;
    }
    code = find_device(&r);
    return code == EXIT_DONE ? climb_ladder(&r) : code;
}
