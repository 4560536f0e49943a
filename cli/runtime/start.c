#include "runtime/start.h"

#include "runtime/progress.h"
#include "runtime/stream.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* Opens /dev/null in place of closed standard streams, the wrong way round, so that their use
 * fails. Otherwise a file that is opened later would become a standard stream. */
static void fill_standard_streams(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) == -1) open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void start_process(void) {
    fill_standard_streams();
    stream_take_stdout();
    progress_answer_signal();
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error of write, which is reported */
}
