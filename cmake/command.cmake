# The command. Its parts are a library, so that tests and fuzzers can link them; the command itself
# links libbitfold statically: it starts in a millisecond and can be copied as one file.

file(GLOB sources CONFIGURE_DEPENDS cli/*.c cli/*/*.c ladder/*.c ladder/cpu/*.c)
list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/cli/main.c ${PROJECT_SOURCE_DIR}/cli/mpi/main.c)
list(FILTER sources EXCLUDE REGEX "/cli/read/")
add_library(bitfold_cli STATIC ${sources})
target_include_directories(bitfold_cli PUBLIC cli PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(bitfold_cli PUBLIC bitfold_static ${CMAKE_DL_LIBS})
bitfold_warnings(bitfold_cli)
bitfold_frames(bitfold_cli 24576) # and 128 KiB for the command
if(BITFOLD_SHORT) # its tests take less time than its compiler, those of its threads, or emulated, far less
    set(optimization -O1)
    if(CMAKE_CROSSCOMPILING OR CMAKE_C_FLAGS MATCHES "-fsanitize=thread")
        set(optimization -O0)
    endif()
    target_compile_options(bitfold_cli PRIVATE $<$<COMPILE_LANGUAGE:C>:${optimization}>)
endif()

# Figures are drawn by cairo, whose headers are enough here: it is loaded when one is drawn.
find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND AND NOT CMAKE_CROSSCOMPILING)
    pkg_check_modules(CAIRO QUIET cairo cairo-pdf cairo-svg)
endif()
if(CAIRO_FOUND)
    file(GLOB figure CONFIGURE_DEPENDS cli/plot/figure/*.c)
    target_sources(bitfold_cli PRIVATE ${figure})
    target_include_directories(bitfold_cli SYSTEM PRIVATE ${CAIRO_INCLUDE_DIRS})
    target_compile_definitions(bitfold_cli PRIVATE BITFOLD_CAIRO)
endif()

# Their pictures are defined operation by operation.
set_source_files_properties(ladder/cpu/julia.c ladder/cpu/simd.c ladder/data.c PROPERTIES
                            COMPILE_OPTIONS -ffp-contract=off)

# PNG files are written by libpng, in the same way.
if(PKG_CONFIG_FOUND AND NOT CMAKE_CROSSCOMPILING)
    pkg_check_modules(PNG QUIET libpng)
endif()
if(PNG_FOUND)
    target_include_directories(bitfold_cli SYSTEM PRIVATE ${PNG_INCLUDE_DIRS})
    target_compile_definitions(bitfold_cli PRIVATE BITFOLD_PNG)
endif()

if(bitfold_cuda)
    file(GLOB kernels CONFIGURE_DEPENDS ladder/cuda/*.cu)
    target_sources(bitfold_cli PRIVATE ${kernels})
    bitfold_cuda_options(bitfold_cli)
endif()

add_executable(bitfold_command cli/main.c)
set_target_properties(bitfold_command PROPERTIES
    OUTPUT_NAME bitfold RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_link_libraries(bitfold_command PRIVATE bitfold_cli)
bitfold_warnings(bitfold_command)
if(bitfold_cuda)
    bitfold_link_as_c(bitfold_command)
endif()

# Its reader of tables as a library beside libbitfold, for the Python module.
file(GLOB read CONFIGURE_DEPENDS cli/read/*.c)
add_library(bitfold_read SHARED ${read})
set(map ${PROJECT_SOURCE_DIR}/cli/read/read.map)
set_target_properties(bitfold_read PROPERTIES
    OUTPUT_NAME bitfold-read LINK_DEPENDS ${map} INSTALL_RPATH $ORIGIN)
target_include_directories(bitfold_read PRIVATE cli)
target_link_libraries(bitfold_read PRIVATE $<TARGET_FILE:bitfold_cli> bitfold Threads::Threads m
                      ${CMAKE_DL_LIBS})
target_link_options(bitfold_read PRIVATE -Wl,--version-script=${map})
add_dependencies(bitfold_read bitfold_cli)
bitfold_warnings(bitfold_read)

list(JOIN bitfold_mpis " " mpis)
target_compile_definitions(bitfold_cli PRIVATE "BITFOLD_MPIS=\"${mpis} \"")

# The command over the ranks of MPI: bitfold-mpi.openmpi, bitfold-mpi.mpich; bitfold-mpi is the
# first of them.
foreach(mpi ${bitfold_mpis})
    add_executable(bitfold_command_${mpi} cli/mpi/main.c)
    set_target_properties(bitfold_command_${mpi} PROPERTIES
        OUTPUT_NAME bitfold-mpi.${mpi} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    target_link_libraries(bitfold_command_${mpi} PRIVATE bitfold_cli bitfold_mpi_${mpi}_static
                          mpi_${mpi})
    bitfold_warnings(bitfold_command_${mpi})
    if(bitfold_cuda)
        bitfold_link_as_c(bitfold_command_${mpi})
    endif()
endforeach()
if(bitfold_mpis)
    list(GET bitfold_mpis 0 mpi)
    file(CREATE_LINK bitfold-mpi.${mpi} ${PROJECT_BINARY_DIR}/bitfold-mpi SYMBOLIC)
endif()
