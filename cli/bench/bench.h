/* The parts of bench. A point is work on data of one size; a side is a program that does it. */
#ifndef BITFOLD_CLI_BENCH_BENCH_H
#define BITFOLD_CLI_BENCH_BENCH_H

#include "bench/plain.h"
#include "works/works.h"

#include <bitfold.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum {
    BENCH_LIST = 16,
    BENCH_CONTEXTS = 8 * BENCH_LIST, /* a list for each instruction set */
    BENCH_PEERS = 12,
    BENCH_SIDES = BENCH_PEERS + 4,
    BENCH_OLD = 1024,
    BENCH_COLD = 1 << 20, /* from so many bytes on, data on a GPU are not in its cache (gpu.c) */
    NAME_SIZE = 32
};

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

typedef struct {
    bool json, quick, why, small;
    const char *device; /* the operand of --device */
    const char *isa;    /* "all": each that the machine has */
    size_t sizes[BENCH_LIST];
    int n_sizes;
    bool usual_sizes; /* no --sizes */
    int threads[BENCH_LIST];
    int n_threads;
    bf_context *contexts[BENCH_CONTEXTS]; /* for each instruction set one for each of threads */
    int n_contexts;
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

/* bitfold at a point: the object, and the vectors, in memory of their own if they count items. */
typedef struct bench_own {
    bench_point point;
    work_object object;
    bf_array vectors[POINT_VECTORS];
    char *memory;
    size_t bytes;
    int buffer; /* the next copy of the data */
} bench_own;

/* A side that does the work: bitfold, a plain loop, or a peer. */
typedef struct bench_side {
    const char *name;
    /* Returns the mean seconds of `passes` passes; a negative number if it cannot do this work, NaN
     * if it failed and reported that. */
    double (*time)(const struct bench_side *side, const bench_point *point, int passes);
    bench_own *own;  /* for bitfold */
    plain_fn *plain; /* for plain loops: the loop and its prefetch distance */
    size_t ahead;
    bench_peer *peer; /* for peers */
    double seconds;   /* the median of the samples; negative as above */
} bench_side;

/* The change of a point since the earlier run: -0.1 is a tenth slower. */
typedef struct bench_change {
    const char *by; /* the key that is compared; NULL: the earlier run lacks this point */
    double share;
} bench_change;

/* Reads the command line and fills in defaults. Returns false if the command must stop with *code,
 * as options_parse does. */
bool bench_parse(bench_options *o, int argc, char **argv, int *code);

/* bench.c: is a GPU to be measured, are all instruction sets, and is this work? */
bool bench_is_gpu(const bench_options *o);
bool bench_has_isas(const bench_options *o);
bool bench_is_wanted(const bench_options *o, const char *name);

/* points.c: measures the works that are counted in bytes, and those that are counted in items;
 * whether it knows this work. Running returns an exit code. */
int bench_run_bytes(bench_options *o);
int bench_run_items(bench_options *o);
bool bench_knows(const bench_options *o, const char *work);
bool bench_counts_items(const char *work);

/* gpu.c: the memory of a GPU. Opening and filling return an exit code. */
int bench_gpu_open(bench_options *o);
void bench_gpu_close(bench_options *o);
int bench_gpu_fill(bench_gpu *gpu, const char *dtype, const char *data);
size_t bench_gpu_size(const bench_options *o, int number); /* 0 after the last */
int bench_gpu_buffers(const bench_gpu *gpu, size_t bytes);
size_t bench_gpu_aligned(size_t bytes);

/* own.c: open makes what is not timed. */
bf_status bench_own_open(const bench_point *point, bench_own *own);
double bench_own_time(const bench_side *side, const bench_point *point, int passes);
void bench_own_close(bench_own *own);

/* Returns the bytes of each vector of a point that is counted in bytes. Each is aligned as a single
 * vector is. */
size_t bench_vector_bytes(const bench_point *point);

/* Returns the kind of call that is measured: "stream", "host" or "pageable" on a GPU, "" on the
 * CPU. */
const char *bench_mode(const bench_point *point);
const char *bench_isa(const bench_point *point);

double bench_median(double *samples, int n);

/* side.c: measures a point, beside plain loops on the CPU, and peers, and prints it. Returns an
 * exit code. */
int bench_measure(bench_options *o, const bench_point *point, int n_peers);
/* Times bitfold alone, on the CPU. Sets *seconds to the median of a pass, and returns an exit code.
 */
int bench_time(bench_options *o, const bench_point *point, double *seconds);

/* small.c: prints how long calls on few elements take. Knows whether it measures a work. */
bool bench_knows_small(const char *name);
int bench_run_small(bench_options *o);

/* peer.c: bench_peer_start starts peer->command, asks for its name and returns an exit code. gpu is
 * NULL for peers on the CPU. */
int bench_peer_start(bench_peer *peer, const bench_gpu *gpu);
double bench_peer_ask(bench_peer *peer, const bench_point *point, int passes);
void bench_peer_stop(bench_peer *peer);

/* report.c: print the head of the table, the head of its part for items (NULL: work that is counted
 * in bytes), and a row. The latter returns false if standard output cannot be written. */
void bench_print_head(const bench_options *o);
void bench_print_columns(const bench_options *o, const char *item);
bool bench_print(bench_options *o, const bench_point *point, const bench_side *sides, int n);

/* compare.c: reads o->compare, whose lines stay until it is closed. Returns an exit code. */
int bench_compare_open(bench_options *o);
void bench_compare_close(bench_options *o);
bench_change bench_compare(const bench_options *o, const bench_point *point,
                           const bench_side *sides, int n);

/* start.c: measures the time from fork to exit of `bitfold sum` on a file of ten elements. */
int bench_start_up(bool json, int rounds);

#endif
