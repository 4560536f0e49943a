/* The ladder's check of hash tables: it passes what is right, and nothing that a race could leave.
 * Builds: release, asan, tsan. */
#include "ladder/data.h"
#include "ladder/table.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

enum { KEYS = 5000, PLACES = 2 * KEYS, BYTES = LADDER_TABLE_ROOM + KEYS * LADDER_TABLE_EACH };

static uint32_t keys[KEYS];

static const char *copy(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
    return NULL;
}

/* What the check says of the table in this memory. */
static ladder_row judge(void *memory, unsigned is) {
    const ladder_machine machine = {.copy = copy};
    const ladder_rung rung = {.is = is};
    ladder_row row = {.good = false};
    const ladder_task task = {.n = KEYS, .out = memory, .host = malloc(BYTES)};
    assert_non_null(task.host);
    assert_null(ladder_check_table(&machine, &rung, &task, &row));
    free(task.host);
    return row;
}

/* ---- chains ---------------------------------------------------------------------------------- */

static void leave_chains(ladder_chains *c) { (void)c; }
static void lose_node(ladder_chains *c) { c->heads[7] = c->heads[7]->next; }
static void lose_tail(ladder_chains *c) { c->heads[7]->next = NULL; }
static void close_circle(ladder_chains *c) { c->heads[7]->next->next = c->heads[7]; }
static void share_tail(ladder_chains *c) { c->heads[7]->next = c->heads[8]; }
static void change_key(ladder_chains *c) { c->heads[7]->key ^= 1; }
static void change_value(ladder_chains *c) { c->heads[7]->value ^= 1; }
static void point_nowhere(ladder_chains *c) { c->heads[7]->next = (ladder_node *)(uintptr_t)16; }
static void point_between(ladder_chains *c) {
    c->heads[7] = (ladder_node *)(void *)((char *)c->heads[7] + 8);
}
static void change_bucket(ladder_chains *c) {
    ladder_node *node = c->heads[7];
    c->heads[7] = node->next;
    node->next = c->heads[8];
    c->heads[8] = node;
}

static bool chains_pass(void (*damage)(ladder_chains *)) {
    void *memory = calloc(1, BYTES);
    assert_non_null(memory);
    ladder_chain_alone(keys, KEYS, memory);
    ladder_chains chains = ladder_chains_at(memory, KEYS, true);
    damage(&chains);
    const ladder_row row = judge(memory, LADDER_FEW);
    free(memory);
    return row.good;
}

TEST(only_whole_chains_pass) {
    static void (*const damages[])(ladder_chains *) = {lose_node,     lose_tail,     close_circle,
                                                       share_tail,    change_key,    change_value,
                                                       point_nowhere, point_between, change_bucket};
    assert_true(chains_pass(leave_chains));
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++)
        assert_false(chains_pass(damages[i]));
}

/* ---- slots ----------------------------------------------------------------------------------- */

static void fill_slots(uint64_t *slots) {
    memset(slots, 0xff, PLACES * sizeof *slots);
    for (uint32_t i = 0; i < KEYS; i++) {
        int64_t place = ladder_place(keys[i], PLACES);
        while (slots[place] != LADDER_EMPTY) place = ladder_next_place(place, PLACES);
        slots[place] = ladder_slot(keys[i], i);
    }
}

/* `full` is the first of some full slots, `empty` the one after them. */
static void leave_slots(uint64_t *full, uint64_t *empty) { (void)full, (void)empty; }
static void lose_entry(uint64_t *full, uint64_t *empty) { *full = *empty; }
static void double_entry(uint64_t *full, uint64_t *empty) { *empty = *full; }
static void swap_key(uint64_t *full, uint64_t *empty) { *full ^= 1ULL << 40, (void)empty; }
static void swap_value(uint64_t *full, uint64_t *empty) { *full ^= 1, (void)empty; }
static void move_away(uint64_t *full, uint64_t *empty) {
    uint64_t *other = empty + 1; /* beyond an empty slot no key is found */
    while (*other != LADDER_EMPTY) other++;
    *other = *full;
    *full = *empty;
}

static bool slots_pass(void (*damage)(uint64_t *full, uint64_t *empty)) {
    uint64_t *slots = calloc(1, BYTES), *full, *empty;
    assert_non_null(slots);
    fill_slots(slots);
    for (full = slots + 100; *full == LADDER_EMPTY;) full++;
    for (empty = full; *empty != LADDER_EMPTY;) empty++;
    damage(full, empty);
    const ladder_row row = judge(slots, LADDER_SLOTS);
    free(slots);
    return row.good;
}

TEST(only_slots_that_are_found_pass) {
    static void (*const damages[])(uint64_t *, uint64_t *) = {lose_entry, double_entry, swap_key,
                                                              swap_value, move_away};
    assert_true(slots_pass(leave_slots));
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++)
        assert_false(slots_pass(damages[i]));
}

static int make_keys(void **unused) {
    (void)unused;
    for (int i = 0; i < KEYS; i++) keys[i] = ladder_key(i);
    return 0;
}

UNIT_TESTS(ladder, make_keys, NULL)
