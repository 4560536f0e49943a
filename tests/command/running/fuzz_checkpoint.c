/* Any bytes at all as a checkpoint, and as what its checksum covers: nothing is read outside them,
 * and the work either goes on to some end or is refused. */
#include "cli/work/work.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) abort();
}

/* A text of one column, without a name in any folder, which stays as long as the process. */
static const char *input_name(void) {
    static char name[32];
    static const char text[] = "1\n2\n\n300\n-4\n5.5\n";
    if (*name) return name;
    FILE *f = tmpfile();
    require(f != NULL);
    require(fputs(text, f) >= 0 && fflush(f) == 0);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fileno(f));
    return name;
}

/* Goes on as the bytes say, with a sum and groups of the text. */
static void go_on(work *w, rows *r, bf_context *context) {
    bf_state *state = NULL;
    bf_groups *groups = NULL;
    rows *const inputs[] = {r};
    const work_thing things[] = {{.state = &state}, {.groups = &groups}};
    rows_chunk chunk = {.n = 1};
    const bf_groups_options kind = BF_GROUPS_OPTIONS(.key = BF_I64);
    require(bf_state_create(context, BF_SUM, BF_F64, &state) == BF_OK);
    require(bf_groups_create(context, &kind, &groups) == BF_OK);
    int code = work_begin(w, inputs, 1);
    if (code == EXIT_DONE) code = work_hold(w, things, 2);
    while (code == EXIT_DONE && chunk.n > 0) code = rows_next(r, 0, &chunk);
    require(code == EXIT_DONE || code == EXIT_DATA);
    work_end(w, code, true);
    bf_state_destroy(state);
    bf_groups_destroy(groups);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    checkpoint_reader reader;
    bf_context *context;
    rows r;
    const input in = {.count = -1, .dtype = BF_NONE};
    const rows_options how = {.threads = 1, .digits = size % 2 ? BF_SCALE_MOST_I128 : 0};
    char name[] = "checkpoint";
    report_hold(true);
    if (checkpoint_open(&reader, checkpoint_magic, data, size))
        require(!reader.bad && reader.at <= reader.end);
    require(bf_context_create(NULL, &context) == BF_OK);
    require(rows_open_column(&r, input_name(), &in, &how) == EXIT_DONE);
    work w = {.context = context, .walks_left = 1, .reader = {data, data + size, false}};
    w.name = name;
    go_on(&w, &r, context);
    require(w.reader.at >= data && w.reader.at <= data + size);
    rows_close(&r);
    w.name = NULL;
    work_close(&w, EXIT_DATA);
    bf_context_destroy(context);
    report_release(false);
    return 0;
}
