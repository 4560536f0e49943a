/* Histograms as they are shown: a plot, a table, JSON, an array, a figure. */
#ifndef BITFOLD_CLI_HISTOGRAM_OUTPUT_H
#define BITFOLD_CLI_HISTOGRAM_OUTPUT_H

#include "plot/plot.h"
#include "sheet/output.h"

enum hist_form { HIST_PLOT, HIST_SHEET, HIST_JSON, HIST_NPY, HIST_PNG, HIST_SVG, HIST_PDF };

/* What the options ask for; a plot, if nothing does and standard output is a terminal. Return exit
 * codes, having reported the failure. */
int hist_form_of(const options *o, enum hist_form *form);

/* The data that a histogram is of. */
typedef struct hist_subject {
    const char *file;   /* "total" for several */
    const char *column; /* its name, or NULL */
    bf_context *context;
    double seconds;
    int64_t nulls;     /* rows that were left out, for they have no value */
    bf_time_kind time; /* the elements are times, in units of 10^-scale seconds */
    int scale;
} hist_subject;

/* Only numbers that are not negative have a logarithm: refuses others for --log. values: what is
 * shown in the place of counts, or NULL. */
int hist_check_log(const options *o, const char *file, const double *values, int64_t n);

/* What a figure calls the values of bins; and the format of a form that is one. */
const char *hist_value_label(const options *o);
enum figure_format hist_figure_of(enum hist_form form);

int hist_put(output *out, const options *o, enum hist_form form, const bf_histogram *histogram,
             const hist_subject *subject);

/* Writes how many elements are in no bin, and why: "3 NaN, 1 below"; "" if there are none. */
enum { HIST_OTHERS = 96 };
void hist_others(const bf_histogram_info *info, char text[HIST_OTHERS]);

#endif
