#include "tools/regard_program.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "experiments/default_config.h"
#include "experiments/training/run_pages.h"
#include "experiments/training/train_program.h"
#include "options/command_line.h"
#include "options/name_suggestion.h"
#include "tools/programs.h"
#include "tools/replay_program.h"

namespace regard {
namespace {

int TrainByDefault(int argc, char** argv, const Plugins& plugins) {
  return TrainMain(argc, argv, plugins, DefaultConfig(), &RunPages());
}

using Main = int (*)(int argc, char** argv, const Plugins& plugins);

struct Program {
  absl::string_view name;
  Main main;
  absl::string_view what;
};

// A group of programs with a common purpose.
struct Group {
  absl::string_view title;
  absl::Span<const Program> programs;
};

constexpr Program kTrainAndCompare[] = {
    {"train", TrainByDefault, "trains an experiment and writes a run folder"},
    {"sweep", SweepMain, "trains a grid of runs and judges their differences"},
    {"plan", PlanMain, "estimates the memory and work of an experiment"},
    {"compare", CompareMain, "compares runs"},
};

constexpr Program kUseAModel[] = {
    {"predict", PredictMain, "predicts with the model of any run"},
    {"translate", TranslateMain, "translates sentences"},
    {"generate", GenerateMain, "continues texts with a language model"},
    {"caption", CaptionMain, "writes captions of images"},
    {"embed", EmbedMain, "computes sentence embeddings"},
    {"evaluate", EvaluateMain, "evaluates any run, on its own or other data"},
};

constexpr Program kLookInside[] = {
    {"inspect", InspectMain, "shows what a model attends to when it predicts"},
    {"replay", ReplayMain, "repeats part of a training run and records values"},
    {"attend", AttendMain, "computes attention over given arrays"},
    {"scores", ScoresMain, "lists the parts of attention, or checks a formula"},
};

constexpr Program kManageRuns[] = {
    {"runs", RunsMain, "lists the runs below a directory"},
    {"average", AverageMain, "averages the checkpoints of a run"},
    {"export", ExportMain, "writes a Hugging Face model folder"},
};

constexpr Group kGroups[] = {
    {"Train and compare", kTrainAndCompare},
    {"Use a model", kUseAModel},
    {"Look inside", kLookInside},
    {"Manage runs", kManageRuns},
};

// Returns the main function of a program, or null if no program is called
// `name`.
Main FindProgram(absl::string_view name) {
  for (const Group& group : kGroups) {
    for (const Program& program : group.programs) {
      if (program.name == name) return program.main;
    }
  }
  return nullptr;
}

std::vector<std::string> ProgramNames() {
  std::vector<std::string> names;
  for (const Group& group : kGroups) {
    for (const Program& program : group.programs) {
      names.emplace_back(program.name);
    }
  }
  return names;
}

// Returns the name of a program at the end of a path, such as "predict" for
// "tools/predict" and for "my_lab/train_predict". The result for any other path
// is not the name of a program.
absl::string_view CalledName(absl::string_view path) {
  return path.substr(path.find_last_of("/_") + 1);
}

std::string Usage() {
  std::string text =
      "Trains, examines and compares models with attention.\n\n"
      "  regard PROGRAM ARGUMENTS...\n"
      "  regard PROGRAM --help\n\n";
  for (const Group& group : kGroups) {
    absl::StrAppend(&text, group.title, ":\n\n");
    for (const Program& program : group.programs) {
      absl::StrAppendFormat(&text, "  %-11s %s\n", program.name, program.what);
    }
    text += "\n";
  }
  text +=
      "Examples:\n"
      "  regard train --config=configs/phrasebook.textproto --run=runs/pairs\n"
      "  regard predict --run=runs/pairs 'they are watching .'";
  return text;
}

}  // namespace

int RegardMain(int argc, char** argv, const Plugins& plugins) {
  const Main called = FindProgram(CalledName(argc > 0 ? argv[0] : ""));
  if (called != nullptr) return called(argc, argv, plugins);
  const absl::string_view name = argc > 1 ? argv[1] : "";
  if (absl::StartsWith(name, "-")) {
    const std::string usage = Usage();
    const absl::Status status = CommandLine(usage).Parse(argc, argv);
    if (!status.ok()) return ExitCode(status);
  }
  const Main program = FindProgram(name);
  if (program != nullptr) return program(argc - 1, argv + 1, plugins);
  return ExitCode(absl::InvalidArgumentError(
      name.empty()
          ? absl::StrCat("error: a program is required\n\n", Usage())
          : absl::StrCat("error: there is no program '", name, "'",
                         SuggestName(name, ProgramNames()), "; see --help")));
}

}  // namespace regard
