/* The inside of Julia and Mandelbrot sets. */
#ifndef BF_API_JULIA_JULIA_H
#define BF_API_JULIA_JULIA_H

/* Returns the share (api/runtime/place.h) of counting up to so many iterations a pixel. */
int bf_julia_share(int iterations);

#endif
