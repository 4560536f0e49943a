#include "view/control.h"

#include <math.h>

#define NOTCH 0.8 /* a notch of the wheel multiplies the scale by it */
enum { ARROW = 8 /* an arrow key moves by one of so many parts of the window */ };

void control_start(control *c, const julia_request *first, bool wide) {
    *c = (control){.x = (double)(first->params.width / 2), .y = (double)(first->params.height / 2)};
    view_start(&c->view, first, wide);
}

static unsigned take_arrow(control *c, int x, int y) {
    const bf_julia_params *p = &c->view.seen.params;
    view_pan(&c->view, (double)(-x * p->width / ARROW), (double)(-y * p->height / ARROW));
    return DO_RENDER;
}

static unsigned take_key(control *c, int key) {
    switch (key) {
    case KEY_LEFT: return take_arrow(c, -1, 0);
    case KEY_RIGHT: return take_arrow(c, 1, 0);
    case KEY_UP: return take_arrow(c, 0, -1);
    case KEY_DOWN: return take_arrow(c, 0, 1);
    case 'm': view_mandelbrot(&c->view); return DO_RENDER;
    case 'j': view_julia(&c->view, c->x, c->y); return DO_RENDER;
    case 'p': view_next_palette(&c->view); return DO_RECOLOR;
    case '+': view_iterate(&c->view, true); return DO_RENDER;
    case '-': view_iterate(&c->view, false); return DO_RENDER;
    case 's': return DO_SAVE;
    case 'i': c->information = !c->information; return DO_REDRAW;
    case 'h': c->help = !c->help; return DO_REDRAW;
    case 'q':
    case KEY_ESCAPE: return DO_QUIT;
    default: return 0;
    }
}

unsigned control_take(control *c, const gesture *in) {
    const double from_x = c->x, from_y = c->y;
    switch (in->kind) {
    case GESTURE_KEY: return take_key(c, in->key);
    case GESTURE_WHEEL: view_zoom(&c->view, c->x, c->y, pow(NOTCH, in->y)); return DO_RENDER;
    case GESTURE_SIZE: view_resize(&c->view, (int64_t)in->x, (int64_t)in->y); return DO_RENDER;
    default: break;
    }
    c->x = in->x;
    c->y = in->y;
    if (in->kind != GESTURE_DRAG) return 0;
    view_pan(&c->view, c->x - from_x, c->y - from_y);
    return DO_RENDER;
}
