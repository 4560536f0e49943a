/* Datasets of HDF5 files, by libhdf5, which is loaded when such a file is read. */
#ifndef BITFOLD_CLI_CONTAINER_HDF5_H
#define BITFOLD_CLI_CONTAINER_HDF5_H

#include "container/feed.h"
#include "container/listing.h"
#include "container/npy.h"

typedef struct hdf5_dataset {
    npy_header layout;
    int64_t at; /* where in the file its elements lie, in C order; -1: the feed gives them */
    feed feed;
} hdf5_dataset;

/* Opens a dataset; path NULL: the only one. limit: bytes of memory that it may take to read it; 0:
 * as many as is usual. Returns an exit code; unless it is EXIT_DONE, see *refused. */
int hdf5_open(hdf5_dataset *d, const char *file, const char *path, int64_t limit,
              listing_refusal *refused);

#endif
