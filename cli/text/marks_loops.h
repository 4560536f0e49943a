/* Marks of texts, by vectors of one kind: a template.
 *
 * Parameters: TARGET   the function attribute that allows these vectors
 *             VECTOR   bytes of one
 *             NAME(f)  the name of f for them
 * NAME(masks_of), NAME(survey_vectors), NAME(count_bits) and NAME(prefix_xor) are there. */

/* Appends the marks of 64 bytes, the first of which is byte `from` of the text. */
TARGET static inline void NAME(add_marks)(text_marks *marks, uint32_t from, uint64_t newlines,
                                          uint64_t delimiters) {
    const uint64_t last = (uint64_t)1 << 63;
    uint64_t left = newlines | delimiters;
    const unsigned n = NAME(count_bits)(left);
    uint32_t *const to = marks->at + marks->n;
    for (unsigned i = 0; i < n; i += AT_ONCE)
        for (unsigned k = 0; k < AT_ONCE; k++, left &= left - 1)
            to[i + k] = from + (uint32_t)__builtin_ctzll(left | last);
    marks->n += n;
    for (; newlines != 0; newlines &= newlines - 1)
        marks->ends[marks->rows++] = from + (uint32_t)__builtin_ctzll(newlines);
}

TARGET static void NAME(find)(const char *text, uint32_t n, char delimiter, text_marks *marks) {
    marks->n = marks->rows = 0;
    for (uint32_t i = 0; i < n; i += 64) {
        const masks m = NAME(masks_of)(text + i, delimiter);
        const uint64_t there = n - i < 64 ? ((uint64_t)1 << (n - i)) - 1 : ~(uint64_t)0;
        NAME(add_marks)(marks, i, m.newline & there, m.delimiter & there);
    }
}

TARGET static text_survey NAME(survey)(const char *at, const char *end) {
    text_survey s = {.lines = 0};
    while (end - at >= VECTOR) {
        const int64_t left = (end - at) / VECTOR, n = left < 255 ? left : 255;
        NAME(survey_vectors)(at, n, &s);
        at += VECTOR * n;
    }
    for (; at < end; at++) {
        s.lines += *at == '\n';
        s.nul = s.nul || *at == '\0';
        s.quotes = s.quotes || *at == '"';
    }
    return s;
}

/* The bytes outside of quotes among the n at p, 1 to 64, whose marks are m. Each quote changes
 * sides (two of them, twice) if every one that opens a field stands where fields begin. That is so
 * in most texts; where not, bytes are looked at one by one. */
TARGET static inline uint64_t NAME(outside_of)(quoting *q, const char *p, unsigned n,
                                               const masks *m) {
    const uint64_t top = (uint64_t)1 << (n - 1);
    const uint64_t inside =
        NAME(prefix_xor)(m->quote) ^ (q->state == TEXT_QUOTED ? ~(uint64_t)0 : 0);
    const uint64_t edges = (m->newline | m->delimiter) & ~inside, closes = m->quote & ~inside;
    const uint64_t may_open =
        (edges | closes) << 1 | (q->state == TEXT_ROW || q->state == TEXT_CLOSED);
    if (m->quote & inside & ~may_open) return outside_slowly(q, p, n);
    q->state = inside & top   ? TEXT_QUOTED
               : closes & top ? TEXT_CLOSED
               : edges & top  ? TEXT_ROW
                              : TEXT_FIELD;
    return ~inside;
}

/* The marks of the bytes at p, up to 64, before `end`. */
TARGET static inline masks NAME(masks_before)(const char *p, const char *end, char delimiter,
                                              unsigned *n) {
    masks m = NAME(masks_of)(p, delimiter);
    *n = 64;
    if (end - p < 64) {
        *n = (unsigned)(end - p);
        const uint64_t there = ((uint64_t)1 << *n) - 1;
        m = (masks){m.newline & there, m.delimiter & there, m.quote & there};
    }
    return m;
}

TARGET static void NAME(outside)(const char *text, uint32_t n, char delimiter, text_marks *marks) {
    quoting q = quoting_of(text, delimiter, TEXT_ROW);
    marks->n = marks->rows = 0;
    for (uint32_t i = 0; i < n; i += 64) {
        unsigned some;
        const masks m = NAME(masks_before)(text + i, text + n, delimiter, &some);
        const uint64_t outside = NAME(outside_of)(&q, text + i, some, &m);
        NAME(add_marks)(marks, i, m.newline & outside, m.delimiter & outside);
    }
}

TARGET static text_bounds NAME(rows)(const char *at, const char *end, char delimiter,
                                     text_state before, const char *from) {
    quoting q = quoting_of(at, delimiter, before);
    text_bounds b = {.last = at};
    for (const char *p = at; p < end; p += 64) {
        unsigned n;
        const masks m = NAME(masks_before)(p, end, delimiter, &n);
        uint64_t rows = m.newline & NAME(outside_of)(&q, p, n, &m);
        if (rows && p + 64 < from) {
            b.last = p + 64 - __builtin_clzll(rows);
            rows = 0;
        }
        for (; rows; rows &= rows - 1) {
            const char *const row = p + __builtin_ctzll(rows) + 1;
            if (row >= from) {
                b.first = row;
                return b;
            }
            b.last = row;
        }
    }
    b.inside = q.state == TEXT_QUOTED;
    return b;
}
