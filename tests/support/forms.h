/* For the tests in C: the saved forms of objects, of any type that has one. */
#ifndef BITFOLD_TESTS_SUPPORT_FORMS_H
#define BITFOLD_TESTS_SUPPORT_FORMS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <bitfold.h>

/* Returns the saved form, which the caller frees; NULL: the object cannot be saved. */
#define save_form(object, size) FORM_CALL(save, object)(object, size)
/* Do two objects have the same form? */
#define same_form(a, b) FORM_CALL(same, a)(a, b)
/* Returns what is loaded from the form of an object; NULL: that fails. */
#define copy_form(context, object) FORM_CALL(copy, object)(context, object)

#define assert_same_form(a, b)                                                                     \
    do {                                                                                           \
        if (!same_form(a, b)) fail_msg("%s and %s differ", #a, #b);                                \
    } while (0)

#define FORM_CALL(what, object)                                                                    \
    _Generic((object),                                                                             \
        bf_state *: what##_bf_state,                                                               \
        const bf_state *: what##_bf_state,                                                         \
        bf_histogram *: what##_bf_histogram,                                                       \
        const bf_histogram *: what##_bf_histogram,                                                 \
        bf_quantiles *: what##_bf_quantiles,                                                       \
        const bf_quantiles *: what##_bf_quantiles,                                                 \
        bf_states *: what##_bf_states,                                                             \
        bf_groups *: what##_bf_groups,                                                             \
        bf_table *: what##_bf_table)

/* The functions of a type, whose objects are given as `given`; the size is told by a call. */
#define FORM(type, given, tell_size)                                                               \
    static inline unsigned char *save_##type(given *object, size_t *size) {                        \
        unsigned char *form = (tell_size) == BF_OK ? malloc(*size) : NULL;                         \
        if (form && type##_save(object, form) == BF_OK) return form;                               \
        free(form);                                                                                \
        return NULL;                                                                               \
    }                                                                                              \
    static inline bool same_##type(given *a, given *b) {                                           \
        size_t n = 0, m = 0;                                                                       \
        unsigned char *x = save_##type(a, &n), *y = save_##type(b, &m);                            \
        const bool same = x && y && n == m && memcmp(x, y, n) == 0;                                \
        free(x);                                                                                   \
        free(y);                                                                                   \
        return same;                                                                               \
    }                                                                                              \
    static inline type *copy_##type(bf_context *context, given *object) {                          \
        size_t size = 0;                                                                           \
        type *copy = NULL;                                                                         \
        unsigned char *form = save_##type(object, &size);                                          \
        if (form && type##_load(context, form, size, &copy) != BF_OK) copy = NULL;                 \
        free(form);                                                                                \
        return copy;                                                                               \
    }
FORM(bf_state, const bf_state, (*size = bf_state_save_size(object), BF_OK))
FORM(bf_histogram, const bf_histogram, (*size = bf_histogram_save_size(object), BF_OK))
FORM(bf_quantiles, const bf_quantiles, (*size = bf_quantiles_save_size(object), BF_OK))
FORM(bf_table, bf_table, (*size = bf_table_save_size(object), BF_OK))
FORM(bf_states, bf_states, bf_states_save_size(object, size))
FORM(bf_groups, bf_groups, bf_groups_save_size(object, size))
#undef FORM

#endif
