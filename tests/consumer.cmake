# Installs the build, then configures, builds and runs the consumer project against the installed copy alone; and
# EXAMPLE, where set: a kernel in a session, right and with a bug.
set(work ${BUILD}/consumer)
file(REMOVE_RECURSE ${work})

function(must_run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    string(JOIN " " command ${ARGV})
    message(FATAL_ERROR "${command} exited with ${status}:\n${out}")
  endif()
  message("${out}")
endfunction()

must_run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)
must_run(${CMAKE_COMMAND} -S ${SOURCE} -B ${work}/build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${work}/prefix
  -DCMAKE_CXX_COMPILER=${CXX})
must_run(${CMAKE_COMMAND} --build ${work}/build)
must_run(${work}/build/consumer)
must_run(${work}/prefix/bin/tandem --version)

if(EXAMPLE)
  foreach(plant OFF ON)
    must_run(${CMAKE_COMMAND} -S ${EXAMPLE} -B ${work}/example -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${work}/prefix
      -DCMAKE_CXX_COMPILER=${CXX} -DPLANT_A_BUG=${plant})
    must_run(${CMAKE_COMMAND} --build ${work}/example)
    execute_process(COMMAND ${work}/example/watch_my_kernel OUTPUT_VARIABLE out)
    message("${out}")
    if(plant)
      set(expected "race in shared memory: multiply, my_kernel.cuh:1")
    else()
      set(expected "0 findings, c.0. = 100\n.*my_kernel.cuh:16  shared_load +[1-9]")
    endif()
    if(NOT out MATCHES "${expected}")
      message(FATAL_ERROR "with PLANT_A_BUG=${plant} the example does not print '${expected}'")
    endif()
  endforeach()
endif()
