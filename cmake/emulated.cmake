# Cross-compiling for BITFOLD_MACHINE (aarch64, powerpc64le or riscv64) with Debian's compiler for it; programs
# run under qemu-user.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES BITFOLD_MACHINE)
string(REPLACE powerpc ppc machine_of_qemu ${BITFOLD_MACHINE})
set(machine_root /usr/${BITFOLD_MACHINE}-linux-gnu)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${BITFOLD_MACHINE})
set(CMAKE_C_COMPILER ${BITFOLD_MACHINE}-linux-gnu-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${machine_of_qemu} -L ${machine_root})
set(CMAKE_FIND_ROOT_PATH ${machine_root})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
