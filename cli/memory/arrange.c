#include "memory/arrange.h"

#include <stdbool.h>

/* Fewer records are compared; and those of keys that have so many words in common. */
enum { FEW = 64, WORDS = 16, DIGITS = 256, WORD = sizeof(uint64_t) };

int record_compare(const char *a, const char *b) {
    const record_head x = record_head_of(a), y = record_head_of(b);
    const uint32_t least = x.key < y.key ? x.key : y.key;
    const int order = memcmp(a + sizeof x, b + sizeof y, least);
    return order != 0 ? order : (x.key > y.key) - (x.key < y.key);
}

/* ---- few ------------------------------------------------------------------------------------- */

static bool is_behind(const record_place *a, const record_place *b) {
    return a->prefix != b->prefix ? a->prefix > b->prefix : record_compare(a->at, b->at) > 0;
}

static void insert_places(record_place *places, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        const record_place moved = places[i];
        int64_t to = i;
        for (; to > 0 && is_behind(&places[to - 1], &moved); to--) places[to] = places[to - 1];
        places[to] = moved;
    }
}

/* Merges the first half, which is copied, with the rest. */
static void merge_halves(record_place *places, record_place *scratch, int64_t half, int64_t n) {
    int64_t a = 0, b = half, to = 0;
    memcpy(scratch, places, (size_t)half * sizeof *places);
    while (a < half && b < n)
        places[to++] = is_behind(&scratch[a], &places[b]) ? places[b++] : scratch[a++];
    memcpy(places + to, scratch + a, (size_t)(half - a) * sizeof *places);
}

/* Sorts by comparing prefixes, and keys where these are equal. */
static void merge_sort(record_place *places, record_place *scratch, int64_t n) {
    const int64_t half = n / 2;
    if (n <= 16) {
        insert_places(places, n);
        return;
    }
    merge_sort(places, scratch, half);
    merge_sort(places + half, scratch, n - half);
    if (is_behind(&places[half - 1], &places[half])) merge_halves(places, scratch, half, n);
}

/* ---- many ------------------------------------------------------------------------------------ */

/* Moves places to others in the order of one digit; counts: how many have each. */
static void distribute(const record_place *from, record_place *to, int64_t n, int shift,
                       const uint32_t counts[DIGITS]) {
    int64_t begin[DIGITS], at = 0;
    for (int d = 0; d < DIGITS; d++) {
        begin[d] = at;
        at += counts[d];
    }
    for (int64_t i = 0; i < n; i++) to[begin[from[i].prefix >> shift & 0xff]++] = from[i];
}

/* Sorts by the prefixes, from their lowest digit on. A digit that all share is passed over. */
static void sort_words(record_place *places, record_place *scratch, int64_t n) {
    uint32_t counts[WORD][DIGITS] = {{0}};
    record_place *from = places, *to = scratch;
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < WORD; d++) counts[d][places[i].prefix >> 8 * d & 0xff]++;
    for (int d = 0; d < WORD; d++) {
        if (counts[d][from[0].prefix >> 8 * d & 0xff] == n) continue;
        distribute(from, to, n, 8 * d, counts[d]);
        record_place *const other = from;
        from = to;
        to = other;
    }
    if (from != places) memcpy(places, from, (size_t)n * sizeof *places);
}

static void arrange(record_place *places, record_place *scratch, int64_t n, int words);

/* Sorts places whose keys have so many words in common by what is behind these. */
static void arrange_equal(record_place *places, record_place *scratch, int64_t n, int words) {
    const size_t from = (size_t)words * WORD;
    if (n == 1 || record_head_of(places->at).key <= from) return;
    for (int64_t i = 0; i < n; i++) {
        const char *const at = places[i].at;
        places[i].prefix = record_prefix(at + sizeof(record_head), record_head_of(at).key, from);
    }
    arrange(places, scratch, n, words);
}

/* Sorts places whose prefixes are the words behind so many, which are equal. */
static void arrange(record_place *places, record_place *scratch, int64_t n, int words) {
    if (n < FEW || words > WORDS) {
        merge_sort(places, scratch, n);
        return;
    }
    sort_words(places, scratch, n);
    for (int64_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && places[end].prefix == places[first].prefix;) end++;
        arrange_equal(places + first, scratch, end - first, words + 1);
    }
}

void arrange_places(record_place *places, record_place *scratch, int64_t n) {
    arrange(places, scratch, n, 0);
}
