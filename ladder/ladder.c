/* Climbs a ladder: data of each size, then rung by rung the median time, the check and a row. */
#include "ladder/ladder.h"

#include "ladder/data.h"
#include "ladder/table.h"

#include <stdlib.h>
#include <string.h>

enum { SIZES = 6 };

/* A topic. With --quick its quick sizes are used, if it has any. */
static const struct {
    const char *name, *summary;
    int64_t sizes[SIZES], quick[SIZES];
} topics[] = {
    {"reduce",
     "sum, product, maximum and minimum of ints, from two launches to one",
     {10000000, 100000000},
     {1000000}},
    {"scan",
     "running sums of ints, from many passes over memory to one",
     {1 << 16, 1 << 22, 1 << 28},
     {1 << 18}},
    {"add",
     "element-wise addition of floats, and of two numbers",
     {1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 26, 1 << 28},
     {1 << 10, 1 << 20}},
    {"dot", "the dot product of floats", {33 * 1024, 1 << 26}, {33 * 1024, 1 << 20}},
    {"constant", "a small table in constant and in global memory", {1 << 22}, {1 << 16}},
    {"atomics", "a counter that all threads count up", {1 << 22}, {1 << 20}},
    {"histogram", "how often each value of a byte occurs", {100 << 20}, {1 << 20}},
    {"julia", "a picture of a Julia set; elements are pixels", {1000000, 16000000}, {1000000}},
    {"table", "a hash table of random keys: built, and keys found", {100 << 18}, {1 << 20}},
};
enum { TOPICS = sizeof topics / sizeof *topics };

const char *ladder_topic(int i, const char **summary) {
    if (i < 0 || i >= TOPICS) return NULL;
    *summary = topics[i].summary;
    return topics[i].name;
}

/* What a work reads and writes. */
static const struct {
    int inputs;    /* vectors: a, b, ...; out is in the same piece of memory */
    int element;   /* bytes, of the inputs */
    int out;       /* bytes an element; 0: a single result */
    bool twice;    /* a is in managed memory, too */
    bool measured; /* against the limit: reading as many bytes */
    int bytes;     /* an element; 0: not what counts */
    const char *dtype;
} kinds[LADDER_WORKS] = {
    [LADDER_NUMBERS] = {0, 4, 0, false, false, 0, "i32"},
    [LADDER_REDUCE] = {1, 4, 0, true, true, 4, "i32"},
    [LADDER_SCAN] = {3, 4, 8, false, true, 12, "i32"},
    [LADDER_ADD] = {2, 4, 4, false, true, 12, "f32"},
    [LADDER_DOT] = {2, 4, 0, false, true, 8, "f32"},
    [LADDER_CONSTANT] = {0, 4, 4, false, false, 4 * LADDER_TABLE_SIZE, "u32"},
    [LADDER_ATOMICS] = {0, 4, 0, false, false, 0, "u32"},
    [LADDER_HISTOGRAM] = {1, 1, 0, true, true, 1, "u8"},
    [LADDER_JULIA] = {0, 2, 2, false, false, 0, "f32"},
    [LADDER_BUILD] = {4, 4, LADDER_TABLE_EACH, true, false, 0, "u32"},
    [LADDER_FIND] = {0, 4, 4, false, false, 0, "u32"},
};

typedef struct ladder {
    const ladder_options *options;
    const ladder_machine *machine;
    const char *topic;
    ladder_emit *emit;
    void *argument;
    ladder_task task, build; /* the table that LADDER_FIND searches */
    void *single;            /* the machine's memory for results, partial results and the ticket */
    enum ladder_work work;
    enum ladder_data data; /* for LADDER_HISTOGRAM */
    char *vectors;
    size_t vector; /* bytes from one input to the next */
} ladder;

/* Returns whether the result of the work is an array or a table. */
static size_t out_bytes(const ladder *l) {
    const size_t bytes = (size_t)l->task.n * (size_t)kinds[l->work].out;
    return l->work == LADDER_BUILD ? bytes + LADDER_TABLE_ROOM : bytes;
}

/* ---- time ------------------------------------------------------------------------------------ */

enum { SAMPLES = 11 };

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The number of runs that fill a sample: reading the clock costs more than a small run. */
static int runs_in(double sample, double seconds) {
    const double runs = seconds > 0 ? sample / seconds : 200;
    return runs < 1 ? 1 : runs > 200 ? 200 : (int)runs;
}

/* The median of several samples; of fewer if they take over a second. The first run is not timed:
 * it loads the kernel and moves managed memory. */
static const char *median(const ladder *l, const ladder_rung *rung, double *seconds) {
    const int wanted = l->options->quick ? 5 : SAMPLES;
    double samples[SAMPLES], spent = 0, once = 0;
    const char *problem = l->machine->time(rung, &l->task, 1, &once);
    if (!problem) problem = l->machine->time(rung, &l->task, 1, &once);
    const int runs = runs_in(l->options->quick ? 5e-4 : 2e-3, once);
    int n = 0;
    for (; n < wanted && (n < 3 || spent < 1) && !problem; n++) {
        problem = l->machine->time(rung, &l->task, runs, &samples[n]);
        spent += samples[n];
        samples[n] /= runs;
    }
    if (problem) return problem;
    qsort(samples, (size_t)n, sizeof *samples, compare);
    *seconds = samples[n / 2];
    return NULL;
}

/* The bytes per second of the fastest way to read as many bytes; 0 if it could not be measured. */
static const char *measure_limit(ladder *l, double *bytes_per_second) {
    const ladder_task task = l->task;
    const char *problem = NULL;
    double best = 0;
    l->task.a = l->vectors;
    l->task.n = task.n * kinds[l->work].bytes;
    for (const ladder_rung *r = l->machine->rungs[LADDER_LIMIT]; r->name && !problem; r++) {
        double seconds = 0;
        problem = median(l, r, &seconds);
        if (!problem && seconds > 0 && (double)l->task.n / seconds > best)
            best = (double)l->task.n / seconds;
    }
    l->task = task;
    *bytes_per_second = best;
    return problem;
}

/* ---- one rung -------------------------------------------------------------------------------- */

/* Clears the result: that of an earlier rung must not pass for this one's. */
static const char *spoil(const ladder *l) {
    memset(l->task.host, 0xa5, LADDER_RESULT);
    return l->machine->fill(l->task.out, 0xa5, kinds[l->work].out ? out_bytes(l) : LADDER_RESULT);
}

/* Builds the table for a rung of LADDER_FIND, by the first rung that builds tables of its kind. */
static const char *build_for(const ladder *l, const ladder_rung *finds) {
    const ladder_rung *builds = l->machine->rungs[LADDER_BUILD];
    double seconds;
    while (builds->is != finds->is) builds++;
    return l->machine->time(builds, &l->build, 1, &seconds);
}

static const char *run_rung(const ladder *l, const ladder_rung *rung, const ladder_answer *answer,
                            ladder_row *row) {
    char result[LADDER_RESULT];
    const char *problem = spoil(l);
    if (!problem && l->work == LADDER_FIND) problem = build_for(l, rung);
    if (!problem) problem = median(l, rung, &row->seconds);
    if (problem) return problem;
    memcpy(result, l->task.host, sizeof result);
    if (!(rung->is & LADDER_ON_HOST) && !kinds[l->work].out)
        problem = l->machine->copy(result, l->task.out, sizeof result);
    if (problem) return problem;
    return ladder_check(l->machine, l->work, rung, &l->task, answer, result, row);
}

static const char *work_name(const ladder *l) {
    static const char *const names[LADDER_WORKS] = {
        [LADDER_NUMBERS] = "2 + 7", [LADDER_SCAN] = "sums",      [LADDER_ADD] = "add",
        [LADDER_DOT] = "dot",       [LADDER_CONSTANT] = "table", [LADDER_JULIA] = "picture",
        [LADDER_ATOMICS] = "x++",   [LADDER_BUILD] = "build",    [LADDER_FIND] = "find"};
    static const char *const bytes[] = {"uniform", "constant", "skewed"};
    if (l->work == LADDER_HISTOGRAM) return bytes[l->data - LADDER_UNIFORM];
    return l->work == LADDER_REDUCE ? bf_reduction_name(l->task.op) : names[l->work];
}

/* Every rung of one ladder. A rung that fails does not end it. */
static const char *climb(ladder *l, double limit) {
    ladder_answer answer;
    const char *problem = ladder_solve(l->work, l->task.op, l->task.n, &answer);
    if (problem) return problem;
    answer.data = l->data;
    double first = 0;
    const ladder_rung *rungs = l->machine->rungs[l->work];
    for (const ladder_rung *r = rungs; r->name; r++) {
        ladder_row row = {.topic = l->topic,
                          .work = work_name(l),
                          .rung = r->name,
                          .technique = r->technique,
                          .dtype = kinds[l->work].dtype,
                          .n = l->task.n,
                          .limit = limit,
                          .ulp = -1,
                          .lost = -1,
                          .probes = -1,
                          .bytes = (double)l->task.n * kinds[l->work].bytes,
                          .first = r == rungs};
        row.problem = run_rung(l, r, &answer, &row);
        if (row.problem) row.good = false;
        if (r == rungs) first = row.seconds;
        row.times = row.seconds > 0 ? first / row.seconds : 0;
        l->emit(&row, l->argument);
    }
    return NULL;
}

/* ---- one size -------------------------------------------------------------------------------- */

static const char no_memory[] = "not enough memory for this size";

/* Fills a, and the same in managed memory, if there is any. */
static const char *fill_twice(ladder *l, enum ladder_data data) {
    const char *problem = ladder_fill(l->machine, data, l->vectors, l->task.n);
    void *managed = (void *)(uintptr_t)l->task.managed;
    if (!problem && managed) problem = ladder_fill(l->machine, data, managed, l->task.n);
    return problem;
}

/* Keys, their rows, then the keys to look up. The fourth vector is for the values found. */
static const char *fill_keys(ladder *l) {
    const int64_t n = l->task.n;
    const char *problem = fill_twice(l, LADDER_KEYS);
    if (!problem) problem = ladder_fill(l->machine, LADDER_ROWS, l->vectors + l->vector, n);
    if (problem) return problem;
    return ladder_fill(l->machine, LADDER_LOOKUPS, l->vectors + 2 * l->vector, n);
}

static const char *fill_vectors(ladder *l) {
    const int64_t n = l->task.n;
    if (l->work == LADDER_REDUCE) return fill_twice(l, LADDER_INTS);
    if (l->work == LADDER_BUILD) return fill_keys(l);
    if (l->work == LADDER_SCAN) return ladder_fill(l->machine, LADDER_INTS, l->vectors, n);
    if (l->work != LADDER_ADD && l->work != LADDER_DOT) return NULL;
    const char *problem = ladder_fill(l->machine, LADDER_FACTORS, l->vectors, n);
    if (problem) return problem;
    return ladder_fill(l->machine, LADDER_OTHERS, l->vectors + l->vector, n);
}

static const char *get_vectors(ladder *l) {
    const size_t inputs = (size_t)kinds[l->work].inputs;
    const size_t bytes = (size_t)l->task.n * (size_t)kinds[l->work].element;
    l->vector = (bytes + 255) & ~(size_t)255;
    l->vectors = l->machine->allocate(inputs * l->vector + out_bytes(l));
    if (!l->vectors) return no_memory;
    const char *problem = l->machine->fill(l->vectors, 0, inputs * l->vector + out_bytes(l));
    if (problem) return problem;
    if (kinds[l->work].twice && l->machine->allocate_managed)
        l->task.managed = l->machine->allocate_managed(l->vector);
    l->task.a = l->vectors;
    l->task.b = l->task.spare = l->vectors + l->vector;
    if (kinds[l->work].out) l->task.out = l->vectors + inputs * l->vector;
    return fill_vectors(l);
}

static void drop_vectors(ladder *l) {
    if (l->vectors) l->machine->release(l->vectors, false);
    if (l->task.managed) l->machine->release((void *)(uintptr_t)l->task.managed, true);
    l->vectors = NULL;
    l->task.managed = NULL;
    l->task.out = l->single;
}

static const char *climb_reduce(ladder *l, double limit) {
    static const bf_reduction ops[] = {BF_SUM, BF_PROD, BF_MAX, BF_MIN};
    const char *problem = NULL;
    for (int i = 0; i < 4 && !problem; i++) {
        l->task.op = ops[i];
        problem = climb(l, limit);
    }
    return problem;
}

static const char *climb_histogram(ladder *l, double limit) {
    const bf_histogram_options options =
        BF_HISTOGRAM_OPTIONS(.bins = LADDER_VALUES, .range = 1, .hi = LADDER_VALUES);
    const char *problem = NULL;
    bf_status status = bf_histogram_create(l->task.context, BF_U8, &options, &l->task.histogram);
    if (status != BF_OK) return bf_status_string(status);
    for (l->data = LADDER_UNIFORM; l->data <= LADDER_SKEWED && !problem; l->data++) {
        problem = fill_twice(l, l->data);
        if (!problem) problem = climb(l, limit);
    }
    bf_histogram_destroy(l->task.histogram);
    return problem;
}

/* A table comes to the host to be judged. */
static const char *climb_build(ladder *l) {
    void *const single = l->task.host;
    l->task.host = malloc(out_bytes(l));
    const char *problem = l->task.host ? climb(l, 0) : no_memory;
    free(l->task.host);
    l->task.host = single;
    return problem;
}

static const char *climb_find(ladder *l) {
    l->work = LADDER_FIND;
    l->build = l->task;
    l->task.built = l->task.out;
    l->task.a = l->vectors + 2 * l->vector;
    l->task.out = l->vectors + 3 * l->vector;
    return climb(l, 0);
}

static const char *climb_table(ladder *l) {
    bf_table *table = NULL;
    l->task.table = &table;
    const char *problem = climb_build(l);
    if (!problem) problem = climb_find(l);
    bf_table_destroy(table);
    return problem;
}

static const char *climb_size(ladder *l, enum ladder_work work, int64_t n) {
    double limit = 0;
    l->work = work;
    l->task.n = n;
    if (work == LADDER_BUILD && n > LADDER_MOST_KEYS) return "no more than 2Gi keys";
    const char *problem = kinds[work].inputs + kinds[work].out > 0 ? get_vectors(l) : NULL;
    if (!problem && kinds[work].measured) problem = measure_limit(l, &limit);
    if (!problem)
        problem = work == LADDER_REDUCE      ? climb_reduce(l, limit)
                  : work == LADDER_HISTOGRAM ? climb_histogram(l, limit)
                  : work == LADDER_BUILD     ? climb_table(l)
                                             : climb(l, limit);
    drop_vectors(l);
    return problem;
}

/* ---- a topic --------------------------------------------------------------------------------- */

static const char *climb_topic(ladder *l, int topic) {
    static const enum ladder_work works[TOPICS] = {
        LADDER_REDUCE,  LADDER_SCAN,      LADDER_ADD,   LADDER_DOT,  LADDER_CONSTANT,
        LADDER_ATOMICS, LADDER_HISTOGRAM, LADDER_JULIA, LADDER_BUILD};
    const ladder_options *o = l->options;
    const int64_t given[SIZES] = {o->size};
    const int64_t *sizes = o->size ? given : o->quick ? topics[topic].quick : topics[topic].sizes;
    const char *problem = NULL;
    if (works[topic] == LADDER_ADD) problem = climb_size(l, LADDER_NUMBERS, 1);
    for (int i = 0; i < SIZES && sizes[i] && !problem; i++)
        problem = climb_size(l, works[topic], sizes[i]);
    return problem == no_memory && !o->size ? NULL
                                            : problem; /* the usual sizes, as far as they fit */
}

/* Room for a result, then the ticket, then partial results. */
static const char *get_single(ladder *l) {
    const size_t bytes = LADDER_RESULT + 256 + LADDER_PARTIALS * 4;
    l->single = l->machine->allocate(bytes);
    if (!l->single) return no_memory;
    l->task.out = l->single;
    l->task.ticket = (unsigned *)((char *)l->single + LADDER_RESULT);
    l->task.partial = (char *)l->single + LADDER_RESULT + 256;
    return l->machine->fill(l->single, 0, bytes);
}

const char *ladder_climb(const ladder_options *options, const char *topic, ladder_emit *emit,
                         void *argument, bool *opened) {
    _Alignas(16) char host[LADDER_RESULT];
    ladder l = {.options = options,
                .machine = options->machine,
                .topic = topic,
                .emit = emit,
                .argument = argument,
                .task.host = host};
    const char *problem = l.machine->open(&l.task, options->device);
    *opened = problem == NULL;
    if (!problem) problem = get_single(&l);
    for (int i = 0; i < TOPICS && !problem; i++)
        if (strcmp(topics[i].name, topic) == 0) problem = climb_topic(&l, i);
    if (l.single) l.machine->release(l.single, false);
    l.machine->close(&l.task);
    return problem;
}
