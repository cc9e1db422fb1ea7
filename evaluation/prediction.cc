#include "evaluation/prediction.h"

#include <cstdint>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "files/file.h"
#include "files/utf8.h"

namespace regard {

absl::Status CheckIsText(const PredictionRequest& request) {
  if (const std::optional<int64_t> bad = FindInvalidUtf8(request.text)) {
    return absl::InvalidArgumentError(
        absl::StrCat("byte ", *bad + 1, ": the text is not valid UTF-8"));
  }
  for (const char* ending : {".png", ".jpg", ".jpeg"}) {
    if (absl::EndsWithIgnoreCase(request.text, ending) &&
        PathExists(ResolveUserPath(request.text))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", request.text,
          "' is an image, but the task of this run reads no images"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<absl::string_view>> ParseTextOrPair(
    absl::string_view typed) {
  std::vector<absl::string_view> texts = absl::StrSplit(typed, '\t');
  if (texts.size() <= 2) return texts;
  return absl::InvalidArgumentError(
      absl::StrCat("expected a text, or two texts separated by a tab; got ",
                   texts.size() - 1, " tabs"));
}

}  // namespace regard
