#include "experiments/run/checkpoint_manifest.h"

#include <algorithm>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "experiments/run/file.h"
#include "experiments/run/sha256.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

constexpr int64_t kMaxManifestBytes = 4096;
constexpr int64_t kBlockBytes = int64_t{1} << 20;

absl::StatusOr<FileFacts> FactsOf(const std::string& path) {
  REGARD_ASSIGN_OR_RETURN(const FileReader file, FileReader::Open(path));
  Sha256 sha256;
  std::string block;
  for (int64_t offset = 0; offset < file.size(); offset += kBlockBytes) {
    block.resize(std::min(kBlockBytes, file.size() - offset));
    REGARD_RETURN_IF_ERROR(file.ReadAt(offset, absl::MakeSpan(block)));
    sha256.Update(block);
  }
  return FileFacts{.bytes = file.size(), .sha256 = sha256.HexDigest()};
}

// The first line in which two texts differ, as "GOT, WANTED".
std::string Difference(absl::string_view got, absl::string_view wanted) {
  const std::vector<absl::string_view> got_lines = absl::StrSplit(got, '\n');
  const std::vector<absl::string_view> wanted_lines =
      absl::StrSplit(wanted, '\n');
  size_t line = 0;
  while (line < got_lines.size() && line < wanted_lines.size() &&
         got_lines[line] == wanted_lines[line]) {
    ++line;
  }
  const auto quoted = [line](const std::vector<absl::string_view>& lines) {
    if (line >= lines.size()) return std::string("no more");
    absl::string_view text = absl::StripAsciiWhitespace(lines[line]);
    absl::ConsumeSuffix(&text, ",");
    return absl::CHexEscape(
        absl::StrReplaceAll(text.substr(0, 160), {{"\"", ""}}));
  };
  return absl::StrCat("line ", line + 1, " of ", kManifestFile, " says ",
                      quoted(got_lines), ", but the files say ",
                      quoted(wanted_lines));
}

}  // namespace

std::string ManifestText(int64_t step,
                         const std::map<std::string, FileFacts>& files) {
  std::string text = absl::StrCat(
      "{\n  \"format\": \"regard.checkpoint\",\n  \"version\": 1,\n  "
      "\"step\": ",
      step, ",\n  \"files\": {");
  const char* separator = "\n";
  for (const auto& [name, facts] : files) {
    absl::StrAppend(&text, separator, "    \"", name,
                    "\": {\"bytes\": ", facts.bytes, ", \"sha256\": \"",
                    facts.sha256, "\"}");
    separator = ",\n";
  }
  absl::StrAppend(&text, "\n  }\n}\n");
  return text;
}

absl::Status VerifyCheckpointFolder(const std::string& path, int64_t step) {
  REGARD_ASSIGN_OR_RETURN(
      const std::string manifest,
      ReadFile(JoinPath(path, kManifestFile), kMaxManifestBytes));
  std::map<std::string, FileFacts> files;
  for (const char* name : {kOptimizerFile, kStateFile, kWeightsFile}) {
    REGARD_ASSIGN_OR_RETURN(files[name], FactsOf(JoinPath(path, name)));
  }
  const std::string expected = ManifestText(step, files);
  if (manifest != expected) {
    return absl::DataLossError(
        absl::StrCat(path, ": ", Difference(manifest, expected)));
  }
  return absl::OkStatus();
}

}  // namespace regard
