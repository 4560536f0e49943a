#include "container/hdf5_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static hdf5_library library;
static bool tried, loaded;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* HDF5 1.10, 1.12, 1.14 and 2.0, as distributions name them. */
static const char *const names[] = {
    "libhdf5_serial.so.103", "libhdf5.so.103", "libhdf5_serial.so.310", "libhdf5.so.310",
    "libhdf5_serial.so.200", "libhdf5.so.200", "libhdf5_serial.so.320", "libhdf5.so.320",
    "libhdf5_serial.so",     "libhdf5.so"};

/* In the order of hdf5_library. */
static const char *const symbols[] = {"H5Fopen",
                                      "H5Fclose",
                                      "H5Oopen",
                                      "H5Oclose",
                                      "H5Iget_type",
                                      "H5Gget_info",
                                      "H5Lget_name_by_idx",
                                      "H5Rcreate",
                                      "H5Dget_space",
                                      "H5Dget_type",
                                      "H5Dget_create_plist",
                                      "H5Dget_offset",
                                      "H5Dread",
                                      "H5Sget_simple_extent_type",
                                      "H5Sget_simple_extent_ndims",
                                      "H5Sget_simple_extent_dims",
                                      "H5Screate_simple",
                                      "H5Sselect_hyperslab",
                                      "H5Sclose",
                                      "H5Tget_class",
                                      "H5Tget_size",
                                      "H5Tget_order",
                                      "H5Tget_sign",
                                      "H5Tget_precision",
                                      "H5Tget_fields",
                                      "H5Tenum_valueof",
                                      "H5Tcopy",
                                      "H5Tset_order",
                                      "H5Tclose",
                                      "H5Pget_layout",
                                      "H5Pget_chunk",
                                      "H5Pget_nfilters",
                                      "H5Pclose",
                                      "H5Eset_auto2",
                                      "H5Ewalk2"};

enum { SYMBOLS = sizeof symbols / sizeof *symbols };
_Static_assert(sizeof library == SYMBOLS * sizeof(void *), "a name for each function");

static bool load_functions(void *from) {
    void *found[SYMBOLS];
    bool all = true;
    for (int i = 0; i < SYMBOLS && all; i++) all = (found[i] = dlsym(from, symbols[i])) != NULL;
    if (all) memcpy(&library, found, sizeof library);
    return all;
}

/* The library stays loaded. Files that lie where nothing can be locked are read all the same, and
 * failures are told by the command. */
static void load(void) {
    void *from = NULL;
    setenv("HDF5_USE_FILE_LOCKING", "BEST_EFFORT", 0);
    for (size_t i = 0; i < sizeof names / sizeof *names && !from; i++)
        from = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    loaded = from && load_functions(from) && library.report_by(HDF5_DEFAULT, NULL, NULL) >= 0;
}

const hdf5_library *hdf5_enter(void) {
    pthread_mutex_lock(&mutex);
    if (!tried) load();
    tried = true;
    if (loaded) return &library;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

void hdf5_leave(void) { pthread_mutex_unlock(&mutex); }
