// The precision of the matrix products of a model, with exceptions by scope.
#ifndef NN_MATCHED_PRECISION_H_
#define NN_MATCHED_PRECISION_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "autodiff/precision.h"
#include "autodiff/tape_observer.h"

namespace regard {

// Rounds the operands of products to bfloat16, except in scopes that a pattern
// matches, and in scopes inside them.
class MatchedPrecision : public PrecisionRule {
 public:
  // Patterns match full names of scopes, such as "decoder/layer[0]/output". `*`
  // matches any characters (MatchesSite()).
  explicit MatchedPrecision(std::vector<std::string> full_precision)
      : full_precision_(std::move(full_precision)) {}

  ProductPrecision At(const ScopeName* scope) const override;

 private:
  const std::vector<std::string> full_precision_;
};

// Whether `pattern` matches `scope`, the full name of a scope, or the name of a
// scope around it.
bool MatchesScopeName(const std::string& pattern, absl::string_view scope);

}  // namespace regard

#endif  // NN_MATCHED_PRECISION_H_
