/* Finds the known name that an unknown one was probably meant to be. */
#ifndef BITFOLD_CLI_RUNTIME_GUESS_H
#define BITFOLD_CLI_RUNTIME_GUESS_H

typedef struct guess {
    const char *word, *best; /* best: NULL if nothing is near enough */
    int distance;            /* a name must be nearer than this */
} guess;

guess guess_begin(const char *word);
void guess_consider(guess *g, const char *name);

/* hint: "did you mean 'BEST'?", with dashes before it, or else what `otherwise` says. */
void guess_hint(const guess *g, const char *dashes, const char *otherwise);

#endif
