#include "map/operand.h"

#include "runtime/report.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers --------------------------------------------------------------------------------- */

static bool is_digits(const char *text) {
    if (*text == '-' || *text == '+') text++;
    if (*text == '\0') return false;
    while (isdigit((unsigned char)*text)) text++;
    return *text == '\0';
}

static int take_integer(map_operand *x) {
    errno = 0;
    const bool negative = *x->text == '-';
    const long long least = negative ? strtoll(x->text, NULL, 10) : 0;
    const unsigned long long most = negative ? 0 : strtoull(x->text, NULL, 10);
    if (errno) return fail(EXIT_USAGE, NULL, "the number %s is beyond 64 bits", x->text);
    x->bits = negative ? (uint64_t)least : most;
    x->array.dtype = most > INT64_MAX ? BF_U64 : BF_I64;
    return EXIT_DONE;
}

/* A float: hexadecimal ones, inf and nan too. False if the text is a file's name. */
static bool take_float(map_operand *x) {
    char *end;
    if (isspace((unsigned char)*x->text)) return false;
    const double value = strtod(x->text, &end);
    if (end == x->text || *end) return false;
    memcpy(&x->bits, &value, sizeof value);
    x->array.dtype = BF_F64;
    return true;
}

/* ---- files ----------------------------------------------------------------------------------- */

int map_operand_open(map_operand *x, const char *text, const input *in) {
    *x = (map_operand){.text = text, .source = {.fd = -1}};
    x->is_number = is_digits(text) || take_float(x);
    x->is_single = x->is_number;
    x->array.data = &x->bits;
    if (is_digits(text)) return take_integer(x);
    return x->is_number ? EXIT_DONE : source_open(&x->source, text, in);
}

void map_operand_close(map_operand *x) {
    if (x->text && !x->is_number) source_close(&x->source);
    free(x->buffer);
    *x = (map_operand){.text = NULL};
}

static int take_single(map_operand *x) {
    int64_t got;
    const void *at = source_view(&x->source, 0, 1, &x->bits, &got);
    if (got != 1) return source_failed(&x->source, got, errno);
    memmove(&x->bits, at, source_element(&x->source));
    x->array = (bf_array){.data = &x->bits, .dtype = x->source.layout.dtype};
    x->is_single = true;
    return EXIT_DONE;
}

int map_operand_prepare(map_operand *x, bool ordered, bool single, int64_t room) {
    if (x->is_number) return EXIT_DONE;
    const int code = source_prepare(&x->source, ordered);
    if (code != EXIT_DONE) return code;
    if (single) return take_single(x);
    x->buffer = malloc((size_t)room * source_element(&x->source));
    return x->buffer ? EXIT_DONE : fail_status(BF_E_MEMORY, NULL, x->text);
}

int map_operand_view(map_operand *x, int64_t at, int64_t n) {
    int64_t got;
    if (x->is_single) return EXIT_DONE;
    const void *elements = source_view(&x->source, at, n, x->buffer, &got);
    if (got < 0 || (got < n && x->source.count >= 0)) return source_failed(&x->source, got, errno);
    x->array = bf_array_of(x->source.layout.dtype, elements, got);
    return EXIT_DONE;
}
