/* Sums over ranks that are processes, whose GPUs reach each other's memory. The processes start
 * before CUDA does, and talk over sockets. */
#include "seam/backend.h"
#include "seam/comm.h"
#include "tests/comm/exact.h"

#include <cuda_runtime_api.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 4, ROOM = 8 << 20, SKIPPED = 77 };

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (condition) break;                                                                      \
        fprintf(stderr, "rank %d: %s, line %d: %s\n", me, __FILE__, __LINE__, #condition);         \
        exit(1);                                                                                   \
    } while (0)

static int sockets[RANKS][RANKS]; /* [a][b]: a's end towards b */
static int me, ranks;
static bf_context *context;

static int gather(void *arg, const void *mine, void *all, int64_t bytes) {
    (void)arg;
    for (int r = 0; r < ranks; r++)
        if (r != me && write(sockets[me][r], mine, (size_t)bytes) != bytes) return 1;
    for (int r = 0; r < ranks; r++) {
        char *to = (char *)all + r * bytes;
        if (r == me)
            memcpy(to, mine, (size_t)bytes);
        else if (recv(sockets[me][r], to, (size_t)bytes, MSG_WAITALL) != bytes)
            return 1;
    }
    return 0;
}

/* One sum of n elements a rank, of every rank's own data. */
static void check_sum(const bf_comm_backend *by, bf_link *link, bf_dtype dtype, int64_t n,
                      bf_sums_to to, char *on_device) {
    static char terms[RANKS][ROOM / 4], found[ROOM / 4];
    size_t bytes = bf_dtype_size(dtype);
    for (int r = 0; r < ranks; r++)
        fill(dtype, terms[r], n, is_float(dtype) ? KIND_FULL : KIND_NARROW, (uint64_t)(n + r));
    CHECK(cudaMemcpy(on_device, terms[me], (size_t)n * bytes, cudaMemcpyDefault) == cudaSuccess);
    bf_sums job = {.to = to,
                   .root = ranks - 1,
                   .dtype = dtype,
                   .n = n,
                   .in = on_device,
                   .terms = 1,
                   .out = on_device};
    CHECK(by->can_sum(link, &job));
    CHECK(by->sum(link, &job, true) == BF_OK);
    if (to == BF_SUMS_TO_ROOT && me != ranks - 1) return;
    CHECK(cudaMemcpy(found, on_device, (size_t)n * bytes, cudaMemcpyDefault) == cudaSuccess);
    for (int64_t i = 0; i < n; i++) {
        const void *at[RANKS];
        bool misfit = false;
        for (int r = 0; r < ranks; r++) at[r] = terms[r] + (size_t)i * bytes;
        CHECK(load_bits(found + (size_t)i * bytes, bytes) == exact_sum(dtype, at, ranks, &misfit));
        CHECK(!misfit);
    }
}

static int run_rank(bool last_leaves) {
    const bf_comm_backend *by = bf_backend_gpu()->comm;
    bf_carrier carrier = BF_CARRIER(.rank = me, .ranks = ranks, .gather = gather);
    bf_link_options options = {.limit = last_leaves ? 0.2 : 20, .shared = true};
    bf_link *link = NULL;
    char name[BF_DEVICE_TEXT], why[BF_MESSAGE_TEXT];
    void *memory;
    if (bf_device_count() < 1) return SKIPPED;
    bf_device_format(me % bf_device_count(), name);
    CHECK(bf_context_create(&BF_OPTIONS(.device = name), &context) == BF_OK);
    CHECK(bf_memory_allocate(context, ROOM, &memory) == BF_OK);
    CHECK(by->link(context, &carrier, &options, &link, why) == BF_OK);
    if (link == NULL) {
        printf("no link: %s\n", why);
        return SKIPPED;
    }
    static const bf_dtype dtypes[] = {BF_F32, BF_F64, BF_BF16, BF_I32};
    static const int64_t sizes[] = {1, 1000, 250007};
    for (int i = 0; i < 24 && !last_leaves; i++)
        check_sum(by, link, dtypes[i % 4], sizes[i / 8],
                  i % 8 < 4 ? BF_SUMS_TO_ALL : BF_SUMS_TO_ROOT, memory);
    if (last_leaves && me < ranks - 1) {
        bf_sums job = {.dtype = BF_F32, .n = 1000, .in = memory, .terms = 1, .out = memory};
        CHECK(by->sum(link, &job, true) == BF_E_COMM);
    }
    by->unlink(link);
    bf_memory_free(context, memory);
    bf_context_destroy(context);
    return 0;
}

/* Runs so many ranks, each in a process. Returns the worst exit status. */
static int run_ranks(int count, bool last_leaves) {
    int worst = 0;
    ranks = count;
    for (int a = 0; a < count; a++)
        for (int b = 0; b < a; b++) {
            int pair[2];
            if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return 1;
            sockets[a][b] = pair[0];
            sockets[b][a] = pair[1];
        }
    for (me = 0; me < count; me++)
        if (fork() == 0) exit(run_rank(last_leaves));
    for (int r = 0, status; r < count; r++) {
        if (wait(&status) < 0 || !WIFEXITED(status)) return 1;
        if (worst == 0 || WEXITSTATUS(status) == 1) worst = WEXITSTATUS(status);
    }
    printf("%d ranks%s: %s\n", count, last_leaves ? ", of which one leaves" : "",
           worst == 0         ? "passed"
           : worst == SKIPPED ? "skipped"
                              : "failed");
    fflush(stdout);
    return worst;
}

int main(void) {
    int status = run_ranks(2, false);
    if (status == 0) status = run_ranks(4, false);
    if (status == 0) status = run_ranks(2, true);
    return status;
}
