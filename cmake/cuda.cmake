# Finds CUDA or leaves it out, as TANDEM_CUDA says; sets TANDEM_HAVE_CUDA.
set(TANDEM_HAVE_CUDA OFF)
string(TOUPPER "${TANDEM_CUDA}" TANDEM_CUDA)
if(NOT TANDEM_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "TANDEM_CUDA is '${TANDEM_CUDA}'; it can be AUTO, ON or OFF")
endif()
if(TANDEM_CUDA STREQUAL "OFF")
  return()
endif()

# `native` fails where there is no GPU, and wgmma needs the architecture-specific 90a. Later GPUs compile the code of 90:
# in that of 75 kernels do not wait for the one before them, which launches from 90 on ask them to.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES "90a-real;90-virtual;75-virtual" CACHE STRING "CUDA architectures")
endif()
include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  enable_language(CUDA)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)  # a program starts on a machine without any CUDA library
  set(TANDEM_HAVE_CUDA ON)
  # CMake 3.25 has to be told how nvcc is asked for C++20; without this it asks for 17.
  if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  endif()
  find_package(CUDAToolkit REQUIRED)
elseif(TANDEM_CUDA STREQUAL "ON")
  message(FATAL_ERROR "TANDEM_CUDA=ON, but no CUDA compiler was found; install the CUDA toolkit or set CMAKE_CUDA_COMPILER")
endif()
message(STATUS "Tandem: GPU backend ${TANDEM_HAVE_CUDA}")
