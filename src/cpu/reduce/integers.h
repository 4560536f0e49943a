/* The loops of every integer type, for the instruction set that includes this. */
#include "cpu/runtime/vector.h"

enum {
    INTEGER_BYTES = 256, /* of lanes: four AVX-512 registers */
    INTEGER_ROWS = 128   /* additions before lanes are added up in 64 bits */
};

typedef int8_t i8_element UNALIGNED;
typedef int16_t i16_element UNALIGNED;
typedef int32_t i32_element UNALIGNED;
typedef int64_t i64_element UNALIGNED;
typedef uint8_t u8_element UNALIGNED;
typedef uint16_t u16_element UNALIGNED;
typedef uint32_t u32_element UNALIGNED;
typedef uint64_t u64_element UNALIGNED;

#define NAME i8
#define T i8_element
#define BITS 8
#define LANE int16_t
#define WIDE int64_t
#define KEY(x) (x)
#include "cpu/reduce/integer_loops.h"

#define NAME i16
#define T i16_element
#define BITS 16
#define LANE int32_t
#define WIDE int64_t
#define KEY(x) (x)
#include "cpu/reduce/integer_loops.h"

#define NAME i32
#define T i32_element
#define BITS 32
#define LANE int64_t
#define WIDE int64_t
#define KEY(x) (x)
#include "cpu/reduce/integer_loops.h"

#define NAME i64
#define T i64_element
#define BITS 64
#define WIDE int64_t
#define KEY(x) (x)
#include "cpu/reduce/integer_loops.h"

#define NAME u8
#define T u8_element
#define BITS 8
#define LANE uint16_t
#define WIDE uint64_t
#define KEY(x) (x)
#include "cpu/reduce/integer_loops.h"

#define NAME u16
#define T u16_element
#define BITS 16
#define LANE uint32_t
#define WIDE uint64_t
#define KEY(x) (x)
#include "cpu/reduce/integer_loops.h"

#define NAME u32
#define T u32_element
#define BITS 32
#define LANE uint64_t
#define WIDE uint64_t
#define KEY(x) (x)
#include "cpu/reduce/integer_loops.h"

#define NAME u64
#define T u64_element
#define BITS 64
#define WIDE uint64_t
#define KEY(x) (int64_t)((x) ^ (uint64_t)1 << 63)
#include "cpu/reduce/integer_loops.h"
