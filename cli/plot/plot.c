#include "plot/plot.h"

#include <math.h>

plot_span plot_span_of(const plot *p) {
    plot_span s = {0};
    for (int64_t i = 0; i < p->n; i++) {
        const double x = plot_value(p, i);
        if (!isfinite(x)) continue;
        if (x > 0 && (s.positive == 0 || x < s.positive)) s.positive = x;
        if (x < s.least) s.least = x;
        if (x > s.most) s.most = x;
    }
    return s;
}
