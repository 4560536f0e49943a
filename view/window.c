#include "view/window.h"

#include "view/paint.h"
#include "view/renderer.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DOT = 2 /* a dot of the letters is so many units of the screen */ };

struct window {
    SDL_Window *window;
    SDL_Renderer *renderer;
    SDL_Texture *texture; /* it has the picture's size */
    int texture_width, texture_height;
    Uint32 news; /* the event with which the thread announces something to take */
    control control;
    renderer *thread;
    picture picture;
    uint8_t *rgba; /* room for its colours */
    words message;
    bool stale; /* what is on the screen */
    bool stats;
    int code;
};

/* --- opening --- */

static int no_window(void) {
    fail(EXIT_DEVICE, NULL, "no window can be opened: %s", SDL_GetError());
    hint("bitfold julia -o FILE.png needs none");
    return EXIT_DEVICE;
}

static int least(int a, int b) { return a < b ? a : b; }

static bool open_screen(window *w, const julia_request *first, bool sized) {
    SDL_Rect screen;
    int width = (int)first->params.width, height = (int)first->params.height;
    SDL_SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "1"); /* Ctrl-C ends it at once */
    if (SDL_Init(SDL_INIT_VIDEO) != 0) return false;
    SDL_EnableScreenSaver();
    if (!sized && SDL_GetDisplayUsableBounds(0, &screen) == 0) {
        width = least(width, screen.w - screen.w / 16);
        height = least(height, screen.h - screen.h / 16);
    }
    w->window =
        SDL_CreateWindow("bitfold (h: help)", SDL_WINDOWPOS_UNDEFINED, SDL_WINDOWPOS_UNDEFINED,
                         width, height, SDL_WINDOW_RESIZABLE | SDL_WINDOW_ALLOW_HIGHDPI);
    if (w->window) w->renderer = SDL_CreateRenderer(w->window, -1, 0);
    w->news = SDL_RegisterEvents(1);
    return w->renderer != NULL && w->news != (Uint32)-1;
}

/* In the renderer's thread. */
static void tell(void *arg) {
    const window *w = arg;
    SDL_PushEvent(&(SDL_Event){.type = w->news});
}

static void act(window *w, const gesture *in);

static void fit(window *w) {
    int width = 1, height = 1;
    SDL_GetRendererOutputSize(w->renderer, &width, &height);
    act(w, &(gesture){.kind = GESTURE_SIZE, .x = width, .y = height});
}

window *window_open(const julia_request *first, const window_options *o, bf_context *context) {
    window *w = calloc(1, sizeof *w);
    if (!w) {
        fail_status(BF_E_MEMORY, NULL, NULL);
        return NULL;
    }
    w->stats = o->stats;
    control_start(&w->control, first, o->wide);
    if (!open_screen(w, first, o->sized)) {
        no_window();
        window_close(w);
        return NULL;
    }
    w->thread = renderer_start(context, tell, w);
    if (!w->thread) {
        fail_status(BF_E_MEMORY, NULL, NULL);
        window_close(w);
        return NULL;
    }
    fit(w);
    return w;
}

/* --- the picture --- */

static bool has_texture(const window *w) {
    const bf_julia_params *p = &w->picture.params;
    return w->texture && w->texture_width == p->width && w->texture_height == p->height;
}

static bool make_texture(window *w) {
    const bf_julia_params *p = &w->picture.params;
    if (w->texture) SDL_DestroyTexture(w->texture);
    free(w->rgba);
    w->texture_width = (int)p->width;
    w->texture_height = (int)p->height;
    w->texture = SDL_CreateTexture(w->renderer, SDL_PIXELFORMAT_RGBA32, SDL_TEXTUREACCESS_STREAMING,
                                   w->texture_width, w->texture_height);
    w->rgba = malloc((size_t)(p->width * p->height) * 4);
    return w->texture && w->rgba;
}

static void color_rows(window *w, int64_t first, int64_t end) {
    const bf_julia_params *p = &w->picture.params;
    if (first == end || !w->picture.counts) return;
    if (!has_texture(w)) {
        if (!make_texture(w)) return;
        first = 0;
        end = p->height;
    }
    const SDL_Rect rows = {0, (int)first, (int)p->width, (int)(end - first)};
    bf_palette_colors(w->control.view.seen.palette, p->iterations,
                      w->picture.counts + first * p->width, (end - first) * p->width, w->rgba);
    SDL_UpdateTexture(w->texture, &rows, w->rgba, 4 * w->texture_width);
}

/* The size of a letter's dots, in pixels: as elsewhere on this screen, smaller in small windows. */
static int dot_size(const window *w) {
    int width = 1, units = 1;
    SDL_GetRendererOutputSize(w->renderer, &width, NULL);
    SDL_GetWindowSize(w->window, &units, NULL);
    int dot = units > 0 && width > units ? DOT * width / units : DOT;
    while (dot > 1 && paint_width(dot) > width) dot--;
    return dot;
}

static void draw(window *w) {
    words text = {0};
    int y = 0;
    if (w->control.information) words_information(&text, &w->control.view.seen, &w->picture);
    if (w->control.information && w->control.help) words_add(&text, " ");
    if (w->control.help) words_help(&text);
    SDL_SetRenderDrawColor(w->renderer, 0, 0, 0, 255);
    SDL_RenderClear(w->renderer);
    if (w->texture) SDL_RenderCopy(w->renderer, w->texture, NULL, NULL);
    paint_words(w->renderer, &text, dot_size(w), &y);
    paint_words(w->renderer, &w->message, dot_size(w), &y);
    SDL_RenderPresent(w->renderer);
    w->stale = false;
}

/* --- saving --- */

static void save(window *w) {
    const julia_request *seen = &w->control.view.seen;
    char name[NAME_MAX + 1];
    words_name(seen, name);
    if (access(name, F_OK) == 0)
        words_add(&w->message, "there already: %s", name);
    else if (!renderer_save(w->thread, seen, name))
        words_add(&w->message, "a picture is still being saved");
}

static void tell_stats(const saving *saved) {
    const bf_julia_params *p = &saved->request.params;
    inform(saved->name, "%lld x %lld pixels in %.6f s", (long long)p->width, (long long)p->height,
           saved->seconds);
}

static void report_saved(window *w, const saving *saved) {
    if (!saved->ended) return;
    w->message.count = 0;
    if (saved->code == EXIT_DONE) {
        puts(saved->name);
        fflush(stdout);
        words_add(&w->message, "saved: %s", saved->name);
        if (w->stats) tell_stats(saved);
    } else {
        w->code = saved->code;
        words_add(&w->message, "not saved, as the terminal says");
    }
}

static void quit(void) { SDL_PushEvent(&(SDL_Event){.type = SDL_QUIT}); }

static void take(window *w) {
    saving saved;
    if (renderer_take(w->thread, &w->picture, &saved) != EXIT_DONE) quit();
    w->stale = true;
    report_saved(w, &saved);
    color_rows(w, w->picture.first, w->picture.end);
}

/* --- events --- */

static void act(window *w, const gesture *in) {
    const unsigned what = control_take(&w->control, in);
    if (what == 0) return;
    w->stale = true;
    w->message.count = 0;
    if (what & DO_RENDER) renderer_show(w->thread, &w->control.view.seen.params);
    if (what & DO_RECOLOR) color_rows(w, 0, w->picture.params.height);
    if (what & DO_SAVE) save(w);
    if (what & DO_QUIT) quit();
}

/* The mouse's place is in units of the screen; one may be several pixels. */
static void act_at(window *w, enum gesture_kind kind, int x, int y) {
    int width = 1, height = 1, unit_x = 1, unit_y = 1;
    SDL_GetRendererOutputSize(w->renderer, &width, &height);
    SDL_GetWindowSize(w->window, &unit_x, &unit_y);
    act(w, &(gesture){
               .kind = kind, .x = (double)x * width / unit_x, .y = (double)y * height / unit_y});
}

static int key_of(SDL_Keycode code) {
    switch (code) {
    case SDLK_LEFT: return KEY_LEFT;
    case SDLK_RIGHT: return KEY_RIGHT;
    case SDLK_UP: return KEY_UP;
    case SDLK_DOWN: return KEY_DOWN;
    case SDLK_ESCAPE: return KEY_ESCAPE;
    default: return 0;
    }
}

static void act_window(window *w, const SDL_WindowEvent *e) {
    w->stale = true;
    if (e->event == SDL_WINDOWEVENT_SIZE_CHANGED) fit(w);
}

/* Characters are read as text, so that the layout of the keyboard does not matter. */
static void take_event(window *w, const SDL_Event *e) {
    if (e->type == w->news) take(w);
    switch (e->type) {
    case SDL_TEXTINPUT: act(w, &(gesture){.kind = GESTURE_KEY, .key = *e->text.text}); break;
    case SDL_KEYDOWN:
        act(w, &(gesture){.kind = GESTURE_KEY, .key = key_of(e->key.keysym.sym)});
        break;
    case SDL_MOUSEMOTION:
        act_at(w, e->motion.state & SDL_BUTTON_LMASK ? GESTURE_DRAG : GESTURE_POINT, e->motion.x,
               e->motion.y);
        break;
    case SDL_MOUSEWHEEL: act(w, &(gesture){.kind = GESTURE_WHEEL, .y = e->wheel.preciseY}); break;
    case SDL_WINDOWEVENT: act_window(w, &e->window); break;
    default: break;
    }
}

void window_run(window *w) {
    SDL_Event e;
    do {
        if (!SDL_WaitEvent(&e)) break;
        do {
            if (e.type == SDL_QUIT) return;
            take_event(w, &e);
        } while (SDL_PollEvent(&e));
        if (w->stale) draw(w);
    } while (true);
}

/* SDL_Quit is not called. On X11 SDL wakes itself by a second connection, whose last event may find
 * the window gone. That error is read when the connection is closed, and would end the program. */
int window_close(window *w) {
    saving saved;
    if (w->window) SDL_HideWindow(w->window);
    if (w->thread) {
        const int code = renderer_stop(w->thread, &w->picture, &saved);
        report_saved(w, &saved);
        if (code != EXIT_DONE) w->code = code;
    }
    if (w->texture) SDL_DestroyTexture(w->texture);
    if (w->renderer) SDL_DestroyRenderer(w->renderer);
    if (w->window) SDL_DestroyWindow(w->window);
    const int code = w->code;
    free(w->picture.counts);
    free(w->rgba);
    free(w);
    return code;
}
