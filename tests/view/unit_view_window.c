/* The window's thread computes and saves what was asked for; and the window itself, without a
 * screen, driven by events.
 * Builds: release, asan, tsan. */
#include "cli/julia/file.h"
#include "tests/support/unit.h"
#include "view/control.h"
#include "view/renderer.h"
#include "view/words.h"

#ifdef BITFOLD_SDL
#include "view/window.h"
#include <SDL.h>
#undef main
#endif

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static julia_request usual(int64_t width, int64_t height) {
    julia_request r = {.palette = BF_PALETTE_CLASSIC};
    bf_julia_defaults(&r.params);
    r.params.width = width;
    r.params.height = height;
    return r;
}

/* --- the thread --- */

static sem_t told;

static void tell(void *arg) {
    (void)arg;
    sem_post(&told);
}

static bf_context *new_context(void) {
    bf_context *context;
    const bf_options wanted = BF_OPTIONS(.device = "cpu", .threads = 2);
    assert_int_equal(bf_context_create(&wanted, &context), BF_OK);
    return context;
}

static uint16_t *counts_of(const bf_julia_params *p) {
    bf_context *context = new_context();
    uint16_t *counts = malloc((size_t)(p->width * p->height) * sizeof *counts);
    bf_array at = bf_array_of(BF_U16, counts, p->height);
    at.ndim = 2;
    at.shape[1] = at.strides[0] = p->width;
    at.strides[1] = 1;
    assert_int_equal(bf_julia(context, p, 0, 0, &at), BF_OK);
    bf_context_destroy(context);
    return counts;
}

static void assert_picture(const picture *found, const bf_julia_params *p) {
    uint16_t *expected = counts_of(p);
    assert_memory_equal(&found->params, p, sizeof *p);
    assert_memory_equal(found->counts, expected, (size_t)(p->width * p->height) * 2);
    free(expected);
}

TEST(the_newest_picture_is_computed) {
    OWN(bf_context) *context = new_context();
    picture mine = {0};
    saving saved;
    sem_init(&told, 0, 0);
    renderer *r = renderer_start(context, tell, NULL);
    julia_request last = usual(1, 1);
    for (int i = 0; i < 30; i++) {
        last = usual(300 + i % 3, 200);
        last.params.iterations = 2000 + i;
        last.params.mandelbrot = i % 2;
        renderer_show(r, &last.params);
        if (i % 5 == 0) sem_wait(&told);
        assert_int_equal(renderer_take(r, &mine, &saved), EXIT_DONE);
    }
    while (!mine.done || memcmp(&mine.params, &last.params, sizeof mine.params) != 0) {
        sem_wait(&told);
        renderer_take(r, &mine, &saved);
        assert_false(saved.ended);
    }
    assert_picture(&mine, &last.params);
    assert_true(mine.seconds > 0 && mine.steps > 0);
    assert_string_equal(mine.device, "cpu");
    assert_int_equal(renderer_stop(r, &mine, &saved), EXIT_DONE);
    free(mine.counts);
}

/* Half an hour's work, or more. */
TEST(a_slow_picture_is_left_off) {
    OWN(bf_context) *context = new_context();
    picture mine = {0};
    saving saved;
    sem_init(&told, 0, 0);
    renderer *r = renderer_start(context, tell, NULL);
    julia_request slow = usual(8000, 8000), quick = usual(40, 30);
    slow.params.iterations = BF_JULIA_ITERATIONS_MAX;
    slow.params.c_re = slow.params.c_im = 0;
    slow.params.scale = 0.5;
    renderer_show(r, &slow.params);
    sem_wait(&told);
    renderer_take(r, &mine, &saved);
    assert_true(mine.params.width == 8000 && !mine.done && mine.end > mine.first);
    renderer_show(r, &quick.params);
    while (mine.params.width == 8000 || !mine.done) {
        sem_wait(&told);
        renderer_take(r, &mine, &saved);
    }
    assert_picture(&mine, &quick.params);
    renderer_show(r, &slow.params);
    sem_wait(&told);
    assert_int_equal(renderer_stop(r, &mine, &saved), EXIT_DONE);
    free(mine.counts);
}

/* A directory to save in, and back. */
static char directory[] = "/tmp/bitfold-view-XXXXXX";

static int enter_directory(void **unused) {
    (void)unused;
    strcpy(directory + sizeof directory - 7, "XXXXXX");
    return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int leave_directory(void **unused) {
    (void)unused;
    return chdir("/") == 0 ? rmdir(directory) : -1;
}

static size_t read_file(const char *name, char *bytes, size_t room) {
    FILE *f = fopen(name, "rb");
    if (!f) return 0;
    const size_t n = fread(bytes, 1, room, f);
    fclose(f);
    return n;
}

/* As 'bitfold julia' writes it. */
static void assert_file(const char *name, const julia_request *r) {
    static char found[1 << 20], expected[1 << 20];
    uint16_t *counts = counts_of(&r->params);
    julia_file f;
    assert_int_equal(julia_file_begin(&f, "expected.png", FORM_PNG, r), EXIT_DONE);
    assert_int_equal(julia_file_rows(&f, counts, r->params.height), EXIT_DONE);
    assert_int_equal(julia_file_end(&f, EXIT_DONE), EXIT_DONE);
    free(counts);
    const size_t n = read_file(name, found, sizeof found);
    assert_int_equal(n, read_file("expected.png", expected, sizeof expected));
    assert_true(n > 0);
    assert_memory_equal(found, expected, n);
    unlink("expected.png");
    unlink(name);
}

TEST_WITH(a_picture_is_saved_whatever_comes_then, enter_directory, leave_directory) {
    if (julia_png_ready() != EXIT_DONE) leave_out("needs libpng");
    OWN(bf_context) *context = new_context();
    picture mine = {0};
    saving saved;
    julia_request r = usual(200, 100), other = usual(100, 100);
    r.params.iterations = 20000;
    r.palette = BF_PALETTE_RAINBOW;
    sem_init(&told, 0, 0);
    renderer *thread = renderer_start(context, tell, NULL);
    renderer_show(thread, &r.params);
    assert_true(renderer_save(thread, &r, "a.png"));
    assert_false(renderer_save(thread, &other, "b.png"));
    renderer_show(thread, &other.params);
    assert_int_equal(renderer_stop(thread, &mine, &saved), EXIT_DONE);
    assert_true(saved.ended && saved.code == EXIT_DONE && strcmp(saved.name, "a.png") == 0);
    assert_file("a.png", &r);
    free(mine.counts);
}

/* --- the window, without a screen --- */

#ifdef BITFOLD_SDL

static void push_key(const char *text) {
    SDL_Event e = {.text = {.type = SDL_TEXTINPUT}};
    strcpy(e.text.text, text);
    assert_int_equal(SDL_PushEvent(&e), 1);
}

static void push_arrow(SDL_Keycode code) {
    SDL_Event e = {.key = {.type = SDL_KEYDOWN, .keysym = {.sym = code}}};
    assert_int_equal(SDL_PushEvent(&e), 1);
}

static void push_mouse(int x, int y, Uint32 buttons) {
    SDL_Event e = {.motion = {.type = SDL_MOUSEMOTION, .x = x, .y = y, .state = buttons}};
    assert_int_equal(SDL_PushEvent(&e), 1);
}

static void push_wheel(float notches) {
    SDL_Event e = {.wheel = {.type = SDL_MOUSEWHEEL, .preciseY = notches}};
    assert_int_equal(SDL_PushEvent(&e), 1);
}

/* Plays them without a window. */
static julia_request play(const julia_request *first) {
    static const gesture gestures[] = {
        {.kind = GESTURE_POINT, .x = 120, .y = 40}, {.kind = GESTURE_WHEEL, .y = 2},
        {.kind = GESTURE_DRAG, .x = 100, .y = 70},  {.kind = GESTURE_KEY, .key = KEY_DOWN},
        {.kind = GESTURE_KEY, .key = 'p'},          {.kind = GESTURE_KEY, .key = '+'}};
    control c;
    control_start(&c, first, false);
    for (size_t i = 0; i < sizeof gestures / sizeof *gestures; i++) control_take(&c, &gestures[i]);
    return c.view.seen;
}

TEST_WITH(a_window_is_driven_by_events, enter_directory, leave_directory) {
    if (julia_png_ready() != EXIT_DONE) leave_out("needs libpng");
    setenv("SDL_VIDEODRIVER", "dummy", 1);
    const julia_request first = usual(200, 150);
    const window_options wanted = {.sized = true};
    bf_context *context = new_context();
    window *w = window_open(&first, &wanted, context);
    assert_non_null(w);
    push_mouse(120, 40, 0);
    push_wheel(2);
    push_mouse(100, 70, SDL_BUTTON_LMASK);
    push_arrow(SDLK_DOWN);
    for (const char *key = "pi+hs"; *key; key++) push_key((char[]){*key, '\0'});
    push_key("m"); /* what is saved is what was seen */
    push_arrow(SDLK_ESCAPE);
    window_run(w);
    assert_int_equal(window_close(w), EXIT_DONE);
    bf_context_destroy(context);
    const julia_request seen = play(&first);
    char name[NAME_MAX + 1];
    words_name(&seen, name);
    assert_file(name, &seen);
}
#endif

UNIT_TESTS(view_window, NULL, NULL)
