/* A dot product by the general call: the dtype is data, options have names, and failures have a
 * message. The products are 1e400, 3 and -1e400. No double can hold the first and the last, yet the
 * sum is 3. */
#include <bitfold.h>
#include <stdio.h>

int main(void) {
    const double x[] = {1e200, 3.0, -1e200};
    const double y[] = {1e200, 1.0, 1e200};
    bf_array a = bf_array_of(BF_F64, x, 3);
    bf_array b = bf_array_of(BF_F64, y, 3);

    bf_context *ctx;
    if (bf_context_create(&BF_OPTIONS(.threads = 2), &ctx) != BF_OK) return 1;
    bf_value value;
    if (bf_dot(ctx, &a, &b, &BF_REDUCE_OPTIONS(.nan = BF_NAN_ERROR), &value) != BF_OK) {
        fprintf(stderr, "dot: %s\n", bf_context_message(ctx));
        bf_context_destroy(ctx);
        return 1;
    }
    char text[BF_VALUE_TEXT];
    bf_value_format(&value, text);
    puts(text);
    bf_context_destroy(ctx);
    return bf_value_f64(&value) == 3.0 ? 0 : 1;
}
