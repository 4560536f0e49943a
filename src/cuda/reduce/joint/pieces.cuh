/* Sums of pairs of doubles in pieces, for a thread: x, y, x^2, xy, y^2.
 *
 * An element is a whole number of units in three pieces, which are small:
 *
 *     x = (p[0] + p[1] 2^-STEP + p[2] 2^-(2 STEP)) 2^bottom, where |p[i]| <= 2^(STEP - 1)
 *
 * Adding 1.5 * 2^52 units rounds it to a piece, whose bits are then the last of the sum's. The sums
 * of pieces and of their products are integers, so that nothing needs watching but the elements:
 * none is beyond the first piece, none leaves bits below the last. Level l of a sum is in units of
 * 2^(bottom - l STEP). */
#ifndef BF_CUDA_REDUCE_JOINT_PIECES_CUH
#define BF_CUDA_REDUCE_JOINT_PIECES_CUH

#include "cuda/reduce/sum_window.cuh"
#include "cuda/runtime/ptx.cuh"

namespace bf_cuda_joint {

/* Where an extent fits `span` bits, of which the last is no less than 2^least: the exponent of that
 * bit, with a bit or some to spare above, and at least `below` more bits. Returns whether it does.
 */
static __device__ bool place_bits(bf_extent e, int span, int below, int least, int *last) {
    if (e.top < e.least) e.top = e.least = max(least, 0);
    const int spare = span - 1 - (e.top - max(e.least - below, least));
    *last = max(e.top + 1 + min(max(spare, 0) / 4, 3) - span, least);
    return spare >= 0 && e.top <= *last + span;
}

/* The sums of x y take three products of two pieces each; the middle one is (p + q) (r + s) less
 * the others (Karatsuba). So three pieces take six products instead of nine. */
struct pairs_in_pieces {
    typedef double Number;
    enum { PIECES = 3, STEP = 27, PRODUCTS = 2 * PIECES - 1, SPAN = PIECES * STEP - 1 };
    enum { ABOVE = 0 }; /* bits of the first level of products above those of both elements */
    static constexpr bool pairs = true, checks_far = false;
    static constexpr int levels = 2 * PIECES + 3 * PRODUCTS;
    /* Elements between folds, and folds until their sums are left: the third level of squares gets
     * three products of each element. */
    static constexpr int ROWS_MOST = 1 << 9, FOLDS = 1;

    /* What did not fit since the chunk began: the greatest sizes, bits below the last piece. */
    struct Misfit {
        unsigned most_a, most_b, left_high, left_low;
    };
    /* How the elements of an array are cut. */
    struct cutter {
        double start[PIECES];
        unsigned limit;

        __device__ __forceinline__ void open(int bottom) {
#pragma unroll
            for (int i = 0; i < PIECES; i++)
                start[i] = __longlong_as_double(bf_window_start(bottom - i * STEP));
            limit = (unsigned)(bottom + STEP - 1 + 1023) << 20;
        }
        __device__ __forceinline__ void cut(double x, int (&piece)[PIECES], Misfit &misfit) const {
            double rounded = 0;
#pragma unroll
            for (int i = 0; i < PIECES; i++) {
                x = x - rounded;
                const double sum = x + start[i];
                rounded = sum - start[i];
                piece[i] = __double2loint(sum);
            }
            misfit.left_high |= bf_cuda_high(x) ^ bf_cuda_high(rounded);
            misfit.left_low |= (unsigned)__double2loint(x) ^ (unsigned)__double2loint(rounded);
        }
    };

    cutter of_a, of_b;
    int64_t x[PIECES], y[PIECES], xx[PRODUCTS], yy[PRODUCTS];
    int64_t same[PIECES], mixed[PRODUCTS]; /* mixed: of pieces i < j, at i + j */

    __device__ __forceinline__ void open(const int *bottom) {
        of_a.open(bottom[0]);
        of_b.open(bottom[1]);
        reset();
    }
    /* Where the sums of both elements are. Returns whether they fit, with `below` bits more. */
    static __device__ bool place(bf_extent a, bf_extent b, int below, int least, int *at) {
        bool fits = true;
        for (int i = 0; i < 2; i++) {
            fits &= place_bits(i == 0 ? a : b, SPAN, below, least, &at[i]);
            at[i] = min(at[i] + (PIECES - 1) * STEP, (int)BF_WINDOW_TOP);
            fits &= (i == 0 ? a : b).top < at[i] + STEP;
        }
        return fits;
    }
    __device__ __forceinline__ void reset() {
#pragma unroll
        for (int i = 0; i < PIECES; i++) x[i] = y[i] = same[i] = 0;
#pragma unroll
        for (int i = 0; i < PRODUCTS; i++) xx[i] = yy[i] = mixed[i] = 0;
    }
    /* Sums that overflow meanwhile do not matter. The odd levels of squares have half. */
    template <int Threads> __device__ __forceinline__ void fold(int64_t (*sums)[Threads]) {
        int64_t xy[PRODUCTS];
#pragma unroll
        for (int i = 0; i < PRODUCTS; i++) xy[i] = mixed[i] + (i % 2 == 0 ? same[i / 2] : 0);
#pragma unroll
        for (int i = 0; i < PIECES; i++)
#pragma unroll
            for (int j = i + 1; j < PIECES; j++) xy[i + j] -= same[i] + same[j];
#pragma unroll
        for (int i = 0; i < PIECES; i++) {
            sums[i][threadIdx.x] += x[i];
            sums[PIECES + i][threadIdx.x] += y[i];
        }
#pragma unroll
        for (int i = 0; i < PRODUCTS; i++) {
            sums[2 * PIECES + i][threadIdx.x] += xx[i] << i % 2;
            sums[2 * PIECES + PRODUCTS + i][threadIdx.x] += xy[i];
            sums[2 * PIECES + 2 * PRODUCTS + i][threadIdx.x] += yy[i] << i % 2;
        }
        reset();
    }
    static __device__ __forceinline__ void square(const int (&p)[PIECES],
                                                  int64_t (&sum)[PRODUCTS]) {
#pragma unroll
        for (int i = 0; i < PIECES; i++)
#pragma unroll
            for (int j = i; j < PIECES; j++)
                bf_cuda_multiply_add(i != j && (i + j) % 2 == 0 ? 2 * p[i] : p[i], p[j],
                                     &sum[i + j]);
    }
    template <int Pairs>
    __device__ __forceinline__ void cut(const double (&a)[Pairs], const double (&b)[Pairs],
                                        int (&p)[Pairs][PIECES], int (&q)[Pairs][PIECES],
                                        Misfit &misfit) const {
#pragma unroll
        for (int k = 0; k < Pairs; k++) {
            misfit.most_a = max(misfit.most_a, bf_cuda_high(a[k]) & 0x7fffffffu);
            misfit.most_b = max(misfit.most_b, bf_cuda_high(b[k]) & 0x7fffffffu);
            of_a.cut(a[k], p[k], misfit);
            of_b.cut(b[k], q[k], misfit);
        }
    }
    /* A -0 leaves a sign. */
    __device__ __forceinline__ bool fits(const Misfit &misfit) const {
        return misfit.most_a < of_a.limit && misfit.most_b < of_b.limit &&
               (misfit.left_high << 1 | misfit.left_low) == 0;
    }
    template <int Pairs>
    __device__ __forceinline__ void add(const int (&p)[Pairs][PIECES],
                                        const int (&q)[Pairs][PIECES]) {
#pragma unroll
        for (int i = 0; i < PIECES; i++) {
            int sum_p = 0, sum_q = 0;
#pragma unroll
            for (int k = 0; k < Pairs; k++) {
                sum_p += p[k][i];
                sum_q += q[k][i];
            }
            x[i] += sum_p;
            y[i] += sum_q;
        }
#pragma unroll
        for (int k = 0; k < Pairs; k++) {
            square(p[k], xx);
            square(q[k], yy);
#pragma unroll
            for (int i = 0; i < PIECES; i++) {
                bf_cuda_multiply_add(p[k][i], q[k][i], &same[i]);
#pragma unroll
                for (int j = i + 1; j < PIECES; j++)
                    bf_cuda_multiply_add(p[k][i] + p[k][j], q[k][i] + q[k][j], &mixed[i + j]);
            }
        }
    }
    /* Takes some pairs. */
    template <bool, int Pairs>
    __device__ __forceinline__ void take(const double (&a)[Pairs], const double (&b)[Pairs],
                                         Misfit &misfit) {
        int p[Pairs][PIECES], q[Pairs][PIECES];
        cut(a, b, p, q, misfit);
        add(p, q);
    }
    /* Takes them if those of all lanes fit. Returns whether they do. */
    template <int Pairs>
    __device__ __forceinline__ bool take_if_all_fit(const double (&a)[Pairs],
                                                    const double (&b)[Pairs]) {
        int p[Pairs][PIECES], q[Pairs][PIECES];
        Misfit misfit = {};
        cut(a, b, p, q, misfit);
        if (!__all_sync(~0u, fits(misfit))) return false;
        add(p, q);
        return true;
    }
};

} // namespace bf_cuda_joint

#endif
