#include "experiments/tasks/config_precision.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nn/matched_precision.h"
#include "optimization/product_census.h"
#include "options/name_suggestion.h"

namespace regard {

void SetPrecision(const Experiment& config, Model<float>& model) {
  if (config.precision() != BFLOAT16_PRODUCTS) return;
  model.parameters().set_precision(
      std::make_shared<MatchedPrecision>(std::vector<std::string>(
          config.keep_float32().begin(), config.keep_float32().end())));
}

void ValidateFullPrecision(Model<float>& model, const Experiment& config,
                           ConfigProblems& problems) {
  if (config.precision() != BFLOAT16_PRODUCTS ||
      config.keep_float32_size() == 0 || !model.parameters().finalized()) {
    return;
  }
  std::vector<std::string> scopes;
  for (const OperationFlops& products :
       CountOperationFlops(model, config.seed())) {
    scopes.push_back(products.scope);
  }
  for (int i = 0; i < config.keep_float32_size(); ++i) {
    const std::string& pattern = config.keep_float32(i);
    const auto matches = [&](const std::string& scope) {
      return MatchesScopeName(pattern, scope);
    };
    if (std::any_of(scopes.begin(), scopes.end(), matches)) continue;
    problems.Add(absl::StrCat("keep_float32[", i, "]"),
                 absl::StrCat("no scope with products matches '", pattern, "'",
                              SuggestName(pattern, scopes)));
  }
}

}  // namespace regard
