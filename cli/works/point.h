/* How bench times a work. A point is work on data of one size. */
#ifndef BITFOLD_CLI_WORKS_POINT_H
#define BITFOLD_CLI_WORKS_POINT_H

#include "work/statefile.h"

#include <bitfold.h>
#include <stdbool.h>

enum {
    POINT_COUNTS = 4,
    POINT_VECTORS = 5,
    POINT_BLOCK = 1 << 26 /* bytes of the data that memory on a GPU repeats */
};

/* A GPU to measure, and the data on it. */
typedef struct bench_gpu {
    bf_context *context; /* NULL: the CPU is measured */
    bf_device_info info;
    int number;      /* bitfold/device.h; BF_DEVICE_CPU: no GPU is measured */
    char isa[16];    /* "sm_90" */
    char driver[16]; /* the CUDA version of the driver: "13.0" */
    char *memory;
    size_t bytes;
    void *block;              /* POINT_BLOCK bytes on the host */
    const char *dtype, *data; /* the elements in memory; NULL: none yet */
    void *result;             /* room for any result, on the GPU */
} bench_gpu;

/* Work on `bytes` bytes. With vectors, they are at `memory`: one vector; for dot and the sum of an
 * expression two; for add and an expression that is written three, of which the third is written.
 * Work that is counted in items (pixels, keys, rows) makes its own data. */
typedef struct bench_point {
    const struct work *by;
    const char *work, *dtype, *data; /* names */
    bf_reduction reduction;          /* the work, if it is one */
    char *memory;
    size_t bytes;
    size_t count;   /* elements of each vector, or items */
    size_t element; /* bytes of an element, or an item */
    int vectors;
    int threads; /* 0 on a GPU */
    bf_context *context;
    const bench_gpu *gpu; /* NULL: the CPU */
    bool stream;          /* on a GPU: passes are enqueued, and waited for at the end */
    bool pageable;        /* on a GPU: memory is the host's */
    int buffers;          /* passes use this many copies of the data in turn */
    size_t stride;        /* bytes from one copy to the next */
} bench_point;

/* Makes n elements from number `first` on. */
typedef void point_part(const bench_point *p, size_t first, size_t n, void *to);

/* A vector of a point that counts items; fill is NULL for results. */
typedef struct point_vector {
    bf_dtype dtype;
    size_t n;
    point_part *fill;
} point_vector;

/* What a work keeps between calls. */
typedef struct work_object {
    statefile saved; /* one or many reductions, a histogram or groups */
    bf_expression *expression;
    bf_table *table;
    bf_dictionary *dictionary;
    int64_t first, last; /* the rows that it has absorbed */
} work_object;

/* How a work is timed, on the vectors v: open makes all that is not timed, before each pass if that
 * begins afresh. A pass is one call. */
typedef struct measure {
    bf_status (*open)(const bench_point *p, const bf_array *v, work_object *o);
    bool (*afresh)(const bench_point *p);
    bf_status (*pass)(const bench_point *p, const work_object *o, const bf_array *v);

    /* The rest is for work that is counted in items. */
    const char *work, *item; /* "julia", "pixels"; item is NULL: counted in bytes */
    bool stream;             /* on a GPU calls are enqueued */
    /* Dtype and data of each point on the CPU and on a GPU, {NULL} after the last; and the usual
     * numbers of items, then those of --quick, 0 after the last. */
    const char *const (*points[2])[2];
    size_t counts[2][2][POINT_COUNTS];
    /* The bytes of an item with this dtype, and the most items up to n that a point can have; NULL:
     * those of an element, and n. The vectors, all of which are {0} before. */
    size_t (*item_bytes)(const char *dtype);
    size_t (*fit)(size_t n);
    void (*vectors)(const bench_point *p, point_vector v[POINT_VECTORS]);
} measure;

/* Fillers: random elements of the dtype, of floats normally distributed (the first block, which
 * those after it repeat); and the keys of the point (keys.h). */
point_part point_elements, point_keys;

#endif
