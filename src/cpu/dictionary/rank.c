/* The order of a dictionary's keys: by eight of their bytes at a time. */
#include "cpu/dictionary/dictionary.h"
#include "cpu/runtime/sort.h"

enum {
    FEW = 24,  /* keys that are sorted by comparing them */
    PREFIX = 8 /* bytes that a prefix has */
};

/* Keys that have equal bytes before `depth`: numbers[first .. first + n). */
typedef struct run {
    int64_t first, n, depth;
} run;

/* Runs that are yet to be sorted. */
typedef struct stack {
    run *runs;
    int64_t count, room;
} stack;

typedef struct ordering {
    const bf_cpu_dictionary *d;
    int64_t *numbers;
    uint64_t *prefixes;
    stack open;
} ordering;

static bool push_run(stack *s, run r) {
    if (s->count == s->room) {
        const int64_t room = s->room == 0 ? 256 : 2 * s->room;
        run *more = bf_resize(s->runs, (size_t)room * sizeof *more);
        if (more == NULL) return false;
        s->runs = more;
        s->room = room;
    }
    s->runs[s->count++] = r;
    return true;
}

/* ---- few keys -------------------------------------------------------------------------------- */

/* Is key a less than key b? They differ. */
static bool is_less(const bf_cpu_dictionary *d, int64_t a, int64_t b, int64_t depth) {
    int64_t n, m;
    const char *x = bf_key_bytes_of(d, a, &n), *y = bf_key_bytes_of(d, b, &m);
    const int order = memcmp(x + depth, y + depth, (size_t)((n < m ? n : m) - depth));
    return order != 0 ? order < 0 : n < m;
}

static void sort_few(const ordering *o, run r) {
    int64_t *numbers = o->numbers + r.first;
    for (int64_t i = 1; i < r.n; i++) {
        const int64_t number = numbers[i];
        int64_t k = i;
        for (; k > 0 && is_less(o->d, number, numbers[k - 1], r.depth); k--)
            numbers[k] = numbers[k - 1];
        numbers[k] = number;
    }
}

/* ---- many keys ------------------------------------------------------------------------------- */

/* How many bytes all keys of a run have in common. */
static int64_t common_bytes(const ordering *o, run r) {
    int64_t length;
    const char *first = bf_key_bytes_of(o->d, o->numbers[r.first], &length);
    for (int64_t i = 1; i < r.n && length > r.depth; i++) {
        int64_t n, k = r.depth;
        const char *x = bf_key_bytes_of(o->d, o->numbers[r.first + i], &n);
        while (k < n && k < length && x[k] == first[k]) k++;
        length = k;
    }
    return length;
}

static bf_status sort_by_prefix(bf_context *context, const ordering *o, run r) {
    for (int64_t i = r.first; i < r.first + r.n; i++) {
        int64_t n;
        const char *x = bf_key_bytes_of(o->d, o->numbers[i], &n);
        o->prefixes[i] = bf_string_prefix(x + r.depth, n - r.depth);
    }
    return bf_sort_ranks(context, 8, 8, r.n, (char *)(o->prefixes + r.first),
                         (char *)(o->numbers + r.first));
}

/* Keys have equal prefixes: moves those that end within theirs to the front, and returns how many.
 */
static int64_t move_ended(const ordering *o, run r) {
    int64_t *numbers = o->numbers + r.first, ended = 0;
    for (int64_t i = 0; i < r.n; i++) {
        const int64_t number = numbers[i];
        int64_t n;
        bf_key_bytes_of(o->d, number, &n);
        if (n - r.depth >= PREFIX) continue;
        numbers[i] = numbers[ended];
        numbers[ended++] = number;
    }
    return ended;
}

/* Sorts keys with equal prefixes that end within it, of which there is one of each length, and
 * pushes the others. */
static bool open_equals(ordering *o, run r) {
    const int64_t ended = move_ended(o, r);
    sort_few(o, (run){r.first, ended, r.depth});
    if (r.n - ended < 2) return true;
    return push_run(&o->open, (run){r.first + ended, r.n - ended, r.depth + PREFIX});
}

static bf_status sort_many(bf_context *context, ordering *o, run r) {
    r.depth = common_bytes(o, r);
    bf_status status = sort_by_prefix(context, o, r);
    const uint64_t *prefixes = o->prefixes + r.first;
    for (int64_t i = 0, n; i < r.n && status == BF_OK; i += n) {
        for (n = 1; i + n < r.n && prefixes[i + n] == prefixes[i]; n++) {
        }
        if (n > 1 && !open_equals(o, (run){r.first + i, n, r.depth})) status = BF_E_MEMORY;
    }
    return status == BF_OK ? bf_watch_tick(context, 0) : status;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Sorts the numbers by their keys. */
static bf_status sort_numbers(bf_context *context, ordering *o, int64_t n) {
    bf_status status = push_run(&o->open, (run){0, n, 0}) ? BF_OK : BF_E_MEMORY;
    while (o->open.count > 0 && status == BF_OK) {
        const run r = o->open.runs[--o->open.count];
        if (r.n > FEW)
            status = sort_many(context, o, r);
        else
            sort_few(o, r);
    }
    return status;
}

bf_status bf_cpu_dictionary_rank(bf_context *context, bf_cpu_dictionary *d, int64_t *ranks) {
    ordering o = {.d = d,
                  .numbers = bf_alloc((size_t)d->count * sizeof(int64_t) + 1),
                  .prefixes = bf_alloc((size_t)d->count * sizeof(uint64_t) + 1)};
    bf_status status = o.numbers != NULL && o.prefixes != NULL ? BF_OK : BF_E_MEMORY;
    if (status == BF_OK) {
        int64_t n = 0;
        for (int64_t i = 0; i < d->count; i++)
            if (i != d->null) o.numbers[n++] = i;
        status = sort_numbers(context, &o, n);
        for (int64_t i = 0; i < n && status == BF_OK; i++) ranks[o.numbers[i]] = i;
        if (d->null >= 0) ranks[d->null] = n;
    }
    bf_free(o.open.runs);
    bf_free(o.numbers);
    bf_free(o.prefixes);
    return status != BF_E_MEMORY
               ? status
               : bf_fail(context, BF_E_MEMORY, "no memory to order %lld keys", (long long)d->count);
}
