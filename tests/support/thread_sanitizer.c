/* For builds with ThreadSanitizer: GCC takes the accesses of memcpy, which may be off alignment,
 * for ranges of bytes, which the sanitizer looks at slowly. Those of a number are looked at as
 * such. */
#include <stdint.h>

void __tsan_read2(void *at);
void __tsan_read4(void *at);
void __tsan_read8(void *at);
void __tsan_write2(void *at);
void __tsan_write4(void *at);
void __tsan_write8(void *at);
void __tsan_unaligned_read2(void *at);
void __tsan_unaligned_read4(void *at);
void __tsan_unaligned_read8(void *at);
void __tsan_unaligned_write2(void *at);
void __tsan_unaligned_write4(void *at);
void __tsan_unaligned_write8(void *at);
void __tsan_read_range_pc(void *at, uintptr_t bytes, void *caller);
void __tsan_write_range_pc(void *at, uintptr_t bytes, void *caller);
void __tsan_read_range(void *at, uintptr_t bytes);
void __tsan_write_range(void *at, uintptr_t bytes);

/* Each call is the last of its function, which the compiler turns into a jump: so the sanitizer
 * finds the place of the access, to which it returns, and names it in its report. */
#define LOOK(what)                                                                                 \
    __attribute__((visibility("default"))) void __tsan_##what##_range(void *at, uintptr_t bytes) { \
        const uintptr_t off = (uintptr_t)at % bytes;                                               \
        switch (bytes) {                                                                           \
        case 2: return off == 0 ? __tsan_##what##2(at) : __tsan_unaligned_##what##2(at);           \
        case 4: return off == 0 ? __tsan_##what##4(at) : __tsan_unaligned_##what##4(at);           \
        case 8: return off == 0 ? __tsan_##what##8(at) : __tsan_unaligned_##what##8(at);           \
        default: return __tsan_##what##_range_pc(at, bytes, __builtin_return_address(0));          \
        }                                                                                          \
    }
LOOK(read)
LOOK(write)
