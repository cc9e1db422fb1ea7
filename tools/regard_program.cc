#include "tools/regard_program.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "experiments/default_config.h"
#include "experiments/training/train_program.h"
#include "options/command_line.h"
#include "options/name_suggestion.h"
#include "tools/programs.h"
#include "tools/replay_program.h"

namespace regard {
namespace {

int TrainByDefault(int argc, char** argv, const Plugins& plugins) {
  return TrainMain(argc, argv, plugins, DefaultConfig());
}

struct Program {
  absl::string_view name;
  int (*main)(int argc, char** argv, const Plugins& plugins);
  absl::string_view what;
};

constexpr Program kPrograms[] = {
    {"train", TrainByDefault, "trains an experiment and writes a run folder"},
    {"sweep", SweepMain, "trains a grid of runs and judges their differences"},
    {"predict", PredictMain, "predicts with the model of any run"},
    {"evaluate", EvaluateMain, "evaluates any run, on its own or other data"},
    {"inspect", InspectMain, "shows what a model attends to when it predicts"},
    {"translate", TranslateMain, "translates sentences"},
    {"generate", GenerateMain, "continues texts with a language model"},
    {"caption", CaptionMain, "writes captions of images"},
    {"embed", EmbedMain, "computes sentence embeddings"},
    {"export", ExportMain, "writes a Hugging Face model folder"},
    {"runs", RunsMain, "lists the runs below a directory"},
    {"compare", CompareMain, "compares runs"},
    {"replay", ReplayMain, "repeats a part of a training and records values"},
    {"average", AverageMain, "averages the checkpoints of a run"},
    {"plan", PlanMain, "estimates the memory and work of an experiment"},
    {"scores", ScoresMain, "lists the scores, or checks a formula as a score"},
    {"attend", AttendMain, "computes attention over given arrays"},
};

std::string Usage() {
  std::string text =
      "Trains, examines and compares models with attention.\n\n"
      "  regard PROGRAM ARGUMENTS...\n"
      "  regard PROGRAM --help\n\n";
  for (const Program& program : kPrograms) {
    absl::StrAppendFormat(&text, "  %-11s %s\n", program.name, program.what);
  }
  text +=
      "\nExamples:\n"
      "  regard train --config=configs/phrasebook.textproto --run=runs/pairs\n"
      "  regard predict --run=runs/pairs 'they are watching .'";
  return text;
}

}  // namespace

int RegardMain(int argc, char** argv, const Plugins& plugins) {
  const absl::string_view name = argc > 1 ? argv[1] : "";
  if (absl::StartsWith(name, "-")) {
    const std::string usage = Usage();
    const absl::Status status = CommandLine(usage).Parse(argc, argv);
    if (!status.ok()) return ExitCode(status);
  }
  std::vector<std::string> names;
  for (const Program& program : kPrograms) {
    if (program.name == name) return program.main(argc - 1, argv + 1, plugins);
    names.emplace_back(program.name);
  }
  return ExitCode(absl::InvalidArgumentError(
      name.empty() ? absl::StrCat("error: a program is required\n\n", Usage())
                   : absl::StrCat("error: there is no program '", name, "'",
                                  SuggestName(name, names), "; see --help")));
}

}  // namespace regard
