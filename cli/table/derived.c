#include "table/derived.h"

#include "runtime/report.h"
#include "table/loading.h"

/* A key that is a condition is the number 0 or 1. */
static void find_form(derived_key *key) {
    key->form = formula_form(key->computed.formula.parsed);
    if (key->form.dtype == BF_BOOL) key->form.dtype = BF_I64;
}

int derived_parse(derived_key *key, const struct join_tables *tables, int s, int k) {
    const bool wide = key->computed.formula.wide;
    if (tables->choice.key[s][k].field >= 0) return EXIT_DONE;
    join_computed_close(&key->computed);
    key->computed = (join_computed){
        .formula = {.file = tables->sides[s].source.name, .strings = true, .wide = wide}};
    const int code =
        join_computed_open(&key->computed, tables, "--on", &tables->choice.key[s][k].expression);
    if (code == EXIT_DONE) find_form(key);
    return code;
}

void derived_close(derived_key *key) {
    join_computed_close(&key->computed);
    buffer_free(&key->places);
    buffer_free(&key->numbers);
    buffer_free(&key->valid);
}

/* The columns of a chunk. */
typedef struct looking {
    const rows *of;
    const rows_chunk *chunk;
    rows_view view;
} looking;

static const rows_view *look_at(void *arg, int side, int column) {
    (void)side;
    looking *l = arg;
    rows_look(l->of, l->chunk, column, &l->view);
    return &l->view;
}

/* Takes bools as numbers. */
static bool take_bools(derived_key *key, bf_array *results, int64_t n) {
    const uint8_t *const from = results->data;
    int64_t *const to = buffer_take(&key->numbers, (size_t)n * sizeof *to);
    for (int64_t i = 0; to && i < n; i++) to[i] = from[i];
    *results = bf_array_of(BF_I64, to, n);
    return to;
}

int derived_compute(derived_key *key, int s, const rows_chunk *chunk, const int64_t *numbers) {
    looking l = {&key->computed.tables->sides[s], chunk, {.numbers.data = NULL}};
    computed_from from = {.look = look_at, .arg = &l};
    int64_t *const places = buffer_take(&key->places, (size_t)chunk->n * sizeof *places);
    int64_t *of[SIDES] = {NULL, NULL};
    formula_results found;
    if (!places) return fail_memory(NULL);
    for (int64_t i = 0; i < chunk->n; i++) places[i] = i;
    of[s] = places;
    from.numbers[s] = numbers;
    const int code = join_computed_results(&key->computed, &from, of, chunk->n, &found);
    if (code != EXIT_DONE) return code;
    find_form(key);
    bool good = found.numbers.dtype != BF_BOOL || take_bools(key, &found.numbers, chunk->n);
    good = good && formula_show(&found, chunk->n, &key->valid, &key->view);
    return good ? EXIT_DONE : fail_memory(NULL);
}
