#include "group/listed.h"

#include "runtime/json.h"
#include "runtime/progress.h"
#include "sheet/output.h"

#include <inttypes.h>
#include <stdlib.h>

static const table_column *key_of(const numbered *x) {
    return &x->table->columns[x->table->key_columns[0]];
}

bool listed_wanted(const numbered *x) {
    const asked *a = x->table->asked;
    return a->listed && a->options->layout == LAYOUT_JSON && key_of(x)->form.dtype != BF_NONE;
}

static void put_cells(FILE *f, const sheet_column *c, int64_t n, int64_t before) {
    for (int64_t i = 0; i < n && !ferror(f); i++) {
        bf_value v = {.dtype = BF_NONE};
        if (!c->valid || c->valid[i]) v = sheet_value(c, i);
        if (before + i > 0) putc(',', f);
        json_value(f, &v);
    }
}

static void put_head(FILE *f, const numbered *x, int64_t n, int64_t groups) {
    const table_column *key = key_of(x);
    fprintf(f, "{\"schema\":1,\"command\":\"%s\",\"file\":", report_command_name());
    json_string(f, x->table->asked->file);
    fprintf(f, ",\"dtype\":\"%s\",\"n\":%" PRId64 ",\"groups\":%" PRId64 ",\"keys\":[",
            output_type(key->form), n, groups);
}

static const char *op_of(const asked_result *r) {
    if (r->value < 0) return "count";
    switch (r->aggregate->order) {
    case ORDER_NONE: return bf_reduction_name(r->aggregate->op);
    case ORDER_MEDIAN_OF: return "median";
    case ORDER_QUANTILE_OF: return "quantile";
    case SHARE_OF_SUM: return "share";
    case ORDER_FIRST_OF: return "first";
    case ORDER_LAST_OF: return "last";
    case ORDER_MODE_OF: return "mode";
    default: return "distinct";
    }
}

/* What stands before the values of a result. */
static void put_title(FILE *f, const asked_result *r) {
    const char *of = r->value < 0 ? NULL : r->aggregate->values;
    fprintf(f, "{\"op\":\"%s\",\"of\":", op_of(r));
    if (of)
        json_string(f, of + (*of == ':'));
    else
        fputs("null", f);
    const char *const other = r->value < 0 ? NULL : r->aggregate->second;
    if (other) {
        fputs(",\"other\":", f);
        json_string(f, other + (*other == ':'));
    }
    if (r->value >= 0 && r->aggregate->order == ORDER_QUANTILE_OF) {
        const bf_value percent = {.dtype = BF_F64, .as.f64 = r->aggregate->percent};
        fputs(",\"percent\":", f);
        json_value(f, &percent);
    }
    fputs(",\"values\":[", f);
}

/* What stands between the columns before this one and its values. */
static void begin_column(FILE *f, const asked *a, int column) {
    if (column == 0) return;
    if (!a->keyed) {
        fputs("],\"counts\":[", f);
        return;
    }
    fputs(column == 1 ? "],\"columns\":[" : "]},", f);
    put_title(f, &a->result[column - 1]);
}

static void put_tail(FILE *f, const numbered *x, double began) {
    fputs(x->table->asked->keyed ? "]}]" : "]", f);
    json_end(f, bf_context_device(x->table->context), progress_clock() - began);
}

void listed_put(FILE *f, const numbered *x, const sheet *s, int64_t n, int64_t groups,
                double began) {
    put_head(f, x, n, groups);
    for (int c = 0; c < s->count; c++) {
        begin_column(f, x->table->asked, c);
        put_cells(f, &s->columns[c], s->rows, 0);
    }
    put_tail(f, x, began);
}

int listed_open(listed *l, const numbered *x) {
    int code = EXIT_DONE;
    *l = (listed){.columns = 1 + x->table->asked->results};
    l->kept = calloc((size_t)l->columns, sizeof *l->kept);
    if (!l->kept) return fail_memory(NULL);
    for (int c = 0; c < l->columns && code == EXIT_DONE; c++) code = kept_open(&l->kept[c]);
    return code;
}

void listed_close(listed *l) {
    for (int c = 0; l->kept && c < l->columns; c++) kept_close(&l->kept[c]);
    free(l->kept);
}

int listed_add(void *arg, const sheet *s) {
    listed *l = arg;
    int code = EXIT_DONE;
    for (int c = 0; c < s->count && code == EXIT_DONE; c++) {
        put_cells(l->kept[c].stream, &s->columns[c], s->rows, l->rows);
        code = kept_check(&l->kept[c]);
    }
    l->rows += s->rows;
    return code;
}

int listed_end(FILE *f, const listed *l, const numbered *x, int64_t n, int64_t groups,
               double began) {
    int code = EXIT_DONE;
    put_head(f, x, n, groups);
    for (int c = 0; c < l->columns && code == EXIT_DONE; c++) {
        begin_column(f, x->table->asked, c);
        code = kept_copy(f, &l->kept[c]);
    }
    put_tail(f, x, began);
    return code;
}
