/* The pipeline: a ring of slots, through which pieces go one behind another.
 *
 * Piece p uses slot p % SLOTS. In step s of a call
 *   piece s - SLOTS   leaves:   the host waits for it, and copies results from pinned memory
 *   piece s           arrives:  the host fills the slot, whose copy to the GPU is enqueued
 *   piece s - 1       is taken: kernels are enqueued, and the copies of results behind them
 * The copy of piece s runs while kernels take piece s - 1, and while the host fills the next slot.
 * A piece has left before its slot is filled anew, so that a slot's parts need no order among each
 * other but that of its piece. */
#include "cuda/runtime/pipeline.cuh"

#include "cuda/runtime/workspace.cuh"

extern "C" {
#include "seam/copy.h"
#include "seam/where.h"
}

#include <stdlib.h>

enum {
    SLOTS = 3,
    SLOT_BYTES = 8 << 20,   /* of a slot: a piece of all operands */
    PIECE_BYTES = 1 << 20,  /* a call that has SLOTS pieces so large uses them all */
    DIRECT_BYTES = 1 << 16, /* a call with less copies it at once, as the driver does */
    ALIGNMENT = 256,        /* of an operand in a slot */
    ROUND = 4096 /* elements: longer pieces are multiples, so that vectors stay aligned */
};

struct slot {
    char *pinned, *device;
    cudaEvent_t arrived, taken,
        left; /* where a piece is: on the GPU, done with, in pinned memory */
};

struct bf_cuda_ring {
    slot slots[SLOTS];
    cudaStream_t in, out;
    cudaEvent_t begun;
    bool whole; /* else there is the device memory of slot 0 alone */
};

/* --- what is kept --- */

static void free_ring(bf_cuda_ring *ring) {
    for (int i = 0; i < SLOTS; i++) {
        slot *s = &ring->slots[i];
        cudaFreeHost(s->pinned);
        cudaFree(s->device);
        if (s->arrived != NULL) cudaEventDestroy(s->arrived);
        if (s->taken != NULL) cudaEventDestroy(s->taken);
        if (s->left != NULL) cudaEventDestroy(s->left);
    }
    if (ring->begun != NULL) cudaEventDestroy(ring->begun);
    if (ring->in != NULL) cudaStreamDestroy(ring->in);
    if (ring->out != NULL) cudaStreamDestroy(ring->out);
    free(ring);
}

void bf_cuda_pipeline_close(bf_cuda *cuda) {
    if (cuda->ring != NULL) free_ring(cuda->ring);
    cuda->ring = NULL;
}

static cudaError_t make_event(cudaEvent_t *event) {
    return *event != NULL ? cudaSuccess : cudaEventCreateWithFlags(event, cudaEventDisableTiming);
}

static cudaError_t make_stream(cudaStream_t *stream) {
    return *stream != NULL ? cudaSuccess : cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
}

static cudaError_t make_device(slot *s) {
    return s->device != NULL ? cudaSuccess : cudaMalloc((void **)&s->device, SLOT_BYTES);
}

static cudaError_t make_slot(slot *s) {
    cudaError_t error = make_device(s);
    if (error == cudaSuccess && s->pinned == NULL)
        error = cudaHostAlloc((void **)&s->pinned, SLOT_BYTES, cudaHostAllocPortable);
    if (error == cudaSuccess) error = make_event(&s->arrived);
    if (error == cudaSuccess) error = make_event(&s->taken);
    if (error == cudaSuccess) error = make_event(&s->left);
    return error;
}

/* What is made stays, also if there is no memory for the rest. */
static cudaError_t make_all(bf_cuda_ring *ring) {
    if (ring->whole) return cudaSuccess;
    cudaError_t error = make_stream(&ring->in);
    if (error == cudaSuccess) error = make_stream(&ring->out);
    if (error == cudaSuccess) error = make_event(&ring->begun);
    for (int i = 0; i < SLOTS && error == cudaSuccess; i++) error = make_slot(&ring->slots[i]);
    ring->whole = error == cudaSuccess;
    return error;
}

static bf_status make_ring(bf_context *context, bool whole) {
    bf_cuda_ring *ring = context->cuda->ring;
    if (ring == NULL) ring = context->cuda->ring = (bf_cuda_ring *)calloc(1, sizeof *ring);
    if (ring == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for copies");
    cudaError_t error = whole ? make_all(ring) : make_device(&ring->slots[0]);
    return error == cudaSuccess ? BF_OK : bf_cuda_fail(context, error, "memory for copies");
}

/* --- a call --- */

/* How an operand's elements reach kernels. */
enum route {
    IN_PLACE,
    BY_GPU, /* copied from where they are: misaligned, or another GPU's */
    BY_HOST /* pageable: through pinned memory, unless they are few */
};

struct run {
    bf_context *context;
    bf_cuda_ring *ring;
    const bf_cuda_operand *operands;
    int operand_count;
    route routes[BF_CUDA_OPERANDS];
    int64_t offsets[BF_CUDA_OPERANDS]; /* in a slot */
    int64_t count, piece;              /* elements: of all, of a piece */
    bool copies, returns;              /* is anything not in place? and written? */
    bf_cuda_take_piece *take;
    void *arg;
};

static char *start_of(const bf_cuda_operand *o) {
    return (char *)(uintptr_t)(o->out != NULL ? o->out : o->in);
}

static route route_of(const bf_context *context, const bf_cuda_operand *o) {
    if (bf_cuda_in_place(context, start_of(o), o->align)) return IN_PLACE;
    return bf_where_is(start_of(o), NULL) == BF_WHERE_HOST ? BY_HOST : BY_GPU;
}

/* Bytes of an element of all that is copied. */
static int64_t find_routes(run *r) {
    int64_t bytes = 0;
    for (int i = 0; i < r->operand_count; i++) {
        const bf_cuda_operand *o = &r->operands[i];
        r->routes[i] = route_of(r->context, o);
        if (r->routes[i] == IN_PLACE) continue;
        bytes += o->bytes;
        r->copies = true;
        r->returns = r->returns || o->out != NULL;
    }
    return bytes;
}

/* Pieces of calls that do not fill the ring are smaller, so that they overlap as well. */
static int64_t piece_for(int64_t count, int64_t bytes) {
    const int64_t room = SLOT_BYTES - BF_CUDA_OPERANDS * ALIGNMENT;
    int64_t most = room / bytes, least = PIECE_BYTES / bytes + 1, even = count / SLOTS + 1;
    int64_t piece = even < least ? least : even;
    if (piece > most) piece = most;
    return piece > ROUND ? piece - piece % ROUND : piece;
}

static void lay_out(run *r) {
    int64_t at = 0;
    for (int i = 0; i < r->operand_count; i++) {
        r->offsets[i] = at;
        if (r->routes[i] == IN_PLACE) continue;
        at += (r->piece * r->operands[i].bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
}

static int64_t length_of(const run *r, int64_t p) {
    int64_t left = r->count - p * r->piece;
    return left < r->piece ? left : r->piece;
}

/* Element 0 of piece p. */
static char *element_of(const run *r, int i, int64_t p) {
    return start_of(&r->operands[i]) + p * r->piece * r->operands[i].bytes;
}

static bf_status take_piece(const run *r, const slot *s, int64_t p) {
    void *at[BF_CUDA_OPERANDS];
    for (int i = 0; i < r->operand_count; i++)
        at[i] = r->routes[i] == IN_PLACE ? element_of(r, i, p) : s->device + r->offsets[i];
    return r->take(r->context, r->arg, at, p * r->piece, length_of(r, p));
}

/* --- copies of a piece --- */

/* The host's copy into, or out of, the pinned memory. */
static void copy_by_host(const run *r, const slot *s, int64_t p, bool in) {
    for (int i = 0; i < r->operand_count; i++) {
        const bf_cuda_operand *o = &r->operands[i];
        if (r->routes[i] != BY_HOST || (in ? o->in : o->out) == NULL) continue;
        char *memory = element_of(r, i, p), *pinned = s->pinned + r->offsets[i];
        size_t bytes = (size_t)(length_of(r, p) * o->bytes);
        bf_host_copy(r->context, in ? pinned : memory, in ? memory : pinned, bytes);
    }
}

/* The GPU's copies into, or out of, the slot's device memory. */
static cudaError_t copy_by_gpu(const run *r, const slot *s, int64_t p, bool in, bool direct,
                               cudaStream_t stream) {
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < r->operand_count && error == cudaSuccess; i++) {
        const bf_cuda_operand *o = &r->operands[i];
        if (r->routes[i] == IN_PLACE || (in ? o->in : o->out) == NULL) continue;
        bool pinned = r->routes[i] == BY_HOST && !direct;
        char *memory = pinned ? s->pinned + r->offsets[i] : element_of(r, i, p);
        char *device = s->device + r->offsets[i];
        size_t bytes = (size_t)(length_of(r, p) * o->bytes);
        error = cudaMemcpyAsync(in ? device : memory, in ? memory : device, bytes,
                                cudaMemcpyDefault, stream);
    }
    return error;
}

/* --- steps --- */

static cudaError_t leave_slot(const run *r, int64_t p) {
    slot *s = &r->ring->slots[p % SLOTS];
    cudaError_t error = cudaEventSynchronize(r->returns ? s->left : s->taken);
    if (error == cudaSuccess) copy_by_host(r, s, p, false);
    return error;
}

static cudaError_t arrive(const run *r, int64_t p) {
    slot *s = &r->ring->slots[p % SLOTS];
    copy_by_host(r, s, p, true);
    cudaError_t error = copy_by_gpu(r, s, p, true, false, r->ring->in);
    return error == cudaSuccess ? cudaEventRecord(s->arrived, r->ring->in) : error;
}

static cudaError_t return_results(const run *r, int64_t p) {
    slot *s = &r->ring->slots[p % SLOTS];
    cudaStream_t out = r->ring->out;
    cudaError_t error = cudaEventRecord(s->taken, r->context->cuda->stream);
    if (error != cudaSuccess || !r->returns) return error;
    error = cudaStreamWaitEvent(out, s->taken, 0);
    if (error == cudaSuccess) error = copy_by_gpu(r, s, p, false, false, out);
    return error == cudaSuccess ? cudaEventRecord(s->left, out) : error;
}

static bf_status check_copy(const run *r, cudaError_t error) {
    return error == cudaSuccess ? BF_OK : bf_cuda_fail(r->context, error, "a copy");
}

static bf_status take_arrived(const run *r, int64_t p) {
    slot *s = &r->ring->slots[p % SLOTS];
    bf_status status = check_copy(r, cudaStreamWaitEvent(r->context->cuda->stream, s->arrived, 0));
    if (status == BF_OK) status = take_piece(r, s, p);
    return status == BF_OK ? check_copy(r, return_results(r, p)) : status;
}

static bf_status run_step(const run *r, int64_t step, int64_t pieces) {
    cudaError_t error = cudaSuccess;
    if (step >= SLOTS) error = leave_slot(r, step - SLOTS);
    if (error == cudaSuccess && step < pieces) error = arrive(r, step);
    if (error != cudaSuccess) return check_copy(r, error);
    return step >= 1 && step <= pieces ? take_arrived(r, step - 1) : BF_OK;
}

/* Copies wait for what the stream did before the call. */
static cudaError_t begin(const run *r) {
    bf_cuda_ring *ring = r->ring;
    cudaError_t error = cudaEventRecord(ring->begun, r->context->cuda->stream);
    if (error == cudaSuccess) error = cudaStreamWaitEvent(ring->in, ring->begun, 0);
    return error;
}

/* So that nothing reads or writes the call's arrays when it has failed. */
static void drain(const run *r) {
    cudaStreamSynchronize(r->ring->in);
    cudaStreamSynchronize(r->context->cuda->stream);
    cudaStreamSynchronize(r->ring->out);
    cudaGetLastError();
}

static bf_status run_ring(run *r) {
    int64_t pieces = (r->count + r->piece - 1) / r->piece;
    bf_status status = make_ring(r->context, true);
    if (status != BF_OK) return status;
    r->ring = r->context->cuda->ring;
    status = check_copy(r, begin(r));
    for (int64_t step = 0; step < pieces + SLOTS && status == BF_OK; step++)
        status = run_step(r, step, pieces);
    if (status != BF_OK) drain(r);
    return status;
}

/* --- without the ring --- */

/* One piece of little memory: all is enqueued on the stream in use. */
static bf_status run_direct(run *r) {
    cudaStream_t stream = r->context->cuda->stream;
    bf_status status = make_ring(r->context, false);
    if (status != BF_OK) return status;
    const slot *s = &r->context->cuda->ring->slots[0];
    status = check_copy(r, copy_by_gpu(r, s, 0, true, true, stream));
    if (status == BF_OK) status = take_piece(r, s, 0);
    if (status == BF_OK) status = check_copy(r, copy_by_gpu(r, s, 0, false, true, stream));
    if (status != BF_OK) cudaStreamSynchronize(stream);
    return status;
}

static bf_status run_in_place(const run *r) {
    bf_status status = BF_OK;
    for (int64_t p = 0; p * r->piece < r->count && status == BF_OK; p++)
        status = take_piece(r, NULL, p);
    return status;
}

bf_status bf_cuda_pipeline(bf_context *context, const bf_cuda_operand *operands, int operand_count,
                           int64_t count, int64_t most, bf_cuda_take_piece *take, void *arg) {
    run r = {};
    r.context = context;
    r.operands = operands;
    r.operand_count = operand_count;
    r.count = count;
    r.piece = most;
    r.take = take;
    r.arg = arg;
    int64_t bytes = find_routes(&r);
    if (!r.copies || count == 0) return run_in_place(&r);
    int64_t piece = piece_for(count, bytes);
    if (piece < r.piece) r.piece = piece;
    lay_out(&r);
    bool direct = count <= r.piece && count * bytes <= DIRECT_BYTES;
    /* Another thread may be capturing a stream, which forbids some of this otherwise. */
    cudaStreamCaptureMode mode = bf_cuda_relax();
    bf_status status = direct ? run_direct(&r) : run_ring(&r);
    bf_cuda_restore(mode);
    return status;
}
