/* The pipeline: a ring of slots, through which pieces go one behind another.
 *
 * Piece p uses slot p % SLOTS. Step s is work of the host's memory: the results of piece
 * s - SLOTS leave their slot, and piece s enters it. Threads of the host share the parts of the
 * steps in one parallel loop. The calling thread leads it, and alone calls CUDA and the watch:
 *   - it opens a step when the GPU has done with the piece before in that slot;
 *   - when all parts of a step are done, it enqueues the copy of piece s to the GPU, then has piece
 *     s - 1 taken (kernels are enqueued), and enqueues the copies of its results behind it;
 *   - it does parts itself while it has nothing else to do.
 * So the host copies pieces while the GPU copies those before, and kernels work on others still.
 * Each operand has a place of its own in a slot, so that the parts of a step need no order. */
#include "cuda/runtime/pipeline.cuh"

#include "cuda/runtime/workspace.cuh"

extern "C" {
#include "base/memory.h"
#include "base/parallel.h"
#include "base/where.h"
#include "seam/memory.h"
}

#include <stdlib.h>
#include <string.h>

enum {
    SLOTS = 3,
    SLOT_BYTES = 8 << 20,   /* the size of a slot: a piece of all operands */
    PIECE_BYTES = 1 << 20,  /* a call that has SLOTS pieces so large uses them all */
    DIRECT_BYTES = 1 << 18, /* a call with less copies it at once, as the driver does */
    PIN_BYTES = 64 << 20,   /* the driver loses as long with so many as pinning the slots takes */
    PART_BYTES = 1 << 18,   /* a thread of the host copies so many at a time */
    COPIERS = 8,            /* threads, at most: more of them reach less of the memory's rate */
    ALIGNMENT = 256,        /* the alignment of an operand in a slot */
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
    bool pinned;    /* all slots have pinned memory, too */
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
    int64_t bytes, by_host;            /* what an element takes: of all that is copied; of what the
                                          host copies */
    bool lands;                        /* uses the slots' device memory */
    bool gathers;                      /* elements have strides */
    bool returns;                      /* something is written */
    bf_cuda_take_piece *take;
    void *arg;

    int64_t pieces, parts;    /* how many the call has; how many a step has */
    int64_t lag;              /* steps from a piece's arrival until it is taken */
    int64_t opened, finished; /* steps */
    int64_t done[SLOTS];      /* parts of the step that uses the slot; atomic */
};

static bool is_read(const bf_cuda_operand *o) { return o->in != NULL; }

static char *start_of(const bf_cuda_operand *o) {
    return is_read(o) ? (char *)(uintptr_t)o->in : (char *)o->out;
}

static route route_of(const bf_context *context, const bf_cuda_operand *o, int64_t count) {
    int64_t read = is_read(o) ? count * o->bytes : 0;
    if (o->strided != NULL) return BY_HOST;
    if (o->device == NULL && bf_cuda_best_in_place(context, start_of(o), o->align, read))
        return IN_PLACE;
    return bf_where_is(start_of(o), NULL) == BF_WHERE_HOST ? BY_HOST : BY_GPU;
}

static void find_routes(run *r) {
    for (int i = 0; i < r->operand_count; i++) {
        const bf_cuda_operand *o = &r->operands[i];
        r->routes[i] = route_of(r->context, o, r->count);
        if (r->routes[i] == IN_PLACE) continue;
        r->bytes += o->bytes;
        if (r->routes[i] == BY_HOST) r->by_host += o->bytes;
        r->lands = r->lands || o->device == NULL;
        r->gathers = r->gathers || o->strided != NULL;
        r->returns = r->returns || !is_read(o);
    }
}

/* The driver copies contiguous memory from where it is. */
static void leave_to_driver(run *r) {
    for (int i = 0; i < r->operand_count; i++) {
        if (r->routes[i] != BY_HOST || r->operands[i].strided != NULL) continue;
        r->routes[i] = BY_GPU;
        r->by_host -= r->operands[i].bytes;
    }
}

/* Leaves copies to the driver until so much has been copied that pinned memory pays. One thread
 * copies no faster than the driver. */
static void choose_copier(run *r) {
    bf_cuda_ring *ring = r->ring;
    if (ring->pinned || r->by_host == 0) return;
    if (bf_host_threads(r->context) > 1) ring->driven += r->count * r->by_host;
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
    r->pieces = (r->count + r->piece - 1) / r->piece;
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

/* Element 0 of piece p of an operand, where the caller has it. */
static char *find_element(const run *r, int i, int64_t p) {
    return start_of(&r->operands[i]) + p * r->piece * r->operands[i].bytes;
}

/* Finds it in the slot's memory of the host. */
static char *find_in_slot(const run *r, const slot *s, int i) {
    return (s->pinned != NULL ? s->pinned : s->plain) + r->offsets[i];
}

/* Finds it on the GPU. */
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

/* The host's copy of n elements from number `first` of piece p on, into a slot's memory or out of
 * it. What does not fit the ring fits no cache either: such results are streamed. */
static void copy_elements(const run *r, const slot *s, int i, int64_t p, int64_t first, int64_t n) {
    const bf_cuda_operand *o = &r->operands[i];
    const bf_memory_backend *host = bf_backend_cpu.memory;
    char *inner = find_in_slot(r, s, i) + first * o->bytes;
    char *memory = find_element(r, i, p) + first * o->bytes;
    int64_t at = o->first + p * r->piece + first;
    size_t bytes = (size_t)(n * o->bytes);
    if (o->strided != NULL && o->in != NULL)
        host->gather(r->context, o->strided, at, n, inner);
    else if (o->strided != NULL)
        host->scatter(r->context, o->strided, at, n, inner);
    else if (o->in != NULL)
        memcpy(inner, memory, bytes);
    else if (r->pieces > SLOTS)
        bf_stream_copy(memory, inner, bytes);
    else
        memcpy(memory, inner, bytes);
}

/* The GPU's copies into, or out of, its memory. */
static cudaError_t copy_by_gpu(const run *r, const slot *s, int64_t p, bool in,
                               cudaStream_t stream) {
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < r->operand_count && error == cudaSuccess; i++) {
        if (r->routes[i] == IN_PLACE || is_read(&r->operands[i]) != in) continue;
        char *memory = r->routes[i] == BY_HOST ? find_in_slot(r, s, i) : find_element(r, i, p);
        char *device = find_on_gpu(r, s, i, p);
        size_t bytes = (size_t)(length_of(r, p) * r->operands[i].bytes);
        error = cudaMemcpyAsync(in ? device : memory, in ? memory : device, bytes,
                                cudaMemcpyDefault, stream);
    }
    return error;
}

/* --- parts of a step --- */

static int64_t part_of(const bf_cuda_operand *o) {
    return o->bytes < PART_BYTES ? PART_BYTES / o->bytes : 1;
}

static int64_t count_parts(const run *r, int i) {
    int64_t part = part_of(&r->operands[i]);
    return r->routes[i] == BY_HOST ? (r->piece + part - 1) / part : 0;
}

/* Does part `number` of those of all steps. The first steps have no results, the last ones nothing
 * to read, and the last piece may be shorter. */
static void copy_part(void *arg, int64_t number) {
    run *r = (run *)arg;
    int64_t step = number / r->parts, k = number % r->parts;
    int i = 0;
    for (; k >= count_parts(r, i); i++) k -= count_parts(r, i);
    int64_t p = is_read(&r->operands[i]) ? step : step - SLOTS;
    int64_t part = part_of(&r->operands[i]), first = k * part;
    int64_t left = p >= 0 && p < r->pieces ? length_of(r, p) - first : 0;
    const slot *s = &r->ring->slots[step % SLOTS];
    if (left > 0) copy_elements(r, s, i, p, first, left < part ? left : part);
    __atomic_fetch_add(&r->done[step % SLOTS], 1, __ATOMIC_RELEASE);
}

/* --- steps --- */

static bf_status check_copy(const run *r, cudaError_t error) {
    return bf_cuda_check(r->context, error, "a copy");
}

static cudaError_t send_piece(const run *r, int64_t p) {
    slot *s = &r->ring->slots[p % SLOTS];
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

/* The watch is told no bytes: the caller of the backend tells those of the whole job. */
static bf_status take_arrived(const run *r, int64_t p) {
    slot *s = &r->ring->slots[p % SLOTS];
    bf_status status = check_copy(r, cudaStreamWaitEvent(r->context->cuda->stream, s->arrived, 0));
    if (status == BF_OK) status = take_piece(r, s, p);
    if (status == BF_OK) status = check_copy(r, return_results(r, p));
    return status == BF_OK ? bf_watch_tick(r->context, 0) : status;
}

static bool is_copied(const run *r) {
    const int64_t *done = &r->done[r->finished % SLOTS];
    return r->finished < r->opened && __atomic_load_n(done, __ATOMIC_ACQUIRE) == r->parts;
}

static bf_status finish_step(run *r) {
    int64_t sent = r->finished++, taken = sent - r->lag;
    cudaError_t error = sent < r->pieces ? send_piece(r, sent) : cudaSuccess;
    if (error != cudaSuccess) return check_copy(r, error);
    return taken >= 0 && taken < r->pieces ? take_arrived(r, taken) : BF_OK;
}

/* Is the slot of the next step free? If no step is under way, the host waits until it is. */
static cudaError_t ask_slot(const run *r) {
    int64_t p = r->opened - SLOTS;
    if (p < 0) return cudaSuccess;
    if (r->opened == r->pieces + SLOTS || p >= r->finished - r->lag) return cudaErrorNotReady;
    const slot *s = &r->ring->slots[p % SLOTS];
    cudaEvent_t event = r->returns ? s->left : s->taken;
    if (r->opened == r->finished) return cudaEventSynchronize(event);
    cudaError_t error = cudaEventQuery(event);
    if (error == cudaErrorNotReady) cudaGetLastError(); /* launches would find it */
    return error;
}

/* A step is opened before one is finished, so that threads copy on while a piece is taken. */
static bf_status advance(run *r, bf_lead *lead) {
    cudaError_t error = ask_slot(r);
    if (error == cudaSuccess) {
        r->done[r->opened++ % SLOTS] = 0;
        bf_lead_open(lead, r->parts);
        return BF_OK;
    }
    if (error != cudaErrorNotReady) return check_copy(r, error);
    if (is_copied(r)) return finish_step(r);
    bf_lead_help(lead);
    return BF_OK;
}

static bf_status lead_steps(void *arg, bf_lead *lead) {
    run *r = (run *)arg;
    bf_status status = BF_OK;
    while (status == BF_OK && r->finished < r->pieces + SLOTS) status = advance(r, lead);
    return status;
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
    for (int i = 0; i < r->operand_count; i++) r->parts += count_parts(r, i);
    r->lag = r->take != NULL; /* as taking may wait, the next copy is enqueued before */
    int workers = bf_workers(r->context, r->count * r->by_host, PART_BYTES);
    bf_status status = check_copy(r, begin(r));
    if (status == BF_OK)
        status = bf_parallel_led(r->context, workers < COPIERS ? workers : COPIERS, lead_steps,
                                 copy_part, r);
    if (status != BF_OK) drain(r);
    return status;
}

/* --- without the ring --- */

/* Copies what has strides, on the calling thread. */
static void copy_by_host(const run *r, const slot *s, bool in) {
    for (int i = 0; i < r->operand_count; i++)
        if (r->routes[i] == BY_HOST && is_read(&r->operands[i]) == in)
            copy_elements(r, s, i, 0, 0, r->count);
}

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
    copy_by_host(r, &s, true);
    bf_status status = check_copy(r, copy_by_gpu(r, &s, 0, true, stream));
    if (status == BF_OK) status = take_piece(r, &s, 0);
    if (status == BF_OK) status = check_copy(r, copy_by_gpu(r, &s, 0, false, stream));
    if (status == BF_OK) copy_by_host(r, &s, false);
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
    bool direct = r->pieces == 1 && r->count * r->bytes <= DIRECT_BYTES;
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
