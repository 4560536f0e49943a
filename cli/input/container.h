/* Files of other formats, known by their first bytes, which other programs turn into text or .npy.
 */
#ifndef BITFOLD_CLI_INPUT_CONTAINER_H
#define BITFOLD_CLI_INPUT_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes that tell which format it is, and bytes that tell more of what is in it. */
enum { CONTAINER_PREFIX = 12, CONTAINER_HEAD = 128 };

/* Whether data begin as one of these formats does. */
bool container_knows(const void *prefix, size_t length);

/* Reports what the file is, by as many of its first CONTAINER_HEAD bytes as it has, and a command
 * that reads it. name NULL: it is not that of a file of this format. Returns an exit code. */
int container_refuse(const char *input, const char *name, const void *head, size_t length);

#endif
