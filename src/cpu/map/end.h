/* Forgets what kernels.h and its parameters defined, for the next type. */
#undef FN
#undef NAME
#undef T
#undef C
#undef U
#undef LOOP
#undef TEST
