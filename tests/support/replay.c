/* Runs a fuzz target over the files named on the command line: its corpus, as an ordinary test. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The file's bytes in memory of exactly their size, so that a sanitizer sees every step outside. */
static int replay(const char *name) {
    FILE *f = fopen(name, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) return -1;
    const long size = ftell(f);
    rewind(f);
    uint8_t *bytes = size >= 0 ? malloc(size ? (size_t)size : 1) : NULL;
    const int read = bytes && fread(bytes, 1, (size_t)size, f) == (size_t)size;
    fclose(f);
    if (read) LLVMFuzzerTestOneInput(bytes, (size_t)size);
    free(bytes);
    return read ? 0 : -1;
}

int main(int argc, char **argv) {
    int failed = 0;
    if (argc < 2) {
        fprintf(stderr, "no files to replay\n");
        return 1;
    }
    for (int i = 1; i < argc; i++) {
        if (replay(argv[i]) == 0) continue;
        fprintf(stderr, "cannot read %s\n", argv[i]);
        failed++;
    }
    printf("%d passed, %d failed\n", argc - 1 - failed, failed);
    return failed != 0;
}
