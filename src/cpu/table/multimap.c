/* The values of a multimap: nodes, linked in a ring for each key. */
#include "cpu/table/table.h"

enum { DEAD_MANY = 1 << 10 }; /* dead nodes that are worth gathering the others for */

static void free_nodes(const bf_multimap *m) {
    bf_free(m->next);
    bf_free(m->values);
}

void bf_multimap_destroy(bf_multimap *m) {
    if (m == NULL) return;
    free_nodes(m);
    bf_free(m);
}

static bool allocate_nodes(bf_multimap *m, int64_t room, int bytes) {
    m->next = bf_zeros((size_t)room * sizeof *m->next);
    m->values = bf_zeros((size_t)room * (size_t)(bytes > 0 ? bytes : 1));
    m->room = room;
    if (m->next != NULL && m->values != NULL) return true;
    free_nodes(m);
    return false;
}

static bf_status make_room(bf_context *context, bf_multimap *m, int64_t more, int bytes) {
    bf_multimap made = *m;
    int64_t wanted = m->count + more, room = m->room + m->room / 2;
    if (wanted <= m->room) return BF_OK;
    if (!allocate_nodes(&made, wanted > room ? wanted : room, bytes))
        return bf_fail(context, BF_E_MEMORY, "no memory for %lld values", (long long)wanted);
    if (m->count > 0) {
        memcpy(made.next, m->next, (size_t)m->count * sizeof *made.next);
        memcpy(made.values, m->values, (size_t)(m->count * bytes));
    }
    free_nodes(m);
    *m = made;
    return BF_OK;
}

void bf_multimap_values(const bf_multimap *m, bf_run run, int64_t most, int bytes, char *values) {
    int64_t at = run.tail, n = run.count < most ? run.count : most;
    for (int64_t i = 0; i < n; i++) {
        at = m->next[at];
        memcpy(values + i * bytes, m->values + at * bytes, (size_t)bytes);
    }
}

/* Copies a run behind the nodes of another multimap. */
static bf_run copy_run(const bf_multimap *from, bf_run run, int bytes, bf_multimap *to) {
    int64_t first = to->count;
    bf_multimap_values(from, run, run.count, bytes, to->values + first * bytes);
    for (int64_t i = 0; i < run.count; i++) to->next[first + i] = first + i + 1;
    to->count += run.count;
    to->next[to->count - 1] = first;
    return (bf_run){to->count - 1, run.count};
}

/* Copies the living nodes to new memory, key by key. Without such memory all stays as it is.
 * Errors: BF_E_CANCELLED; the same. */
static bf_status gather_nodes(bf_context *context, bf_cpu_table *t) {
    bf_multimap *m = t->multimap, made = {.count = 0};
    size_t keys = (size_t)t->keys, key_bytes = (size_t)t->key_bytes;
    int64_t living = m->count - m->dead;
    int bytes = bf_key_bytes(t->kind.value);
    char *memory = bf_alloc(keys * (key_bytes + sizeof(bf_run)) + 1);
    if (memory == NULL || !allocate_nodes(&made, living + 1, bytes)) {
        bf_free(memory);
        return BF_OK;
    }
    char *runs = memory + keys * key_bytes;
    bf_status status = bf_table_collect(context, t, memory, runs);
    if (status != BF_OK) {
        free_nodes(&made);
        bf_free(memory);
        return status;
    }
    for (size_t i = 0; i < keys; i++) {
        bf_run run;
        memcpy(&run, runs + i * sizeof run, sizeof run);
        run = copy_run(m, run, bytes, &made);
        memcpy(runs + i * sizeof run, &run, sizeof run);
    }
    bf_entries entries = {
        .keys = memory, .key_step = key_bytes, .values = runs, .value_step = sizeof(bf_run)};
    t->kind.duplicates = BF_DUPLICATES_LAST; /* these replace those that are there */
    t->loops->insert(t, &entries, 0, (int64_t)keys);
    t->kind.duplicates = BF_DUPLICATES_KEEP;
    bf_free(memory);
    free_nodes(m);
    *m = made;
    return BF_OK;
}

bf_status bf_multimap_prepare(bf_context *context, bf_cpu_table *table, const char *values,
                              int64_t n) {
    bf_multimap *m = table->multimap;
    int bytes = bf_key_bytes(table->kind.value);
    bf_status status = BF_OK;
    if (m->dead > DEAD_MANY && m->dead > m->count / 2) status = gather_nodes(context, table);
    if (status == BF_OK) status = make_room(context, m, n, bytes);
    if (status != BF_OK) return status;
    for (int64_t i = 0; i < n; i++) m->next[m->count + i] = m->count + i;
    if (bytes > 0) memcpy(m->values + m->count * bytes, values, (size_t)(n * bytes));
    return BF_OK;
}
