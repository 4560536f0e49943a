#include "runtime/report.h"

#include "runtime/progress.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MAX_LINE 8192

static struct {
    const char *command;
    enum color_mode color;
    bool quiet, verbose;
} style = {"", COLOR_AUTO, false, false};

/* Errors and hints that are kept back. */
static struct {
    bool holds;
    char *text;
    size_t size;
} held;

void report_hold(bool hold) { held.holds = hold; }

void report_release(bool show) {
    if (show && held.size > 0) progress_clear();
    if (show && held.size > 0) fwrite(held.text, 1, held.size, stderr);
    held.size = 0;
}

char *report_take(void) {
    char *text = held.size > 0 ? realloc(held.text, held.size + 1) : NULL;
    if (!text) return NULL;
    text[held.size] = '\0';
    held.text = NULL;
    held.size = 0;
    return text;
}

/* Writes a line to standard error, or to what is kept back. */
static void put_text(const char *text, size_t size, bool hold) {
    char *more = hold ? realloc(held.text, held.size + size) : NULL;
    if (!more) {
        progress_clear();
        fwrite(text, 1, size, stderr);
        return;
    }
    memcpy(more + held.size, text, size);
    held.text = more;
    held.size += size;
}

void report_command(const char *name) { style.command = name; }

void report_style(enum color_mode color, int quiet, int verbose) {
    style.color = color;
    style.quiet = quiet != 0;
    style.verbose = verbose != 0;
}

const char *report_command_name(void) { return style.command; }

int color_wanted(int fd) {
    if (style.color != COLOR_AUTO) return style.color == COLOR_ALWAYS;
    const char *no_color = getenv("NO_COLOR");
    return (no_color == NULL || *no_color == '\0') && isatty(fd);
}

int terminal_width(int fd) {
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    const long wanted = columns ? strtol(columns, NULL, 10) : 0;
    if (wanted > 0 && wanted <= 10000) return (int)wanted;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* One line in one write, so that lines of several processes do not mix; a control character (in a
 * file's name, say) becomes '?', so that one message stays one harmless line. */
static void put_line(const char *prefix, const char *file, const char *format, va_list args,
                     bool hold) {
    char line[MAX_LINE + 1], bold[MAX_LINE + 16];
    size_t used =
        (size_t)snprintf(line, MAX_LINE, "%s%s%s", prefix, file ? file : "", file ? ": " : "");
    if (used < MAX_LINE - 1) vsnprintf(line + used, MAX_LINE - used, format, args);
    size_t length = strlen(line);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f) line[i] = '?';
    line[length] = '\n';
    const int n = color_wanted(STDERR_FILENO)
                      ? snprintf(bold, sizeof bold, "\033[1m%.*s\033[0m%.*s", (int)strlen(prefix),
                                 line, (int)(length + 1 - strlen(prefix)), line + strlen(prefix))
                      : 0;
    put_text(n > 0 ? bold : line, n > 0 ? (size_t)n : length + 1, hold);
}

static void put_command_line(const char *file, const char *format, va_list args, bool hold) {
    char prefix[64];
    snprintf(prefix, sizeof prefix, "bitfold%s%s: ", *style.command ? " " : "", style.command);
    put_line(prefix, file, format, args, hold);
}

int fail(int code, const char *file, const char *format, ...) {
    va_list args;
    va_start(args, format);
    put_command_line(file, format, args, held.holds);
    va_end(args);
    return code;
}

void inform(const char *file, const char *format, ...) {
    if (style.quiet) return;
    va_list args;
    va_start(args, format);
    put_command_line(file, format, args, false);
    va_end(args);
}

void note(const char *file, const char *format, ...) {
    if (!style.verbose) return;
    va_list args;
    va_start(args, format);
    put_command_line(file, format, args, false);
    va_end(args);
}

void hint(const char *format, ...) {
    va_list args;
    va_start(args, format);
    put_line("hint: ", NULL, format, args, held.holds);
    va_end(args);
}

static int status_code(bf_status status) {
    switch (status) {
    case BF_E_ARGUMENT: return EXIT_USAGE;
    case BF_E_MEMORY: return EXIT_IO;
    case BF_E_DEVICE: return EXIT_DEVICE;
    default: return EXIT_DATA;
    }
}

int fail_status(bf_status status, const bf_context *context, const char *file) {
    const char *detail = context ? bf_context_message(context) : "";
    if (*detail == '\0') return fail(status_code(status), file, "%s", bf_status_string(status));
    return fail(status_code(status), file, "%s: %s", bf_status_string(status), detail);
}

int fail_memory(const char *file) { return fail_status(BF_E_MEMORY, NULL, file); }

enum { SHOWN = 30 /* bytes of a text, before and behind a place in it */ };

int fail_text(bf_status status, const bf_context *context, const char *file, const char *option,
              const char *text, int position) {
    if (position < 0) return fail_status(status, context, file);
    const int code = status == BF_E_ARGUMENT ? EXIT_USAGE : EXIT_DATA;
    fail(code, file, "%s: %s", option, bf_context_message(context));
    const int before = position < SHOWN ? position : SHOWN;
    const char *behind = text + position;
    hint("%s%.*s <here>%s%.*s%s", before < position ? "..." : "", before, behind - before,
         *behind ? " " : "", SHOWN, behind, strlen(behind) > SHOWN ? "..." : "");
    return code;
}

const char *find_index(const char *message, int64_t *index, const char **behind) {
    static const char before[] = " at index ";
    const char *at = strstr(message, before);
    char *end = NULL;
    if (at) *index = strtoll(at + strlen(before), &end, 10);
    *behind = end;
    return at;
}

static const char *device_reason(void) {
    static char text[80];
    const char *reason = bf_device_reason();
    if (*reason) return reason;
    snprintf(text, sizeof text, "this machine has %d, numbered from 0", bf_device_count());
    return text;
}

int fail_device(const char *device) {
    fail(EXIT_DEVICE, NULL, "cannot use --device %s: %s", device, device_reason());
    hint("--device cpu gives the same bits");
    return EXIT_DEVICE;
}

void note_device(const bf_context *context, const char *file) {
    const char *reason = bf_context_reason(context);
    note(file, "computed on %s: %s", bf_context_device(context),
         *reason ? reason : "it was asked for");
}
