/* Exact sums of results of which some element does not fit the windows. A block takes some results
 * at a time, each in a column of limbs in shared memory (sum_limbs.cuh), to which several of its
 * threads add. Then a thread rounds a result by its leading bits. Of long results blocks take
 * pieces, whose limbs are added to the words of a state, and the last one finishes. What takes more
 * than registers one thread of the block finishes after another. */
#include "cuda/axis/exact/rounding.cuh"
#include "cuda/axis/exact/settle.cuh"
#include "cuda/axis/layout.cuh"
#include "cuda/reduce/sum_limbs.cuh"
#include "cuda/runtime/warp.cuh"

#include "rules/reduce/element.h"

namespace {

enum {
    BITS = 8,
    BIN_THREADS = 1 << BITS,
    BIN_ROOM = 36 << 10, /* bytes of limbs that let enough blocks share a multiprocessor */
    BIN_AHEAD = 4,       /* elements that a thread reads before it adds them */
    LEAST = 16,          /* columns that lie next to each other */
    COPY_BITS = 5,       /* a copy for each lane */
    SLOT = BF_SUM_WORDS_MAX + 1
};

struct desk {
    int64_t words[BF_SUM_WORDS_MAX];
    bf_work work;
};

/* Columns of the blocks: their number is a power of 2. If there is one, each lane of a warp has a
 * copy of its limbs, for most elements go to the same few. */
struct columns {
    int bits;
    bool along; /* neighbours of a result lie nearer than results: neighbouring threads take them */

    __host__ __device__ int copy_bits() const { return bits == 0 ? COPY_BITS : 0; }
    __host__ __device__ int all_bits() const { return bits + copy_bits(); }
};

/* Results [first, end), one a column, of which a block takes elements [from, to). */
struct task {
    columns c;
    int64_t first, end, from, to;
    int64_t longest; /* longer results are others' */
    int64_t slot;    /* the number of the first one's words; -1: these are all elements */
    int pieces;
    const int64_t *list; /* not NULL: entries of this list are the results */
};

__device__ bool is_marked(const bf_cuda_axis_params &p, int64_t r) {
    return (*(volatile unsigned *)&p.marks[r / 32] >> (r % 32) & 1) != 0;
}

/* The marks of results [first, first + n), of which 32 lie in a word. */
__device__ unsigned marks_of(const bf_cuda_axis_params &p, int64_t first, int64_t n) {
    n = min(n, p.at.results - first);
    if (n <= 0) return 0;
    const unsigned marks = *(volatile unsigned *)&p.marks[first / 32] >> (first % 32);
    return n < 32 ? marks & ((1u << n) - 1) : marks;
}

/* Is some result of a task marked? */
__device__ bool has_marks(const bf_cuda_axis_params &p, const task &t) {
    const int64_t all = t.first + (1 << t.c.bits), end = all < t.end ? all : t.end;
    for (int64_t r = t.first; r < end; r += 32 - r % 32)
        if (marks_of(p, r, min(end - r, 32 - r % 32)) != 0) return true;
    return false;
}

/* D: BF_NONE, or the dtype. */
template <bf_dtype D> struct adder {
    const bf_cuda_axis_params &p;
    const columns c;
    desk *d;
    unsigned long long *counters; /* a few for each column; limbs come behind them */

    __device__ bf_dtype dtype() const { return D == BF_NONE ? p.dtype : D; }
    __device__ int width() const { return 1 << c.bits; }
    __device__ int lanes() const { return BIN_THREADS >> c.bits; }
    __device__ int column() const {
        return (int)threadIdx.x >> (c.along ? BITS - c.bits : 0) & (width() - 1);
    }
    __device__ int lane() const {
        return (int)threadIdx.x >> (c.along ? 0 : c.bits) & (lanes() - 1);
    }
    __device__ bf_cuda_limb_sums sums_of(int number) const {
        const unsigned at = bf_cuda_shared_address(counters + (BF_SUM_LIMBS << c.bits));
        bf_cuda_limb_sums s;
        s.start(p.kind, dtype(), at + 4u * (unsigned)number, 4u << c.all_bits());
        return s;
    }
    /* The limbs to which a thread adds. */
    __device__ bf_cuda_limb_sums sums_of_thread() const {
        const int copy = (int)threadIdx.x & ((1 << c.copy_bits()) - 1);
        return sums_of(column() + copy);
    }
    /* Adds all copies of the only column to the first, by one warp. The last limb of a sum carries
     * nothing. */
    __device__ void join_copies() const {
        if (c.copy_bits() == 0 || threadIdx.x >= BF_CUDA_WARP) return;
        const bf_cuda_limb_sums first = sums_of(0);
        int64_t carry = 0;
        for (int i = 0; i < first.limbs(); i++) {
            const unsigned at = first.sum.at + (unsigned)i * first.sum.step;
            const unsigned limb = bf_cuda_shared_load(at + 4u * threadIdx.x);
            const int64_t total =
                carry + bf_cuda_warp_total((int64_t)limb - (int64_t)BF_CUDA_LIMB_MIDDLE);
            const int low = (int)(unsigned)total;
            carry = (total - low) >> 32;
            if (threadIdx.x == 0) bf_cuda_shared_store(at, (unsigned)low + BF_CUDA_LIMB_MIDDLE);
        }
        __syncwarp();
    }
    __device__ void clear() const {
        const bf_cuda_limb_sums s = sums_of(0);
        for (int i = (int)threadIdx.x; i < BF_SUM_LIMBS << c.bits; i += BIN_THREADS)
            counters[i] = 0;
        for (int i = (int)threadIdx.x; i < s.limbs() << c.all_bits(); i += BIN_THREADS)
            bf_cuda_shared_store(s.sum.at + 4u * (unsigned)i, BF_CUDA_LIMB_MIDDLE);
    }
    __device__ uint64_t load(const void *from, int64_t at) const {
        if (D == BF_F64) return ((const uint64_t *)from)[at];
        if (D == BF_F32) return ((const uint32_t *)from)[at];
        return bf_load_bits((const char *)from + at * p.element, p.element);
    }
    __device__ void count(int word, unsigned n) const {
        if (n > 0) atomicAdd(&counters[(word << c.bits) + column()], (unsigned long long)n);
    }
    /* Adds elements [from, to) of the thread's column. */
    __device__ void add(const bf_cuda_axis_line &line, int64_t from, int64_t to) const {
        bf_cuda_limb_sums s = sums_of_thread();
        const bool plain = p.at.offsets != nullptr || p.at.reduced == 1;
        const auto place = [&](int operand, int64_t j) {
            return plain ? j * bf_cuda_axis_step(p.at, operand)
                         : bf_cuda_axis_element(p.at, operand, j);
        };
        for (int64_t j = from + lane(); j < to; j += BIN_AHEAD * lanes()) {
            uint64_t x[BIN_AHEAD], y[BIN_AHEAD];
#pragma unroll
            for (int k = 0; k < BIN_AHEAD; k++) {
                const int64_t i = j + k * lanes();
                if (i >= to) break;
                x[k] = load(p.a, line.a + place(0, i));
                y[k] = p.b == nullptr ? x[k] : load(p.b, line.b + place(1, i));
            }
#pragma unroll
            for (int k = 0; k < BIN_AHEAD; k++)
                if (j + k * lanes() < to) s.take(p.kind, dtype(), x[k], y[k]);
        }
        count(BF_SUM_NAN, s.nans);
        count(BF_SUM_POS_INF, s.pos_infs);
        count(BF_SUM_NEG_INF, s.neg_infs);
        count(BF_SUM_INVALID, s.invalid);
        count(BF_SUM_NEG_ZERO, s.neg_zeros);
    }
    __device__ void write(int64_t r, uint64_t bits, bool fits, bool has_nan) const {
        if (p.nan == BF_NAN_ERROR && has_nan) bf_cuda_axis_fail(p, r, BF_CUDA_AXIS_NAN);
        bf_cuda_axis_store_fit(p, r, bits, fits);
        atomicAnd(&p.marks[r / 32], ~(1u << (r % 32)));
    }
    __device__ void get_counts(int64_t length, const int64_t *all, int64_t *counts) const {
#pragma unroll
        for (int i = 0; i < BF_SUM_LIMBS; i++)
            counts[i] = all != nullptr      ? all[i]
                        : i == BF_SUM_COUNT ? length
                                            : (int64_t)counters[(i << c.bits) + (int)threadIdx.x];
    }
    /* Writes the result of the thread's column, or of words, if registers are enough. */
    __device__ bool round(int64_t r, int64_t length, const int64_t *all) const {
        const bf_cuda_limb_sums s = sums_of((int)threadIdx.x);
        int64_t counts[BF_SUM_LIMBS];
        uint64_t bits;
        get_counts(length, all, counts);
        const auto leading = [&](bool products, bool *negative) {
            const bf_layout layout = products ? s.shape.products : s.shape.sum;
            if (all == nullptr) return s.leading(products, negative);
            return bf_leading_from_band(all + (products ? s.shape.products_at : s.shape.sum_at),
                                        layout.limbs, layout.exponent, negative);
        };
        const bf_cuda_axis_asked asked = {p.kind, p.op, p.to, p.nan, p.ddof};
        if (!bf_dtype_is_float(p.to) || !bf_cuda_axis_round_sums(asked, counts, leading, &bits))
            return false;
        write(r, bits, true, counts[BF_SUM_NAN] > 0);
        return true;
    }
    /* Calls visit(word of the state, what it gains) for the thread's column. */
    template <class Visit> __device__ void each_word(int64_t length, const Visit &visit) const {
        int64_t counts[BF_SUM_LIMBS];
        get_counts(length, nullptr, counts);
        for (int i = 0; i < BF_SUM_LIMBS; i++) visit(i, counts[i]);
        sums_of((int)threadIdx.x).each_limb(visit);
    }
    /* Adds a column to the result's words. Returns whether it is the last of all pieces. */
    __device__ bool merge(int64_t *all, int64_t length, int pieces) const {
        each_word(length, [&](int word, int64_t x) { bf_cuda_add_word(&all[word], x); });
        __threadfence();
        unsigned long long *ticket = (unsigned long long *)&all[SLOT - 1];
        if (atomicAdd(ticket, 1ull) != (unsigned long long)pieces - 1) return false;
        __threadfence();
        return true;
    }
    /* Makes a result of any words, which one thread can do at a time. */
    __device__ void finish(int64_t r, int64_t length, const int64_t *all) const {
        for (int i = 0; i < BF_SUM_WORDS_MAX; i++) d->words[i] = all != nullptr ? all[i] : 0;
        if (all == nullptr) each_word(length, [&](int word, int64_t x) { d->words[word] = x; });
        bf_reduce_options o;
        memset(&o, 0, sizeof o);
        o.nan = p.nan;
        o.out_dtype = p.out_dtype;
        o.ddof = p.ddof;
        o.overflow = p.overflow;
        uint64_t bits = 0;
        bool fits = true;
        bf_sum_carry(p.kind, p.dtype, d->words);
        const bf_status status =
            bf_element_of_words(p.kind, p.op, p.dtype, d->words, &o, p.to, &bits, &fits, &d->work);
        write(r, bits, fits, status == BF_E_NAN);
    }
    /* Ends the thread's result, after its elements have been added. */
    __device__ void end(bool active, int64_t r, int64_t length, const task &t) const {
        int64_t *all = t.slot >= 0 ? p.words + (t.slot + threadIdx.x) * SLOT : nullptr;
        if (active && all != nullptr) active = merge(all, length, t.pieces);
        bool left = active && !round(r, length, all);
        if (__syncthreads_or(left))
            for (int i = 0; i < width(); i++) {
                if (left && threadIdx.x == i) finish(r, length, all);
                __syncthreads();
            }
        for (int i = 0; active && all != nullptr && i < SLOT; i++) all[i] = 0;
    }
    /* The result of column i if it is marked, or -1. */
    __device__ int64_t marked(const task &t, int i) const {
        if (i >= width() || t.first + i >= t.end) return -1;
        const int64_t r = t.list != nullptr ? t.list[t.first + i] : t.first + i;
        return is_marked(p, r) ? r : -1;
    }
    __device__ bf_cuda_axis_line line_of(const task &t, int64_t r) const {
        bf_cuda_axis_line line = bf_cuda_axis_line_of(p.at, r);
        if (line.length > t.longest) line.length = -1;
        if (line.length > t.to) line.length = t.to;
        return line;
    }
    __device__ void take(const task &t) const {
        const int64_t r = marked(t, column()), mine = marked(t, (int)threadIdx.x);
        clear();
        __syncthreads();
        if (r >= 0) {
            const bf_cuda_axis_line line = line_of(t, r);
            add(line, t.from, line.length);
        }
        const int64_t length = mine >= 0 ? line_of(t, mine).length : -1;
        __syncthreads();
        join_copies();
        end(length >= 0, mine, length - t.from, t);
    }
};

/* Results, or pieces of them, and then the segments on the list. */
struct tasks {
    columns whole, listed;
    int64_t groups, pieces, list_groups;
    bool after_settle; /* settle.cu has noted whether it left some */

    /* The groups of whole results. */
    __device__ int64_t whole_groups() const { return pieces == 1 ? groups : 0; }
    __device__ int64_t count(const bf_cuda_axis_params &p) const {
        return groups * pieces + (p.at.offsets != nullptr ? p.board->units * list_groups : 0);
    }
    __device__ task listed_task(const bf_cuda_axis_params &p, int64_t u) const {
        const bf_cuda_axis_unit unit = p.units[u / list_groups];
        const int64_t column = u % list_groups << listed.bits, r = unit.slot * p.at.width;
        const int64_t slot = unit.giant * p.at.width, all = INT64_MAX;
        if (slot + p.at.width <= p.word_slots)
            return {listed, r + column,    r + p.at.width, unit.first, unit.end,
                    all,    slot + column, unit.pieces,    nullptr};
        return {listed, r + column, unit.piece == 0 ? r + p.at.width : r, 0, all, all, -1,
                1,      nullptr};
    }
    __device__ task operator()(const bf_cuda_axis_params &p, int64_t u) const {
        if (u >= groups * pieces) return listed_task(p, u - groups * pieces);
        int64_t piece;
        const int64_t first = bf_cuda_axis_divide(u, pieces, &piece) << whole.bits;
        const int64_t from = piece * p.word_piece;
        const int64_t longest = p.at.offsets != nullptr ? p.giant : INT64_MAX;
        return {whole,
                first,
                p.at.results,
                from,
                pieces > 1 ? from + p.word_piece : INT64_MAX,
                longest,
                pieces > 1 ? first : -1,
                (int)pieces,
                nullptr};
    }
};

/* The marks that the threads of a block find, each in a task: of whole results, and whether there
 * are some of a piece or of a segment on the list. */
struct finds {
    int64_t first; /* the thread's first result */
    unsigned marks[BIN_THREADS / 32];
    int mine, before, count; /* marks of this thread, of those before it, and of all */

    __device__ finds(const bf_cuda_axis_params &p, const tasks &all, int64_t u) {
        const int width = u < all.whole_groups() ? 1 << all.whole.bits : 0;
        first = u << all.whole.bits;
        mine = 0;
#pragma unroll
        for (int k = 0; k < BIN_THREADS / 32; k++) {
            marks[k] = marks_of(p, first + 32 * k, min(width - 32 * k, 32));
            if (p.at.offsets != nullptr) marks[k] = shorter(p, first + 32 * k, marks[k]);
            mine += __popc(marks[k]);
        }
        before = bf_cuda_block_sum_before<BIN_THREADS / 32>(mine, &count);
    }
    /* Returns the marks of results that are not too long. */
    static __device__ unsigned shorter(const bf_cuda_axis_params &p, int64_t first,
                                       unsigned marks) {
        unsigned some = 0;
        for (unsigned left = marks; left != 0; left &= left - 1) {
            const int64_t r = first + __ffs(left) - 1;
            if (bf_cuda_axis_line_of(p.at, r).length <= p.giant) some |= left & (0 - left);
        }
        return some;
    }
    /* Lists marked results number [from, from + width) of the block. */
    __device__ void list_from(int from, int width, int64_t *list) const {
        int at = before - from;
        if (at >= width || at + mine <= 0) return;
#pragma unroll
        for (int k = 0; k < BIN_THREADS / 32; k++)
            for (unsigned left = marks[k]; left != 0; left &= left - 1, at++)
                if (at >= 0 && at < width) list[at] = first + 32 * k + __ffs(left) - 1;
    }
};

/* Each thread looks for marks in a task. Whole results fill the block's columns together, so that
 * few marks take little time; of the other tasks the block takes those that have some. */
template <bf_dtype D>
__global__ void __launch_bounds__(BIN_THREADS, 3)
    add_marked(const __grid_constant__ bf_cuda_axis_params p, const tasks all) {
    extern __shared__ unsigned long long shared[];
    bf_cuda_wait_for_previous();
    if (p.report != nullptr && blockIdx.x + threadIdx.x == 0) *p.report = (int64_t)p.board->wrong;
    if ((all.after_settle ? p.board->left : p.board->failed) == 0) return;
    __shared__ unsigned some[BIN_THREADS / 32];
    __shared__ int64_t list[BIN_THREADS];
    desk *d = (desk *)shared;
    const int64_t count = all.count(p), step = gridDim.x;
    for (int64_t u = blockIdx.x; u < count; u += BIN_THREADS * step) {
        const int64_t mine = u + threadIdx.x * step;
        const finds whole(p, all, mine);
        const bool has_more = mine >= all.whole_groups() && mine < count;
        const unsigned found = __ballot_sync(~0u, has_more && has_marks(p, all(p, mine)));
        if (threadIdx.x % 32 == 0) some[threadIdx.x / 32] = found;
        const int pieces = __syncthreads_or(found != 0) ? BIN_THREADS : 0;
        const int width = 1 << all.whole.bits, tasks_of_whole = (whole.count + width - 1) / width;
        for (int k = 0; k < tasks_of_whole + pieces; k++) {
            const int i = k - tasks_of_whole;
            if (i >= 0 && (some[i / 32] >> (i % 32) & 1) == 0) continue;
            task t = all(p, i >= 0 ? u + i * step : 0);
            if (i < 0) {
                __syncthreads();
                whole.list_from(k * width, width, list);
                t.list = list;
                t.end = min(width, whole.count - k * width);
                __syncthreads();
            }
            adder<D>{p, t.c, d, (unsigned long long *)(d + 1)}.take(t);
        }
        __syncthreads();
    }
}

/* The shared memory of columns. */
size_t bytes_of(const bf_cuda_axis_params &p, const columns &c) {
    const bf_sum_shape s = bf_sum_shape_of(p.kind, p.dtype);
    const int limbs = bf_cuda_limbs_of(s.sum.limbs) + bf_cuda_limbs_of(s.products.limbs);
    return ((size_t)limbs * 4 << c.all_bits()) + ((size_t)BF_SUM_LIMBS * 8 << c.bits);
}

/* Neighbouring results take a few columns at least. Along a result so many threads read that few
 * columns are rounded at a time. */
columns choose(const bf_cuda *cuda, const bf_cuda_axis_params &p, bool along, int64_t results,
               int64_t length) {
    columns c = {BITS, along};
    while (c.bits > 0 && bytes_of(p, c) > BIN_ROOM) c.bits--;
    while (c.bits > 0 && results <= 1 << (c.bits - 1)) c.bits--;
    for (; c.bits > 0; c.bits--) {
        const int64_t lanes = BIN_THREADS >> c.bits;
        const bool few = results >> c.bits < 2 * cuda->multiprocessors;
        const bool fills = along ? length >= 8 * lanes && (lanes < 8 || length >= 32 * lanes)
                                 : 1 << c.bits > LEAST && (few || length >= 32 * lanes);
        if (!fills) break;
    }
    return c;
}

const void *kernel_of(bf_dtype dtype) {
    if (dtype == BF_F64) return (const void *)add_marked<BF_F64>;
    return dtype == BF_F32 ? (const void *)add_marked<BF_F32> : (const void *)add_marked<BF_NONE>;
}

} // namespace

cudaError_t bf_cuda_axis_launch_words(const bf_cuda *cuda, const bf_cuda_axis_params &p) {
    const bf_cuda_axis_layout &at = p.at;
    const bool rows = at.offsets != nullptr, along = bf_cuda_axis_is_along(at);
    tasks all = {choose(cuda, p, along, at.results, bf_cuda_axis_mean(at)),
                 choose(cuda, p, along, at.width, INT64_MAX)};
    all.groups = ((at.results - 1) >> all.whole.bits) + 1;
    all.list_groups = ((at.width - 1) >> all.listed.bits) + 1;
    all.pieces = rows ? 1 : (at.length - 1) / p.word_piece + 1;
    all.after_settle = bf_cuda_axis_has_settled(&p);
    const size_t whole = bytes_of(p, all.whole), listed = bytes_of(p, all.listed);
    const size_t shared = sizeof(desk) + (whole > listed ? whole : listed);
    bf_cuda_shape shape = {1, BIN_THREADS, shared, true, true};
    int resident = 1; /* if it fails, the launch does too */
    (void)bf_cuda_occupancy(cuda, kernel_of(p.dtype), shape, &resident);
    shape.blocks = (int64_t)resident * cuda->multiprocessors;
    if (p.spans > 0) shape.blocks = cuda->multiprocessors; /* few results are left */
    bf_cuda_axis_params q = p;
    void *arguments[] = {&q, &all};
    return bf_cuda_launch(cuda, kernel_of(p.dtype), shape, arguments);
}
