/* For builds with AddressSanitizer: where a check of UBSan traps, it says in which line. */
const char *__asan_default_options(void);

__attribute__((visibility("default"))) const char *__asan_default_options(void) {
    return "handle_sigill=1";
}
