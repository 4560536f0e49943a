/* bitfold: the command. */
#include "command.h"
#include "runtime/start.h"

int main(int argc, char **argv) {
    start_process();
    return run_bitfold(argc, argv);
}
