/* Sums of arrays, element by element: check the arrays, let the ranks agree, and choose the way.
 * Small arrays travel with the agreement; the GPUs' link takes what it can; the rest is exchanged.
 */
#include "api/comm/sums.h"

#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "api/runtime/place.h"
#include "rules/number/dtype.h"
#include "seam/memory.h"

enum { SMALL_TERMS = 256 /* all ranks together have so many at most */ };

/* ---- arguments ------------------------------------------------------------------------------- */

typedef struct sum_call {
    bf_sums_to to;
    int root;
    const bf_array *in, *out;
} sum_call;

/* Checks an array and that the context reaches its memory. Sets *count to its elements. */
static bf_status check_array(bf_context *context, const bf_array *a, int64_t *count) {
    const bf_backend *by;
    if (a == NULL) return bf_fail(context, BF_E_ARGUMENT, "an array is missing");
    if (bf_dtype_bytes(a->dtype) == 0 || a->dtype == BF_BOOL)
        return bf_fail(context, BF_E_DTYPE, "arrays of %s are not added", bf_dtype_name(a->dtype));
    *count = bf_array_elements(a, bf_dtype_bytes(a->dtype));
    if (*count < 0) return bf_fail(context, BF_E_ARGUMENT, "an array is not well formed");
    if (*count == 0) return BF_OK;
    if (!bf_array_is_contiguous(a))
        return bf_fail(context, BF_E_ARGUMENT, "an array is not contiguous");
    return bf_place_copy(context, a->data, a->data, &by);
}

/* Has `in` the shape of `out`, or one more dimension in front? */
static bool shapes_fit(const bf_array *in, const bf_array *out) {
    int more = in->ndim - out->ndim;
    if (more != 0 && more != 1) return false;
    for (int d = 0; d < out->ndim; d++)
        if (in->shape[d + more] != out->shape[d]) return false;
    return more == 0 || in->shape[0] > 0;
}

/* Checks the output. Sets *whole to the elements of the whole array. */
static bf_status check_output(bf_comm *comm, const sum_call *call, int64_t *whole) {
    int64_t count;
    bf_context *context = comm->context;
    bf_status status = check_array(context, call->out, &count);
    if (status != BF_OK) return status;
    if (call->out->dtype != call->in->dtype)
        return bf_fail(context, BF_E_DTYPE, "sums of %s, into an array of %s",
                       bf_dtype_name(call->in->dtype), bf_dtype_name(call->out->dtype));
    if (call->to != BF_SUMS_TO_OWNERS) {
        *whole = count;
        if (shapes_fit(call->in, call->out)) return BF_OK;
        return bf_fail(context, BF_E_SHAPE, "the sums have another shape than the terms");
    }
    if (__builtin_mul_overflow(count, comm->carrier.ranks, whole)) *whole = -1;
    int64_t in = bf_array_elements(call->in, bf_dtype_bytes(call->in->dtype));
    if (count == 0 ? in == 0 : *whole > 0 && in % *whole == 0 && in > 0) return BF_OK;
    return bf_fail(context, BF_E_SHAPE,
                   "%lld elements, of which each of %d ranks gets %lld: each gets an equal part",
                   (long long)in, comm->carrier.ranks, (long long)count);
}

static bf_status check_call(bf_comm *comm, const sum_call *call, bf_sum_notice *notice) {
    notice->whole = -1;
    if (call->to == BF_SUMS_TO_ROOT && (call->root < 0 || call->root >= comm->carrier.ranks))
        return bf_fail(comm->context, BF_E_ARGUMENT, "rank %d of %d gets the sums", call->root,
                       comm->carrier.ranks);
    bf_status status = check_array(comm->context, call->in, &notice->elements);
    if (status != BF_OK) return status;
    if (call->to == BF_SUMS_TO_ROOT && comm->carrier.rank != call->root) return BF_OK;
    return check_output(comm, call, &notice->whole);
}

/* ---- agreeing -------------------------------------------------------------------------------- */

/* Finds the elements of the whole array. Returns false if the ranks' arrays do not go together. */
static bool find_whole(const bf_comm *comm, int64_t *whole) {
    bool fits = true;
    *whole = -1;
    for (int r = 0; r < comm->carrier.ranks; r++)
        if (bf_sum_notice_of(comm, r)->whole >= 0) *whole = bf_sum_notice_of(comm, r)->whole;
    for (int r = 0; r < comm->carrier.ranks; r++) {
        const bf_sum_notice *n = bf_sum_notice_of(comm, r);
        bool multiple =
            *whole == 0 ? n->elements == 0 : n->elements > 0 && n->elements % *whole == 0;
        fits = fits && (n->whole < 0 || n->whole == *whole) && multiple;
    }
    return fits && *whole >= 0;
}

/* Sends this rank's notice and gets all. Sets *n to the elements of the whole array. */
static bf_status agree(bf_comm *comm, bf_sum_notice *mine, int64_t *n) {
    int64_t having[BF_COMM_STATUSES] = {0}, block = bf_sum_block(comm->carrier.ranks);
    char *own = comm->blocks + comm->carrier.ranks * block;
    bool same = true;
    memcpy(own, mine, sizeof *mine);
    bf_status status = bf_comm_gather(comm, own, comm->blocks, block);
    if (status != BF_OK) return status;
    for (int r = 0; r < comm->carrier.ranks; r++) {
        const bf_sum_notice *other = bf_sum_notice_of(comm, r);
        having[other->status]++;
        same = same && other->key == mine->key;
        mine->no_link |= other->no_link;
    }
    same = find_whole(comm, n) && same;
    return bf_comm_settle(comm, (bf_status)mine->status, having, same);
}

/* ---- the ways -------------------------------------------------------------------------------- */

bf_status bf_sum_copy(bf_comm *comm, void *to, const void *from, int64_t bytes) {
    const bf_backend *by;
    if (bytes == 0) return BF_OK;
    bf_status status = bf_place_copy(comm->context, to, from, &by);
    return status == BF_OK ? by->memory->copy(comm->context, to, from, (size_t)bytes) : status;
}

/* Do the elements of all ranks travel with the notices? */
static bool are_small(const bf_comm *comm, const bf_sums *sums) {
    int64_t room = bf_sum_room(comm->carrier.ranks), terms = 0;
    bool small = true;
    for (int r = 0; r < comm->carrier.ranks; r++) {
        int64_t elements = bf_sum_notice_of(comm, r)->elements;
        small = small && elements <= room / bf_dtype_bytes(sums->dtype);
        terms += elements / sums->n;
    }
    return small && terms <= SMALL_TERMS;
}

/* Adds arrays that have travelled with the notices. Every rank finds all sums, so that all find one
 * that does not fit. */
static bf_status sum_small(bf_comm *comm, const bf_sums *sums) {
    const void *in[SMALL_TERMS];
    char out[BF_SUM_ROOM];
    int bytes = bf_dtype_bytes(sums->dtype), terms = 0, ranks = comm->carrier.ranks;
    for (int r = 0; r < ranks; r++)
        for (int64_t t = 0; t < bf_sum_terms_of(comm, sums, r); t++)
            in[terms++] = (const char *)(bf_sum_notice_of(comm, r) + 1) + t * sums->n * bytes;
    const bf_comm_job job = {sums->dtype, terms, in, out, sums->n};
    bf_status status = bf_backend_cpu.comm->add(comm->context, &job);
    if (status != BF_OK || sums->out == NULL) return status;
    int64_t part = sums->to == BF_SUMS_TO_OWNERS ? sums->n / ranks : sums->n;
    int64_t first = sums->to == BF_SUMS_TO_OWNERS ? comm->carrier.rank * part : 0;
    return bf_sum_copy(comm, sums->out, out + first * bytes, part * bytes);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The sums that a call asks for, of an array of n elements. */
static bf_sums sums_of(const bf_comm *comm, const sum_call *call, int64_t n, int64_t elements) {
    bool gets = call->to != BF_SUMS_TO_ROOT || comm->carrier.rank == call->root;
    bf_sums sums = {.to = call->to, .root = call->root, .dtype = call->in->dtype, .n = n};
    sums.in = call->in->data;
    sums.terms = n > 0 ? elements / n : 0;
    sums.out = gets ? call->out->data : NULL;
    return sums;
}

static bool link_can(const bf_comm *comm, const sum_call *call, const bf_sum_notice *notice) {
    int64_t n = notice->whole >= 0 ? notice->whole : notice->elements;
    if (comm->link == NULL || n == 0) return false;
    bf_sums sums = sums_of(comm, call, n, notice->elements);
    return comm->by->can_sum(comm->link, &sums);
}

/* Checks the call, and fills the notice in. */
static bf_status open_call(bf_comm *comm, const sum_call *call, bf_sum_notice *notice) {
    char *own = comm->blocks + comm->carrier.ranks * bf_sum_block(comm->carrier.ranks);
    bf_status status = check_call(comm, call, notice);
    if (status != BF_OK) return status;
    notice->key = bf_comm_key(bf_comm_key(BF_COMM_SUM, (uint64_t)call->to), (uint64_t)call->root);
    notice->key = bf_comm_key(notice->key, (uint64_t)call->in->dtype);
    notice->no_link = !link_can(comm, call, notice);
    int64_t bytes = bf_bytes_of(notice->elements, bf_dtype_bytes(call->in->dtype));
    if (notice->no_link == 0 || bytes > bf_sum_room(comm->carrier.ranks)) return BF_OK;
    return bf_sum_copy(comm, own + sizeof *notice, call->in->data, bytes);
}

static bf_status sum_arrays(bf_comm *comm, const sum_call *call) {
    bf_sum_notice notice = {0};
    int64_t n = 0;
    bf_status status = open_call(comm, call, &notice);
    notice.status = status;
    status = agree(comm, &notice, &n);
    if (status != BF_OK || n == 0) return status;
    bf_sums sums = sums_of(comm, call, n, notice.elements);
    if (notice.no_link == 0) return comm->by->sum(comm->link, &sums, true);
    return are_small(comm, &sums) ? sum_small(comm, &sums) : bf_sum_by_exchange(comm, &sums);
}

static bf_status enqueue_sums(bf_comm *comm, const sum_call *call) {
    bf_sum_notice notice = {0};
    bf_status status = check_call(comm, call, &notice);
    if (status != BF_OK) return status;
    if (comm->link == NULL)
        return bf_fail(comm->context, BF_E_DEVICE, "no GPUs of all ranks are linked: %s",
                       comm->why);
    int64_t n = notice.whole >= 0 ? notice.whole : notice.elements;
    bf_sums sums = sums_of(comm, call, n, notice.elements);
    return n == 0 ? BF_OK : comm->by->sum(comm->link, &sums, false);
}

typedef bf_status sum_way(bf_comm *comm, const sum_call *call);

static bf_status enter_sums(bf_comm *comm, sum_call call, sum_way *way) {
    if (comm == NULL || !bf_enter(comm->context)) return BF_E_ARGUMENT;
    return bf_leave(comm->context, way(comm, &call));
}

bf_status bf_comm_allreduce(bf_comm *comm, const bf_array *in, const bf_array *out) {
    return enter_sums(comm, (sum_call){BF_SUMS_TO_ALL, 0, in, out}, sum_arrays);
}
bf_status bf_comm_reduce_scatter(bf_comm *comm, const bf_array *in, const bf_array *out) {
    return enter_sums(comm, (sum_call){BF_SUMS_TO_OWNERS, 0, in, out}, sum_arrays);
}
bf_status bf_comm_reduce(bf_comm *comm, const bf_array *in, const bf_array *out, int root) {
    return enter_sums(comm, (sum_call){BF_SUMS_TO_ROOT, root, in, out}, sum_arrays);
}
bf_status bf_comm_allreduce_async(bf_comm *comm, const bf_array *in, const bf_array *out) {
    return enter_sums(comm, (sum_call){BF_SUMS_TO_ALL, 0, in, out}, enqueue_sums);
}
bf_status bf_comm_reduce_scatter_async(bf_comm *comm, const bf_array *in, const bf_array *out) {
    return enter_sums(comm, (sum_call){BF_SUMS_TO_OWNERS, 0, in, out}, enqueue_sums);
}
bf_status bf_comm_reduce_async(bf_comm *comm, const bf_array *in, const bf_array *out, int root) {
    return enter_sums(comm, (sum_call){BF_SUMS_TO_ROOT, root, in, out}, enqueue_sums);
}
