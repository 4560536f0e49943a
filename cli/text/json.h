/* JSON lines: an object on each line (RFC 8259), whose keys are the names of columns.
 *
 * A newline is never inside of a JSON string, so a text of JSON lines is parted as one of which
 * blanks part the fields. The columns are the keys of the lines of the first piece. All that a line
 * holds must be JSON, whether it is wanted or not. Pure functions, as those of text.h. */
#ifndef BITFOLD_CLI_TEXT_JSON_H
#define BITFOLD_CLI_TEXT_JSON_H

#include "text/text.h"

/* A key, which names are looked up in. */
typedef struct json_key {
    char *name; /* as its escapes mean it */
    size_t length;
    int column; /* the wanted column that it is; -1: none */
} json_key;

struct json_keys {
    json_key *all; /* in their order */
    int n;
    size_t room; /* for so many keys */
    int *slots;  /* twice as many, by a hash of the name: the number of a key, from 1; 0: none */
    json_key *wanted; /* the keys that are wanted, by name */
    int columns;
};

/* Takes the keys of the object at p, and of those of the lines behind it. False: it is none, or
 * there is no memory (error->at NULL). */
bool json_take_keys(json_keys *keys, const char *p, const char *end, text_error *error);

/* Says which of them are wanted: the fields of the layout. */
bool json_want_keys(json_keys *keys, const int *fields, int columns);

void json_free_keys(json_keys *keys);

/* text_rows_read, of JSON lines. */
const char *json_rows_read(text_rows *rows, const text_layout *layout, const char *at,
                           const char *end, text_error *error);

#endif
