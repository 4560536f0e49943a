#include "view/renderer.h"

#include "cli/julia/file.h"
#include "view/schedule.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct renderer {
    bf_context *context;
    void (*tell)(void *arg);
    void *arg;
    pthread_t thread;
    schedule schedule;
    uint16_t *part;      /* the counts of one */
    int64_t part_pixels; /* what there is room for */

    pthread_mutex_t lock; /* guards the members below; `picture` is written by the thread alone */
    pthread_cond_t wake;
    picture picture;
    bf_julia_params wanted;
    bool is_wanted, is_saving, stop;
    saving saving;
    int code;
};

static bool same(const bf_julia_params *a, const bf_julia_params *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

/* --- memory --- */

static bool make_room(uint16_t **counts, int64_t *pixels, int64_t wanted) {
    if (wanted <= *pixels) return true;
    free(*counts);
    *counts = calloc((size_t)wanted, sizeof **counts);
    *pixels = *counts ? wanted : 0;
    return *counts != NULL;
}

/* A picture of the same size keeps its counts until new ones replace them. */
static bool resize(picture *p, const bf_julia_params *params) {
    int64_t pixels = p->counts ? p->params.width * p->params.height : 0;
    if (p->params.width != params->width || p->params.height != params->height) {
        free(p->counts);
        p->counts = NULL;
        p->first = p->end = 0;
        pixels = 0;
    }
    return make_room(&p->counts, &pixels, params->width * params->height);
}

/* --- the thread: one picture --- */

/* The most urgent picture, with the lock held; NULL if none is wanted. */
static const bf_julia_params *target(const renderer *r) {
    if (r->is_saving) return &r->saving.request.params;
    return r->is_wanted && !r->stop ? &r->wanted : NULL;
}

static bool is_outdated(renderer *r) {
    pthread_mutex_lock(&r->lock);
    const bf_julia_params *now = target(r);
    const bool outdated = !now || !same(now, &r->picture.params);
    pthread_mutex_unlock(&r->lock);
    return outdated;
}

static int begin(renderer *r, const bf_julia_params *params) {
    picture *p = &r->picture;
    pthread_mutex_lock(&r->lock);
    const bool room = resize(p, params);
    p->params = *params;
    p->seconds = p->steps = 0;
    p->done = false;
    pthread_mutex_unlock(&r->lock);
    schedule_start(&r->schedule, params);
    return room ? EXIT_DONE : fail_status(BF_E_MEMORY, NULL, NULL);
}

static int count_part(renderer *r, const part *p) {
    if (!make_room(&r->part, &r->part_pixels, p->rows * p->grid.width))
        return fail_status(BF_E_MEMORY, NULL, NULL);
    bf_array at = bf_array_of(BF_U16, r->part, p->rows);
    at.ndim = 2;
    at.shape[1] = at.strides[0] = p->grid.width;
    at.strides[1] = 1;
    const bf_status status = bf_julia(r->context, &p->grid, 0, p->row, &at);
    return status == BF_OK ? EXIT_DONE : fail_status(status, r->context, NULL);
}

/* The steps of a pixel: n + 1 if it escapes after step n, else as many as there are. */
static double steps_of(const renderer *r, const part *p) {
    const int64_t iterations = p->grid.iterations;
    int64_t steps = 0;
    for (int64_t i = 0; i < p->rows * p->grid.width; i++)
        steps += r->part[i] < iterations ? r->part[i] + 1 : iterations;
    return (double)steps;
}

static void publish(renderer *r, const part *p, double steps, double seconds) {
    picture *to = &r->picture;
    int64_t first, end;
    pthread_mutex_lock(&r->lock);
    part_spread(p, r->part, &to->params, to->counts, &first, &end);
    if (to->first == to->end) to->first = to->end = first;
    if (first < to->first) to->first = first;
    if (end > to->end) to->end = end;
    if (p->step == 1) {
        to->seconds += seconds;
        to->steps += steps;
        to->done = p->row + p->rows == to->params.height;
    }
    snprintf(to->device, sizeof to->device, "%s", bf_context_device(r->context));
    pthread_mutex_unlock(&r->lock);
    r->tell(r->arg);
}

/* Computes it until it is done or another one is more urgent. */
static int render(renderer *r, const bf_julia_params *params) {
    part p;
    int code = begin(r, params);
    while (code == EXIT_DONE && !is_outdated(r) && schedule_next(&r->schedule, &p)) {
        const double began = progress_clock();
        code = count_part(r, &p);
        if (code != EXIT_DONE) break;
        const double seconds = progress_clock() - began, steps = steps_of(r, &p);
        schedule_took(&r->schedule, &p, steps, seconds);
        publish(r, &p, steps, seconds);
    }
    return code;
}

/* --- the thread: saving --- */

static int write_picture(const renderer *r) {
    const julia_request *request = &r->saving.request;
    julia_file f;
    int code = julia_png_ready();
    if (code != EXIT_DONE) return code;
    code = julia_file_begin(&f, r->saving.name, FORM_PNG, request);
    if (code == EXIT_DONE) code = julia_file_rows(&f, r->picture.counts, request->params.height);
    code = julia_file_end(&f, code);
    if (code == EXIT_DONE) note_device(r->context, r->saving.name);
    return code;
}

static void end_saving(renderer *r, int code) {
    r->saving.seconds = r->picture.seconds;
    r->saving.code = code;
    r->saving.ended = true;
    r->is_saving = false;
}

static void save(renderer *r) {
    const int code = write_picture(r);
    pthread_mutex_lock(&r->lock);
    end_saving(r, code);
    pthread_mutex_unlock(&r->lock);
    r->tell(r->arg);
}

/* --- the thread --- */

static void give_up(renderer *r, int code) {
    pthread_mutex_lock(&r->lock);
    r->code = code;
    if (r->is_saving) end_saving(r, code);
    pthread_mutex_unlock(&r->lock);
    r->tell(r->arg);
}

enum task { RENDER, SAVE, STOP };

/* Waits for work. *params is a copy, because another picture may be wanted meanwhile. */
static enum task next_task(renderer *r, bf_julia_params *params) {
    enum task task;
    pthread_mutex_lock(&r->lock);
    for (;;) {
        const bf_julia_params *wanted = target(r);
        task = r->is_saving ? SAVE : STOP;
        if (wanted && !(r->picture.done && same(wanted, &r->picture.params))) {
            *params = *wanted;
            task = RENDER;
        }
        if (task != STOP || r->stop) break;
        pthread_cond_wait(&r->wake, &r->lock);
    }
    pthread_mutex_unlock(&r->lock);
    return task;
}

static void *work(void *arg) {
    renderer *r = arg;
    bf_julia_params params;
    int code = EXIT_DONE;
    for (enum task task; code == EXIT_DONE && (task = next_task(r, &params)) != STOP;) {
        if (task == RENDER)
            code = render(r, &params);
        else
            save(r);
    }
    if (code != EXIT_DONE) give_up(r, code);
    return NULL;
}

/* --- the calls --- */

renderer *renderer_start(bf_context *context, void (*tell)(void *), void *arg) {
    renderer *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->context = context;
    r->tell = tell;
    r->arg = arg;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->wake, NULL);
    if (pthread_create(&r->thread, NULL, work, r) == 0) return r;
    free(r);
    return NULL;
}

void renderer_show(renderer *r, const bf_julia_params *params) {
    pthread_mutex_lock(&r->lock);
    r->wanted = *params;
    r->is_wanted = true;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
}

bool renderer_save(renderer *r, const julia_request *request, const char *name) {
    pthread_mutex_lock(&r->lock);
    const bool can = !r->is_saving && !r->saving.ended && r->code == EXIT_DONE;
    if (can) {
        r->saving = (saving){.request = *request};
        snprintf(r->saving.name, sizeof r->saving.name, "%s", name);
        r->is_saving = true;
        pthread_cond_signal(&r->wake);
    }
    pthread_mutex_unlock(&r->lock);
    return can;
}

static void take_picture(picture *from, picture *mine) {
    const int64_t width = from->params.width;
    if (!from->counts || !resize(mine, &from->params)) return;
    uint16_t *const counts = mine->counts;
    const int64_t rows = from->end - from->first;
    memcpy(counts + from->first * width, from->counts + from->first * width,
           (size_t)(rows * width) * sizeof *counts);
    *mine = *from;
    mine->counts = counts;
    from->first = from->end = 0;
}

static int take(renderer *r, picture *mine, saving *saved) {
    take_picture(&r->picture, mine);
    *saved = r->saving;
    r->saving.ended = false;
    return r->code;
}

int renderer_take(renderer *r, picture *mine, saving *saved) {
    pthread_mutex_lock(&r->lock);
    const int code = take(r, mine, saved);
    pthread_mutex_unlock(&r->lock);
    return code;
}

int renderer_stop(renderer *r, picture *mine, saving *saved) {
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    const int code = take(r, mine, saved);
    pthread_cond_destroy(&r->wake);
    pthread_mutex_destroy(&r->lock);
    free(r->picture.counts);
    free(r->part);
    free(r);
    return code;
}
