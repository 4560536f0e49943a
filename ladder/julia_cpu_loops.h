/* Sixteen pixels at a time, for the instruction set that NAME and TARGET say. */

/* Until the last of them has escaped. */
TARGET static void NAME(escape)(const floats *at, float y, ints *counts) {
    floats re = *at, im = y - (floats){0};
    ints inside = (ints){0} - 1, count = {0};
    for (int i = 0; i < known.steps; i++) {
        const floats next = (re * re - im * im) + known.c_re;
        im = (im * re + re * im) + known.c_im;
        re = next;
        inside &= re * re + im * im <= known.escape;
        count -= inside;
        if (i % TESTED != TESTED - 1) continue;
        int32_t any = 0;
        for (int k = 0; k < LANES; k++) any |= inside[k];
        if (any == 0) break;
    }
    *counts = count;
}

#undef NAME
#undef TARGET
