/* The seam between the API and the machines that do the work.
 *
 * A backend takes contiguous elements into the words of a state (src/rules/reduce/state.h). It
 * differs from the others in speed, never in result. src/seam/place.h chooses one for each call.
 * Rules common to all functions:
 * - the API layer has checked every argument: dtypes are known, counts are positive, memory is
 *   contiguous (but maybe misaligned), and the total count stays within BF_COUNT_MAX;
 * - words are carried on entry and on return;
 * - on failure words are as they were, and the context has a message;
 * - a context is used by one thread at a time. */
#ifndef BF_SEAM_BACKEND_H
#define BF_SEAM_BACKEND_H

#include "rules/histogram/bin.h"
#include "rules/julia/mirror.h"
#include "rules/reduce/state.h"
#include "seam/watch.h"
#include <bitfold/array.h>
#include <bitfold/context.h>
#include <bitfold/group.h>
#include <bitfold/reduce.h>
#include <bitfold/table.h>

/* Elements to take into a state. */
typedef struct bf_job {
    bf_reduction op;
    bf_kind kind; /* of op */
    bf_dtype dtype;
    const void *a;
    const void *b; /* BF_KIND_PRODUCTS: the other factor; else NULL */
    int64_t count;
    int64_t index; /* of a[0]; BF_KIND_EXTREME */
} bf_job;

/* Elements to compute from elements: out[i] = op(in[0][i], ...). */
typedef struct bf_map_job {
    bf_map_op op;
    bf_overflow_policy overflow;
    int arity;
    bool refuse_zero; /* BF_MAP_DIV: of integers, where a divisor of 0 is an error */
    bf_dtype work;    /* inputs are cast to this (rounded once), and op computes in it */
    bf_dtype to;      /* of out: work, but BF_BOOL for comparisons */
    bf_dtype from[3];
    const void *in[3];
    bool single[3]; /* one element, which stands for every one */
    void *out;      /* may be an input whose elements are as wide; overlaps none otherwise */
    int64_t count;
    int64_t index; /* of out[0], for messages */
} bf_map_job;

/* Elements to count in bins. */
typedef struct bf_bin_job {
    const bf_bins *bins;
    bf_dtype dtype;
    const void *data;
    bf_dtype weights_dtype;
    const void *weights; /* NULL: none */
    int64_t count;
} bf_bin_job;

/* Memory of any strides, for what is not contiguous. */
typedef struct bf_strided {
    char *data;
    int bytes; /* of an element */
    int ndim;  /* at least 1 */
    int64_t shape[BF_MAX_DIMS];
    int64_t strides[BF_MAX_DIMS]; /* in elements */
} bf_strided;

/* A rectangle of a picture: its pixel (i, j) goes to counts[j * stride + i]. */
typedef struct bf_julia_job {
    bf_julia_view view;
    bf_rectangle at;
    uint16_t *counts; /* aligned */
    int64_t stride;
} bf_julia_job;

/* What a table holds. */
typedef struct bf_table_kind {
    bf_dtype key, value; /* value: BF_NONE of a set */
    bf_duplicates duplicates;
    uint64_t seed;
} bf_table_kind;

/* A backend's tables. The rules for keys and values are those of src/rules/table/entry.h; n > 0,
 * and values is NULL for a set. Errors of all: BF_E_MEMORY, BF_E_DEVICE, and then the table is as
 * it was. Entries do not depend on threads, nor on the hash and its seed. */
typedef struct bf_table_backend {
    bf_status (*create)(bf_context *context, const bf_table_kind *kind, void **table);
    void (*destroy)(bf_context *context, void *table);
    void (*clear)(bf_context *context, void *table);
    /* Makes room for so many entries in all. */
    bf_status (*reserve)(bf_context *context, void *table, int64_t entries);
    int64_t (*size)(const void *table);
    bf_status (*insert)(bf_context *context, void *table, const void *keys, const void *values,
                        int64_t n);
    /* values and found may be NULL; the value of a key that is not there stays. */
    bf_status (*find)(bf_context *context, void *table, const void *keys, int64_t n, void *values,
                      uint8_t *found);
    /* Entries of each key (counts may be NULL), and of all together. */
    bf_status (*count)(bf_context *context, void *table, const void *keys, int64_t n,
                       int64_t *counts, int64_t *total);
    /* All values of the keys, one after another. */
    bf_status (*find_all)(bf_context *context, void *table, const void *keys, int64_t n,
                          void *values);
    bf_status (*erase)(bf_context *context, void *table, const void *keys, int64_t n,
                       int64_t *erased);
    /* All entries (there are some), by key; values may be NULL. */
    bf_status (*list)(bf_context *context, void *table, void *keys, void *values);
} bf_table_backend;

/* What groups are made for. */
typedef struct bf_group_kind {
    bf_dtype key;
    int count;
    const bf_aggregate *aggregates; /* copied */
    uint64_t seed;
} bf_group_kind;

/* A backend's groups. The rules for keys are those of src/rules/key/rank.h, those for values are
 * the states'. Errors of all: BF_E_MEMORY, BF_E_DEVICE, and then the groups are as they were. */
typedef struct bf_group_backend {
    bf_status (*create)(bf_context *context, const bf_group_kind *kind, void **groups);
    void (*destroy)(bf_context *context, void *groups);
    void (*clear)(bf_context *context, void *groups);
    int64_t (*size)(const void *groups);
    /* n > 0 rows: keys, and the values of each aggregate. */
    bf_status (*absorb)(bf_context *context, void *groups, const void *keys,
                        const void *const values[], int64_t n);
    /* Both are of one kind, but for the seed. */
    bf_status (*merge)(bf_context *context, void *into, const void *from);
    /* Keys and counts (i64; both need not be aligned, and may be NULL) of all groups, of which
     * there are some, by key. */
    bf_status (*list)(bf_context *context, void *groups, void *keys, void *counts);
    /* The words of states (src/rules/reduce/state.h) with the values of groups [first, first + n),
     * by key, group after group, of the kind of this aggregate; carried. */
    bf_status (*words)(bf_context *context, void *groups, int which, int64_t first, int64_t n,
                       int64_t *words);
    /* Takes in n > 0 groups of different keys, ascending: counts of rows, and words of each
     * aggregate. */
    bf_status (*enter)(bf_context *context, void *groups, const void *keys, const int64_t *counts,
                       const int64_t *const words[], int64_t n);
} bf_group_backend;

/* Functions that may be NULL say so; the API then has an answer of its own. */
typedef struct bf_backend {
    const char *name;
    /* Sets up the context's member for this backend from checked options; errors BF_E_DEVICE,
     * BF_E_MEMORY, with a message. */
    bf_status (*open)(bf_context *context, const bf_options *options);
    /* Frees it; does nothing where it was never opened. */
    void (*close)(bf_context *context);
    /* Takes the job's elements into words. Errors: BF_E_MEMORY, BF_E_DEVICE. */
    bf_status (*reduce)(bf_context *context, const bf_job *job, int64_t *words);
    /* Enqueues the whole reduction: *value, in memory that the device can write, becomes what the
     * rules make of the job and the options (all checked; job->count may be 0 here). NULL: there is
     * no queue. */
    bf_status (*reduce_async)(bf_context *context, const bf_job *job,
                              const bf_reduce_options *options, bf_value *value);
    /* Computes job->count elements. Errors: BF_E_OVERFLOW, BF_E_ARGUMENT (division by zero), both
     * with the first index in the message; out may then have been written to. */
    bf_status (*map)(bf_context *context, const bf_map_job *job);
    /* Enqueues it; errors of the data are left to synchronize. NULL: there is no queue. */
    bf_status (*map_async)(bf_context *context, const bf_map_job *job);
    /* Adds the elements of each bin to counts, which has bins->count + BF_BIN_OTHERS of them, and
     * their weights to sums: for each bin the words of a BF_KIND_SUM state (NULL: no weights).
     * Errors: BF_E_MEMORY, BF_E_DEVICE. */
    bf_status (*histogram)(bf_context *context, const bf_bin_job *job, int64_t *counts,
                           int64_t *sums);
    /* Enqueues it, without weights: counts, in memory that the device can write, are set. The
     * bins stay as they are until the work is done. NULL: there is no queue. */
    bf_status (*histogram_async)(bf_context *context, const bf_bin_job *job, int64_t *counts);
    /* Copies elements [first, first + count) of `from`, in C order, to contiguous memory, and back.
     */
    bf_status (*gather)(bf_context *context, const bf_strided *from, int64_t first, int64_t count,
                        void *to);
    bf_status (*scatter)(bf_context *context, const bf_strided *to, int64_t first, int64_t count,
                         const void *from);
    /* The context's scratch of scratch_bytes, for copies; NULL: no memory, with a message. */
    void *(*scratch)(bf_context *context);
    size_t scratch_bytes;
    /* memory.h; bytes > 0. NULL: no memory, with a message. */
    void *(*allocate)(bf_context *context, size_t bytes);
    void (*release)(bf_context *context, void *memory);
    bf_status (*copy)(bf_context *context, void *to, const void *from, size_t bytes);
    /* Counts the job's pixels. Errors: BF_E_MEMORY, BF_E_DEVICE. */
    bf_status (*julia)(bf_context *context, const bf_julia_job *job);
    /* Enqueues it. NULL: there is no queue. */
    bf_status (*julia_async)(bf_context *context, const bf_julia_job *job);
    /* context.h. NULL: there is no queue. */
    bf_status (*set_stream)(bf_context *context, void *stream);
    bf_status (*synchronize)(bf_context *context);
    /* NULL: there are none. */
    const bf_table_backend *tables;
    const bf_group_backend *groups;
} bf_backend;

extern const bf_backend bf_backend_cpu;
#ifdef BITFOLD_CUDA
extern const bf_backend bf_backend_cuda;
#endif

struct bf_context {
    const bf_backend *fixed; /* the device that was asked for by name; NULL: call by call */
    const bf_backend *used;  /* by the last call */
    const char *reason;      /* for that choice; "" if it is fixed */
    struct bf_cpu *cpu;      /* always open: the host's memory is its to walk */
    struct bf_cuda *cuda;    /* NULL: not open */
    void *stream;            /* for the GPU when it opens; NULL: its own */
    char gpu[16];            /* "cuda:0", once it is open */
    bool gpu_failed;         /* to open: it is not tried again */
    bool in_use;             /* by a call (api/runtime/enter.h) */
    bf_watched watched;
    char message[BF_MESSAGE_TEXT];
};

static inline bool bf_is_watched(const bf_context *context) {
    return context->watched.watch.tick != NULL;
}

/* The backend of GPUs; NULL: this build has none. */
const bf_backend *bf_backend_gpu(void);

/* Opens GPU number `device` for the context, if it has none open. Errors: BF_E_DEVICE, BF_E_MEMORY,
 * with a message. */
bf_status bf_backend_open_gpu(bf_context *context, int device);

/* Sets the context's message and returns status, for `return bf_fail(...)`. */
bf_status bf_fail(bf_context *context, bf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
