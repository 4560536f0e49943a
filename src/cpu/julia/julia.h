/* Julia and Mandelbrot sets on the CPU. */
#ifndef BF_CPU_JULIA_JULIA_H
#define BF_CPU_JULIA_JULIA_H

#include "cpu/runtime/context.h"
#include "seam/julia.h"

/* --- the loops of an instruction set --- */

enum {
    BF_JULIA_TILE = 4096, /* pixels at most: the lists of their orbits stay in L2 */
    BF_JULIA_SPARE = 64,  /* elements behind a list that loops may write to */
    BF_JULIA_LISTS = 10,  /* z, c and pixel of orbits under way, and of those that ended */
    BF_JULIA_WORK_ALIGN = 64
};

/* A tile of columns x rows pixels, none of which overflows before it escapes (bf_julia_is_tame). */
typedef struct bf_julia_tile {
    const void
        *re; /* columns coordinates of the loop's dtype, and BF_JULIA_SPARE that may be read */
    const void *im; /* rows of them */
    int columns, rows;
    bool mandelbrot;
    bool sticky; /* bf_julia_is_sticky */
    int iterations;
    double c_re, c_im, escape;
    uint16_t *counts; /* columns * rows of them */
} bf_julia_tile;

/* A worker's memory for the lists, the same for both dtypes. */
typedef struct bf_julia_work {
    _Alignas(BF_JULIA_WORK_ALIGN) char lists[BF_JULIA_LISTS]
                                            [(BF_JULIA_TILE + BF_JULIA_SPARE) * sizeof(double)];
} bf_julia_work;

/* Counts the pixels of a tile. */
typedef void (*bf_julia_loop)(const bf_julia_tile *tile, bf_julia_work *work);

typedef struct bf_julia_loops {
    bf_julia_loop f32, f64;
} bf_julia_loops;

/* --- julia.c: the backend's function --- */

bf_status bf_cpu_julia(bf_context *context, const bf_julia_job *job);

#endif
