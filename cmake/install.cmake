# cmake --install: a package with the targets tandem::tandem, tandem::harness, tandem::blas and tandem::blas64, the
# command, and the shape files.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set_target_properties(tandem tandem_harness tandem_command tandem_blas tandem_blas64 PROPERTIES
  INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};$ORIGIN")
set_target_properties(tandem_harness PROPERTIES EXPORT_NAME harness)
set_target_properties(tandem_blas PROPERTIES EXPORT_NAME blas)
set_target_properties(tandem_blas64 PROPERTIES EXPORT_NAME blas64)
install(TARGETS tandem tandem_harness tandem_blas tandem_blas64 EXPORT tandem-targets)
install(TARGETS tandem_command)
install(DIRECTORY include/tandem bindings/blas/include/tandem DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY shapes DESTINATION ${CMAKE_INSTALL_DATADIR}/tandem)
install(EXPORT tandem-targets NAMESPACE tandem:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tandem)
configure_package_config_file(cmake/tandem-config.cmake.in tandem-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tandem)
write_basic_package_version_file(tandem-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tandem-config.cmake ${PROJECT_BINARY_DIR}/tandem-config-version.cmake
  cmake/simt.cmake cmake/instrument.awk
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tandem)

# pkg-config tandem-blas, tandem-blas64; the installed files may be moved together.
file(RELATIVE_PATH blas_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(blas_bits 32 64)
  string(REPLACE 32 "" blas_suffix ${blas_bits})
  set(blas_cflags "")
  if(blas_bits EQUAL 64)
    set(blas_cflags " -DTANDEM_BLAS_INT64")
  endif()
  configure_file(bindings/blas/tandem-blas.pc.in tandem-blas${blas_suffix}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/tandem-blas${blas_suffix}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
