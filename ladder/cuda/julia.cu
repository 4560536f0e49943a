/* The Julia set: no thread knows beforehand how long its work takes.
 *
 * A warp goes on until the last of its lanes is done. So the speed depends on which pixels are
 * lanes of one warp, and on the operations around a step. */
#include "ladder/cuda/gpu.cuh"
#include "ladder/julia.h"

enum { BLOCK_WIDTH = 32, BLOCK_HEIGHT = 8, WARP_WIDTH = 8, WARP_HEIGHT = 4, TESTED = 4 };

/* A program would fill it with cudaMemcpyToSymbol. */
static __constant__ ladder_picture constant_picture = LADDER_PICTURE;
static __device__ ladder_picture global_picture = LADDER_PICTURE;

static __device__ __forceinline__ void put(uint16_t *out, int side, int x, int y, int count) {
    out[static_cast<int64_t>(y) * side + x] = static_cast<uint16_t>(count);
}

static __device__ __forceinline__ void draw(const ladder_picture *p, uint16_t *out, int side, int x,
                                            int y) {
    const float re = ladder_coordinate(p, side, x), im = ladder_coordinate(p, side, y);
    put(out, side, x, y, ladder_escape(p, re, im));
}

/* One lane of 32 works, and a block is started for each pixel. */
static __global__ void draw_block_a_pixel(uint16_t *out, int side) {
    draw(&global_picture, out, side, static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y));
}

/* A warp is 32 pixels of a row. */
template <bool CONSTANT> static __global__ void draw_tiles(uint16_t *out, int side) {
    const int x = blockIdx.x * BLOCK_WIDTH + threadIdx.x,
              y = blockIdx.y * BLOCK_HEIGHT + threadIdx.y;
    if (x < side && y < side) draw(CONSTANT ? &constant_picture : &global_picture, out, side, x, y);
}

/* The pixel of a thread if a warp has 8 x 4 pixels, whose orbits have similar lengths. */
static __device__ __forceinline__ int warp_tile_x() {
    return blockIdx.x * BLOCK_WIDTH + threadIdx.y % 4 * WARP_WIDTH + threadIdx.x % WARP_WIDTH;
}
static __device__ __forceinline__ int warp_tile_y() {
    return blockIdx.y * BLOCK_HEIGHT + threadIdx.y / 4 * WARP_HEIGHT + threadIdx.x / WARP_WIDTH;
}

static __global__ void draw_warp_tiles(uint16_t *out, int side) {
    const int x = warp_tile_x(), y = warp_tile_y();
    if (x < side && y < side) draw(&constant_picture, out, side, x, y);
}

/* Makes those counts by fewer operations. A test's squares serve the next step. re*im + im*re is
 * doubled within the addition that follows, which adds no rounding. Orbits are tested only after
 * every fourth step; an orbit that has escaped by then repeats those steps one by one. */
static __global__ void draw_few_tests(uint16_t *out, int side) {
    const ladder_picture *p = &constant_picture;
    const int x = warp_tile_x(), y = warp_tile_y();
    if (x >= side || y >= side) return;
    float re = ladder_coordinate(p, side, x), im = ladder_coordinate(p, side, y);
    float re2 = re * re, im2 = im * im, start_re = re, start_im = im;
    int i = 0;
    for (; i < p->steps; i += TESTED) {
        start_re = re;
        start_im = im;
#pragma unroll
        for (int s = 0; s < TESTED; s++) {
            const float product = im * re;
            re = (re2 - im2) + p->c_re;
            im = __fmaf_rn(2, product, p->c_im);
            re2 = re * re;
            im2 = im * im;
        }
        if (!(re2 + im2 <= p->escape)) break;
    }
    if (i < p->steps) i += ladder_escape(p, start_re, start_im);
    put(out, side, x, y, i);
}

/* ---- rungs ----------------------------------------------------------------------------------- */

static uint16_t *counts_of(const ladder_task *t) { return static_cast<uint16_t *>(t->out); }

static const char *run_block_a_pixel(const ladder_task *t) {
    const int side = ladder_side(t->n);
    if (side > 65535) return "a grid has no more than 65535 rows of blocks";
    draw_block_a_pixel<<<dim3(side, side), 1, 0, stream_of(t)>>>(counts_of(t), side);
    return launched();
}

typedef void picture_kernel(uint16_t *out, int side);

static const char *run(const ladder_task *t, picture_kernel *kernel) {
    const int side = ladder_side(t->n);
    const dim3 blocks((side + BLOCK_WIDTH - 1) / BLOCK_WIDTH,
                      (side + BLOCK_HEIGHT - 1) / BLOCK_HEIGHT);
    kernel<<<blocks, dim3(BLOCK_WIDTH, BLOCK_HEIGHT), 0, stream_of(t)>>>(counts_of(t), side);
    return launched();
}

static const char *run_tiles(const ladder_task *t) { return run(t, draw_tiles<false>); }
static const char *run_constant(const ladder_task *t) { return run(t, draw_tiles<true>); }
static const char *run_warp_tiles(const ladder_task *t) { return run(t, draw_warp_tiles); }
static const char *run_few_tests(const ladder_task *t) { return run(t, draw_few_tests); }

const ladder_rung ladder_gpu_julia[] = {
    {"block a pixel", "a block of one thread for each pixel", run_block_a_pixel, 0},
    {"tiles", "blocks of 32 x 8 threads: a warp is a piece of a row", run_tiles, 0},
    {"constant", "the same, with parameters in constant memory", run_constant, 0},
    {"warp tiles", "a warp is 8 x 4 pixels: its lanes end together more often", run_warp_tiles, 0},
    {"few tests", "squares shared, p + p + c in one operation, every 4th step tested",
     run_few_tests, 0},
    {"ours", "the last steps read off the magnitude; z and -z share an orbit", ladder_ours_julia,
     LADDER_OURS},
    {NULL, NULL, NULL, 0},
};
