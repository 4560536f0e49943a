/* Ranks of MPI: what they merge and add, as the threads of the unit tests do. Started by mpirun.
 * Many ranks try fewer cases: on few cores a message between those that spin takes milliseconds. */
#include "tests/comm/merges.h"
#include "tests/comm/sums.h"

#include <bitfold/mpi.h>

#include <time.h>

typedef struct mpi_world {
    bf_context *context;
    bf_comm *comm;
    bool right;
} mpi_world;

static void run_on(mpi_world *w, rank_work *work, void *arg) {
    w->right = work(w->comm, w->context, arg) && w->right;
}

static void merge_everything(mpi_world *w) {
    int step = bf_comm_ranks(w->comm) > 3 ? 6 : 1; /* bool, u16, f64 */
    for (int d = 0; d < DTYPE_COUNT; d += step) {
        problem *p = make_problem(all_dtypes[d], d % 2 ? KIND_FULL : KIND_CANCEL);
        if (!is_float(p->dtype)) memset(p->data, 1, sizeof p->data);
        run_on(w, merge_all_ops, p);
        free(p);
    }
    problem *p = make_problem(BF_F64, KIND_NARROW);
    run_on(w, merge_many_states, p);
    run_on(w, merge_quantiles, p);
    run_on(w, merge_counts, p);
    run_on(w, share_groups, p);
    if (bf_comm_ranks(w->comm) == 3) run_on(w, refuse_states, p);
    free(p);
}

static void add_everything(mpi_world *w) {
    int count = bf_comm_ranks(w->comm);
    int step = count > 3 ? 5 : 1; /* u8, bf16 */
    for (int d = 0; d < DTYPE_COUNT; d += step)
        for (int k = 0; k < KIND_COUNT && all_dtypes[d] != BF_BOOL; k += step) {
            sum_problem p;
            make_sum_problem(&p, all_dtypes[d], (data_kind)k, k % 2 ? 840 : 5,
                             count + (d + k) % (TERMS_MOST - count + 1));
            run_on(w, add_arrays, &p);
            free_sum_problem(&p);
        }
    if (count == 3) run_on(w, refuse_arrays, NULL);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Prints the microseconds of merging a sum, and of an MPI_Allreduce of one double. */
static void measure(mpi_world *w) {
    enum { CALLS = 2000 };
    problem *p = make_problem(BF_F64, KIND_NARROW);
    bf_state *s = state_of(w->context, p, BF_SUM, 0, 10);
    bf_state *least = state_of(w->context, p, BF_MIN, 0, 10);
    double x = 1, times[4] = {0}, *at = times + 1;
    bool failed = false;
    for (int k = -1; k < 3; k++) { /* -1: what comes first takes longer */
        MPI_Barrier(MPI_COMM_WORLD);
        at[k] = seconds();
        for (int i = 0; i < CALLS; i++) {
            if (k <= 0) MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
            if (k == 1 && i % 50 == 0) bf_state_clear(s);
            if (k == 1) failed |= bf_comm_merge_states(w->comm, &s, 1) != BF_OK;
            if (k == 2 && i % 50 == 0) bf_state_clear(least);
            if (k == 2) failed |= bf_comm_merge_states(w->comm, &least, 1) != BF_OK;
        }
        at[k] = (seconds() - at[k]) / CALLS * 1e6;
    }
    if (bf_comm_rank(w->comm) == 0)
        printf("%d ranks: %.2f us an allreduce of a double, %.2f us a merge of f64 sums, %.2f us "
               "of minima\n",
               bf_comm_ranks(w->comm), at[0], at[1], at[2]);
    w->right = !failed;
    bf_state_destroy(s);
    bf_state_destroy(least);
    free(p);
}

/* Prints the milliseconds of adding f32 arrays, exactly and by MPI_SUM. */
static void measure_sums(mpi_world *w) {
    for (int64_t n = 1 << 10; n <= 1 << 24; n <<= 7) {
        float *in = malloc((size_t)n * 4), *out = malloc((size_t)n * 4);
        bf_array from = bf_array_of(BF_F32, in, n), to = bf_array_of(BF_F32, out, n);
        double least[2] = {1e9, 1e9};
        for (int64_t i = 0; i < n; i++) in[i] = (float)ldexp((double)(i % 1009), (int)(i % 20));
        for (int i = 0; i < 10; i++) {
            MPI_Barrier(MPI_COMM_WORLD);
            double at = seconds();
            if (i % 2 == 0)
                MPI_Allreduce(in, out, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            else
                w->right = bf_comm_allreduce(w->comm, &from, &to) == BF_OK && w->right;
            at = seconds() - at;
            if (at < least[i % 2]) least[i % 2] = at;
        }
        if (bf_comm_rank(w->comm) == 0)
            printf("%lld KiB of f32: MPI_SUM %.3f ms, exact %.3f ms\n", (long long)n / 256,
                   least[0] * 1e3, least[1] * 1e3);
        free(in);
        free(out);
    }
}

int main(int argc, char **argv) {
    mpi_world w = {NULL, NULL, true};
    const bf_options options = BF_OPTIONS(.device = "cpu", .threads = 1);
    if (bf_context_create(&options, &w.context) != BF_OK) return 1;
    if (bf_comm_create_mpi(w.context, MPI_COMM_WORLD, &w.comm) != BF_E_ARGUMENT) return 1;
    MPI_Init(&argc, &argv);
    if (bf_comm_create_mpi(w.context, MPI_COMM_NULL, &w.comm) != BF_E_ARGUMENT) return 1;
    if (bf_comm_create_mpi(w.context, MPI_COMM_WORLD, NULL) != BF_E_ARGUMENT) return 1;
    if (bf_comm_create_mpi(w.context, MPI_COMM_WORLD, &w.comm) != BF_OK) return 1;
    if (argc > 1 && strcmp(argv[1], "time") == 0) {
        measure(&w);
        measure_sums(&w);
    } else {
        merge_everything(&w);
        add_everything(&w);
    }
    bf_comm_destroy(w.comm);
    MPI_Finalize();
    bf_context_destroy(w.context);
    return w.right ? 0 : 1;
}
