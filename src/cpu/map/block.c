/* One block of an element-wise job: inputs cast to one dtype, the loop, the result cast to the
 * output's; each step only where it is needed. */
#include "cpu/map/map.h"

#include "rules/map/map.h"

enum { DIRECT_BLOCK = 1 << 15 }; /* elements at a time, where there is one step */

static bool is_checked(const bf_map_job *job) {
    return job->overflow != BF_OVERFLOW_WRAP && !bf_dtype_is_float(job->work) &&
           !bf_map_is_comparison(job->op);
}

/* Chooses the loop and its dtype. Half floats are computed in f32: for one operation of numbers of
 * 11 bits or fewer, rounding to 24 bits first does not change the result (Figueroa). A fused
 * multiply-add is not one of those. */
static void choose_loop(bf_map_worker *w) {
    const bf_map_job *job = w->job;
    w->compute = job->work;
    if (job->op == BF_MAP_CAST) return;
    bool fused = bf_dtype_is_half(job->work) && job->op == BF_MAP_FMA;
    bf_dtype compute = fused ? BF_F64 : bf_dtype_is_half(job->work) ? BF_F32 : job->work;
    w->loop = fused ? w->isa->map->fma_half : w->isa->map->op[job->op][compute];
    if (w->loop != NULL) w->compute = compute;
}

/* A single element fills its buffer once, for all blocks. */
static void prepare_single(bf_map_worker *w, int k) {
    const bf_map_job *job = w->job;
    int bytes = bf_dtype_bytes(w->compute);
    char *to = (char *)w->in[k];
    bf_cast_block(w->isa, job->from[k], w->compute, job->in[k], to, 1);
    for (size_t at = (size_t)bytes; at < sizeof w->in[k]; at += (size_t)bytes)
        memcpy(to + at, to, (size_t)bytes);
}

void bf_map_prepare(bf_map_worker *w, const bf_map_job *job, const bf_isa *isa, bool stream) {
    w->job = job;
    w->isa = isa;
    w->loop = NULL;
    choose_loop(w);
    w->result = bf_map_is_comparison(job->op) ? BF_BOOL : w->compute;
    w->aside = w->result != job->to || is_checked(job) || job->op == BF_MAP_CAST;
    w->stream = stream && isa->map->stream != NULL && w->aside;
    if (stream && w->loop != NULL && !w->aside && isa->map->streamed[job->op][w->compute] != NULL)
        w->loop = isa->map->streamed[job->op][w->compute];
    for (int k = 0; k < job->arity && job->op != BF_MAP_CAST; k++)
        if (job->single[k]) prepare_single(w, k);
}

/* A bool may be any byte but must be 0 or 1 for the loops. */
static bool is_direct(const bf_map_worker *w, int k) {
    return w->job->from[k] == w->compute && w->compute != BF_BOOL;
}

int64_t bf_map_room(const bf_map_worker *w) {
    bool cast = w->job->op == BF_MAP_CAST || w->result != w->job->to, buffered = w->aside;
    for (int k = 0; k < w->job->arity; k++) {
        cast |= !w->job->single[k] && !is_direct(w, k);
        buffered |= w->job->single[k];
    }
    if (cast) return BF_CAST_BLOCK;
    return buffered ? (int64_t)sizeof w->out / bf_dtype_bytes(w->compute) : DIRECT_BLOCK;
}

static const void *input_of(bf_map_worker *w, int k, int64_t first, int64_t n) {
    const bf_map_job *job = w->job;
    if (k >= job->arity || job->single[k]) return w->in[k];
    const char *at = (const char *)job->in[k] + first * bf_dtype_bytes(job->from[k]);
    if (is_direct(w, k)) return at;
    bf_cast_block(w->isa, job->from[k], w->compute, at, w->in[k], n);
    return w->in[k];
}

/* Returns the index of the first divisor that is 0, or -1. */
static int64_t find_zero(const double *divisor, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = bf_load_bits(divisor + i, 8);
        if (bits << 1 == 0) return i;
    }
    return -1;
}

/* Returns the index of the first result that does not fit, or -1. */
static int64_t compute_by_rules(const bf_map_worker *w, const void *const in[3], void *out,
                                int64_t n) {
    const bf_map_job *job = w->job;
    int bytes = bf_dtype_bytes(w->compute), result_bytes = bf_dtype_bytes(w->result);
    int64_t place = -1;
    for (int64_t i = 0; i < n; i++) {
        uint64_t x[3] = {0, 0, 0};
        bool misfit = false;
        for (int k = 0; k < job->arity; k++)
            x[k] = bf_load_bits((const char *)in[k] + i * bytes, bytes);
        uint64_t r = bf_map_element(job->op, w->compute, x[0], x[1], x[2],
                                    job->overflow == BF_OVERFLOW_SATURATE, &misfit);
        bf_store_bits((char *)out + i * result_bytes, result_bytes, r);
        if (misfit && place < 0) place = i;
    }
    return place;
}

/* Computes the block's results. A loop only reports that one does not fit; the rules then find and
 * mend it. Returns the index of the first error, or -1. */
static int64_t compute_block(bf_map_worker *w, const void *const in[3], void *out, int64_t n) {
    const bf_map_job *job = w->job;
    int64_t place = job->refuse_zero ? find_zero(in[1], n) : -1;
    if (place >= 0) return place;
    if (w->loop == NULL || (w->loop(in[0], in[1], in[2], out, (size_t)n) && is_checked(job)))
        place = compute_by_rules(w, in, out, n);
    return job->overflow == BF_OVERFLOW_ERROR ? place : -1;
}

/* Copies results past the caches, and fetches the next block's inputs meanwhile. */
static void stream_block(const bf_map_worker *w, char *to, const void *from, int64_t first,
                         int64_t n) {
    const bf_map_job *job = w->job;
    const char *ahead[3];
    for (int k = 0; k < 3; k++) {
        int input = k < job->arity && !job->single[k] ? k : 0;
        ahead[k] = (const char *)job->in[input];
        if (!job->single[input]) ahead[k] += (first + n) * bf_dtype_bytes(job->from[input]);
    }
    w->isa->map->stream(to, from, (size_t)(n * bf_dtype_bytes(job->to)), ahead);
}

/* Copies results from beside the output to the output. */
static void deliver_block(bf_map_worker *w, int64_t first, int64_t n) {
    bf_dtype dtype = w->job->to;
    char *to = (char *)w->job->out + first * bf_dtype_bytes(dtype);
    const void *from = w->out;
    if (w->result != dtype) {
        void *target = w->stream ? (void *)w->cast : to;
        bf_cast_block(w->isa, w->result, dtype, w->out, target, n);
        if (!w->stream) return;
        from = w->cast;
    }
    if (w->stream)
        stream_block(w, to, from, first, n);
    else
        memcpy(to, from, (size_t)(n * bf_dtype_bytes(dtype)));
}

/* Casts by the rules a block in which an element did not fit: saturates it, or returns its index.
 */
static int64_t cast_by_rules(const bf_map_job *job, const char *in, char *out, int64_t n) {
    int in_bytes = bf_dtype_bytes(job->from[0]), out_bytes = bf_dtype_bytes(job->to);
    for (int64_t i = 0; i < n; i++) {
        bool misfit = false;
        uint64_t bits = bf_cast(job->from[0], job->to, bf_load_bits(in + i * in_bytes, in_bytes),
                                true, &misfit);
        if (misfit && job->overflow == BF_OVERFLOW_ERROR) return i;
        bf_store_bits(out + i * out_bytes, out_bytes, bits);
    }
    return -1;
}

static int64_t cast_block(bf_map_worker *w, int64_t first, int64_t n) {
    const bf_map_job *job = w->job;
    const char *in = job->in[0];
    int64_t place = -1;
    if (!job->single[0]) in += first * bf_dtype_bytes(job->from[0]);
    if (job->single[0]) {
        int bytes = bf_dtype_bytes(job->from[0]);
        for (int64_t i = 0; i < n; i++) memcpy((char *)w->in[0] + i * bytes, in, (size_t)bytes);
        in = (const char *)w->in[0];
    }
    if (bf_cast_block(w->isa, job->from[0], job->to, in, w->out, n) &&
        job->overflow != BF_OVERFLOW_WRAP)
        place = cast_by_rules(job, in, (char *)w->out, n);
    if (place < 0) deliver_block(w, first, n);
    return place;
}

int64_t bf_map_block(bf_map_worker *w, int64_t first, int64_t n) {
    const bf_map_job *job = w->job;
    if (job->op == BF_MAP_CAST) return cast_block(w, first, n);
    const void *in[3];
    for (int k = 0; k < 3; k++) in[k] = input_of(w, k, first, n);
    char *to = (char *)job->out + first * bf_dtype_bytes(job->to);
    int64_t place = compute_block(w, in, w->aside ? (void *)w->out : to, n);
    if (place < 0 && w->aside) deliver_block(w, first, n);
    return place;
}
