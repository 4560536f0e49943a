/* Counts of bytes and of 16-bit words.
 *
 * One increment is a load and a store, and memory takes about one store a cycle: so bytes are
 * counted two at a time, as words. The 65536 counters have 8 bits each, to stay close to the core;
 * when one wraps, 256 is added to a total. An increment that follows another of the same counter
 * waits for it, so data with repetitions are counted in several tables in turn (as in Collet's FSE
 * and Kurz's countbench), and lines of one value at once. What the data are like is seen from a
 * sample of each piece. */
#include "cpu/histogram/histogram.h"

enum {
    PIECE = 16384,          /* bytes that are counted in one way, after a look at a sample */
    LINE = 64,              /* bytes that may be counted at once */
    LINE_WORDS = LINE / 2,  /* words of 16 bits in them */
    SAMPLES = 8,            /* lines looked at */
    REPEATING = LINE_WORDS, /* words that equal the next one, in all samples: from there on, tables
                               in turn */
    AHEAD = 4096,           /* bytes by which data are fetched before they are needed */
    ROOM = 1 << 30          /* bytes until a lane could overflow */
};

/* The regularity of a sample: from lines of one value to none. */
typedef enum texture { TEXTURE_RUNS, TEXTURE_REPEATING, TEXTURE_MIXED } texture;

static inline uint16_t load_word(const uint8_t *p) {
    uint16_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

static inline uint64_t load_8(const uint8_t *p) {
    uint64_t bytes;
    memcpy(&bytes, p, sizeof bytes);
    return bytes;
}

/* Returns how many bytes at the start, in whole lines, repeat the first word. */
static inline size_t run_of(const uint8_t *p, size_t n) {
    const uint64_t word = load_word(p) * UINT64_C(0x0001000100010001);
    size_t at = 0;
    for (; n - at >= LINE; at += LINE) {
        uint64_t differs = 0;
        __builtin_prefetch(p + at + AHEAD);
        for (size_t k = 0; k < LINE; k += 8) differs |= load_8(p + at + k) ^ word;
        if (differs) break;
    }
    return at;
}

/* Returns how many words of a line equal the next one. */
static int repetitions(const uint8_t *line) {
    int n = 0;
    for (int k = 0; k < LINE; k += 2) n += load_word(line + k) == load_word(line + k + 2);
    return n;
}

static texture find_texture(const uint8_t *p, size_t bytes) {
    size_t step = bytes / SAMPLES;
    int uniform = 0, repeating = 0;
    if (step <= LINE) return TEXTURE_REPEATING;
    for (int s = 0; s < SAMPLES; s++, p += step) {
        bool run = run_of(p, LINE) > 0;
        uniform += run;
        repeating += run ? LINE_WORDS : repetitions(p);
    }
    if (uniform >= SAMPLES / 2) return TEXTURE_RUNS;
    return repeating >= REPEATING ? TEXTURE_REPEATING : TEXTURE_MIXED;
}

/* --- bytes --- */

/* Counts eight bytes; at once, if they are equal. */
static inline __attribute__((always_inline)) void add_8(bf_counter *c, uint64_t bytes, int lane) {
    if (bytes == (bytes << 8 | bytes >> 56)) {
        c->lanes[lane][(uint8_t)bytes] += 8;
        return;
    }
    for (int k = 0; k < BF_COUNTER_LANES; k++) c->lanes[k][(uint8_t)(bytes >> (8 * k))]++;
}

static inline void add_line(bf_counter *c, const uint8_t *p) {
    for (int k = 0; k < LINE; k += 16) {
        uint64_t first = load_8(p + k), second = load_8(p + k + 8);
        add_8(c, first, 0);
        add_8(c, second, 1);
    }
}

static void add_lanes(bf_counter *c, const uint8_t *p, size_t n) {
    for (; n >= LINE; n -= LINE, p += LINE) {
        __builtin_prefetch(p + AHEAD);
        add_line(c, p);
    }
    for (; n > 0; n--) c->lanes[0][*p++]++;
}

static void add_runs(bf_counter *c, const uint8_t *p, size_t n) {
    while (n >= LINE) {
        size_t run = run_of(p, n);
        c->lanes[0][p[0]] += (uint32_t)run / 2;
        c->lanes[1][p[1]] += (uint32_t)run / 2;
        if (run == 0) add_line(c, p);
        p += run > 0 ? run : LINE;
        n -= run > 0 ? run : LINE;
    }
    add_lanes(c, p, n);
}

/* Counts a word, or (pair) its two bytes. Inlined with `pair` a constant. */
static inline __attribute__((always_inline)) void add_word(bf_counter *c, uint16_t word,
                                                           bool pair) {
    if (__builtin_expect(++c->words[word] != 0, 1)) return;
    c->totals[pair ? word & 0xff : word] += 256;
    if (pair) c->totals[word >> 8] += 256;
}

static inline __attribute__((always_inline)) void add_4_words(bf_counter *c, const uint8_t *p,
                                                              bool pair) {
    add_word(c, load_word(p), pair);
    add_word(c, load_word(p + 2), pair);
    add_word(c, load_word(p + 4), pair);
    add_word(c, load_word(p + 6), pair);
}

static void add_pairs(bf_counter *c, const uint8_t *p, size_t n) {
    for (; n >= LINE; n -= LINE, p += LINE) {
        __builtin_prefetch(p + AHEAD);
        for (int k = 0; k < LINE; k += 8) add_4_words(c, p + k, true);
    }
    add_lanes(c, p, n);
}

static void empty_lanes(bf_counter *c) {
    for (int k = 0; k < BF_COUNTER_LANES; k++)
        for (int v = 0; v < BF_BYTE_VALUES; v++) c->totals[v] += c->lanes[k][v];
    memset(c->lanes, 0, sizeof c->lanes);
    c->room = ROOM;
}

void bf_count_bytes(bf_counter *counter, const void *data, size_t n) {
    const uint8_t *p = data;
    for (size_t m; n > 0; n -= m, p += m) {
        m = n < PIECE ? n : PIECE;
        if (counter->room < PIECE) empty_lanes(counter);
        counter->room -= (int64_t)m;
        texture seen = find_texture(p, m);
        if (seen == TEXTURE_RUNS)
            add_runs(counter, p, m);
        else if (seen == TEXTURE_MIXED && counter->pairs)
            add_pairs(counter, p, m);
        else
            add_lanes(counter, p, m);
    }
}

void bf_count_bytes_end(bf_counter *counter) {
    empty_lanes(counter);
    for (int high = 0; high < BF_BYTE_VALUES && counter->pairs; high++) {
        const uint8_t *words = counter->words + high * BF_BYTE_VALUES;
        int64_t sum = 0;
        for (int low = 0; low < BF_BYTE_VALUES; low++) {
            counter->totals[low] += words[low];
            sum += words[low];
        }
        counter->totals[high] += sum;
    }
}

/* --- words --- */

static void add_words(bf_counter *c, const uint8_t *p, size_t n) {
    for (; n >= LINE_WORDS; n -= LINE_WORDS, p += LINE) {
        __builtin_prefetch(p + AHEAD);
        for (int k = 0; k < LINE; k += 8) add_4_words(c, p + k, false);
    }
    for (; n > 0; n--, p += 2) add_word(c, load_word(p), false);
}

/* Counts in two tables in turn, of which one is the totals. */
static void add_runs_of_words(bf_counter *c, const uint8_t *p, size_t n) {
    while (n >= LINE_WORDS) {
        size_t run = run_of(p, 2 * n) / 2;
        c->totals[load_word(p)] += (int64_t)run;
        for (int k = 0; k < LINE && run == 0; k += 4) {
            add_word(c, load_word(p + k), false);
            c->totals[load_word(p + k + 2)]++;
        }
        p += run > 0 ? 2 * run : LINE;
        n -= run > 0 ? run : LINE_WORDS;
    }
    add_words(c, p, n);
}

void bf_count_words(bf_counter *counter, const void *data, size_t n) {
    const uint8_t *p = data;
    for (size_t m; n > 0; n -= m, p += 2 * m) {
        m = n < PIECE / 2 ? n : PIECE / 2;
        if (find_texture(p, 2 * m) == TEXTURE_MIXED)
            add_words(counter, p, m);
        else
            add_runs_of_words(counter, p, m);
    }
}

void bf_count_words_end(bf_counter *counter) {
    for (int w = 0; w < BF_WORD_VALUES; w++) counter->totals[w] += counter->words[w];
}
