/* Escape times of the pixels of a tile, in vectors: a template.
 *
 * Before including this, define
 *   NAME      f32 or f64
 *   T, ID     the element, and an unsigned integer as wide
 *   VECTOR    a vector of T
 *   FMA(a, b, c), MAX(a, b)          of vectors
 *   AT_MOST(v, e)                    a bit for each lane where v <= e; not where it is NaN
 *   PACK(bits, v)                    the lanes whose bits are set, moved together to the front
 *   GROUP     vectors that are stepped side by side, as many as hide the latency of a step
 * It defines julia_NAME.
 *
 * The orbits of all pixels are a list. A pass takes each of them the same few steps without a look,
 * then packs those that have not escaped to the front of the list, so that all lanes go on working.
 * Those that have are taken through the steps of this pass once more, with a test at each, from
 * where they were before it: the step that the rule names is found by the rule. */
#include "cpu/julia/julia.h"
#include "cpu/runtime/vector.h"

#define X(name) JOIN(name, NAME)
#define LANES_OF ((int)(sizeof(VECTOR) / sizeof(T)))
#define ORBITS X(orbits_)
#define IDS X(julia_ids_)
#define MEMORY X(julia_memory_)
typedef ID IDS __attribute__((vector_size(sizeof(VECTOR)), may_alias));
typedef VECTOR MEMORY __attribute__((aligned(sizeof(T)), may_alias));

/* Orbits: z, c (of the Mandelbrot set alone) and the pixel's place in the tile. */
typedef struct ORBITS {
    T *re, *im, *c_re, *c_im;
    ID *pixel;
} ORBITS;

INLINE VECTOR X(load_lanes_)(const void *p) { return *(const MEMORY *)p; }
INLINE void X(store_lanes_)(void *p, VECTOR v) { *(MEMORY *)p = v; }
INLINE VECTOR X(all_lanes_)(T x) { return x - (VECTOR){0}; }

/* The rule's step, with p + p + c in one operation (rules/julia/escape.h). */
INLINE void X(step_)(VECTOR *re, VECTOR *im, VECTOR c_re, VECTOR c_im) {
    VECTOR p = *im * *re;
    *re = (*re * *re - *im * *im) + c_re;
    *im = FMA(X(all_lanes_)(2), p, c_im);
}

INLINE VECTOR X(magnitude_)(VECTOR re, VECTOR im) { return re * re + im * im; }

/* Appends the lanes of orbits [i, i + LANES_OF) that `bits` says; returns how many. */
INLINE int X(append_)(const ORBITS *to, int n, unsigned bits, const VECTOR lanes[5],
                      bool mandelbrot) {
    X(store_lanes_)(to->re + n, PACK(bits, lanes[0]));
    X(store_lanes_)(to->im + n, PACK(bits, lanes[1]));
    X(store_lanes_)(to->pixel + n, PACK(bits, lanes[4]));
    if (mandelbrot) {
        X(store_lanes_)(to->c_re + n, PACK(bits, lanes[2]));
        X(store_lanes_)(to->c_im + n, PACK(bits, lanes[3]));
    }
    return __builtin_popcount(bits);
}

/* Takes the n orbits through `steps` steps; those that may have escaped then move, as they were
 * before, to `ended`, the others to the front. Returns how many those are. */
INLINE int X(pass_)(const bf_julia_tile *tile, const ORBITS *live, const ORBITS *ended, int n,
                    int steps, bool mandelbrot, bool sticky) {
    const VECTOR escape = X(all_lanes_)((T)tile->escape);
    int kept = 0, gone = 0;
    for (int i = 0; i < n; i += GROUP * LANES_OF) {
        VECTOR old[GROUP][5], re[GROUP], im[GROUP], most[GROUP];
        UNROLL
        for (int g = 0; g < GROUP; g++) {
            const int at = i + g * LANES_OF;
            re[g] = old[g][0] = X(load_lanes_)(live->re + at);
            im[g] = old[g][1] = X(load_lanes_)(live->im + at);
            old[g][2] = mandelbrot ? X(load_lanes_)(live->c_re + at) : X(all_lanes_)((T)tile->c_re);
            old[g][3] = mandelbrot ? X(load_lanes_)(live->c_im + at) : X(all_lanes_)((T)tile->c_im);
            old[g][4] = X(load_lanes_)(live->pixel + at);
            most[g] = X(all_lanes_)((T)tile->escape);
        }
        for (int s = 0; s < steps; s++) {
            UNROLL
            for (int g = 0; g < GROUP; g++) {
                X(step_)(&re[g], &im[g], old[g][2], old[g][3]);
                if (!sticky) most[g] = MAX(X(magnitude_)(re[g], im[g]), most[g]);
            }
        }
        UNROLL
        for (int g = 0; g < GROUP; g++) {
            const int left = n - i - g * LANES_OF;
            const unsigned valid = left >= LANES_OF ? (1u << LANES_OF) - 1
                                   : left > 0       ? (1u << left) - 1
                                                    : 0;
            if (sticky) most[g] = X(magnitude_)(re[g], im[g]);
            const unsigned stay = AT_MOST(most[g], escape) & valid;
            const VECTOR now[5] = {re[g], im[g], old[g][2], old[g][3], old[g][4]};
            gone += X(append_)(ended, gone, valid & ~stay, old[g], mandelbrot);
            kept += X(append_)(live, kept, stay, now, mandelbrot);
        }
    }
    return kept;
}

/* The counts of orbits that ended within the `steps` steps after the first `done`. */
INLINE void X(replay_)(const bf_julia_tile *tile, const ORBITS *ended, int n, int done, int steps,
                       bool mandelbrot, bool sticky) {
    const VECTOR escape = X(all_lanes_)((T)tile->escape);
    for (int i = 0; i < n; i += GROUP * LANES_OF) {
        VECTOR re[GROUP], im[GROUP], c_re[GROUP], c_im[GROUP];
        IDS inside[GROUP], count[GROUP];
        UNROLL
        for (int g = 0; g < GROUP; g++) {
            const int at = i + g * LANES_OF;
            re[g] = X(load_lanes_)(ended->re + at);
            im[g] = X(load_lanes_)(ended->im + at);
            c_re[g] = mandelbrot ? X(load_lanes_)(ended->c_re + at) : X(all_lanes_)((T)tile->c_re);
            c_im[g] = mandelbrot ? X(load_lanes_)(ended->c_im + at) : X(all_lanes_)((T)tile->c_im);
            inside[g] = (IDS){0} - 1;
            count[g] = (IDS){0} + (ID)done;
        }
        for (int s = 0; s < steps; s++) {
            UNROLL
            for (int g = 0; g < GROUP; g++) {
                X(step_)(&re[g], &im[g], c_re[g], c_im[g]);
                IDS now = (IDS)(X(magnitude_)(re[g], im[g]) <= escape);
                if (!sticky) now &= inside[g];
                inside[g] = now;
                count[g] -= now;
            }
        }
        const int lanes = n - i < GROUP * LANES_OF ? n - i : GROUP * LANES_OF;
        ID counts[GROUP * LANES_OF];
        memcpy(counts, count, sizeof counts);
        for (int k = 0; k < lanes; k++) tile->counts[ended->pixel[i + k]] = (uint16_t)counts[k];
    }
}

/* A row's pixels as orbits that have taken no step; what is written behind them is not theirs. */
INLINE void X(start_row_)(const bf_julia_tile *tile, const ORBITS *live, int y) {
    const VECTOR im = X(all_lanes_)(((const T *)tile->im)[y]);
    const T *from = tile->re;
    const int columns = tile->columns, first = y * columns;
    T *re = (tile->mandelbrot ? live->c_re : live->re) + first;
    T *other = (tile->mandelbrot ? live->c_im : live->im) + first;
    ID *pixels = live->pixel + first;
    IDS pixel;
    for (int k = 0; k < LANES_OF; k++) pixel[k] = (ID)(first + k);
    for (int x = 0; x < columns; x += LANES_OF, pixel += LANES_OF) {
        X(store_lanes_)(re + x, X(load_lanes_)(from + x));
        X(store_lanes_)(other + x, im);
        X(store_lanes_)(pixels + x, (VECTOR)pixel);
    }
}

INLINE void X(start_)(const bf_julia_tile *tile, const ORBITS *live) {
    const size_t pixels = (size_t)(tile->columns * tile->rows);
    for (int y = 0; y < tile->rows; y++) X(start_row_)(tile, live, y);
    if (tile->mandelbrot) {
        memset(live->re, 0, pixels * sizeof(T));
        memset(live->im, 0, pixels * sizeof(T));
    }
    for (size_t i = 0; i < pixels; i++) tile->counts[i] = (uint16_t)tile->iterations;
}

/* Half of the orbits of a usual picture end after a few steps, some go on for long. */
INLINE int X(steps_after_)(int done) { return done < 8 ? 4 : done < 24 ? 8 : done < 64 ? 16 : 32; }

INLINE void X(passes_)(const bf_julia_tile *tile, const ORBITS lists[2], bool mandelbrot,
                       bool sticky) {
    int n = tile->columns * tile->rows;
    for (int done = 0, steps; done < tile->iterations && n > 0; done += steps) {
        const int left = tile->iterations - done;
        steps = X(steps_after_)(done) < left ? X(steps_after_)(done) : left;
        const int kept = X(pass_)(tile, &lists[0], &lists[1], n, steps, mandelbrot, sticky);
        X(replay_)(tile, &lists[1], n - kept, done, steps, mandelbrot, sticky);
        n = kept;
    }
}

static void X(julia_)(const bf_julia_tile *tile, bf_julia_work *work) {
    ORBITS lists[2];
    for (int k = 0; k < 2; k++) {
        char(*at)[sizeof work->lists[0]] = &work->lists[k * BF_JULIA_LISTS / 2];
        lists[k] =
            (ORBITS){(void *)at[0], (void *)at[1], (void *)at[2], (void *)at[3], (void *)at[4]};
    }
    X(start_)(tile, &lists[0]);
    if (tile->mandelbrot && tile->sticky)
        X(passes_)(tile, lists, true, true);
    else if (tile->mandelbrot)
        X(passes_)(tile, lists, true, false);
    else if (tile->sticky)
        X(passes_)(tile, lists, false, true);
    else
        X(passes_)(tile, lists, false, false);
}

#undef X
#undef LANES_OF
#undef ORBITS
#undef IDS
#undef MEMORY
#undef NAME
#undef T
#undef ID
#undef VECTOR
#undef FMA
#undef MAX
#undef AT_MOST
#undef PACK
#undef GROUP
