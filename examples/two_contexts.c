/* two_contexts FILE: the exact sum of the float64 numbers in FILE, which holds nothing else.
 *
 * Two threads, each with a context of its own, absorb half of the file chunk by chunk into a state,
 * and save the state as bytes, as two machines would. The bytes are loaded and merged, and give the
 * output of 'bitfold sum --hex --format raw --dtype f64 FILE'. */
#include <bitfold.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHUNK = 10000 };

typedef struct {
    const char *file;
    long first, count; /* elements */
    void *bytes;       /* the saved state; NULL if something failed */
    size_t size;
} half;

static int absorb_file(bf_state *state, const half *h) {
    double chunk[CHUNK];
    long left = h->count;
    FILE *f = fopen(h->file, "rb");
    int good = f && fseek(f, h->first * (long)sizeof *chunk, SEEK_SET) == 0;
    while (good && left > 0) {
        const size_t n = left < CHUNK ? (size_t)left : CHUNK;
        good = fread(chunk, sizeof *chunk, n, f) == n;
        const bf_array a = bf_array_of(BF_F64, chunk, (int64_t)n);
        good = good && bf_state_absorb(state, &a) == BF_OK;
        left -= (long)n;
    }
    if (f) fclose(f);
    return good;
}

static void *sum_half(void *argument) {
    half *h = argument;
    bf_context *context = NULL;
    bf_state *state = NULL;
    if (bf_context_create(&BF_OPTIONS(.threads = 1), &context) == BF_OK &&
        bf_state_create(context, BF_SUM, BF_F64, &state) == BF_OK && absorb_file(state, h)) {
        h->size = bf_state_save_size(state);
        h->bytes = malloc(h->size);
        if (h->bytes) bf_state_save(state, h->bytes);
    }
    bf_state_destroy(state);
    bf_context_destroy(context);
    return NULL;
}

static bf_status merge_halves(const half h[2], bf_value *sum) {
    bf_context *context = NULL;
    bf_state *a = NULL, *b = NULL;
    bf_status st = bf_context_create(NULL, &context);
    if (st == BF_OK) st = bf_state_load(context, h[0].bytes, h[0].size, &a);
    if (st == BF_OK) st = bf_state_load(context, h[1].bytes, h[1].size, &b);
    if (st == BF_OK) st = bf_state_merge(a, b);
    if (st == BF_OK) st = bf_state_result(a, NULL, sum);
    bf_state_destroy(b);
    bf_state_destroy(a);
    bf_context_destroy(context);
    return st;
}

static long count_elements(const char *file) {
    FILE *f = fopen(file, "rb");
    const long size = f && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    if (f) fclose(f);
    return size < 0 ? -1 : size / (long)sizeof(double);
}

int main(int argc, char **argv) {
    const long n = argc == 2 ? count_elements(argv[1]) : -1;
    if (n < 0) {
        fputs("usage: two_contexts FILE, of float64 numbers\n", stderr);
        return 2;
    }
    half h[2] = {{argv[1], 0, n / 2, NULL, 0}, {argv[1], n / 2, n - n / 2, NULL, 0}};
    pthread_t other;
    if (pthread_create(&other, NULL, sum_half, &h[1]) != 0) return 1;
    sum_half(&h[0]);
    pthread_join(other, NULL);

    bf_value sum;
    const int good = h[0].bytes && h[1].bytes && merge_halves(h, &sum) == BF_OK;
    free(h[0].bytes);
    free(h[1].bytes);
    if (!good) {
        fprintf(stderr, "two_contexts: cannot sum %s\n", argv[1]);
        return 1;
    }
    char text[BF_VALUE_TEXT];
    bf_value_format_hex(&sum, text);
    puts(text);
    return 0;
}
