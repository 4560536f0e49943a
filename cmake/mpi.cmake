# libbitfold-mpi, once for each MPI that this machine has: libbitfold-mpi-openmpi and
# libbitfold-mpi-mpich, as Debian has its HDF5. Its compiler wrappers say what to compile and link
# with.
#
# bitfold_mpis lists the names; for each there are the targets bitfold_mpi_NAME (shared),
# bitfold_mpi_NAME_static and mpi_NAME (the MPI itself), and MPIEXEC_NAME, which starts programs.

option(BITFOLD_MPI "Build libbitfold-mpi for each MPI that is found" ON)
set(bitfold_mpis)

# Sets `name` to the MPI of a compiler wrapper: openmpi, mpich, or nothing.
function(bitfold_mpi_name wrapper name)
    set(source ${PROJECT_BINARY_DIR}/mpi_name.c)
    file(WRITE ${source} "#include <mpi.h>\n")
    execute_process(COMMAND ${wrapper} -E -dM ${source} OUTPUT_VARIABLE macros ERROR_QUIET)
    set(found)
    if(macros MATCHES "#define OPEN_MPI ")
        set(found openmpi)
    elseif(macros MATCHES "#define MPICH_VERSION ")
        set(found mpich)
    endif()
    set(${name} "${found}" PARENT_SCOPE)
endfunction()

# Makes mpi_NAME of what the wrapper would pass to the compiler.
function(bitfold_mpi_target wrapper name)
    execute_process(COMMAND ${wrapper} -show OUTPUT_VARIABLE flags
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    separate_arguments(flags UNIX_COMMAND "${flags}")
    set(folders ${flags})
    set(libraries ${flags})
    list(FILTER folders INCLUDE REGEX "^-I")
    list(FILTER libraries INCLUDE REGEX "^-(L|l)")
    list(TRANSFORM folders REPLACE "^-I" "")
    add_library(mpi_${name} INTERFACE)
    target_include_directories(mpi_${name} SYSTEM INTERFACE ${folders})
    target_link_libraries(mpi_${name} INTERFACE ${libraries})
    set(bitfold_mpi_includes_${name} ${folders} PARENT_SCOPE)
    set(bitfold_mpi_libraries_${name} ${libraries} PARENT_SCOPE)
endfunction()

function(bitfold_mpi_library target type library)
    add_library(${target} ${type} src/mpi/mpi.c)
    target_link_libraries(${target} PUBLIC ${library} "$<INSTALL_INTERFACE:${bitfold_mpi_libraries_${mpi}}>"
                          PRIVATE $<BUILD_INTERFACE:mpi_${mpi}>)
    target_include_directories(${target} SYSTEM INTERFACE
                               "$<INSTALL_INTERFACE:${bitfold_mpi_includes_${mpi}}>")
    bitfold_warnings(${target})
    # MPICH declares that MPI_Waitall writes statuses; MPI_STATUSES_IGNORE is no array of any.
    target_compile_options(${target} PRIVATE
                           $<$<C_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME bitfold-mpi-${mpi}
                          VERSION ${PROJECT_VERSION} SOVERSION 0)
    add_library(bitfold::${target} ALIAS ${target})
endfunction()

if(BITFOLD_MPI AND NOT CMAKE_CROSSCOMPILING)
    foreach(wrapper mpicc.openmpi mpicc.mpich mpicc)
        find_program(BITFOLD_${wrapper} ${wrapper})
        mark_as_advanced(BITFOLD_${wrapper})
        set(mpi)
        if(BITFOLD_${wrapper})
            bitfold_mpi_name(${BITFOLD_${wrapper}} mpi)
        endif()
        if(NOT mpi OR mpi IN_LIST bitfold_mpis)
            continue()
        endif()
        list(APPEND bitfold_mpis ${mpi})
        bitfold_mpi_target(${BITFOLD_${wrapper}} ${mpi})
        bitfold_mpi_library(bitfold_mpi_${mpi} SHARED bitfold)
        bitfold_mpi_library(bitfold_mpi_${mpi}_static STATIC bitfold_static)
        string(REPLACE mpicc mpirun starter ${wrapper})
        find_program(MPIEXEC_${mpi} ${starter})
    endforeach()
    message(STATUS "MPI: ${bitfold_mpis}")
endif()
