/* What ranks hold becomes one: they send each other saved states. */
#include "runtime/ranks.h"
#include "runtime/report.h"
#include "runtime/statefile.h"

#include <stdlib.h>
#include <string.h>

/* Replaces what a rank holds by the merge of all parts, which lie one behind another. */
static bf_status merge_parts(bf_context *context, statefile *mine, const unsigned char *at,
                             const int64_t sizes[]) {
    statefile all, part;
    bf_status st = statefile_of(context, at, (size_t)sizes[0], &all);
    for (int i = 1; i < ranks_count() && st == BF_OK; i++) {
        at += sizes[i - 1];
        st = statefile_of(context, at, (size_t)sizes[i], &part);
        if (st == BF_OK) st = statefile_merge(&all, &part);
        statefile_free(&part);
    }
    if (st == BF_OK) {
        const statefile before = *mine;
        *mine = all;
        all = before;
    }
    statefile_free(&all);
    return st;
}

/* Sends the parts to every rank, or to the first alone. */
static int merge_saved(bf_context *context, statefile *mine, bool to_all, const char *file) {
    const int n = ranks_count();
    unsigned char *bytes = NULL;
    size_t size = 0;
    bf_status st = statefile_bytes(mine, &bytes, &size);
    int code = ranks_agree(st == BF_OK ? EXIT_DONE : fail_status(st, context, file));
    if (code == EXIT_DONE) {
        int64_t *to_sizes = ranks_allocate((size_t)n * sizeof *to_sizes), total = 0;
        int64_t *sizes = ranks_allocate((size_t)n * sizeof *sizes);
        const bool receives = to_all || ranks_rank() == 0;
        const int64_t one = (int64_t)size;
        ranks_gather(&one, sizes, sizeof one);
        for (int i = 0; i < n; i++) total += receives ? sizes[i] : (sizes[i] = 0);
        unsigned char *to = ranks_allocate(to_all ? (size_t)n * size : size);
        unsigned char *all = ranks_allocate((size_t)total);
        for (int i = 0; i < n; i++) to_sizes[i] = to_all || i == 0 ? one : 0;
        for (int i = 0; i < (to_all ? n : 1); i++) memcpy(to + (size_t)i * size, bytes, size);
        ranks_exchange(to, to_sizes, all, sizes);
        if (receives) st = merge_parts(context, mine, all, sizes);
        free(to);
        free(all);
        free(to_sizes);
        free(sizes);
        code = ranks_agree(st == BF_OK ? EXIT_DONE : fail_status(st, context, file));
    }
    free(bytes);
    return code;
}

int ranks_merge_states(bf_context *context, bf_state **states, int n, const char *file) {
    int code = EXIT_DONE;
    for (int i = 0; i < n && code == EXIT_DONE && ranks_count() > 1; i++) {
        statefile mine = {.state = states[i]};
        code = merge_saved(context, &mine, true, file);
        states[i] = mine.state;
    }
    return code;
}

int ranks_merge_histogram(bf_context *context, bf_histogram **histogram, const char *file) {
    if (ranks_count() == 1) return EXIT_DONE;
    statefile mine = {.histogram = *histogram};
    const int code = merge_saved(context, &mine, true, file);
    *histogram = mine.histogram;
    return code;
}

int ranks_merge_groups(bf_context *context, bf_groups **groups, const char *file) {
    if (ranks_count() == 1) return EXIT_DONE;
    statefile mine = {.groups = *groups};
    const int code = merge_saved(context, &mine, false, file);
    *groups = mine.groups;
    return code;
}
