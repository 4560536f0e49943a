# What of the Python module is written in C. Python 3.11 and later has a stable ABI that is enough for
# it: one file for them all, which 3.9 and 3.10 load, too. What is built with one of these, or with one
# without a GIL, is a file for that version alone.

# bitfold_native(TARGET PYTHON): the module for a Python, with its headers.
function(bitfold_native target python)
    execute_process(COMMAND ${python} -c "
import sys, sysconfig
alone = sys.version_info < (3, 11) or sysconfig.get_config_var('Py_GIL_DISABLED')
suffix = sysconfig.get_config_var('EXT_SUFFIX') if alone else '.abi3.so'
print(sysconfig.get_path('include'), suffix, sep=';')"
        OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    list(GET found 0 headers)
    list(GET found 1 suffix)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/native/*.c)
    add_library(${target} MODULE ${sources})
    set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME _native SUFFIX ${suffix})
    target_include_directories(${target} PRIVATE include ${PROJECT_SOURCE_DIR})
    target_include_directories(${target} SYSTEM PRIVATE ${headers})
    target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
    bitfold_warnings(${target})
endfunction()
