/* The smallest program: one exact sum. Plain addition gives 0 here. */
#include <bitfold.h>
#include <stdio.h>

int main(void) {
    const double x[] = {1e20, 1.0, -1e20};
    double total;

    bf_context *ctx;
    bf_status st = bf_context_create(NULL, &ctx);
    if (st == BF_OK) {
        st = bf_sum_f64(ctx, x, 3, &total);
        bf_context_destroy(ctx);
    }
    if (st != BF_OK) {
        fprintf(stderr, "sum: %s\n", bf_status_string(st));
        return 1;
    }
    printf("%g\n", total);
    return total == 1.0 ? 0 : 1;
}
