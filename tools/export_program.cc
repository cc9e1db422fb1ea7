#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "experiments/run.h"
#include "files/file.h"
#include "options/command_line.h"
#include "pretrained/pretrained_folder.h"
#include "third_party/abseil_backport/status_macros.h"
#include "tools/programs.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Writes the model of a run as a Hugging Face model folder for\n"
    "transformers.\n\n"
    "  export --run=DIR FOLDER\n\n"
    "FOLDER must be new or empty. The model determines the class that\n"
    "transformers loads:\n\n"
    "  BERT                         BertModel, BertForMaskedLM,\n"
    "                               BertForPreTraining or\n"
    "                               BertForSequenceClassification\n"
    "  language model of subwords   GPT2LMHeadModel\n"
    "  Vision Transformer           ViTForImageClassification\n"
    "  captioner of subwords        BlipForConditionalGeneration\n\n"
    "Examples:\n"
    "  export --run=runs/words bert_folder\n"
    "  export --run=runs/images vit_folder";

absl::Status Export(int argc, char** argv, const Plugins& plugins) {
  RunSelectionFlags flags;
  std::vector<std::string> folders;
  CommandLine line(kUsage);
  AddRunSelectionFlags(line, &flags, /*otherwise=*/"");
  line.Positional(&folders, "FOLDER");
  REGARD_RETURN_IF_ERROR(line.Parse(argc, argv));
  if (folders.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "error: exactly one FOLDER is required, got ", folders.size()));
  }
  REGARD_ASSIGN_OR_RETURN(const Run run, OpenRun(flags, plugins));
  REGARD_RETURN_IF_ERROR(CheckNoInterventions(run, "export"));
  const std::string folder = ResolveUserPath(folders[0]);
  REGARD_RETURN_IF_ERROR(EnsureErrorPrefix(
      WritePretrainedFolder(run.task().model(), folder, SystemFiles())));
  std::printf("%s\n", folder.c_str());
  return absl::OkStatus();
}

}  // namespace

int ExportMain(int argc, char** argv, const Plugins& plugins) {
  return ExitCode(Export(argc, argv, plugins));
}

}  // namespace regard
