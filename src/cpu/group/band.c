/* Bands: the limbs of exact sums that a partition's terms have needed, the same for all its groups.
 */
#include "cpu/group/group.h"

/* Sets the bytes of `groups` groups of `limbs` limbs. false: too many. */
static bool words_bytes(size_t groups, int limbs, size_t *bytes) {
    return !__builtin_mul_overflow(groups, (size_t)limbs * sizeof(int64_t), bytes) &&
           *bytes < SIZE_MAX / 4;
}

bool bf_band_grow(bf_band *band, size_t before, size_t room) {
    size_t old = 0, bytes = 0;
    if (band->limbs == 0) return true;
    if (!words_bytes(room, band->limbs, &bytes)) return false;
    int64_t *words = bf_resize(band->words, bytes);
    if (words == NULL) return false;
    words_bytes(before, band->limbs, &old);
    memset((char *)words + old, 0, bytes - old);
    band->words = words;
    return true;
}

bool bf_band_widen(bf_band *band, size_t room, int first, int limbs) {
    int end = first + limbs;
    if (band->limbs > 0) {
        if (band->first < first) first = band->first;
        if (band->first + band->limbs > end) end = band->first + band->limbs;
    }
    limbs = end - first;
    if (limbs == band->limbs) return true;
    size_t bytes;
    int64_t *words = words_bytes(room, limbs, &bytes) ? bf_zeros(bytes) : NULL;
    if (words == NULL) return false;
    bf_touch(words, bytes);
    for (size_t i = 0; i < room && band->limbs > 0; i++)
        memcpy(words + i * (size_t)limbs + (band->first - first),
               band->words + i * (size_t)band->limbs, (size_t)band->limbs * sizeof *words);
    bf_free(band->words);
    band->words = words;
    band->first = first;
    band->limbs = limbs;
    return true;
}

/* Returns whether the last limb of a group, all of which are carried, has more than 32 bits. */
static bool any_tall(const bf_band *band, size_t room) {
    const int64_t *last = band->words + band->limbs - 1;
    for (size_t i = 0; i < room; i++, last += band->limbs)
        if (*last != (int32_t)*last) return true;
    return false;
}

static void carry_all(bf_band *band, size_t room) {
    for (size_t i = 0; i < room; i++)
        bf_limbs_carry(band->words + i * (size_t)band->limbs, band->limbs);
}

/* A carry out of the band needs another limb; if the band had one limb, perhaps two. */
bool bf_band_prepare(bf_band *band, size_t room, int64_t deposits) {
    if (band->deposits + deposits <= BF_BAND_DEPOSITS_MAX) return true;
    if (band->limbs > 0) carry_all(band, room);
    while (band->limbs > 0 && band->first + band->limbs < band->layout.limbs &&
           any_tall(band, room)) {
        if (!bf_band_widen(band, room, band->first, band->limbs + 1)) return false;
        carry_all(band, room);
    }
    band->deposits = 1;
    return true;
}

void bf_band_limbs(const bf_band *band, size_t i, int64_t *limbs) {
    memset(limbs, 0, (size_t)band->layout.limbs * sizeof *limbs);
    if (band->limbs == 0) return;
    memcpy(limbs + band->first, band->words + i * (size_t)band->limbs,
           (size_t)band->limbs * sizeof *limbs);
    bf_limbs_carry(limbs, band->layout.limbs);
}
