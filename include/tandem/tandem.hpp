// Everything of the public interface.
#pragma once

#include <tandem/axpy.hpp>
#include <tandem/error.hpp>
#include <tandem/gemm.hpp>
#include <tandem/gemm_plan.hpp>
#include <tandem/kernel.hpp>
#include <tandem/kernels.hpp>
#include <tandem/matrix_view.hpp>
#include <tandem/types.hpp>
#include <tandem/vector_view.hpp>
#include <tandem/version.hpp>
