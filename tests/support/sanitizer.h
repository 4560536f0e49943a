/* For the tests in C: the sanitizer that a program is built for, as THREAD_SANITIZER or
 * ADDRESS_SANITIZER, and SANITIZED with each. */
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

#if defined(ADDRESS_SANITIZER) || defined(THREAD_SANITIZER)
#define SANITIZED 1
#endif

/* Both make all slow: what is slow takes a fourth of its data then, or one case of each kind. So it
 * does in the short form of scripts/test, BITFOLD_SHORT. */
#if defined(SANITIZED) || defined(BITFOLD_SHORT)
enum { DATA_SHARE = 4 };
#else
enum { DATA_SHARE = 1 };
#endif

/* ThreadSanitizer takes every eighth of enumerated cases: it looks at threads, not at values, and
 * is many times as slow. So does AddressSanitizer in the short form. */
#if defined(THREAD_SANITIZER) || (defined(ADDRESS_SANITIZER) && defined(BITFOLD_SHORT))
enum { CASE_STEP = 8 };
#else
enum { CASE_STEP = 1 };
#endif

/* What is the same on every instruction set with 1, 2 and 3 threads is tried on each with all of
 * them, with 1 and 3, or with 1 or 3. */
enum { CONTEXT_STEP = CASE_STEP > 1 ? 3 : DATA_SHARE > 1 ? 2 : 1 };

/* A context of one thread tells ThreadSanitizer nothing: it has those of several. Nor do results,
 * which the other builds compare. */
#ifdef THREAD_SANITIZER
enum { SEVERAL_THREADS = 1, COMPARED = 0 };
#else
enum { SEVERAL_THREADS = 0, COMPARED = 1 };
#endif

#endif
