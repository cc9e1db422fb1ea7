#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "seq2seq/translation_model.h"
#include "third_party/abseil_backport/status_macros.h"
#include "tools/programs.h"

namespace regard {

absl::StatusOr<Run> OpenRun(absl::string_view folder, const Plugins& plugins,
                            const RunOptions& options) {
  REGARD_ASSIGN_OR_RETURN(Run run, Run::Open(folder, plugins, options));
  for (const std::string& note : run.notes()) {
    std::fprintf(stderr, "%s\n", note.c_str());
  }
  return run;
}

absl::StatusOr<const Translator*> TranslatorOf(const Run& run) {
  const auto* const model = run.model<TranslationModel>();
  if (model != nullptr) return &model->translator();
  return absl::InvalidArgumentError(absl::StrCat(
      "error: ", run.path(), ": this run's model does not translate"));
}

}  // namespace regard
