/* The CRC-32 of zip archives. */
#ifndef BITFOLD_CLI_CONTAINER_CRC_H
#define BITFOLD_CLI_CONTAINER_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Returns the checksum of what gave `crc` (0: of nothing) and n more bytes. */
uint32_t crc_add(uint32_t crc, const void *bytes, size_t n);

#endif
