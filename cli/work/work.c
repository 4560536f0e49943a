#define _GNU_SOURCE /* asprintf */
#include "work/work.h"

#include "container/member.h"
#include "input/source.h"
#include "input/step.h"
#include "runtime/info.h"
#include "runtime/outfile.h"
#include "runtime/ranks.h"
#include "work/units.h"
#include "work/wide.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A checkpoint takes at most 1 part in so many of the time. */
enum { COST = 100 };

/* Bytes that a saved group takes, or one of many states, and that a second saves; so they are
 * guessed before the first. */
enum { GROUP_BYTES = 32, SAVED_BYTES = 1 << 28 };

/* ---- what a checkpoint is bound to ----------------------------------------------------------- */

/* A line for a file. Returns why it cannot be gone on with; NULL: it can. */
static const char *put_file(FILE *f, const options *o, const char *name) {
    static const char none[] = "this is none, and cannot be read again";
    struct stat st;
    if (strcmp(name, "-") == 0) return none;
    const bool there = member_stat(name, &st);
    if (there && !S_ISREG(st.st_mode)) return none;
    if (source_reads_on(name, &o->input))
        return "this is compressed, or text that is decoded: it cannot be read from the middle on";
    if (there)
        fprintf(f, "file %s: %" PRId64 " bytes, changed at %" PRId64 ".%09ld\n", name,
                (int64_t)st.st_size, (int64_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    else
        fprintf(f, "file %s: none\n", name);
    return NULL;
}

/* Puts the next file, unless one was refused (EXIT_USAGE), or no file is asked for (NULL). */
static int put_next(FILE *f, const options *o, const char *name, int code) {
    const char *const why = code == EXIT_DONE && name ? put_file(f, o, name) : NULL;
    return why ? fail(EXIT_USAGE, name, "--checkpoint needs files: %s", why) : code;
}

static int put_files(FILE *f, const options *o) {
    int code = EXIT_DONE, n;
    const given_option *const given = options_given(&n);
    for (int i = 0; i < o->file_count; i++) code = put_next(f, o, o->files[i], code);
    for (int i = 0; i < o->aggregate_count && !o->by; i++)
        code = put_next(f, o, o->aggregates[i].values, code);
    for (int i = 0; i < n; i++)
        if (given[i].spec->file == FILE_READ) code = put_next(f, o, given[i].operand, code);
    return code;
}

/* The other options say how to run or what to show. */
static bool decides(const option_spec *s) { return s->section < IN_RUNNING || s->decides; }

/* A line for each fact that decides what the work makes. */
static int identify(work *w, const options *o) {
    size_t size;
    FILE *f = open_memstream(&w->identity, &size);
    if (!f) return fail_memory(NULL);
    fprintf(f, "version %s\ncommand %s\nranks %d of %d\n", bf_version(), report_command_name(),
            ranks_rank(), ranks_count());
    int n;
    const given_option *given = options_given(&n);
    for (const given_option *g = given; g < given + n; g++) {
        if (!decides(g->spec)) continue;
        fprintf(f, "option --%s%s%s\n", g->spec->name, g->operand ? " " : "",
                g->operand ? g->operand : "");
    }
    const int code = put_files(f, o);
    return fclose(f) == 0 ? code : fail_memory(NULL);
}

/* The first line in which two identities differ. */
static void find_difference(const char **a, const char **b) {
    for (;;) {
        const size_t n = strcspn(*a, "\n"), m = strcspn(*b, "\n");
        if (n == 0 || n != m || memcmp(*a, *b, n) != 0) return;
        *a += n + 1;
        *b += m + 1;
    }
}

static int refuse_identity(const work *w, const char *found) {
    const char *here = w->identity;
    find_difference(&here, &found);
    const int n = (int)strcspn(here, "\n"), m = (int)strcspn(found, "\n");
    fail(EXIT_DATA, w->name, "the checkpoint is of other work: it has '%.*s', this is '%.*s'",
         m > 0 ? m : 7, m > 0 ? found : "nothing", n > 0 ? n : 7, n > 0 ? here : "nothing");
    hint("run the command as it was, or remove the checkpoint to begin anew");
    return EXIT_DATA;
}

static int damaged(const work *w) {
    fail(EXIT_DATA, w->name, "the checkpoint is damaged");
    hint("remove it to begin anew");
    return EXIT_DATA;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int find_path(work *w, const options *o) {
    char path[PATH_MAX];
    const int n = ranks_count() > 1 ? asprintf(&w->name, "%s.%d-of-%d", o->checkpoint, ranks_rank(),
                                               ranks_count())
                                    : asprintf(&w->name, "%s", o->checkpoint);
    if (n < 0) w->name = NULL;
    if (n < 0) return fail_memory(o->checkpoint);
    if (!outfile_follow(w->name, path))
        return fail(EXIT_IO, w->name, "cannot write: %s", strerror(errno));
    w->path = strdup(path);
    return w->path ? EXIT_DONE : fail_memory(w->name);
}

/* A place that cannot be written to is found before the work. */
static int lock_path(work *w) {
    const int error = checkpoint_lock(w->path, &w->lock);
    w->locked = error == 0;
    if (w->locked) return EXIT_DONE;
    if (error != EWOULDBLOCK) return fail(EXIT_IO, w->name, "cannot write: %s", strerror(error));
    fail(EXIT_IO, w->name, "the checkpoint is in use by another process");
    hint("work that runs at the same time needs a checkpoint of its own");
    return EXIT_IO;
}

static int load_checkpoint(work *w) {
    size_t size, length;
    const int error = checkpoint_read(w->path, &w->loaded, &size);
    if (error == ENOENT) return EXIT_DONE;
    if (error != 0) return fail(EXIT_IO, w->name, "cannot read: %s", strerror(error));
    if (!checkpoint_open(&w->reader, checkpoint_magic, w->loaded, size)) return damaged(w);
    const char *found = checkpoint_bytes(&w->reader, &length);
    if (!found || length == 0 || found[length - 1] != '\0') return damaged(w);
    if (strcmp(found, w->identity) != 0) return refuse_identity(w, found);
    w->walks_left = checkpoint_number(&w->reader, 0, INT64_MAX);
    return w->reader.bad ? damaged(w) : EXIT_DONE;
}

int work_open(work *w, const options *o, bf_context *context) {
    *w = (work){.context = context, .interval = o->checkpoint_interval};
    w->began = progress_clock();
    w->due = w->began + w->interval;
    int code = EXIT_DONE;
    if (o->checkpoint) {
        code = find_path(w, o);
        if (code == EXIT_DONE) code = identify(w, o);
        if (code == EXIT_DONE) code = lock_path(w);
        if (code == EXIT_DONE) code = load_checkpoint(w);
    }
    return ranks_agree(code);
}

void work_close(work *w, int code) {
    if (w->path && code == EXIT_DONE) checkpoint_remove(w->path);
    if (w->locked) checkpoint_unlock(w->path, w->lock);
    free(w->path);
    free(w->name);
    free(w->identity);
    free(w->loaded);
    free(w->ended.bytes);
    free(w->inputs);
    free(w->things);
    *w = (work){.context = NULL};
}

/* ---- places ---------------------------------------------------------------------------------- */

void work_put_place(checkpoint_writer *to, const rows *r) {
    const rows_place p = rows_tell(r);
    const int64_t numbers[] = {p.at,   p.left_out,       p.part,
                               p.used, p.selection.skip, p.selection.left};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        checkpoint_put_number(to, numbers[i]);
    checkpoint_put_number(to, r->held);
    for (int k = 0; k < r->held; k++) {
        const rows_kind kind = rows_kind_of(r, k);
        checkpoint_put_number(to, kind.can);
        checkpoint_put_number(to, kind.scale);
        checkpoint_put_number(to, kind.time);
    }
}

/* Moves an input to its place. False: it cannot be there. */
bool work_take_place(checkpoint_reader *from, rows *r) {
    rows_place p = {.at = checkpoint_number(from, 0, INT64_MAX)};
    p.left_out = checkpoint_number(from, 0, INT64_MAX);
    p.part = checkpoint_number(from, 0, INT64_MAX);
    p.used = checkpoint_number(from, 0, INT64_MAX);
    p.selection.skip = checkpoint_number(from, 0, INT64_MAX);
    p.selection.left = checkpoint_number(from, -1, INT64_MAX);
    checkpoint_number(from, r->held, r->held);
    rows_kind *kinds = from->bad ? NULL : calloc((size_t)r->held, sizeof *kinds);
    for (int k = 0; kinds && k < r->held; k++) {
        kinds[k].can = (unsigned)checkpoint_number(from, 1, 255);
        kinds[k].scale = (unsigned char)checkpoint_number(from, 0, BF_SCALE_MOST_I128);
        kinds[k].time = (unsigned char)checkpoint_number(from, 0, BF_TIME_ANY);
    }
    const bool good = kinds && !from->bad && rows_seek(r, &p, kinds);
    free(kinds);
    return good;
}

void work_tell_place(const work *w, const rows *r) {
    const source *s = &r->source;
    if (s->text)
        inform(s->name, "goes on behind row %" PRId64 ", as %s says", r->at, w->name);
    else
        inform(s->name, "goes on behind element %" PRId64 " of %" PRId64 ", as %s says", r->at,
               s->count, w->name);
}

int work_begin(work *w, rows *const inputs[], int n) {
    rows **copy = realloc(w->inputs, (size_t)(n + 1) * sizeof *copy);
    if (!copy) return fail_memory(NULL);
    for (int i = 0; i < n; i++) copy[i] = inputs[i];
    w->walking = true;
    w->thing_count = 0;
    w->input_count = n;
    w->inputs = copy;
    w->restored = false;
    if (w->walks_left == 0) return EXIT_DONE;
    w->walks_left--;
    const bool failed = checkpoint_number(&w->reader, 0, 1) == 0;
    if (failed && !w->reader.bad) return EXIT_DONE; /* it is read anew */
    w->restored = true;
    checkpoint_number(&w->reader, n, n);
    for (int i = 0; i < n && !w->reader.bad; i++)
        if (!work_take_place(&w->reader, inputs[i])) return damaged(w);
    if (w->reader.bad) return damaged(w);
    if (w->walks_left == 0 && n > 0) work_tell_place(w, inputs[0]); /* the last walk goes on */
    return EXIT_DONE;
}

/* ---- things ---------------------------------------------------------------------------------- */

static bf_status save_other(checkpoint_writer *to, const work_thing *t) {
    checkpoint_writer own = {.size = 0};
    const int code = t->form->save(t->of, &own);
    checkpoint_put_bytes(to, own.bytes, own.size);
    free(own.bytes);
    return code == EXIT_DONE && !own.failed ? BF_OK : BF_E_MEMORY;
}

static bf_status save_thing(checkpoint_writer *to, const work_thing *t) {
    if (t->form) return save_other(to, t);
    bf_status st = BF_OK;
    size_t size = 0;
    if (t->state && *t->state) size = bf_state_save_size(*t->state);
    if (t->many && *t->many) st = bf_states_save_size(*t->many, &size);
    if (t->histogram && *t->histogram) size = bf_histogram_save_size(*t->histogram);
    if (t->quantiles && *t->quantiles) size = bf_quantiles_save_size(*t->quantiles);
    if (t->groups && *t->groups) st = bf_groups_save_size(*t->groups, &size);
    void *room = st == BF_OK ? checkpoint_put_room(to, size) : NULL;
    if (!room) return st == BF_OK ? BF_E_MEMORY : st;
    if (t->state && *t->state) st = bf_state_save(*t->state, room);
    if (t->many && *t->many) st = bf_states_save(*t->many, room);
    if (t->histogram && *t->histogram) st = bf_histogram_save(*t->histogram, room);
    if (t->quantiles && *t->quantiles) st = bf_quantiles_save(*t->quantiles, room);
    return t->groups && *t->groups ? bf_groups_save(*t->groups, room) : st;
}

/* Writes the record of the walk: where it is, and its things. */
static bf_status put_walk(const work *w, checkpoint_writer *to, int things) {
    bf_status st = BF_OK;
    checkpoint_put_number(to, 1);
    checkpoint_put_number(to, w->input_count);
    for (int i = 0; i < w->input_count; i++) work_put_place(to, w->inputs[i]);
    checkpoint_put_number(to, things);
    for (int i = 0; i < things && st == BF_OK; i++) st = save_thing(to, &w->things[i]);
    return st == BF_OK && to->failed ? BF_E_MEMORY : st;
}

/* A state of integers may have become one of i128 before it was saved. */
static bool is_same_state(const bf_state *a, const bf_state *b) {
    const bf_state_info x = state_info(a), y = state_info(b);
    const bool widened = y.dtype == BF_I128 && x.dtype >= BF_I8 && x.dtype <= BF_U64;
    return x.op == y.op && (x.dtype == y.dtype || widened);
}

static bool is_same_many(const bf_states *a, const bf_states *b) {
    const bf_states_info x = states_info(a), y = states_info(b);
    return x.op == y.op && x.dtype == y.dtype && x.count == y.count;
}

static bool is_same_histogram(const bf_histogram *a, const bf_histogram *b) {
    const bf_histogram_info x = histogram_info(a), y = histogram_info(b);
    return x.dtype == y.dtype && x.weights == y.weights && x.bins == y.bins;
}

static bool is_same_quantiles(const bf_quantiles *a, const bf_quantiles *b) {
    const bf_quantiles_info x = quantiles_info(a), y = quantiles_info(b);
    return x.dtype == y.dtype && x.to == y.to && x.results == y.results;
}

/* Puts a thing that was saved in the place of a new one of the same kind, if there is one. */
static bool load_thing(const work *w, const work_thing *t, const void *bytes, size_t size) {
    checkpoint_reader other = {bytes, (const unsigned char *)bytes + size, false};
    if (t->form) return t->form->load(t->of, &other) && other.at == other.end;
    bf_state *state = NULL;
    bf_states *many = NULL;
    bf_histogram *histogram = NULL;
    bf_quantiles *quantiles = NULL;
    bf_groups *groups = NULL;
    bool good = false;
    if (t->state && bf_state_load(w->context, bytes, size, &state) == BF_OK) {
        good = !*t->state || is_same_state(*t->state, state);
        bf_state_destroy(*t->state);
        *t->state = state;
    }
    if (t->many && bf_states_load(w->context, bytes, size, &many) == BF_OK) {
        good = !*t->many || is_same_many(*t->many, many);
        bf_states_destroy(*t->many);
        *t->many = many;
    }
    if (t->histogram && bf_histogram_load(w->context, bytes, size, &histogram) == BF_OK) {
        good = !*t->histogram || is_same_histogram(*t->histogram, histogram);
        bf_histogram_destroy(*t->histogram);
        *t->histogram = histogram;
    }
    if (t->quantiles && bf_quantiles_load(w->context, bytes, size, &quantiles) == BF_OK) {
        good = !*t->quantiles || is_same_quantiles(*t->quantiles, quantiles);
        bf_quantiles_destroy(*t->quantiles);
        *t->quantiles = quantiles;
    }
    if (t->groups && bf_groups_load(w->context, bytes, size, &groups) == BF_OK) {
        good = !*t->groups || wide_is_same_kind(*t->groups, groups);
        bf_groups_destroy(*t->groups);
        *t->groups = groups;
    }
    return good;
}

int work_hold(work *w, const work_thing things[], int n) {
    work_thing *copy = realloc(w->things, (size_t)n * sizeof *copy);
    if (!copy) return fail_memory(NULL);
    memcpy(copy, things, (size_t)n * sizeof *copy);
    w->things = copy;
    w->thing_count = n;
    if (!w->restored) return EXIT_DONE;
    w->restored = false;
    const int64_t saved = checkpoint_number(&w->reader, 0, n);
    bool good = saved == 0 || saved == n;
    for (int64_t i = 0; i < saved && good; i++) {
        size_t size;
        const void *bytes = checkpoint_bytes(&w->reader, &size);
        good = !w->reader.bad && (size == 0 || load_thing(w, &things[i], bytes, size));
    }
    return good && !w->reader.bad ? EXIT_DONE : damaged(w);
}

/* ---- saving ---------------------------------------------------------------------------------- */

/* The seconds that the first checkpoint may take, by the bytes of the things. */
static double expected_cost(const work *w) {
    double bytes = 0;
    for (int i = 0; i < w->thing_count; i++) {
        const work_thing *t = &w->things[i];
        if (t->histogram && *t->histogram) bytes += (double)bf_histogram_save_size(*t->histogram);
        if (t->quantiles && *t->quantiles) bytes += (double)bf_quantiles_save_size(*t->quantiles);
        if (t->groups && *t->groups) bytes += GROUP_BYTES * (double)bf_groups_size(*t->groups);
        if (t->many) bytes += GROUP_BYTES * (double)bf_states_count(*t->many);
    }
    return bytes / SAVED_BYTES;
}

/* Returns 0 or an errno. */
static int save_work(const work *w) {
    checkpoint_writer to = {.size = 0};
    checkpoint_begin(&to, checkpoint_magic);
    checkpoint_put_bytes(&to, w->identity, strlen(w->identity) + 1);
    checkpoint_put_number(&to, w->walks_ended + 1);
    void *ended = NULL;
    if (w->ended.size > 0) ended = checkpoint_extend(&to, w->ended.size);
    if (ended) memcpy(ended, w->ended.bytes, w->ended.size);
    const bf_status st = put_walk(w, &to, w->thing_count);
    checkpoint_end(&to);
    const int error = st != BF_OK ? ENOMEM : checkpoint_write(w->path, &to);
    free(to.bytes);
    return error;
}

/* A checkpoint that cannot be written is no reason to lose the work: the one before stays. */
void work_tick(work *w) {
    const double began = w->path ? progress_clock() : 0;
    if (!w->path || began < w->due) return;
    const double soonest = w->began + COST * expected_cost(w);
    if (!w->saved && began < soonest) {
        w->due = soonest;
        return;
    }
    const int error = save_work(w);
    if (error != 0 && !w->warned)
        inform(w->name, "the checkpoint cannot be saved: %s; the work goes on", strerror(error));
    w->warned = error != 0;
    w->saved = true;
    const double now = progress_clock(), rest = COST * (now - began);
    w->due = now + (rest > w->interval ? rest : w->interval);
}

/* ---- ending ---------------------------------------------------------------------------------- */

static int note_walk(work *w, int code, bool keep) {
    if (!w->path) return code;
    w->walks_ended++;
    if (code != EXIT_DONE) checkpoint_put_number(&w->ended, 0);
    const bf_status st =
        code == EXIT_DONE ? put_walk(w, &w->ended, keep ? w->thing_count : 0) : BF_OK;
    return st == BF_OK ? code : fail_status(st, w->context, w->name);
}

/* All ranks see the same first field, so their times differ as dates and local times do. */
void work_settle_kinds(rows_kind kinds[], int n) {
    unsigned *all = ranks_allocate(4 * (size_t)n * sizeof *all);
    for (int k = 0; k < n; k++) all[k] = kinds[k].can;
    for (int k = 0; k < n; k++) { /* what is set on all is that of the greatest */
        const uint64_t scales = ~(uint64_t)0 << kinds[k].scale;
        all[n + k] = (unsigned)scales;
        all[2 * n + k] = (unsigned)(scales >> 32);
        all[3 * n + k] = ~0u << kinds[k].time;
    }
    ranks_and(all, 4 * n);
    for (int k = 0; k < n; k++) {
        const uint64_t scales = (uint64_t)all[2 * n + k] << 32 | all[n + k];
        kinds[k] = (rows_kind){all[k], (unsigned char)__builtin_ctzll(scales),
                               (unsigned char)__builtin_ctz(all[3 * n + k])};
    }
    free(all);
}

bool work_settle_input(rows *r) {
    bool changed = false;
    rows_kind *kinds = ranks_allocate((size_t)r->held * sizeof *kinds);
    for (int k = 0; k < r->held; k++) kinds[k] = rows_kind_of(r, k);
    work_settle_kinds(kinds, r->held);
    for (int k = 0; k < r->held; k++) {
        const units_form before = units_of_rows(r, k);
        rows_set_kind(r, k, kinds[k]);
        changed = changed || !units_are_same(units_of_rows(r, k), before);
    }
    free(kinds);
    return changed && r->options.settled;
}

int work_settle_inputs(rows *const inputs[], int n) {
    int code = EXIT_DONE;
    if (!ranks_any(step_may_resettle(inputs, n))) return EXIT_DONE;
    for (int i = 0; i < n && code == EXIT_DONE; i++) code = rows_read_all(inputs[i]);
    code = ranks_agree(code);
    for (int i = 0; i < n && code == EXIT_DONE; i++) work_settle_input(inputs[i]);
    if (code == EXIT_DONE) step_again(inputs, n);
    return code;
}

int work_end(work *w, int code, bool keep) {
    bool changed = false;
    code = ranks_agree(code);
    for (int i = 0; i < w->input_count && code == EXIT_DONE; i++)
        changed = work_settle_input(w->inputs[i]) || changed;
    if (code == EXIT_DONE && ranks_any(changed)) return ROWS_RESETTLED;
    if (w->walking) code = note_walk(w, code, keep);
    w->walking = false;
    w->input_count = 0;
    return w->path ? ranks_agree(code) : code;
}
