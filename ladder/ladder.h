/* The ladder: classic teaching kernels, one technique a rung, timed and checked beside ours.
 *
 * ladder.c chooses the work, times it and judges it. A machine (gpu.cu, cpu.c) has the rungs,
 * memory and a clock. A function that returns text returns NULL on success, else a message. */
#ifndef BITFOLD_LADDER_LADDER_H
#define BITFOLD_LADDER_LADDER_H

#include <bitfold.h>
#include <stdbool.h>

#ifdef __CUDACC__
#define LADDER_ANYWHERE __host__ __device__
#else
#define LADDER_ANYWHERE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What there is a ladder for. */
enum ladder_work {
    LADDER_LIMIT,     /* reads n bytes at a and does nothing else: the limit for the others */
    LADDER_NUMBERS,   /* 2 + 7 */
    LADDER_REDUCE,    /* n i32 at a become one */
    LADDER_SCAN,      /* n i32 at a: out[i], an i64, is the sum of a[0] to a[i] */
    LADDER_ADD,       /* n f32: out[i] = a[i] + b[i] */
    LADDER_DOT,       /* n f32: the sum of a[i] * b[i] */
    LADDER_CONSTANT,  /* n u32: out[i] = the sum over the table's entries t of (t ^ i) * t */
    LADDER_ATOMICS,   /* n times x++ */
    LADDER_HISTOGRAM, /* n bytes at a: the count of each value */
    LADDER_JULIA,     /* u16 at out: a square picture of n pixels at most (julia.h) */
    LADDER_BUILD,     /* n u32 keys at a, all different: their table at out (table.h) */
    LADDER_FIND,      /* n u32 keys at a, each in the table at built: their values at out */
    LADDER_WORKS
};

/* The small table that every thread of LADDER_CONSTANT reads. */
#define LADDER_TABLE                                                                               \
    2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89,    \
        97, 101, 103, 107, 109, 113, 127, 131
enum { LADDER_TABLE_SIZE = 32 };

enum {
    LADDER_VALUES = 256,    /* values of a byte */
    LADDER_RESULT = 2304,   /* bytes of room for a single result, such as a count for each value */
    LADDER_PARTIALS = 4096, /* most partial results that a rung leaves */
};

/* The work of one rung. Memory is where the machine computes, unless it says otherwise. */
typedef struct ladder_task {
    bf_reduction op; /* for LADDER_REDUCE: BF_SUM, BF_PROD, BF_MAX or BF_MIN */
    int64_t n;
    const void *a, *b;
    const void *managed; /* a again, in managed memory; NULL: there is none */
    void *out;           /* n elements, or one result: an element, or for ours a bf_value */
    /* For a histogram it has LADDER_VALUES unsigned counts, and for ours those of
     * bf_histogram_async. */
    bf_histogram *histogram; /* for ours: every byte has a bin */
    void *spare;             /* for LADDER_SCAN: room for as many i64 as at out */
    const void *built;       /* what a rung of LADDER_BUILD left at out */
    bf_table **table;        /* for ours: made by its first run, with the values at b */
    void *host;              /* the table on the host, for rungs with LADDER_ON_HOST */
    void *partial;           /* LADDER_PARTIALS elements of 4 bytes */
    unsigned *ticket;        /* 0 between runs */
    int processors;          /* multiprocessors of the GPU; threads of the CPU */
    bf_context *context;     /* for ours */
    void *stream;            /* a cudaStream_t; NULL on the CPU */
} ladder_task;

enum {
    LADDER_OURS = 1,    /* exact, to the bit */
    LADDER_ON_HOST = 2, /* the result is at task->host */
    LADDER_LOSES = 4,   /* wrong by design: the loss is shown, not judged */
    LADDER_FEW = 8,     /* it builds few chains (table.h); otherwise many */
    LADDER_SLOTS = 16   /* it builds slots */
};

typedef struct ladder_rung {
    const char *name, *technique;                /* a ladder ends with a rung without a name */
    const char *(*run)(const ladder_task *task); /* on a GPU it may only enqueue */
    unsigned is;
} ladder_rung;

typedef struct ladder_machine {
    const ladder_rung *rungs[LADDER_WORKS];
    /* Readies a device: sets task->processors, context and stream. close follows in any case. */
    const char *(*open)(ladder_task *task, int device);
    void (*close)(ladder_task *task);
    void *(*allocate)(size_t bytes); /* NULL: no memory */
    void *(*allocate_managed)(size_t bytes);
    void (*release)(void *memory, bool managed);
    const char *(*copy)(void *to, const void *from, size_t bytes);
    const char *(*fill)(void *memory, int byte, size_t bytes);
    /* Seconds that `repeats` runs take, one after another. */
    const char *(*time)(const ladder_rung *rung, const ladder_task *task, int repeats,
                        double *seconds);
} ladder_machine;

extern const ladder_machine ladder_cpu;
#ifdef BITFOLD_CUDA
extern const ladder_machine ladder_gpu;
#endif

/* The time of a rung, and the result of its check. */
typedef struct ladder_row {
    const char *topic, *work, *rung, *technique;
    const char *dtype;
    int64_t n;
    double seconds;      /* the median of the runs */
    double bytes;        /* read and written; 0: not a measure of this work */
    double limit;        /* bytes per second; 0: not measured */
    double times;        /* as fast as the first rung */
    bool first;          /* the first rung of its ladder */
    bool good;           /* it passed its check */
    double ulp;          /* the error, in units of the last place of f32; negative: integers */
    int64_t lost;        /* updates; negative: nothing was counted */
    double probes;       /* entries that a lookup passes, on average; negative: not counted */
    const char *problem; /* NULL, or why it could not run */
} ladder_row;

typedef void ladder_emit(const ladder_row *row, void *argument);

typedef struct ladder_options {
    const ladder_machine *machine;
    int device;   /* bitfold/device.h */
    int64_t size; /* elements; 0: the usual sizes */
    bool quick;
} ladder_options;

/* The name of topic number i, and a line on it; NULL past the last. */
const char *ladder_topic(int i, const char **summary);

/* Runs all ladders of a topic and emits a row for each rung. Sets *opened if the device could be
 * opened. */
const char *ladder_climb(const ladder_options *options, const char *topic, ladder_emit *emit,
                         void *argument, bool *opened);

#ifdef __cplusplus
}
#endif
#endif
