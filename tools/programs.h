// The programs without their main(). A program consists of a main function from
// this header, such as AttendMain(), and its plug-ins. Main functions return an
// exit code: 0 for success, 1 if the output could not be written, and 2 for
// wrong input or usage.
#ifndef TOOLS_PROGRAMS_H_
#define TOOLS_PROGRAMS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "experiments/run.h"
#include "experiments/tasks/plugins.h"
#include "options/command_line.h"
#include "seq2seq/translator.h"

namespace regard {

// Makes a run whose weights are the average of checkpoints of another run.
// Returns the exit code of TrainMain().
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

// Calls Run::Open(), and prints the notes of the run to standard error.
absl::StatusOr<Run> OpenRun(absl::string_view folder, const Plugins& plugins,
                            const OpenRunOptions& options = {});

// The text that --help shows as the default of --run.
inline constexpr char kRunDefault[] = "the latest run under runs/";

// Returns `run` if it is not empty. Otherwise, returns the latest run and
// prints its name to standard error. Returns "" if there is no latest run.
std::string RunOrLatest(const std::string& run);

// The flags that select a run.
struct RunSelectionFlags {
  std::string run;
  std::string model;      // a Hugging Face model folder, instead of a run
  std::string precision;  // "float32", "bfloat16", or empty: as in training
};

// Adds --run and --model. --help shows `otherwise` as their default.
void AddRunSelectionFlags(CommandLine& line, RunSelectionFlags* flags,
                          absl::string_view otherwise = kRunDefault);

// Adds --precision, for programs that compute with a model.
void AddPrecisionFlag(CommandLine& line, std::string* precision);
// Returns the value of --precision, or nullopt if it is empty.
absl::StatusOr<std::optional<Precision>> ReadPrecision(
    const std::string& precision);

// Sets `run` to the latest run if the user passed neither --run nor --model.
void UseLatestRun(RunSelectionFlags* flags);

// Opens the run or model folder that the flags select. `run` or `model` must be
// set.
absl::StatusOr<Run> OpenRun(const RunSelectionFlags& flags,
                            const Plugins& plugins,
                            const OpenRunOptions& options = {});

// Prints "note: " and the note to standard error.
void PrintNote(const std::string& note);

struct InputLine {
  std::string text;
  int64_t number = 0;  // counted from 1
  bool cut = false;    // whether it was truncated to kMaxInputLineBytes
};

// A program that reads lines from standard input.
struct InputProgram {
  // The noun for a line in the prompt "enter one ... per line" on a terminal.
  // If empty, there is no prompt.
  std::string unit = {};
  // Whether `add` accepts truncated lines. If not, such a line is an error.
  bool takes_cut_lines = false;
  // Processes a line, or keeps it for `flush`. Returns false if the output
  // cannot be written. An error ends the input, and can be printed as it is.
  std::function<absl::StatusOr<bool>(const InputLine& line)> add;
  // Processes the kept lines, and flushes standard output. Returns false if the
  // output cannot be written.
  std::function<bool()> flush;
  // Prints a note about the whole input.
  std::function<void(const std::string& note)> tell = PrintNote;
};

// Reads lines until a line is an error or the output cannot be written. Lines
// end as in the files that the run reads. Flushes whenever no further line is
// available, so that a caller gets each result before it sends the next line.
// Returns OK if the output cannot be written, because ExitCode() reports this.
absl::Status ReadInput(const Run& run, const InputProgram& program);

// Returns an error if the config of the run has interventions, because
// `program` does not support them. The error can be printed as it is.
absl::Status CheckNoInterventions(const Run& run, absl::string_view program);

// Returns the translator of the run. If the model does not translate, returns
// an error that can be printed as it is.
absl::StatusOr<const Translator*> TranslatorOf(const Run& run);

}  // namespace regard

#endif  // TOOLS_PROGRAMS_H_
