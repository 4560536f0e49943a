/* What ranks hold becomes one. */
#include "runtime/ranks.h"
#include "runtime/report.h"

#include <stdlib.h>

/* A call of a communicator fails on all ranks or on none. */
static int end_merge(bf_context *context, bf_comm *comm, bf_status st, const char *file) {
    const int code = st == BF_OK ? EXIT_DONE : fail_status(st, context, file);
    bf_comm_destroy(comm);
    return ranks_agree(code);
}

int ranks_merge_states(bf_context *context, bf_state *const states[], int n, const char *file) {
    bf_comm *comm;
    if (ranks_count() == 1) return EXIT_DONE;
    const int code = ranks_open(context, &comm, file);
    if (code != EXIT_DONE) return code;
    bf_state **const there = ranks_allocate((size_t)n * sizeof(bf_state *));
    int count = 0;
    for (int i = 0; i < n; i++)
        if (states[i]) there[count++] = states[i];
    const bf_status st = count > 0 ? bf_comm_merge_states(comm, there, count) : BF_OK;
    free(there);
    return end_merge(context, comm, st, file);
}

int ranks_merge_histogram(bf_context *context, bf_histogram *histogram, const char *file) {
    bf_comm *comm;
    if (ranks_count() == 1) return EXIT_DONE;
    const int code = ranks_open(context, &comm, file);
    if (code != EXIT_DONE) return code;
    return end_merge(context, comm, bf_comm_merge_histogram(comm, histogram), file);
}

int ranks_merge_many(bf_context *context, bf_states *states, const char *file) {
    bf_comm *comm;
    if (ranks_count() == 1) return EXIT_DONE;
    const int code = ranks_open(context, &comm, file);
    if (code != EXIT_DONE) return code;
    return end_merge(context, comm, bf_comm_merge_many(comm, states), file);
}

int ranks_merge_quantiles(bf_context *context, bf_quantiles *quantiles, const char *file) {
    bf_comm *comm;
    if (ranks_count() == 1) return EXIT_DONE;
    const int code = ranks_open(context, &comm, file);
    if (code != EXIT_DONE) return code;
    return end_merge(context, comm, bf_comm_merge_quantiles(comm, quantiles), file);
}
