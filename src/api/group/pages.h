/* Groups as words, a page at a time. */
#ifndef BF_API_GROUP_PAGES_H
#define BF_API_GROUP_PAGES_H

#include "api/group/group.h"

enum { BF_GROUP_PAGE = 1 << 12 /* groups */ };

typedef struct bf_group_pages {
    const bf_groups *groups;
    int64_t n;                         /* number of groups */
    char *keys;                        /* the keys of all groups, in order */
    int64_t *counts;                   /* rows of each group */
    int64_t *words[BF_AGGREGATES_MAX]; /* each aggregate's, for the groups of a page */
    int each[BF_AGGREGATES_MAX];       /* words of a group */
} bf_group_pages;

/* Allocates memory for the keys and counts of n groups, and for the words of a page. The caller
 * closes pages, also after a failure. Errors: BF_E_MEMORY, in `context`. */
bf_status bf_group_pages_make(const bf_groups *groups, int64_t n, bf_context *context,
                              bf_group_pages *pages);

/* Lists keys and counts, and allocates memory for the words of a page. The caller closes pages,
 * also after a failure. Errors: BF_E_MEMORY, BF_E_DEVICE, in `context`. */
bf_status bf_group_pages_open(const bf_groups *groups, bf_context *context, bf_group_pages *pages);
void bf_group_pages_close(bf_group_pages *pages);

/* Reads the words of groups [first, first + n), at most BF_GROUP_PAGE. Errors: BF_E_MEMORY,
 * BF_E_DEVICE. */
bf_status bf_group_pages_read(bf_group_pages *pages, int64_t first, int64_t n);

/* Do both have the same dtype of keys and the same aggregates? Errors: BF_E_STATE, in into's
 * context. */
bf_status bf_groups_match(const bf_groups *into, const bf_groups *from);

#endif
