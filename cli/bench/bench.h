/* The parts of bench: points are measured, sides do the work. */
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
    BENCH_SIDES = BENCH_PEERS + 3,
    BENCH_OLD = 1024,
    BENCH_COLD = 1 << 20, /* bytes from which data on a GPU are not in its cache, see gpu.c */
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
    void *block;              /* on the host, BENCH_BLOCK bytes: what memory repeats */
    const char *dtype, *data; /* of what is in it; NULL: nothing yet */
    void *result;             /* on the GPU: room for any result here */
} bench_gpu;

/* One thing to measure: work on `bytes` bytes at `memory`. They are one vector, for dot two, for
 * add three (the third is written). */
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
    int buffers;                     /* passes go round so many times `bytes` at memory, */
    size_t stride;                   /* so far apart */
    const struct bench_items *items; /* of work that is counted in items; NULL: in bytes */
    void *state;                     /* what its `open` made */
} bench_point;

/* Work that is counted in items: pixels, keys, rows. Its data are its own, and memory is NULL. */
typedef struct bench_items {
    const char *work, *item; /* "julia", "pixels" */
    bool stream;             /* on a GPU: calls are enqueued */
    /* Dtype and data of each point on the CPU and on a GPU, {NULL} after the last; and how many
     * items they have, usually and with --quick, 0 after the last. */
    const char *const (*points[2])[2];
    size_t counts[2][2][BENCH_COUNTS];
    /* The bytes of an item with this dtype, and how many items of n make a point. */
    size_t (*item_bytes)(const char *dtype);
    size_t (*fit)(size_t n);
    /* Makes data and whatever else is not to be timed. run adds the seconds of the passes. */
    bf_status (*open)(const bench_point *point, void **state);
    bf_status (*run)(const bench_point *point, void *state, int passes, double *seconds);
    void (*close)(const bench_point *point, void *state);
} bench_items;

/* A program that does the same work on its own copy of the data, spoken to over two pipes:
 *   to it      WORK DTYPE DATA COUNT THREADS PASSES
 *              WORK DTYPE DATA COUNT GPU PASSES stream|host BUFFERS
 *   from it    NAME SECONDS     of one pass, the mean of PASSES; NAME - if it cannot do that work
 * It does bench_warm_up() passes first, untimed. */
typedef struct {
    const char *command;
    char name[NAME_SIZE];
    pid_t pid;
    FILE *to, *from;
} bench_peer;

/* A side that does the work: bitfold, a plain loop, or a peer. */
typedef struct bench_side {
    const char *name;
    /* Seconds a pass, over `passes` of them; a negative number if it cannot do this point's work,
     * NaN if it failed and said so. */
    double (*time)(const struct bench_side *side, const bench_point *point, int passes);
    plain_fn *plain; /* of plain loops: the loop, and its prefetch distance */
    size_t ahead;
    bench_peer *peer; /* of peers */
    double seconds;   /* the result: the median; negative as above */
} bench_side;

typedef struct {
    bool json, quick;
    const char *device; /* as it was given */
    const char *isa;
    size_t sizes[BENCH_LIST];
    int n_sizes;
    bool usual_sizes; /* none were given */
    int threads[BENCH_LIST];
    int n_threads;
    bf_context *contexts[BENCH_LIST]; /* one for each of threads */
    bench_gpu gpu;
    bench_peer peers[BENCH_PEERS];
    int n_peers;
    char **works;         /* only these; none: all. NULL-terminated */
    const char *compare;  /* a file of earlier results, or NULL */
    double fail_above;    /* the share by which a point may be slower; negative: any */
    char *old[BENCH_OLD]; /* its lines */
    int n_old;
    int slower; /* points slower by more */
    int failed; /* points that bitfold could not do */
} bench_options;

/* The change of a point since the earlier run: -0.1 is a tenth slower. */
typedef struct bench_change {
    const char *by; /* the key that is compared; NULL: the earlier run has no such point */
    double share;
} bench_change;

/* Reads the command line, and fills in defaults for what is not given. False: stop and return
 * *code, as options_parse does. */
bool bench_parse(bench_options *options, int argc, char **argv, int *code);

/* bench.c. Was this work asked for? */
bool bench_is_wanted(const bench_options *options, const char *work);

/* gpu.c. The points of a GPU; opening and running return an exit code. */
bool bench_gpu_knows(const char *work);
int bench_gpu_open(bench_options *options);
int bench_gpu_run(bench_options *options);
void bench_gpu_close(bench_options *options);

/* items.c: all points of this work that are wanted, on the CPU or the GPU. */
extern const bench_items bench_julia, bench_table, bench_group;
bool bench_items_know(const char *work);
int bench_items_run(bench_options *options);

/* Where the point is measured: memory on huge pages or on the GPU, and filling it with n elements,
 * of which `part` makes those from number `first` on. */
typedef void bench_part(const bench_point *point, size_t first, size_t n, void *to);
bf_status bench_items_allocate(const bench_point *point, size_t bytes, char **memory);
void bench_items_free(const bench_point *point, char *memory, size_t bytes);
bf_status bench_items_fill(const bench_point *point, char *to, size_t n, size_t element,
                           bench_part *part);

/* The number of vectors that the work is on, and the bytes of each, aligned as if it were alone. */
int bench_vectors(const char *work);
size_t bench_vector_bytes(const bench_point *point);

/* The kind of call that is measured: "stream", "host" or "pageable" on a GPU, "" on the CPU. */
const char *bench_mode(const bench_point *point);
const char *bench_isa(const bench_point *point);

/* The untimed passes before `passes` timed ones: on the CPU 1, but 0 before a single one; on a GPU
 * an eighth of them and one more. */
int bench_warm_up(const bench_point *point, int passes);

double bench_now(void);
double bench_median(double *samples, int n);

/* side.c. bench_plain_side picks the prefetch distance that is the fastest for this point. */
bench_side bench_own_side(void);
bench_side bench_plain_side(const char *name, const bench_point *point);
bench_side bench_peer_side(bench_peer *peer);

/* Takes `rounds` samples of every side, all sides in each round, and leaves medians in them. A
 * sample is as many passes as fill `seconds`. False if a side failed. */
bool bench_measure(bench_side *sides, int n, const bench_point *point, int rounds, double seconds);

/* histogram.c: a histogram for the point, and one pass of counting. */
bool bench_is_histogram(const char *work);
bf_status bench_histogram_open(const bench_point *point, bf_histogram **histogram);
bf_status bench_histogram_pass(const bench_point *point, bf_histogram *histogram,
                               const bf_array *array);

/* peer.c. Starting the peer of peer->command asks for its name and returns an exit code; gpu
 * is NULL for peers on the CPU. */
int bench_peer_start(bench_peer *peer, const bench_gpu *gpu);
double bench_peer_ask(bench_peer *peer, const bench_point *point, int passes);
void bench_peer_stop(bench_peer *peer);

/* report.c: the head of the table, that of its part about such work (items: NULL for what is
 * counted in bytes), and a row. The latter: false if standard output cannot be written. */
void bench_print_head(const bench_options *options);
void bench_print_columns(const bench_options *options, const bench_items *items);
bool bench_print(bench_options *options, const bench_point *point, const bench_side *sides, int n);

/* compare.c: reads options->compare, whose lines stay until closed; returns an exit code. */
int bench_compare_open(bench_options *options);
void bench_compare_close(bench_options *options);
bench_change bench_compare(const bench_options *options, const bench_point *point,
                           const bench_side *sides, int n);

/* start.c: the time from fork to exit of `bitfold sum` on a file of ten elements. */
int bench_start_up(bool json, int rounds);

#endif
