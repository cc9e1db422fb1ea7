// Paths of fields: `model.layers[1].heads`, `outside.[lab.my_score].width`.
#ifndef EXPERIMENTS_CONFIG_FIELD_PATH_H_
#define EXPERIMENTS_CONFIG_FIELD_PATH_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "experiments/config/config_text.h"

namespace regard {

// One field on a path.
struct PathStep {
  std::string name;          // `layers`, `[lab.my_score]`
  std::optional<int> index;  // of an element
  TextRange range;           // of name and index in the path
};

// The steps of a well-formed `path`; a malformed one ends in a step whose name
// is no field's (it may be empty). An index beyond 999,999,999 is kept as that.
std::vector<PathStep> SplitPath(absl::string_view path);

// The path around the last step; "" around the first.
absl::string_view ParentPath(absl::string_view path);

}  // namespace regard

#endif  // EXPERIMENTS_CONFIG_FIELD_PATH_H_
