# What pip packages beside the module: the library as one file, the command and its reader, and quick
# calls (see pyproject.toml).

# zig links it in scripts/wheel, for older systems than this machine: its libc is of any version.
set(BITFOLD_LINKER "" CACHE STRING "A C compiler, and its options, that links the wheel's library")
if(BITFOLD_LINKER)
    list(JOIN BITFOLD_LINKER " " linker)
    string(REPLACE "<CMAKE_C_COMPILER>" "${linker}"
           CMAKE_C_CREATE_SHARED_LIBRARY "${CMAKE_C_CREATE_SHARED_LIBRARY}")
    string(REPLACE "<CMAKE_C_COMPILER>" "${linker}"
           CMAKE_C_LINK_EXECUTABLE "${CMAKE_C_LINK_EXECUTABLE}")
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

# Small calls without ctypes, by the stable ABI of Python 3.11: where there are its headers. Every
# Python takes the wheel; an older one leaves this file alone. Python without a GIL has no stable ABI:
# there the file is for its version alone.
find_package(Python 3.11 COMPONENTS Interpreter Development.Module)
if(Python_Development.Module_FOUND)
    execute_process(COMMAND ${Python_EXECUTABLE} -c
        "from sysconfig import get_config_var as v; print(v('EXT_SUFFIX') if v('Py_GIL_DISABLED') else '.abi3.so')"
        OUTPUT_VARIABLE suffix OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    add_library(bitfold_quick MODULE python/native/quick.c)
    set_target_properties(bitfold_quick PROPERTIES
        PREFIX "" OUTPUT_NAME _quick SUFFIX ${suffix} C_VISIBILITY_PRESET hidden)
    target_include_directories(bitfold_quick PRIVATE include)
    target_include_directories(bitfold_quick SYSTEM PRIVATE ${Python_INCLUDE_DIRS})
    bitfold_warnings(bitfold_quick)
    install(TARGETS bitfold_quick LIBRARY DESTINATION .)
    add_dependencies(bitfold_wheel bitfold_quick)
endif()
