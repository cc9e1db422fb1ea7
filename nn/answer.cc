#include "nn/answer.h"

#include "absl/strings/match.h"
#include "files/file.h"

namespace regard {

absl::Status CheckIsText(const Question& question) {
  for (const char* ending : {".png", ".jpg", ".jpeg"}) {
    if (absl::EndsWithIgnoreCase(question.text, ending) &&
        PathExists(ResolveUserPath(question.text))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", question.text, "' is an image, and this run's task reads none"));
    }
  }
  return absl::OkStatus();
}

}  // namespace regard
