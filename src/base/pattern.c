#define _GNU_SOURCE /* REG_STARTEND, uselocale */
#include "base/pattern.h"

#include <locale.h>

void *bf_pattern_enter(void) { return uselocale(newlocale(LC_ALL_MASK, "C", NULL)); }

void bf_pattern_leave(void *before) {
    const locale_t of_bytes = uselocale(before);
    freelocale(of_bytes);
}

bool bf_pattern_compile(regex_t *pattern, const char *text, char why[BF_PATTERN_WHY]) {
    void *const before = bf_pattern_enter();
    const int error = regcomp(pattern, text, REG_EXTENDED | REG_NOSUB);
    if (error != 0) regerror(error, pattern, why, BF_PATTERN_WHY);
    bf_pattern_leave(before);
    return error == 0;
}

bf_pattern_answer bf_pattern_match(const regex_t *pattern, const char *text, int64_t size) {
    regmatch_t all = {.rm_so = 0, .rm_eo = (regoff_t)size};
    if (size > INT32_MAX) return BF_PATTERN_LONG;
    switch (regexec(pattern, text, 1, &all, REG_STARTEND)) {
    case 0: return BF_PATTERN_YES;
    case REG_NOMATCH: return BF_PATTERN_NO;
    default: return BF_PATTERN_NO_MEMORY;
    }
}
