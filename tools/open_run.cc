#include <cstdio>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "experiments/run/latest_run.h"
#include "files/printable_text.h"
#include "seq2seq/translation_model.h"
#include "third_party/abseil_backport/status_macros.h"
#include "tools/programs.h"

namespace regard {

absl::StatusOr<Run> OpenRun(absl::string_view folder, const Plugins& plugins,
                            const OpenRunOptions& options) {
  REGARD_ASSIGN_OR_RETURN(Run run, Run::Open(folder, plugins, options));
  for (const std::string& note : run.notes()) {
    std::fprintf(stderr, "%s\n", PrintableText(note).c_str());
  }
  return run;
}

std::string RunOrLatest(const std::string& run) {
  if (!run.empty()) return run;
  const absl::StatusOr<std::string> latest = LatestRun();
  if (!latest.ok()) return "";
  std::fprintf(stderr, "%s\n", LatestRunNote(*latest).c_str());
  return *latest;
}

void AddRunSelectionFlags(CommandLine& line, RunSelectionFlags* flags,
                          absl::string_view otherwise) {
  line.Text("run", "DIR", &flags->run, kRunHelp, otherwise);
  line.Text("model", "DIR", &flags->model, kModelHelp);
}

void AddPrecisionFlag(CommandLine& line, std::string* precision) {
  line.Text("precision", "float32|bfloat16", precision,
            "precision of the operands of matrix products",
            "as in the training");
}

absl::StatusOr<std::optional<Precision>> ReadPrecision(
    const std::string& precision) {
  if (precision.empty()) return std::nullopt;
  if (precision == "float32") return FLOAT32;
  if (precision == "bfloat16") return BFLOAT16_PRODUCTS;
  return absl::InvalidArgumentError(absl::StrCat(
      "error: --precision must be float32 or bfloat16, got '", precision, "'"));
}

void UseLatestRun(RunSelectionFlags* flags) {
  if (flags->model.empty()) flags->run = RunOrLatest(flags->run);
}

absl::StatusOr<Run> OpenRun(const RunSelectionFlags& flags,
                            const Plugins& plugins,
                            const OpenRunOptions& options) {
  if (!flags.run.empty() && !flags.model.empty()) {
    return absl::InvalidArgumentError(
        "error: --run and --model cannot be given together; remove one of "
        "them");
  }
  OpenRunOptions all = options;
  REGARD_ASSIGN_OR_RETURN(all.precision, ReadPrecision(flags.precision));
  return OpenRun(flags.run.empty() ? flags.model : flags.run, plugins, all);
}

absl::Status CheckNoInterventions(const Run& run, absl::string_view program) {
  if (run.config().intervene_size() == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("error: ", run.path(),
                   ": the config of this run sets `intervene`, which ", program,
                   " does not support; //tools:predict supports it"));
}

absl::StatusOr<const Translator*> TranslatorOf(const Run& run) {
  const auto* const model = run.model<TranslationModel>();
  if (model != nullptr) return &model->translator();
  return absl::InvalidArgumentError(
      absl::StrCat("error: ", run.path(),
                   ": the model of this run does not translate; this program "
                   "requires a translation model"));
}

}  // namespace regard
