/* Blocks: which way one takes. Whatever no loop does, the rules do element by element. */
#include "cpu/scan/block.h"

void bf_scanner_init(bf_scanner *scanner, const bf_isa *isa, const bf_prefix *prefix,
                     bf_scan_buffers *buffers) {
    scanner->isa = isa;
    scanner->prefix = prefix;
    scanner->buffers = buffers;
    scanner->window = (bf_scan_window){.exponent = BF_SCAN_LEAST};
}

/* Has a minimum or maximum no elements yet? */
static bool has_none(const bf_prefix *p, const int64_t *words) {
    const bool nan = words[BF_EXTREME_NAN] > 0 && p->options.nan != BF_NAN_SKIP;
    return p->kind == BF_KIND_EXTREME && words[BF_EXTREME_INDEX] < 0 && !nan;
}

/* Looks whether the loops can go on from the result of the words. */
static void know(bf_scanner *scanner) {
    const bf_prefix *p = scanner->prefix;
    bf_u128 result;
    scanner->known = p->dtype != BF_I128 && !bf_prefix_sums_floats(p) &&
                     !has_none(p, scanner->words) &&
                     bf_prefix_result(p, scanner->words, &result, &scanner->buffers->work) == BF_OK;
    if (scanner->known) scanner->last = (uint64_t)result;
}

void bf_scanner_begin(bf_scanner *scanner, const int64_t *words) {
    const bf_prefix *p = scanner->prefix;
    if (words == NULL)
        bf_prefix_init(p, scanner->words);
    else
        memcpy(scanner->words, words,
               (size_t)bf_state_words(p->kind, p->dtype, words) * sizeof *words);
    scanner->windowed = words == NULL && bf_prefix_sums_floats(p);
    scanner->wide = false;
    scanner->window = (bf_scan_window){.exponent = scanner->window.exponent};
    know(scanner);
}

bf_status bf_scanner_stand(bf_scanner *scanner, void *value) {
    bf_u128 result;
    bf_status status =
        bf_prefix_result(scanner->prefix, scanner->words, &result, &scanner->buffers->work);
    if (status == BF_OK) bf_prefix_store(scanner->prefix->to, value, result);
    return status;
}

/* Scans by the rules until the loops can go on. Sets *taken to how many elements that are. */
static bf_status scan_by_rules(bf_scanner *scanner, const char *elements, char *values, int64_t n,
                               int64_t *taken) {
    const bf_prefix *p = scanner->prefix;
    const int bytes = bf_number_bytes(p->dtype), to_bytes = bf_number_bytes(p->to);
    bf_status status = BF_OK;
    int64_t i = 0;
    for (; i < n && status == BF_OK && !scanner->known; i++) {
        bf_prefix_take(p, scanner->words, elements + i * bytes);
        status = bf_scanner_stand(scanner, values + i * to_bytes);
        if (status == BF_OK) know(scanner);
    }
    *taken = i;
    return status;
}

bf_status bf_scanner_run(bf_scanner *scanner, const void *elements, void *values, int64_t n) {
    const bf_prefix *p = scanner->prefix;
    int64_t at = 0;
    if (bf_prefix_sums_floats(p)) {
        bf_scan_sums(scanner, elements, values, n);
        return BF_OK;
    }
    bf_status status = scan_by_rules(scanner, elements, values, n, &at);
    if (status != BF_OK || at == n) return status;
    const char *rest = (const char *)elements + at * bf_number_bytes(p->dtype);
    char *to = (char *)values + at * bf_number_bytes(p->to);
    if (p->kind == BF_KIND_EXTREME)
        bf_scan_extremes(scanner, rest, to, n - at);
    else if (!bf_scan_integers(scanner, rest, to, n - at))
        status = BF_E_OVERFLOW;
    return status;
}
