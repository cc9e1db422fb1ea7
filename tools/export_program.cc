#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "experiments/config/command_line.h"
#include "experiments/run.h"
#include "files/file.h"
#include "pretrained/pretrained_folder.h"
#include "third_party/abseil_backport/status_macros.h"
#include "tools/programs.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Writes the model of a run as a folder that Hugging Face's transformers\n"
    "opens.\n\n"
    "  export --run=DIR FOLDER\n\n"
    "A model that reads texts by BERT becomes a BertModel, a BertForMaskedLM, "
    "a\n"
    "BertForPreTraining or a BertForSequenceClassification, a language model "
    "of\n"
    "pieces of words a GPT2LMHeadModel, a Vision Transformer a\n"
    "ViTForImageClassification, and a captioner of pieces of words a\n"
    "BlipForConditionalGeneration. FOLDER must be new or empty.";

absl::Status Export(int argc, char** argv, const Plugins& plugins) {
  RunFlags flags;
  std::vector<std::string> folders;
  CommandLine line(kUsage);
  AddRunFlags(line, &flags);
  line.Positional(&folders, "FOLDER");
  REGARD_RETURN_IF_ERROR(line.Parse(argc, argv));
  if (folders.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: want one folder to write, got ", folders.size()));
  }
  REGARD_ASSIGN_OR_RETURN(const Run run, OpenRun(flags, plugins));
  REGARD_RETURN_IF_ERROR(RefuseReplaced(run, "export"));
  const std::string folder = ResolveUserPath(folders[0]);
  REGARD_RETURN_IF_ERROR(WithErrorPrefix(
      WritePretrainedFolder(run.task().model(), folder, SystemFiles())));
  std::printf("%s\n", folder.c_str());
  return absl::OkStatus();
}

}  // namespace

int ExportMain(int argc, char** argv, const Plugins& plugins) {
  return ExitCode(Export(argc, argv, plugins));
}

}  // namespace regard
