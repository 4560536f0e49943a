/* The main function of the unit tests of a folder: it runs the file that its argument names. */
#include "tests/support/unit.h"

#include <string.h>

static unit_file *files;

void unit_add(unit_file *one) {
    one->next = files;
    files = one;
}

static int usage(const char *program) {
    fprintf(stderr, "usage: %s NAME\nNAME is one of:\n", program);
    for (const unit_file *f = files; f; f = f->next) fprintf(stderr, "  %s\n", f->name);
    return 2;
}

int main(int count, char **words) {
    for (const unit_file *f = files; f && count == 2; f = f->next)
        if (strcmp(f->name, words[1]) == 0) return f->run();
    return usage(words[0]);
}
