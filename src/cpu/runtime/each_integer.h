/* Includes TEMPLATE, the path of a header, once for each integer type, with these parameters:
 *   NAME    the dtype's name
 *   C, U    the type; the unsigned type of its size
 *   T       the type at any alignment
 *   TWICE   the type of twice its size (below 64 bits)
 *   BITS    its width
 *   SIGNED  1 or 0
 * The template undefines them. */

#define NAME i8
#define C int8_t
#define U uint8_t
#define T i8_element
#define TWICE int16_t
#define BITS 8
#define SIGNED 1
#include TEMPLATE

#define NAME i16
#define C int16_t
#define U uint16_t
#define T i16_element
#define TWICE int32_t
#define BITS 16
#define SIGNED 1
#include TEMPLATE

#define NAME i32
#define C int32_t
#define U uint32_t
#define T i32_element
#define TWICE int64_t
#define BITS 32
#define SIGNED 1
#include TEMPLATE

#define NAME i64
#define C int64_t
#define U uint64_t
#define T i64_element
#define BITS 64
#define SIGNED 1
#include TEMPLATE

#define NAME u8
#define C uint8_t
#define U uint8_t
#define T u8_element
#define TWICE uint16_t
#define BITS 8
#define SIGNED 0
#include TEMPLATE

#define NAME u16
#define C uint16_t
#define U uint16_t
#define T u16_element
#define TWICE uint32_t
#define BITS 16
#define SIGNED 0
#include TEMPLATE

#define NAME u32
#define C uint32_t
#define U uint32_t
#define T u32_element
#define TWICE uint64_t
#define BITS 32
#define SIGNED 0
#include TEMPLATE

#define NAME u64
#define C uint64_t
#define U uint64_t
#define T u64_element
#define BITS 64
#define SIGNED 0
#include TEMPLATE

#undef TEMPLATE
