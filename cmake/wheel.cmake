# What pip packages beside the module: the library as one file, the command and its reader, and what of
# the module is written in C (see pyproject.toml).

# zig links it in scripts/wheel, for older systems than this machine: its libc is of any version.
set(BITFOLD_LINKER "" CACHE STRING "A C compiler, and its options, that links the wheel's library")
if(BITFOLD_LINKER)
    list(JOIN BITFOLD_LINKER " " linker)
    foreach(rule CREATE_SHARED_LIBRARY CREATE_SHARED_MODULE LINK_EXECUTABLE)
        string(REPLACE "<CMAKE_C_COMPILER>" "${linker}" CMAKE_C_${rule} "${CMAKE_C_${rule}}")
    endforeach()
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-libgcc-file-name OUTPUT_VARIABLE libgcc
                    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    foreach(target bitfold bitfold_read bitfold_command)
        target_link_libraries(${target} PRIVATE ${libgcc}) # what the compiler calls, before the linker's
    endforeach()
endif()

set_property(TARGET bitfold PROPERTY VERSION)
set_property(TARGET bitfold PROPERTY SOVERSION)
install(TARGETS bitfold bitfold_read LIBRARY DESTINATION .)
install(TARGETS bitfold_command RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR})
add_custom_target(bitfold_wheel DEPENDS bitfold bitfold_read bitfold_command)

find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module)
set(BITFOLD_PYTHONS "" CACHE STRING "Other Pythons, for which the wheel has files of the module in C too")
include(cmake/native.cmake)
foreach(python ${Python_EXECUTABLE} ${BITFOLD_PYTHONS})
    string(MAKE_C_IDENTIFIER "bitfold_native_${python}" target)
    bitfold_native(${target} ${python})
    install(TARGETS ${target} LIBRARY DESTINATION .)
    add_dependencies(bitfold_wheel ${target})
endforeach()
