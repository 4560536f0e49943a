/* The options of group that ask for aggregates, and lists of what they are of. */
#define _GNU_SOURCE /* strndup */
#include "container/member.h"
#include "options/operand.h"

#include <stdlib.h>
#include <string.h>

static bool add_aggregate(options *o, struct wanted_aggregate wanted) {
    if (o->aggregate_count == OPTIONS_AGGREGATES) {
        fail(EXIT_USAGE, NULL, "more than %d aggregates", OPTIONS_AGGREGATES);
        return false;
    }
    o->aggregates[o->aggregate_count++] = wanted;
    return true;
}

/* ---- one option ------------------------------------------------------------------------------ */

bool read_aggregate(const option_spec *spec, const char *text, void *to) {
    return add_aggregate(to, (struct wanted_aggregate){.option = spec->name,
                                                       .op = (bf_reduction)spec->value,
                                                       .values = text});
}

bool read_pairs(const option_spec *spec, const char *text, void *to) {
    return add_aggregate(to, (struct wanted_aggregate){.option = spec->name,
                                                       .op = (bf_reduction)spec->value,
                                                       .values = text,
                                                       .pairs = true});
}

bool read_order_of(const option_spec *spec, const char *text, void *to) {
    return add_aggregate(to, (struct wanted_aggregate){.option = spec->name,
                                                       .op = BF_SUM,
                                                       .values = text,
                                                       .order = (enum wanted_order)spec->value});
}

static bool refuse_quantile(const option_spec *spec, const char *text) {
    return operand_bad(
        spec->name, text,
        "percents from 0 to 100 and a file or a column, as in 95:x.npy or 5,95:x.npy");
}

/* P:V, or P,P:V */
bool read_quantile(const option_spec *spec, const char *text, void *to) {
    const char *const colon = strchr(text, ':'), *end = text;
    if (!colon || colon[1] == '\0') return refuse_quantile(spec, text);
    for (const char *at = text; at <= colon; at = end + 1) {
        const double percent = parse_percent(at, &end);
        if (!(percent >= 0) || (*end != ',' && end != colon)) return refuse_quantile(spec, text);
        const struct wanted_aggregate wanted = {.option = spec->name,
                                                .values = colon + 1,
                                                .order = ORDER_QUANTILE_OF,
                                                .percent = percent};
        if (!add_aggregate(to, wanted)) return false;
    }
    return true;
}

/* ---- lists of V ------------------------------------------------------------------------------ */

/* Behind what is quoted at p; where the text ends, if the quote is not closed. */
static const char *skip_quoted(const char *p) {
    const char *end = strchr(p + 1, *p);
    return end ? end + 1 : p + strlen(p);
}

/* The first such character outside of brackets and quotes, or the end. */
static const char *find_outside(const char *p, char wanted) {
    int open = 0;
    while (*p && (*p != wanted || open > 0)) {
        open += (*p == '(') - (*p == ')');
        p = strchr("\"'`", *p) ? skip_quoted(p) : p + 1;
    }
    return p;
}

/* Copies of the items of all lists. */
static char *items[OPTIONS_AGGREGATES];
static int item_count;

/* X:Y, where each may have a colon before its name. */
static bool split_pair(struct wanted_aggregate *one, char *item) {
    char *const colon = item + (find_outside(item + (*item == ':'), ':') - item);
    if (*colon == '\0' || colon == item || colon[1] == '\0')
        return operand_bad(one->option, item, "two files or columns, as in x:y");
    *colon = '\0';
    one->second = colon + 1;
    return true;
}

static bool add_item(options *o, const struct wanted_aggregate *list, const char *at, size_t n) {
    struct wanted_aggregate one = *list;
    if (n == 0) return operand_bad(list->option, list->values, "a file or a column");
    char *const item = strndup(at, n);
    if (!item) return fail_memory(NULL) == EXIT_DONE;
    one.values = item;
    if ((one.pairs && !split_pair(&one, item)) || !add_aggregate(o, one)) {
        free(item);
        return false;
    }
    items[item_count++] = item;
    return true;
}

static bool add_items(options *o, const struct wanted_aggregate *list) {
    const char *at = list->values, *end = find_outside(at, ',');
    bool good = add_item(o, list, at, (size_t)(end - at));
    for (; good && *end; good = add_item(o, list, at, (size_t)(end - at))) {
        at = end + 1;
        end = find_outside(at, ',');
    }
    return good;
}

/* Without --by a V may be a file, whose name may have commas. */
static bool is_one(const options *o, const char *values) {
    struct stat st;
    return !values || (!o->by && member_stat(values, &st));
}

int aggregates_list(options *o) {
    struct wanted_aggregate given[OPTIONS_AGGREGATES];
    const int n = o->aggregate_count;
    bool good = true;
    while (item_count > 0) free(items[--item_count]);
    memcpy(given, o->aggregates, sizeof given);
    o->aggregate_count = 0;
    for (int i = 0; i < n && good; i++)
        good = !given[i].pairs && is_one(o, given[i].values) ? add_aggregate(o, given[i])
                                                             : add_items(o, &given[i]);
    return good ? EXIT_DONE : EXIT_USAGE;
}
