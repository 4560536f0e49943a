# Every test there is, in one list. A test whose tool or library is missing is reported as skipped.

set(skip_code 77)

function(bitfold_test name)
    add_test(NAME ${name} COMMAND ${ARGN})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE ${skip_code} TIMEOUT 600)
endfunction()

function(bitfold_skip name reason)
    bitfold_test(${name} sh -c "echo 'skipped: ${reason}' && exit ${skip_code}")
endfunction()

# In the short form (BITFOLD_SHORT) tests take less data and fewer cases: tests/support/sanitizer.h,
# SHORT in tests/support/python/command.py. scripts/test-long runs all in full.

set(build release)
if(CMAKE_C_FLAGS MATCHES "-fsanitize=address")
    set(build asan)
elseif(CMAKE_C_FLAGS MATCHES "-fsanitize=thread")
    set(build tsan)
endif()

# bitfold_left_out(NAME FILE RESULT): is the test of this file left out of this build, and reported so?
# A file says in which builds it runs: "Builds: release, asan (full), tsan (full)." What is full is
# left out of the short form. One that says nothing runs in all but tsan: ThreadSanitizer sees threads
# alone, so that a test of none, or of those that another test has, would tell it nothing.
function(bitfold_left_out name file result)
    file(STRINGS ${file} builds REGEX "Builds: .*\\." LIMIT_COUNT 1)
    if(NOT builds)
        set(builds "Builds: release, asan.")
    endif()
    set(${result} ON PARENT_SCOPE)
    if(builds MATCHES "${build}[,.]" OR (NOT BITFOLD_SHORT AND builds MATCHES "${build} .full"))
        set(${result} OFF PARENT_SCOPE)
    elseif(builds MATCHES "${build}")
        bitfold_skip(${name} "too long for the short form: scripts/test-long runs it")
    else()
        bitfold_skip(${name} "other builds see all that it does: its file names them")
    endif()
endfunction()

# tests/P holds the tests of primitive P: unit_X.c is unit.X, gpu_X.c gpu.X, and so on. Their includes
# are written from the root of the project, those of src from there.

# The unit tests of P are one program, unit_P, whose argument is X; against MPFR where a value is
# rounded. They are compiled with little optimization: the library, which they test, has its own.
set(unit_options $<$<NOT:$<CONFIG:Debug>>:-O1>)
if(BITFOLD_SHORT AND build STREQUAL asan)
    # What the library does with the memory of the tests is watched, not what the tests do with it.
    list(APPEND unit_options --param=asan-instrument-reads=0 --param=asan-instrument-writes=0)
endif()
find_library(CMOCKA cmocka)
find_library(MPFR mpfr)
find_library(GMP gmp)
file(GLOB_RECURSE tests CONFIGURE_DEPENDS tests/unit_*.c)
foreach(file ${tests})
    string(REGEX MATCH "/tests/([a-z]+)/.*unit_(.*)\\.c$" matched ${file})
    set(program unit_${CMAKE_MATCH_1})
    set(name ${CMAKE_MATCH_2})
    bitfold_left_out(unit.${name} ${file} left_out)
    if(left_out)
        continue()
    elseif(NOT CMOCKA OR NOT MPFR OR NOT GMP)
        bitfold_skip(unit.${name} "needs cmocka, MPFR and GMP")
        continue()
    elseif(NOT TARGET unit_support)
        add_library(unit_support OBJECT tests/support/unit.c tests/support/failing_malloc.c)
        target_include_directories(unit_support PRIVATE ${PROJECT_SOURCE_DIR} include)
        bitfold_warnings(unit_support)
    endif()
    if(NOT TARGET ${program})
        add_executable(${program})
        target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR} src)
        target_link_libraries(${program} PRIVATE unit_support bitfold_cli ${CMOCKA} ${MPFR} ${GMP} m)
        target_compile_options(${program} PRIVATE ${unit_options})
        bitfold_warnings(${program})
    endif()
    target_sources(${program} PRIVATE ${file})
    bitfold_test(unit.${name} ${program} ${name})
endforeach()
if(TARGET unit_view)
    target_link_libraries(unit_view PRIVATE bitfold_viewing)
endif()

# A driver that says whose memory is whose.
if(TARGET unit_runtime)
    add_library(fake_driver SHARED tests/support/fake_driver.c)
    set_target_properties(fake_driver PROPERTIES
        OUTPUT_NAME cuda SOVERSION 1 C_VISIBILITY_PRESET default
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fake_driver)
    target_link_libraries(fake_driver PRIVATE Threads::Threads)
    bitfold_warnings(fake_driver)
    target_compile_definitions(unit_runtime PRIVATE FAKE_DRIVER="$<TARGET_FILE:fake_driver>")
    add_dependencies(unit_runtime fake_driver)
endif()

# More elements than 31 bits count; scripts/test-long runs these, without a sanitizer.
file(GLOB_RECURSE files CONFIGURE_DEPENDS tests/huge_*.c)
foreach(file ${files})
    cmake_path(GET file STEM name)
    if(CMOCKA AND MPFR AND GMP AND NOT BITFOLD_SHORT AND NOT CMAKE_C_FLAGS MATCHES "-fsanitize")
        add_executable(${name} ${file})
        target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
        target_link_libraries(${name} PRIVATE bitfold_static ${CMOCKA} ${MPFR} ${GMP} m)
        target_compile_options(${name} PRIVATE -ffp-contract=off)
        bitfold_warnings(${name})
    endif()
endforeach()

# The GPU against the CPU's rules, through the library's interface alone; scripts/test-gpu runs
# these and more. One takes nearly all of the GPU's memory, so they run one by one.
file(GLOB_RECURSE tests CONFIGURE_DEPENDS tests/gpu_*.c)
foreach(file ${tests})
    cmake_path(GET file STEM name)
    string(REPLACE gpu_ gpu. test ${name})
    if(bitfold_cuda AND CMOCKA)
        add_executable(${name} ${file})
        target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
        target_link_libraries(${name} PRIVATE bitfold CUDA::cudart_static Threads::Threads
                              ${CMOCKA} m)
        bitfold_warnings(${name})
        bitfold_test(${test} ${name})
        set_tests_properties(${test} PROPERTIES RESOURCE_LOCK gpu)
        if(BITFOLD_CUDA_CHECK) # no GPU will run it
            target_compile_options(${name} PRIVATE -O0)
        endif()
    else()
        bitfold_skip(${test} "needs a CUDA compiler and cmocka")
    endif()
endforeach()
foreach(name link link_states nccl processes order) # they use the seam
    if(TARGET gpu_${name})
        target_include_directories(gpu_${name} PRIVATE src)
        set_target_properties(gpu_${name} PROPERTIES LINK_LIBRARIES "")
        target_link_libraries(gpu_${name} PRIVATE bitfold_static ${CMOCKA} m)
        bitfold_link_as_c(gpu_${name})
    endif()
endforeach()

# Every operation on every ISA and thread count, and every ISA on data that are hard; cross-compiled,
# under the emulator.
if(NOT build STREQUAL release)
    bitfold_skip(verify "too slow under a sanitizer")
elseif(NOT BITFOLD_SHORT)
    bitfold_test(verify bitfold_command verify)
else() # of few elements, and reductions alone
    file(READ LICENSE elements)
    string(SUBSTRING "${elements}" 0 4096 elements)
    file(WRITE ${PROJECT_BINARY_DIR}/elements "${elements}")
    foreach(dtype i8 u16 i32 u64 f16 bf16 f32 f64)
        bitfold_test(verify.${dtype} bitfold_command verify --format raw --dtype ${dtype}
                     ${PROJECT_BINARY_DIR}/elements)
    endforeach()
endif()
bitfold_left_out(isa tests/runtime/isa_check.c left_out)
if(NOT left_out)
    add_executable(isa_check tests/runtime/isa_check.c)
    target_include_directories(isa_check PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(isa_check PRIVATE bitfold_static)
    bitfold_warnings(isa_check)
    bitfold_test(isa isa_check)
    set_tests_properties(isa PROPERTIES COST 100) # the longest under the emulator: no core waits for it
endif()

# The rules are in the common subset of C, C++ and CUDA: compiling is the test, which no sanitizer
# changes.
include(CheckLanguage)
foreach(pair C:c CXX:cpp CUDA:cu)
    string(REGEX MATCH "(.*):(.*)" pair ${pair})
    set(language ${CMAKE_MATCH_1})
    set(extension ${CMAKE_MATCH_2})
    if(language STREQUAL CXX AND NOT CMAKE_CROSSCOMPILING)
        check_language(${language})
    endif()
    if(CMAKE_${language}_COMPILER AND (bitfold_cuda OR NOT language STREQUAL CUDA))
        enable_language(${language})
        if(CMAKE_C_FLAGS MATCHES "-fsanitize")
            continue()
        endif()
        add_library(rules_${extension} OBJECT tests/rules/compile.${extension})
        target_include_directories(rules_${extension} PRIVATE ${PROJECT_SOURCE_DIR} src include)
        bitfold_warnings(rules_${extension})
        target_compile_options(rules_${extension} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:-O0>)
    else()
        bitfold_skip(rules.${extension} "no ${language} compiler")
    endif()
endforeach()

# What the GPU's pipeline enqueues, on a fake runtime, and what the host's threads copy.
bitfold_left_out(unit.pipeline tests/runtime/unit_pipeline.cpp left_out)
if(left_out)
elseif(CMAKE_CXX_COMPILER AND CMOCKA)
    file(GLOB pipeline_files CONFIGURE_DEPENDS src/base/*.c)
    list(FILTER pipeline_files EXCLUDE REGEX where) # the test's own
    list(APPEND pipeline_files src/cpu/runtime/strided.c)
    add_executable(unit_pipeline tests/runtime/unit_pipeline.cpp ${pipeline_files})
    set_target_properties(unit_pipeline PROPERTIES CXX_STANDARD 17)
    target_compile_options(unit_pipeline PRIVATE ${unit_options})
    target_include_directories(unit_pipeline PRIVATE tests/support/fake_cuda
                               ${PROJECT_SOURCE_DIR} src include)
    target_link_libraries(unit_pipeline PRIVATE Threads::Threads ${CMOCKA})
    bitfold_warnings(unit_pipeline)
    bitfold_test(unit.pipeline unit_pipeline)
else()
    bitfold_skip(unit.pipeline "needs a C++ compiler and cmocka")
endif()

# What the GPU's backend computes, on the same runtime: of expressions, and results in doubles.
foreach(file expression/unit_expression_gpu axis/unit_estimate)
    cmake_path(GET file FILENAME name)
    string(REPLACE "unit_" "unit." test ${name})
    bitfold_left_out(${test} tests/${file}.cpp left_out)
    if(left_out)
    elseif(CMAKE_CXX_COMPILER AND CMOCKA)
        add_executable(${name} tests/${file}.cpp)
        set_target_properties(${name} PROPERTIES CXX_STANDARD 17)
        target_include_directories(${name} PRIVATE tests/support/fake_cuda ${PROJECT_SOURCE_DIR}
                                                   src)
        target_link_libraries(${name} PRIVATE bitfold_static ${CMOCKA})
        bitfold_warnings(${name})
        target_compile_options(${name} PRIVATE ${unit_options} -ffp-contract=off -Wno-unknown-pragmas
                               # GCC does not see that a step has no such input.
                               $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
        bitfold_test(${test} ${name})
    else()
        bitfold_skip(${test} "needs a C++ compiler and cmocka")
    endif()
endforeach()

# Fuzz targets, replayed over their corpus; with BITFOLD_FUZZ also as libFuzzer programs.
file(GLOB_RECURSE files CONFIGURE_DEPENDS tests/fuzz_*.c)
foreach(file ${files})
    cmake_path(GET file PARENT_PATH folder)
    cmake_path(GET file STEM name)
    string(REPLACE fuzz_ "" name ${name})
    file(GLOB corpus CONFIGURE_DEPENDS ${folder}/corpus/${name}/*)
    bitfold_left_out(fuzz.${name} ${file} left_out)
    if(left_out)
        continue()
    endif()
    add_executable(replay_${name} ${file} tests/support/replay.c)
    target_include_directories(replay_${name} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(replay_${name} PRIVATE bitfold_cli)
    bitfold_warnings(replay_${name})
    bitfold_test(fuzz.${name} replay_${name} ${corpus})
    if(BITFOLD_FUZZ)
        add_executable(fuzz_${name} ${file})
        target_include_directories(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR})
        target_link_libraries(fuzz_${name} PRIVATE bitfold_cli -fsanitize=fuzzer)
    endif()
endforeach()

# Show what the reader finds in a text, for cli.csv, and a sheet, for cli.sheet.
foreach(shown rows sheet)
    add_executable(show_${shown} tests/support/show_${shown}.c)
    target_include_directories(show_${shown} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(show_${shown} PRIVATE bitfold_cli)
    bitfold_warnings(show_${shown})
endforeach()

# Ranks of MPICH that wait let others work, but where a sanitizer must be what is loaded first.
if(mpich IN_LIST bitfold_mpis AND NOT CMAKE_C_FLAGS MATCHES "-fsanitize")
    add_library(patient_ranks SHARED tests/support/patient_ranks.c)
    set_target_properties(patient_ranks PROPERTIES C_VISIBILITY_PRESET default)
    target_link_libraries(patient_ranks PRIVATE ${CMAKE_DL_LIBS})
    bitfold_warnings(patient_ranks)
endif()

# The command and the Python module, driven from Python.
find_program(PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(PYTHON NAMES python3)
foreach(module numpy hypothesis)
    execute_process(COMMAND ${PYTHON} -c "import ${module}" RESULT_VARIABLE missing_${module}
                    OUTPUT_QUIET ERROR_QUIET)
endforeach()

# python3 loads a library with AddressSanitizer only behind the sanitizer's own.
set(python_asan "")
if(build STREQUAL asan)
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libasan.so OUTPUT_VARIABLE python_asan
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()

function(bitfold_python_test name file)
    if(CMAKE_CROSSCOMPILING OR NOT PYTHON)
        bitfold_skip(${name} "needs python3 on the machine that runs the command")
        return()
    endif()
    foreach(module numpy hypothesis)
        file(STRINGS ${file} imports REGEX "^(import|from) ${module}")
        if(imports AND missing_${module})
            bitfold_skip(${name} "needs python3-${module}")
            return()
        endif()
    endforeach()
    bitfold_test(${name} ${PYTHON} ${PROJECT_SOURCE_DIR}/tests/run.py ${file})
    set(environment BITFOLD=$<TARGET_FILE:bitfold_command> BITFOLD_LIBRARY=$<TARGET_FILE:bitfold>
                    BITFOLD_SHOW_ROWS=$<TARGET_FILE:show_rows>
                    BITFOLD_SHOW_SHEET=$<TARGET_FILE:show_sheet>
                    PYTHONPATH=${PROJECT_SOURCE_DIR}/python PYTHONDONTWRITEBYTECODE=1)
    if(BITFOLD_SHORT)
        list(APPEND environment BITFOLD_SHORT=1)
    endif()
    if(name MATCHES "^python" AND IS_ABSOLUTE "${python_asan}")
        list(APPEND environment LD_PRELOAD=${python_asan}
                    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1)
    endif()
    if(TARGET patient_ranks)
        list(APPEND environment BITFOLD_PATIENT_RANKS=$<TARGET_FILE:patient_ranks>)
    endif()
    # These take the longest, and so begin first: at the end no core waits for one of them.
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${environment}" COST 100)
endfunction()

# Tests find what of the Python module is written in C beside the library, and do without it.
if(NOT CMAKE_CROSSCOMPILING AND build STREQUAL release)
    find_package(Python 3.9 QUIET COMPONENTS Interpreter Development.Module)
    if(Python_Development.Module_FOUND)
        include(cmake/native.cmake)
        bitfold_native(bitfold_native ${Python_EXECUTABLE})
    endif()
endif()

file(GLOB_RECURSE tests CONFIGURE_DEPENDS tests/cli_*.py tests/python_*.py)
foreach(file ${tests})
    string(REGEX REPLACE ".*/(cli|python)_(.*)\\.py" "\\1.\\2" name ${file})
    bitfold_left_out(${name} ${file} left_out)
    if(left_out)
        continue()
    elseif(name MATCHES "^python" AND (build STREQUAL tsan OR
                                       (build STREQUAL asan AND NOT IS_ABSOLUTE "${python_asan}")))
        bitfold_skip(${name} "python3 cannot load a library built with this sanitizer")
    else()
        bitfold_python_test(${name} ${file})
    endif()
endforeach()

# The include lines of the tree, its comments, and the symbols of its objects.
if(build STREQUAL release)
    foreach(name includes prose symbols)
        bitfold_python_test(rules.${name} ${PROJECT_SOURCE_DIR}/tests/rules/${name}.py)
    endforeach()
endif()

# Ranks under each MPI.
foreach(mpi openmpi mpich)
    if(mpi IN_LIST bitfold_mpis AND CMOCKA AND MPFR AND GMP AND NOT CMAKE_C_FLAGS MATCHES "-fsanitize")
        add_executable(mpi_comm_${mpi} tests/comm/mpi_comm.c)
        target_include_directories(mpi_comm_${mpi} PRIVATE ${PROJECT_SOURCE_DIR})
        target_link_libraries(mpi_comm_${mpi} PRIVATE bitfold_mpi_${mpi}_static mpi_${mpi}
                              Threads::Threads ${CMOCKA} ${MPFR} ${GMP} m)
        bitfold_warnings(mpi_comm_${mpi})
    endif()
    set(numbers 1 2 3 5 8)
    if(mpi STREQUAL mpich) # what is its own shows in a few
        set(numbers 1 2 3)
    endif()
    foreach(ranks ${numbers})
        set(name mpi.comm.${mpi}.${ranks})
        if(CMAKE_C_FLAGS MATCHES "-fsanitize")
            bitfold_skip(${name} "MPI itself is not sanitized")
        elseif(TARGET mpi_comm_${mpi} AND MPIEXEC_${mpi})
            set(oversubscribe)
            if(mpi STREQUAL openmpi)
                set(oversubscribe --oversubscribe)
            endif()
            bitfold_test(${name} ${MPIEXEC_${mpi}} ${oversubscribe} -n ${ranks} $<TARGET_FILE:mpi_comm_${mpi}>)
            set(environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
                            OMPI_MCA_mpi_yield_when_idle=1 HWLOC_HIDE_ERRORS=2 UCX_LOG_LEVEL=fatal)
            if(TARGET patient_ranks)
                list(APPEND environment LD_PRELOAD=$<TARGET_FILE:patient_ranks>)
            endif()
            set_tests_properties(${name} PROPERTIES RUN_SERIAL ON ENVIRONMENT "${environment}")
        else()
            bitfold_skip(${name} "needs ${mpi}, cmocka, MPFR and GMP")
        endif()
    endforeach()
endforeach()

if(BITFOLD_SHORT)
    get_directory_property(targets BUILDSYSTEM_TARGETS)
    list(FILTER targets INCLUDE REGEX "^(unit_|isa_check$)")
    foreach(target ${targets})
        target_compile_definitions(${target} PRIVATE BITFOLD_SHORT)
    endforeach()
endif()
