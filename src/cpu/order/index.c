/* The positions of elements in order. Words are sorted that hold the high bits of an element's
 * place, less the least one, above its position: so they all differ, and equal elements stay in the
 * order of their positions. Elements whose high bits agree are put in order by the others. */
#include "cpu/order/sorting.h"

#include "rules/key/rank.h"

enum {
    FEW = 24,    /* elements that are sorted by insertion */
    LOOKED = 64, /* elements that may be in order, which is worth a look */
    PASSED = 64, /* words among which ties are looked for at once */
    PIECE = 1 << 16,
    SHARES = 4,        /* stretches of words for each worker */
    COUNTED = 1 << 14, /* places that are counted, at most */
    COUNTED_WORDS = 4  /* words for each of them, at least */
};

/* The elements of a line; of a pair, a part is one of its words. */
typedef struct line {
    const bf_order_sorter *s;
    const char *from;
    int parts, part_bytes;
} line;

/* How the words of some elements are made. */
typedef struct packing {
    uint64_t least;
    int shift, bits; /* what is cut off; the bits of the position */
    bool exact;      /* what is cut off is 0 */
} packing;

static line line_of(const bf_order_sorter *s, const char *from) {
    bool pair = s->bytes == 16;
    return (line){s, from, pair ? 2 : 1, pair ? 8 : s->bytes};
}

/* Low bits that all places share are cut off first: those of integers as doubles, for example. */
static packing packing_of(int64_t n, const bf_order_range *r) {
    const int bits = bf_bit_length((uint64_t)(n - 1)), room = 64 - bits;
    const int width = bf_bit_length(r->most - r->least);
    const int shared = r->differing == 0 ? 0 : __builtin_ctzll(r->differing);
    if (width - shared <= room) return (packing){r->least, shared, bits, true};
    return (packing){r->least, width - room, bits, false};
}

static bf_order_range both(bf_order_range a, bf_order_range b) {
    return (bf_order_range){a.least < b.least ? a.least : b.least,
                            a.most > b.most ? a.most : b.most,
                            a.differing | b.differing | (a.least ^ b.least)};
}

static bool may_tie(const line *l, const packing *p, int part) {
    return !p->exact || part + 1 < l->parts;
}

/* ---- ties ------------------------------------------------------------------------------------ */

static uint64_t word_at(const char *words, int64_t i) {
    uint64_t word;
    memcpy(&word, words + 8 * i, 8);
    return word;
}

static void set_word(char *words, int64_t i, uint64_t word) { memcpy(words + 8 * i, &word, 8); }

/* The place of a part of element i. */
static uint64_t place_at(const line *l, uint64_t i, int part) {
    const char *at = l->from + i * (uint64_t)l->s->bytes + part * 8;
    return l->s->element->range(&l->s->code, at, 1).least;
}

/* Does element a come after b, whose position is greater? */
static bool is_after(const line *l, uint64_t a, uint64_t b, int part) {
    for (; part < l->parts; part++) {
        uint64_t x = place_at(l, a, part), y = place_at(l, b, part);
        if (x != y) return x > y;
    }
    return false;
}

static void insert_few(const line *l, int part, char *index, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        uint64_t moved = word_at(index, i);
        int64_t k = i;
        for (; k > 0 && is_after(l, word_at(index, k - 1), moved, part); k--)
            set_word(index, k, word_at(index, k - 1));
        set_word(index, k, moved);
    }
}

/* Writes the places of the elements at n positions. */
static bf_order_range places_of(const line *l, int part, const char *index, int64_t n,
                                char *places) {
    bf_order_range range = {~(uint64_t)0, 0, 0};
    const uint64_t first = place_at(l, word_at(index, 0), part);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t place = place_at(l, word_at(index, i), part);
        range.least = place < range.least ? place : range.least;
        range.most = place > range.most ? place : range.most;
        range.differing |= place ^ first;
        set_word(places, i, place);
    }
    return range;
}

/* Sorts the words of n positions, and puts these in their order. */
static void sort_ties(const line *l, const packing *p, char *index, int64_t n, char *words,
                      char *scratch) {
    const uint64_t positions = ((uint64_t)1 << p->bits) - 1;
    l->s->word8->sort(&bf_order_no_code, words, scratch, n);
    for (int64_t i = 0; i < n; i++)
        set_word(scratch, i, word_at(index, (int64_t)(word_at(words, i) & positions)));
    memcpy(index, scratch, (size_t)(8 * n));
}

static void settle_ties(const line *l, const packing *p, int part, char *index, int64_t n,
                        char *words, char *scratch);

/* Puts the elements at n ascending positions in order, by this part and those after it. Each step
 * down settles at least 64 bits less those of n. */
static void settle_run(const line *l, int part, char *index, int64_t n, char *words,
                       char *scratch) {
    if (n <= FEW) {
        insert_few(l, part, index, n);
        return;
    }
    const bf_order_range range = places_of(l, part, index, n, scratch);
    const packing p = packing_of(n, &range);
    for (int64_t i = 0; i < n; i++)
        set_word(words, i, (word_at(scratch, i) - p.least) >> p.shift << p.bits | (uint64_t)i);
    if (range.differing != 0) sort_ties(l, &p, index, n, words, scratch);
    settle_ties(l, &p, part, index, n, words, scratch);
}

/* Returns the length of the run of words that agree above `bits` with the first of n. */
static int64_t run_length(const char *words, int64_t n, int bits) {
    uint64_t first = word_at(words, 0) >> bits;
    int64_t i = 1;
    while (i < n && word_at(words, i) >> bits == first) i++;
    return i;
}

/* Is there a tie among the first PASSED + 1 words? */
static bool has_tie(const char *words, uint64_t positions) {
    uint64_t ties = 0;
    for (int i = 0; i < PASSED; i++)
        ties |= (word_at(words, i) ^ word_at(words, i + 1)) <= positions;
    return ties != 0;
}

/* Puts each run of sorted words that agree above the position in order. */
static void settle_ties(const line *l, const packing *p, int part, char *index, int64_t n,
                        char *words, char *scratch) {
    const uint64_t positions = ((uint64_t)1 << p->bits) - 1;
    const int next = p->exact ? part + 1 : part;
    if (!may_tie(l, p, part)) return;
    for (int64_t i = 0; i + 1 < n;) {
        if (i + PASSED < n && !has_tie(words + 8 * i, positions)) {
            i += PASSED;
            continue;
        }
        int64_t stop = n - i < PASSED ? n : i + PASSED;
        while (i < stop) {
            int64_t run = run_length(words + 8 * i, n - i, p->bits);
            if (run > 1) settle_run(l, next, index + 8 * i, run, words + 8 * i, scratch + 8 * i);
            i += run;
        }
    }
}

/* ---- results ----------------------------------------------------------------------------------
 */

/* Can the elements be made from words? NaNs cannot. */
static bool words_tell(const line *l, const packing *p, uint64_t most) {
    const bf_order_code *code = &l->s->code;
    uint64_t extreme = code->nan_place == 0 ? p->least : most;
    bool nans = bf_order_has_nans(code, l->part_bytes) && extreme == code->nan_place;
    return p->exact && l->parts == 1 && !nans;
}

/* Writes the positions of n sorted words, and from the words the elements (NULL: none). */
static void unpack_words(const line *l, const packing *p, char *words, char *scratch, int64_t n,
                         char *to, char *index) {
    const uint64_t positions = ((uint64_t)1 << p->bits) - 1;
    for (int64_t i = 0; i < n; i++) set_word(index, i, word_at(words, i) & positions);
    if (to != NULL) l->s->element->unpack(&l->s->code, words, n, p->least, p->shift, p->bits, to);
    settle_ties(l, p, 0, index, n, words, scratch);
}

/* ---- few places: words are counted, not sorted ------------------------------------------------
 */

/* The places of packed words, if each of `slices` may count its own; else 0. */
static int64_t counted_places(const packing *p, const bf_order_range *r, int64_t n,
                              int64_t slices) {
    const uint64_t places = ((r->most - r->least) >> p->shift) + 1;
    const bool few = places <= COUNTED && (int64_t)places * slices <= n / COUNTED_WORDS;
    return p->exact && few ? (int64_t)places : 0;
}

static void count_places(const packing *p, const char *words, int64_t n, int64_t places,
                         char *counts) {
    memset(counts, 0, (size_t)(8 * places));
    for (int64_t i = 0; i < n; i++) {
        const int64_t place = (int64_t)(word_at(words, i) >> p->bits);
        set_word(counts, place, word_at(counts, place) + 1);
    }
}

/* Turns the counts of slices into where the words of each place begin, slice after slice. */
static void begin_places(char *counts, int64_t places, int64_t slices) {
    uint64_t begin = 0;
    for (int64_t place = 0; place < places; place++) {
        for (int64_t i = 0; i < slices; i++) {
            const uint64_t count = word_at(counts, i * places + place);
            set_word(counts, i * places + place, begin);
            begin += count;
        }
    }
}

/* Positions ascend, and so they do among the words of a place. */
static void place_words(const packing *p, const char *words, int64_t n, char *begins, char *to) {
    for (int64_t i = 0; i < n; i++) {
        const uint64_t word = word_at(words, i);
        const int64_t place = (int64_t)(word >> p->bits);
        const uint64_t at = word_at(begins, place);
        set_word(begins, place, at + 1);
        set_word(to, (int64_t)at, word);
    }
}

/* ---- one thread ------------------------------------------------------------------------------ */

size_t bf_order_index_bytes(int64_t n) { return (size_t)(16 * n); }

void bf_order_index(const bf_order_sorter *s, const char *from, int64_t n, char *to, char *index,
                    char *scratch) {
    const line l = line_of(s, from);
    char *words = scratch, *rest = scratch + 8 * n;
    if (n >= LOOKED && s->bytes > 1 && s->element->ordered(&s->code, from, n)) {
        for (int64_t i = 0; i < n; i++) set_word(index, i, (uint64_t)i);
        if (to != NULL) memmove(to, from, (size_t)(n * s->bytes));
        return;
    }
    const bf_order_range range = s->element->range(&s->code, from, n);
    packing p = packing_of(n, &range);
    const int64_t places = counted_places(&p, &range, n, 1);
    bool told = words_tell(&l, &p, range.most);
    s->element->pack(&s->code, from, n, p.least, p.shift, p.bits, 0, words);
    if (places > 0) {
        count_places(&p, words, n, places, index);
        begin_places(index, places, 1);
        place_words(&p, words, n, index, rest);
        unpack_words(&l, &p, rest, words, n, told ? to : NULL, index);
    } else {
        s->word8->sort(&bf_order_no_code, words, rest, n);
        unpack_words(&l, &p, words, rest, n, told ? to : NULL, index);
    }
    if (to == NULL || told) return;
    bf_order_take(s->bytes, from, index, n, to == from ? scratch : to);
    if (to == from) memcpy(to, scratch, (size_t)(n * s->bytes));
}

/* ---- several threads ------------------------------------------------------------------------- */

typedef struct indexing {
    line line;
    packing packing;
    char *words, *scratch, *to, *index;
    bf_order_range *ranges; /* the places of each piece */
    int64_t *bounds;        /* where stretches of words begin: no ties cross one */
    int64_t n, places, slices;
} indexing;

static bf_status range_piece(void *arg, int worker, int64_t first, int64_t n) {
    const indexing *x = arg;
    const bf_order_sorter *s = x->line.s;
    (void)worker;
    x->ranges[first / PIECE] = s->element->range(&s->code, x->line.from + first * s->bytes, n);
    return BF_OK;
}

static bf_status pack_piece(void *arg, int worker, int64_t first, int64_t n) {
    const indexing *x = arg;
    const bf_order_sorter *s = x->line.s;
    const packing *p = &x->packing;
    (void)worker;
    s->element->pack(&s->code, x->line.from + first * s->bytes, n, p->least, p->shift, p->bits,
                     first, x->words + 8 * first);
    return BF_OK;
}

static bf_status unpack_stretches(void *arg, int worker, int64_t first, int64_t n) {
    const indexing *x = arg;
    (void)worker;
    for (int64_t i = first; i < first + n; i++) {
        int64_t at = x->bounds[i], length = x->bounds[i + 1] - at;
        char *to = x->to == NULL ? NULL : x->to + at * x->line.s->bytes;
        unpack_words(&x->line, &x->packing, x->words + 8 * at, x->scratch + 8 * at, length, to,
                     x->index + 8 * at);
    }
    return BF_OK;
}

/* The first of the words from `at` on that does not tie with the one before `at`. */
static int64_t bound_at(const indexing *x, int64_t at, int64_t n) {
    if (at == 0 || at == n) return at;
    const int bits = x->packing.bits;
    uint64_t before = word_at(x->words, at - 1) >> bits;
    while (at < n) {
        int64_t middle = at + (n - at) / 2;
        if (word_at(x->words, middle) >> bits == before)
            at = middle + 1;
        else
            n = middle;
    }
    return at;
}

static bf_status unpack_long(bf_context *context, indexing *x, int64_t n, int workers) {
    const int64_t stretches = SHARES * workers;
    for (int64_t i = 0; i <= stretches; i++) x->bounds[i] = bound_at(x, n / stretches * i, n);
    x->bounds[stretches] = n;
    return bf_parallel_watched(context, workers, stretches, 1, n * x->line.s->bytes / 8,
                               unpack_stretches, x);
}

static bf_status sort_words(bf_context *context, const indexing *x, int64_t n) {
    const bf_order_sorter s = bf_order_sorter_of(context, BF_U64, BF_ASCENDING);
    return bf_order_divide(context, &s, n * x->line.s->bytes / 2, x->words, n, x->words,
                           x->scratch);
}

static int64_t slice_begin(const indexing *x, int64_t i) { return x->n * i / x->slices; }

static bf_status count_slice(void *arg, int worker, int64_t i, int64_t unused) {
    const indexing *x = arg;
    const int64_t first = slice_begin(x, i), n = slice_begin(x, i + 1) - first;
    (void)worker, (void)unused;
    count_places(&x->packing, x->words + 8 * first, n, x->places, x->index + 8 * i * x->places);
    return BF_OK;
}

static bf_status place_slice(void *arg, int worker, int64_t i, int64_t unused) {
    const indexing *x = arg;
    const int64_t first = slice_begin(x, i), n = slice_begin(x, i + 1) - first;
    (void)worker, (void)unused;
    place_words(&x->packing, x->words + 8 * first, n, x->index + 8 * i * x->places, x->scratch);
    return BF_OK;
}

/* Puts words in order by counts; they and the scratch memory change places. */
static bf_status count_words(bf_context *context, indexing *x, int workers) {
    const int64_t bytes = x->n * x->line.s->bytes / 4;
    char *const words = x->words;
    bf_status status = bf_parallel_watched(context, workers, x->slices, 1, bytes, count_slice, x);
    if (status != BF_OK) return status;
    begin_places(x->index, x->places, x->slices);
    status = bf_parallel_watched(context, workers, x->slices, 1, bytes, place_slice, x);
    x->words = x->scratch;
    x->scratch = words;
    return status;
}

static bf_status find_index(bf_context *context, indexing *x, int64_t n, char *to) {
    const int workers = bf_order_workers(context, 8, n);
    const bf_order_sorter *s = x->line.s;
    const int64_t bytes = n * s->bytes / 8;
    char *const room = x->words; /* for n elements */
    bf_status status = bf_parallel_watched(context, workers, n, PIECE, bytes, range_piece, x);
    if (status != BF_OK) return status;
    bf_order_range range = x->ranges[0];
    for (int64_t i = 1; i <= (n - 1) / PIECE; i++) range = both(range, x->ranges[i]);
    x->packing = packing_of(n, &range);
    bool told = words_tell(&x->line, &x->packing, range.most);
    x->to = told ? to : NULL;
    status = bf_parallel_watched(context, workers, n, PIECE, bytes, pack_piece, x);
    x->places = counted_places(&x->packing, &range, n, x->slices);
    if (status == BF_OK)
        status = x->places > 0 ? count_words(context, x, workers) : sort_words(context, x, n);
    if (status == BF_OK) status = unpack_long(context, x, n, workers);
    if (status != BF_OK || to == NULL || told) return status;
    return bf_order_take_long(context, s->bytes, x->line.from, x->index, n, to,
                              to == x->line.from ? room : NULL, bytes);
}

bf_status bf_order_long_index(bf_context *context, const bf_order_sorter *s, const char *from,
                              int64_t n, char *to, char *index, char *scratch) {
    const size_t pieces = (size_t)((n - 1) / PIECE + 1);
    const size_t stretches = (size_t)(SHARES * bf_order_workers(context, 8, n));
    bf_order_range *ranges = bf_alloc(pieces * sizeof *ranges + (stretches + 1) * sizeof(int64_t));
    if (ranges == NULL) return bf_fail(context, BF_E_MEMORY, "no memory to sort");
    indexing x = {.line = line_of(s, from),
                  .words = scratch,
                  .scratch = scratch + 8 * n,
                  .index = index,
                  .ranges = ranges,
                  .bounds = (int64_t *)(void *)(ranges + pieces),
                  .n = n,
                  .slices = (int64_t)stretches};
    bf_status status = find_index(context, &x, n, to);
    bf_free(ranges);
    return status;
}
