/* The functions of libhdf5 that are called here, declared here, so that a build needs none of it.
 *
 * The library may be built without threads: one at a time calls it. */
#ifndef BITFOLD_CLI_CONTAINER_HDF5_LIBRARY_H
#define BITFOLD_CLI_CONTAINER_HDF5_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef int64_t hdf5_id;    /* less than 0: it failed */
typedef uint64_t hdf5_size; /* an extent */

/* A group, as the library describes it. */
typedef struct hdf5_group {
    int storage;
    hdf5_size links;
    int64_t order;
    bool mounted;
} hdf5_group;

/* Why something failed: the innermost is the first. */
typedef struct hdf5_cause {
    hdf5_id class, major, minor;
    unsigned line;
    const char *function, *file, *what;
} hdf5_cause;

enum { HDF5_DEFAULT = 0, HDF5_MAX_DIMS = 32 };
enum hdf5_kind { HDF5_GROUP = 2, HDF5_DATASET = 5 };
enum hdf5_class { HDF5_INTEGER = 0, HDF5_FLOAT = 1, HDF5_ENUM = 8 };
enum hdf5_order { HDF5_LITTLE = 0, HDF5_BIG = 1 };
enum hdf5_layout { HDF5_CONTIGUOUS = 1, HDF5_CHUNKED = 2 };
enum hdf5_space { HDF5_SIMPLE = 1, HDF5_NULL = 2 };

typedef struct hdf5_library {
    hdf5_id (*open_file)(const char *, unsigned, hdf5_id);
    int (*close_file)(hdf5_id);
    hdf5_id (*open_object)(hdf5_id, const char *, hdf5_id);
    int (*close_object)(hdf5_id);
    int (*kind)(hdf5_id);
    int (*describe_group)(hdf5_id, hdf5_group *);
    ssize_t (*name_of)(hdf5_id, const char *, int, int, hdf5_size, char *, size_t, hdf5_id);
    int (*address_of)(uint64_t *, hdf5_id, const char *, int, hdf5_id);
    hdf5_id (*space_of)(hdf5_id);
    hdf5_id (*type_of)(hdf5_id);
    hdf5_id (*properties_of)(hdf5_id);
    uint64_t (*offset_of)(hdf5_id);
    int (*read)(hdf5_id, hdf5_id, hdf5_id, hdf5_id, hdf5_id, void *);
    int (*space_kind)(hdf5_id);
    int (*dims)(hdf5_id);
    int (*shape)(hdf5_id, hdf5_size *, hdf5_size *);
    hdf5_id (*make_space)(int, const hdf5_size *, const hdf5_size *);
    int (*select)(hdf5_id, int, const hdf5_size *, const hdf5_size *, const hdf5_size *,
                  const hdf5_size *);
    int (*close_space)(hdf5_id);
    int (*class_of)(hdf5_id);
    size_t (*size_of)(hdf5_id);
    int (*order_of)(hdf5_id);
    int (*sign_of)(hdf5_id);
    size_t (*precision_of)(hdf5_id);
    int (*fields_of)(hdf5_id, size_t *, size_t *, size_t *, size_t *, size_t *);
    int (*value_of)(hdf5_id, const char *, void *);
    hdf5_id (*copy_type)(hdf5_id);
    int (*set_order)(hdf5_id, int);
    int (*close_type)(hdf5_id);
    int (*layout_of)(hdf5_id);
    int (*chunk_of)(hdf5_id, int, hdf5_size *);
    int (*filters_of)(hdf5_id);
    int (*close_properties)(hdf5_id);
    int (*report_by)(hdf5_id, void *, void *);
    int (*walk_causes)(hdf5_id, int, int (*)(unsigned, const hdf5_cause *, void *), void *);
} hdf5_library;

/* The library, loaded once, to be used until hdf5_leave by nobody else. NULL: it is not on this
 * machine, and must not be left. */
const hdf5_library *hdf5_enter(void);
void hdf5_leave(void);

#endif
