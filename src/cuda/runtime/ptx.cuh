/* Instructions that C++ has no words for. No other file has any. */
#ifndef BF_CUDA_RUNTIME_PTX_CUH
#define BF_CUDA_RUNTIME_PTX_CUH

#include <stdint.h>
#include <string.h>

/* --- registers --- */

/* Shifts of which all counts have a meaning, as unsigned numbers: from 64 on nothing is left. */
static __device__ __forceinline__ uint64_t bf_cuda_shift_left(uint64_t x, int by) {
    uint64_t shifted;
    asm("shl.b64 %0, %1, %2;" : "=l"(shifted) : "l"(x), "r"(by));
    return shifted;
}
static __device__ __forceinline__ uint64_t bf_cuda_shift_right(uint64_t x, int by) {
    uint64_t shifted;
    asm("shr.u64 %0, %1, %2;" : "=l"(shifted) : "l"(x), "r"(by));
    return shifted;
}
/* Adds a number of 128 bits to another. */
static __device__ __forceinline__ void bf_cuda_add_wide(uint64_t *low, int64_t *high,
                                                        uint64_t other_low, int64_t other_high) {
    asm("add.cc.u64 %0, %0, %2;\n\taddc.u64 %1, %1, %3;"
        : "+l"(*low), "+l"(*high)
        : "l"(other_low), "l"(other_high));
}

/* Returns 0xffff for each half whose top bit is set. */
static __device__ __forceinline__ uint32_t bf_cuda_half_masks(uint32_t x) {
    uint32_t masks;
    asm("prmt.b32 %0, %1, 0, 0xbb99;" : "=r"(masks) : "r"(x));
    return masks;
}

/* Conversions of f16, whose NaNs differ from those of the rules. */
#ifdef __CUDACC__
static __device__ __forceinline__ float bf_cuda_float_of_f16(uint16_t bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}
static __device__ __forceinline__ uint16_t bf_cuda_f16_of_float(float x) {
    uint16_t bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
#endif

/* Returns x, but the compiler does not know that: it keeps x in a register, and computes nothing
 * from it earlier. */
static __device__ __forceinline__ unsigned bf_cuda_forget(unsigned x) {
    asm volatile("" : "+r"(x));
    return x;
}
static __device__ __forceinline__ float bf_cuda_forget(float x) {
    asm volatile("" : "+f"(x));
    return x;
}
static __device__ __forceinline__ double bf_cuda_forget(double x) {
    asm volatile("" : "+d"(x));
    return x;
}
/* The compiler takes all memory for changed. */
static __device__ __forceinline__ void bf_cuda_forget_memory() { asm volatile("" ::: "memory"); }

/* Adds unit * unit, which is 1, if x is less than y: by the multipliers, where the adders have
 * enough to do. */
static __device__ __forceinline__ void bf_cuda_count_less(uint32_t x, uint32_t y, uint32_t unit,
                                                          uint32_t *count) {
    asm("{\n\t.reg .pred less;\n\t"
        "setp.lt.u32 less, %1, %2;\n\t"
        "@less mad.lo.u32 %0, %3, %3, %0;\n\t}"
        : "+r"(*count)
        : "r"(x), "r"(y), "r"(unit));
}
static __device__ __forceinline__ void bf_cuda_count_less(uint64_t x, uint64_t y, uint32_t unit,
                                                          uint32_t *count) {
    asm("{\n\t.reg .pred less;\n\t"
        "setp.lt.u64 less, %1, %2;\n\t"
        "@less mad.lo.u32 %0, %3, %3, %0;\n\t}"
        : "+r"(*count)
        : "l"(x), "l"(y), "r"(unit));
}

/* Returns the lanes of `same` that agree on two bits of a digit, given as masks. (nvcc makes code
 * of twice the length from C++.) */
static __device__ __forceinline__ uint32_t bf_cuda_same_bits(uint32_t same, uint32_t digit,
                                                             uint32_t first, uint32_t second) {
    asm volatile("{ .reg .pred p, q; .reg .b32 s, t;"
                 "and.b32 s, %1, %2; setp.ne.u32 p, s, 0; vote.sync.ballot.b32 s, p, 0xffffffff;"
                 "and.b32 t, %1, %3; setp.ne.u32 q, t, 0; vote.sync.ballot.b32 t, q, 0xffffffff;"
                 "@!p not.b32 s, s; @!q not.b32 t, t; lop3.b32 %0, %0, s, t, 0x80; }"
                 : "+r"(same)
                 : "r"(digit), "r"(first), "r"(second));
    return same;
}

/* --- shared memory, by its own addresses, which are cheaper to compute than pointers --- */

template <class T> static __device__ __forceinline__ unsigned bf_cuda_shared_address(T *p) {
    return (unsigned)__cvta_generic_to_shared(p);
}

/* Accesses that may move past others: what else is done to this memory is barriers away. */
static __device__ __forceinline__ unsigned bf_cuda_shared_load(unsigned at) {
    unsigned x;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(at));
    return x;
}
static __device__ __forceinline__ unsigned bf_cuda_shared_load_u16(unsigned at) {
    unsigned x;
    asm volatile("ld.shared.u16 %0, [%1];" : "=r"(x) : "r"(at));
    return x;
}
static __device__ __forceinline__ int64_t bf_cuda_shared_load_i64(unsigned at) {
    int64_t x;
    asm volatile("ld.shared.s64 %0, [%1];" : "=l"(x) : "r"(at));
    return x;
}
static __device__ __forceinline__ void bf_cuda_shared_store(unsigned at, unsigned x) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(x));
}
static __device__ __forceinline__ void bf_cuda_shared_store(unsigned at, int64_t x) {
    asm volatile("st.shared.s64 [%0], %1;" ::"r"(at), "l"(x));
}
/* sum += x y, in one instruction: by a carry, for of plain sums the compiler makes others. */
static __device__ __forceinline__ void bf_cuda_multiply_add(int x, int y, int64_t *sum) {
    unsigned low = (unsigned)*sum, high = (unsigned)((uint64_t)*sum >> 32);
    asm("mad.lo.cc.s32 %0, %2, %3, %0; madc.hi.s32 %1, %2, %3, %1;"
        : "+r"(low), "+r"(high)
        : "r"(x), "r"(y));
    *sum = (int64_t)((uint64_t)high << 32 | low);
}

/* Adds at once with other threads. Returns what was there before. */
static __device__ __forceinline__ unsigned bf_cuda_shared_add(unsigned at, unsigned x) {
    unsigned before;
    asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(before) : "r"(at), "r"(x));
    return before;
}

/* Add 1; if `mine`, without a branch. */
static __device__ __forceinline__ void bf_cuda_shared_count(unsigned at) {
    asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(at) : "memory");
}
static __device__ __forceinline__ void bf_cuda_shared_count_if(unsigned at, bool mine) {
    asm volatile("{\n\t.reg .pred q;\n\tsetp.ne.u32 q, %1, 0;\n\t"
                 "@q red.shared.add.u32 [%0], 1;\n\t}" ::"r"(at),
                 "r"((unsigned)mine)
                 : "memory");
}

/* If x is less than y, stores an item at *end, and moves *end by `step` bytes. */
template <int step>
static __device__ __forceinline__ void bf_cuda_shared_put_if_less(unsigned *end, uint32_t item,
                                                                  uint32_t x, uint32_t y) {
    asm volatile("{\n\t.reg .pred keeps;\n\t"
                 "setp.lt.u32 keeps, %2, %3;\n\t"
                 "@keeps st.shared.u32 [%0], %1;\n\t"
                 "@keeps add.u32 %0, %0, %4;\n\t}"
                 : "+r"(*end)
                 : "r"(item), "r"(x), "r"(y), "n"(step)
                 : "memory");
}
template <int step>
static __device__ __forceinline__ void bf_cuda_shared_put_if_less(unsigned *end, uint64_t item,
                                                                  uint32_t x, uint32_t y) {
    asm volatile("{\n\t.reg .pred keeps;\n\t"
                 "setp.lt.u32 keeps, %2, %3;\n\t"
                 "@keeps st.shared.u64 [%0], %1;\n\t"
                 "@keeps add.u32 %0, %0, %4;\n\t}"
                 : "+r"(*end)
                 : "l"(item), "r"(x), "r"(y), "n"(step)
                 : "memory");
}

/* --- memory --- */

/* Loads a vector that is read once, past the multiprocessor's own cache. */
static __device__ __forceinline__ uint4 bf_cuda_stream(const void *at) {
#ifdef __CUDA_ARCH__
    uint4 v;
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(at));
    return v;
#else
    return *(const uint4 *)at;
#endif
}

/* Fetches a line into the L2 cache, where other blocks' later writes to it are seen. */
static __device__ __forceinline__ void bf_cuda_prefetch(const void *p) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
}
/* Fetches the lines of so many bytes, by the threads of a block. */
static __device__ __forceinline__ void bf_cuda_prefetch_lines(const void *from, unsigned bytes,
                                                              unsigned threads) {
    const unsigned LINE = 128;
    for (unsigned at = threadIdx.x * LINE; at < bytes; at += threads * LINE)
        bf_cuda_prefetch((const char *)from + at);
}
/* Fetches the vectors of 16 bytes that lie within so many bytes, by one thread, from compute
 * capability 9.0 on. */
static __device__ __forceinline__ void bf_cuda_prefetch_bulk(const void *from, int64_t bytes) {
#if __CUDA_ARCH__ >= 900
    const uintptr_t first = ((uintptr_t)from + 15) & ~(uintptr_t)15;
    const int64_t left = ((int64_t)((uintptr_t)from - first) + bytes) & -16;
    if (left <= 0) return;
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(first), "r"((int)left));
#else
    (void)from;
    (void)bytes;
#endif
}

/* 16 bytes, written and read at once. */
struct bf_cuda_packet {
    uint64_t x, y;
};

/* Packets among the blocks of a GPU. */
static __device__ __forceinline__ void bf_cuda_store_packet(bf_cuda_packet *at, uint64_t x,
                                                            uint64_t y) {
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(x), "l"(y)
                 : "memory");
}
static __device__ __forceinline__ bf_cuda_packet bf_cuda_load_packet(const bf_cuda_packet *at) {
    bf_cuda_packet p;
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(p.x), "=l"(p.y)
                 : "l"(at)
                 : "memory");
    return p;
}

/* Packets among GPUs. */
static __device__ __forceinline__ void bf_cuda_send_packet(bf_cuda_packet *at, uint64_t x,
                                                           uint64_t y) {
    asm volatile("{\n.reg .b128 packet;\nmov.b128 packet, {%1, %2};\n"
                 "st.relaxed.sys.global.b128 [%0], packet;\n}" ::"l"(at),
                 "l"(x), "l"(y)
                 : "memory");
}
static __device__ __forceinline__ bf_cuda_packet bf_cuda_receive_packet(const bf_cuda_packet *at) {
    bf_cuda_packet p;
    asm volatile("{\n.reg .b128 packet;\nld.relaxed.sys.global.b128 packet, [%2];\n"
                 "mov.b128 {%0, %1}, packet;\n}"
                 : "=l"(p.x), "=l"(p.y)
                 : "l"(at)
                 : "memory");
    return p;
}

/* Flags among GPUs: what another GPU wrote before a flag is seen after it. */
static __device__ __forceinline__ void bf_cuda_send_flag(uint64_t *at, uint64_t value) {
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}
static __device__ __forceinline__ uint64_t bf_cuda_receive_flag(const uint64_t *at) {
    uint64_t value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}

/* --- copies to shared memory that go on while threads do something else (from 8.0 on) --- */

/* Begins to copy 4, 8 or 16 bytes, from and to multiples of them. */
template <int bytes = 16>
static __device__ __forceinline__ void bf_cuda_begin_copy(void *to, const void *from) {
#if __CUDA_ARCH__ >= 800
    const unsigned at = bf_cuda_shared_address(to);
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(bytes)
                     : "memory");
#else
    memcpy(__builtin_assume_aligned(to, bytes), __builtin_assume_aligned(from, bytes), bytes);
#endif
}

/* Begins to copy 16 bytes that are read once: the cache need not keep them. */
static __device__ __forceinline__ void bf_cuda_begin_stream(void *to, const void *from) {
#if __CUDA_ARCH__ >= 800
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(
                     bf_cuda_shared_address(to)),
                 "l"(from), "l"(policy)
                 : "memory");
#else
    *(uint4 *)to = bf_cuda_stream(from);
#endif
}

/* Begins to copy the first bytes of a vector. */
static __device__ __forceinline__ void bf_cuda_begin_some(void *to, const void *from, int bytes) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(bf_cuda_shared_address(to)),
                 "l"(from), "r"(bytes)
                 : "memory");
#else
    for (int i = 0; i < bytes; i++) ((char *)to)[i] = ((const char *)from)[i];
#endif
}

/* The copies that this thread has begun since the last call are a group. */
static __device__ __forceinline__ void bf_cuda_end_group() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* No more than n groups of this thread are under way. */
template <int n> static __device__ __forceinline__ void bf_cuda_wait_for_groups() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
#endif
}

/* The copies of this thread have ended. */
static __device__ __forceinline__ void bf_cuda_end_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* --- a launch that overlaps the end of the one before (from 9.0 on), and time --- */

/* Waits for the end of the launch before this one. */
static __device__ __forceinline__ void bf_cuda_wait_for_end() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/* Lets the launch after this one begin, as soon as all blocks have called it. */
static __device__ __forceinline__ void bf_cuda_let_next_begin() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Returns the GPU's time in nanoseconds. */
static __device__ __forceinline__ uint64_t bf_cuda_now() {
    uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

#endif
