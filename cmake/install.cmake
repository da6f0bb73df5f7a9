# cmake --install: a package with the targets tandem::tandem and tandem::harness, the command, and the shape files.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set_target_properties(tandem tandem_harness tandem_command PROPERTIES
  INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};$ORIGIN")
set_target_properties(tandem_harness PROPERTIES EXPORT_NAME harness)
install(TARGETS tandem tandem_harness EXPORT tandem-targets)
install(TARGETS tandem_command)
install(DIRECTORY include/tandem DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY shapes DESTINATION ${CMAKE_INSTALL_DATADIR}/tandem)
install(EXPORT tandem-targets NAMESPACE tandem:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tandem)
configure_package_config_file(cmake/tandem-config.cmake.in tandem-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tandem)
write_basic_package_version_file(tandem-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tandem-config.cmake ${PROJECT_BINARY_DIR}/tandem-config-version.cmake
  cmake/simt.cmake cmake/instrument.awk
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tandem)
