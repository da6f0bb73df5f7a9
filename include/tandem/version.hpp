// Which Tandem this is.
#pragma once

#include <string_view>

namespace tandem {

/// "major.minor.patch"
std::string_view version() noexcept;

}  // namespace tandem
