# What of the Python module is written in C. Python 3.11 and later has a stable ABI that is enough for
# it: one file for them all. An older one, and one without a GIL, has a file of its own.
execute_process(COMMAND ${Python_EXECUTABLE} -c
    "import sys, sysconfig as s; print('.abi3.so' if sys.version_info >= (3, 11) and not s.get_config_var('Py_GIL_DISABLED') else s.get_config_var('EXT_SUFFIX'))"
    OUTPUT_VARIABLE suffix OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
file(GLOB native_sources CONFIGURE_DEPENDS python/native/*.c)
add_library(bitfold_native MODULE ${native_sources})
set_target_properties(bitfold_native PROPERTIES PREFIX "" OUTPUT_NAME _native SUFFIX ${suffix})
target_include_directories(bitfold_native PRIVATE include ${PROJECT_SOURCE_DIR})
target_include_directories(bitfold_native SYSTEM PRIVATE ${Python_INCLUDE_DIRS})
target_link_libraries(bitfold_native PRIVATE ${CMAKE_DL_LIBS})
bitfold_warnings(bitfold_native)
