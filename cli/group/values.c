#include "group/values.h"

#include "container/member.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_file(const char *name) {
    struct stat st;
    return member_stat(name, &st) && !S_ISDIR(st.st_mode);
}

static bool is_regular(const char *name) {
    struct stat st;
    return strcmp(name, "-") != 0 && member_stat(name, &st) && S_ISREG(st.st_mode);
}

/* Whether KEYS, a file that can be read twice, has a column of this name or number. */
static int find_column(const options *o, const char *name, bool *found) {
    source s;
    const char *keys = o->files[0];
    input in = {.format = o->input.format, .count = -1, .text = o->input.text};
    in.text.columns = NULL;
    in.text.table = true;
    *found = false;
    if (in.format == FORMAT_NPY || in.format == FORMAT_RAW || !is_regular(keys)) return EXIT_DONE;
    int code = source_open(&s, keys, &in, NULL);
    if (code != EXIT_DONE) return code;
    const bool text = s.text;
    source_close(&s);
    if (!text) return EXIT_DONE;
    in.text.header = true;
    code = source_open(&s, keys, &in, NULL);
    *found = code == EXIT_DONE && text_layout_column(&s.text->layout, name) >= 0;
    source_close(&s);
    return code;
}

/* V: standard input, a path with a slash, a column behind a colon; or a name of either. */
static int is_values_file(const options *o, const char *name, bool *file) {
    const bool path = strcmp(name, "-") == 0 || strchr(name, '/');
    bool both = false;
    *file = path || (*name != ':' && is_file(name));
    const int code = *file && !path ? find_column(o, name, &both) : EXIT_DONE;
    if (code != EXIT_DONE || !both) return code;
    fail(EXIT_USAGE, name, "it is both a file and a column of %s", o->files[0]);
    hint("'./%s' means the file, ':%s' the column", name, name);
    return EXIT_USAGE;
}

static const char *column_of(const char *name) { return *name == ':' ? name + 1 : name; }

static int add_column(table *t, const char *name) {
    const size_t before = t->also ? strlen(t->also) : 0, more = strlen(name);
    char *list = realloc(t->also, before + more + 2);
    if (!list) return fail_status(BF_E_MEMORY, NULL, name);
    if (before > 0) list[before] = ',';
    memcpy(list + before + (before > 0), name, more + 1);
    t->also = list;
    return EXIT_DONE;
}

int values_find(table *t) {
    int code = EXIT_DONE;
    for (int i = 0; i < t->asked->values && code == EXIT_DONE; i++) {
        const char *const name = t->asked->value[i].text;
        bool file;
        code = is_values_file(t->asked->options, name, &file);
        if (code == EXIT_DONE && !file) code = add_column(t, column_of(name));
        t->values[i].column = file ? t->step_count++ : -1;
    }
    t->steps = calloc((size_t)t->step_count + 1, sizeof *t->steps);
    if (!t->steps) return fail_status(BF_E_MEMORY, NULL, NULL);
    for (int i = 0; i < t->step_count; i++) t->steps[i].source.fd = -1;
    return code;
}

static int refuse_column(const table *t, const char *name) {
    if (t->input->source.text)
        return fail(EXIT_USAGE, t->input->source.name, "not one column: '%s'", column_of(name));
    return fail(EXIT_IO, name, "%s, and the keys are no text",
                *name == ':' ? "it is a column" : "there is no such file");
}

int values_open(table *t) {
    const options *o = t->asked->options;
    const rows_options how = table_reading(t);
    int code = EXIT_DONE;
    for (int i = 0; i < t->asked->values && code == EXIT_DONE; i++) {
        table_value *v = &t->values[i];
        const char *const name = t->asked->value[i].text;
        if (v->column >= 0) {
            code = rows_open_column(&t->steps[v->column], name, &o->input, &how);
            v->column += t->input->columns;
        } else {
            v->column = rows_column_of(t->input, column_of(name));
            if (v->column < 0) code = refuse_column(t, name);
        }
    }
    return code;
}
