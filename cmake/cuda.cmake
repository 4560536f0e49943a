# The CUDA backend, where there is a CUDA compiler. It is compiled for the GPU of this machine, or if
# there is none, for all from sm_75 up: 8.6 and 8.9 run the code of sm_80, and what comes after 9.0
# compiles its PTX. -DCMAKE_CUDA_ARCHITECTURES=90 for one alone.

include(CheckLanguage)
set(wanted ON)
if(BITFOLD_WHEEL AND NOT EXISTS /dev/nvidiactl) # pip install: for this machine, and in a minute
    set(wanted OFF)
endif()
option(BITFOLD_CUDA "Build the CUDA backend, if a CUDA compiler is found" ${wanted})
if(BITFOLD_CUDA AND NOT CMAKE_CROSSCOMPILING)
    find_program(BITFOLD_NVCC nvcc PATHS /usr/local/cuda/bin) # which PATH often lacks
    if(BITFOLD_NVCC AND NOT DEFINED ENV{CUDACXX})
        set(ENV{CUDACXX} ${BITFOLD_NVCC})
    endif()
    check_language(CUDA)
endif()
if(NOT BITFOLD_CUDA OR NOT CMAKE_CUDA_COMPILER)
    set(bitfold_cuda OFF)
    return()
endif()

# Kernels that no GPU will run need neither machine code nor PTX: their compiler reads them and stops.
# The code that would launch them needs no optimization.
option(BITFOLD_CUDA_CHECK "Only see that CUDA code compiles" OFF)
if(BITFOLD_CUDA_CHECK)
    set(CMAKE_CUDA_ARCHITECTURES 90-virtual)
    set(CMAKE_CUDA_FLAGS_RELEASE -DNDEBUG)
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    if(EXISTS /dev/nvidiactl)
        set(CMAKE_CUDA_ARCHITECTURES native)
    else()
        set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90)
    endif()
endif()
set(CMAKE_CUDA_STANDARD 17)
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
set(bitfold_cuda ON)

# Kernels need no C++ library: what holds them links as C does, with the static CUDA runtime alone.
set(CMAKE_CUDA_IMPLICIT_LINK_LIBRARIES "")
function(bitfold_link_as_c)
    set_target_properties(${ARGV} PROPERTIES LINKER_LANGUAGE C CUDA_RUNTIME_LIBRARY None)
endfunction()

# The runtime as users of the static library name it, for pkg-config and the CMake package.
cmake_path(GET CUDA_cudart_static_LIBRARY PARENT_PATH bitfold_cuda_directory)
set(bitfold_cuda_libraries cudart_static rt)

# In later compilers <<<>>> takes a lock of C++'s runtime, unless they are asked for what it was.
include(CheckCompilerFlag)
check_compiler_flag(CUDA --legacy-launch-seq BITFOLD_LEGACY_LAUNCH)
if(BITFOLD_CUDA_CHECK)
    check_compiler_flag(CUDA -fdevice-syntax-only BITFOLD_DEVICE_SYNTAX)
    if(BITFOLD_DEVICE_SYNTAX)
        string(APPEND CMAKE_CUDA_FLAGS " -fdevice-syntax-only")
    endif()
endif()

# How the kernels are compressed. The drivers that this mode needs are older than those of CUDA 13.
set(bitfold_compress -Xfatbin=-compress-all)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    set(bitfold_compress --compress-mode=size)
endif()

# bitfold_cuda_options(TARGET): as the C code's: each operation is rounded, as it is written.
function(bitfold_cuda_options target)
    set_target_properties(${target} PROPERTIES CUDA_SEPARABLE_COMPILATION OFF)
    target_compile_definitions(${target} PRIVATE BITFOLD_CUDA=1)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:
        -fmad=false --expt-relaxed-constexpr ${bitfold_compress}
        $<$<BOOL:${BITFOLD_LEGACY_LAUNCH}>:--legacy-launch-seq>
        -Xcompiler=-fno-exceptions,-ffp-contract=off,-fno-math-errno,-Wall>)
endfunction()
