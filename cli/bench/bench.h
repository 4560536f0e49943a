/* The parts of bench. A point is work on data of one size; a side is a program that does it. */
#ifndef BITFOLD_CLI_BENCH_BENCH_H
#define BITFOLD_CLI_BENCH_BENCH_H

#include "bench/plain.h"

#include <bitfold.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum {
    BENCH_LIST = 16,
    BENCH_PEERS = 12,
    BENCH_SIDES = BENCH_PEERS + 4,
    BENCH_OLD = 1024,
    BENCH_COLD = 1 << 20, /* from so many bytes on, data on a GPU are not in its cache (gpu.c) */
    BENCH_BLOCK = 1 << 26,
    BENCH_COUNTS = 4,
    NAME_SIZE = 32
};

/* A GPU to measure, and the data on it. */
typedef struct {
    bf_context *context; /* NULL: the CPU is measured */
    bf_device_info info;
    int number;      /* bitfold/device.h; BF_DEVICE_CPU: no GPU is measured */
    char isa[16];    /* "sm_90" */
    char driver[16]; /* the CUDA version of the driver: "13.0" */
    char *memory;
    size_t bytes;
    void *block;              /* BENCH_BLOCK bytes on the host, which memory repeats */
    const char *dtype, *data; /* of the elements in memory; NULL: none yet */
    void *result;             /* room for any result, on the GPU */
} bench_gpu;

/* Work on `bytes` bytes at `memory`. They are one vector; for dot and the sum of an expression two;
 * for add and an expression that is written three, of which the third is written. */
typedef struct {
    const char *work, *dtype, *data;
    char *memory;
    size_t bytes;
    size_t count; /* elements of each vector */
    int threads;  /* 0 on a GPU */
    bf_context *context;
    const bench_gpu *gpu;            /* NULL: the CPU */
    bool stream;                     /* on a GPU: passes are enqueued, and waited for at the end */
    bool pageable;                   /* on a GPU: memory is the host's */
    int buffers;                     /* passes use this many copies of the data in turn */
    size_t stride;                   /* bytes from one copy to the next */
    const struct bench_items *items; /* of work that is counted in items; NULL: in bytes */
    void *state;                     /* made by items->open */
} bench_point;

/* Work that is counted in items: pixels, keys, rows. It makes its own data; point->memory is NULL.
 */
typedef struct bench_items {
    const char *work, *item; /* "julia", "pixels" */
    bool stream;             /* on a GPU: calls are enqueued */
    /* Dtype and data of each point on the CPU and on a GPU, {NULL} after the last; and the usual
     * numbers of items, then those of --quick, 0 after the last. */
    const char *const (*points[2])[2];
    size_t counts[2][2][BENCH_COUNTS];
    /* Return the bytes of an item with this dtype, and the most items of a point, up to n. */
    size_t (*item_bytes)(const char *dtype);
    size_t (*fit)(size_t n);
    /* open makes data and all else that is not timed. run adds the seconds of the passes. */
    bf_status (*open)(const bench_point *point, void **state);
    bf_status (*run)(const bench_point *point, void *state, int passes, double *seconds);
    void (*close)(const bench_point *point, void *state);
} bench_items;

/* A program that does the same work on its own copy of the data. Two pipes lead to it:
 *   to it      WORK DTYPE DATA COUNT THREADS PASSES
 *              WORK DTYPE DATA COUNT GPU PASSES stream|host BUFFERS
 *   from it    NAME SECONDS     of one pass, the mean of PASSES; NAME - if it cannot do that work
 * It does bench_warm_up() untimed passes first. */
typedef struct {
    const char *command;
    char name[NAME_SIZE];
    pid_t pid;
    FILE *to, *from;
} bench_peer;

/* A side that does the work: bitfold, a plain loop, or a peer. */
typedef struct bench_side {
    const char *name;
    /* Returns the mean seconds of `passes` passes; a negative number if it cannot do this work, NaN
     * if it failed and reported that. */
    double (*time)(const struct bench_side *side, const bench_point *point, int passes);
    plain_fn *plain; /* of plain loops: the loop and its prefetch distance */
    size_t ahead;
    bench_peer *peer; /* of peers */
    double seconds;   /* the median of the samples; negative as above */
} bench_side;

typedef struct {
    bool json, quick;
    const char *device; /* the operand of --device */
    const char *isa;
    size_t sizes[BENCH_LIST];
    int n_sizes;
    bool usual_sizes; /* no --sizes */
    int threads[BENCH_LIST];
    int n_threads;
    bf_context *contexts[BENCH_LIST]; /* one for each of threads */
    bench_gpu gpu;
    bench_peer peers[BENCH_PEERS];
    int n_peers;
    char **works;         /* the works to measure, then NULL; none: all */
    const char *compare;  /* a file of earlier results, or NULL */
    double fail_above;    /* the share by which a point may be slower; negative: any */
    char *old[BENCH_OLD]; /* the lines of `compare` */
    int n_old;
    int slower; /* number of points that are slower by more than fail_above */
    int failed; /* number of points that bitfold could not do */
} bench_options;

/* The change of a point since the earlier run: -0.1 is a tenth slower. */
typedef struct bench_change {
    const char *by; /* the key that is compared; NULL: the earlier run lacks this point */
    double share;
} bench_change;

/* Reads the command line and fills in defaults. Returns false if the command must stop with *code,
 * as options_parse does. */
bool bench_parse(bench_options *options, int argc, char **argv, int *code);

/* bench.c: is this work to be measured? */
bool bench_is_wanted(const bench_options *options, const char *work);

/* gpu.c: the points of a GPU. Opening and running return an exit code. */
bool bench_gpu_knows(const char *work);
int bench_gpu_open(bench_options *options);
int bench_gpu_run(bench_options *options);
void bench_gpu_close(bench_options *options);

/* Work that is counted in items; items.c measures it. */
extern const bench_items bench_julia, bench_table, bench_group, bench_axis, bench_order;
bool bench_items_know(const char *work);
int bench_items_run(bench_options *options);

/* Allocate memory where the point is measured, on huge pages or on the GPU, and fill it with n
 * elements. `part` makes n of them from number `first` on. */
typedef void bench_part(const bench_point *point, size_t first, size_t n, void *to);
bf_status bench_items_allocate(const bench_point *point, size_t bytes, char **memory);
void bench_items_free(const bench_point *point, char *memory, size_t bytes);
bf_status bench_items_fill(const bench_point *point, char *to, size_t n, size_t element,
                           bench_part *part);

/* Adds the seconds of the passes, of which each is one call. */
typedef bf_status bench_call(const bench_point *point, void *state);
bf_status bench_items_repeat(const bench_point *point, void *state, bench_call *call, int passes,
                             double *seconds);

/* Return the number of vectors of the point, and the bytes of each. Each is aligned as a single
 * vector is. */
int bench_vectors(const bench_point *point);
size_t bench_vector_bytes(const bench_point *point);

/* Returns the kind of call that is measured: "stream", "host" or "pageable" on a GPU, "" on the
 * CPU.
 */
const char *bench_mode(const bench_point *point);
const char *bench_isa(const bench_point *point);

/* Returns the number of untimed passes before `passes` timed ones: on the CPU 1, or 0 before a
 * single pass; on a GPU an eighth of the passes and one more. */
int bench_warm_up(const bench_point *point, int passes);

double bench_now(void);
double bench_median(double *samples, int n);

/* side.c: the sides. bench_also_side is bitfold at other work on the vectors of an expression.
 * bench_plain_side finds the fastest prefetch distance for this point. */
bench_side bench_own_side(void);
bench_side bench_also_side(const char *work);
bench_side bench_plain_side(const char *name, const bench_point *point);
bench_side bench_peer_side(bench_peer *peer);

/* Takes a sample of every side in each of `rounds` rounds, and sets the sides' seconds to medians.
 * A sample is as many passes as take `seconds`. Returns false if a side failed. */
bool bench_measure(bench_side *sides, int n, const bench_point *point, int rounds, double seconds);

/* histogram.c: makes a histogram for the point, and counts in one pass. */
bool bench_is_histogram(const char *work);
bf_status bench_histogram_open(const bench_point *point, bf_histogram **histogram);
bf_status bench_histogram_pass(const bench_point *point, bf_histogram *histogram,
                               const bf_array *array);

/* expression.c: an expression is summed, or written to a third vector. bench_distribution names how
 * the numbers of a work are distributed. Open parses the expression, and makes a state if it is
 * summed. A pass computes it once. */
bool bench_is_expression(const char *work);
bool bench_is_written(const bench_point *point);
const char *bench_distribution(const char *work, const char *data);
bf_status bench_expression_open(const bench_point *point, bf_expression **e, bf_state **state);
bf_status bench_expression_pass(bf_expression *e, bf_state *state, const bf_array vectors[3]);

/* peer.c: bench_peer_start starts peer->command, asks for its name and returns an exit code. gpu is
 * NULL for peers on the CPU. */
int bench_peer_start(bench_peer *peer, const bench_gpu *gpu);
double bench_peer_ask(bench_peer *peer, const bench_point *point, int passes);
void bench_peer_stop(bench_peer *peer);

/* report.c: print the head of the table, the head of its part for items (NULL: work that is counted
 * in bytes), and a row. The latter returns false if standard output cannot be written. */
void bench_print_head(const bench_options *options);
void bench_print_columns(const bench_options *options, const bench_items *items);
bool bench_print(bench_options *options, const bench_point *point, const bench_side *sides, int n);

/* compare.c: reads options->compare, whose lines stay until it is closed. Returns an exit code. */
int bench_compare_open(bench_options *options);
void bench_compare_close(bench_options *options);
bench_change bench_compare(const bench_options *options, const bench_point *point,
                           const bench_side *sides, int n);

/* start.c: measures the time from fork to exit of `bitfold sum` on a file of ten elements. */
int bench_start_up(bool json, int rounds);

#endif
