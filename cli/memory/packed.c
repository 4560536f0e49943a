#include "memory/packed.h"

#include "runtime/report.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of records after which no more are made together. */
enum { BYTES_MOST = 1 << 14 };

bool packed_open(packed *p, const packed_column columns[], int count) {
    *p = (packed){.count = count, .flags = (size_t)(count + 7) / 8};
    p->fields = malloc((size_t)count * sizeof *p->fields + 1);
    if (!p->fields) return false;
    for (int c = 0; c < count; c++) p->fields[c].string = columns[c].strings ? p->strings++ : -1;
    p->fixed = p->flags + (size_t)p->strings * sizeof(uint32_t);
    for (int c = 0; c < count; c++) {
        p->fields[c].dtype = columns[c].dtype;
        p->fields[c].at = p->fixed;
        if (columns[c].dtype != BF_NONE) p->fixed += bf_dtype_size(columns[c].dtype);
    }
    return true;
}

void packed_close(packed *p) {
    free(p->fields);
    buffer_free(&p->records);
    p->fields = NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Records that are made together: some rows, and where each begins and its next string goes. */
typedef struct made {
    const int64_t *rows;
    int64_t n;
    char *bytes;
    size_t begins[PACKED_MOST + 1], strings[PACKED_MOST];
} made;

static bool is_null(const packed_column *c, int64_t row) {
    const int64_t bit = c->first + row;
    return c->valid ? !(c->valid[bit / 8] >> bit % 8 & 1) : c->known && !c->known[row];
}

static size_t length_of(const packed_column *c, int64_t row) {
    return (size_t)(c->offsets[row + 1] - c->offsets[row]);
}

/* The bytes of the record of a row. */
static size_t bytes_of_row(const packed *p, const packed_column columns[], int64_t row) {
    size_t bytes = p->fixed;
    for (int c = 0; c < p->count && p->strings > 0; c++)
        if (p->fields[c].string >= 0) bytes += length_of(&columns[c], row);
    return bytes;
}

/* Takes as many of n rows as have few bytes, one at least, and finds where their records go. */
static void take_rows(const packed *p, const packed_column columns[], const int64_t rows[],
                      int64_t n, made *m) {
    m->rows = rows;
    m->begins[0] = 0;
    for (m->n = 0; m->n < n && m->n < PACKED_MOST && m->begins[m->n] < BYTES_MOST; m->n++) {
        m->strings[m->n] = m->begins[m->n] + p->fixed;
        m->begins[m->n + 1] = m->begins[m->n] + bytes_of_row(p, columns, rows[m->n]);
    }
}

static void put_nulls(const packed_column *c, int column, const made *m) {
    for (int64_t i = 0; i < m->n && (c->valid || c->known); i++) {
        char *const flags = m->bytes + m->begins[i] + column / 8;
        if (is_null(c, m->rows[i])) *flags = (char)(*flags | 1 << column % 8);
    }
}

/* Writes numbers of so many bytes into the records. */
static void put_numbers(const packed_column *c, size_t at, size_t bytes, const made *m) {
    const char *const from = c->numbers;
    char *const to = m->bytes + at;
    if (bytes == sizeof(uint64_t))
        for (int64_t i = 0; i < m->n; i++)
            memcpy(to + m->begins[i], from + (size_t)m->rows[i] * 8, 8);
    else
        for (int64_t i = 0; i < m->n; i++)
            memcpy(to + m->begins[i], from + (size_t)m->rows[i] * bytes, bytes);
}

static void put_strings(const packed_column *c, size_t at, made *m) {
    for (int64_t i = 0; i < m->n; i++) {
        const int64_t row = m->rows[i];
        const uint32_t length = (uint32_t)length_of(c, row);
        memcpy(m->bytes + m->begins[i] + at, &length, sizeof length);
        if (length > 0) memcpy(m->bytes + m->strings[i], c->bytes + c->offsets[row], length);
        m->strings[i] += length;
    }
}

/* Writes the records column by column. */
static void put_columns(const packed *p, const packed_column columns[], made *m) {
    for (int64_t i = 0; i < m->n; i++) memset(m->bytes + m->begins[i], 0, p->flags);
    for (int c = 0; c < p->count; c++) {
        const struct packed_field *f = &p->fields[c];
        put_nulls(&columns[c], c, m);
        if (f->dtype != BF_NONE) put_numbers(&columns[c], f->at, bf_dtype_size(f->dtype), m);
        if (f->string >= 0)
            put_strings(&columns[c], p->flags + (size_t)f->string * sizeof(uint32_t), m);
    }
}

int packed_add(packed *p, piles *to, const uint8_t which[], const packed_column columns[],
               const int64_t rows[], int64_t n) {
    int code = EXIT_DONE;
    made m;
    for (int64_t at = 0; at < n && code == EXIT_DONE; at += m.n) {
        take_rows(p, columns, rows + at, n - at, &m);
        m.bytes = buffer_take(&p->records, m.begins[m.n]);
        if (!m.bytes) return fail_memory(NULL);
        put_columns(p, columns, &m);
        for (int64_t i = 0; i < m.n && code == EXIT_DONE; i++) {
            const void *const of[] = {m.bytes + m.begins[i]};
            code = piles_put(to, which[at + i], of, (int64_t)(m.begins[i + 1] - m.begins[i]));
        }
    }
    return code;
}

/* ---- reading --------------------------------------------------------------------------------- */

void packed_rows_close(packed_rows *r) {
    buffer_free(&r->bytes);
    buffer_free(&r->begins);
}

static uint32_t string_length(const packed *p, const char *record, int string) {
    uint32_t length;
    memcpy(&length, record + p->flags + (size_t)string * sizeof length, sizeof length);
    return length;
}

static size_t bytes_of_record(const packed *p, const char *record) {
    size_t bytes = p->fixed;
    for (int i = 0; i < p->strings; i++) bytes += string_length(p, record, i);
    return bytes;
}

/* Notes where the whole records of so many bytes begin. Returns where the last ends. */
static size_t find_rows(packed_rows *r, size_t bytes) {
    size_t *begins = (size_t *)(void *)r->begins.at, end = 0;
    r->n = 0;
    while (bytes - end >= r->of->fixed) {
        const size_t record = bytes_of_record(r->of, r->bytes.at + end);
        if (record > bytes - end) break;
        begins[r->n++] = end;
        end += record;
    }
    return end;
}

int packed_read(packed_rows *r, size_t bytes) {
    const size_t left = (size_t)(r->piles->all[r->pile].rows - r->at);
    for (r->n = 0; left > 0;) {
        if (bytes < r->of->fixed) bytes = r->of->fixed;
        if (bytes > left) bytes = left;
        void *const columns[] = {buffer_take(&r->bytes, bytes)};
        if (!columns[0] || !buffer_take(&r->begins, (bytes / r->of->fixed + 1) * sizeof(size_t)))
            return fail_memory(NULL);
        const int code = piles_read(r->piles, r->pile, r->at, (int64_t)bytes, columns);
        if (code != EXIT_DONE) return code;
        r->at += (int64_t)find_rows(r, bytes);
        if (r->n > 0) break;
        bytes = bytes_of_record(r->of, r->bytes.at);
    }
    return EXIT_DONE;
}

static const char *record_at(const packed_rows *r, int64_t row) {
    return r->bytes.at + ((const size_t *)(const void *)r->begins.at)[row];
}

bool packed_is_null(const packed_rows *r, int column, int64_t row) {
    return record_at(r, row)[column / 8] >> column % 8 & 1;
}

bool packed_numbers(const packed_rows *r, int column, buffer *to) {
    const struct packed_field *f = &r->of->fields[column];
    const size_t bytes = bf_dtype_size(f->dtype);
    char *out = buffer_take(to, (size_t)r->n * bytes);
    for (int64_t i = 0; i < r->n && out; i++)
        memcpy(out + (size_t)i * bytes, record_at(r, i) + f->at, bytes);
    return out != NULL;
}

static const char *string_at(const packed_rows *r, int64_t row, int string) {
    const char *record = record_at(r, row), *at = record + r->of->fixed;
    for (int i = 0; i < string; i++) at += string_length(r->of, record, i);
    return at;
}

bool packed_strings(const packed_rows *r, int column, buffer *offsets, buffer *bytes,
                    bf_strings *out) {
    const int string = r->of->fields[column].string;
    int64_t *places = buffer_take(offsets, (size_t)(r->n + 1) * sizeof *places), all = 0;
    for (int64_t i = 0; i < r->n && places; i++) {
        places[i] = all;
        all += string_length(r->of, record_at(r, i), string);
    }
    char *to = places ? buffer_take(bytes, (size_t)all) : NULL;
    if (!to) return false;
    places[r->n] = all;
    for (int64_t i = 0; i < r->n; i++)
        memcpy(to + places[i], string_at(r, i, string), (size_t)(places[i + 1] - places[i]));
    *out = (bf_strings){sizeof *out, r->n, BF_I64, places, to};
    return true;
}

bool packed_valid(const packed_rows *r, int column, buffer *bits, const uint8_t **valid) {
    uint8_t *to = buffer_take(bits, (size_t)r->n / 8 + 1);
    bool some = false;
    if (!to) return false;
    memset(to, 0xff, (size_t)r->n / 8 + 1);
    for (int64_t i = 0; i < r->n; i++) {
        if (!packed_is_null(r, column, i)) continue;
        to[i / 8] = (uint8_t)(to[i / 8] & ~(1u << i % 8));
        some = true;
    }
    *valid = some ? to : NULL;
    return true;
}
