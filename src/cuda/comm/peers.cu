/* Links over the memory of peers: how they are made, and what their calls launch. */
#include "cuda/comm/peers.cuh"

#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/workspace.cuh"
#include "rules/number/dtype.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* What was fastest from 1 to 2 MiB on (bench/peers/allreduce), and for fewer bytes. */
enum {
    SLOTS_BYTES = 1 << 17, /* the slots of a channel's step, for all other ranks together */
    SMALL_BYTES = 1 << 20  /* the most of an array that goes by packets, times other ranks */
};

struct bf_cuda_peers {
    bf_peers_head *memory[BF_LINK_RANKS];
    bool mapped[BF_LINK_RANKS]; /* memory of another process */
    int channels, slot_bytes;
    int small_channels, small_vectors;
    int64_t small_bytes; /* the most that such an array has */
};

/* What ranks tell each other to make links. */
struct rank_card {
    char host[40]; /* the host's boot: ranks of one host have the same */
    cudaUUID_t gpu;
    cudaIpcMemHandle_t handle;
    int channels;
    int ready;
};

/* --- scratch --- */

static int64_t slots_at(const bf_link *link) {
    const bf_cuda_peers *peers = link->peers;
    int64_t vectors = (int64_t)peers->small_channels * peers->small_vectors;
    return (int64_t)sizeof(bf_peers_head) +
           2 * (link->ranks - 1) * vectors * 2 * (int64_t)sizeof(bf_cuda_packet);
}

static size_t scratch_bytes(const bf_link *link) {
    const bf_cuda_peers *peers = link->peers;
    int64_t slots = (int64_t)2 * (link->ranks - 1) * peers->channels * BF_PEERS_DEPTH;
    return (size_t)(slots_at(link) + slots * peers->slot_bytes);
}

/* Shares memory out: what a rank keeps for the others is the same for any number of them. */
static void set_sizes(bf_link *link, int64_t small_bytes) {
    bf_cuda_peers *peers = link->peers;
    int others = link->ranks > 1 ? link->ranks - 1 : 1;
    peers->slot_bytes = SLOTS_BYTES / others / 128 * 128;
    peers->small_vectors = BF_PEERS_SMALL_ROWS * BF_PEERS_THREADS;
    int64_t bytes = SMALL_BYTES / others, rows = BF_PEERS_THREADS * 16;
    peers->small_channels = (int)((bytes + rows - 1) / rows);
    if (peers->small_channels > peers->channels) peers->small_channels = peers->channels;
    peers->small_bytes = BF_PEERS_SMALL_ROWS * rows * peers->small_channels;
    if (peers->small_bytes > bytes) peers->small_bytes = bytes;
    if (small_bytes > 0 && peers->small_bytes > small_bytes) peers->small_bytes = small_bytes;
}

static const bf_dtype dtypes[] = {BF_I8,  BF_I16, BF_I32, BF_I64,  BF_U8,  BF_U16,
                                  BF_U32, BF_U64, BF_F16, BF_BF16, BF_F32, BF_F64};

static bf_peers_kernel *kernel_of(bf_dtype dtype) {
    switch (dtype) {
    case BF_F16: return bf_peers_kernel_f16();
    case BF_BF16: return bf_peers_kernel_bf16();
    case BF_F32: return bf_peers_kernel_f32();
    case BF_F64: return bf_peers_kernel_f64();
    default: return bf_peers_kernel_integer(dtype);
    }
}

/* Loads all kernels: loading one may wait for the GPU, on which another rank's may wait for it. */
static cudaError_t load_sums(void) {
    cudaError_t error = cudaSuccess;
    cudaFuncAttributes unused;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes && error == cudaSuccess; i++)
        error = cudaFuncGetAttributes(&unused, (const void *)kernel_of(dtypes[i]));
    return error;
}

/* Makes this rank's scratch, for so many channels. */
static cudaError_t make_scratch(bf_link *link, const bf_link_options *options, int channels) {
    bf_cuda_peers *peers = link->peers;
    peers->channels = channels;
    set_sizes(link, options->small_bytes);
    cudaError_t error = load_sums();
    if (error == cudaSuccess)
        error = bf_cuda_alloc_cleared((void **)&peers->memory[link->rank], scratch_bytes(link));
    return error;
}

/* --- closing --- */

/* Returns whether all ranks have set the flags of a call that has ended here: then they write no
 * more to this rank's memory. */
static bool is_settled(const bf_link *link, const bf_peers_head *head) {
    for (int c = 0; c < link->peers->channels; c++) {
        const bf_peers_channel *channel = &head->channels[c];
        const bf_peers_progress *own = &channel->progress[BF_PEERS_SENDER];
        int letter = BF_PEERS_LETTER + (int)((own->calls + 1) % 2); /* the last call's */
        for (int r = 0; r < link->ranks; r++)
            if (channel->flags[letter][r] >> 24 < own->calls ||
                channel->flags[BF_PEERS_ADDED][r] < own->steps ||
                channel->flags[BF_PEERS_RESULTS_TAKEN][r] < own->result_steps)
                return false;
    }
    return true;
}

/* Waits until other ranks have taken what this one sent, for at most a second. */
static void settle(const bf_link *link) {
    bf_peers_head *head = (bf_peers_head *)malloc(sizeof *head);
    struct timespec pause = {0, 1000000};
    for (int tries = 0; tries < 1000 && head != NULL; tries++) {
        cudaError_t error =
            cudaMemcpy(head, link->peers->memory[link->rank], sizeof *head, cudaMemcpyDeviceToHost);
        if (error != cudaSuccess || head->broken != BF_LINK_WHOLE || is_settled(link, head)) break;
        nanosleep(&pause, NULL);
    }
    free(head);
}

static void close_peers(bf_link *link) {
    bf_cuda_peers *peers = link->peers;
    if (peers == NULL) return;
    if (link->way != NULL) {
        cudaDeviceSynchronize();
        settle(link);
    }
    for (int r = 0; r < link->ranks; r++)
        if (peers->mapped[r]) cudaIpcCloseMemHandle(peers->memory[r]);
    cudaFree(peers->memory[link->rank]);
    cudaGetLastError();
    free(peers);
    link->peers = NULL;
}

/* --- calls --- */

/* What all ranks must agree on, in 16 bits. */
static uint32_t tag_of(const bf_sums *job) {
    uint64_t root = job->to == BF_SUMS_TO_ROOT ? (uint64_t)job->root : 0;
    uint64_t all =
        (uint64_t)job->n ^ (uint64_t)job->dtype << 50 ^ (uint64_t)job->to << 56 ^ root << 58;
    return (uint32_t)(all * 0x9e3779b97f4a7c15u >> 48);
}

static bf_status enqueue_kernel(bf_link *link, const bf_sums *job, bool waits) {
    const bf_cuda_peers *peers = link->peers;
    bf_peers_params p = {};
    for (int r = 0; r < link->ranks; r++) p.memory[r] = peers->memory[r];
    p.rank = link->rank;
    p.ranks = link->ranks;
    p.channels = peers->channels;
    p.slot_bytes = peers->slot_bytes;
    p.slots_at = slots_at(link);
    p.small_channels = peers->small_channels;
    p.small_vectors = peers->small_vectors;
    p.limit = (uint64_t)(link->limit * 1e9);
    p.report = link->report;
    p.overflow = &link->report->overflow[waits];
    p.job = *job;
    p.tag = tag_of(job);
    int64_t bytes = job->n * bf_dtype_bytes(job->dtype), row = 16 * BF_PEERS_THREADS;
    p.is_small = bytes <= peers->small_bytes;
    if (p.is_small && job->to == BF_SUMS_TO_OWNERS) bytes /= link->ranks;
    int64_t most = p.is_small ? peers->small_channels : peers->channels;
    p.used = (int)(bytes / row < most ? (bytes + row - 1) / row : most);
    if (p.used < 1) p.used = 1;
    bf_cuda_shape shape = {p.used * (p.is_small ? 1 : BF_PEERS_ROLES), BF_PEERS_THREADS, 0,
                           !link->shares_gpu, false};
    cudaError_t error = bf_cuda_launch(link->context->cuda, kernel_of(job->dtype), shape, p);
    return bf_cuda_check(link->context, error, "adding over ranks");
}

static const bf_cuda_link_way over_peers = {
    .capturable = true,
    .terms = BF_LINK_TERMS,
    .enqueue = enqueue_kernel,
    .close = close_peers,
};

/* --- opening --- */

static bool begin_peers(bf_link *link) {
    link->peers = (bf_cuda_peers *)calloc(1, sizeof *link->peers);
    return link->peers != NULL;
}

static void read_boot(char boot[40]) {
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    memset(boot, 0, 40);
    if (file == NULL) return;
    if (fread(boot, 1, 36, file) != 36) boot[0] = '\0';
    fclose(file);
}

static bool have_same_gpu(const rank_card *a, const rank_card *b) {
    return memcmp(a->host, b->host, sizeof a->host) == 0 && memcmp(&a->gpu, &b->gpu, 16) == 0;
}

static bool share_gpus(const rank_card *cards, int ranks) {
    for (int r = 0; r < ranks; r++)
        for (int k = 0; k < r; k++)
            if (have_same_gpu(&cards[r], &cards[k])) return true;
    return false;
}

/* Returns why GPUs of these ranks cannot be peers; NULL: perhaps they can. */
static const char *refuse_ranks(const rank_card *cards, int ranks, bool shared) {
    for (int r = 0; r < ranks; r++) {
        if (cards[r].host[0] == '\0') return "a rank's host is not known";
        if (memcmp(cards[r].host, cards[0].host, sizeof cards[r].host) != 0)
            return "the ranks are on several hosts";
    }
    return share_gpus(cards, ranks) && !shared ? "two ranks share a GPU" : NULL;
}

/* The fewest channels that a rank has, and ranks that share its GPU leave it. */
static int agree_channels(const rank_card *cards, int ranks) {
    int least = BF_PEERS_CHANNELS;
    for (int r = 0; r < ranks; r++) {
        int sharing = 0;
        for (int k = 0; k < ranks; k++) sharing += have_same_gpu(&cards[r], &cards[k]);
        int channels = cards[r].channels / sharing;
        if (channels < least) least = channels;
    }
    return least > 1 ? least : 1;
}

static bool are_ready(const rank_card *cards, int ranks) {
    for (int r = 0; r < ranks; r++)
        if (!cards[r].ready) return false;
    return true;
}

static void fill_card(const bf_link *link, rank_card *card) {
    cudaDeviceProp properties;
    memset(card, 0, sizeof *card);
    read_boot(card->host);
    card->channels = link->context->cuda->multiprocessors; /* each holds a block of every role */
    if (cudaGetDeviceProperties(&properties, link->context->cuda->device) == cudaSuccess) {
        card->gpu = properties.uuid;
        card->ready = 1;
    }
}

/* Maps the memory of the other ranks. */
static cudaError_t map_scratch(bf_link *link, const rank_card *cards) {
    bf_cuda_peers *peers = link->peers;
    cudaError_t error = cudaSuccess;
    for (int r = 0; r < link->ranks && error == cudaSuccess; r++) {
        if (r == link->rank) continue;
        error = cudaIpcOpenMemHandle((void **)&peers->memory[r], cards[r].handle,
                                     cudaIpcMemLazyEnablePeerAccess);
        peers->mapped[r] = error == cudaSuccess;
    }
    return error;
}

static void say_why(char *why, const char *what, cudaError_t error) {
    snprintf(why, BF_MESSAGE_TEXT, "%s: %s", what, cudaGetErrorString(error));
    cudaGetLastError();
}

/* Makes scratch and maps that of the others: two gathers, whatever fails here. */
static bf_status connect_ranks(bf_link *link, const bf_carrier *carrier,
                               const bf_link_options *options, rank_card *mine, rank_card *cards,
                               char *why) {
    cudaError_t error = make_scratch(link, options, agree_channels(cards, link->ranks));
    if (error == cudaSuccess)
        error = cudaIpcGetMemHandle(&mine->handle, link->peers->memory[link->rank]);
    mine->ready = error == cudaSuccess;
    if (error != cudaSuccess) say_why(why, "memory for other processes", error);
    bf_status status = bf_cuda_link_gather(link, carrier, mine, cards, sizeof *mine);
    if (status != BF_OK) return status;
    if (are_ready(cards, link->ranks)) {
        error = map_scratch(link, cards);
        mine->ready = error == cudaSuccess;
        if (error != cudaSuccess) say_why(why, "memory of another process", error);
    }
    status = bf_cuda_link_gather(link, carrier, mine, cards, sizeof *mine);
    if (status != BF_OK) return status;
    if (are_ready(cards, link->ranks))
        link->way = &over_peers;
    else if (*why == '\0')
        snprintf(why, BF_MESSAGE_TEXT, "another rank's GPU cannot be reached");
    return BF_OK;
}

bf_status bf_cuda_peers_open(bf_link *link, const bf_carrier *carrier,
                             const bf_link_options *options, char *why) {
    rank_card mine, cards[BF_LINK_RANKS] = {};
    fill_card(link, &mine);
    mine.ready = mine.ready && link->report != NULL && begin_peers(link);
    *why = '\0';
    bf_status status = bf_cuda_link_gather(link, carrier, &mine, cards, sizeof mine);
    if (status != BF_OK) return status;
    link->shares_gpu = share_gpus(cards, link->ranks);
    const char *refused = refuse_ranks(cards, link->ranks, options->shared);
    if (!are_ready(cards, link->ranks)) refused = "a rank's GPU cannot be used";
    if (refused != NULL)
        snprintf(why, BF_MESSAGE_TEXT, "%s", refused);
    else
        status = connect_ranks(link, carrier, options, &mine, cards, why);
    if (link->way == NULL) close_peers(link);
    return status;
}

/* --- of one process --- */

/* Lets the current device reach the memory of another. */
static cudaError_t reach_device(int device, int other) {
    int can = 0;
    if (device == other) return cudaSuccess;
    cudaError_t error = cudaDeviceCanAccessPeer(&can, device, other);
    if (error == cudaSuccess && !can) error = cudaErrorPeerAccessUnsupported;
    if (error == cudaSuccess) error = cudaDeviceEnablePeerAccess(other, 0);
    if (error != cudaErrorPeerAccessAlreadyEnabled) return error;
    cudaGetLastError();
    return cudaSuccess;
}

static cudaError_t open_local(bf_link *const links[], int n, int rank,
                              const bf_link_options *options, int channels) {
    bf_link *link = links[rank];
    int previous = bf_cuda_use_device(link->context->cuda);
    cudaError_t error = begin_peers(link) ? cudaSuccess : cudaErrorMemoryAllocation;
    for (int r = 0; r < n && error == cudaSuccess; r++)
        error = reach_device(link->context->cuda->device, links[r]->context->cuda->device);
    if (error == cudaSuccess) error = make_scratch(link, options, channels);
    bf_cuda_leave(previous);
    return error;
}

void bf_cuda_peers_open_local(bf_link *const links[], int n, const bf_link_options *options,
                              char *why) {
    rank_card cards[BF_LINK_RANKS] = {};
    cudaError_t error = cudaSuccess;
    for (int r = 0; r < n; r++) fill_card(links[r], &cards[r]);
    for (int r = 0; r < n; r++) links[r]->shares_gpu = share_gpus(cards, n);
    const char *refused = refuse_ranks(cards, n, options->shared);
    *why = '\0';
    if (refused != NULL) snprintf(why, BF_MESSAGE_TEXT, "%s", refused);
    int channels = agree_channels(cards, n);
    for (int r = 0; r < n && *why == '\0'; r++) {
        error = open_local(links, n, r, options, channels);
        if (error != cudaSuccess) say_why(why, "GPUs that reach each other", error);
    }
    for (int r = 0; r < n; r++) {
        if (*why != '\0') {
            int previous = bf_cuda_use_device(links[r]->context->cuda);
            close_peers(links[r]);
            bf_cuda_leave(previous);
            continue;
        }
        for (int k = 0; k < n; k++) links[r]->peers->memory[k] = links[k]->peers->memory[k];
        links[r]->way = &over_peers;
    }
}
