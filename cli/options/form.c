#include "options/form.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* ---- endings --------------------------------------------------------------------------------- */

/* The first of a form is the one that is named for it. */
static const struct {
    const char *ending;
    enum form form;
} endings[] = {{".txt", FORM_TEXT},    {".tsv", FORM_TSV},     {".csv", FORM_CSV},
               {".json", FORM_JSON},   {".jsonl", FORM_JSONL}, {".ndjson", FORM_JSONL},
               {".md", FORM_MARKDOWN}, {".npy", FORM_NPY},     {".png", FORM_PNG},
               {".svg", FORM_SVG},     {".pdf", FORM_PDF}};
enum { ENDINGS = sizeof endings / sizeof *endings, ENDING_MOST = 8 };

/* What follows the last point of "tmp.aB3dEf7Hij" or "v1.2" is no ending: these are at most eight
 * letters and digits, a letter first. */
const char *form_ending(const char *name) {
    const char *const slash = strrchr(name, '/'), *const base = slash ? slash + 1 : name;
    const char *const point = strrchr(base, '.');
    if (!point || point == base || !isalpha((unsigned char)point[1])) return NULL;
    size_t n = 1;
    while (isalnum((unsigned char)point[n])) n++;
    return point[n] == '\0' && n <= ENDING_MOST + 1 ? point : NULL;
}

/* FORM_AUTO: no command writes files of such a name. */
static enum form form_named(const char *ending) {
    for (int i = 0; i < ENDINGS; i++)
        if (strcasecmp(ending, endings[i].ending) == 0) return endings[i].form;
    return FORM_AUTO;
}

static const char *ending_for(enum form form) {
    int i = 0;
    while (endings[i].form != form) i++;
    return endings[i].ending;
}

/* ---- what commands write --------------------------------------------------------------------- */

static const struct {
    uint64_t takes;
    unsigned forms;
} writers[] = {{TAKES_OUTPUT, 1 << FORM_TEXT | 1 << FORM_TSV | 1 << FORM_JSON},
               {TAKES_SHEET, 1 << FORM_CSV | 1 << FORM_MARKDOWN | 1 << FORM_JSONL},
               {TAKES_ARRAY | TAKES_MAP, 1 << FORM_NPY},
               {TAKES_FRAMES, 1 << FORM_NPY | 1 << FORM_PNG},
               {TAKES_PLOT, 1 << FORM_NPY | 1 << FORM_PNG | 1 << FORM_SVG | 1 << FORM_PDF}};

/* Many values are an array; a description has several numbers, and a table columns. */
static unsigned forms_of(const options *o, const usage *u) {
    const bool many = o->axes.n > 0 || o->offsets || o->index || o->slots >= 0 || o->empty;
    unsigned forms = 0;
    if (o->append || (u->takes & TAKES_APPEND && !o->output))
        return writers[0].forms | writers[1].forms;
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
        if (u->takes & writers[i].takes) forms |= writers[i].forms;
    if (many && u->takes & TAKES_MANY && !(u->takes & TAKES_INFER)) forms |= 1 << FORM_NPY;
    return u->takes & TAKES_BY ? forms | 1 << FORM_NPY : forms;
}

/* what: the ending of the form that was asked for; NULL: there is none. */
static int refuse(const options *o, const char *what, unsigned forms) {
    char list[128] = "";
    for (int i = 0; i < ENDINGS; i++)
        if (forms >> endings[i].form & 1) strcat(strcat(list, " "), endings[i].ending);
    if (what)
        fail(EXIT_USAGE, o->output, "%s cannot write this as %s", report_command_name(), what);
    else
        fail(EXIT_USAGE, o->output, "no ending of this name says what to write");
    hint("it can as%s; --format-out tells the form, whatever the name is", list);
    return EXIT_USAGE;
}

int form_check(const options *o, unsigned forms) {
    return forms >> o->form & 1 ? EXIT_DONE : refuse(o, ending_for(o->form), forms);
}

/* Without a word about the form: text, or the one that there is. */
static enum form usual_form(unsigned forms) {
    if (forms >> FORM_TEXT & 1) return FORM_TEXT;
    return forms == 1 << FORM_NPY ? FORM_NPY : FORM_AUTO;
}

/* ---- both ------------------------------------------------------------------------------------ */

/* The form that is asked for, or else named; of text, --csv and its like decide. */
static enum form find_form(const options *o, const char *ending, unsigned forms) {
    if (o->form != FORM_AUTO) return o->form;
    const enum form named = ending ? form_named(ending) : FORM_AUTO;
    if (named > FORM_JSONL) return named;
    if (o->layout != LAYOUT_PLAIN && forms >> FORM_TEXT & 1)
        return (enum form)(FORM_TEXT + (int)o->layout);
    return ending ? named : usual_form(forms);
}

/* A layout says the same as the form. Beside an array, --json is the object that tells of it on
 * standard output. */
static int check_layout(const options *o, enum form form) {
    const char *const layout = options_layout(o->layout);
    if (o->layout == LAYOUT_PLAIN || (int)form == FORM_TEXT + (int)o->layout) return EXIT_DONE;
    if (form > FORM_JSONL && o->layout == LAYOUT_JSON) return EXIT_DONE;
    if (o->form == FORM_AUTO)
        return fail(EXIT_USAGE, o->output,
                    "cannot write --%s: the ending of the name says another form", layout);
    return fail(EXIT_USAGE, NULL, "--format-out and --%s exclude each other", layout);
}

int form_settle(options *o, const usage *u) {
    const unsigned forms = forms_of(o, u);
    const bool file = o->output && strcmp(o->output, "-") != 0;
    const char *const ending = file ? form_ending(o->output) : NULL;
    const enum form form = find_form(o, ending, forms);
    if (form == FORM_AUTO) return file ? refuse(o, ending, forms) : EXIT_DONE;
    if (check_layout(o, form) != EXIT_DONE) return EXIT_USAGE;
    if (!(forms >> form & 1)) return refuse(o, o->form ? ending_for(form) : ending, forms);
    if (!file && form > FORM_JSONL && o->form != FORM_AUTO && !(u->takes & TAKES_MAP))
        return fail(EXIT_USAGE, NULL, "--format-out %s needs -o FILE", ending_for(form) + 1);
    if (form <= FORM_JSONL) o->layout = (enum layout)(form - FORM_TEXT);
    o->form = form;
    return EXIT_DONE;
}
