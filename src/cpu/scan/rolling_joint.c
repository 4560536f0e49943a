/* Windows of joint kinds, sums of powers and of pairs: each part is an exact sum, which elements
 * enter and leave. */
#include "cpu/scan/rolling.h"
#include "cpu/scan/rolling_bands.h"

#include "rules/reduce/joint.h"

typedef struct room {
    int64_t first, end; /* the sums are those of elements [first, end) */
    int64_t added;      /* terms since the bands were carried */
    int64_t counts[BF_SUM_LIMBS];
    bf_parts parts, narrow; /* the kind's, and what `words` has of the bands */
    bf_band band[BF_PARTS_MOST];
    int64_t limbs[BF_PARTS_LIMBS_MOST];
    int64_t words[BF_PARTS_WORDS_MAX + BF_PARTS_MOST]; /* what the result at hand is made of */
    bf_signed numbers[BF_JOINT_ROOM];
} room;

size_t bf_roll_joint_room(void) { return sizeof(room); }

static void open_room(const bf_window *w, room *r, int64_t first) {
    r->parts = r->narrow = bf_parts_after(w->kind, w->dtype, 0);
    for (int i = 0; i < r->parts.count; i++)
        bf_band_open(&r->band[i], r->parts.part[i].layout, r->limbs + r->parts.part[i].at);
    memset(r->counts, 0, sizeof r->counts);
    r->first = r->end = first;
    r->added = 0;
}

static void clear(room *r, int64_t first) {
    for (int i = 0; i < r->parts.count; i++) bf_band_clear(&r->band[i]);
    memset(r->counts, 0, sizeof r->counts);
    r->first = r->end = first;
    r->added = 0;
}

/* ---- elements that enter and leave ----------------------------------------------------------- */

/* Adds a product of three or four, or of integers of 128 bits. */
static void add_long(const bf_part *part, bf_band *b, bf_factor x, bf_factor y, bool leaves) {
    const bf_term t = bf_part_term(part, x, y);
    for (int i = 0; i < t.length; i++)
        bf_limbs_add(b->limbs, t.position + 64 * i, t.word[i], t.negative != leaves);
    bf_band_widen(b, t.position, 2 * t.length + 1);
}

/* Adds a^i b^j, of which no factor is 0: the position of one would widen the band. */
static void add_part(const bf_part *part, bf_band *b, bf_factor x, bf_factor y, bool leaves) {
    const bf_factor u = part->a > 0 ? x : y, v = part->b > 0 ? y : x;
    if ((part->a > 0 && x.magnitude == 0) || (part->b > 0 && y.magnitude == 0)) return;
    if (part->a + part->b > 2 || (u.magnitude | v.magnitude) >> 64 != 0)
        add_long(part, b, x, y, leaves);
    else if (part->a + part->b == 1)
        bf_band_add(b, u.position, (uint64_t)u.magnitude, u.negative != leaves);
    else
        bf_band_add_product(b, u.position + v.position, (uint64_t)u.magnitude,
                            (uint64_t)v.magnitude, (u.negative != v.negative) != leaves);
}

static bf_i128 bits_at(bf_dtype dtype, const char *p) {
    if (p == NULL) return 0;
    return dtype == BF_I128 ? bf_load_i128(p) : (bf_i128)bf_load_bits(p, bf_dtype_bytes(dtype));
}

static void add_element(const bf_window *w, room *r, bf_i128 a, bf_i128 b, bool leaves) {
    if (bf_dtype_is_float(w->dtype)) {
        const int special =
            bf_sum_special_joint(w->kind, bf_format_of(w->dtype), (uint64_t)a, (uint64_t)b);
        r->counts[special] += special == 0 ? 0 : leaves ? -1 : 1;
        if (special != 0) return;
    }
    const bf_factor x = bf_factor_of(w->dtype, a), y = bf_factor_of(w->dtype, b);
    for (int i = 0; i < r->parts.count; i++) add_part(&r->parts.part[i], &r->band[i], x, y, leaves);
    if (++r->added < BF_BAND_TERMS) return;
    for (int i = 0; i < r->parts.count; i++) bf_band_narrow(&r->band[i]);
    r->added = 0;
}

/* ---- windows --------------------------------------------------------------------------------- */

static void add_at(const bf_rolling_tile *t, room *r, int64_t i, bool leaves) {
    const bf_window *w = &t->job->window;
    const char *other = t->other != NULL ? t->other + i * t->stride : NULL;
    add_element(w, r, bits_at(w->dtype, bf_rolling_element(t, i)), bits_at(w->dtype, other),
                leaves);
}

static void move(const bf_rolling_tile *t, room *r, int64_t first, int64_t end) {
    if (first >= r->end) clear(r, first);
    for (; r->first < first; r->first++) add_at(t, r, r->first, true);
    for (; r->end < end; r->end++) add_at(t, r, r->end, false);
    r->counts[BF_SUM_COUNT] = end - first;
}

/* Copies the limbs of a band, carried, and one for the sign. Returns how many there are. */
static int copy_band(const bf_band *b, int64_t *to) {
    const int n = bf_band_layout(b).limbs;
    int64_t carry = 0;
    for (int i = 0; i < n; i++) {
        carry += b->limbs[b->first + i];
        to[i] = (int64_t)(uint32_t)carry;
        carry >>= 32;
    }
    to[n] = carry;
    return n + 1;
}

static uint64_t result_of(const bf_window *w, room *r) {
    uint64_t bits;
    if (bf_window_told(w, r->counts, &bits)) return bits;
    int at = BF_SUM_LIMBS;
    memcpy(r->words, r->counts, sizeof r->counts);
    for (int i = 0; i < r->parts.count; i++) {
        bf_part *part = &r->narrow.part[i];
        part->at = at;
        part->layout = bf_band_layout(&r->band[i]);
        part->layout.limbs = copy_band(&r->band[i], r->words + at);
        at += part->layout.limbs;
    }
    const bf_joint_sums sums = {w->dtype, &r->narrow, r->words};
    return bf_joint_bits(w->kind, w->op, &sums, &w->options, bf_format_of(w->to), r->numbers);
}

bf_status bf_roll_joint(const bf_rolling_tile *t, void *memory) {
    const bf_rolling_job *job = t->job;
    room *r = memory;
    open_room(&job->window, r, bf_rolling_first(job, t->from));
    for (int64_t k = t->from; k < t->to; k++) {
        move(t, r, bf_rolling_first(job, k), bf_rolling_end(job, k));
        if (bf_rolling_refused(&job->window, r->counts)) return BF_E_NAN;
        bf_rolling_store(t, job->window.to, k, result_of(&job->window, r));
    }
    return BF_OK;
}
