/* For the tests in C: the sanitizer that a program is built for, as THREAD_SANITIZER or
 * ADDRESS_SANITIZER. */
#ifndef BITFOLD_TESTS_SUPPORT_SANITIZER_H
#define BITFOLD_TESTS_SUPPORT_SANITIZER_H

#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#elif defined(__SANITIZE_ADDRESS__)
#define ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#elif __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#endif
#endif

/* Of enumerated cases ThreadSanitizer takes every fifth: it looks at threads, not at values, and is
 * many times as slow. */
#ifdef THREAD_SANITIZER
enum { CASE_STEP = 5 };
#else
enum { CASE_STEP = 1 };
#endif

#endif
