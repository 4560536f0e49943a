/* Work on a GPU, enqueued: the products of two arrays and their sum, without a copy or a wait in
 * between. Without a GPU the same calls compute on the CPU. */
#include <bitfold.h>
#include <stdio.h>

enum { COUNT = 1 << 20 };

/* Memory of the context's device: two arrays of COUNT doubles, and a place for the sum. */
typedef struct memory {
    void *x, *y, *sum;
} memory;

static bf_status allocate(bf_context *ctx, memory *m) {
    bf_status st = bf_memory_allocate(ctx, COUNT * sizeof(double), &m->x);
    if (st == BF_OK) st = bf_memory_allocate(ctx, COUNT * sizeof(double), &m->y);
    if (st == BF_OK) st = bf_memory_allocate(ctx, sizeof(bf_value), &m->sum);
    return st;
}

static void release(bf_context *ctx, const memory *m) {
    bf_memory_free(ctx, m->x);
    bf_memory_free(ctx, m->y);
    bf_memory_free(ctx, m->sum);
}

/* y = x * y, then the sum of y. */
static bf_status compute(bf_context *ctx, const memory *m, const double *x, bf_value *sum) {
    const bf_array a = bf_array_of(BF_F64, m->x, COUNT), b = bf_array_of(BF_F64, m->y, COUNT);
    const bf_array *inputs[] = {&a, &b};
    bf_status st = bf_memory_copy(ctx, m->x, x, COUNT * sizeof(double));
    if (st == BF_OK) st = bf_memory_copy(ctx, m->y, x, COUNT * sizeof(double));
    if (st == BF_OK) st = bf_map_async(ctx, BF_MAP_MUL, inputs, 2, NULL, &b);
    if (st == BF_OK) st = bf_reduce_async(ctx, BF_SUM, &b, NULL, m->sum);
    if (st == BF_OK) st = bf_context_synchronize(ctx);
    if (st == BF_OK) st = bf_memory_copy(ctx, sum, m->sum, sizeof *sum);
    return st;
}

int main(void) {
    static double x[COUNT];
    for (int i = 0; i < COUNT; i++) x[i] = i % 1000;

    const char *device = bf_device_count() > 0 ? "cuda" : "cpu";
    bf_context *ctx;
    if (bf_context_create(&BF_OPTIONS(.device = device), &ctx) != BF_OK) return 1;
    memory m = {NULL, NULL, NULL};
    bf_value sum;
    bf_status st = allocate(ctx, &m);
    if (st == BF_OK) st = compute(ctx, &m, x, &sum);
    if (st == BF_OK)
        printf("%s: %.17g\n", device, bf_value_f64(&sum));
    else
        fprintf(stderr, "enqueue: %s: %s\n", bf_status_string(st), bf_context_message(ctx));
    release(ctx, &m);
    bf_context_destroy(ctx);
    return st == BF_OK ? 0 : 1;
}
