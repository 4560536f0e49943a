/* The form of what -o writes: the ending of its name tells, or --format-out. */
#ifndef BITFOLD_CLI_OPTIONS_FORM_H
#define BITFOLD_CLI_OPTIONS_FORM_H

#include "options/options.h"

/* Settles o->form, and the layout if the form is one, for what the command can write. Returns an
 * exit code, having reported the failure. */
int form_settle(options *o, const usage *u);

/* Refuses a form that is none of these: what is to be written turned out to be something else. */
enum {
    FORMS_OF_TEXT = 1 << FORM_TEXT | 1 << FORM_TSV | 1 << FORM_JSON | 1 << FORM_CSV |
                    1 << FORM_MARKDOWN | 1 << FORM_JSONL
};
int form_check(const options *o, unsigned forms);

/* Where the ending of a file's name begins, with its point; NULL: it has none. */
const char *form_ending(const char *name);

#endif
