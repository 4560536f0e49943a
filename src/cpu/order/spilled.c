/* Lines, and different values, of more elements than memory holds: pieces are sorted and written to
 * a file, and merged from there. Outputs are written when all elements have been read. */
#include "base/spill/merger.h"
#include "cpu/order/select/select.h"
#include "cpu/order/sorting.h"
#include "rules/key/rank.h"

enum {
    BATCH = 1 << 9,    /* records that are made at a time */
    RECORD = 4,        /* words of a record, at most */
    SORT_BYTES = 40,   /* most bytes that sorting an element with its position takes */
    UNIQUE_BYTES = 32, /* most bytes that finding different elements takes for each */
    LEAST = 1 << 10    /* elements of a piece, at least */
};

/* What is merged: records of the place of an element, its bits if it may be a NaN, and its
 * position; or of a key and how often it occurs. */
typedef struct spilled {
    bf_context *context;
    bf_dtype dtype;
    bf_order order;
    int bytes, key;    /* bytes of an element; words of its place */
    bool bits, beside; /* are there words for the bits, and for the position or number? */
    int64_t piece;     /* elements that are sorted at once */
    char *values;      /* a piece of values */
    int64_t *numbers;  /* beside them */
    bf_merger merger;
} spilled;

static int record_words(const spilled *s) { return s->key + s->bits + s->beside; }

static bf_status open_spilled(spilled *s, int64_t each) {
    const int64_t most = bf_merger_share(2) / (s->bytes + each);
    s->piece = most > LEAST ? most : LEAST;
    s->values = bf_alloc((size_t)(s->piece * s->bytes));
    s->numbers = s->beside ? bf_alloc((size_t)s->piece * sizeof *s->numbers) : NULL;
    if (s->values == NULL || (s->beside && s->numbers == NULL))
        return bf_fail(s->context, BF_E_MEMORY, "no memory to sort");
    return bf_merger_open(&s->merger, s->context, s->key, record_words(s), RECORD);
}

static void release_piece(spilled *s) {
    bf_free(s->values);
    bf_free(s->numbers);
    s->values = NULL;
    s->numbers = NULL;
}

/* ---- records --------------------------------------------------------------------------------- */

/* A pair's words are its place. */
static void set_place(const spilled *s, const char *element, uint64_t *record) {
    if (s->key == 1) {
        record[0] = bf_order_place(s->dtype, s->order, bf_load_bits(element, s->bytes));
        return;
    }
    memcpy(record, element, 16);
    for (int i = 0; i < 2 && s->order != BF_ASCENDING; i++) record[i] = ~record[i];
}

static void set_record(const spilled *s, int64_t i, int64_t first, uint64_t *record) {
    const char *element = s->values + i * s->bytes;
    set_place(s, element, record);
    if (s->bits) record[s->key] = bf_load_bits(element, s->bytes);
    if (s->beside) record[s->key + s->bits] = (uint64_t)(s->numbers[i] + first);
}

/* Writes the n elements of a piece as a run. What is beside them counts from `first`. */
static bf_status write_piece(spilled *s, int64_t n, int64_t first) {
    uint64_t records[BATCH * RECORD];
    const int words = record_words(s);
    bf_status status = BF_OK;
    for (int64_t at = 0, some; at < n && status == BF_OK; at += some) {
        some = n - at < BATCH ? n - at : BATCH;
        for (int64_t i = 0; i < some; i++) set_record(s, at + i, first, records + i * words);
        status = bf_merger_add(&s->merger, records, some * words);
    }
    return status == BF_OK ? bf_merger_cut(&s->merger) : status;
}

/* Writes the element of a record. */
static void store_element(const spilled *s, const uint64_t *record, char *to) {
    uint64_t words[2];
    for (int i = 0; i < s->key; i++)
        words[i] = s->key == 1                ? bf_order_element(s->dtype, s->order, record[0])
                   : s->order == BF_ASCENDING ? record[i]
                                              : ~record[i];
    memcpy(to, s->bits ? record + s->key : words, (size_t)s->bytes);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bf_status sort_pieces(spilled *s, const char *from, int64_t n) {
    bf_status status = BF_OK;
    for (int64_t at = 0, some; at < n && status == BF_OK; at += some) {
        some = n - at < s->piece ? n - at : s->piece;
        const bf_order_lines piece = {.dtype = s->dtype,
                                      .values = from + at * s->bytes,
                                      .count = 1,
                                      .length = some,
                                      .order = s->order};
        status = bf_cpu_sort(s->context, &piece, s->values, s->numbers);
        if (status == BF_OK) status = write_piece(s, some, at);
    }
    return status;
}

/* Where a line goes in order: to memory, each NULL if it is not wanted, or to a file. */
typedef struct target {
    char *sorted, *index;
    bf_spool *file; /* NULL: to memory */
} target;

static bf_status write_element(const spilled *s, const uint64_t *record, int64_t i,
                               const target *to) {
    char element[16];
    if (to->sorted != NULL) store_element(s, record, to->sorted + i * s->bytes);
    if (to->index != NULL) memcpy(to->index + 8 * i, record + s->key + s->bits, 8);
    if (to->file == NULL) return BF_OK;
    store_element(s, record, element);
    return bf_spool_add(to->file, element, s->bytes);
}

static bf_status write_line(spilled *s, const target *to) {
    const uint64_t *record;
    for (int64_t i = 0;; i++) {
        bf_status status = bf_merger_next(&s->merger, &record);
        if (status != BF_OK || record == NULL) return status;
        status = write_element(s, record, i, to);
        if (status != BF_OK) return status;
    }
}

/* A line that is one piece, and goes to memory, has been refused it already. */
static bf_status sort_line(bf_context *context, const bf_order_lines *line, const target *to) {
    spilled s = {.context = context,
                 .dtype = line->dtype,
                 .order = line->order,
                 .bytes = bf_key_bytes(line->dtype),
                 .key = line->dtype == BF_PAIR ? 2 : 1,
                 .bits = to->sorted != NULL && bf_dtype_is_float(line->dtype),
                 .beside = to->index != NULL,
                 .merger = {.fd = -1}};
    bf_status status = open_spilled(&s, SORT_BYTES);
    if (status == BF_OK && s.piece >= line->length && to->file == NULL)
        status = bf_fail(context, BF_E_MEMORY, "no memory to sort");
    if (status == BF_OK) status = sort_pieces(&s, line->values, line->length);
    release_piece(&s);
    if (status == BF_OK) status = bf_merger_start(&s.merger, bf_merger_share(2));
    if (status == BF_OK) status = write_line(&s, to);
    bf_merger_close(&s.merger);
    return status;
}

/* Returns line number l of lines, as a line of its own. */
static bf_order_lines line_of(const bf_order_lines *lines, int64_t l) {
    const int64_t begin = bf_line_begin(lines, l);
    return (bf_order_lines){.dtype = lines->dtype,
                            .values =
                                (const char *)lines->values + begin * bf_key_bytes(lines->dtype),
                            .count = 1,
                            .length = bf_line_begin(lines, l + 1) - begin,
                            .order = lines->order};
}

bf_status bf_order_sort_spilled(bf_context *context, const bf_order_lines *lines, char *sorted,
                                char *index) {
    const int bytes = bf_key_bytes(lines->dtype);
    const target all = {.sorted = sorted, .index = index};
    bf_status status = BF_OK;
    if (lines->count == 1 && lines->offsets == NULL) return sort_line(context, lines, &all);
    for (int64_t l = 0; l < lines->count && status == BF_OK; l++) {
        const int64_t begin = bf_line_begin(lines, l);
        const bf_order_lines line = line_of(lines, l);
        status = bf_cpu_sort(context, &line, sorted == NULL ? NULL : sorted + begin * bytes,
                             index == NULL ? NULL : index + begin * 8);
    }
    return status;
}

bf_status bf_order_sort_pairs_to_file(bf_context *context, const bf_order_lines *lines,
                                      bf_spool *file) {
    const target to = {.file = file};
    bf_status status = bf_spool_open(file, context);
    for (int64_t l = 0; l < lines->count && status == BF_OK; l++) {
        const bf_order_lines line = line_of(lines, l);
        if (line.length > 0) status = sort_line(context, &line, &to);
    }
    return status == BF_OK ? bf_spool_map(file) : status;
}

/* ---- different values ------------------------------------------------------------------------ */

static bf_status find_pieces(spilled *s, const char *from, int64_t n) {
    bf_status status = BF_OK;
    for (int64_t at = 0, some; at < n && status == BF_OK; at += some) {
        int64_t different = 0;
        some = n - at < s->piece ? n - at : s->piece;
        status = bf_cpu_unique(s->context, s->dtype, from + at * s->bytes, some, s->values,
                               s->numbers, some, &different);
        if (status == BF_OK) status = write_piece(s, different, 0);
    }
    return status;
}

/* Adds up the numbers of equal keys, and writes the first `room` of them. */
static bf_status write_different(spilled *s, char *keys, char *counts, int64_t room,
                                 int64_t *different) {
    uint64_t last[BF_MERGER_KEY];
    const uint64_t *record;
    int64_t n = 0, count = 0;
    for (;;) {
        const bf_status status = bf_merger_next(&s->merger, &record);
        if (status != BF_OK || record == NULL) return *different = n, status;
        if (n == 0 || memcmp(last, record, (size_t)s->key * 8) != 0) {
            memcpy(last, record, (size_t)s->key * 8);
            if (keys != NULL && n < room) store_element(s, record, keys + n * s->bytes);
            count = 0;
            n++;
        }
        count += (int64_t)record[s->key + s->bits];
        if (counts != NULL && n <= room) memcpy(counts + 8 * (n - 1), &count, 8);
    }
}

bf_status bf_order_unique_spilled(bf_context *context, bf_dtype dtype, const void *values,
                                  int64_t n, void *keys, void *counts, int64_t room,
                                  int64_t *different) {
    spilled s = {.context = context,
                 .dtype = dtype,
                 .order = BF_ASCENDING,
                 .bytes = bf_key_bytes(dtype),
                 .key = dtype == BF_PAIR ? 2 : 1,
                 .bits = bf_dtype_is_float(dtype),
                 .beside = true,
                 .merger = {.fd = -1}};
    bf_status status = open_spilled(&s, UNIQUE_BYTES);
    if (status == BF_OK && s.piece >= n)
        status = bf_fail(context, BF_E_MEMORY, "no memory to sort");
    if (status == BF_OK) status = find_pieces(&s, values, n);
    release_piece(&s);
    if (status == BF_OK) status = bf_merger_start(&s.merger, bf_merger_share(2));
    if (status == BF_OK) status = write_different(&s, keys, counts, room, different);
    bf_merger_close(&s.merger);
    return status;
}
