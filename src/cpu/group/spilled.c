/* Groups beyond memory. When the budget refuses more, the groups are written to a file in the order
 * of their keys, as a run, and removed from memory, which takes others. Before they are looked at,
 * all runs are merged to one. That is read a page of groups at a time.
 *
 * Half of the memory is left free while groups grow: they are sorted and written by it. */
#include "base/spill/merger.h"
#include "cpu/group/group.h"

enum { PAGE = 1 << 12 /* groups, at most */ };

/* Groups as words, by key. */
typedef struct page {
    int64_t n, room;
    char *ranks, *keys;
    int64_t *counts;
    int64_t *words[BF_AGGREGATES_MAX]; /* each aggregate's, group after group */
} page;

typedef struct bf_group_spilled {
    bf_merger runs;   /* a record has the rank of a key, its number of words, the number of rows,
                         and the words of each aggregate, packed */
    bool settled;     /* there is one run, and no group in memory */
    int64_t n;        /* groups, then */
    int64_t *begins;  /* the word of the file at which each page begins, and the end */
    int64_t room;     /* for so many pages */
    int64_t per_page; /* groups */
    bf_cpu_groups *loaded; /* the groups of a page; NULL: none yet */
    int64_t number;        /* the number of that page; -1: none */
} bf_group_spilled;

static bf_status no_memory(bf_context *context) {
    return bf_fail(context, BF_E_MEMORY, "no memory for groups");
}

/* ---- the budget ------------------------------------------------------------------------------ */

/* What a call on groups does to the budget. */
typedef struct call {
    bf_context *context;
    bf_cpu_groups *groups;
    int64_t used, others, limit; /* others: bytes that these groups do not have */
} call;

static int64_t used_by(bf_context *context) {
    return __atomic_load_n(&context->budget.used, __ATOMIC_RELAXED);
}

static call begin_call(bf_context *context, bf_cpu_groups *g) {
    const int64_t used = used_by(context);
    return (call){context, g, used, used - g->held, context->budget.limit};
}

static bf_status end_call(const call *c, bf_status status) {
    c->groups->held += used_by(c->context) - c->used;
    return status;
}

/* Between the two, groups that may spill grow within half of what others leave. */
static void begin_growth(const call *c) {
    if (bf_may_spill(c->context)) c->context->budget.limit = c->others + (c->limit - c->others) / 2;
}

static bf_status end_growth(const call *c, bf_status status) {
    c->context->budget.limit = c->limit;
    return status;
}

/* ---- pages ----------------------------------------------------------------------------------- */

static int words_of(const bf_cpu_groups *g, int which) {
    const bf_aggregate a = g->wanted[which];
    return bf_state_words(bf_kind_of(a.op, a.dtype), a.dtype, NULL);
}

static void free_page(page *p) {
    bf_free(p->ranks);
    bf_free(p->keys);
    bf_free(p->counts);
    for (int i = 0; i < BF_AGGREGATES_MAX; i++) bf_free(p->words[i]);
}

/* The caller frees the page, also after a failure. */
static bf_status make_page(bf_context *context, const bf_cpu_groups *g, int64_t room, page *p) {
    *p = (page){.room = room};
    p->ranks = bf_alloc((size_t)(room * g->rank_bytes));
    p->keys = bf_alloc((size_t)(room * bf_key_bytes(g->key)));
    p->counts = bf_alloc((size_t)room * sizeof *p->counts);
    bool made = p->ranks != NULL && p->keys != NULL && p->counts != NULL;
    for (int i = 0; i < g->asked && made; i++) {
        p->words[i] = bf_alloc((size_t)(room * words_of(g, i)) * sizeof *p->words[i]);
        made = p->words[i] != NULL;
    }
    return made ? BF_OK : no_memory(context);
}

/* Groups that a page may have, by the memory that is left. */
static int64_t page_room(const bf_cpu_groups *g) {
    int64_t each = 64, room = PAGE;
    for (int i = 0; i < g->asked; i++) each += 16 * words_of(g, i);
    while (room > 1 && room * each > bf_merger_share(8)) room /= 2;
    return room;
}

/* Reads groups [first, first + n) of those in memory. */
static bf_status read_memory(bf_context *context, bf_cpu_groups *g, int64_t first, int64_t n,
                             page *p) {
    bf_status status = bf_cpu_groups_sort(context, g);
    p->n = n;
    if (status == BF_OK)
        memcpy(p->ranks, g->ranks + first * g->rank_bytes, (size_t)(n * g->rank_bytes));
    if (status == BF_OK) g->loops->unrank(g->key, p->ranks, n, p->keys);
    for (int64_t i = 0; i < n && status == BF_OK; i++) p->counts[i] = *bf_group_count(g, first + i);
    for (int i = 0; i < g->asked && status == BF_OK; i++)
        status = bf_group_memory.words(context, g, i, first, n, p->words[i]);
    return status;
}

/* ---- records --------------------------------------------------------------------------------- */

static int key_words(const bf_cpu_groups *g) { return g->rank_bytes > 8 ? 2 : 1; }

/* Packed words are a bit for each, set where it differs from the one before, and those. */
static int flag_words(int words) { return (words + 63) / 64; }

static int record_most(const bf_cpu_groups *g) {
    int most = key_words(g) + 2;
    for (int i = 0; i < g->asked; i++) most += words_of(g, i) + flag_words(words_of(g, i));
    return most;
}

/* Returns how many words it wrote. */
static int pack_words(const int64_t *words, int n, uint64_t *to) {
    int at = flag_words(n);
    int64_t last = 0;
    memset(to, 0, (size_t)at * sizeof *to);
    for (int i = 0; i < n; i++) {
        if (words[i] == last) continue;
        to[i / 64] |= (uint64_t)1 << i % 64;
        to[at++] = (uint64_t)(last = words[i]);
    }
    return at;
}

/* Returns how many words it read. */
static int unpack_words(const uint64_t *from, int n, int64_t *words) {
    int at = flag_words(n), i = 0;
    int64_t last = 0;
    for (int f = 0; f < flag_words(n); f++)
        for (uint64_t flags = from[f]; flags != 0; flags &= flags - 1) {
            for (const int next = 64 * f + __builtin_ctzll(flags); i < next; i++) words[i] = last;
            last = (int64_t)from[at++];
        }
    while (i < n) words[i++] = last;
    return at;
}

/* Makes the record of group i of a page. Returns its words. */
static int pack_group(const bf_cpu_groups *g, const page *p, int64_t i, uint64_t *record) {
    const int key = key_words(g);
    int at = key + 2;
    record[0] = 0;
    memcpy(record, p->ranks + i * g->rank_bytes, (size_t)g->rank_bytes);
    record[key + 1] = (uint64_t)p->counts[i];
    for (int a = 0; a < g->asked; a++)
        at += pack_words(p->words[a] + i * words_of(g, a), words_of(g, a), record + at);
    record[key] = (uint64_t)at;
    return at;
}

static void unpack_group(const bf_cpu_groups *g, const uint64_t *record, page *p, int64_t i) {
    const int key = key_words(g);
    int at = key + 2;
    memcpy(p->ranks + i * g->rank_bytes, record, (size_t)g->rank_bytes);
    p->counts[i] = (int64_t)record[key + 1];
    for (int a = 0; a < g->asked; a++)
        at += unpack_words(record + at, words_of(g, a), p->words[a] + i * words_of(g, a));
}

/* Adds group 1 of a page to group 0, which has the same key. */
static void merge_group(const bf_cpu_groups *g, page *p) {
    p->counts[0] += p->counts[1];
    for (int a = 0; a < g->asked; a++) {
        const bf_aggregate x = g->wanted[a];
        bf_state_merge_words(bf_kind_of(x.op, x.dtype), x.dtype, p->words[a],
                             p->words[a] + words_of(g, a));
    }
}

/* ---- writing runs ---------------------------------------------------------------------------- */

/* Prepares to spill. */
static bf_status open_spilled(bf_context *context, bf_cpu_groups *g) {
    if (g->spilled != NULL) return BF_OK;
    bf_group_spilled *s = bf_calloc(1, sizeof *s);
    if (s == NULL) return no_memory(context);
    s->number = -1;
    const bf_status status = bf_merger_open(&s->runs, context, key_words(g), 0, record_most(g));
    if (status == BF_OK)
        g->spilled = s;
    else
        bf_free(s);
    return status;
}

static void forget_page(bf_context *context, bf_group_spilled *s) {
    if (s->loaded != NULL) bf_group_memory.destroy(context, s->loaded);
    s->loaded = NULL;
    s->number = -1;
}

static void close_spilled(bf_context *context, bf_cpu_groups *g) {
    bf_group_spilled *s = g->spilled;
    if (s == NULL) return;
    forget_page(context, s);
    bf_merger_close(&s->runs);
    bf_free(s->begins);
    bf_free(s);
    g->spilled = NULL;
}

static bf_status write_page(bf_cpu_groups *g, const page *p, uint64_t *record) {
    bf_status status = BF_OK;
    for (int64_t i = 0; i < p->n && status == BF_OK; i++)
        status = bf_merger_add(&g->spilled->runs, record, pack_group(g, p, i, record));
    return status;
}

static bf_status write_pages(bf_context *context, bf_cpu_groups *g, int64_t n) {
    const int64_t room = page_room(g);
    uint64_t *record = bf_alloc((size_t)record_most(g) * sizeof *record);
    page p;
    bf_status status = make_page(context, g, room, &p);
    if (status == BF_OK && record == NULL) status = no_memory(context);
    for (int64_t at = 0; at < n && status == BF_OK; at += room) {
        status = read_memory(context, g, at, n - at < room ? n - at : room, &p);
        if (status == BF_OK) status = write_page(g, &p, record);
    }
    free_page(&p);
    bf_free(record);
    return status == BF_OK ? bf_merger_cut(&g->spilled->runs) : status;
}

/* Writes the groups in memory as a run, and removes them. On failure all is as it was. */
static bf_status write_groups(bf_context *context, bf_cpu_groups *g) {
    const int64_t n = bf_group_memory.size(g);
    bf_status status = open_spilled(context, g);
    if (status != BF_OK) return status;
    forget_page(context, g->spilled);
    if (n == 0) return BF_OK;
    const int runs = g->spilled->runs.count;
    status = write_pages(context, g, n);
    if (status == BF_OK) {
        g->spilled->settled = false;
        bf_group_memory.clear(context, g);
    } else {
        bf_merger_drop(&g->spilled->runs, runs);
    }
    return status;
}

/* ---- one run --------------------------------------------------------------------------------- */

/* A run of different keys that is made of many. */
typedef struct settling {
    const bf_cpu_groups *groups;
    bf_group_spilled made;
    page pair;      /* two groups of one key */
    uint64_t *last; /* the record that is not written yet */
    bool any;       /* is there one? */
} settling;

/* Notes that page number `page` begins, or would begin, at the end of the run. */
static bf_status note_page(bf_context *context, bf_group_spilled *s, int64_t number) {
    if (number >= s->room) {
        const int64_t room = 2 * s->room + 64;
        int64_t *more = bf_resize(s->begins, (size_t)room * sizeof *more);
        if (more == NULL) return no_memory(context);
        s->begins = more;
        s->room = room;
    }
    s->begins[number] = s->runs.end;
    return BF_OK;
}

static int64_t page_count(const bf_group_spilled *s) {
    return (s->n + s->per_page - 1) / s->per_page;
}

static bf_status write_last(bf_context *context, settling *x) {
    bf_group_spilled *s = &x->made;
    bf_status status = s->n % s->per_page == 0 ? note_page(context, s, page_count(s)) : BF_OK;
    if (status == BF_OK)
        status = bf_merger_add(&s->runs, x->last, (int64_t)x->last[key_words(x->groups)]);
    s->n++;
    return status;
}

/* Takes the next record of all runs. */
static bf_status take_record(bf_context *context, settling *x, const uint64_t *record) {
    const bf_cpu_groups *g = x->groups;
    const size_t key = (size_t)key_words(g);
    bf_status status = BF_OK;
    if (x->any && memcmp(x->last, record, key * sizeof *record) == 0) {
        unpack_group(g, x->last, &x->pair, 0);
        unpack_group(g, record, &x->pair, 1);
        merge_group(g, &x->pair);
        pack_group(g, &x->pair, 0, x->last);
        return BF_OK;
    }
    if (x->any) status = write_last(context, x);
    memcpy(x->last, record, (size_t)record[key] * sizeof *record);
    x->any = true;
    return status;
}

static bf_status take_runs(bf_context *context, settling *x) {
    bf_merger *from = &x->groups->spilled->runs;
    const uint64_t *record;
    bf_status status = bf_merger_start(from, bf_merger_share(2));
    while (status == BF_OK) {
        status = bf_merger_next(from, &record);
        if (status != BF_OK || record == NULL) break;
        status = take_record(context, x, record);
    }
    if (status == BF_OK && x->any) status = write_last(context, x);
    if (status == BF_OK) status = bf_merger_cut(&x->made.runs);
    bf_merger_stop(from);
    if (status == BF_OK) status = note_page(context, &x->made, page_count(&x->made));
    return status;
}

static bf_status settle_runs(bf_context *context, bf_cpu_groups *g) {
    settling x = {.groups = g, .made = {.number = -1, .settled = true, .runs = {.fd = -1}}};
    bf_status status = make_page(context, g, 2, &x.pair);
    x.made.per_page = page_room(g);
    x.last = bf_alloc((size_t)record_most(g) * sizeof *x.last);
    if (status == BF_OK && x.last == NULL) status = no_memory(context);
    if (status == BF_OK)
        status = bf_merger_open(&x.made.runs, context, key_words(g), 0, record_most(g));
    if (status == BF_OK) status = take_runs(context, &x);
    bf_merger_stop(&x.made.runs);
    free_page(&x.pair);
    bf_free(x.last);
    bf_group_spilled *s = status == BF_OK ? g->spilled : &x.made;
    bf_merger_close(&s->runs);
    bf_free(s->begins);
    if (status == BF_OK) *s = x.made;
    return status;
}

/* Brings all groups to one run, if some are in a file. */
static bf_status settle(bf_context *context, bf_cpu_groups *g) {
    if (g->spilled == NULL) return BF_OK;
    bf_status status = write_groups(context, g);
    if (status != BF_OK || g->spilled->settled) return status;
    return settle_runs(context, g);
}

/* ---- reading pages --------------------------------------------------------------------------- */

static int64_t page_groups(const bf_group_spilled *s, int64_t number) {
    const int64_t left = s->n - number * s->per_page;
    return left < s->per_page ? left : s->per_page;
}

/* The caller frees the page, also after a failure. */
static bf_status read_page(bf_context *context, bf_cpu_groups *g, int64_t number, page *p) {
    bf_group_spilled *s = g->spilled;
    const int64_t words = s->begins[number + 1] - s->begins[number];
    uint64_t *records = bf_alloc((size_t)words * sizeof *records), *record = records;
    bf_status status = make_page(context, g, s->per_page, p);
    if (status == BF_OK && records == NULL) status = no_memory(context);
    if (status == BF_OK) status = bf_merger_read(&s->runs, s->begins[number], words, records);
    for (; status == BF_OK && p->n < page_groups(s, number); p->n++) {
        unpack_group(g, record, p, p->n);
        record += record[key_words(g)];
    }
    if (status == BF_OK) g->loops->unrank(g->key, p->ranks, p->n, p->keys);
    bf_free(records);
    return status;
}

/* Brings the groups of a page to memory. */
static bf_status load_page(bf_context *context, bf_cpu_groups *g, int64_t number) {
    bf_group_spilled *s = g->spilled;
    const bf_group_kind kind = {g->key, g->asked, g->wanted, 0};
    void *loaded = NULL;
    page p;
    if (s->number == number) return BF_OK;
    forget_page(context, s);
    bf_status status = read_page(context, g, number, &p);
    if (status == BF_OK) status = bf_group_memory.create(context, &kind, &loaded);
    s->loaded = loaded;
    if (status == BF_OK)
        status = bf_group_memory.insert(context, loaded, p.keys, p.counts,
                                        (const int64_t *const *)p.words, p.n);
    free_page(&p);
    if (status == BF_OK) s->number = number;
    return status;
}

/* ---- rows and groups that are added ---------------------------------------------------------- */

/* Adds items [first, first + n) of something to the groups in memory. */
typedef bf_status add_items(bf_context *context, bf_cpu_groups *g, const void *from, int64_t first,
                            int64_t n);

/* Adds all items, `some` at a time, or as many as memory takes; those that it does not hold are
 * spilled. */
static bf_status add_parts(const call *c, add_items *add, const void *from, int64_t n,
                           int64_t some) {
    bf_cpu_groups *g = c->groups;
    bf_status status = BF_OK;
    for (int64_t at = 0; at < n && status == BF_OK;) {
        if (some > n - at) some = n - at;
        begin_growth(c);
        status = end_growth(c, add(c->context, g, from, at, some));
        if (status == BF_OK) {
            at += some;
            status = bf_watch_tick(c->context, 0);
        } else if (status == BF_E_MEMORY && bf_group_memory.size(g) > 0) {
            status = write_groups(c->context, g);
        } else if (status == BF_E_MEMORY && some > 1) {
            some = (some + 1) / 2;
            status = BF_OK;
        }
    }
    return status;
}

/* Writes the groups in memory, then adds the items. On failure the groups are as they were: only
 * what was added is dropped. */
static bf_status spill_parts(const call *c, add_items *add, const void *from, int64_t n,
                             int64_t some) {
    bf_cpu_groups *g = c->groups;
    bf_status status = write_groups(c->context, g);
    if (status != BF_OK) return status;
    const int runs = g->spilled->runs.count;
    g->spilled->settled = false;
    status = add_parts(c, add, from, n, some);
    if (status == BF_OK) return BF_OK;
    bf_group_memory.clear(c->context, g);
    bf_merger_drop(&g->spilled->runs, runs);
    return status;
}

/* Adds n items. On failure the groups are as they were. */
static bf_status add_all(const call *c, add_items *add, const void *from, int64_t n) {
    begin_growth(c);
    const bf_status status = end_growth(c, add(c->context, c->groups, from, 0, n));
    if (status != BF_E_MEMORY || !bf_may_spill(c->context)) return status;
    return spill_parts(c, add, from, n, n);
}

static bf_status add_rows(bf_context *context, bf_cpu_groups *g, const void *from, int64_t first,
                          int64_t n) {
    bf_group_job part = *(const bf_group_job *)from;
    for (int i = 0; i < part.arrays; i++)
        part.values[i] = (const char *)part.values[i] + first * bf_number_bytes(part.dtypes[i]);
    part.keys = (const char *)part.keys + first * bf_key_bytes(g->key);
    part.n = n;
    return bf_group_memory.absorb(context, g, &part);
}

static bf_status absorb_rows(bf_context *context, void *groups, const bf_group_job *job) {
    const call c = begin_call(context, groups);
    return end_call(&c, add_all(&c, add_rows, job, job->n));
}

typedef struct words {
    const char *keys;
    const int64_t *counts;
    const int64_t *const *words;
} words;

static bf_status add_words(bf_context *context, bf_cpu_groups *g, const void *from, int64_t first,
                           int64_t n) {
    const words *w = from;
    const int64_t *each[BF_AGGREGATES_MAX];
    for (int i = 0; i < g->asked; i++) each[i] = w->words[i] + first * words_of(g, i);
    return bf_group_memory.insert(context, g, w->keys + first * bf_key_bytes(g->key),
                                  w->counts + first, each, n);
}

static bf_status insert_groups(bf_context *context, void *groups, const void *keys,
                               const int64_t *counts, const int64_t *const each[], int64_t n) {
    const words w = {keys, counts, each};
    const call c = begin_call(context, groups);
    return end_call(&c, add_all(&c, add_words, &w, n));
}

/* ---- merging --------------------------------------------------------------------------------- */

/* Other groups, a page at a time. */
typedef struct pages {
    bf_cpu_groups *of;
    int64_t n, per_page;
} pages;

static bf_status add_page(bf_context *context, bf_cpu_groups *g, const void *from, int64_t first,
                          int64_t n) {
    const pages *x = from;
    const int64_t at = first * x->per_page, left = x->n - at;
    page p;
    bf_status status = BF_OK;
    (void)n;
    if (x->of->spilled != NULL) {
        status = read_page(context, x->of, first, &p);
    } else {
        status = make_page(context, g, x->per_page, &p);
        if (status == BF_OK)
            status = read_memory(context, x->of, at, left < x->per_page ? left : x->per_page, &p);
    }
    if (status == BF_OK)
        status = bf_group_memory.insert(context, g, p.keys, p.counts,
                                        (const int64_t *const *)p.words, p.n);
    free_page(&p);
    return status;
}

static bf_status open_pages(bf_context *context, bf_cpu_groups *other, pages *x) {
    *x = (pages){other, 0, page_room(other)};
    const bf_status status = settle(context, other);
    if (status != BF_OK) return status;
    if (other->spilled != NULL) x->per_page = other->spilled->per_page;
    x->n = other->spilled != NULL ? other->spilled->n : bf_group_memory.size(other);
    return BF_OK;
}

static int64_t count_pages(const pages *x) { return (x->n + x->per_page - 1) / x->per_page; }

static bf_status merge_pages(const call *c, bf_cpu_groups *other) {
    pages x;
    const bf_status status = open_pages(c->context, other, &x);
    return status == BF_OK ? spill_parts(c, add_page, &x, count_pages(&x), 1) : status;
}

/* Merges groups that have spilled into others that may not. */
static bf_status merge_copy(const call *c, bf_cpu_groups *other) {
    const bf_group_kind kind = {other->key, other->asked, other->wanted, 0};
    void *copy = NULL;
    pages x;
    bf_status status = open_pages(c->context, other, &x);
    if (status == BF_OK) status = bf_group_memory.create(c->context, &kind, &copy);
    for (int64_t i = 0; status == BF_OK && i < count_pages(&x); i++)
        status = add_page(c->context, copy, &x, i, 1);
    if (status == BF_OK) status = bf_group_memory.merge(c->context, c->groups, copy);
    if (copy != NULL) bf_group_memory.destroy(c->context, copy);
    return status;
}

static bf_status merge_groups(bf_context *context, void *into, const void *from) {
    bf_cpu_groups *other = (bf_cpu_groups *)(uintptr_t)from;
    const call c = begin_call(context, into);
    bf_status status = BF_E_MEMORY;
    begin_growth(&c);
    if (other->spilled == NULL) status = bf_group_memory.merge(context, into, from);
    status = end_growth(&c, status);
    if (status == BF_E_MEMORY && bf_may_spill(context))
        status = merge_pages(&c, other);
    else if (other->spilled != NULL)
        status = merge_copy(&c, other);
    return end_call(&c, status);
}

/* ---- results --------------------------------------------------------------------------------- */

/* Are the groups to be read from pages? If memory was refused, they are now. */
static bool reads_pages(bf_context *context, bf_cpu_groups *g, bf_status *status) {
    if (*status == BF_E_MEMORY && bf_may_spill(context)) *status = write_groups(context, g);
    if (*status == BF_OK && g->spilled != NULL) *status = settle(context, g);
    return *status == BF_OK && g->spilled != NULL;
}

static bf_status list_pages(bf_context *context, bf_cpu_groups *g, char *keys, char *counts) {
    const int64_t bytes = bf_key_bytes(g->key);
    bf_status status = BF_OK;
    for (int64_t i = 0; i < page_count(g->spilled) && status == BF_OK; i++) {
        const int64_t at = i * g->spilled->per_page;
        page p;
        status = read_page(context, g, i, &p);
        if (status == BF_OK && keys != NULL)
            memcpy(keys + at * bytes, p.keys, (size_t)(p.n * bytes));
        if (status == BF_OK && counts != NULL) memcpy(counts + at * 8, p.counts, (size_t)p.n * 8);
        free_page(&p);
    }
    return status;
}

static bf_status list_groups(bf_context *context, void *groups, void *keys, void *counts) {
    bf_cpu_groups *g = groups;
    const call c = begin_call(context, g);
    bf_status status = g->spilled != NULL ? BF_OK : bf_group_memory.list(context, g, keys, counts);
    if (status == BF_E_MEMORY || g->spilled != NULL)
        if (reads_pages(context, g, &status)) status = list_pages(context, g, keys, counts);
    return end_call(&c, status);
}

/* A request for the results of an aggregate. */
typedef struct request {
    int which;
    bf_reduction op;
    const bf_reduce_options *options;
    bf_dtype to;
    char *values;
    uint8_t *fits;
    char *checked; /* results of a page that are only checked */
} request;

/* Finishes the groups of a page that is loaded, whose first is number `at`. */
static bf_status finish_page(bf_context *context, bf_cpu_groups *g, const request *r, int64_t at) {
    const int64_t n = bf_group_memory.size(g->spilled->loaded);
    const int64_t bytes = r->to == BF_I192 ? 24 : bf_number_bytes(r->to);
    const bool tells = r->to != BF_I192 && r->fits == NULL;
    uint8_t *own = (uint8_t *)r->checked + g->spilled->per_page * bytes;
    uint8_t *fits = r->fits != NULL ? r->fits + at : tells ? own : NULL;
    bf_status status =
        bf_group_memory.aggregate(context, g->spilled->loaded, r->which, r->op, r->options, r->to,
                                  r->values == NULL ? r->checked : r->values + at * bytes, fits);
    if (status == BF_E_OVERFLOW)
        return bf_fail(context, status, "the %s of a group does not fit %s",
                       bf_reduction_name(r->op), bf_dtype_name(r->to));
    if (status != BF_OK || !tells || r->options->overflow == BF_OVERFLOW_WRAP) return status;
    const uint8_t *misfit = memchr(own, 0, (size_t)n);
    if (misfit == NULL) return BF_OK;
    return bf_group_misfit(context, r->op, r->to, at + (misfit - own));
}

static bf_status finish_pages(bf_context *context, bf_cpu_groups *g, const request *r) {
    bf_status status = BF_OK;
    for (int64_t i = 0; i < page_count(g->spilled) && status == BF_OK; i++) {
        status = load_page(context, g, i);
        if (status == BF_OK) status = finish_page(context, g, r, i * g->spilled->per_page);
    }
    return status;
}

/* Checks all results that could be refused before the first one is written. */
static bf_status aggregate_pages(bf_context *context, bf_cpu_groups *g, request *r) {
    const bf_dtype dtype = g->wanted[r->which].dtype;
    const bool exact = bf_result_dtype(r->op, dtype, r->options->out_dtype) == BF_I192;
    request check = *r;
    check.values = NULL;
    check.fits = NULL;
    bf_status status = BF_OK;
    r->checked = check.checked = bf_alloc((size_t)g->spilled->per_page * 25);
    if (r->checked == NULL) status = no_memory(context);
    if (status == BF_OK && (r->options->nan == BF_NAN_ERROR || (exact && r->fits == NULL)))
        status = finish_pages(context, g, &check);
    if (status == BF_OK) status = finish_pages(context, g, r);
    bf_free(r->checked);
    forget_page(context, g->spilled);
    return status;
}

static bf_status aggregate_groups(bf_context *context, void *groups, int which, bf_reduction op,
                                  const bf_reduce_options *options, bf_dtype to, void *values,
                                  uint8_t *fits) {
    bf_cpu_groups *g = groups;
    request r = {which, op, options, to, values, fits, NULL};
    const call c = begin_call(context, g);
    bf_status status = BF_OK;
    if (g->spilled == NULL)
        status = bf_group_memory.aggregate(context, g, which, op, options, to, values, fits);
    if (status == BF_E_MEMORY || g->spilled != NULL)
        if (reads_pages(context, g, &status)) status = aggregate_pages(context, g, &r);
    return end_call(&c, status);
}

static bf_status read_words(bf_context *context, void *groups, int which, int64_t first, int64_t n,
                            int64_t *to) {
    bf_cpu_groups *g = groups;
    const bf_group_spilled *s = g->spilled;
    const call c = begin_call(context, g);
    bf_status status = BF_OK;
    if (s == NULL) return end_call(&c, bf_group_memory.words(context, g, which, first, n, to));
    for (int64_t at = first, some; at < first + n && status == BF_OK; at += some) {
        const int64_t number = at / s->per_page, end = (number + 1) * s->per_page;
        some = end < first + n ? end - at : first + n - at;
        status = load_page(context, g, number);
        if (status == BF_OK)
            status = bf_group_memory.words(context, s->loaded, which, at - number * s->per_page,
                                           some, to + (at - first) * words_of(g, which));
    }
    return end_call(&c, status);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void destroy_groups(bf_context *context, void *groups) {
    close_spilled(context, groups);
    bf_group_memory.destroy(context, groups);
}

static void clear_groups(bf_context *context, void *groups) {
    const call c = begin_call(context, groups);
    close_spilled(context, groups);
    bf_group_memory.clear(context, groups);
    (void)end_call(&c, BF_OK);
}

/* Also asked for by calls that have not entered the context. */
static bf_status settle_groups(bf_context *context, void *groups) {
    const bool enters = bf_may_spill(context) && bf_budget_current() != &context->budget;
    const call c = begin_call(context, groups);
    if (enters) bf_budget_enter(&context->budget);
    const bf_status status = settle(context, groups);
    if (enters) bf_budget_leave(&context->budget);
    return end_call(&c, status);
}

static int64_t groups_size(const void *groups) {
    const bf_cpu_groups *g = groups;
    return g->spilled != NULL ? g->spilled->n : bf_group_memory.size(g);
}

static bf_status create_groups(bf_context *context, const bf_group_kind *kind, void **groups) {
    return bf_group_memory.create(context, kind, groups);
}

const bf_group_backend bf_cpu_groups_backend = {
    .create = create_groups,
    .destroy = destroy_groups,
    .clear = clear_groups,
    .settle = settle_groups,
    .size = groups_size,
    .absorb = absorb_rows,
    .merge = merge_groups,
    .list = list_groups,
    .aggregate = aggregate_groups,
    .words = read_words,
    .insert = insert_groups,
};
