/* OpenBLAS: the fastest plain dot products and sums of any library. */
#include "peer.h"

#include <cblas.h>

static double sum_f32(const void *a, const void *b, size_t count) {
    (void)b;
    return cblas_ssum((blasint)count, a, 1);
}

static double sum_f64(const void *a, const void *b, size_t count) {
    (void)b;
    return cblas_dsum((blasint)count, a, 1);
}

static double dot_f32(const void *a, const void *b, size_t count) {
    return cblas_sdot((blasint)count, a, 1, b, 1);
}

static double dot_f64(const void *a, const void *b, size_t count) {
    return cblas_ddot((blasint)count, a, 1, b, 1);
}

int main(void) {
    static const peer_work works[] = {{"sum", "f32", sum_f32},
                                      {"sum", "f64", sum_f64},
                                      {"dot", "f32", dot_f32},
                                      {"dot", "f64", dot_f64},
                                      {0}};
    return peer_serve("openblas", works, openblas_set_num_threads);
}
