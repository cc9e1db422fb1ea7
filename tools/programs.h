// The programs, each without its main(): a program is this and its plug-ins.
// All return an exit code: 0 done, 1 what was made could not be written, 2
// wrong input or usage.
#ifndef TOOLS_PROGRAMS_H_
#define TOOLS_PROGRAMS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "experiments/run.h"
#include "experiments/tasks/plugins.h"
#include "options/command_line.h"
#include "seq2seq/translator.h"

namespace regard {

// Makes the run that the command line asks for: the mean of the weights at
// checkpoints of another one. Returns the exit code of TrainMain.
int AverageMain(int argc, char** argv, const Plugins& plugins);

int AttendMain(int argc, char** argv, const Plugins& plugins);
int CaptionMain(int argc, char** argv, const Plugins& plugins);
int CompareMain(int argc, char** argv, const Plugins& plugins);
int EmbedMain(int argc, char** argv, const Plugins& plugins);
int EvaluateMain(int argc, char** argv, const Plugins& plugins);
int ExportMain(int argc, char** argv, const Plugins& plugins);
int GenerateMain(int argc, char** argv, const Plugins& plugins);
int InspectMain(int argc, char** argv, const Plugins& plugins);
int PlanMain(int argc, char** argv, const Plugins& plugins);
int PredictMain(int argc, char** argv, const Plugins& plugins);
int RunsMain(int argc, char** argv, const Plugins& plugins);
int ScoresMain(int argc, char** argv, const Plugins& plugins);
int SweepMain(int argc, char** argv, const Plugins& plugins);
int TranslateMain(int argc, char** argv, const Plugins& plugins);

// Run::Open(), with its notes on standard error.
absl::StatusOr<Run> OpenRun(absl::string_view folder, const Plugins& plugins,
                            const RunOptions& options = {});

// Default of --run in --help.
inline constexpr char kRunDefault[] = "the latest run under runs/";

// Returns `run`. If it is empty, returns the latest run and names it on
// standard error, or an empty string if there is no such run.
std::string RunOrLatest(const std::string& run);

// The run that a program is about.
struct RunFlags {
  std::string run;
  std::string model;  // the same, for a folder of Hugging Face's
};

// Adds --run and --model; --help says what a program does without them.
void AddRunFlags(CommandLine& line, RunFlags* flags,
                 absl::string_view otherwise = kRunDefault);

// Sets the run to the latest one if no flag was given.
void UseLatestRun(RunFlags* flags);

// Opens the run of the flags, of which one must be given.
absl::StatusOr<Run> OpenRun(const RunFlags& flags, const Plugins& plugins,
                            const RunOptions& options = {});

// Prints "note: " and the note on standard error.
void PrintNote(const std::string& note);

struct InputLine {
  std::string text;
  int64_t number = 0;  // from 1
  bool cut = false;    // whether only the first kMostInputLineBytes are here
};

// A program that reads lines from standard input.
struct InputProgram {
  // Names a line in the prompt on a terminal; without it there is no prompt.
  std::string unit = {};
  // Whether `add` takes lines that are cut; they are errors otherwise.
  bool takes_cut_lines = false;
  // Answers a line, or keeps it for `flush`. False when an answer cannot be
  // written; an error, complete to print, ends the input.
  std::function<absl::StatusOr<bool>(const InputLine& line)> add;
  // Answers what is kept, and flushes standard output. False as above.
  std::function<bool()> flush;
  // Prints a note on the whole input.
  std::function<void(const std::string& note)> tell = PrintNote;
};

// Reads lines, which end as in the files that the run reads, until one is an
// error or an answer cannot be written. Flushes whenever no line is waiting to
// be read, so that whoever waits for an answer before the next line gets it.
// OK if an answer cannot be written: ExitCode() reports that.
absl::Status ReadInput(const Run& run, const InputProgram& program);

// An error, complete to print, if the run's config replaces values of the
// model, which `program` cannot.
absl::Status RefuseReplaced(const Run& run, absl::string_view program);

// An error, complete to print, if the run's model does not translate.
absl::StatusOr<const Translator*> TranslatorOf(const Run& run);

}  // namespace regard

#endif  // TOOLS_PROGRAMS_H_
