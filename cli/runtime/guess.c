#include "runtime/guess.h"

#include "runtime/report.h"

#include <string.h>

enum { LONGEST = 31 };

static int least(int a, int b) { return a < b ? a : b; }

/* How many characters must be inserted, dropped, changed or swapped with their neighbour: the
 * restricted edit distance of Damerau, "A technique for computer detection and correction of
 * spelling errors", CACM 7 (1964). */
static int distance(const char *a, const char *b) {
    int rows[3][LONGEST + 1], *before = rows[0], *last = rows[1], *row = rows[2];
    const int n = (int)strlen(a), m = (int)strlen(b);
    for (int k = 0; k <= m; k++) row[k] = k;
    for (int i = 1; i <= n; i++) {
        int *const oldest = before;
        before = last, last = row, row = oldest;
        row[0] = i;
        for (int k = 1; k <= m; k++) {
            row[k] = least(last[k - 1] + (a[i - 1] != b[k - 1]), least(last[k], row[k - 1]) + 1);
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                row[k] = least(row[k], before[k - 2] + 1);
        }
    }
    return row[m];
}

/* What other tools call it. */
static const char *other_name(const char *word) {
    static const char *const names[][2] = {
        {"avg", "mean"},       {"average", "mean"},    {"stddev", "std"},
        {"stdev", "std"},      {"variance", "var"},    {"percentile", "quantile"},
        {"histogram", "hist"}, {"distinct", "unique"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(word, names[i][0]) == 0) return names[i][1];
    return word;
}

/* One slip in three characters, and one in a word that is shorter. */
guess guess_begin(const char *word) {
    word = other_name(word);
    const int slips = (int)strlen(word) / 3;
    return (guess){word, NULL, 1 + (slips > 0 ? slips : 1)};
}

void guess_consider(guess *g, const char *name) {
    if (strlen(g->word) > LONGEST || strlen(name) > LONGEST) return;
    const int d = distance(g->word, name);
    if (d >= g->distance) return;
    g->distance = d;
    g->best = name;
}

void guess_hint(const guess *g, const char *dashes, const char *otherwise) {
    if (g->best)
        hint("did you mean '%s%s'?", dashes, g->best);
    else
        hint("%s", otherwise);
}
