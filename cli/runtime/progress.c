#include "runtime/progress.h"

#include "runtime/report.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define FIRST_AFTER 1.0 /* seconds of work before the first line: short work needs none */
#define EVERY_TTY 0.2   /* between updates in place */
#define EVERY_LINE 1.0  /* between lines, where standard error is no terminal */

static struct {
    bool shown, tty;
    const char *name;
    int64_t total;
    double began, due;
    bool standing; /* an unfinished line stands on the terminal */
} show;
static atomic_int_fast64_t done;
static volatile sig_atomic_t asked;

static void on_usr1(int number) {
    (void)number;
    asked = 1;
}

double progress_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct timespec progress_next_tick(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += 200 * 1000 * 1000;
    if (t.tv_nsec >= 1000 * 1000 * 1000) {
        t.tv_nsec -= 1000 * 1000 * 1000;
        t.tv_sec++;
    }
    return t;
}

void progress_setup(enum progress_mode mode) {
    show.tty = isatty(STDERR_FILENO) != 0;
    show.shown = mode == PROGRESS_ON || (mode == PROGRESS_AUTO && show.tty);
}

void progress_answer_signal(void) {
    struct sigaction action = {.sa_handler = on_usr1, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
}

void progress_start(const char *name, int64_t total) {
    show.name = name;
    show.total = total;
    show.began = progress_clock();
    show.due = show.began + FIRST_AFTER;
    atomic_store(&done, 0);
}

void progress_add(int64_t bytes) { atomic_fetch_add_explicit(&done, bytes, memory_order_relaxed); }

static void size_text(double bytes, char text[32]) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    int unit = 0;
    for (; bytes >= 999.5 && unit < 5; unit++) bytes /= 1000;
    snprintf(text, 32,
             unit == 0    ? "%.0f %s"
             : bytes < 10 ? "%.2f %s"
                          : "%.1f %s",
             bytes, units[unit]);
}

static void line_text(double now, char text[256]) {
    const double bytes = (double)atomic_load(&done), seconds = now - show.began;
    const double rate = seconds > 0 ? bytes / seconds : 0;
    char have[32], all[32], speed[32];
    size_text(bytes, have);
    size_text(rate, speed);
    if (show.total < 0 || bytes <= 0) {
        snprintf(text, 256, "%s, %s/s", have, speed);
        return;
    }
    const double total = (double)show.total, left = (total - bytes) / rate;
    size_text(total, all);
    snprintf(text, 256, "%s of %s (%.0f%%), %s/s, %.0f s left", have, all,
             total > 0 ? 100 * bytes / total : 100, speed, left > 0 ? left : 0);
}

void progress_clear(void) {
    if (show.standing) fputs("\r\033[K", stderr);
    show.standing = false;
}

static void put_progress(double now, bool in_place) {
    char text[256];
    line_text(now, text);
    progress_clear();
    fprintf(stderr, "bitfold %s: %s: %s%s", report_command_name(), show.name, text,
            in_place ? "" : "\n");
    fflush(stderr);
    show.standing = in_place;
}

void progress_tick(void) {
    const double now = progress_clock();
    if (asked) {
        asked = 0;
        put_progress(now, false);
    }
    if (show.shown && now >= show.due) {
        put_progress(now, show.tty);
        show.due = now + (show.tty ? EVERY_TTY : EVERY_LINE);
    }
}

void progress_stop(void) { progress_clear(); }
