// The fields of a resolved config, without knowing its messages: so that runs
// of programs with scores of their own can be compared as well.
#ifndef EXPERIMENTS_ABLATION_RESOLVED_FIELDS_H_
#define EXPERIMENTS_ABLATION_RESOLVED_FIELDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace regard {

struct ResolvedField {
  // As `--set` spells it, but for elements of lists, which come several times:
  // "model.attention.additive.width".
  std::string path = {};
  // As the file spells it; "{...}" for a message.
  std::string value = {};
};

// The fields of a text that ResolvedConfig wrote, in its order; comments are
// left out. InvalidArgument, with the line, for another text.
absl::StatusOr<std::vector<ResolvedField>> ParseResolvedFields(
    absl::string_view text);

struct FieldDifference {
  std::string path = {};
  // "not set" where a config lacks the field; values of a list are joined.
  std::string before = {};
  std::string after = {};
};

// The paths whose values differ, sorted by path. Of a message that only one
// side has, the message alone is listed, with its fields as its value.
std::vector<FieldDifference> DiffResolvedFields(
    const std::vector<ResolvedField>& before,
    const std::vector<ResolvedField>& after);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_RESOLVED_FIELDS_H_
