/* A CUDA driver that knows only where memory is: a test says of its own memory that it is a GPU's
 * (base/where.c). It is built as a library called libcuda.so.1. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { MEMORY_TYPE = 2, IS_MANAGED = 8, HOST = 1, DEVICE = 2, MOST = 4096 };

typedef struct fake_range {
    uintptr_t first, end;
    int type, managed, device;
} fake_range;

static fake_range ranges[MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* device: -2: pinned, -3: managed, else that GPU's own. bytes 0: it is nothing any more. */
void fake_place(const void *memory, size_t bytes, int device);
void fake_place(const void *memory, size_t bytes, int device) {
    uintptr_t first = (uintptr_t)memory;
    const fake_range range = {first, first + bytes, device == -2 ? HOST : DEVICE, device == -3,
                              device < 0 ? 0 : device};
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < MOST && (bytes > 0 ? ranges[i].first != 0 : ranges[i].first != first)) i++;
    if (i == MOST) abort();
    ranges[i] = bytes > 0 ? range : (fake_range){0};
    pthread_mutex_unlock(&lock);
}

int cuPointerGetAttributes(unsigned count, const int *attributes, void **values, uintptr_t pointer);
int cuPointerGetAttributes(unsigned count, const int *attributes, void **values,
                           uintptr_t pointer) {
    fake_range found = {0};
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MOST && found.end == 0; i++)
        if (pointer >= ranges[i].first && pointer < ranges[i].end) found = ranges[i];
    pthread_mutex_unlock(&lock);
    for (unsigned i = 0; i < count; i++) {
        int which = attributes[i];
        *(int *)values[i] = which == MEMORY_TYPE  ? found.type
                            : which == IS_MANAGED ? found.managed
                                                  : found.device;
    }
    return 0;
}
