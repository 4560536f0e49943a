# cpack -G TGZ: everything that is installed; cpack -G DEB: the same, but the window and the commands
# over ranks in packages of their own, and the Python module.

# A default that no one can take for an address: .invalid is reserved (RFC 2606).
set(BITFOLD_MAINTAINER "Set BITFOLD_MAINTAINER to publish this <nobody@example.invalid>" CACHE STRING
    "Name <address> of the person who answers for the packages")
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_NAME bitfold)
set(CPACK_PACKAGE_VENDOR "The bitfold authors")
set(CPACK_PACKAGE_CONTACT ${BITFOLD_MAINTAINER})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGE_DESCRIPTION "A library and a command for sums, products, extremes, dot products
and descriptions of large arrays. An answer is the exact value rounded once,
and so has the same bits on every machine, with every number of threads.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION math)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
find_program(SHLIBDEPS dpkg-shlibdeps)
if(SHLIBDEPS) # asks the libraries themselves
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
    set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
else()
    set(CPACK_DEBIAN_PACKAGE_DEPENDS libc6)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME bitfold)
set(CPACK_DEBIAN_UNSPECIFIED_DESCRIPTION ${CPACK_PACKAGE_DESCRIPTION})
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_RECOMMENDS libcairo2) # draws the figures of bitfold hist
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_SUGGESTS bitfold-view)
set(CPACK_DEBIAN_VIEW_PACKAGE_NAME bitfold-view)
set(CPACK_DEBIAN_VIEW_DESCRIPTION "The window of 'bitfold julia --view':
Julia sets and the Mandelbrot set, to zoom and to move in.")
set(CPACK_DEBIAN_VIEW_PACKAGE_GENERATE_SHLIBS OFF)
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-bitfold)
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "bitfold for Python:
The module, which uses the library of the package bitfold.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.9), bitfold (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS python3-numpy)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON_PACKAGE_GENERATE_SHLIBS OFF)
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/python/postinst
    ${PROJECT_SOURCE_DIR}/cmake/python/prerm)
foreach(mpi ${bitfold_mpis})
    string(TOUPPER ${mpi} MPI)
    set(CPACK_DEBIAN_MPI_${MPI}_PACKAGE_NAME bitfold-mpi-${mpi})
    set(CPACK_DEBIAN_MPI_${MPI}_DESCRIPTION "bitfold over the ranks of ${mpi}:
The command bitfold-mpi, and a library of communicators for programs of ${mpi}.")
    set(CPACK_DEBIAN_MPI_${MPI}_PACKAGE_DEPENDS "bitfold (= ${PROJECT_VERSION})")
endforeach()
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}) # libbitfold itself
include(CPack)
