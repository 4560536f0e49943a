/* A picture of more pixels than 31 bits count, on a GPU. */
#include "tests/support/large.h"

/* Compares some rows of a picture of more than 2^31 pixels with the CPU's. */
static void a_picture_past_31_bits(void **unused) {
    (void)unused;
    enum { WIDTH = 46341, HEIGHT = 46343 };
    static uint16_t row[WIDTH];
    need_memory(5);
    bf_julia_params p;
    bf_julia_defaults(&p);
    p.width = WIDTH;
    p.height = HEIGHT;
    uint16_t *counts = allocate((int64_t)2 * WIDTH * HEIGHT);
    const bf_array out = {counts, BF_U16, 2, {HEIGHT, WIDTH}, {WIDTH, 1}},
                   expected = {row, BF_U16, 2, {1, WIDTH}, {WIDTH, 1}};
    assert_int_equal(bf_julia(gpu, &p, 0, 0, &out), BF_OK);
    for (int y = 0; y < HEIGHT; y += y < HEIGHT - 5 ? 2001 : 1) {
        assert_int_equal(bf_julia(cpu, &p, 0, y, &expected), BF_OK);
        copy(on_host, counts + (int64_t)y * WIDTH, 2 * WIDTH);
        assert_memory_equal(on_host, row, 2 * WIDTH);
    }
    bf_memory_free(gpu, counts);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_picture_past_31_bits),
    };
    return RUN_ON_GPU(tests);
}
