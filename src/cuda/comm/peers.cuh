/* Sums over the memory of peers: what the ranks' kernels share.
 *
 * Every rank has scratch memory that all others write. A call's work is shared out to channels:
 * channel c of a rank talks to channel c of the others alone.
 *
 * A small array goes in packets, each of which carries its own flag (peers_small.cuh): every rank
 * sends its terms to all that want the sums, in one exchange. A larger one goes in steps: each step
 * takes one tile of elements of every rank that adds. A channel then has three blocks:
 *
 * - The sender writes the terms of this rank into slots of the ranks that add them.
 * - The adder adds the terms of all ranks and rounds. Where others want the sums, too, it writes
 *   them into their slots.
 * - The taker copies such sums to this rank's result.
 *
 * So the links between GPUs carry writes only, which are faster than reads, and user memory of any
 * kind will do. A slot is used again BF_PEERS_DEPTH steps later. Flags say how many steps a rank
 * has written and taken; they count up for ever, so that nothing is cleared, and a captured call
 * can run again. Each flag is written by one rank and lies in the memory of the rank that waits for
 * it. */
#ifndef BF_CUDA_COMM_PEERS_CUH
#define BF_CUDA_COMM_PEERS_CUH

#include "cuda/comm/link.cuh"

enum {
    BF_PEERS_CHANNELS = 512, /* at most */
    BF_PEERS_THREADS = 256,
    BF_PEERS_DEPTH = 2,     /* slots of a channel for each other rank: a power of 2 */
    BF_PEERS_PIECES = 4,    /* tiles of a channel, if they are neither too small nor too large */
    BF_PEERS_SMALL_ROWS = 2 /* vectors of a thread */
};

enum bf_peers_role { BF_PEERS_SENDER, BF_PEERS_ADDER, BF_PEERS_TAKER, BF_PEERS_ROLES };

/* Letters and closings alternate between two flags: a rank may be one call ahead of another. */
enum bf_peers_flag {
    BF_PEERS_LETTER,       /* a rank's arguments */
    BF_PEERS_CLOSED = 2,   /* whether some integer did not fit */
    BF_PEERS_SENT = 4,     /* steps whose terms are in the slots */
    BF_PEERS_ADDED,        /* steps whose terms have been taken from there */
    BF_PEERS_RESULTS_SENT, /* steps whose sums are in the slots */
    BF_PEERS_RESULTS_TAKEN,
    BF_PEERS_FLAGS
};

/* A block's calls, and their steps so far. */
struct bf_peers_progress {
    uint64_t calls, steps, result_steps;
};

struct bf_peers_channel {
    uint64_t flags[BF_PEERS_FLAGS][BF_LINK_RANKS];
    bf_peers_progress progress[BF_PEERS_ROLES];
};

/* The beginning of a rank's scratch; then come packets, the slots for terms, and those for sums. */
struct bf_peers_head {
    uint32_t broken; /* a bf_cuda_link_fault */
    alignas(128) bf_peers_channel channels[BF_PEERS_CHANNELS];
};

/* The parameters of a kernel. */
struct bf_peers_params {
    bf_peers_head *memory[BF_LINK_RANKS]; /* each rank's scratch */
    int rank, ranks;
    int used;       /* channels of this call */
    int channels;   /* for which there are slots */
    int slot_bytes; /* a multiple of 16 */
    int64_t slots_at;
    int small_channels; /* there are packets for so many channels */
    int small_vectors;  /* how many vectors of packets each has */
    bool is_small;      /* by packets, and a block has all roles */
    uint64_t limit;     /* ns to wait for a flag */
    bf_cuda_link_report *report;
    uint32_t *overflow; /* part of the report */
    bf_sums job;
    uint32_t tag; /* 16 bits of what ranks must agree on */
};

/* Returns the kernel for a dtype. */
typedef void bf_peers_kernel(bf_peers_params);
bf_peers_kernel *bf_peers_kernel_f16(void);
bf_peers_kernel *bf_peers_kernel_bf16(void);
bf_peers_kernel *bf_peers_kernel_f32(void);
bf_peers_kernel *bf_peers_kernel_f64(void);
bf_peers_kernel *bf_peers_kernel_integer(bf_dtype dtype);

#endif
