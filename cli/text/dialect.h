/* How the bytes of a text are to be taken, before it has rows and fields. */
#ifndef BITFOLD_CLI_TEXT_DIALECT_H
#define BITFOLD_CLI_TEXT_DIALECT_H

#include <stdbool.h>
#include <stdint.h>

/* TEXT_AUTO: as the byte order mark says; without one, UTF-8. */
enum text_encoding { TEXT_AUTO, TEXT_UTF8, TEXT_UTF16, TEXT_LATIN1 };

typedef struct text_dialect {
    enum text_encoding encoding;
    int64_t skip; /* lines before the text */
    char comment; /* a line that begins with it is none; '\0': each is one */
    char escape;  /* takes the meaning from the byte behind it; '\0': nothing does */
} text_dialect;

/* Whether any of it was asked for. */
static inline bool text_dialect_is_asked_for(const text_dialect *x) {
    return x->encoding != TEXT_AUTO || x->skip > 0 || x->comment || x->escape;
}

#endif
