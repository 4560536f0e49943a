# Headers, both libraries, the command, what pkg-config and find_package(bitfold) read, man pages
# and completions.

include(CMakePackageConfigHelpers)
install(TARGETS bitfold bitfold_static EXPORT bitfold)
install(TARGETS bitfold_command bitfold_read)
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/bitfold)
install(EXPORT bitfold NAMESPACE bitfold:: DESTINATION ${package} FILE bitfold-targets.cmake)
configure_package_config_file(cmake/bitfold-config.cmake.in bitfold-config.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(bitfold-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/bitfold-config.cmake
              ${PROJECT_BINARY_DIR}/bitfold-config-version.cmake DESTINATION ${package})

# The prefix, as seen from where the file lies: what is installed can be moved.
file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" up ${up})
if(bitfold_cuda)
    list(JOIN bitfold_cuda_libraries " -l" private_libraries)
    set(private_libraries "-L${bitfold_cuda_directory} -l${private_libraries} ")
endif()
configure_file(cmake/bitfold.pc.in bitfold.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/bitfold.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES docs/man/bitfold.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES docs/man/libbitfold.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# libbitfold-mpi for each MPI that was found, in components of their own. A program names the MPI
# that it is compiled with: find_package(bitfold COMPONENTS mpi_openmpi), pkg-config
# bitfold-mpi-openmpi.
foreach(mpi ${bitfold_mpis})
    install(TARGETS bitfold_mpi_${mpi} bitfold_mpi_${mpi}_static EXPORT bitfold_mpi_${mpi}
            COMPONENT mpi_${mpi})
    install(EXPORT bitfold_mpi_${mpi} NAMESPACE bitfold:: DESTINATION ${package}
            FILE bitfold-mpi-${mpi}-targets.cmake COMPONENT mpi_${mpi})
    list(JOIN bitfold_mpi_libraries_${mpi} " " mpi_libraries)
    list(TRANSFORM bitfold_mpi_includes_${mpi} PREPEND -I OUTPUT_VARIABLE mpi_includes)
    list(JOIN mpi_includes " " mpi_includes)
    configure_file(cmake/bitfold-mpi.pc.in bitfold-mpi-${mpi}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/bitfold-mpi-${mpi}.pc
            DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT mpi_${mpi})
endforeach()

# A component of its own: a package that needs SDL2, beside one that needs libc only.
if(TARGET bitfold_view)
    install(TARGETS bitfold_view COMPONENT view)
    install(FILES docs/man/bitfold-view.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT view)
endif()

# The command over ranks, each in a package of its own with the MPI that it needs.
foreach(mpi ${bitfold_mpis})
    install(TARGETS bitfold_command_${mpi} COMPONENT mpi_${mpi})
    install(FILES docs/man/bitfold-mpi.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
            RENAME bitfold-mpi.${mpi}.1 COMPONENT mpi_${mpi})
endforeach()

# The command itself writes its completions; cross-compiled, the emulator runs it.
if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
    foreach(shell bash zsh fish)
        set(script ${PROJECT_BINARY_DIR}/completion.${shell})
        add_custom_command(OUTPUT ${script} VERBATIM DEPENDS bitfold_command
                           COMMAND bitfold_command completion ${shell} > ${script})
        list(APPEND completions ${script})
    endforeach()
    add_custom_target(completions ALL DEPENDS ${completions})
    install(FILES ${PROJECT_BINARY_DIR}/completion.bash RENAME bitfold
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${PROJECT_BINARY_DIR}/completion.fish RENAME bitfold.fish
            DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
    set(zsh site-functions)
    if(EXISTS /etc/debian_version) # where Debian's zsh looks under /usr; above, under /usr/local
        list(APPEND zsh vendor-completions)
    endif()
    foreach(directory ${zsh})
        install(FILES ${PROJECT_BINARY_DIR}/completion.zsh RENAME _bitfold
                DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${directory})
    endforeach()
endif()

# The Python module, for Debian's package alone: elsewhere pip installs it, with a library of its own.
install(DIRECTORY python/bitfold DESTINATION lib/python3/dist-packages COMPONENT python EXCLUDE_FROM_ALL
        FILES_MATCHING PATTERN *.py PATTERN *.pyi PATTERN py.typed PATTERN __pycache__ EXCLUDE)
