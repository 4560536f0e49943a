# What pip packages: the library alone, as one file beside the module (see pyproject.toml).

# zig links it in scripts/wheel, for older systems than this machine: its libc is of any version.
set(BITFOLD_LINKER "" CACHE STRING "A C compiler, and its options, that links the wheel's library")
if(BITFOLD_LINKER)
    list(JOIN BITFOLD_LINKER " " linker)
    string(REPLACE "<CMAKE_C_COMPILER>" "${linker}"
           CMAKE_C_CREATE_SHARED_LIBRARY "${CMAKE_C_CREATE_SHARED_LIBRARY}")
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-libgcc-file-name OUTPUT_VARIABLE libgcc
                    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    target_link_libraries(bitfold PRIVATE ${libgcc}) # what the compiler calls, before the linker's
endif()

set_property(TARGET bitfold PROPERTY VERSION)
set_property(TARGET bitfold PROPERTY SOVERSION)
install(TARGETS bitfold LIBRARY DESTINATION .)
