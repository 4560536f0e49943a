/* bench, its parts: points are what is measured, sides are who does the work. */
#ifndef BENCH_H
#define BENCH_H

#include "plain.h"

#include <bitfold.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum {
    BENCH_LIST = 16,
    BENCH_PEERS = 8,
    BENCH_SIDES = BENCH_PEERS + 3,
    BENCH_OLD = 1024,
    NAME_SIZE = 32
};

/* One thing to measure: work on `bytes` bytes at `memory`. They are one vector, for dot two, for
 * add three (the third is written). */
typedef struct {
    const char *work, *dtype, *data;
    char *memory;
    size_t bytes;
    size_t count; /* elements of each vector */
    int threads;
    bf_context *context;
} bench_point;

/* A program that does the same work on its own copy of the data, spoken to over two pipes:
 *   to it      WORK DTYPE DATA COUNT THREADS PASSES
 *   from it    NAME SECONDS     of one pass, the mean of PASSES; NAME - if it cannot do that work
 * With PASSES over 1 it does one more first, untimed. */
typedef struct {
    const char *command;
    char name[NAME_SIZE];
    pid_t pid;
    FILE *to, *from;
} bench_peer;

/* Who does the work: bitfold, a plain loop, or a peer. */
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
    bool json, quick, help;
    const char *isa;
    size_t sizes[BENCH_LIST];
    int n_sizes;
    bool usual_sizes; /* none were given */
    int threads[BENCH_LIST];
    int n_threads;
    bf_context *contexts[BENCH_LIST]; /* one for each of threads */
    bench_peer peers[BENCH_PEERS];
    int n_peers;
    char **works;         /* only these; none: all. NULL-terminated */
    const char *compare;  /* a file of earlier results, or NULL */
    double fail_above;    /* the share by which a point may be slower; negative: any */
    char *old[BENCH_OLD]; /* its lines */
    int n_old;
    int slower; /* points slower by more */
} bench_options;

/* How a point compares with the earlier run: -0.1 is a tenth slower. */
typedef struct bench_change {
    const char *by; /* the key that is compared; NULL: the earlier run has no such point */
    double share;
} bench_change;

/* bench_options.c. Fills in defaults for what is not given; help is shown at once. Returns an exit
 * code. */
int bench_parse(bench_options *options, int argc, char **argv);

/* How many vectors the work is on; the bytes of each, whole cache lines. */
int bench_vectors(const char *work);
size_t bench_vector_bytes(const bench_point *point);

double bench_now(void);
double bench_median(double *samples, int n);

/* bench_side.c. bench_plain_side picks the prefetch distance that is the fastest for this point. */
bench_side bench_own_side(void);
bench_side bench_plain_side(const char *name, const bench_point *point);
bench_side bench_peer_side(bench_peer *peer);

/* Takes `rounds` samples of every side, all sides in each round, and leaves medians in them. A
 * sample is as many passes as fill `seconds`. False if a side failed. */
bool bench_measure(bench_side *sides, int n, const bench_point *point, int rounds, double seconds);

/* bench_peer.c. Starting the peer of peer->command asks for its name and returns an exit code. */
int bench_peer_start(bench_peer *peer);
double bench_peer_ask(bench_peer *peer, const bench_point *point, int passes);
void bench_peer_stop(bench_peer *peer);

/* bench_report.c. False if standard output cannot be written. */
void bench_print_head(const bench_options *options);
bool bench_print(bench_options *options, const bench_point *point, const bench_side *sides, int n);

/* bench_compare.c: reads options->compare, whose lines stay until closed; returns an exit code. */
int bench_compare_open(bench_options *options);
void bench_compare_close(bench_options *options);
bench_change bench_compare(const bench_options *options, const bench_point *point,
                           const bench_side *sides, int n);

/* bench_start.c: the time from fork to exit of `bitfold sum` on a file of ten elements. */
int bench_start_up(bool json, int rounds);

#endif
