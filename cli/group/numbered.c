#include "group/numbered.h"

#include "group/saved.h"

#include "memory/large.h"
#include "memory/pick.h"

#include <stdlib.h>
#include <string.h>

/* Rows that are absorbed together: of few groups; for each of many groups, at least; at most. With
 * a limit of memory, no fewer than BATCH_LEAST. */
enum { BATCH = 1 << 16, BATCH_SHARE = 1 << 5, BATCH_MOST = 1 << 24, BATCH_LEAST = 1 << 12 };

/* Within a limit of memory: bytes of a group while it is shown, beside those of each result; bytes
 * of a row while it is absorbed, for each column; rows that are looked at together. */
enum { SHOWN = 64, SHOWN_RESULT = 48, ABSORBED = 64, LOOKED_LEAST = 64, LOOKED_MOST = BATCH_LEAST };

/* The least that is reserved, for a search for quantiles in passes. */
enum { RESERVED_FOR_PASSES = 4 << 20 };

/* No memory for the groups that there are: their rows have to wait on piles, too. */
enum { NUMBERED_FULL = -2 };

static int failed(const numbered *x, bf_status st) {
    return fail_status(st, x->table->context, x->table->input->source.name);
}

/* ---- making ---------------------------------------------------------------------------------- */

/* The part whose rows have the values of a V: if NULLs are skipped, one of its own. */
static int part_of(numbered *x, int value) {
    if (!x->table->asked->skip_nulls) return 0;
    for (int p = 1; p < x->parts; p++)
        if (x->part[p].value == value && x->part[p].chosen < 0) return p;
    x->part[x->parts] = (numbered_part){.value = value, .chosen = -1};
    return x->parts++;
}

static int kept_of(numbered *x, int value) {
    for (int k = 0; k < x->kept_count; k++)
        if (x->kept[k].value == value) return k;
    x->kept[x->kept_count] = (medians){.value = value};
    return x->kept_count++;
}

static int chosen_of(numbered *x, int value) {
    for (int c = 0; c < x->chosen_count; c++)
        if (x->chosen[c].value == value) return c;
    x->chosen[x->chosen_count] = (chosen){.value = value};
    return x->chosen_count++;
}

/* Values that are counted have a part of pairs. */
static void place_chosen(numbered *x, int i, const asked_result *r) {
    const int at = x->place[i].chosen = chosen_of(x, r->value);
    chosen *c = &x->chosen[at];
    const bool ends = r->aggregate->order == ORDER_FIRST_OF || r->aggregate->order == ORDER_LAST_OF;
    c->ends |= ends;
    if (ends || c->counts) return;
    c->counts = true;
    c->part = x->parts;
    for (int k = 0; k < CHOSEN_PARTS; k++)
        x->part[x->parts++] =
            (numbered_part){.value = r->value, .chosen = at, .pairs = (enum chosen_part)k};
}

static int column_of(numbered_part *p, int value) {
    for (int c = 0; c < p->columns; c++)
        if (p->of[c] == value) return c;
    p->of[p->columns] = value;
    return p->columns++;
}

/* Finds for each result what has it. */
static void place_results(numbered *x) {
    const asked *a = x->table->asked;
    x->part[0] = (numbered_part){.value = -1, .chosen = -1};
    x->parts = 1;
    x->kept_count = x->chosen_count = 0;
    for (int i = 0; i < a->results; i++) {
        const asked_result *r = &a->result[i];
        x->place[i] = (struct numbered_place){0, -1, -1, -1};
        if (asked_reduces(r)) {
            numbered_part *p = &x->part[x->place[i].part = part_of(x, r->value)];
            x->place[i].which = p->count;
            for (int k = 0; k < asked_arrays(r); k++)
                p->column[p->arrays++] = column_of(p, r->value + k);
            p->result[p->count++] = i;
            p->shares |= r->aggregate->order == SHARE_OF_SUM;
        } else if (asked_chooses(r)) {
            place_chosen(x, i, r);
        } else if (r->value >= 0) {
            x->place[i].kept = kept_of(x, r->value);
        }
    }
}

/* What may be in memory together. */
static void share_memory(numbered *x) {
    const asked *a = x->table->asked;
    const memory_plan *m = &a->options->memory;
    x->limited = m->limit > 0;
    if (!x->limited) return;
    x->most = m->results / 2 / (SHOWN + SHOWN_RESULT * a->results);
    const int64_t looked = x->most / 4;
    x->table->most = looked < LOOKED_LEAST  ? LOOKED_LEAST
                     : looked > LOOKED_MOST ? LOOKED_MOST
                                            : looked;
    for (int k = 0; k < x->kept_count; k++) {
        x->kept[k].memory = m->results / 16 / x->kept_count;
        x->kept[k].most = m->results / 4 / x->kept_count / (2 * (int64_t)sizeof(uint64_t));
    }
}

/* Whether rows that are kept are saved: with --memory or without, they have the numbers of their
 * groups. */
static bool saves_rows(const numbered *x) {
    const options *o = x->table->asked->options;
    return x->kept_count > 0 && (o->save || o->checkpoint);
}

void numbered_open(numbered *x, table *t) {
    *x = (numbered){.table = t, .plain = true};
    place_results(x);
    share_memory(x);
    x->numbers_dtype = x->limited || saves_rows(x) ? BF_I64 : BF_I32;
}

static void drop_waiting(numbered_part *p) {
    free(p->keys);
    p->keys = NULL;
    for (int c = 0; c < p->columns; c++) {
        free(p->values[c]);
        p->values[c] = NULL;
    }
    p->n = p->room = 0;
}

static void drop_rest(rest **r) {
    if (*r) rest_close(*r);
    free(*r);
    *r = NULL;
}

static void release(const numbered *x, void **memory) {
    if (*memory) bf_memory_free(x->table->context, *memory);
    *memory = NULL;
}

/* Drops what the present turn has. */
static void drop_turn(numbered *x) {
    for (int p = 0; p < x->parts; p++) {
        drop_waiting(&x->part[p]);
        bf_groups_destroy(x->part[p].groups);
        bf_groups_destroy(x->part[p].total);
        x->part[p].groups = x->part[p].total = NULL;
    }
    for (int k = 0; k < x->kept_count; k++) medians_drop_groups(&x->kept[k]);
    for (int k = 0; k < x->chosen_count; k++) chosen_drop_groups(&x->chosen[k]);
    bf_dictionary_destroy(x->dictionary);
    bf_dictionary_destroy(x->known);
    x->dictionary = x->known = NULL;
    drop_rest(&x->rest);
    release(x, &x->reserve);
    release(x, &x->spare);
    x->found = NULL;
    x->full = false;
    x->table->behind = 0;
}

void numbered_drop_whole(numbered *x) {
    for (int p = 0; p < x->parts; p++) {
        bf_groups_destroy(x->part[p].whole);
        x->part[p].whole = NULL;
    }
}

void numbered_drop(numbered *x) {
    drop_turn(x);
    for (int p = 0; p < x->parts; p++) {
        bf_groups_destroy(x->part[p].before);
        x->part[p].before = NULL;
    }
    numbered_drop_whole(x);
    for (int k = 0; k < x->kept_count; k++) medians_close(&x->kept[k]);
    for (int k = 0; k < x->chosen_count; k++) chosen_close(&x->chosen[k]);
    while (x->levels > 0) drop_rest(&x->wait[--x->levels]);
    x->rows = 0;
}

void numbered_close(numbered *x) {
    if (x->table) numbered_drop(x);
    free(x->numbers.at);
    free(x->places.at);
}

/* Whether groups must have numbers: rows are kept for medians on piles, to be saved, or of integers
 * of 128 bits; or values are chosen. */
static bool keeps_numbers(const numbered *x) {
    const table *t = x->table;
    bool keeps = x->limited || saves_rows(x) || t->columns[t->key_columns[0]].form.dtype == BF_I128;
    for (int k = 0; k < x->kept_count; k++)
        keeps = keeps || t->values[x->kept[k].value].form.dtype == BF_I128;
    return (keeps && x->kept_count > 0) || x->chosen_count > 0;
}

/* Chooses how keys are told apart: as numbers, if they are of one column of them. */
static bf_status make_keys(numbered *x) {
    const table *t = x->table;
    bf_dtype dtypes[BF_KEY_COLUMNS_MAX];
    for (int i = 0; i < t->asked->keys; i++) dtypes[i] = t->columns[t->key_columns[i]].form.dtype;
    x->plain = x->plain && t->asked->keys == 1 && dtypes[0] != BF_NONE && !keeps_numbers(x);
    x->key = x->plain ? dtypes[0] : x->numbers_dtype;
    return x->plain ? BF_OK
                    : bf_dictionary_create(t->context, t->asked->keys, dtypes, &x->dictionary);
}

/* The dtype of a part's keys, and the bytes of elements or keys of a dtype. */
static bf_dtype key_of(const numbered *x, const numbered_part *p) {
    return p->chosen < 0 ? x->key : p->pairs == CHOSEN_WIDE ? BF_PAIR : BF_U64;
}

static size_t bytes_of(bf_dtype dtype) {
    return dtype == BF_PAIR ? 2 * sizeof(uint64_t) : bf_dtype_size(dtype);
}

static bf_status make_groups(numbered *x, numbered_part *p) {
    const table *t = x->table;
    const options *o = t->asked->options;
    bf_aggregate aggregates[OPTIONS_AGGREGATES];
    for (int i = 0; i < p->count; i++) {
        const asked_result *r = &t->asked->result[p->result[i]];
        aggregates[i] = (bf_aggregate){r->aggregate->op, t->values[r->value].form.dtype};
    }
    bf_groups_options wanted =
        BF_GROUPS_OPTIONS(.key = key_of(x, p), .count = p->count, .aggregates = aggregates,
                          .seed = (uint64_t)o->seed);
    bf_status st = bf_groups_create(t->context, &wanted, &p->groups);
    wanted.key = p->chosen < 0 ? BF_I64 : p->pairs == CHOSEN_WIDE ? BF_U64 : BF_U32;
    if (st == BF_OK && t->asked->total) st = bf_groups_create(t->context, &wanted, &p->total);
    const bool whole = p->shares && !p->whole && (x->limited || o->checkpoint);
    return st == BF_OK && whole ? bf_groups_create(t->context, &wanted, &p->whole) : st;
}

/* Reserves memory of the library for what groups take when no more are added, and for showing them.
 */
static bf_status reserve_memory(numbered *x) {
    const options *o = x->table->asked->options;
    const size_t share = (size_t)o->memory.library / 5;
    const bool passes = x->kept_count > 0 && share < RESERVED_FOR_PASSES;
    if (!x->limited || options_gpu(o->device)) return BF_OK;
    const bf_status st = bf_memory_allocate(x->table->context, share, &x->reserve);
    if (st != BF_OK) return st;
    return bf_memory_allocate(x->table->context, passes ? RESERVED_FOR_PASSES : share, &x->spare);
}

bf_status numbered_make(numbered *x) {
    bf_status st = make_keys(x);
    for (int p = 0; p < x->parts && st == BF_OK; p++) st = make_groups(x, &x->part[p]);
    for (int k = 0; k < x->kept_count; k++) {
        x->kept[k].key = x->key;
        x->kept[k].form = x->table->values[x->kept[k].value].form;
    }
    for (int k = 0; k < x->chosen_count && st == BF_OK; k++)
        st = chosen_make(&x->chosen[k], x->table);
    return st == BF_OK ? reserve_memory(x) : st;
}

/* ---- waiting rows ---------------------------------------------------------------------------- */

static int add_no_more(numbered *x);

/* Absorbs n rows of keys and values of each column. *absorbed: the groups have them, if not the
 * total. */
static bf_status absorb(const numbered_part *p, const bf_array *keys, const bf_array columns[],
                        bool *absorbed) {
    static const int64_t zero = 0;
    const bf_array *values[ASKED_VALUES], **given = p->count > 0 ? values : NULL;
    bf_array one = bf_array_of(BF_I64, &zero, keys->shape[0]);
    one.strides[0] = 0;
    if (p->chosen >= 0) one = chosen_codes(p->pairs, keys);
    for (int i = 0; i < p->arrays; i++) values[i] = &columns[p->column[i]];
    const bf_status st = bf_groups_absorb(p->groups, keys, given);
    *absorbed = st == BF_OK;
    return st == BF_OK && p->total ? bf_groups_absorb(p->total, &one, given) : st;
}

/* Absorbs the rows that wait, once. If it fails, they go on waiting. */
static bf_status absorb_once(numbered *x, numbered_part *p, bool *absorbed) {
    bf_array columns[ASKED_VALUES];
    const bf_array keys = bf_array_of(key_of(x, p), p->keys, p->n);
    for (int c = 0; c < p->columns; c++)
        columns[c] = bf_array_of(x->table->values[p->of[c]].form.dtype, p->values[c], p->n);
    const bf_status st = absorb(p, &keys, columns, absorbed);
    if (st == BF_OK) p->n = 0;
    return st;
}

/* Absorbs the rows that wait. If there is no memory for their groups, no more are added. */
static int absorb_waiting(numbered *x, numbered_part *p) {
    bool absorbed;
    while (p->n > 0) {
        const bf_status st = absorb_once(x, p, &absorbed);
        if (st == BF_OK) break;
        if (st != BF_E_MEMORY || !x->limited) return failed(x, st);
        if (absorbed || x->full) return NUMBERED_FULL;
        const int code = add_no_more(x);
        if (code != EXIT_DONE) return code;
    }
    return EXIT_DONE;
}

int numbered_flush(numbered *x) {
    int code = EXIT_DONE;
    for (int p = 0; p < x->parts && code == EXIT_DONE; p++) code = absorb_waiting(x, &x->part[p]);
    return code;
}

/* Notes which keys are there, where they are taken as they are. */
static bf_status note_known(numbered *x) {
    bf_groups *groups = x->part[0].groups;
    const int64_t n = bf_groups_size(groups);
    bf_status st = bf_dictionary_create(x->table->context, 1, &x->key, &x->known);
    if (st != BF_OK || n == 0) return st;
    char *keys = malloc((size_t)n * bf_dtype_size(x->key));
    int64_t *numbers = malloc((size_t)n * sizeof *numbers);
    const bf_array list = bf_array_of(x->key, keys, n), to = bf_array_of(BF_I64, numbers, n);
    const bf_column column = {.size = sizeof column, .numbers = &list};
    const bf_column *const columns[] = {&column};
    st = keys && numbers ? bf_groups_list(groups, &list, NULL) : BF_E_MEMORY;
    if (st == BF_OK) st = bf_dictionary_encode(x->known, columns, &to);
    free(keys);
    free(numbers);
    return st;
}

/* From now on, rows of other keys wait for another turn. */
static int add_no_more(numbered *x) {
    release(x, &x->reserve);
    x->full = true;
    x->rest = malloc(sizeof *x->rest);
    if (!x->rest) return failed(x, BF_E_MEMORY);
    int code = rest_open(x->rest, x->table);
    if (code != EXIT_DONE || !x->plain) return code;
    code = numbered_flush(x);
    const bf_status st = code == EXIT_DONE ? note_known(x) : BF_OK;
    return st == BF_E_MEMORY ? NUMBERED_FULL : st == BF_OK ? code : failed(x, st);
}

/* About how many groups there will be: as long as most rows bring a new key, judged by how many
 * have met their group. Of r rows of m random keys, about r^2 / 2m have. */
static int64_t groups_to_come(const bf_groups *groups) {
    const int64_t n = bf_groups_rows(groups), met = n - bf_groups_size(groups);
    if (met > n / 2) return n - met;
    const double random = (double)n * (double)n / (2.0 * (double)met + 1);
    return random < BATCH_MOST ? (int64_t)random : BATCH_MOST;
}

/* The rows that are absorbed together: of few groups, what stays in a cache; of many, as many more,
 * for all groups that there are are looked at then. */
static int64_t batch_of(const numbered *x, const numbered_part *p) {
    const memory_plan *m = &x->table->asked->options->memory;
    const int parts = x->parts > 2 ? x->parts : 2;
    const int64_t most =
        m->limit == 0 ? BATCH_MOST : m->results / (ABSORBED * parts * (p->columns + 1));
    const int64_t wanted = BATCH_SHARE * groups_to_come(p->groups);
    int64_t n = BATCH;
    while (n < wanted && n < BATCH_MOST) n *= 2;
    return n < most ? n : most > BATCH_LEAST ? most : BATCH_LEAST;
}

/* Makes room for a batch; what waits is lost. */
static bool reserve_batch(const numbered *x, numbered_part *p) {
    const int64_t room = batch_of(x, p);
    if (room <= p->room) return true;
    free(p->keys);
    p->keys = large_alloc((size_t)room * bytes_of(key_of(x, p)));
    bool good = p->keys != NULL;
    for (int c = 0; c < p->columns; c++) {
        free(p->values[c]);
        p->values[c] =
            large_alloc((size_t)room * bf_dtype_size(x->table->values[p->of[c]].form.dtype));
        good = good && p->values[c];
    }
    p->room = good ? room : 0;
    return good;
}

/* ---- rows at hand ---------------------------------------------------------------------------- */

/* Numbers the rows' keys; under a limit, those that are new only as long as there is memory. */
static int number_keys(numbered *x, const bf_column *const columns[], const bf_array *numbers) {
    bf_status st = BF_OK;
    if (!x->full) {
        st = bf_dictionary_encode(x->dictionary, columns, numbers);
        if (st == BF_OK || st != BF_E_MEMORY || !x->limited)
            return st == BF_OK ? EXIT_DONE : failed(x, st);
        const int code = add_no_more(x);
        if (code != EXIT_DONE) return code;
    }
    st = bf_dictionary_find(x->dictionary, columns, numbers);
    x->found = numbers->data;
    return st == BF_OK ? EXIT_DONE : st == BF_E_MEMORY ? NUMBERED_FULL : failed(x, st);
}

/* Finds which of the rows' keys are there. */
static int find_known(numbered *x, const bf_column *const columns[], const bf_array *numbers) {
    const bf_status st = bf_dictionary_find(x->known, columns, numbers);
    x->found = numbers->data;
    return st == BF_OK ? EXIT_DONE : st == BF_E_MEMORY ? NUMBERED_FULL : failed(x, st);
}

/* The keys of the groups. plain keys that are NULL: ROWS_RESETTLED. */
static int find_keys(numbered *x, bf_array *keys) {
    const table *t = x->table;
    const bf_column *columns[BF_KEY_COLUMNS_MAX];
    for (int i = 0; i < t->asked->keys; i++)
        columns[i] = &t->columns[t->key_columns[i]].view.column;
    if (x->plain && columns[0]->valid) {
        x->plain = false;
        return ROWS_RESETTLED;
    }
    if (x->plain) *keys = *columns[0]->numbers;
    if (x->plain && !x->full) return EXIT_DONE;
    int64_t *numbers = buffer_take(&x->numbers, (size_t)t->n * sizeof *numbers);
    if (!numbers) return failed(x, BF_E_MEMORY);
    const bf_array to = bf_array_of(x->plain ? BF_I64 : x->key, numbers, t->n);
    if (!x->plain) *keys = to;
    return x->plain ? find_known(x, columns, &to) : number_keys(x, columns, &to);
}

/* The rows that have a value of a V, and a group: *places becomes NULL if all do. -1: there is no
 * memory. */
static int64_t find_places(numbered *x, int value, const int64_t *found, const int64_t **places) {
    const uint8_t *valid = value < 0 ? NULL : x->table->values[value].valid;
    int64_t n = 0, *list = NULL;
    *places = NULL;
    if (!valid && !found) return x->table->n;
    *places = list = buffer_take(&x->places, (size_t)x->table->n * sizeof *list);
    for (int64_t i = 0; list && i < x->table->n; i++) {
        list[n] = i;
        n += (!valid || valid[i]) && (!found || found[i] >= 0);
    }
    return list ? n : -1;
}

/* Copies n elements from number `first` on of those at the places. */
static void copy_elements(char *to, const bf_array *from, const int64_t *places, int64_t first,
                          int64_t n) {
    const size_t bytes = bytes_of(from->dtype);
    if (places)
        pick_elements(to, from->data, bytes, places + first, n);
    else
        memcpy(to, (const char *)from->data + (size_t)first * bytes, (size_t)n * bytes);
}

/* Whether rows at hand are enough to be absorbed where they are. */
static bool are_enough(const numbered *x, const numbered_part *p, int64_t n) {
    return !x->limited && p->n == 0 && n >= batch_of(x, p);
}

/* Adds n rows at the places; NULL: all. */
static int add_places(numbered *x, numbered_part *p, const bf_array *keys, const int64_t *places,
                      int64_t n) {
    if (!places && are_enough(x, p, n)) {
        bf_array columns[ASKED_VALUES];
        bool absorbed;
        for (int c = 0; c < p->columns; c++) columns[c] = x->table->values[p->of[c]].array;
        const bf_status st = absorb(p, keys, columns, &absorbed);
        return st == BF_OK ? EXIT_DONE : failed(x, st);
    }
    for (int64_t first = 0, some; first < n; first += some) {
        const int code = p->n == p->room ? absorb_waiting(x, p) : EXIT_DONE;
        if (code != EXIT_DONE) return code;
        if (p->n == 0 && !reserve_batch(x, p)) return failed(x, BF_E_MEMORY);
        some = n - first < p->room - p->n ? n - first : p->room - p->n;
        copy_elements(p->keys + (size_t)p->n * bytes_of(keys->dtype), keys, places, first, some);
        for (int c = 0; c < p->columns; c++) {
            const bf_array *of = &x->table->values[p->of[c]].array;
            copy_elements(p->values[c] + (size_t)p->n * bf_dtype_size(of->dtype), of, places, first,
                          some);
        }
        p->n += some;
    }
    return EXIT_DONE;
}

static int add_rows(numbered *x, numbered_part *p, const bf_array *keys) {
    const int64_t *places, n = find_places(x, p->value, x->found, &places);
    return n < 0 ? failed(x, BF_E_MEMORY) : add_places(x, p, keys, places, n);
}

static int keep_rows(numbered *x, medians *m, const bf_array *keys) {
    const bf_array *of = &x->table->values[m->value].array;
    const int64_t *places, n = find_places(x, m->value, x->found, &places);
    if (n < 0) return failed(x, BF_E_MEMORY);
    if (n == 0) return EXIT_DONE;
    const int code = medians_reserve(m, n);
    if (code != EXIT_DONE) return code;
    copy_elements(m->keys + (size_t)m->n * bf_dtype_size(keys->dtype), keys, places, 0, n);
    copy_elements(m->values + (size_t)m->n * bf_dtype_size(of->dtype), of, places, 0, n);
    m->n += n;
    return EXIT_DONE;
}

/* Copies the values of a V of the rows at hand, of all groups. NULL: there is no memory. */
static char *copy_values(numbered *x, int value, int64_t *n) {
    const bf_array *of = &x->table->values[value].array;
    const int64_t *places;
    *n = find_places(x, value, NULL, &places);
    char *values = *n < 0 ? NULL : malloc((size_t)*n * bf_dtype_size(of->dtype) + 1);
    if (values) copy_elements(values, of, places, 0, *n);
    return values;
}

/* Keeps the values of the table's rows, of all groups, for the total. */
static int keep_total(numbered *x, medians *m) {
    int64_t n;
    char *values = copy_values(x, m->value, &n);
    const int code = !values ? failed(x, BF_E_MEMORY) : medians_note_all(m, values, n);
    free(values);
    return code;
}

/* Adds the rows at hand, of all groups, to the whole of which groups have shares. */
static int add_to_whole(numbered *x, const numbered_part *p) {
    static const int64_t zero = 0;
    bf_array columns[ASKED_VALUES];
    const bf_array *values[ASKED_VALUES];
    int64_t n = x->table->n;
    char *own = p->value < 0 ? NULL : copy_values(x, p->value, &n);
    if (p->value >= 0 && !own) return failed(x, BF_E_MEMORY);
    for (int c = 0; c < p->columns; c++) {
        const bf_array *of = &x->table->values[p->of[c]].array;
        columns[c] = bf_array_of(of->dtype, own ? own : of->data, n);
    }
    for (int i = 0; i < p->arrays; i++) values[i] = &columns[p->column[i]];
    bf_array one = bf_array_of(BF_I64, &zero, n);
    one.strides[0] = 0;
    const bf_status st = bf_groups_absorb(p->whole, &one, values);
    free(own);
    if (st == BF_E_MEMORY && x->limited) return NUMBERED_FULL;
    return st == BF_OK ? EXIT_DONE : failed(x, st);
}

/* Notes the first and the last values of all rows: those of the first turn are in their order. */
static int note_total(numbered *x, chosen *c) {
    const int64_t *places, n = find_places(x, c->value, NULL, &places);
    const bool good = n >= 0 && chosen_note(c, &c->all, NULL, places, n);
    return good ? EXIT_DONE : failed(x, BF_E_MEMORY);
}

/* Counts the values of n rows at the places. */
static int count_values(numbered *x, chosen *c, const bf_array *keys, const int64_t *places,
                        int64_t n) {
    bf_array pairs[CHOSEN_PARTS];
    if (!chosen_pairs(c, keys, places, n, pairs)) return failed(x, BF_E_MEMORY);
    int code = EXIT_DONE;
    for (int k = 0; k < CHOSEN_PARTS && code == EXIT_DONE; k++)
        code = add_places(x, &x->part[c->part + k], &pairs[k], NULL, pairs[k].shape[0]);
    return code;
}

static int choose_rows(numbered *x, chosen *c, const bf_array *keys) {
    const bf_status st = chosen_look(c, x->table);
    if (st != BF_OK) return st == BF_E_MEMORY && x->limited ? NUMBERED_FULL : failed(x, st);
    const int64_t *places, n = find_places(x, c->value, x->found, &places);
    const bool good = n >= 0 && (!c->ends || chosen_note(c, &c->groups, keys, places, n));
    int code = good ? EXIT_DONE : failed(x, BF_E_MEMORY);
    if (c->counts && code == EXIT_DONE) code = count_values(x, c, keys, places, n);
    const bool total = c->ends && x->table->asked->total && x->levels == 0;
    return total && code == EXIT_DONE ? note_total(x, c) : code;
}

bf_status numbered_tally(const numbered *x, const chosen *c, bool total, chosen_tally *to) {
    const chosen_tally *loaded = total ? &c->counted_all : &c->counted;
    bf_status st = chosen_tally_more(to, loaded);
    for (int k = 0; k < CHOSEN_PARTS && st == BF_OK; k++) {
        const numbered_part *p = &x->part[c->part + k];
        st = chosen_tally_part(to, total ? p->total : p->groups, !total, (enum chosen_part)k);
    }
    if (loaded->n > 0) chosen_settle(to);
    return st;
}

/* Whether the turn has as many groups as can be shown. */
static bool has_most(const numbered *x) {
    return x->limited && !x->full &&
           (x->plain ? bf_groups_size(x->part[0].groups) : bf_dictionary_size(x->dictionary)) >=
               x->most;
}

/* Absorbs the rows that wait, if those at hand do not fit behind them: so it is known whether more
 * groups are added before the keys of these are looked at. */
static int make_way(numbered *x) {
    int code = EXIT_DONE;
    for (int i = 0; i < x->parts && x->limited && code == EXIT_DONE; i++) {
        numbered_part *p = &x->part[i];
        if (p->n + x->table->n > p->room) code = absorb_waiting(x, p);
    }
    return code;
}

/* Absorbs the rows that the table has taken. */
static int absorb_rows(numbered *x) {
    const bool totals = x->limited && x->levels == 0 && x->table->asked->total;
    bf_array keys = bf_array_of(x->key, NULL, 0);
    x->found = NULL;
    int code = make_way(x);
    if (code == EXIT_DONE) code = find_keys(x, &keys);
    for (int p = 0; p < x->parts && code == EXIT_DONE; p++)
        if (x->part[p].chosen < 0) code = add_rows(x, &x->part[p], &keys);
    for (int p = 0; p < x->parts && x->levels == 0 && code == EXIT_DONE; p++)
        if (x->part[p].whole) code = add_to_whole(x, &x->part[p]);
    for (int k = 0; k < x->chosen_count && code == EXIT_DONE; k++)
        code = choose_rows(x, &x->chosen[k], &keys);
    for (int k = 0; k < x->kept_count && code == EXIT_DONE; k++)
        code = keep_rows(x, &x->kept[k], &keys);
    for (int k = 0; k < x->kept_count && totals && code == EXIT_DONE; k++)
        code = keep_total(x, &x->kept[k]);
    if (x->found && code == EXIT_DONE) code = rest_add(x->rest, x->table, x->found);
    return code == EXIT_DONE && has_most(x) ? add_no_more(x) : code;
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* Without --by, rows that are absorbed together are read together. */
static int64_t rows_wanted(const numbered *x) {
    const numbered_part *p = &x->part[0];
    if (x->limited || x->table->asked->options->by) return 0;
    const int64_t batch = batch_of(x, p);
    const bool new = p->n == 0 && bf_groups_rows(p->groups) == 0 && table_keys_are_new(x->table);
    return new ? BATCH_MOST : batch > BATCH ? batch : 0;
}

static int next_rows(numbered *x, bool *end) {
    x->table->wanted = rows_wanted(x);
    return x->levels > 0 ? rest_read(x->wait[x->levels - 1], x->table, end)
                         : table_next(x->table, end);
}

bool numbered_is_whole(const numbered *x) {
    bool whole = x->levels == 0 && !x->full;
    for (int k = 0; k < x->kept_count; k++) whole = whole && !x->kept[k].beyond;
    return whole;
}

/* Under a limit, what waits is absorbed first: the turn may have to begin anew. */
static int tick(numbered *x) {
    if (x->table->behind > 0 || !numbered_is_whole(x)) return EXIT_DONE;
    const int code = x->limited && x->work->path ? numbered_flush(x) : EXIT_DONE;
    if (code == EXIT_DONE && !x->full) work_tick(x->work);
    return code;
}

/* Takes all rows of a turn. full: none of them has a group. */
static int take_turn(numbered *x, bool full) {
    bool end = false;
    const bf_status st = x->resumed ? BF_OK : numbered_make(x);
    x->resumed = false;
    int code = st == BF_OK ? EXIT_DONE : failed(x, st);
    if (code == EXIT_DONE && full) code = add_no_more(x);
    while (code == EXIT_DONE) {
        code = next_rows(x, &end);
        if (code != EXIT_DONE || end) break;
        if (x->table->n > 0) code = absorb_rows(x);
        if (code == EXIT_DONE && x->work) code = tick(x);
    }
    return code == EXIT_DONE ? numbered_flush(x) : code;
}

/* Begins the turn anew, with all of its rows waiting for others. */
static int take_turn_again(numbered *x) {
    drop_turn(x);
    int code = EXIT_DONE;
    if (x->levels > 0)
        rest_again(x->wait[x->levels - 1]);
    else
        code = table_again(x->table);
    for (int k = 0; k < x->kept_count && x->levels == 0; k++) medians_close(&x->kept[k]);
    for (int k = 0; k < x->chosen_count && x->levels == 0; k++) chosen_close(&x->chosen[k]);
    if (x->levels == 0) numbered_drop_whole(x);
    if (code == EXIT_DONE) code = take_turn(x, true);
    return code == NUMBERED_FULL ? failed(x, BF_E_MEMORY) : code;
}

/* Gives back what the turn does not need to be shown; lets the rest wait. */
static int end_turn(numbered *x) {
    if (!x->limited) return EXIT_DONE;
    for (int p = 0; p < x->parts; p++) drop_waiting(&x->part[p]);
    release(x, &x->reserve);
    release(x, &x->spare);
    if (x->levels > 0) rest_empty(x->wait[x->levels - 1]);
    if (!x->rest) return EXIT_DONE;
    const int code = rest_end(x->rest);
    if (code != EXIT_DONE) return code;
    if (x->levels == NUMBERED_LEVELS) return failed(x, BF_E_MEMORY);
    x->wait[x->levels++] = x->rest;
    x->rest = NULL;
    return EXIT_DONE;
}

static int run_turn(numbered *x) {
    int code = take_turn(x, false);
    if (code == NUMBERED_FULL) code = take_turn_again(x);
    return code == EXIT_DONE ? end_turn(x) : code;
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

static int save_walk(void *of, checkpoint_writer *to) {
    numbered *x = of;
    table_put_place(to, x->table);
    const int code = saved_put_groups(to, x);
    return code == EXIT_DONE ? saved_put_whole(to, x) : code;
}

static bool load_walk(void *of, checkpoint_reader *from) {
    numbered *x = of;
    x->resumed = table_take_place(from, x->table) && table_begin(x->table) == EXIT_DONE &&
                 saved_take_groups(from, x) && saved_take_whole(from, x);
    if (x->resumed) work_tell_place(x->work, x->table->input);
    return x->resumed;
}

int numbered_absorb(numbered *x) {
    static const work_form form = {save_walk, load_walk};
    const work_thing thing = {.form = &form, .of = x};
    numbered_drop(x);
    int code = x->work ? work_hold(x->work, &thing, 1) : EXIT_DONE;
    if (code == EXIT_DONE && !x->resumed) code = table_begin(x->table);
    return code == EXIT_DONE ? run_turn(x) : code;
}

/* Adds the turn's totals to those of the turns before. */
static bf_status add_totals(numbered *x) {
    bf_status st = BF_OK;
    x->rows += bf_groups_rows(x->part[0].groups);
    for (int i = 0; i < x->parts && st == BF_OK; i++) {
        numbered_part *p = &x->part[i];
        if (!p->total) continue;
        if (p->before) st = bf_groups_merge(p->before, p->total);
        if (p->before) continue;
        p->before = p->total;
        p->total = NULL;
    }
    return st;
}

/* No groups are left but the totals. */
static bf_status end_turns(numbered *x) {
    const bf_status st = numbered_make(x);
    x->ended = true;
    for (int i = 0; i < x->parts; i++) {
        numbered_part *p = &x->part[i];
        if (!p->before) continue;
        bf_groups_destroy(p->total);
        p->total = p->before;
        p->before = NULL;
    }
    release(x, &x->reserve);
    release(x, &x->spare);
    return st;
}

int numbered_next(numbered *x) {
    bf_status st = add_totals(x);
    drop_turn(x);
    while (st == BF_OK && x->levels > 0) {
        if (rest_next_pile(x->wait[x->levels - 1])) return run_turn(x);
        drop_rest(&x->wait[--x->levels]);
    }
    if (st == BF_OK) st = end_turns(x);
    return st == BF_OK ? EXIT_DONE : failed(x, st);
}
