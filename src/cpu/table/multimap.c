/* The values of a multimap: nodes in rings, one ring for each key. */
#include "cpu/table/table.h"

#include <stdlib.h>

enum { DEAD_MANY = 1 << 10 }; /* dead nodes that are worth being rid of */

void bf_nodes_destroy(bf_nodes *nodes) {
    if (nodes == NULL) return;
    free(nodes->next);
    free(nodes->values);
    free(nodes);
}

static bool allocate(bf_nodes *nodes, int64_t room, int bytes) {
    nodes->next = bf_zeros((size_t)room * sizeof *nodes->next);
    nodes->values = bf_zeros((size_t)room * (size_t)(bytes > 0 ? bytes : 1));
    nodes->room = room;
    if (nodes->next != NULL && nodes->values != NULL) return true;
    free(nodes->next);
    free(nodes->values);
    return false;
}

static bf_status make_room(bf_context *context, bf_nodes *nodes, int64_t more, int bytes) {
    bf_nodes made = *nodes;
    int64_t wanted = nodes->count + more, room = nodes->room + nodes->room / 2;
    if (wanted <= nodes->room) return BF_OK;
    if (!allocate(&made, wanted > room ? wanted : room, bytes))
        return bf_fail(context, BF_E_MEMORY, "no memory for %lld values", (long long)wanted);
    if (nodes->count > 0) {
        memcpy(made.next, nodes->next, (size_t)nodes->count * sizeof *made.next);
        memcpy(made.values, nodes->values, (size_t)(nodes->count * bytes));
    }
    free(nodes->next);
    free(nodes->values);
    *nodes = made;
    return BF_OK;
}

void bf_nodes_values(const bf_nodes *nodes, bf_chain chain, int64_t most, int bytes, char *values) {
    int64_t at = chain.tail, n = chain.count < most ? chain.count : most;
    for (int64_t i = 0; i < n; i++) {
        at = nodes->next[at];
        memcpy(values + i * bytes, nodes->values + at * bytes, (size_t)bytes);
    }
}

/* Copies a chain to the end of other nodes. */
static bf_chain copy_chain(const bf_nodes *from, bf_chain chain, int bytes, bf_nodes *to) {
    int64_t first = to->count;
    bf_nodes_values(from, chain, chain.count, bytes, to->values + first * bytes);
    for (int64_t i = 0; i < chain.count; i++) to->next[first + i] = first + i + 1;
    to->count += chain.count;
    to->next[to->count - 1] = first;
    return (bf_chain){to->count - 1, chain.count};
}

/* Gathers the living nodes anew, key by key; without memory for that all stays as it is. */
static void gather(bf_context *context, bf_cpu_table *t) {
    bf_nodes *nodes = t->nodes, made = {.count = 0};
    size_t keys = (size_t)t->keys, key_bytes = (size_t)t->key_bytes;
    int64_t living = nodes->count - nodes->dead;
    int bytes = bf_key_bytes(t->kind.value);
    char *memory = malloc(keys * (key_bytes + sizeof(bf_chain)) + 1);
    if (memory == NULL || !allocate(&made, living + 1, bytes)) {
        free(memory);
        return;
    }
    char *chains = memory + keys * key_bytes;
    bf_table_collect(context, t, memory, chains);
    for (size_t i = 0; i < keys; i++) {
        bf_chain chain;
        memcpy(&chain, chains + i * sizeof chain, sizeof chain);
        chain = copy_chain(nodes, chain, bytes, &made);
        memcpy(chains + i * sizeof chain, &chain, sizeof chain);
    }
    bf_entries entries = {
        .keys = memory, .key_step = key_bytes, .values = chains, .value_step = sizeof(bf_chain)};
    t->kind.duplicates = BF_DUPLICATES_LAST; /* these replace those that are there */
    t->loops->insert(t, &entries, 0, (int64_t)keys);
    t->kind.duplicates = BF_DUPLICATES_KEEP;
    free(memory);
    free(nodes->next);
    free(nodes->values);
    *nodes = made;
}

bf_status bf_nodes_prepare(bf_context *context, bf_cpu_table *table, const char *values,
                           int64_t n) {
    bf_nodes *nodes = table->nodes;
    int bytes = bf_key_bytes(table->kind.value);
    if (nodes->dead > DEAD_MANY && nodes->dead > nodes->count / 2) gather(context, table);
    bf_status status = make_room(context, nodes, n, bytes);
    if (status != BF_OK) return status;
    for (int64_t i = 0; i < n; i++) nodes->next[nodes->count + i] = nodes->count + i;
    if (bytes > 0) memcpy(nodes->values + nodes->count * bytes, values, (size_t)(n * bytes));
    return BF_OK;
}
