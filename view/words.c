#include "view/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void words_add(words *w, const char *format, ...) {
    char text[WORDS_LINES * WORDS_COLUMNS];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (const char *at = text; *at && w->count < WORDS_LINES;) {
        const size_t n = strnlen(at, WORDS_COLUMNS);
        memcpy(w->lines[w->count], at, n);
        w->lines[w->count++][n] = '\0';
        at += n;
    }
}

typedef struct number {
    char text[BF_VALUE_TEXT];
} number;

/* Reads back to the same bits. */
static number exact(double x) {
    number n;
    bf_value_format(&(bf_value){.dtype = BF_F64, .as.f64 = x}, n.text);
    return n;
}

/* --- information --- */

static void add_speed(words *w, const picture *p) {
    static const char prefixes[] = " kMGT";
    double rate = p->seconds > 0 ? p->steps / p->seconds : 0;
    int prefix = 0;
    for (; rate >= 1000 && prefixes[prefix + 1]; prefix++) rate /= 1000;
    if (p->done)
        words_add(w, "%s: %.1f ms, %.3g %c steps/s", p->device, p->seconds * 1e3, rate,
                  prefixes[prefix]);
    else
        words_add(w, "%s: ...", *p->device ? p->device : "starting");
}

void words_information(words *w, const julia_request *seen, const picture *p) {
    const bf_julia_params *v = &seen->params;
    if (v->mandelbrot)
        words_add(w, "Mandelbrot set");
    else
        words_add(w, "Julia set of %s, %s", exact(v->c_re).text, exact(v->c_im).text);
    words_add(w, "centre %s, %s", exact(v->center_re).text, exact(v->center_im).text);
    words_add(w, "scale %.4g, %lld iterations, %s", v->scale, (long long)v->iterations,
              bf_palette_name(seen->palette));
    words_add(w, "%lld x %lld, %s", (long long)v->width, (long long)v->height,
              bf_dtype_name(v->dtype));
    add_speed(w, p);
}

void words_help(words *w) {
    static const char *const lines[] = {"wheel    zoom at the pointer",
                                        "drag     move",
                                        "arrows   move",
                                        "m        Mandelbrot set; again: all of it",
                                        "j        Julia set of the point under the mouse",
                                        "p        next palette",
                                        "+ -      more, fewer iterations",
                                        "s        save as PNG",
                                        "i        information",
                                        "h        this help",
                                        "q, Esc   quit"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) words_add(w, "%s", lines[i]);
}

/* --- names --- */

static void append(char name[NAME_MAX + 1], const char *format, ...) PRINTF_LIKE(2, 3);

static void append(char name[NAME_MAX + 1], const char *format, ...) {
    const size_t used = strlen(name);
    va_list args;
    va_start(args, format);
    vsnprintf(name + used, NAME_MAX + 1 - used, format, args);
    va_end(args);
}

void words_name(const julia_request *seen, char name[NAME_MAX + 1]) {
    const bf_julia_params *v = &seen->params;
    bf_julia_params usual;
    bf_julia_defaults(&usual);
    snprintf(name, NAME_MAX + 1, "%s", v->mandelbrot ? "mandelbrot" : "julia");
    if (!v->mandelbrot) append(name, "_c_%s,%s", exact(v->c_re).text, exact(v->c_im).text);
    append(name, "_center_%s,%s", exact(v->center_re).text, exact(v->center_im).text);
    append(name, "_scale_%s_iter_%lld", exact(v->scale).text, (long long)v->iterations);
    if (v->escape != usual.escape) append(name, "_escape_%s", exact(v->escape).text);
    append(name, "_dtype_%s_palette_%s", bf_dtype_name(v->dtype), bf_palette_name(seen->palette));
    append(name, "_size_%lldx%lld.png", (long long)v->width, (long long)v->height);
}
