/* Files of other formats, known by their first bytes, which other programs turn into text or .npy.
 */
#ifndef BITFOLD_CLI_CONTAINER_CONTAINER_H
#define BITFOLD_CLI_CONTAINER_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes that tell which format it is. */
enum { CONTAINER_HEAD = 512 };

/* Whether data begin as one of these formats does. */
bool container_knows(const void *head, size_t length);

/* Reports what data are that container_knows, and a command that reads them. name NULL: it is not
 * that of a file of this format. Returns an exit code. */
int container_refuse(const char *input, const char *name, const void *head, size_t length);

#endif
