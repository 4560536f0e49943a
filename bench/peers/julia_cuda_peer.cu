// The Julia set by the kernels one writes down, with each operation rounded as it is written
// (-fmad=false): a thread a pixel in tiles of 32 x 8, or a block a pixel; the argument says which.
// 'fixed' is 'tiles' for one set alone: the compiler knows c and the number of steps, unrolls them
// and keeps the squares of a test for the next step (11 instead of 16 instructions a step).
#include "cuda_serve.h"
#include "works/keys.h"

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

constexpr int TILE_WIDTH = 32, TILE_HEIGHT = 8;

struct set {
    float re, im, escape;
    int steps;
};
__host__ __device__ constexpr set classic_set() { return {-0.8F, 0.156F, 1000, 200}; }

struct view {
    int side;
    float center_re, center_im;
};

__device__ __forceinline__ int escape(const set &c, float re, float im) {
    int i = 0;
    for (; i < c.steps; i++) {
        const float next = re * re - im * im + c.re;
        im = im * re + re * im + c.im;
        re = next;
        if (re * re + im * im > c.escape) break;
    }
    return i;
}

__device__ __forceinline__ void draw(uint16_t *counts, const view &v, const set &c, int x, int y) {
    const float unit = static_cast<float>(v.side > 1 ? v.side / 2 : 1);
    const float re = 1.5F * static_cast<float>(x - v.side / 2) / unit + v.center_re;
    const float im = 1.5F * static_cast<float>(y - v.side / 2) / unit + v.center_im;
    counts[size_t(y) * v.side + x] = static_cast<uint16_t>(escape(c, re, im));
}

template <bool FIXED> __global__ void draw_tile(uint16_t *counts, view v, set c) {
    const int x = blockIdx.x * TILE_WIDTH + threadIdx.x, y = blockIdx.y * TILE_HEIGHT + threadIdx.y;
    if (x >= v.side || y >= v.side) return;
    draw(counts, v, FIXED ? classic_set() : c, x, y);
}

__global__ void draw_pixel(uint16_t *counts, view v, set c) {
    draw(counts, v, c, blockIdx.x, blockIdx.y);
}

view view_of(const cuda_call &c) {
    const bool shifted = std::strcmp(c.data, "shifted") == 0;
    const int side = static_cast<int>(bench_side_of(c.count));
    return {side, shifted ? float(BENCH_SHIFT_RE) : 0, shifted ? float(BENCH_SHIFT_IM) : 0};
}

template <bool FIXED> cudaError_t tiles(const cuda_call &c) {
    const view v = view_of(c);
    const dim3 blocks((v.side + TILE_WIDTH - 1) / TILE_WIDTH,
                      (v.side + TILE_HEIGHT - 1) / TILE_HEIGHT);
    draw_tile<FIXED><<<blocks, dim3(TILE_WIDTH, TILE_HEIGHT), 0, c.stream>>>(
        static_cast<uint16_t *>(c.out), v, classic_set());
    return cudaGetLastError();
}

cudaError_t block(const cuda_call &c) {
    const view v = view_of(c);
    draw_pixel<<<dim3(v.side, v.side), 1, 0, c.stream>>>(static_cast<uint16_t *>(c.out), v,
                                                         classic_set());
    return cudaGetLastError();
}

const struct {
    const char *name;
    const cuda_work works[2];
} peers[] = {
    {"tiles", {{"julia", "f32", tiles<false>, false}, {nullptr, nullptr, nullptr, false}}},
    {"fixed", {{"julia", "f32", tiles<true>, false}, {nullptr, nullptr, nullptr, false}}},
    {"block", {{"julia", "f32", block, false}, {nullptr, nullptr, nullptr, false}}},
};

} // namespace

int main(int argc, char **argv) {
    for (const auto &peer : peers)
        if (argc == 2 && std::strcmp(argv[1], peer.name) == 0)
            return cuda_serve(peer.name, peer.works);
    std::fprintf(stderr, "usage: julia_cuda_peer tiles|fixed|block\n");
    return 2;
}
