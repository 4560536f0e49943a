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
#include "seam/host.h"
#include "seam/where.h"
}

#include <stdlib.h>

enum {
    SLOTS = 3,
    SLOT_BYTES = 8 << 20,   /* of a slot: a piece of all operands */
    PIECE_BYTES = 1 << 20,  /* a call that has SLOTS pieces so large uses them all */
    DIRECT_BYTES = 1 << 18, /* a call with less copies it at once, as the driver does */
    PIN_BYTES = 64 << 20,   /* the driver loses as long with so many as pinning the slots takes */
    ALIGNMENT = 256,        /* of an operand in a slot */
    ROUND = 4096 /* elements: longer pieces are multiples, so that vectors stay aligned */
};

struct slot {
    char *pinned, *plain; /* memory of the host; of both the first that is not NULL is used */
    char *device;
    cudaEvent_t arrived, taken, left; /* where a piece is: on the GPU, done with, on the host */
};

struct bf_cuda_ring {
    slot slots[SLOTS];
    cudaStream_t in, out;
    cudaEvent_t begun;
    bool ordered;   /* there are all streams and events */
    bool pinned;    /* and pinned memory of all slots */
    int64_t driven; /* bytes of pageable memory that the driver has copied */
};

/* --- what is kept: what is made stays, also if there is no memory for the rest --- */

static void free_slot(slot *s) {
    cudaFreeHost(s->pinned);
    free(s->plain);
    cudaFree(s->device);
    if (s->arrived != NULL) cudaEventDestroy(s->arrived);
    if (s->taken != NULL) cudaEventDestroy(s->taken);
    if (s->left != NULL) cudaEventDestroy(s->left);
}

void bf_cuda_pipeline_close(bf_cuda *cuda) {
    bf_cuda_ring *ring = cuda->ring;
    if (ring == NULL) return;
    for (int i = 0; i < SLOTS; i++) free_slot(&ring->slots[i]);
    if (ring->begun != NULL) cudaEventDestroy(ring->begun);
    if (ring->in != NULL) cudaStreamDestroy(ring->in);
    if (ring->out != NULL) cudaStreamDestroy(ring->out);
    free(ring);
    cuda->ring = NULL;
}

static cudaError_t make_event(cudaEvent_t *event) {
    return *event != NULL ? cudaSuccess : cudaEventCreateWithFlags(event, cudaEventDisableTiming);
}

static cudaError_t make_stream(cudaStream_t *stream) {
    return *stream != NULL ? cudaSuccess : cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
}

static cudaError_t make_order(bf_cuda_ring *ring) {
    if (ring->ordered) return cudaSuccess;
    cudaError_t error = make_stream(&ring->in);
    if (error == cudaSuccess) error = make_stream(&ring->out);
    if (error == cudaSuccess) error = make_event(&ring->begun);
    for (int i = 0; i < SLOTS && error == cudaSuccess; i++) {
        error = make_event(&ring->slots[i].arrived);
        if (error == cudaSuccess) error = make_event(&ring->slots[i].taken);
        if (error == cudaSuccess) error = make_event(&ring->slots[i].left);
    }
    ring->ordered = error == cudaSuccess;
    return error;
}

static cudaError_t make_device(bf_cuda_ring *ring, int slots) {
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < slots && error == cudaSuccess; i++) {
        char **device = &ring->slots[i].device;
        if (*device == NULL) error = cudaMalloc((void **)device, SLOT_BYTES);
    }
    return error;
}

static cudaError_t make_plain(bf_cuda_ring *ring, int slots) {
    for (int i = 0; i < slots; i++) {
        slot *s = &ring->slots[i];
        if (s->plain == NULL) s->plain = (char *)malloc(SLOT_BYTES);
        if (s->plain == NULL) return cudaErrorMemoryAllocation;
    }
    return cudaSuccess;
}

/* Without pinned memory the driver goes on. */
static void make_pinned(bf_cuda_ring *ring) {
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < SLOTS && error == cudaSuccess; i++) {
        char **pinned = &ring->slots[i].pinned;
        if (*pinned == NULL)
            error = cudaHostAlloc((void **)pinned, SLOT_BYTES, cudaHostAllocPortable);
    }
    ring->pinned = error == cudaSuccess;
    if (!ring->pinned) cudaGetLastError();
}

/* --- a call --- */

/* How an operand's elements reach kernels. */
enum route {
    IN_PLACE,
    BY_GPU, /* copied from where they are */
    BY_HOST /* copied by way of the slots' memory of the host */
};

struct run {
    bf_context *context;
    bf_cuda_ring *ring;
    const bf_cuda_operand *operands;
    int operand_count;
    route routes[BF_CUDA_OPERANDS];
    int64_t offsets[BF_CUDA_OPERANDS]; /* in a slot */
    int64_t count, piece;              /* elements: of all, of a piece */
    int64_t bytes, pageable;           /* of an element of all that is copied; of these, pageable */
    bool lands;                        /* uses the slots' device memory */
    bool gathers;                      /* elements have strides */
    bool returns;                      /* something is written */
    bf_cuda_take_piece *take;
    void *arg;
};

static char *start_of(const bf_cuda_operand *o) {
    return (char *)(uintptr_t)(o->out != NULL ? o->out : o->in);
}

static route route_of(const bf_context *context, const bf_cuda_operand *o) {
    if (o->strided != NULL) return BY_HOST;
    if (o->device == NULL && bf_cuda_in_place(context, start_of(o), o->align)) return IN_PLACE;
    return bf_where_is(start_of(o), NULL) == BF_WHERE_HOST ? BY_HOST : BY_GPU;
}

static void find_routes(run *r) {
    for (int i = 0; i < r->operand_count; i++) {
        const bf_cuda_operand *o = &r->operands[i];
        r->routes[i] = route_of(r->context, o);
        if (r->routes[i] == IN_PLACE) continue;
        r->bytes += o->bytes;
        if (r->routes[i] == BY_HOST) r->pageable += o->bytes;
        r->lands = r->lands || o->device == NULL;
        r->gathers = r->gathers || o->strided != NULL;
        r->returns = r->returns || o->out != NULL;
    }
}

/* The driver copies contiguous memory from where it is. */
static void leave_to_driver(run *r) {
    for (int i = 0; i < r->operand_count; i++)
        if (r->routes[i] == BY_HOST && r->operands[i].strided == NULL) r->routes[i] = BY_GPU;
}

/* Leaves copies to the driver until so much has been copied that pinned memory pays. One thread
 * copies no faster than the driver. */
static void choose_copier(run *r) {
    bf_cuda_ring *ring = r->ring;
    if (ring->pinned || r->pageable == 0) return;
    if (bf_host_threads(r->context) > 1) ring->driven += r->count * r->pageable;
    if (ring->driven >= PIN_BYTES) make_pinned(ring);
    if (!ring->pinned) leave_to_driver(r);
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
    int64_t at = 0, piece = piece_for(r->count, r->bytes);
    if (piece < r->piece) r->piece = piece;
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

/* Element 0 of piece p of an operand, where the caller has it; */
static char *find_element(const run *r, int i, int64_t p) {
    return start_of(&r->operands[i]) + p * r->piece * r->operands[i].bytes;
}

/* in the slot's memory of the host; */
static char *find_in_slot(const run *r, const slot *s, int i) {
    return (s->pinned != NULL ? s->pinned : s->plain) + r->offsets[i];
}

/* and on the GPU. */
static char *find_on_gpu(const run *r, const slot *s, int i, int64_t p) {
    char *device = (char *)r->operands[i].device;
    return device != NULL ? device + p * r->piece * r->operands[i].bytes
                          : s->device + r->offsets[i];
}

static bf_status take_piece(const run *r, const slot *s, int64_t p) {
    void *at[BF_CUDA_OPERANDS];
    if (r->take == NULL) return BF_OK;
    for (int i = 0; i < r->operand_count; i++)
        at[i] = r->routes[i] == IN_PLACE ? find_element(r, i, p) : find_on_gpu(r, s, i, p);
    return r->take(r->context, r->arg, at, p * r->piece, length_of(r, p));
}

/* --- copies of a piece --- */

/* The host's copy of an operand into a slot's memory, or out of it. */
static void copy_operand(const run *r, const slot *s, int i, int64_t p, bool in) {
    const bf_cuda_operand *o = &r->operands[i];
    char *memory = find_element(r, i, p), *inner = find_in_slot(r, s, i);
    int64_t first = o->first + p * r->piece, n = length_of(r, p);
    if (o->strided == NULL)
        bf_host_copy(r->context, in ? inner : memory, in ? memory : inner, (size_t)(n * o->bytes));
    else if (in)
        bf_host_gather(r->context, o->strided, first, n, inner);
    else
        bf_host_scatter(r->context, o->strided, first, n, inner);
}

static void copy_by_host(const run *r, const slot *s, int64_t p, bool in) {
    for (int i = 0; i < r->operand_count; i++) {
        const bf_cuda_operand *o = &r->operands[i];
        if (r->routes[i] == BY_HOST && (in ? o->in : o->out) != NULL) copy_operand(r, s, i, p, in);
    }
}

/* The GPU's copies into, or out of, its memory. */
static cudaError_t copy_by_gpu(const run *r, const slot *s, int64_t p, bool in,
                               cudaStream_t stream) {
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < r->operand_count && error == cudaSuccess; i++) {
        const bf_cuda_operand *o = &r->operands[i];
        if (r->routes[i] == IN_PLACE || (in ? o->in : o->out) == NULL) continue;
        char *memory = r->routes[i] == BY_HOST ? find_in_slot(r, s, i) : find_element(r, i, p);
        char *device = find_on_gpu(r, s, i, p);
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
    cudaError_t error = copy_by_gpu(r, s, p, true, r->ring->in);
    return error == cudaSuccess ? cudaEventRecord(s->arrived, r->ring->in) : error;
}

static cudaError_t return_results(const run *r, int64_t p) {
    slot *s = &r->ring->slots[p % SLOTS];
    cudaStream_t out = r->ring->out;
    cudaError_t error = cudaEventRecord(s->taken, r->context->cuda->stream);
    if (error != cudaSuccess || !r->returns) return error;
    error = cudaStreamWaitEvent(out, s->taken, 0);
    if (error == cudaSuccess) error = copy_by_gpu(r, s, p, false, out);
    return error == cudaSuccess ? cudaEventRecord(s->left, out) : error;
}

static bf_status check_copy(const run *r, cudaError_t error) {
    return bf_cuda_check(r->context, error, "a copy");
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

static cudaError_t make_ring(run *r) {
    cudaError_t error = make_order(r->ring);
    if (error == cudaSuccess && r->lands) error = make_device(r->ring, SLOTS);
    if (error == cudaSuccess && r->gathers && !r->ring->pinned) error = make_plain(r->ring, SLOTS);
    return error;
}

static bf_status run_ring(run *r) {
    choose_copier(r);
    cudaError_t error = make_ring(r);
    if (error != cudaSuccess) return bf_cuda_fail(r->context, error, "memory for copies");
    int64_t pieces = (r->count + r->piece - 1) / r->piece;
    bf_status status = check_copy(r, begin(r));
    for (int64_t step = 0; step < pieces + SLOTS && status == BF_OK; step++)
        status = run_step(r, step, pieces);
    if (status != BF_OK) drain(r);
    return status;
}

/* --- without the ring --- */

/* One piece of little memory: all is enqueued on the stream in use. The driver waits for what it
 * copies from or to memory that is not pinned, so that the slot is free for the next call. */
static bf_status run_direct(run *r) {
    cudaStream_t stream = r->context->cuda->stream;
    cudaError_t error = r->lands ? make_device(r->ring, 1) : cudaSuccess;
    if (error == cudaSuccess && r->gathers) error = make_plain(r->ring, 1);
    if (error != cudaSuccess) return bf_cuda_fail(r->context, error, "memory for copies");
    leave_to_driver(r);
    slot s = r->ring->slots[0];
    s.pinned = NULL;
    copy_by_host(r, &s, 0, true);
    bf_status status = check_copy(r, copy_by_gpu(r, &s, 0, true, stream));
    if (status == BF_OK) status = take_piece(r, &s, 0);
    if (status == BF_OK) status = check_copy(r, copy_by_gpu(r, &s, 0, false, stream));
    if (status == BF_OK) copy_by_host(r, &s, 0, false);
    if (status != BF_OK) cudaStreamSynchronize(stream);
    return status;
}

static bf_status run_in_place(const run *r) {
    bf_status status = BF_OK;
    for (int64_t p = 0; p * r->piece < r->count && status == BF_OK; p++)
        status = take_piece(r, NULL, p);
    return status;
}

static bf_status run_copies(run *r) {
    bf_cuda *cuda = r->context->cuda;
    if (cuda->ring == NULL) cuda->ring = (bf_cuda_ring *)calloc(1, sizeof *cuda->ring);
    if (cuda->ring == NULL) return bf_fail(r->context, BF_E_MEMORY, "no memory for copies");
    r->ring = cuda->ring;
    lay_out(r);
    bool direct = r->count <= r->piece && r->count * r->bytes <= DIRECT_BYTES;
    /* Another thread may be capturing a stream, which forbids some of this otherwise. */
    cudaStreamCaptureMode mode = bf_cuda_relax();
    bf_status status = direct ? run_direct(r) : run_ring(r);
    bf_cuda_restore(mode);
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
    if (count == 0) return BF_OK;
    find_routes(&r);
    return r.bytes > 0 ? run_copies(&r) : run_in_place(&r);
}

/* --- copies alone --- */

bf_status bf_cuda_copy(bf_context *context, void *to, const void *from, size_t bytes) {
    bool in = bf_where_is(from, NULL) == BF_WHERE_HOST,
         out = bf_where_is(to, NULL) == BF_WHERE_HOST;
    int64_t n = (int64_t)bytes;
    bf_cuda_operand o = {NULL, NULL, 1, 1, in ? to : (void *)(uintptr_t)from, NULL, 0};
    if (in == out) {
        cudaStream_t stream = context->cuda->stream;
        cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
        return bf_cuda_check(context, error, "a copy");
    }
    if (in)
        o.in = from;
    else
        o.out = to;
    return bf_cuda_pipeline(context, &o, 1, n, n, NULL, NULL);
}

bf_status bf_cuda_gather_host(bf_context *context, const bf_strided *from, int64_t first,
                              int64_t count, void *to) {
    const bf_cuda_operand o = {from->data, NULL, from->bytes, 1, to, from, first};
    return bf_cuda_pipeline(context, &o, 1, count, count, NULL, NULL);
}

bf_status bf_cuda_scatter_host(bf_context *context, const bf_strided *to, int64_t first,
                               int64_t count, const void *from) {
    void *device = (void *)(uintptr_t)from;
    const bf_cuda_operand o = {NULL, to->data, to->bytes, 1, device, to, first};
    return bf_cuda_pipeline(context, &o, 1, count, count, NULL, NULL);
}
