# The CUDA backend, where there is a CUDA compiler. It is compiled for the GPU of this machine, or if
# there is none, for every architecture from sm_75 up; -DCMAKE_CUDA_ARCHITECTURES=90 for one alone.

include(CheckLanguage)
option(BITFOLD_CUDA "Build the CUDA backend, if a CUDA compiler is found" ON)
if(BITFOLD_CUDA AND NOT CMAKE_CROSSCOMPILING)
    check_language(CUDA)
endif()
if(NOT BITFOLD_CUDA OR NOT CMAKE_CUDA_COMPILER)
    set(bitfold_cuda OFF)
    return()
endif()

if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    if(EXISTS /dev/nvidiactl)
        set(CMAKE_CUDA_ARCHITECTURES native)
    else()
        set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 86-real 89-real 90)
    endif()
endif()
set(CMAKE_CUDA_STANDARD 17)
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
set(bitfold_cuda ON)

# bitfold_cuda_options(TARGET): as the C code's: each operation is rounded, as it is written.
function(bitfold_cuda_options target)
    set_target_properties(${target} PROPERTIES CUDA_SEPARABLE_COMPILATION OFF)
    target_compile_definitions(${target} PRIVATE BITFOLD_CUDA=1)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:
        -fmad=false --expt-relaxed-constexpr -Xfatbin=-compress-all -Xcompiler=-ffp-contract=off,-fno-math-errno,-Wall>)
endfunction()
