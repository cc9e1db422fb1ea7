// The precision of the matrix products of a model, with exceptions by name.
#ifndef NN_MATCHED_PRECISION_H_
#define NN_MATCHED_PRECISION_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "autodiff/precision.h"
#include "autodiff/tape_observer.h"

namespace regard {

// Rounds operands, except in the scopes that a pattern matches, and in the
// scopes within them.
class MatchedPrecision : public PrecisionRule {
 public:
  // Patterns of full names of scopes, such as "decoder/layer[0]/*". They have
  // the syntax of MatchesSite().
  explicit MatchedPrecision(std::vector<std::string> full_precision)
      : full_precision_(std::move(full_precision)) {}

  ProductPrecision At(const ScopeName* scope) const override;

 private:
  const std::vector<std::string> full_precision_;
};

// Whether `pattern` matches `scope`, a full name, or the name of a scope around
// it.
bool MatchesScopeName(const std::string& pattern, absl::string_view scope);

}  // namespace regard

#endif  // NN_MATCHED_PRECISION_H_
