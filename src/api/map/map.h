/* The inside of element-wise operations. */
#ifndef BF_API_MAP_MAP_H
#define BF_API_MAP_MAP_H

#include <bitfold/map.h>

/* Returns the share (seam/place.h) of an operation. */
int bf_map_share(bf_map_op op);

#endif
