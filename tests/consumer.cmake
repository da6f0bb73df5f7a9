# Installs the build, then configures, builds and runs the consumer project against the installed copy alone.
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
