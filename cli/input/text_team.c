#define _GNU_SOURCE /* pthread_timedjoin_np */
#include "input/text_team.h"

#include "runtime/progress.h"
#include "runtime/report.h"

#include <errno.h>
#include <stdlib.h>

/* Fewer bytes than this are not worth another thread. */
#define THREAD_BYTES ((int64_t)256 * 1024)

static int thread_count(const source *s, int threads, bool ordered) {
    const text_input *t = s->text;
    if (s->first > 0 || s->count >= 0 || (!t->file && (ordered || t->ended))) return 1;
    const int64_t useful = t->file ? t->size / THREAD_BYTES : threads;
    return useful >= threads ? threads : useful > 1 ? (int)useful : 1;
}

int text_team_open(text_team *team, const source *s, int threads, bool ordered) {
    const int wanted = thread_count(s, threads, ordered);
    *team = (text_team){.source = s, .readers = calloc((size_t)wanted, sizeof *team->readers)};
    bool good = team->readers != NULL;
    while (good && team->threads < wanted) {
        text_reader *r = &team->readers[team->threads++];
        good = text_reader_open(r, s->text, 0, 0);
        r->skip = s->first;
        r->left = s->count;
    }
    return good ? EXIT_DONE : fail_status(BF_E_MEMORY, NULL, s->name);
}

void text_team_close(text_team *team) {
    for (int i = 0; i < team->threads; i++) text_reader_close(&team->readers[i]);
    free(team->readers);
    *team = (text_team){.source = NULL};
}

/* ---- threads --------------------------------------------------------------------------------- */

typedef struct member {
    void (*work)(void *arg, int i);
    void *arg;
    int i;
    pthread_t thread;
} member;

static void *run_member(void *argument) {
    const member *m = argument;
    m->work(m->arg, m->i);
    return NULL;
}

static void join_member(const member *m) {
    for (;;) {
        const struct timespec until = progress_next_tick();
        if (pthread_timedjoin_np(m->thread, NULL, &until) != ETIMEDOUT) return;
        progress_tick();
    }
}

/* The calling thread does the work of reader 0, and of those that no thread could be started for.
 */
void text_team_run(const text_team *team, void (*work)(void *arg, int i), void *arg) {
    member *members = calloc((size_t)team->threads, sizeof *members);
    int started = 1;
    for (; members && started < team->threads; started++) {
        member *m = &members[started];
        *m = (member){.work = work, .arg = arg, .i = started};
        if (pthread_create(&m->thread, NULL, run_member, m) != 0) break;
    }
    work(arg, 0);
    for (int i = started; i < team->threads; i++) work(arg, i);
    for (int i = 1; i < started; i++) join_member(&members[i]);
    free(members);
}

int text_team_check(const text_team *team) {
    const text_reader *first = NULL;
    for (int i = 0; i < team->threads; i++) {
        const text_reader *r = &team->readers[i];
        if (r->status == TEXT_OK) continue;
        if (!first || r->status != TEXT_REFUSED ||
            (first->status == TEXT_REFUSED && r->refusal.offset < first->refusal.offset))
            first = r;
    }
    if (!first) return EXIT_DONE;
    errno = first->error;
    return source_text_failed(team->source, first->status, &first->refusal);
}
