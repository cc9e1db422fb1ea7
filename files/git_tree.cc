#include "files/git_tree.h"

#include <cstdio>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace regard {

namespace {

// What git prints of a working tree; empty if it fails.
std::string GitOutput(const std::string& tree, const char* arguments) {
  const std::string command =
      absl::StrCat("git -C '", absl::StrReplaceAll(tree, {{"'", "'\\''"}}),
                   "' --no-optional-locks ", arguments, " 2>/dev/null");
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  std::string output;
  char buffer[4096];
  while (const size_t size = fread(buffer, 1, sizeof(buffer), pipe)) {
    output.append(buffer, size);
  }
  return pclose(pipe) == 0 ? output : "";
}

}  // namespace

GitTree ReadGitTree(const std::string& path) {
  return {.commit = std::string(
              absl::StripAsciiWhitespace(GitOutput(path, "rev-parse HEAD"))),
          .changed = !GitOutput(path, "status --porcelain").empty()};
}

}  // namespace regard
