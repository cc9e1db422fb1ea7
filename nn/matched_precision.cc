#include "nn/matched_precision.h"

#include <algorithm>
#include <cstddef>

#include "nn/hook.h"

namespace regard {

bool MatchesScopeName(const std::string& pattern, absl::string_view scope) {
  while (!scope.empty()) {
    if (MatchesSite(pattern, scope)) return true;
    const size_t slash = scope.rfind('/');
    scope = scope.substr(0, slash == absl::string_view::npos ? 0 : slash);
  }
  return false;
}

ProductPrecision MatchedPrecision::At(const ScopeName* scope) const {
  if (full_precision_.empty() || scope == nullptr) {
    return ProductPrecision::kBfloat16;
  }
  // Reuses its memory, because products must not allocate after the first step.
  thread_local std::string name;
  name.clear();
  scope->AppendTo(&name);
  const bool full = std::any_of(full_precision_.begin(), full_precision_.end(),
                                [&](const std::string& pattern) {
                                  return MatchesScopeName(pattern, name);
                                });
  return full ? ProductPrecision::kFull : ProductPrecision::kBfloat16;
}

}  // namespace regard
