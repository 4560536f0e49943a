/* generate COUNT FILE: a .npy file of COUNT float64 values of mixed sign and size. The values come
 * from a counter, so the file is the same to the byte on every machine. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 128, BLOCK = 1 << 16 };

static uint64_t splitmix64(uint64_t i) {
    uint64_t z = i * 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/* Between -1e6 and 1e6, most of them small: a running sum of them loses digits. */
static double value(uint64_t i) {
    double u = (double)(int64_t)splitmix64(i) * 0x1p-63;
    return 1e6 * u * u * u;
}

/* .npy version 1.0: magic, the length of the rest, a Python dict padded to 128 bytes. */
static int write_header(FILE *file, uint64_t count) {
    char header[HEADER + 1];
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    int n = snprintf(header + 10, HEADER - 10,
                     "{'descr': '<f8', 'fortran_order': False, 'shape': (%" PRIu64 ",), }", count);
    header[10 + n] = ' ';
    header[HEADER - 1] = '\n';
    return fwrite(header, 1, HEADER, file) == HEADER;
}

int main(int argc, char **argv) {
    char *end = NULL;
    uint64_t count = argc == 3 ? strtoull(argv[1], &end, 10) : 0;
    if (argc != 3 || end == argv[1] || *end) {
        fputs("usage: generate COUNT FILE\n", stderr);
        return 2;
    }
    static double block[BLOCK];
    FILE *file = fopen(argv[2], "wb");
    int good = file && write_header(file, count);
    for (uint64_t i = 0; good && i < count; i += BLOCK) {
        size_t n = count - i < BLOCK ? (size_t)(count - i) : BLOCK;
        for (size_t k = 0; k < n; k++) block[k] = value(i + k);
        good = fwrite(block, sizeof *block, n, file) == n;
    }
    if (file && fclose(file) != 0) good = 0;
    if (!good) perror(argv[2]);
    return good ? 0 : 1;
}
