# The command. Its parts are a library, so that tests and fuzzers can link them; the command itself
# links libbitfold statically: it starts in a millisecond and can be copied as one file.

file(GLOB sources CONFIGURE_DEPENDS cli/*.c cli/io/*.c ladder/*.c)
list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/cli/main.c)
add_library(bitfold_cli STATIC ${sources})
target_include_directories(bitfold_cli PUBLIC cli PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(bitfold_cli PUBLIC bitfold_static ${CMAKE_DL_LIBS})
bitfold_warnings(bitfold_cli)
if(bitfold_cuda)
    file(GLOB kernels CONFIGURE_DEPENDS ladder/*.cu)
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
