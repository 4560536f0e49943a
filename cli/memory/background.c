#include "memory/background.h"

static void *run_work(void *arg) {
    background *b = arg;
    b->code = b->work(b->arg);
    return NULL;
}

void background_start(background *b, int (*work)(void *arg), void *arg) {
    *b = (background){.work = work, .arg = arg};
    b->running = pthread_create(&b->thread, NULL, run_work, b) == 0;
    if (!b->running) run_work(b);
}

int background_end(background *b) {
    if (b->running) pthread_join(b->thread, NULL);
    const int code = b->code;
    *b = (background){.code = 0};
    return code;
}
