#include "cpu/scan/block.h"

void bf_scanner_begin(bf_scanner *scanner, const bf_isa *isa, const bf_scan_job *job,
                      const int64_t *words) {
    const bf_prefix *p = &job->prefix;
    scanner->isa = isa;
    scanner->prefix = p;
    scanner->exclusive = job->exclusive;
    if (words == NULL)
        bf_state_init(p->kind, p->dtype, scanner->words);
    else
        memcpy(scanner->words, words,
               (size_t)bf_state_words(p->kind, p->dtype, words) * sizeof *words);
}

bf_status bf_scanner_run(bf_scanner *scanner, const void *elements, void *values, int64_t n) {
    const bf_prefix *p = scanner->prefix;
    const int bytes = bf_number_bytes(p->dtype), to_bytes = bf_number_bytes(p->to);
    bf_u128 x = 0, result;
    bf_status status = BF_OK;
    for (int64_t i = 0; i < n && status == BF_OK; i++) {
        memcpy(&x, (const char *)elements + i * bytes, (size_t)bytes);
        if (!scanner->exclusive) bf_prefix_take(p, scanner->words, &x);
        status = bf_prefix_result(p, scanner->words, &result, &scanner->work);
        if (scanner->exclusive) bf_prefix_take(p, scanner->words, &x);
        if (status == BF_OK) bf_prefix_store(p->to, (char *)values + i * to_bytes, result);
    }
    return status;
}
