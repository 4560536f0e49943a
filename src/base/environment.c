/* The floating-point environment of the loops. */
#include "base/environment.h"

#if defined(__x86_64__)

bf_environment bf_environment_enter(void) {
    unsigned saved, standard = 0x1f80;
    __asm__ volatile("stmxcsr %0\n\tldmxcsr %1" : "=m"(saved) : "m"(standard) : "memory");
    return (bf_environment){saved};
}

void bf_environment_leave(bf_environment environment) {
    unsigned saved = (unsigned)environment.saved;
    __asm__ volatile("ldmxcsr %0" : : "m"(saved) : "memory");
}

#elif defined(__aarch64__)

/* Sets fpcr alone. The flags of fpsr are cumulative, so they are restored, too. */
bf_environment bf_environment_enter(void) {
    uint64_t control, status, standard = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    __asm__ volatile("mrs %0, fpsr" : "=r"(status));
    __asm__ volatile("msr fpcr, %0" : : "r"(standard) : "memory");
    return (bf_environment){control << 32 | (uint32_t)status};
}

void bf_environment_leave(bf_environment environment) {
    uint64_t control = environment.saved >> 32, status = (uint32_t)environment.saved;
    __asm__ volatile("msr fpcr, %0" : : "r"(control) : "memory");
    __asm__ volatile("msr fpsr, %0" : : "r"(status) : "memory");
}

#else

/* Only the rules run on such a machine, and they use integers. */
bf_environment bf_environment_enter(void) { return (bf_environment){0}; }
void bf_environment_leave(bf_environment environment) { (void)environment; }

#endif
