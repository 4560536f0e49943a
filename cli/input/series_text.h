/* The numbers of one column of text, in rounds: in each, every thread reads a share of the text. */
#ifndef BITFOLD_CLI_INPUT_SERIES_TEXT_H
#define BITFOLD_CLI_INPUT_SERIES_TEXT_H

#include "input/text_team.h"

/* The numbers that one thread has read in this round. */
typedef struct text_share {
    void *numbers;
    int64_t n;
} text_share;

typedef struct series_text {
    text_team team;
    text_share *shares; /* of each thread */
    int next;           /* the share whose numbers are handed out next */
    int64_t from;       /* of a file: where the next round begins */
    int64_t rows;       /* read so far */
    bool ended;
} series_text;

/* ordered: numbers come in the order of the text. Numbers have the layout's dtype. */
int series_text_open(series_text *x, const source *s, int threads, bool ordered);
void series_text_close(series_text *x);

/* As series_next. */
int series_text_next(series_text *x, const void **numbers, int64_t *n);

#endif
