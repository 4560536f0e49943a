/* Undefines the macros of kernels.h and its parameters, for the next type. */
#undef FN
#undef NAME
#undef T
#undef C
#undef U
#undef LOOP
#undef TEST
