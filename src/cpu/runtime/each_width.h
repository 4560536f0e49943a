/* Includes TEMPLATE, the path of a header, once for each width of keys (KEY) and of values (VALUE),
 * in bytes. It defines loops_KEY_VALUE, a table of type LOOPS, and undefines VALUE. Then defines
 * LOOPS_OF, which returns the table of two widths. */

#define KEY 4
#define VALUE 0
#include TEMPLATE
#define VALUE 4
#include TEMPLATE
#define VALUE 8
#include TEMPLATE
#define VALUE 16
#include TEMPLATE
#undef KEY

#define KEY 8
#define VALUE 0
#include TEMPLATE
#define VALUE 4
#include TEMPLATE
#define VALUE 8
#include TEMPLATE
#define VALUE 16
#include TEMPLATE
#undef KEY

#define KEY 16
#define VALUE 0
#include TEMPLATE
#define VALUE 4
#include TEMPLATE
#define VALUE 8
#include TEMPLATE
#define VALUE 16
#include TEMPLATE
#undef KEY

const LOOPS *LOOPS_OF(int key_bytes, int value_bytes) {
    static const LOOPS *const all[3][4] = {{&loops_4_0, &loops_4_4, &loops_4_8, &loops_4_16},
                                           {&loops_8_0, &loops_8_4, &loops_8_8, &loops_8_16},
                                           {&loops_16_0, &loops_16_4, &loops_16_8, &loops_16_16}};
    int key = key_bytes == 16 ? 2 : key_bytes / 8;
    return all[key][value_bytes == 16 ? 3 : value_bytes / 4];
}

#undef TEMPLATE
#undef LOOPS
