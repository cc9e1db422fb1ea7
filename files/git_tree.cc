#include "files/git_tree.h"

#include <cstdio>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace regard {

namespace {

// Returns the output of git for the working tree `tree`, or `nullopt` if git
// fails. Ignores GIT_DIR and similar environment variables.
std::optional<std::string> GitOutput(const std::string& tree,
                                     const char* arguments) {
  const std::string command =
      absl::StrCat("env -u GIT_DIR -u GIT_WORK_TREE -u GIT_INDEX_FILE git -C '",
                   absl::StrReplaceAll(tree, {{"'", "'\\''"}}),
                   "' --no-optional-locks ", arguments, " 2>/dev/null");
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  std::string output;
  char buffer[4096];
  while (const size_t size = fread(buffer, 1, sizeof(buffer), pipe)) {
    output.append(buffer, size);
  }
  if (pclose(pipe) != 0) return std::nullopt;
  return output;
}

}  // namespace

GitTree ReadGitTree(const std::string& path) {
  const std::optional<std::string> commit = GitOutput(path, "rev-parse HEAD");
  const std::optional<std::string> changes =
      GitOutput(path, "status --porcelain");
  if (!commit.has_value() || !changes.has_value()) return {};
  return {.commit = std::string(absl::StripAsciiWhitespace(*commit)),
          .changed = !changes->empty()};
}

}  // namespace regard
