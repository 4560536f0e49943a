/* A heap of runs that are merged: numbers, of which the least in order is the first. */
#ifndef BITFOLD_CLI_MEMORY_HEAP_H
#define BITFOLD_CLI_MEMORY_HEAP_H

#include <stdbool.h>

typedef bool heap_less(const void *arg, int a, int b);

/* Puts the number at place i of the heap, of n, in order with those below it. */
static inline void heap_sift_down(int *heap, int n, int i, heap_less *is_less, const void *arg) {
    const int moved = heap[i];
    for (int child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && is_less(arg, heap[child + 1], heap[child])) child++;
        if (!is_less(arg, heap[child], moved)) break;
        heap[i] = heap[child];
    }
    heap[i] = moved;
}

/* Makes a heap of any order of n numbers. */
static inline void heap_make(int *heap, int n, heap_less *is_less, const void *arg) {
    for (int i = n / 2 - 1; i >= 0; i--) heap_sift_down(heap, n, i, is_less, arg);
}

#endif
