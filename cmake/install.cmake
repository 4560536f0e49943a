# Headers, both libraries, the command, and what pkg-config and find_package(bitfold) read.

include(CMakePackageConfigHelpers)
install(TARGETS bitfold bitfold_static EXPORT bitfold)
install(TARGETS bitfold_command)
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/bitfold)
install(EXPORT bitfold NAMESPACE bitfold:: DESTINATION ${package} FILE bitfold-targets.cmake)
configure_package_config_file(cmake/bitfold-config.cmake.in bitfold-config.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(bitfold-config-version.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/bitfold.pc.in bitfold.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/bitfold-config.cmake
              ${PROJECT_BINARY_DIR}/bitfold-config-version.cmake DESTINATION ${package})
install(FILES ${PROJECT_BINARY_DIR}/bitfold.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
