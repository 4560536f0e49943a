#define _GNU_SOURCE /* strdup */
#include "rows/written.h"

#include "text/field.h"
#include "text/item.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of rows that are written, or made to a sheet, at a time; those of a hint. */
enum { GATHERED = 1 << 18, TOLD = 240 };

/* ---- the columns of a sheet ------------------------------------------------------------------ */

/* Finds the names of all columns; of a text without them, they are empty. */
static bool index_names(const written *w, text_names *names) {
    const text_layout *l = &w->layout;
    const bool room = text_names_open(names, l->columns);
    for (int k = 0; room && k < l->columns; k++) {
        const char *const name = l->names ? l->names[k] : "";
        text_names_set(names, k, name, strlen(name));
    }
    return room;
}

static void tell_names(const written *w, const text_names *names) {
    char text[TOLD];
    text_names_tell(names, w->layout.keys, text, sizeof text);
    if (w->layout.names) hint("%s", text);
}

/* The column of the layout that an item means; -1: none, as was reported. */
static int find_column(const written *w, const text_names *names, text_item item) {
    const int field = text_item_field(item), shown = item.length < 80 ? (int)item.length : 80;
    int found = -1;
    if (field >= 0 && field < names->n) return field;
    const int n = w->layout.names ? text_names_find(names, item, &found) : 0;
    if (n == 1) return found;
    if (field >= 0 && n == 0)
        fail(EXIT_DATA, w->file, "--take: no column %.*s: there are %d", shown, item.at, names->n);
    else
        fail(EXIT_DATA, w->file, "--take: %s column is named '%.*s'",
             n == 0 ? "no" : "more than one", shown, item.at);
    tell_names(w, names);
    return -1;
}

static bool reserve_columns(written *w, int n) {
    w->columns = calloc((size_t)n + 1, sizeof *w->columns); /* one may be added */
    w->strings = calloc((size_t)n, sizeof *w->strings);
    w->of = calloc((size_t)n, sizeof *w->of);
    w->forms = malloc((size_t)w->layout.columns);
    if (w->forms) memset(w->forms, TEXT_STRINGS, (size_t)w->layout.columns);
    return w->columns && w->strings && w->of && w->forms;
}

static int take_all(written *w) {
    if (!reserve_columns(w, w->layout.columns)) return fail_memory(w->file);
    for (; w->count < w->layout.columns; w->count++) w->of[w->count] = w->count;
    return EXIT_DONE;
}

/* Takes the columns of a list, whose ranges and patterns are written out. */
static int take_list(written *w, const text_names *names, const char *at) {
    int n = 1;
    for (const char *c = at; *c; c++) n += *c == ',';
    if (!reserve_columns(w, n)) return fail_memory(w->file);
    while (*at) {
        const int column = find_column(w, names, text_take_item(&at, ","));
        if (column < 0) return EXIT_DATA;
        w->of[w->count++] = column;
    }
    return w->count > 0 ? EXIT_DONE : fail(EXIT_USAGE, NULL, "--take: it names no column");
}

/* Finds the columns of --take, in its order; without it, all. */
static int take_columns(written *w) {
    text_names names;
    if (!w->options->take) return take_all(w);
    const bool room = index_names(w, &names);
    const text_numbered x =
        room ? text_names_number(&names, w->options->take) : (text_numbered){.list = NULL};
    int code = x.list ? EXIT_DONE : fail_memory(w->file);
    if (x.nothing.at) {
        code = fail(EXIT_DATA, w->file, "--take: '%.*s' is none of the %d columns",
                    x.nothing.length < 80 ? (int)x.nothing.length : 80, x.nothing.at, names.n);
        tell_names(w, &names);
    }
    if (code == EXIT_DONE) code = take_list(w, &names, x.list);
    text_names_close(&names);
    free(x.list);
    return code;
}

/* Keeps the columns that are shown, as strings. */
static bool keep_columns(written *w) {
    const int all = w->layout.columns;
    int *const fields = calloc((size_t)all, sizeof *fields),
               *place = calloc((size_t)all, sizeof *place);
    unsigned char *const kinds = malloc((size_t)all);
    bool good = fields && place && kinds;
    for (int i = 0; good && i < w->count; i++) place[w->of[i]] = 1;
    int n = 0;
    for (int k = 0; good && k < all; k++) {
        if (!place[k]) continue;
        kinds[n] = TEXT_STRINGS_TOO;
        fields[n] = w->layout.fields[k];
        place[k] = n++;
    }
    for (int i = 0; good && i < w->count; i++) w->of[i] = place[w->of[i]];
    good = good && text_layout_keep(&w->layout, fields, kinds, n);
    free(fields);
    free(place);
    free(kinds);
    return good;
}

static bool name_columns(written *w) {
    char number[32];
    bool good = true;
    for (int i = 0; i < w->count && good; i++) {
        const int k = w->of[i];
        snprintf(number, sizeof number, "%d", w->layout.fields[k] + 1);
        w->columns[i] =
            (sheet_column){.name = strdup(w->layout.names ? w->layout.names[k] : number),
                           .strings = &w->strings[i],
                           .typed = w->layout.typed != TEXT_UNTYPED};
        good = w->columns[i].name;
    }
    return good;
}

/* Finds the layout of all columns, as that of the keys was found. */
static int open_sheet(written *w, const text_input *t) {
    const text_piece *first = &t->first;
    text_options how = w->options->input.text;
    text_error error;
    const char *at = t->header ? first->begin - strlen(t->header) : first->begin;
    how.columns = how.text = how.number = NULL;
    how.json = t->layout.keys != NULL;
    how.delimiter = t->delimiter;
    how.header = t->layout.names && !t->layout.keys;
    how.no_header = !t->layout.names;
    how.all = how.typed = how.skip_nulls = true;
    if (!text_layout_find(&w->layout, &how, &at, first->end, &error))
        return fail(EXIT_DATA, w->file, "%s", error.what);
    int code = take_columns(w);
    if (code == EXIT_DONE && !keep_columns(w)) code = fail_memory(w->file);
    if (code == EXIT_DONE && !name_columns(w)) code = fail_memory(w->file);
    if (code == EXIT_DONE && !text_rows_open(&w->rows, &w->layout, w->forms))
        code = fail_memory(w->file);
    return code;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Room for a row and its newline, and for what may be read behind a text. */
static bool reserve_text(written *w, size_t bytes) {
    const size_t room = w->used + bytes + 1 > GATHERED ? w->used + bytes + 1 : GATHERED;
    if (room <= w->room) return true;
    char *const more = realloc(w->text, room + TEXT_SLACK + 1);
    if (!more) return false;
    w->text = more;
    w->room = room;
    return true;
}

/* Spreads out which fields of a column are NULL, in bytes behind those of other columns. */
static void spread_valid(const written *w, int i, uint8_t *to) {
    const uint8_t *const bits = w->rows.columns[w->of[i]].valid;
    for (int64_t row = 0; row < w->rows.n; row++) to[row] = text_has_bit(bits, row);
    w->columns[i].valid = to;
}

static int refuse_row(const written *w, const text_error *e) {
    fail(EXIT_DATA, w->file, "%s", e->what);
    if (*e->hint) hint("%s", e->hint);
    return EXIT_DATA;
}

/* Reads the gathered rows as columns of strings. */
static int read_rows(written *w) {
    text_error error = {.at = NULL};
    if (!reserve_text(w, 0)) return fail_memory(w->file);
    char *const end = w->text + w->used;
    memset(end, '\n', TEXT_SLACK);
    end[TEXT_SLACK] = '\0';
    w->rows.quoted = text_spans_lines(w->layout.delimiter) && memchr(w->text, '"', w->used);
    if (!text_rows_reserve(&w->rows, &w->layout, w->n)) return fail_memory(w->file);
    if (!text_rows_read(&w->rows, &w->layout, w->text, end, w->n, &error))
        return w->rows.no_memory ? fail_memory(w->file) : refuse_row(w, &error);
    return EXIT_DONE;
}

static int put_sheet(written *w) {
    int code = read_rows(w);
    const int64_t n = w->rows.n;
    uint8_t *const valid =
        code == EXIT_DONE ? buffer_take(&w->valid, (size_t)n * (size_t)w->count) : NULL;
    if (code == EXIT_DONE && !valid) code = fail_memory(w->file);
    if (code != EXIT_DONE) return code;
    for (int i = 0; i < w->count; i++) {
        const text_strings *s = &w->rows.columns[w->of[i]].strings;
        w->strings[i] = (bf_strings){sizeof(bf_strings), n, BF_I64, s->offsets, s->bytes};
        spread_valid(w, i, valid + i * n);
    }
    if (w->options->append)
        w->columns[w->count] =
            (sheet_column){.name = w->options->append, .values = (const bf_value *)w->values.at};
    const sheet part = {
        .columns = w->columns, .count = w->count + (w->options->append != NULL), .rows = n};
    return output_sheet(w->output, w->form, &part, w->file);
}

static int flush(written *w) {
    int code = EXIT_DONE;
    if (w->raw)
        fwrite(w->text, 1, w->used, w->output->stream);
    else
        code = put_sheet(w);
    w->used = 0;
    w->n = 0;
    return code;
}

int written_add(written *w, const char *row, size_t bytes) {
    if (w->used > 0 && w->used + bytes + 1 > w->room) {
        const int code = flush(w);
        if (code != EXIT_DONE) return code;
    }
    if (!reserve_text(w, bytes)) return fail_memory(w->file);
    memcpy(w->text + w->used, row, bytes);
    w->used += bytes;
    w->text[w->used++] = '\n';
    w->n++;
    return EXIT_DONE;
}

/* Puts a field behind the row that was added last, and before its newline or CR LF. */
static int append_field(written *w, const char *field, size_t bytes) {
    if (!reserve_text(w, bytes + 1)) return fail_memory(w->file);
    const size_t behind = w->used > 1 && w->text[w->used - 2] == '\r' ? 2 : 1;
    char *const at = w->text + w->used - behind;
    memmove(at + bytes + 1, at, behind);
    *at = w->layout.delimiter;
    memcpy(at + 1, field, bytes);
    w->used += bytes + 1;
    return EXIT_DONE;
}

int written_add_value(written *w, const char *row, size_t bytes, const bf_value *value) {
    char text[BF_VALUE_TEXT] = "";
    int code = written_add(w, row, bytes);
    if (w->raw) {
        if (value->dtype != BF_NONE) output_format(value, w->output->hex, text);
        return code == EXIT_DONE ? append_field(w, text, strlen(text)) : code;
    }
    bf_value *const values = buffer_grow(&w->values, (size_t)w->n * sizeof *values);
    if (!values) return fail_memory(w->file);
    values[w->n - 1] = *value;
    return code;
}

/* A sheet without rows has a header. */
int written_end(written *w) {
    return w->used > 0 || (!w->raw && !w->output->sheet.stream) ? flush(w) : EXIT_DONE;
}

/* ---- the form -------------------------------------------------------------------------------- */

/* Whether an option, not the name of a file, asks for the form. */
static bool is_form_asked(const options *o) {
    int n;
    const given_option *given = options_given(&n);
    const char *const layout = options_layout(o->layout);
    for (int i = 0; i < n; i++)
        if (strcmp(given[i].spec->name, layout) == 0 ||
            strcmp(given[i].spec->name, "format-out") == 0)
            return true;
    return false;
}

/* Rows stay as they stand in plain text, and in a file whose name tells the form they have. */
bool written_stays(const options *o, bool json, char delimiter) {
    const enum sheet_form form = sheet_form_of(o);
    const char mark = form == SHEET_CSV ? ',' : form == SHEET_TSV ? '\t' : '\0';
    const bool same = json ? form == SHEET_JSON : delimiter == mark;
    return !o->take && (form == SHEET_PLAIN || (same && !is_form_asked(o)));
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Appends the name of the column that is added, in quotes if need be. */
static int append_name(written *w, const char *name) {
    const char special[] = {w->layout.delimiter, '"', '\n', '\r', ' ', '\0'};
    const size_t plain = strlen(name);
    char *const quoted = malloc(2 * plain + 3), *at = quoted;
    if (!quoted) return fail_memory(w->file);
    *at++ = '"';
    for (const char *c = name; *c; c++) {
        if (*c == '"') *at++ = '"';
        *at++ = *c;
    }
    *at++ = '"';
    const bool quotes = name[strcspn(name, special)] != '\0' || plain == 0;
    const int code =
        quotes ? append_field(w, quoted, (size_t)(at - quoted)) : append_field(w, name, plain);
    free(quoted);
    return code;
}

/* It is gathered as a row is, so that nothing is written if no row can be read. */
static int put_header(written *w, const char *header) {
    const size_t bytes = strlen(header);
    if (!reserve_text(w, bytes)) return fail_memory(w->file);
    memcpy(w->text, header, bytes);
    w->used = bytes;
    return w->options->append ? append_name(w, w->options->append) : EXIT_DONE;
}

/* A value that is added needs its place in a row: it has none in an object, in a row that may be
 * short, or behind blanks. */
static bool can_append(const text_layout *l) { return !l->keys && !l->lax && l->delimiter != ' '; }

int written_open(written *w, output *out, const options *o, const source *s) {
    const char *const header = s->text->header;
    *w = (written){.output = out, .options = o, .form = sheet_form_of(o)};
    if (o->take && w->form == SHEET_PLAIN) w->form = SHEET_TSV; /* it has a header */
    w->file = s->name;
    w->layout.delimiter = s->text->layout.delimiter;
    w->raw = written_stays(o, s->text->layout.keys, w->layout.delimiter) &&
             (!o->append || can_append(&s->text->layout));
    if (!w->raw && w->form == SHEET_PLAIN) w->form = s->text->layout.keys ? SHEET_JSON : SHEET_TSV;
    if (!w->raw) return open_sheet(w, s->text);
    return header ? put_header(w, header) : EXIT_DONE;
}

void written_close(written *w) {
    for (int i = 0; i < w->count && w->columns; i++) free((char *)w->columns[i].name);
    text_rows_free(&w->rows);
    text_layout_free(&w->layout);
    free(w->columns);
    free(w->strings);
    free(w->forms);
    free(w->of);
    free(w->text);
    buffer_free(&w->valid);
    buffer_free(&w->values);
}

/* ---- several files --------------------------------------------------------------------------- */

/* Whether two headers have the same names, however these are quoted. */
static bool same_names(const char *a, const char *b, char delimiter) {
    if (!a || !b) return a == b;
    a = text_skip_blanks(a, delimiter);
    b = text_skip_blanks(b, delimiter);
    while (a && b) {
        const text_field x = text_take_field(a, delimiter), y = text_take_field(b, delimiter);
        const size_t n = (size_t)(x.end - x.at);
        if ((size_t)(y.end - y.at) != n || memcmp(x.at, y.at, n) != 0) return false;
        a = text_next_field(x.next, delimiter);
        b = text_next_field(y.next, delimiter);
    }
    return a == b;
}

int written_match(const source *s, const source *first) {
    const text_layout *a = &first->text->layout, *b = &s->text->layout;
    const bool same = a->delimiter == b->delimiter && a->most == b->most &&
                      same_names(first->text->header, s->text->header, a->delimiter);
    return same ? EXIT_DONE
                : fail(EXIT_DATA, s->name, "its columns are not those of %s", first->name);
}
