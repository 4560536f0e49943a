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
# SHORT in tests/support/command.py. scripts/test-long runs all in full.

# What the short form leaves to it: what takes longest, where other tests run most of the same code.
# Under AddressSanitizer these are mostly commands whose parts have unit tests there; under
# ThreadSanitizer what spills and saves, ranks, several GPUs, and watches but the one of the pool.
set(long)
if(BITFOLD_SHORT AND CMAKE_C_FLAGS MATCHES "-fsanitize=address")
    set(long isa cli.axes cli.bench cli.by cli.by_memory cli.changing cli.checkpoint cli.describe
        cli.hist cli.join_memory cli.julia cli.ladder cli.long_keys cli.machine cli.memory cli.order cli.passes
        cli.ranks cli.rows cli.sorted cli.text cli.view unit.bins unit.budget unit.comm_failing
        unit.describe unit.expression unit.expression_gpu unit.group_retract unit.group_sorted
        unit.group_watch unit.histogram unit.julia unit.order unit.order_sort unit.pipeline
        unit.retract unit.table_watch unit.verify)
elseif(BITFOLD_SHORT AND CMAKE_C_FLAGS MATCHES "-fsanitize=thread")
    set(long cli.by cli.by_memory cli.checkpoint cli.csv cli.join_memory cli.join_on cli.long_keys cli.memory
        cli.rows cli.sorted unit.comm_merge unit.comm_sum unit.dot unit.expression unit.gpus unit.group_result
        unit.group_sorted unit.group_watch unit.order unit.order_sort unit.pipeline unit.table_watch)
elseif(BITFOLD_SHORT)
    set(long verify cli.join_memory cli.passes mpi.comm.mpich.3 python.group python.table unit.bins
        unit.comm_failing unit.group_share unit.group_watch)
endif()

# What takes minutes under a sanitizer, where other tests do the same on less data.
set(slow)
if(CMAKE_C_FLAGS MATCHES "-fsanitize=address")
    set(slow verify cli.docs)
elseif(CMAKE_C_FLAGS MATCHES "-fsanitize=thread")
    set(slow verify isa cli.axes cli.docs cli.text cli.values unit.budget unit.comm_failing
        unit.group_retract unit.histogram)
endif()

# ThreadSanitizer looks at threads alone. These tests have one, or those which another test has: each
# of the library's calls has its threads in a unit test, and how commands share reading, sorting,
# spilling and checkpoints out is in cli.rows, cli.csv, cli.memory, cli.sorted and cli.checkpoint.
set(threadless)
if(CMAKE_C_FLAGS MATCHES "-fsanitize=thread")
    set(threadless
        cli.bench cli.bench_gpu cli.changing cli.cli cli.column_files cli.columns cli.describe
        cli.expression cli.guides cli.headers cli.hist cli.input cli.install cli.julia cli.ladder cli.machine cli.map cli.order
        cli.passes cli.sheet cli.tables cli.tree rules.includes rules.symbols
        unit.accumulators unit.arrays unit.arrow unit.axis_refused unit.bench_keys unit.bins
        unit.calls unit.describe unit.dlpack unit.expression_gpu unit.group_pieces unit.group_saved
        unit.group_share unit.histogram_refused unit.histogram_retract unit.map unit.null unit.order_calls
        unit.placement unit.quantiles unit.retract unit.rules unit.sizes unit.state unit.states
        unit.table unit.terms unit.ticks unit.value unit.verify unit.view unit.words)
endif()

# bitfold_left_out(NAME RESULT): is the test left out of this build, and reported so?
function(bitfold_left_out name result)
    set(${result} ON PARENT_SCOPE)
    if(name IN_LIST long)
        bitfold_skip(${name} "too long for the short form: scripts/test-long runs it")
    elseif(name IN_LIST slow)
        bitfold_skip(${name} "too slow under this sanitizer")
    elseif(name IN_LIST threadless OR (threadless AND name MATCHES "^fuzz"))
        bitfold_skip(${name} "ThreadSanitizer: no threads, or those of another test")
    else()
        set(${result} OFF PARENT_SCOPE)
    endif()
endfunction()

# tests/P holds the tests of primitive P: unit_X.c is unit.X, gpu_X.c gpu.X, and so on. Their includes
# are written from the root of the project, those of src from there.

# Unit tests, against MPFR where a value is rounded.
find_library(CMOCKA cmocka)
find_library(MPFR mpfr)
find_library(GMP gmp)
file(GLOB tests CONFIGURE_DEPENDS tests/*/unit_*.c)
foreach(file ${tests})
    cmake_path(GET file STEM name)
    string(REPLACE unit_ unit. test ${name})
    bitfold_left_out(${test} left_out)
    if(left_out)
        continue()
    elseif(CMOCKA AND MPFR AND GMP)
        add_executable(${name} ${file})
        target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} src)
        target_link_libraries(${name} PRIVATE bitfold_cli ${CMOCKA} ${MPFR} ${GMP} m)
        bitfold_warnings(${name})
        bitfold_test(${test} ${name})
    else()
        bitfold_skip(${test} "needs cmocka, MPFR and GMP")
    endif()
endforeach()
foreach(name view view_window)
    if(TARGET unit_${name})
        target_link_libraries(unit_${name} PRIVATE bitfold_viewing)
    endif()
endforeach()

# A driver that says whose memory is whose.
if(TARGET unit_gpus)
    add_library(fake_driver SHARED tests/support/fake_driver.c)
    set_target_properties(fake_driver PROPERTIES
        OUTPUT_NAME cuda SOVERSION 1 C_VISIBILITY_PRESET default
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fake_driver)
    target_link_libraries(fake_driver PRIVATE Threads::Threads)
    bitfold_warnings(fake_driver)
    target_compile_definitions(unit_gpus PRIVATE FAKE_DRIVER="$<TARGET_FILE:fake_driver>")
    target_link_libraries(unit_gpus PRIVATE ${CMAKE_DL_LIBS})
    add_dependencies(unit_gpus fake_driver)
endif()

# More elements than 31 bits count; scripts/test-long runs these, without a sanitizer.
file(GLOB files CONFIGURE_DEPENDS tests/*/huge_*.c)
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
file(GLOB tests CONFIGURE_DEPENDS tests/*/gpu_*.c)
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
    else()
        bitfold_skip(${test} "needs a CUDA compiler and cmocka")
    endif()
endforeach()
foreach(name link nccl processes order) # they use the seam
    if(TARGET gpu_${name})
        target_include_directories(gpu_${name} PRIVATE src)
        set_target_properties(gpu_${name} PROPERTIES LINK_LIBRARIES "")
        target_link_libraries(gpu_${name} PRIVATE bitfold_static ${CMOCKA} m)
        bitfold_link_as_c(gpu_${name})
    endif()
endforeach()

# Every operation on every ISA and thread count, and every ISA on data that are hard; cross-compiled,
# under the emulator.
bitfold_left_out(verify left_out)
if(NOT left_out)
    bitfold_test(verify bitfold_command verify)
elseif(BITFOLD_SHORT AND NOT CMAKE_C_FLAGS MATCHES "-fsanitize") # of few elements, and reductions alone
    file(READ LICENSE elements)
    string(SUBSTRING "${elements}" 0 4096 elements)
    file(WRITE ${PROJECT_BINARY_DIR}/elements "${elements}")
    foreach(dtype i8 u16 i32 u64 f16 bf16 f32 f64)
        bitfold_test(verify.${dtype} bitfold_command verify --format raw --dtype ${dtype}
                     ${PROJECT_BINARY_DIR}/elements)
    endforeach()
endif()
bitfold_left_out(isa left_out)
if(NOT left_out)
    add_executable(isa_check tests/runtime/isa_check.c)
    target_include_directories(isa_check PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(isa_check PRIVATE bitfold_static)
    bitfold_warnings(isa_check)
    bitfold_test(isa isa_check)
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
    else()
        bitfold_skip(rules.${extension} "no ${language} compiler")
    endif()
endforeach()

# What the GPU's pipeline enqueues, on a fake runtime, and what the host's threads copy.
bitfold_left_out(unit.pipeline left_out)
if(left_out)
elseif(CMAKE_CXX_COMPILER AND CMOCKA)
    file(GLOB pipeline_files CONFIGURE_DEPENDS src/base/*.c)
    list(FILTER pipeline_files EXCLUDE REGEX where) # the test's own
    list(APPEND pipeline_files src/cpu/runtime/strided.c)
    add_executable(unit_pipeline tests/runtime/unit_pipeline.cpp ${pipeline_files})
    set_target_properties(unit_pipeline PROPERTIES CXX_STANDARD 17)
    target_include_directories(unit_pipeline PRIVATE tests/support/fake_cuda
                               ${PROJECT_SOURCE_DIR} src include)
    target_link_libraries(unit_pipeline PRIVATE Threads::Threads ${CMOCKA})
    bitfold_warnings(unit_pipeline)
    bitfold_test(unit.pipeline unit_pipeline)
else()
    bitfold_skip(unit.pipeline "needs a C++ compiler and cmocka")
endif()

# What the GPU's backend computes for expressions, on the same runtime.
bitfold_left_out(unit.expression_gpu left_out)
if(left_out)
elseif(CMAKE_CXX_COMPILER AND CMOCKA)
    add_executable(unit_expression_gpu tests/expression/unit_expression_gpu.cpp)
    set_target_properties(unit_expression_gpu PROPERTIES CXX_STANDARD 17)
    target_include_directories(unit_expression_gpu PRIVATE tests/support/fake_cuda
                               ${PROJECT_SOURCE_DIR} src)
    target_link_libraries(unit_expression_gpu PRIVATE bitfold_static ${CMOCKA})
    bitfold_warnings(unit_expression_gpu)
    target_compile_options(unit_expression_gpu PRIVATE -ffp-contract=off -Wno-unknown-pragmas
                           # GCC does not see that a step has no such input.
                           $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    bitfold_test(unit.expression_gpu unit_expression_gpu)
else()
    bitfold_skip(unit.expression_gpu "needs a C++ compiler and cmocka")
endif()

# Fuzz targets, replayed over their corpus; with BITFOLD_FUZZ also as libFuzzer programs.
file(GLOB files CONFIGURE_DEPENDS tests/*/fuzz_*.c)
foreach(file ${files})
    cmake_path(GET file PARENT_PATH folder)
    cmake_path(GET file STEM name)
    string(REPLACE fuzz_ "" name ${name})
    file(GLOB corpus CONFIGURE_DEPENDS ${folder}/corpus/${name}/*)
    bitfold_left_out(fuzz.${name} left_out)
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

# The command and the Python module, driven from Python.
find_program(PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(PYTHON NAMES python3)
foreach(module numpy hypothesis)
    execute_process(COMMAND ${PYTHON} -c "import ${module}" RESULT_VARIABLE missing_${module}
                    OUTPUT_QUIET ERROR_QUIET)
endforeach()

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
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${environment}")
endfunction()

file(GLOB tests CONFIGURE_DEPENDS tests/*/cli_*.py tests/*/python_*.py)
foreach(file ${tests})
    string(REGEX REPLACE ".*/(cli|python)_(.*)\\.py" "\\1.\\2" name ${file})
    bitfold_left_out(${name} left_out)
    if(left_out)
        continue()
    elseif(name MATCHES "^python" AND CMAKE_C_FLAGS MATCHES "-fsanitize=(address|thread)")
        bitfold_skip(${name} "python3 cannot load a library built with this sanitizer")
    elseif(name STREQUAL cli.ranks AND CMAKE_C_FLAGS MATCHES "-fsanitize=thread")
        bitfold_skip(${name} "ThreadSanitizer does not see how the threads of MPI wait")
    else()
        bitfold_python_test(${name} ${file})
    endif()
endforeach()

# The include lines of the tree, and the symbols of its objects.
foreach(name includes symbols)
    bitfold_left_out(rules.${name} left_out)
    if(NOT left_out)
        bitfold_python_test(rules.${name} ${PROJECT_SOURCE_DIR}/tests/rules/${name}.py)
    endif()
endforeach()

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
    if(mpi STREQUAL mpich) # ranks that wait take all of a core
        set(numbers 1 2 3)
    endif()
    foreach(ranks ${numbers})
        set(name mpi.comm.${mpi}.${ranks})
        bitfold_left_out(${name} left_out)
        if(left_out)
            continue()
        elseif(CMAKE_C_FLAGS MATCHES "-fsanitize")
            bitfold_skip(${name} "MPI itself is not sanitized")
        elseif(TARGET mpi_comm_${mpi} AND MPIEXEC_${mpi})
            set(oversubscribe)
            if(mpi STREQUAL openmpi)
                set(oversubscribe --oversubscribe)
            endif()
            bitfold_test(${name} ${MPIEXEC_${mpi}} ${oversubscribe} -n ${ranks} $<TARGET_FILE:mpi_comm_${mpi}>)
            set_tests_properties(${name} PROPERTIES RUN_SERIAL ON ENVIRONMENT
                "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_mpi_yield_when_idle=1;HWLOC_HIDE_ERRORS=2;UCX_LOG_LEVEL=fatal")
        else()
            bitfold_skip(${name} "needs ${mpi}, cmocka, MPFR and GMP")
        endif()
    endforeach()
endforeach()

if(BITFOLD_SHORT)
    get_directory_property(targets BUILDSYSTEM_TARGETS)
    list(FILTER targets INCLUDE REGEX "^unit_")
    foreach(target ${targets})
        target_compile_definitions(${target} PRIVATE BITFOLD_SHORT)
    endforeach()
endif()

# The longest begin first: at the end no core waits for one of them. They go by how long they take
# under all of the builds of scripts/test.
set_tests_properties(
    cli.install cli.memory cli.memory_threads cli.ranks cli.csv cli.sorted cli.text cli.axes cli.order cli.order_decimals cli.changing
    cli.containers cli.columns
    cli.rows cli.values cli.checkpoint cli.passes cli.json cli.sheet cli.hist cli.cli cli.ladder
    cli.by cli.by_memory cli.join_memory cli.expression cli.describe unit.order_sort unit.order_select
    unit.table_watch unit.table_threads unit.group_watch unit.group_sorted unit.group_share unit.gpus
    unit.group_i128 cli.long_keys
    unit.axes unit.histogram unit.expression unit.comm_failing unit.pipeline python.order python.axes
    python.group python.table python.matrix verify PROPERTIES COST 100)
