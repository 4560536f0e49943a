# libbitfold, shared and static, from one set of objects.

file(GLOB sources CONFIGURE_DEPENDS src/base/*.c src/base/spill/*.c src/api/*/*.c src/cpu/*.c src/cpu/*/*.c
     src/cpu/order/select/*.c src/gpus/*.c src/gpus/*/*.c)
list(FILTER sources EXCLUDE REGEX "/cpu/isa/")
list(APPEND sources src/cpu/isa/generic.c)

# An ISA file is compiled for its own ISA and for nothing less; everything else for the baseline.
# It exports one symbol, so that none of its code can run where the ISA is missing.
function(isa_source name)
    set(file src/cpu/isa/${name}.c)
    set(options ${ARGN})
    if(BITFOLD_FUZZ) # the loops meet no format; with coverage they would take minutes to compile
        list(APPEND options -fno-sanitize=all)
    endif()
    set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "${options}")
    set(sources ${sources} ${file} PARENT_SCOPE)
endfunction()
isa_source(vector)
isa_source(vector_scan)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    isa_source(avx2 -mavx2 -mfma -mf16c -mbmi2)
    foreach(part sort tables groups order select)
        isa_source(avx2_${part} -mavx2 -mbmi2)
    endforeach()
    isa_source(avx2_accumulate -mavx2 -mbmi2 -mfma)
    foreach(part scan rolling)
        isa_source(avx2_${part} -mavx2 -mfma)
    endforeach()
    # AVX2 shares memory in the same way, and has the same loops.
    if(CMAKE_C_FLAGS MATCHES "-fsanitize=thread" OR
       (BITFOLD_SHORT AND CMAKE_C_FLAGS MATCHES "-fsanitize=address"))
        set_source_files_properties(src/cpu/runtime/features.c PROPERTIES
                                    COMPILE_DEFINITIONS BITFOLD_WITHOUT_AVX512)
    else()
        set(avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
        isa_source(avx512 ${avx512} -mfma -mf16c)
        foreach(part groups order accumulate select scan rolling)
            isa_source(avx512_${part} ${avx512} -mbmi2 -mfma)
        endforeach()
    endif()
endif()

if(BITFOLD_FUZZ) # and so it is with these
    set_source_files_properties(src/cpu/reduce/accumulate.c src/cpu/table/loops.c PROPERTIES
                                COMPILE_OPTIONS -fno-sanitize=all)
endif()

# Results are defined operation by operation: a contracted or reassociated one is a wrong one.
add_library(bitfold_objects OBJECT ${sources})
target_compile_options(bitfold_objects PRIVATE -ffp-contract=off -fno-fast-math -fno-math-errno
                       $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:C>>:-O3>)
target_include_directories(bitfold_objects PUBLIC include PRIVATE src)
bitfold_warnings(bitfold_objects)
# Threads of 64 KiB of stack are enough for every call. A machine without vectors keeps them there.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|aarch64|arm64|ppc64le|powerpc64le)$")
    bitfold_frames(bitfold_objects 17408)
else()
    bitfold_frames(bitfold_objects 24576)
endif()

add_library(bitfold SHARED $<TARGET_OBJECTS:bitfold_objects>)
add_library(bitfold_static STATIC $<TARGET_OBJECTS:bitfold_objects>)
add_library(bitfold::bitfold ALIAS bitfold)
add_library(bitfold::bitfold_static ALIAS bitfold_static)
foreach(target bitfold bitfold_static)
    target_include_directories(${target} INTERFACE
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()

# bitfold_instances(TEMPLATE WORDS...): adds a file to the kernels that has src/cuda/TEMPLATE.cu.in
# once for each word, which stands there for @word@, and in capitals for @WORD@. The instances are
# much alike: in one file they are compressed together.
function(bitfold_instances template)
    foreach(word ${ARGN})
        string(TOUPPER ${word} WORD)
        get_filename_component(name ${template}_${word}.cuh NAME)
        configure_file(src/cuda/${template}.cu.in
            ${PROJECT_BINARY_DIR}/src/cuda/${template}_${word}.cuh @ONLY)
        string(APPEND all "#include \"${name}\"\n")
    endforeach()
    set(file ${PROJECT_BINARY_DIR}/src/cuda/${template}.cu)
    file(CONFIGURE OUTPUT ${file} CONTENT "${all}")
    list(APPEND kernels ${file})
    set(kernels ${kernels} PARENT_SCOPE)
endfunction()

# bitfold_together(FILES): replaces the kernels that this variable lists by a file for each folder
# that includes all of its kernels: where they are only read, most of what one takes is its headers.
function(bitfold_together files)
    foreach(file ${${files}})
        string(REGEX REPLACE ".*/(src/cuda.*)/.*" "\\1" folder ${file})
        string(APPEND ${folder} "#include \"${file}\"\n")
        list(APPEND folders ${folder})
    endforeach()
    list(REMOVE_DUPLICATES folders)
    foreach(folder ${folders})
        file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${folder}/together.cu CONTENT "${${folder}}")
    endforeach()
    list(TRANSFORM folders REPLACE "(.+)" "${PROJECT_BINARY_DIR}/\\1/together.cu")
    set(${files} ${folders} PARENT_SCOPE)
endfunction()

# The CUDA runtime is linked statically: the library loads where there is no driver.
if(bitfold_cuda)
    file(GLOB kernels CONFIGURE_DEPENDS src/cuda/*.cu src/cuda/*/*.cu src/cuda/*/*/*.cu)
    bitfold_instances(reduce/sum f16 bf16 f32 f64)
    bitfold_instances(reduce/sum_computed f32 f64)
    bitfold_instances(axis/sum 2 4 8)
    bitfold_instances(axis/doubles/doubles f16 bf16 f32 f64)
    bitfold_instances(axis/words/spreads 1 2 4 8)
    bitfold_instances(axis/words/words 1 2 4 8)
    bitfold_instances(table/word 4 8 16)
    bitfold_instances(comm/peers_sum f16 bf16 f32 f64)
    if(BITFOLD_CUDA_CHECK)
        bitfold_together(kernels)
    endif()
    target_sources(bitfold_objects PRIVATE ${kernels})
    bitfold_cuda_options(bitfold_objects)
    target_link_libraries(bitfold PRIVATE CUDA::cudart_static)
    target_link_libraries(bitfold_static PUBLIC $<BUILD_INTERFACE:CUDA::cudart_static>
                          "$<INSTALL_INTERFACE:${bitfold_cuda_libraries}>")
    target_link_directories(bitfold_static INTERFACE $<INSTALL_INTERFACE:${bitfold_cuda_directory}>)
    bitfold_link_as_c(bitfold bitfold_static)
endif()
target_link_libraries(bitfold PRIVATE Threads::Threads m ${CMAKE_DL_LIBS})
target_link_libraries(bitfold_static PUBLIC Threads::Threads m ${CMAKE_DL_LIBS})

set(map ${PROJECT_SOURCE_DIR}/src/libbitfold.map)
set_target_properties(bitfold_static PROPERTIES OUTPUT_NAME bitfold)
set_target_properties(bitfold PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION 0 LINK_DEPENDS ${map})
target_link_options(bitfold PRIVATE -Wl,--version-script=${map} -Wl,--no-undefined)
if(CMAKE_C_FLAGS MATCHES "-fsanitize") # a sanitizer's runtime is found when the program starts
    target_link_options(bitfold PRIVATE -Wl,-z,undefs)
endif()
set(sanitizer) # what programs have before the sanitizer's own
if(CMAKE_C_FLAGS MATCHES "-fsanitize=thread")
    set(sanitizer tests/support/thread_sanitizer.c)
elseif(CMAKE_C_FLAGS MATCHES "-fsanitize-undefined-trap-on-error")
    set(sanitizer tests/support/address_sanitizer.c)
endif()
if(sanitizer)
    add_library(bitfold_sanitizer OBJECT ${sanitizer})
    target_compile_options(bitfold_sanitizer PRIVATE -fno-sanitize=all -O2)
    target_link_libraries(bitfold_static INTERFACE
                          $<BUILD_INTERFACE:$<TARGET_OBJECTS:bitfold_sanitizer>>)
endif()
